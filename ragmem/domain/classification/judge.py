"""Judge a text by trained weights: its tier, its kind and category, and whether it is protected.

Four logistic regressions share one set of inputs, all of which are read off the text and its source: the
form, the source with the speaker, the cues of `protection` and `kinds`, and common words. They need no model
of meaning, so that a verdict is the same with every embedder and without any. `scripts/train_judge.py` makes
the weights; docs/benchmarks.md tells what they reach on repositories that they were not trained on.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

from ragmem.domain.classification.greeting import is_greeting, is_order
from ragmem.domain.classification.kinds import kind_scores
from ragmem.domain.classification.protection import hint_counts
from ragmem.domain.model import Category, Kind, Tier
from ragmem.domain.text.blocks import lines, statements
from ragmem.domain.text.language import ENGLISH, detect, function_words
from ragmem.domain.text.turns import turns
from ragmem.domain.text.words import fold_words
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

WEIGHTS = Path(__file__).with_name("judge.json")

HEADS: Mapping[str, tuple[str, ...]] = {
    "tier": tuple(Tier),
    "protected": ("no", "yes"),
    "kind": tuple(Kind),
    "category": tuple(Category),
}

WINDOW_CHARS = 1500
"""Longest part of a text that is judged at once: the texts of the training are not longer."""

MAX_WINDOWS = 8
"""Parts that are judged; of a longer text the first and the last ones, and it is never called certain."""

MIN_WORDS, MIN_COMMON = 8, 0.15
"""A text of so many words, of which a smaller share is common in English, is of no known language."""

FEW_COMMON = 0.3
"""The same of a shorter text, in which function words of English count as well."""

MOST_COMMON = 0.35
"""A text of Latin letters with a larger share of words that are common in English is English: words such as
"die" and "on" are those of several languages."""

MIN_OTHERS = 0.2
"""Share of words in another script than Latin, from which a text is foreign; it may quote a name of one."""

MIN_ACCENTED = 0.1
"""Share of words with letters beyond ASCII, from which a text of no known language is no code."""

DISCARD = HEADS["tier"].index(Tier.DISCARD)
RARITY = 0.3
"""Power of a category's share that its probability is divided by. By cross-validation over repositories the
macro-F1 of categories is .48, and .44 without; the accuracy is .69 for both."""

SHOWN = 4
"""Inputs that an explanation names on each side."""

SOURCES = {
    "claudemds": "instructions",
    "instructions": "instructions",
    "paidocs": "plan",
    "prds": "requirements",
    "skills": "skill",
    "agents": "agent",
    "commands": "command",
    "projectcommands": "command",
    "memory": "memory",
    "agentmemory": "memory",
    "projectagents": "memory",
    "sessions": "summary",
    "reflections": "summary",
    "transcripts": "chat",
}
"""Source -> its type in the training; any other source has none."""

LAST_LATIN = "\u036f"
"""The last letter or accent of the Latin script."""

ROLES = ("user", "assistant", "tool", "system")

_WORD = lazy(r"[^\W\d_]+(?:'[a-z]+)?")
_CODE = lazy(r"```.*?(?:```|\Z)|`[^`\n]*`|(?<![^\s(\"'*])[^\s(\"'*]*[/\\_=(){}<>@.:$#|]\S+", re.DOTALL)
"""Code, paths and commands, which are of no language."""

_FENCE = lazy(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = lazy(r"(?<=[.!?])\s+|\n")

_LINES = {
    "list items": lazy(r"\s*(?:[-*+]|\d{1,4}[.)])\s"),
    "headings": lazy(r"\s{0,3}#"),
    "table rows": lazy(r"\s*\|"),
    "boxes": lazy(r"\s*[-*] \[[ xX]\]"),
    "indented": lazy(r" {4}|\t"),
    "numbered output": lazy(r"\s*\d{1,6}[\t:|]"),
}
"""Shares of lines that begin so."""

_RATES = {
    "code spans": lazy(r"`[^`\n]+`"),
    "bold": lazy(r"\*\*"),
    "identifiers": lazy(r"\b\w+[_/]\w+|\b[a-z]+[A-Z]\w+"),
    "tags": lazy(r"</?[a-zA-Z][\w-]*>"),
    "blanks to fill in": lazy(r"\[[^\]\n]{2,60}\]|\{\{|\$[A-Z]{3,}"),
    "links": lazy(r"https?://"),
    "decimals": lazy(r"\b\d+\.\d+"),
    "dates": lazy(r"\b20\d\d-\d\d"),
    "arrows": lazy("\u2192|=>|->"),
    "digits": lazy(r"\d"),
    "capitals": lazy(r"[A-Z]"),
    "other letters": lazy(r"[^\x00-\x7f]"),
    "questions": lazy(r"\?"),
    "exclamations": lazy(r"!"),
    "colons": lazy(r":"),
}
"""Occurrences for each ten words, four at most."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The probabilities of one text; `head` is one of HEADS.

    `whole` is false where parts of a long text were left out. `reason` names the inputs that weighed most.
    """

    probabilities: Mapping[str, Mapping[str, float]]
    whole: bool = True
    known_language: bool = True
    only_user: bool = False
    reason: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    """The share of each category in the training."""
    is_foreign: bool = False
    """Whether a part is surely prose of another language than English, which the weights cannot read."""

    @property
    def discard(self) -> float:
        """The probability that the text is worth nothing."""
        return self.probabilities["tier"][Tier.DISCARD]

    @property
    def protected(self) -> float:
        """The probability that the text is a decision or a standing instruction."""
        return self.probabilities["protected"]["yes"]

    @property
    def kind(self) -> Kind:
        """The most probable kind; a foreign text is never called research, which ages fastest."""
        found = self.probabilities["kind"]
        possible = [name for name in found if not (self.is_foreign and name == Kind.RESEARCH)]
        return Kind(max(possible, key=lambda name: found[name]))

    @property
    def category(self) -> Category:
        """The category that is most probable for its rarity; a rare one would hardly be found otherwise."""
        found = self.probabilities["category"]
        return Category(max(found, key=lambda name: found[name] / (self.shares.get(name) or 1.0) ** RARITY))


@dataclass(frozen=True, slots=True)
class Weights:
    """`values[name]` are the weights of an input, one for each class of each head in order, after `bias`."""

    bias: tuple[float, ...]
    values: Mapping[str, tuple[float, ...]]
    words: frozenset[str]
    shares: Mapping[str, float]


@cache
def load_weights() -> Weights:
    """Return the weights that ragmem ships."""
    document = json.loads(WEIGHTS.read_bytes())
    scale = document["scale"]
    values = {name: tuple(each / scale for each in row) for name, row in document["weights"].items()}
    words = frozenset(name[5:] for name in values if name.startswith("word "))
    bias = tuple(each / scale for each in document["bias"])
    return Weights(bias, values, words, document["category shares"])


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case, with `'` for each apostrophe."""
    return set(_find_words(text.lower().replace("\u2019", "'")))


