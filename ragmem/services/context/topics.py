"""Tell whether a prompt leaves the topic of the prompts before it, from their vectors."""

import base64
import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

THRESHOLD = 0.8
"""Cosine distance from which a prompt is elsewhere, for the bundled model (docs/topics.md)."""

UNRELATED_SHARE = 0.3
"""So many pairs of texts that have nothing to do with each other lie nearer than the threshold, in the
bundled model; `calibrated` looks for the same share with another one."""

MIN_PAIRS = 200
DECAY = 0.7
"""What each further prompt leaves of the weight of the ones before it."""

MIN_WORDS = 5
"""Words that say something, of which a prompt needs so many to be a topic of its own."""

POINTING_WORDS = 20
"""A prompt of up to so many words that points back ("this", "again") is about what was said before."""

VERSION = 1

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<[\w-]+>.*?</[\w-]+>", re.DOTALL)
_CLOSING = re.compile(r"</[\w-]+>")
_PASTED_LINE = re.compile(
    r"^(?:\s{4,}|\t|[>$%|#+-] ?\S*$|\s*at \S+\(|\s*File \"|Traceback|\d{4}-\d\d-\d\d[T ]\d\d:|\[\w+\] "
    r"|.*[{};]\s*$)"
)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_POINTING = re.compile(
    r"\b(?:this|these|those|it|its|them|they|above|again|instead|too|(?:some|one|any) more|more like"
    r"|another one|the (?:other|same)|(?:do|like|with|for|about|fix|of|to|on|is|does|did|undo|try) that"
    r"|that(?:'s| is| was| one| way| too| instead|[.,?!]|$))(?!\w)|^(?:also|and|but|so|or|then|no|yes|ok)\b",
    re.IGNORECASE,
)
_SMALL_WORDS = """
a about again all an and are as at be but by can continue could do does done for from go good great has
have how i if in is it its just let let's lets like look make me my next nice no not now of ok okay on
one or our perfect please proceed right run should so sure test thank thanks that the them then there
these they this to too try up us use want was we well what when where which why will with would yeah yep
yes you your
"""
_SMALL = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Topic:
    """What is kept of a session's prompts: the model's id, the weighted sum of their vectors, how many."""

    model: str
    total: tuple[float, ...]
    prompts: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a prompt begins a topic (the first of a session does), how far it is, and why in a few words.

    `topic` is what to keep for the next prompt; None only before anything was said.
    """

    switched: bool
    reason: str
    topic: Topic | None
    distance: float | None = None


def said(prompt: str) -> str:
    """Return what a person says in a prompt: without fenced or indented code, logs and tagged blocks."""
    text = _FENCE.sub(" ", prompt)
    # Behind the last tag that closes, each one that opens would be followed to the end.
    end = max((found.end() for found in _CLOSING.finditer(text)), default=0)
    lines = (_TAGGED.sub(" ", text[:end]) + text[end:]).splitlines()
    return "\n".join(line for line in lines if not _PASTED_LINE.match(line)).strip()


def says_too_little(prompt: str, *, first: bool = False) -> str:
    """Return why a prompt cannot begin a topic, "" where it can: only then its vector is needed.

    The `first` one of a session has nothing to point back to.
    """
    text = said(prompt)
    words = _WORD.findall(text)
    if sum(word.lower() not in _SMALL for word in words) < MIN_WORDS:
        return "too few words" if len(text) * 2 > len(prompt.strip()) else "a paste"
    if not first and len(words) <= POINTING_WORDS and _POINTING.search(text):
        return "points back"
    return ""


def watch(
    topic: Topic | None, prompt: str, vector: Sequence[float], *, model: str, threshold: float = THRESHOLD
) -> Verdict:
    """Return whether a prompt leaves the topic; `vector` is that of `said(prompt)`, of any length but zero.

    A prompt that says too little leaves the topic as it was; call with an empty vector then. A topic of
    another model is begun anew without a switch: its vectors tell nothing here.
    """
    if why := says_too_little(prompt, first=topic is None):
        return Verdict(False, why, topic)
    unit = _unit(vector)
    if topic is None:
        return Verdict(True, "the first prompt", Topic(model, unit))
    if topic.model != model or len(topic.total) != len(unit):
        return Verdict(False, "another model", Topic(model, unit))
    distance = 1.0 - sum(map(mul, _unit(topic.total), unit))
    if distance > threshold:
        return Verdict(True, "far from what was said", Topic(model, unit), distance)
    total = tuple(DECAY * before + now for before, now in zip(topic.total, unit, strict=True))
    return Verdict(False, "near to what was said", Topic(model, total, topic.prompts + 1), distance)


def calibrated(vectors: Sequence[Sequence[float]]) -> float:
    """Return the threshold for another model, from vectors of texts that have nothing to do with each other.

    Neighbours in the sequence are compared, then every second one, until there are enough pairs. Raises
    ValueError for fewer than MIN_PAIRS pairs.
    """
    units = [_unit(vector) for vector in vectors]
    distances: list[float] = []
    for step in range(1, len(units)):
        distances += [
            1.0 - sum(map(mul, one, other)) for one, other in zip(units, units[step:], strict=False)
        ]
        if len(distances) >= 5 * MIN_PAIRS:
            break
    if len(distances) < MIN_PAIRS:
        raise ValueError(
            f"{len(distances)} pairs of texts are too few to calibrate, at least {MIN_PAIRS} are needed"
        )
    return sorted(distances)[int(UNRELATED_SHARE * len(distances))]


def to_document(topic: Topic) -> dict[str, Any]:
    """Return a topic as JSON fields; the vector is base64 of little-endian float32."""
    packed = array("f", topic.total)
    return {
        "schema": VERSION,
        "model": topic.model,
        "prompts": topic.prompts,
        "topic": base64.b64encode(packed.tobytes()).decode("ascii"),
    }


def from_document(document: Any) -> Topic | None:
    """Return the topic of such fields; None where they are none, as after a crash or of a later release."""
    try:
        if document["schema"] != VERSION:
            return None
        packed = array("f")
        packed.frombytes(base64.b64decode(document["topic"], validate=True))
        total = tuple(packed)
        if not total or not all(map(math.isfinite, total)) or not any(total):
            return None
        return Topic(str(document["model"]), total, int(document["prompts"]))
    except (KeyError, TypeError, ValueError):
        return None


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    values = tuple(map(float, vector))
    length = math.sqrt(sum(map(mul, values, values)))
    if not length:
        raise ValueError("a vector of length zero has no direction")
    return tuple(value / length for value in values)
