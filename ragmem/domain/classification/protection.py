"""Detect texts that must never expire: decisions and a user's standing instructions."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ragmem.domain.classification.rule_words import names_a_rule, rule_words
from ragmem.domain.text.cue_patterns import CuePattern
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_CHARS = 20_000
"""Characters that are read."""

LONG_CHARS = 3000
"""Each further block of this length needs one more hint: in a long text a hint occurs by chance."""

FAINT_HINTS = 2
"""Number of faint hints that equal one hint."""

_HEADING = r"#{1,6}[ \t][^\n]{0,60}\b"
_ITEM = r"[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])?[ \t]{0,4}\*{0,3}"
_MOSTLY = r"(?:(?:always|really|strongly|also|explicitly) )?"


@dataclass(frozen=True, slots=True)
class _Hints:
    """Hints in lower case: beginnings of lines, and words anywhere."""

    lines: CuePattern
    words: CuePattern

    def find(self, low: str) -> Iterator[str]:
        for pattern in (self.lines, self.words):
            for match in pattern.finditer(low):
                yield " ".join(match.group().strip(" \t\r\n-*+#.:").split())


def _hints(lines: str, words: str) -> _Hints:
    return _Hints(CuePattern(rf"^(?:{lines})"), CuePattern(rf"\b(?:{words})"))


_RECORD = _hints(
    r"\W{0,4}status\W{1,6}(?:accepted|approved|decided|adopted)\b"
    r"|#{1,6}[ \t]+(?:[\d.]+[ \t]+)?(?:final |key |design |technical |architecture |architectural )?"
    r"(?:decisions?(?: made| log| outcome| record)?|trade-?offs accepted)[ \t]*$"
    r"|#{1,6}[ \t][^\n]{0,40}\b(?:user|my|our|personal) (?:preferences?|rules|wishes|conventions?)\b"
    r"|type:[ \t]*(?:user|feedback|preference|decision)[ \t]*$"
    r"|\*{0,2}how to apply:",
    r"adr[- ]?\d+\b[^\n]{0,80}\baccepted\b"
    rf"|(?<!the )(?<!if )(?<!when )user {_MOSTLY}(?:prefers?|wants?|dislikes?|insists?|decided|corrected|"
    r"asked (?:to|that|for))\b"
    rf"|the user {_MOSTLY}(?:prefers|dislikes|insists|decided|corrected|asked (?:to|that|for))\b"
    r"|from now on\b",
)
"""A record of a decision or of a user's preference; one is enough, however long the text."""

_WILL = _hints(
    rf"{_ITEM}(?:rule|decision|adr[- #]?\d+|entscheidung|regel|d\u00e9cision|r\u00e8gle|decisi\u00f3n)\b"
    r"[^\n]{0,12}:"
    rf"|\W{{0,8}}adr[- #]?\d+\b"
    rf"|{_ITEM}(?:niemals|nie|immer|bitte (?:nie|nicht|kein|immer)|ne jamais|jamais|toujours|nunca|siempre|"
    r"por favor,? no)\b",
    r"please (?:don't|do not|never|always|stop)\b|went with\b"
    r"|entschieden,? (?:dass|uns|f\u00fcr|gegen)|f\u00fcr [^\n.]{1,60} entschieden\b|ab (?:jetzt|sofort)\b"
    r"|von nun an\b|(?:on a|nous avons|j'ai) (?:d\u00e9cid\u00e9|choisi)\b|d\u00e9sormais\b"
    r"|\u00e0 partir de maintenant\b|(?:hemos decidido|decidimos|a partir de ahora)\b",
)
"""Further forms of a decision or a standing instruction, also in German, French and Spanish. They protect in
conversations as well, and are no inputs of the judge: a wrong one only costs space."""

_USER_SAYS = lazy(r"\s*user:\s")
_ASSISTANT_SAYS = lazy(r"^assistant:", re.MULTILINE)

_HINT = _hints(
    r"\W{0,8}(?:final |key |design )?decisions?(?: made)?\*{0,2}:"
    rf"|{_HEADING}(?:preferences?|conventions?|rules|ask first|do not|don'ts?|never|always|"
    r"idioms|house style|done criteria|definition of done|boundaries|etiquette|guidelines|guidance|policy|"
    r"policies|non-negotiables|standing orders?|not building|out of scope|commit (?:style|messages?))\b"
    rf"|{_ITEM}(?:always|never|before (?:every|any|each|all)|after (?:every|any|each)|do not|don't|prefer|"
    r"avoid|favou?r)\b"
    rf"|{_ITEM}[a-z]+ [^\n()]{{1,80}}\(not\b",
    r"(?:we|i|they|team)(?:'ve| have| has)? (?:(?:explicitly|finally|also) )?(?:decided|agreed|chose|settled|"
    r"accept(?:ed)?)\b|(?:decided|agreed) (?:to|on|against|that|not)\b"
    r"|(?:on purpose|by design|(?:is|are|was|were) (?:intentional|deliberate)(?:ly)?)\b"
    r"|(?:i|we|he|she) (?:(?:always|really|strongly|also) )?(?:prefers?|wants?|likes?|dislikes?|hates?|"
    r"insists?|values?)\b|(?:going forward|in future|remember (?:to|that)|as a rule|my idea|i wish"
    r"|can't we (?:just )?|make sure (?:it|you|to|that)|(?:explicit )?(?:go-ahead|consent"
    r"|approval) of the user)\b",
)
"""Phrases that are frequent in decisions and instructions, but also occur elsewhere."""

_EMPHATIC = lazy(
    r"\b(?:NEVER|ALWAYS|MUST NOT|DO NOT|MUST)\b"
    r"|[.!:][)\"']?[ \t]+\*{0,3}(?:Never|Always|Do not|Don't|Avoid|Prefer)\b"
)
"""Case-sensitive hints of the same weight."""

