"""Classify the tier of a text by evidence or by the published markers, and summarize texts."""

import re
from dataclasses import dataclass
from typing import Literal

from ragmem.domain.classification.evidence import Evidence, weigh
from ragmem.domain.classification.evidence_cues import EvidenceType
from ragmem.domain.classification.judge import Verdict, judge
from ragmem.domain.model import Tier
from ragmem.domain.text.blocks import BlockType, units
from ragmem.domain.text.turns import turns

Rule = Literal["graded", "classic", "learned"]
"""The rule of classification: weigh the evidence, count the published markers, or ask the trained judge."""

CERTAIN = 0.85
"""The judge discards a text only above this probability; docs/judge.md has the curve."""

PERHAPS_PROTECTED = 0.03
"""The judge discards no text whose probability of being a decision or an instruction is above this."""

DOUBT = 0.1
"""The same limit where the graded rule discards a text as well."""

KEPT_ABOVE = 0.5
"""A text is kept if the evidence for it outweighs the evidence against it by this much."""

WHOLE_FROM = 3.0
"""From this weight on the whole text is kept."""

FADES_BY = 1.0
"""Plans and status lose this much weight in the long run, because they soon expire."""

MARKERS = tuple(
    (
        "decided,chose,because,error,fix,resolved,found that,architecture,deploy,config,pattern,constraint,"
        "migration,root cause,workaround"
    ).split(",")
)
"""The published markers; each counts once, anywhere in the text, in any case."""

MIN_CHARS = 50
"""A text shorter than this, without the white space around it, is discarded (published rule)."""

MIN_INGEST_MARKERS = 3
"""Number of distinct markers from which the whole text is kept (published rule)."""

MAX_GREETING_CHARS = 200
"""A longer text has content even if it is polite."""

_OPENERS = """
hi hello hey hiya greetings morning evening thanks thank thx ty cheers welcome ok okay great perfect awesome
excellent nice cool sure yes yep yeah understood done bye goodbye congratulations lgtm sorry
"""
_FILLERS = """
good day afternoon night there all everyone everybody team folks guys friend again you u so very much a lot
for the your help and to i me my we it its it's that's that is this was really job work works well sounds
looks got see soon later tomorrow today have having how are doing hope fine please appreciate appreciated no
problem worries just now back happy glad ready start let's go of course absolutely exactly right
"""
_GREETING_OPENERS = frozenset(_OPENERS.split())
_GREETING_WORDS = _GREETING_OPENERS | frozenset(_FILLERS.split())
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")  # noqa: RUF001
_SPECIFIC = re.compile(r"`[^`\n]+`|\b\w+[_/.:]\w+|[a-z][A-Z]|\d")
_ITEM_NUMBER = re.compile(r"\d{1,4}[.)]\s")
_NUMBERS = ("no marker", "one marker", "two markers", "three or more markers")

MAX_SENTENCE_CHARS = 600
"""Only the beginning of a longer sentence (a log line, minified data) enters a summary."""


@dataclass(frozen=True, slots=True)
class Signal:
    """The tier of a text, the words that decided it, and one line that explains it.

    By the classic rule the words are the markers in the order of MARKERS. By the graded rule `evidence` also
    lists what counts against the text, and the line lists all evidence with its weights.
    """

    tier: Tier
    markers: tuple[str, ...]
    reason: str
    evidence: tuple[Evidence, ...] = ()
    is_doubtful: bool = False
    """Whether the judge kept a text that the graded rule discards."""