@lru_cache(maxsize=2)
def _find_words(text: str) -> list[str]:
    """Return the words of a text in order; do not change the list, because a part is judged in steps."""
    return _WORD.findall(text)


def inputs(text: str, *, source: str = "", role: str = "") -> dict[str, float]:
    """Return name -> value of the inputs that are not words; `source` is a type of SOURCES, or empty.

    All values lie between 0 and some 10, however long or strange the text is.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    first, last = (lines[0].strip(), lines[-1].strip()) if lines else ("", "")
    count = max(1, text.count(" ") + text.count("\n"))
    sentences = max(1, sum(1 for each in _SENTENCE.split(text) if each.strip()))
    code = sum(map(len, _FENCE.findall(text)))
    tokens = _find_words(text.lower())
    found = {
        "form length": math.log1p(len(text)),
        "form words": math.log1p(count),
        "form lines": math.log1p(len(lines)),
        "form sentence length": min(6.0, count / sentences / 10),
        "form word length": min(3.0, sum(map(len, tokens)) / max(1, len(tokens)) / 5),
        "form distinct words": len(set(tokens)) / max(1, len(tokens)),
        "form code": code / max(1, len(text)),
        "form short": float(len(text) < 80),
        "form ends in a colon": float(last.endswith(":")),
        "form ends in a question": float(last.endswith("?")),
        "form begins with a heading": float(first.startswith("#")),
        "form begins with a tag": float(first.startswith("<")),
        "form begins with data": float(first.startswith(("{", "["))),
    }
    for name, pattern in _LINES.items():
        found[f"form {name}"] = sum(1 for line in lines if pattern.match(line)) / max(1, len(lines))
    for name, pattern in _RATES.items():
        found[f"form {name}"] = min(4.0, 10 * len(pattern.findall(text)) / count)
    for name, score in chain(hint_counts(text).items(), kind_scores(text).items()):
        found[f"cue {name}"] = min(8.0, score)
    if source:
        found[f"source {source}"] = 1.0
    if role in ROLES:
        found[f"role {role}"] = 1.0
    return found


def windows(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Return (role, part) of the parts of a text to judge, and whether they are all of it."""
    spoken = [
        ("user" if turn.asks else _role(turn.speaker), text[turn.body : turn.end]) for turn in turns(text)
    ]
    parts = [(role, part) for role, said in spoken or [("", text)] for part in _split(said)]
    if len(parts) <= MAX_WINDOWS:
        return parts or [("", text[:WINDOW_CHARS])], True
    end = MAX_WINDOWS // 3
    return parts[: MAX_WINDOWS - end] + parts[-end:], False


