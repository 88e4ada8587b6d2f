"""Whether a text may never be aged away: it holds a decision, or someone's own standing instruction."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

MAX_CHARS = 20_000
"""Characters that are read."""

LONG_CHARS = 3000
"""Each further so many characters ask for one more hint: in a long text a hint occurs by chance."""

FAINT_HINTS = 2
"""So many faint hints are worth a hint."""

_HEADING = r"#{1,6}[ \t][^\n]{0,60}\b"
_ITEM = r"[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])?[ \t]{0,4}\*{0,3}"
_MOSTLY = r"(?:(?:always|really|strongly|also|explicitly) )?"


@dataclass(frozen=True, slots=True)
class _Said:
    """What is looked for, in lower case: what lines begin with, and words wherever they stand."""

    lines: re.Pattern[str]
    words: re.Pattern[str]

    def found(self, low: str) -> Iterator[str]:
        for pattern in (self.lines, self.words):
            for match in pattern.finditer(low):
                yield " ".join(match.group().strip(" \t\r\n-*+#.:").split())


def _said(lines: str, words: str) -> _Said:
    # One anchor for all branches: the engine then tries none of them where no line or word begins.
    return _Said(re.compile(rf"^(?:{lines})", re.MULTILINE), re.compile(rf"\b(?:{words})"))


_RECORD = _said(
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
"""A record of a decision or of a person's will: one is enough, however long the text."""

_USER_SAYS = re.compile(r"\s*user:\s")
_ASSISTANT_SAYS = re.compile(r"^assistant:", re.MULTILINE)

_HINT = _said(
    r"\W{0,8}(?:final |key |design )?decisions?(?: made)?\*{0,2}:"
    rf"|{_HEADING}(?:preferences?|conventions?|rules|ask first|do not|don'ts?|never|always|"
    r"idioms|house style|done criteria|definition of done|boundaries|etiquette|guidelines|guidance|policy|"
    r"policies|non-negotiables|standing orders?|not building|out of scope|commit (?:style|messages?))\b"
    rf"|{_ITEM}(?:always|never|before (?:every|any|each|all)|after (?:every|any|each)|do not|don't|prefer|"
    r"avoid|favou?r)\b"
    rf"|{_ITEM}[a-z]+ [^\n()]{{1,80}}\(not\b",
    r"(?:we|i|they|team)(?:'ve| have| has)? (?:(?:explicitly|finally|also) )?(?:decided|agreed|chose|settled|"
    r"accept(?:ed)?)\b"
    r"|(?:decided|agreed) (?:to|on|against|that|not)\b"
    r"|(?:on purpose|by design|(?:is|are|was|were) (?:intentional|deliberate)(?:ly)?)\b"
    r"|(?:i|we|he|she) (?:(?:always|really|strongly|also) )?(?:prefers?|wants?|likes?|dislikes?|hates?|"
    r"insists?|values?)\b"
    r"|(?:going forward|in future|remember (?:to|that)|as a rule|my idea|i wish|can't we (?:just )?|"
    r"make sure (?:it|you|to|that)|(?:explicit )?(?:go-ahead|consent|approval) of the user)\b",
)
"""What a decision or an instruction often says, and other texts say too."""

_EMPHATIC = re.compile(
    r"\b(?:NEVER|ALWAYS|MUST NOT|DO NOT|MUST)\b"
    r"|[.!:][)\"']?[ \t]+\*{0,3}(?:Never|Always|Do not|Don't|Avoid|Prefer)\b"
)
"""The same where the case of letters tells."""

_FAINT = _said(
    rf"{_ITEM}(?:keep|treat|leave|require|(?:name|prefix|tag)(?!:))\b"
    rf"|{_HEADING}(?:safety|security|testing|workflow|practices?|style|principles?|philosophy|"
    r"requirements?)\b",
    r"(?:must|needs? to|has to|have to|should (?:always|never)|is required|are required|only allowed|"
    r"allowed(?!-)|forbidden|prohibited|(?:intentional|deliberate)(?:ly)?)\b",
)
"""What instructions say, and descriptions almost as often."""

_PROMPT = re.compile(
    r"\$arguments\b|\{\{[^}\n]{1,60}\}\}|\[(?!redacted:)[a-z][^\]\n ]{1,30} [^\]\n]{1,60}\](?![(\[:])"
    r"|^\W{0,8}(?:you are (?:a|an|the|tasked)\b|your (?:task|role|job|mission)\b|act as\b)"
    r"|^#{1,6}[ \t]+(?:step|phase|scenario)[ \t]\d"
    r"|</?(?:system-reminder|task-notification|environment_context|command-(?:name|message|args))>",
    re.MULTILINE,
)
"""What a form to fill in, a prompt or a notice of the assistant's says: its instructions are for one task."""

_TYPES = frozenset(
    {"feedback", "user", "preference", "preferences", "decision", "adr", "rule", "instruction"}
)
_ACCEPTED = frozenset({"accepted", "approved", "decided", "adopted"})


CASUAL = frozenset({"transcripts"})
"""Sources in which people talk: what somebody wants in passing there is no standing instruction."""


def is_protected(
    text: str, *, title: str = "", metadata: Mapping[str, str] | None = None, source: str = ""
) -> bool:
    """Tell whether a text holds an explicit decision or someone's own standing instruction.

    Such a memory is never aged away. Metadata counts too: a `type` such as feedback, user or decision, a
    `status` such as accepted, or `protected: true`; `protected: false` says no, whatever the text. A long
    text needs more than one hint, but a record of a decision is enough; where people talk nothing else is.
    Reads the first 20,000 characters.
    """
    facts = {key.lower(): value.strip().lower() for key, value in (metadata or {}).items()}
    if facts.get("protected") in {"true", "false", "yes", "no"}:
        return facts["protected"] in {"true", "yes"}
    if facts.get("type") in _TYPES or facts.get("status") in _ACCEPTED:
        return True
    if source in CASUAL:
        return next(_RECORD.found(_read(text, title).lower()), None) is not None
    return bool(protecting(text, title=title))


def _read(text: str, title: str) -> str:
    return f"# {title}\n{text[:MAX_CHARS]}" if title else text[:MAX_CHARS]


@lru_cache(maxsize=2)
def protecting(text: str, *, title: str = "") -> tuple[str, ...]:
    """Return the words of a text that protect it, in lower case and in order; none where it is not protected.

    Reads the first 20,000 characters, under the title as a heading. Whoever judges a text asks several times.
    """
    read = _read(text, title)
    low = read.lower()
    if (said := next(_RECORD.found(low), None)) is not None:
        return (said,)
    if _USER_SAYS.match(low) and not _ASSISTANT_SAYS.search(low):
        return ("user:",)
    if _PROMPT.search(low):
        return ()
    hints = dict.fromkeys(_HINT.found(low))
    hints.update(
        (" ".join(said.group().strip(" .!:)*\"'\t").lower().split()), None)
        for said in _EMPHATIC.finditer(read)
    )
    faint = dict.fromkeys(_FAINT.found(low))
    needed = 1 + len(read) // LONG_CHARS
    return (*hints, *faint) if len(hints) + len(faint) // FAINT_HINTS >= needed else ()
