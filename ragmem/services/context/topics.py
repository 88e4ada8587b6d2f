"""Detect a change of topic between prompts, from their vectors and from the names that are new in them."""

import base64
import math
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Any

from ragmem.domain.classification.greeting import is_order
from ragmem.domain.entities.proper_names import is_inside
from ragmem.domain.model import digest
from ragmem.domain.text.identifiers import identifiers
from ragmem.domain.text.known_names import COMMON_WORDS
from ragmem.domain.text.token_types import classify_token
from ragmem.domain.text.words import count_words
from ragmem.readers.transcripts.cleanup import typed_into_template
from ragmem.storage.fulltext.name_search import find_memories_by_names
from ragmem.storage.sql.database import Database

THRESHOLD = 0.8
"""Cosine distance of a new topic, for the bundled model (docs/context.md)."""

DECAY = 0.7
"""The factor of decay for earlier prompts, at each further prompt."""

MIN_WORDS = 5
"""Minimum number of content words of a prompt that can start a topic."""

MIN_ASKING_WORDS = 3
"""The same for the first prompt of a session if it asks. Of 638 prompts of five sets 42 more got the right
memory, and 1 more only others. With two, 17 of 30 everyday questions ("is docker installed?") got something,
with three 2."""

POINTING_WORDS = 20
"""A prompt with at most this many words that refers back ("this", "again") has no topic of its own."""

FEW = 8
"""A name in more memories is no rare one."""

MOST_READ = 4 * FEW
"""Maximum memories with the words of a name that are read."""

MOST_NAMES = 12
"""A prompt with more names is a paste or a list."""

MOST_TOLD = 3

_HASH_LENGTH = 8

_DIGITS = "0123456789"

KEPT_NAMES = 200
"""The latest names of a session's prompts that are kept."""

VERSION = 1

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<[\w-]+>.*?</[\w-]+>", re.DOTALL)
_CLOSING = re.compile(r"</[\w-]+>")
_PASTED_LINE = re.compile(
    r"^(?:\s{4,}|\t|[>$%|#+-] ?\S*$|\s*at \S+\(|\s*File \"|Traceback|\d{4}-\d\d-\d\d[T ]\d\d:|\[\w+\] "
    r"|\d\d:\d\d:\d\d[.,]\d|(?:PS )?[A-Z]:\\[^>\n]{0,200}>|[\w.-]*@[\w.-]+:\S*[$#] "
    # What Cursor writes of an element of a page.
    r"|DOM Path: |Position: top=|HTML Element: <"
    r"|.*[{};]\s*$)"
)
_LOGGED_LINE = re.compile(r" {0,3}\S{1,200}:\d{1,6} |\S{1,200} @ \S{1,200}:\d{1,6}$")
"""A line of a browser's console; a single one may be a person's own."""