def classify(text: str, *, rule: Rule = "graded", protected: bool = False, source: str = "") -> Signal:
    """Return the tier of a text by a rule; a protected text is never discarded.

    The graded rule discards a text only if the judge finds it worthless as well.
    """
    if rule == "learned":
        signal = classify_by_judge(text, source=source)
    elif rule == "classic":
        signal = classify_by_markers(text)
    else:
        signal = classify_by_evidence(text)
        if signal.tier is Tier.DISCARD and _is_doubtful(text, source):
            reason = f"kept: the judge doubts that it is worthless; {signal.reason}"
            signal = Signal(Tier.SUMMARIZE, signal.markers, reason, signal.evidence, is_doubtful=True)
    if not protected or signal.tier is not Tier.DISCARD:
        return signal
    return Signal(
        Tier.SUMMARIZE, signal.markers, f"protected, else discarded: {signal.reason}", signal.evidence
    )


def classify_by_evidence(text: str) -> Signal:
    """Classify a text by the evidence for it and against it, word by word.

    Discard: a greeting, or hardly more for it than against it. Ingest: much more, in the long run as well.
    Summarize: what lies between, and what is only of the moment. A text that protects itself, by a decision
    or someone's standing instruction, is never discarded.
    """
    if is_greeting(text):
        return Signal(Tier.DISCARD, (), "a greeting")
    evidence = weigh(text)
    worth = round(sum(item.weight for item in evidence), 1)
    passing = any(item.sort is EvidenceType.PASSING for item in evidence)
    lasting = round(worth - FADES_BY, 1) if passing else worth
    tier = Tier.INGEST if lasting >= WHOLE_FROM else Tier.SUMMARIZE
    if worth <= KEPT_ABOVE and not any(item.sort is EvidenceType.PROTECTED for item in evidence):
        tier = Tier.DISCARD
    said = f"worth {worth:g}, later {lasting:g}" if passing else f"worth {worth:g}"
    reason = "; ".join((said, *(_evidence_text(item) for item in evidence)))
    words = (word for item in evidence if item.weight > 0 for word in item.words)
    return Signal(tier, tuple(dict.fromkeys(words)), reason, evidence)


def _evidence_text(item: Evidence) -> str:
    """Format a piece of evidence for people."""
    words = f" ({', '.join(item.words)})" if item.words else ""
    return f"{item.sort} {item.weight:+g}{words}"


def classify_by_markers(text: str) -> Signal:
    """Classify a text by the published rule.

    Discard: under 50 characters, no marker, or a greeting. Summarize: one or two distinct markers.
    Ingest: three or more. A marker counts wherever it is a part of the text ("prefix" holds "fix").
    """
    stripped = text.strip()
    lowered = stripped.lower()
    markers = tuple(marker for marker in MARKERS if marker in lowered)
    if len(stripped) < MIN_CHARS:
        return Signal(Tier.DISCARD, markers, f"shorter than {MIN_CHARS} characters")
    if not markers:
        return Signal(Tier.DISCARD, markers, _NUMBERS[0])
    if is_greeting(stripped):
        return Signal(Tier.DISCARD, markers, "a greeting")
    reason = f"{_NUMBERS[min(len(markers), MIN_INGEST_MARKERS)]}: {', '.join(markers)}"
    return Signal(Tier.INGEST if len(markers) >= MIN_INGEST_MARKERS else Tier.SUMMARIZE, markers, reason)


def classify_by_judge(text: str, *, source: str = "") -> Signal:
    """Classify a text by the trained judge; when it is not certain, the text is kept.

    Discard: the judge is certain for every part, no part may be a decision or an instruction, the text is
    read as a whole, its language is known, and it is not a user's alone. Ingest: that is more probable than
    summarize. Summarize: everything else.
    """
    verdict = judge(text, source=source)
    worth = verdict.probabilities["tier"]
    tier = Tier.INGEST if worth[Tier.INGEST] >= worth[Tier.SUMMARIZE] else Tier.SUMMARIZE
    kept_by = _reason_to_keep(verdict)
    if verdict.discard > 0.5:
        tier = Tier.SUMMARIZE if kept_by else Tier.DISCARD
    shares = ", ".join(f"{name} {probability:.2f}" for name, probability in worth.items())
    told = f"{shares}; protected {verdict.protected:.2f}"
    return Signal(tier, (), "; ".join(filter(None, (told, kept_by, verdict.reason))))


