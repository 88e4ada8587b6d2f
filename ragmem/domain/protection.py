"""Whether a text may never be aged away: it holds a decision, or someone's own standing instruction."""

import re
from collections.abc import Mapping

MAX_CHARS = 20_000
"""Characters that are read."""

LONG_CHARS = 3000
"""Each further so many characters ask for one more hint: in a long text a hint occurs by chance."""

FAINT_HINTS = 2
"""So many faint hints are worth a hint."""

_FLAGS = re.IGNORECASE | re.MULTILINE
_HEADING = r"^#{1,6}[ \t][^\n]{0,60}\b"
_ITEM = r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])?[ \t]{0,4}\**"

_RECORD = re.compile(
    r"^\W{0,4}status\W{1,6}(?:accepted|approved|decided|adopted)\b"
    r"|^#{1,6}[ \t]+(?:[\d.]+[ \t]+)?(?:final |key |design |technical |architecture |architectural )?"
    r"(?:decisions?(?: made| log| outcome| record)?|trade-?offs accepted)\s*$"
    r"|^#{1,6}[ \t][^\n]{0,40}\b(?:user|my|our|personal) (?:preferences?|rules|wishes|conventions?)\b"
    r"|\badr[- ]?\d+\b[^\n]{0,80}\baccepted\b"
    r"|\b(?<!the )user (?:(?:always|really|strongly|also|explicitly) )?(?:prefers?|wants?|dislikes?|insists?|"
    r"decided|corrected)\b"
    r"|\bthe user (?:(?:always|really|strongly|also|explicitly) )?(?:prefers|dislikes|insists|decided|"
    r"corrected|asked (?:to|that|for))\b"
    r"|\A\s*user:\s(?![\s\S]*^assistant:)"
    r"|^type:[ \t]*(?:user|feedback|preference|decision)[ \t]*$"
    r"|^\**how to apply:"
    r"|\bfrom now on\b",
    _FLAGS,
)
"""A record of a decision or of a person's will: one is enough, however long the text."""

_HINT = re.compile(
    r"^\W{0,8}(?:final |key |design )?decisions?(?: made)?\**:"
    r"|\b(?:we|i|they|team)(?:'ve| have| has)? (?:(?:explicitly|finally|also) )?(?:decided|"
    r"agreed|chose|settled|accept(?:ed)?)\b"
    r"|\b(?:decided|agreed) (?:to|on|against|that|not)\b"
    r"|\b(?:on purpose|by design|intentional(?:ly)?|deliberate(?:ly)?)\b"
    r"|" + _HEADING + r"(?:preferences?|conventions?|rules|ask first|do not|don'ts?|never|always|"
    r"idioms|house style|done criteria|definition of done|boundaries|etiquette|guidelines|guidance|policy|"
    r"policies|non-negotiables|standing orders?|not building|out of scope|"
    r"commit (?:style|messages?))\b"
    r"|\b(?:i|we|he|she) (?:(?:always|really|strongly|also) )?(?:prefers?|wants?|likes?|"
    r"dislikes?|hates?|insists?|values?)\b"
    r"|\b(?:going forward|in future|remember (?:to|that)|as a rule|my idea|i wish|can't we (?:just )?|"
    r"make sure (?:it|you|to|that)|(?:explicit )?(?:go-ahead|consent|approval) of the user)\b"
    r"|" + _ITEM + r"(?:always|never|before (?:every|any|each|all)|after (?:every|any|each))\b"
    r"|\b(?-i:NEVER|ALWAYS|MUST NOT|DO NOT|MUST)\b"
    r"|(?:^|[.!:][)\"']?[ \t]+)\**(?-i:Never|Always|Do not|Don't|Avoid|Prefer)\b"
    r"|" + _ITEM + r"(?:do not|don't|prefer|avoid|favou?r)\b"
    r"|" + _ITEM + r"[a-z]+ [^\n()]{1,80}\(not\b",
    _FLAGS,
)
"""What a decision or an instruction often says, and other texts say too."""

_FAINT = re.compile(
    r"\b(?:must|needs? to|has to|have to|should (?:always|never)|is required|are required|only allowed|"
    r"allowed|forbidden|prohibited)\b"
    r"|" + _ITEM + r"(?:keep|treat|leave|name|prefix|tag|require)\b"
    r"|" + _HEADING + r"(?:safety|security|testing|workflow|practices?|style|principles?|philosophy|"
    r"requirements?)\b",
    _FLAGS,
)
"""What instructions say, and descriptions almost as often."""

_PROMPT = re.compile(
    r"\$ARGUMENTS\b|\{\{[^}\n]{1,60}\}\}|\[[A-Za-z][^\]\n ]{1,30} [^\]\n]{1,60}\](?![(\[:])"
    r"|^\W{0,8}(?:you are (?:a|an|the|tasked)\b|your (?:task|role|job|mission)\b|act as\b)"
    r"|^#{1,6}[ \t]+(?:step|phase|scenario)[ \t]\d"
    r"|</?(?:system-reminder|task-notification|environment_context|command-(?:name|message|args))>",
    _FLAGS,
)
"""What a form to fill in, a prompt or a notice of the assistant's says: its instructions are for one task."""

_TYPES = frozenset(
    {"feedback", "user", "preference", "preferences", "decision", "adr", "rule", "instruction"}
)
_ACCEPTED = frozenset({"accepted", "approved", "decided", "adopted"})


def is_protected(text: str, *, title: str = "", metadata: Mapping[str, str] | None = None) -> bool:
    """Tell whether a text holds an explicit decision or someone's own standing instruction.

    Such a memory is never aged away. Metadata counts too: a `type` such as feedback, user or decision, a
    `status` such as accepted, or `protected: true`; `protected: false` says no, whatever the text. A long
    text needs more than one hint, but a record of a decision is enough. Reads the first 20,000 characters.
    """
    facts = {key.lower(): value.strip().lower() for key, value in (metadata or {}).items()}
    if facts.get("protected") in {"true", "false", "yes", "no"}:
        return facts["protected"] in {"true", "yes"}
    if facts.get("type") in _TYPES or facts.get("status") in _ACCEPTED:
        return True
    return bool(protecting(text, title=title))


def protecting(text: str, *, title: str = "") -> tuple[str, ...]:
    """Return the words of a text that protect it, in lower case and in order; none where it is not protected.

    Reads the first 20,000 characters, under the title as a heading.
    """
    read = f"# {title}\n{text[:MAX_CHARS]}" if title else text[:MAX_CHARS]
    if found := _RECORD.search(read):
        return (_said(found),)
    if _PROMPT.search(read):
        return ()
    hints = dict.fromkeys(_said(hint) for hint in _HINT.finditer(read))
    faint = dict.fromkeys(_said(hint) for hint in _FAINT.finditer(read))
    needed = 1 + len(read) // LONG_CHARS
    return (*hints, *faint) if len(hints) + len(faint) // FAINT_HINTS >= needed else ()


def _said(found: re.Match[str]) -> str:
    """Return what was found as a person would quote it."""
    return " ".join(found.group().strip(" \t\r\n-*+#.:").lower().split())