_WORD = re.compile(r"[^\W\d_][\w'-]*")
_POINTING = re.compile(
    r"\b(?:this|these|those|it|its|them|they|above|again|instead|too|(?:some|one|any) more|more like"
    r"|another one|the (?:other|same)|(?:do|like|with|for|about|fix|of|to|on|is|does|did|undo|try) that"
    r"|that(?:'s| is| was| one| way| too| instead|[.,?!]|$))(?!\w)|^(?:also|and|but|so|or|then|no|yes|ok)\b"
    r"|[这那]|还是|仍然|依然|上面|刚才|同样|再次"
    r"|[こそあ](?:れ|の|ちら)|上記|同様|まだ|もう一度|再度",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?!(?:please|can|could|would|will)\b)(?:.*[?\uff1f\u061f]$"
    r"|(?:what|who|whose|whom|where|when|which|why|how|is|are|was|were|do|does|did|has|have|had)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A question; "could you ...?" is an order."""

_SMALL_WORDS = """
a about again all an and are as at be but by can continue could do does done for from go good great has
have how i if in is it its just let let's lets like look make me my next nice no not now of ok okay on
one or our perfect please proceed right run should so sure test thank thanks that the them then there
these they this to too try up us use want was we well what when where which why will with would yeah yep
yes you your
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_UNSPACED = re.compile("[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_SMALL_UNSPACED = re.compile(
    "[的了是在我你您他她它们呢吧啊吗和与及或也都就把被让给请会这那个些之其一下]|现在|继续|需要|可以|没有"
)
"""Chinese and Japanese letters between words, and those of words that say nothing."""


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a session: the model's id, the weighted sum of its prompts' vectors, their number.

    `names` are hashes of the names in the prompts of the session, also of its earlier topics.
    """

    model: str
    total: tuple[float, ...]
    prompts: int = 1
    names: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Return whether a prompt of the session had this name."""
        return _hash(name) in self.names

    def with_names(self, names: Sequence[str]) -> "Topic":
        """Return the topic with the names of another prompt."""
        return replace(self, names=tuple(dict.fromkeys((*self.names, *map(_hash, names))))[-KEPT_NAMES:])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a prompt starts a topic (the first one does), its distance, and the reason.

    `topic` is what to keep for the next prompt; None only before anything was said.
    """

    switched: bool
    reason: str
    topic: Topic | None
    distance: float | None = None


def prompt_text(prompt: str) -> str:
    """Return the user's words in a prompt: without fenced or indented code, logs and tagged blocks."""
    typed = typed_into_template(prompt)
    text = _FENCE.sub(" ", prompt if typed is None else typed)
    # After the last closing tag, a match of each opening one would search to the end.
    end = max((found.end() for found in _CLOSING.finditer(text)), default=0)
    lines = (_TAGGED.sub(" ", text[:end]) + text[end:]).splitlines()
    logged = {line for line in lines if _LOGGED_LINE.match(line)}
    pasted = logged if len(logged) > 1 else ()
    return "\n".join(line for line in lines if line not in pasted and not _PASTED_LINE.match(line)).strip()


def reason_to_skip(prompt: str, *, first: bool = False) -> str:
    """Return why a prompt cannot start a topic, "" if it can and its vector is needed.

    The `first` prompt of a session cannot refer back, and may be a shorter question.
    """
    text = prompt_text(prompt)
    unspaced = "" if text.isascii() else "".join(_UNSPACED.findall(text))
    words = _WORD.findall(_UNSPACED.sub(" ", text) if unspaced else text)
    said = sum(word.lower() not in _SMALL for word in words) + count_words(_SMALL_UNSPACED.sub("", unspaced))
    least = MIN_ASKING_WORDS if first and _ASKING.match(text) else MIN_WORDS
    if said < least or is_order(text):
        return "too few content words" if len(text) * 2 > len(prompt.strip()) else "a paste"
    if not first and len(words) + count_words(unspaced) <= POINTING_WORDS and _POINTING.search(text):
        return "refers to earlier prompts"
    return ""


def names_in(prompt: str) -> list[str]:
    """Return the names in the user's words: paths, symbols, codes, issues, products; none of a list of many.

    A capital makes a name within a sentence only.
    """
    text = prompt_text(prompt)
    found = dict.fromkeys(identifiers(text))
    for match in _WORD.finditer(text):
        word = match[0]
        named = is_inside(text, match.start()) and word[0].isupper() and word.lower() not in COMMON_WORDS
        if named or (word.islower() and classify_token(word)):
            found[word] = None
    # "Phase2" and "step3" are labels of a list.
    names = [name for name in found if len(name) > 1 and name.rstrip(_DIGITS).lower() not in COMMON_WORDS]
    return names if len(found) <= MOST_NAMES else []


def rare_names(database: Database, names: Sequence[str], *, projects: Sequence[str] | None) -> list[str]:
    """Return those of the names that a few memories of these projects (None: all) have, in their order.

    This reads the index of the full text once, and no model.
    """
    read, named = Counter[str](), Counter[str]()
    for memory, possible in find_memories_by_names(database, names, projects=projects, most=MOST_READ):
        text = f"{memory.title}\n{memory.text}".casefold()
        read.update(possible)
        named.update(name for name in possible if name.casefold() in text)
    # If more memories than were read may have a name, their number is unknown.
    return [name for name in names if 0 < named[name] <= FEW and read[name] < MOST_READ]


def watch(
    topic: Topic | None,
    prompt: str,
    vector: Sequence[float],
    *,
    model: str,
    threshold: float = THRESHOLD,
    new: Sequence[str] = (),
) -> Verdict:
    """Return whether a prompt starts a new topic; `vector` is that of its text, of any non-zero length.

    One with `new` names starts one in any case. Otherwise a prompt that is too short leaves the topic
    unchanged; then the vector may be empty. A topic of another model begins anew without a switch, because
    vectors of two models are not comparable.
    """
    if not new and (why := reason_to_skip(prompt, first=topic is None)):
        return Verdict(False, why, topic)
    verdict = _compare(topic, _unit(vector), model=model, threshold=threshold)
    if verdict.topic and (names := names_in(prompt)):
        kept = replace(verdict.topic, names=topic.names if topic else ())
        verdict = replace(verdict, topic=kept.with_names(names))
    if new and topic is not None:
        return replace(
            verdict, switched=True, reason=f"the first prompt that names {', '.join(new[:MOST_TOLD])}"
        )
    return verdict


def _compare(topic: Topic | None, unit: tuple[float, ...], *, model: str, threshold: float) -> Verdict:
    if topic is None:
        return Verdict(True, "the first prompt", Topic(model, unit))
    if topic.model != model or len(topic.total) != len(unit):
        return Verdict(False, "another model", Topic(model, unit))
    distance = 1.0 - sum(map(mul, _unit(topic.total), unit))
    if distance > threshold:
        return Verdict(True, "far from the previous prompts", Topic(model, unit), distance)
    total = tuple(DECAY * before + now for before, now in zip(topic.total, unit, strict=True))
    return Verdict(False, "near the previous prompts", Topic(model, total, topic.prompts + 1), distance)


def to_document(topic: Topic) -> dict[str, Any]:
    """Return a topic as JSON fields; the vector is base64 of little-endian float32."""
    packed = array("f", topic.total)
    return {
        "schema": VERSION,
        "model": topic.model,
        "prompts": topic.prompts,
        "topic": base64.b64encode(packed.tobytes()).decode("ascii"),
        **({"names": list(topic.names)} if topic.names else {}),
    }


def from_document(document: Any) -> Topic | None:
    """Return the topic in these fields; None if they are invalid or of a later release."""
    try:
        if document["schema"] != VERSION:
            return None
        packed = array("f")
        packed.frombytes(base64.b64decode(document["topic"], validate=True))
        total = tuple(packed)
        if not total or not all(map(math.isfinite, total)) or not any(total):
            return None
        names = tuple(map(str, document.get("names", ())))
        return Topic(str(document["model"]), total, int(document["prompts"]), names)
    except (KeyError, TypeError, ValueError):
        return None


def _hash(name: str) -> str:
    return digest("name", name.casefold(), length=_HASH_LENGTH)


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    values = tuple(map(float, vector))
    length = math.sqrt(sum(map(mul, values, values)))
    if not length:
        raise ValueError("a vector of length zero has no direction")
    return tuple(value / length for value in values)