def _is_doubtful(text: str, source: str) -> bool:
    """Tell whether the judge sees any worth in a text that the graded rule discards."""
    verdict = judge(text, source=source)
    return verdict.discard <= 0.5 or verdict.protected > DOUBT


def _reason_to_keep(verdict: Verdict) -> str:
    """Return why a text is kept though the judge calls it worthless; empty if nothing keeps it."""
    reasons = (
        (verdict.discard <= CERTAIN, "kept: not certain"),
        (verdict.protected > PERHAPS_PROTECTED, "kept: perhaps a decision or an instruction"),
        (not verdict.whole, "kept: too long to be read as a whole"),
        (not verdict.known_language, "kept: of another language than English"),
        (verdict.only_user, "kept: a user's words"),
    )
    return next((reason for applies, reason in reasons if applies), "")


def is_greeting(text: str) -> bool:
    """Tell whether the whole text is a greeting, a thank-you, a farewell or an acknowledgement.

    It is when it has at most 200 characters, at least one word that opens such a text ("hello", "thanks",
    "ok"), and otherwise only such words and the small words between them. A text that greets and then says
    something is not a greeting; neither is a text without words.
    """
    stripped = text.strip()
    if len(stripped) > MAX_GREETING_CHARS:
        return False
    words = [word.lower().replace("’", "'") for word in _WORD.findall(stripped)]  # noqa: RUF001
    return any(word in _GREETING_OPENERS for word in words) and _GREETING_WORDS.issuperset(words)


def summarize(text: str, *, max_sentences: int = 8) -> str:
    """Return the sentences that carry the signal, verbatim and in order, under their headings.

    A sentence carries signal by its markers first, then by what it names (identifiers, paths, numbers); a
    list item, a table row and a line of code count as sentences. The first heading, the title, comes first. A
    text without any signal gives its first sentences; only a blank text gives "". A summary has at most
    `max_sentences` sentences of at most 600 characters. What was asked at the beginning of an assistant's
    record stands before the summary of the rest, for the answer says little without it.
    """
    spoken = turns(text)
    if len(spoken) > 1 and spoken[0].asks and not spoken[1].asks:
        asked, answer = spoken[:2]
        question = text[asked.start : min(asked.end, asked.start + MAX_SENTENCE_CHARS)].rstrip()
        label = text[answer.start : answer.body]
        return f"{question}\n\n{label}\n{_summary(text[answer.body :], max_sentences)}"
    return _summary(text, max_sentences)


def _summary(text: str, max_sentences: int) -> str:
    title = ""
    heading = ""
    found: list[tuple[float, int, str, str]] = []
    for block, start, end in units(text):
        if block.form is BlockType.HEADING:
            heading = text[start:end]
            title = title or heading
            continue
        sentence = text[start : min(end, start + MAX_SENTENCE_CHARS)].rstrip()
        found.append((_signal_of(sentence), len(found), heading, sentence))
    if not found:
        return title or text.strip()[:MAX_SENTENCE_CHARS]
    signal = [item for item in found if item[0] > 0] or found
    best = sorted(signal, key=lambda item: (-item[0], item[1]))[: max(1, max_sentences)]
    parts = [title] if title else []
    last = title
    for _, _, above, sentence in sorted(best, key=lambda item: item[1]):
        if above and above != last:
            parts.append(above)
            last = above
        parts.append(sentence)
    return "\n".join(parts)


def _signal_of(sentence: str) -> float:
    """Return the signal of a sentence: its distinct markers, and a bonus for a specific name."""
    lowered = sentence.lower()
    # The number of a list item names nothing.
    named = _SPECIFIC.search(sentence, found.end() if (found := _ITEM_NUMBER.match(sentence)) else 0)
    return sum(marker in lowered for marker in MARKERS) + (0.5 if named else 0.0)