def _role(speaker: str) -> str:
    return speaker if speaker in ROLES else "assistant"


def _split(text: str) -> list[str]:
    """Return the parts of a text of at most WINDOW_CHARS, cut between paragraphs or lines where possible."""
    parts: list[str] = []
    rest = text.strip()
    while len(rest) > WINDOW_CHARS:
        cut = max(rest.rfind("\n\n", WINDOW_CHARS // 3, WINDOW_CHARS), 0)
        cut = cut or rest.rfind("\n", WINDOW_CHARS // 3, WINDOW_CHARS)
        cut = cut if cut > 0 else WINDOW_CHARS
        parts.append(rest[:cut])
        rest = rest[cut:].strip()
    return [*parts, rest] if rest else parts


def judge(text: str, *, source: str = "", weights: Weights | None = None) -> Verdict:
    """Judge a text of a source, such as "sessions"; an unknown source counts as none.

    Of several parts the least certain discard and the most certain protection count, because one part that
    says something is enough; kind and category are those of all parts together. Greetings and bare orders
    ("ok", "continue") have no subject: the weights guessed a preference by their length. Takes some
    milliseconds for each part of 1,500 characters.
    """
    weights = weights or load_weights()
    kind = SOURCES.get(source, "")
    parts, whole = windows(text)
    found = [_judge_part(part, kind, role, weights) for role, part in parts]
    best = min(found, key=lambda one: one.discard)
    protected = max(one.protected for one in found)
    foreign = [is_foreign_prose(part, weights.words) for _, part in parts]
    subjects = {head: _mean([one.probabilities[head] for one in found]) for head in ("kind", "category")}
    if all(is_greeting(part) or is_order(part) for _, part in parts):
        subjects = {"kind": _certain("kind", Kind.GENERAL), "category": _certain("category", Category.NONE)}
    return Verdict(
        {**best.probabilities, **subjects, "protected": {"no": 1 - protected, "yes": protected}},
        whole=whole,
        known_language=not any(foreign) and all(_has_common_words(part, weights.words) for _, part in parts),
        is_foreign=any(foreign),
        only_user=all(role == "user" for role, _ in parts),
        reason=best.reason,
        shares=best.shares,
    )


def _certain(head: str, name: str) -> dict[str, float]:
    return {each: float(each == name) for each in HEADS[head]}


def _mean(given: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(one[name] for one in given) / len(given) for name in given[0]}


def _has_common_words(text: str, words: frozenset[str]) -> bool:
    """Return whether a text has no words or some of the common English words."""
    said = words_of(text)
    if len(said) >= MIN_WORDS:
        return _share_of_common(said, words) >= MIN_COMMON
    # Single letters are variables, and short words of several languages.
    said = {word for word in said if len(word) > 1}
    return not said or _share_of_common(said, words | function_words()[ENGLISH]) >= FEW_COMMON


def is_foreign_prose(text: str, words: frozenset[str] | None = None) -> bool:
    """Return whether the prose of a text is of another language, by its script, its words or its accents.

    `words` are common in English, those of the shipped weights unless given. False where nothing tells it.
    """
    words = load_weights().words if words is None else words
    prose = _CODE.sub(" ", text)
    said = words_of(prose)
    language = detect(prose)
    others = sum(word[0] > LAST_LATIN for word in said)
    if others:
        return language not in {None, ENGLISH} or others >= MIN_OTHERS * len(said)
    accented = sum(not word.isascii() for word in said)
    common = _share_of_common(said, words)
    if language is None:
        return len(said) >= MIN_WORDS and common < MIN_COMMON and accented >= MIN_ACCENTED * len(said)
    told = len(function_words().get(language, frozenset()).intersection(fold_words(prose)))
    return language != ENGLISH and common < MOST_COMMON and (told > 1 or accented > 0)


def _share_of_common(said: set[str], words: frozenset[str]) -> float:
    return len(said & words) / max(1, len(said))


def _judge_part(text: str, source: str, role: str, weights: Weights) -> Verdict:
    logits = list(weights.bias)
    found = present(text, weights.words, source=source, role=role)
    for name, value in found.items():
        row = weights.values.get(name)
        if row is not None and value:
            for place, weight in enumerate(row):
                logits[place] += weight * value
    result = {}
    start = 0
    for head, classes in HEADS.items():
        result[head] = dict(zip(classes, softmax(logits[start : start + len(classes)]), strict=True))
        start += len(classes)
    return Verdict(result, reason=_explain(_shares(found, weights)), shares=weights.shares)


def _explain(shares: Mapping[str, float]) -> str:
    """Return the inputs that moved a text most towards being kept, and most towards the opposite."""
    ranked = sorted((name for name in shares if not name.startswith("form")), key=lambda name: shares[name])
    against = [name for name in ranked[:SHOWN] if shares[name] < 0]
    speaks_for = [name for name in ranked[::-1][:SHOWN] if shares[name] > 0]
    parts = (("for it", speaks_for), ("against it", against))
    return "; ".join(f"{label}: {', '.join(names)}" for label, names in parts if names)


def telling_sentences(text: str, *, source: str = "") -> tuple[str, str]:
    """Return the strongest sentence for keeping a text, and the strongest against it.

    Sentences of the decisive part are weighed by their words and cues; "" if none counts. Takes as long as
    two judgements.
    """
    weights = load_weights()
    kind = SOURCES.get(source, "")
    judged = [(_judge_part(part, kind, role, weights).discard, part) for role, part in windows(text)[0]]
    _, part = min(judged)
    scores = {"": 0.0}
    for line in lines(part, 0, len(part)):
        for begin, end in statements(part, *line):
            found = _shares(present(part[begin:end], weights.words), weights)
            # The form and the source are those of the whole text.
            telling = (share for name, share in found.items() if name.startswith(("cue", "word")))
            scores[part[begin:end]] = sum(telling)
    return max(scores, key=lambda one: scores[one]), min(scores, key=lambda one: scores[one])


def _shares(values: Mapping[str, float], weights: Weights) -> dict[str, float]:
    """Return how much each input argues against calling a text worthless."""
    rows = ((name, value, weights.values.get(name)) for name, value in values.items())
    return {name: value * (max(row[:DISCARD]) - row[DISCARD]) for name, value, row in rows if row and value}


def present(text: str, words: frozenset[str], *, source: str = "", role: str = "") -> dict[str, float]:
    """Return name -> value of all inputs of a part that are not 0; a word of `words` counts once."""
    found = inputs(text, source=source, role=role)
    found.update((f"word {word}", 1.0) for word in sorted(words_of(text) & words))
    return found


def softmax(logits: Sequence[float]) -> list[float]:
    """Return the probabilities of logits."""
    top = max(logits)
    powers = [math.exp(each - top) for each in logits]
    total = sum(powers)
    return [each / total for each in powers]
