"""Find the speakers in a text that records a conversation."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

ASKERS = frozenset({"user", "human"})
"""Labels of the user in transcripts of assistants; other speakers are found by structure."""

REPLIERS = frozenset({"assistant", "ai", "agent", "bot", "model", "system", "tool"})
SURE_REPLIERS = frozenset({"assistant", "ai"})
"""Other labels, which also occur once each in lists of facts ("User: postgres", "System: Debian")."""

MAX_LEAD = 600
"""Maximum characters before the first turn of a transcript; a text that quotes one has more."""

MIN_SHARE = 0.4
"""Minimum share of lines that begin a turn among people; labels in a list of facts seldom repeat."""

_LABEL = lazy(
    r"^(?:\[[^\]\n]{1,60}\][ \t]{0,4})?(?:#{1,6}[ \t]{1,4})?[*_]{0,3}"
    r"(?P<name>[^\W\d_][\w.'\u2019-]{0,30}(?:[ \t][\w.'\u2019&-]{1,30}){0,3})"
    r"(?:[ \t]\([^)\n]{1,40}\))?[*_]{0,3}[ \t]?:[*_]{0,3}(?=\s|\Z)"
    r"|^(?:#{1,6}[ \t]{1,4}[*_]{0,3}|[*_]{2,3})(?P<role>[^\W\d_][\w-]{1,30})"
    r"(?:[ \t]\([^)\n]{1,40}\))?[*_]{0,3}[ \t]{0,4}$"
    r"|^[ \t]{0,12}(?:`{3,}|~{3,})(?P<opens>[^`\n]*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The text of one speaker: `text[start:end]`, after the label `text[body:end]`.

    `asks` marks the user in the transcript of an assistant.
    """

    start: int
    body: int
    end: int
    speaker: str
    asks: bool = False


def turns(text: str) -> list[Turn]:
    """Return the turns of a conversation in order, together all of the text; none for any other text.

    A conversation is either the transcript of an assistant (lines such as "user:", "### Assistant" or
    "[10:02] Human:"), or lines that begin with the names of at least two people who each speak again. Labels
    within code fences do not count. The time is linear.
    """
    found_labels = labels(text)
    if len(found_labels) < 2:
        return []
    chosen = _record(text, found_labels) or _talk(text, found_labels)
    if not chosen:
        return []
    found = []
    if text[: chosen[0][0]].strip():
        found.append(Turn(0, 0, chosen[0][0], ""))
    ends = [start for start, _, _ in chosen[1:]] + [len(text)]
    for (start, body, name), end in zip(chosen, ends, strict=True):
        found.append(Turn(start, body, end, name, name in ASKERS))
    return found


def labels(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, name in lower case) of what may be labels of turns, outside of code fences."""
    events = list(_LABEL.finditer(text))
    fences = [at for at, event in enumerate(events) if event["opens"] is not None]
    found = []
    open_fence = False
    for at, event in enumerate(events):
        if event["opens"] is not None:
            open_fence = not open_fence
            continue
        if open_fence:
            after = bisect_right(fences, at)
            # A fence that is never closed is followed by an opening one, which names its language.
            if after < len(fences) and not events[fences[after]]["opens"].strip():
                continue
            open_fence = False
        name = " ".join((event["name"] or event["role"]).lower().split())
        if event["name"] or name in ASKERS or name in REPLIERS:
            found.append((event.start(), event.end(), name))
    return found


def _record(text: str, labels: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the labels of a transcript: of the user and of the assistant."""
    roles = [label for label in labels if label[2] in ASKERS or label[2] in REPLIERS]
    names = {name for _, _, name in roles}
    if names.isdisjoint(ASKERS) or names.isdisjoint(REPLIERS) or len(text[: roles[0][0]].strip()) > MAX_LEAD:
        return []
    if names.isdisjoint(SURE_REPLIERS) and len(names) == len(roles):
        return []
    return roles


def _talk(text: str, labels: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the labels of people who speak more than once, if most lines have one."""
    count = Counter(name for _, _, name in labels)
    spoken = [label for label in labels if count[label[2]] > 1]
    if len({name for _, _, name in spoken}) < 2 or len(text[: spoken[0][0]].strip()) > MAX_LEAD:
        return []
    written = sum(1 for line in text.splitlines() if line.strip())
    return spoken if len(spoken) >= MIN_SHARE * written else []
