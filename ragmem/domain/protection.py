"""Whether a text may never be aged away: it holds a decision, or someone's own standing instruction."""

import re
from collections.abc import Mapping

MAX_CHARS = 20_000
"""Characters that are read."""

LONG_CHARS = 3000
"""Each further so many characters ask for one more hint: in a long text a hint occurs by chance."""

_FLAGS = re.IGNORECASE | re.MULTILINE

_RECORD = re.compile(
    r"^\W{0,4}status\W{1,6}(?:accepted|approved|decided|adopted)\b"
    r"|^#{1,6}[ \t]+(?:[\d.]+[ \t]+)?(?:final |key |design |technical |architecture |architectural )?"
    r"(?:decisions?(?: made| log| outcome| record)?|trade-?offs accepted)\s*$"
    r"|^#{1,6}[ \t][^\n]{0,40}\b(?:user|my|our|personal) (?:preferences?|rules|wishes|conventions?)\b"
    r"|\badr[- ]?\d+\b[^\n]{0,80}\baccepted\b"
    r"|\buser (?:(?:always|really|strongly|also|explicitly) )?(?:prefers?|wants?|dislikes?|insists?|decided|"
    r"asked (?:to|that|for))\b"
    r"|\bfrom now on\b|\bnon-negotiable\b",
    _FLAGS,
)
"""A record of a decision or of a person's will: one is enough, however long the text."""

_HINT = re.compile(
    r"^\W{0,8}(?:final |key |design )?decisions?(?: made)?\**:"
    r"|\b(?:we|i|they|team)(?:'ve| have| has)? (?:(?:explicitly|finally|also) )?(?:decided|"
    r"agreed|chose|settled|accept(?:ed)?)\b"
    r"|\b(?:decided|agreed) (?:to|on|against|that|not)\b"
    r"|\b(?:on purpose|by design|intentional(?:ly)?|deliberate(?:ly)?)\b"
    r"|^#{1,6}[ \t][^\n]{0,60}\b(?:preferences?|conventions?|rules|ask first|do not|don'ts?|never|always|"
    r"idioms|house style|done criteria|definition of done|boundaries|etiquette|"
    r"non-negotiables?|standing orders?|"
    r"commit (?:style|messages?))\b"
    r"|\b(?:i|we|he|she) (?:(?:always|really|strongly|also) )?(?:prefers?|wants?|likes?|"
    r"dislikes?|hates?|insists?|values?)\b"
    r"|\b(?:going forward|in future|remember (?:to|that)|as a rule|my idea|i wish|"
    r"make sure (?:it|you|to|that))\b"
    r"|^[ \t]{0,12}(?:[-*+]|\d{1,3}\.)?[ \t]{0,4}\**(?:always|never)\b"
    r"|\b(?-i:NEVER|ALWAYS|MUST NOT|DO NOT)\b"
    r"|^[ \t]{0,12}(?:[-*+]|\d{1,3}\.)[ \t]{0,4}\**(?:do not|don't|prefer|avoid)\b",
    _FLAGS,
)
"""What a decision or an instruction often says, and other texts say too."""

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
    read = f"# {title}\n{text[:MAX_CHARS]}" if title else text[:MAX_CHARS]
    if _RECORD.search(read):
        return True
    hints = {hint.group().lower() for hint in _HINT.finditer(read)}
    return len(hints) >= 1 + len(read) // LONG_CHARS