_FAINT = _hints(
    rf"{_ITEM}(?:keep|treat|leave|require|(?:name|prefix|tag)(?!:))\b"
    rf"|{_HEADING}(?:safety|security|testing|workflow|practices?|style|principles?|philosophy|"
    r"requirements?)\b",
    r"(?:must|needs? to|has to|have to|should (?:always|never)|is required|are required|only allowed|"
    r"allowed(?!-)|forbidden|prohibited|(?:intentional|deliberate)(?:ly)?)\b",
)
"""Phrases that are almost as frequent in descriptions as in instructions."""

_PROMPT = lazy(
    r"\$arguments\b|\{\{[^}\n]{1,60}\}\}|\[(?!redacted:)[a-z][^\]\n ]{1,30} [^\]\n]{1,60}\](?![(\[:])"
    r"|^\W{0,8}(?:you are (?:a|an|the|tasked)\b|your (?:task|role|job|mission)\b|act as\b)"
    r"|^#{1,6}[ \t]+(?:step|phase|scenario)[ \t]\d"
    r"|</?(?:system-reminder|task-notification|environment_context|command-(?:name|message|args))>",
    re.MULTILINE,
)
"""Phrases of forms, prompts and notices, whose instructions hold for one task only."""

_TYPES = frozenset(
    {"feedback", "user", "preference", "preferences", "decision", "adr", "rule", "instruction"}
)
_ACCEPTED = frozenset({"accepted", "approved", "decided", "adopted"})


_DECIDED = lazy(
    r"deci[ds]|agreed|chose|settled|went with|entsch(?:ied|eid)|d\u00e9ci[ds]|choisi", re.IGNORECASE
)
_NUMBERED = lazy(r"adr[- #]?\d+")

CASUAL = frozenset({"transcripts"})
"""Sources with conversations, where a wish in passing is no standing instruction."""


def is_protected(
    text: str, *, title: str = "", metadata: Mapping[str, str] | None = None, source: str = ""
) -> bool:
    """Return whether a text holds an explicit decision or a user's standing instruction.

    Such a memory is never aged away. Metadata counts too: a `type` such as feedback, user or decision, a
    `status` such as accepted, or `protected: true`; `protected: false` says no, whatever the text. A long
    text needs more than one hint, but a record of a decision is enough. Where people talk, only that counts,
    and the words of other languages that ban or decide. Reads the first 20,000 characters.
    """
    facts = {key.lower(): value.strip().lower() for key, value in (metadata or {}).items()}
    if facts.get("protected") in {"true", "false", "yes", "no"}:
        return facts["protected"] in {"true", "yes"}
    named = facts.get("type", "")
    if named in _TYPES or facts.get("status") in _ACCEPTED or names_a_rule(named):
        return True
    if source in CASUAL:
        read = _text_for_hints(text, title)
        low = read.lower()
        said = any(next(hints.find(low), None) is not None for hints in (_RECORD, _WILL))
        return said or len(rule_words(read, strong=True)) >= _needed(read)
    return bool(protection_reasons(text, title=title))


def _text_for_hints(text: str, title: str) -> str:
    return f"# {title}\n{text[:MAX_CHARS]}" if title else text[:MAX_CHARS]


@lru_cache(maxsize=2)
def protection_reasons(text: str, *, title: str = "") -> tuple[str, ...]:
    """Return the words that protect a text, in lower case and in order; empty if it is not protected.

    Reads the first 20,000 characters, with the title as a heading. The result is cached because one text is
    classified several times.
    """
    read = _text_for_hints(text, title)
    low = read.lower()
    if (said := next(_RECORD.find(low), None)) is not None:
        return (said,)
    if _USER_SAYS.match(low) and not _ASSISTANT_SAYS.search(low):
        return ("user:",)
    if _PROMPT.search(low):
        return ()
    hints = dict.fromkeys((*_HINT.find(low), *_WILL.find(low), *rule_words(read)))
    hints.update(
        (" ".join(said.group().strip(" .!:)*\"'\t").lower().split()), None)
        for said in _EMPHATIC.finditer(read)
    )
    faint = dict.fromkeys(_FAINT.find(low))
    return (*hints, *faint) if len(hints) + len(faint) // FAINT_HINTS >= _needed(read) else ()


def _needed(read: str) -> int:
    return 1 + len(read) // LONG_CHARS


def is_decision(sentence: str) -> bool:
    """Return whether a sentence says that something was decided, or what is wanted for good."""
    low = sentence.lower()
    strong = [reason for hints in (_RECORD, _WILL) for reason in hints.find(low)]
    # The number and the status of a record say nothing alone: a sentence may be about it.
    if any(_NUMBERED.match(reason) is None for reason in strong):
        return True
    return says_decided(sentence)


def says_decided(sentence: str) -> bool:
    """Return whether a sentence says in words of deciding, agreeing or choosing that this was done."""
    return any(map(_DECIDED.search, protection_reasons(sentence)))


def hint_counts(text: str) -> Mapping[str, float]:
    """Return name -> number of distinct hints of each type in a text."""
    read = text[:MAX_CHARS]
    low = read.lower()
    return {
        "record": float(len(set(_RECORD.find(low)))),
        "hint": float(len(set(_HINT.find(low)))),
        "emphatic hint": float(len(set(_EMPHATIC.findall(read)))),
        "faint hint": float(len(set(_FAINT.find(low)))),
        "prompt": float(len(set(_PROMPT.findall(low)))),
        "user speaks": float(bool(_USER_SAYS.match(low))),
    }
