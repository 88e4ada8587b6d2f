"""Classify the tier of a text by the trained judge or by the published markers."""

from typing import Literal

from ragmem.domain.classification.greeting import is_greeting
from ragmem.domain.classification.judge import Verdict, judge
from ragmem.domain.classification.summary import MARKERS
from ragmem.domain.model import Tier
from ragmem.frozen import dataclass

Rule = Literal["judge", "classic"]
"""The rule of classification: ask the trained judge, or count the published markers."""

CERTAIN = 0.85
"""The judge discards a text only above this probability; docs/benchmarks.md has the curve."""

PERHAPS_PROTECTED = 0.05
"""The judge discards no text whose probability of being a decision or an instruction is above this."""

KEPT_SOURCES = frozenset({"memory", "prds", "paidocs", "claudemds", "instructions", "records", "ingest"})
"""Sources that people write on purpose, and what was handed in: nothing of them is discarded."""

SHORT = 600
"""Of a text with at most so many characters there is nothing to leave out."""

MIN_CHARS = 50
"""A text shorter than this, without the white space around it, is discarded (published rule)."""

MIN_INGEST_MARKERS = 3
"""Number of distinct markers from which the whole text is kept (published rule)."""

OTHER_LANGUAGE = "kept: of another language than English"

_NUMBERS = ("no marker", "one marker", "two markers", "three or more markers")


@dataclass(frozen=True, slots=True)
class Signal:
    """The tier of a text, and one line that explains it.

    By the classic rule `markers` are the markers in it, in the order of MARKERS. `judged`: by the judge.
    """

    tier: Tier
    markers: tuple[str, ...]
    reason: str
    judged: bool = False


def classify(
    text: str,
    *,
    rule: Rule = "judge",
    protected: bool = False,
    source: str = "",
    verdict: Verdict | None = None,
) -> Signal:
    """Return the tier of a text by a rule; a protected text is never discarded.

    `verdict` is the judge's, if it was asked before. The words of both rules are English: a text of another
    language is ingested, unless it only greets.
    """
    verdict = verdict or judge(text, source=source)
    if rule == "judge":
        return classify_by_judge(text, verdict, protected=protected, source=source)
    signal = classify_by_markers(text)
    if verdict.is_foreign:
        return Signal(Tier.INGEST, signal.markers, f"{OTHER_LANGUAGE}, else: {signal.reason}")
    if not protected or signal.tier is not Tier.DISCARD:
        return signal
    return Signal(Tier.SUMMARIZE, signal.markers, f"protected, else discarded: {signal.reason}")


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


def classify_by_judge(text: str, verdict: Verdict, *, protected: bool = False, source: str = "") -> Signal:
    """Classify a text by the verdict of the trained judge; when it is not certain, the text is kept.

    Discard: `is_noise`, and neither a rule nor the source protects the text; or it is a greeting. Ingest:
    that is more probable than summarize, or the text is of another language, or it is short and a rule or the
    source protects it. Summarize: everything else.
    """
    worth = verdict.probabilities["tier"]
    tier = Tier.INGEST if worth[Tier.INGEST] >= worth[Tier.SUMMARIZE] else Tier.SUMMARIZE
    shares = ", ".join(f"{name} {probability:.2f}" for name, probability in worth.items())
    # A reason to keep a text comes first: it may contradict the shares, and lists show only the first reason.
    told = f"{shares}; protected {verdict.protected:.2f}"
    kept_by = ""
    if source in KEPT_SOURCES:
        kept_by = "kept: people maintain its source"
    elif is_greeting(text) and not protected:
        return Signal(Tier.DISCARD, (), "a greeting")
    elif protected:
        kept_by = "kept: protected"
    if verdict.is_foreign:
        return Signal(Tier.INGEST, (), f"{OTHER_LANGUAGE}; {told}")
    if kept_by and len(text) <= SHORT:
        return Signal(Tier.INGEST, (), f"{kept_by}, and it is short; {told}")
    if verdict.discard > 0.5:
        kept_by = kept_by or reason_to_keep(verdict)
        tier = Tier.SUMMARIZE if kept_by else Tier.DISCARD
        return Signal(tier, (), "; ".join(filter(None, (kept_by, told, verdict.reason))), judged=True)
    return Signal(tier, (), "; ".join(filter(None, (told, verdict.reason))), judged=True)


def is_noise(text: str, *, source: str = "") -> bool:
    """Return whether the judge is certain that a text is worthless, and that it protects nothing."""
    verdict = judge(text, source=source)
    return source not in KEPT_SOURCES and not reason_to_keep(verdict)


def is_perhaps_noise(text: str, *, source: str = "") -> bool:
    """Return whether the judge tends to call a text worthless, and only its doubt keeps the text."""
    verdict = judge(text, source=source)
    doubtful = 0.5 < verdict.discard <= CERTAIN and not (verdict.is_foreign or _reason_besides_doubt(verdict))
    return doubtful and source not in KEPT_SOURCES


def reason_to_keep(verdict: Verdict) -> str:
    """Return why a text is kept even if the judge calls it worthless; empty if nothing keeps it."""
    return "kept: not certain" if verdict.discard <= CERTAIN else _reason_besides_doubt(verdict)


def _reason_besides_doubt(verdict: Verdict) -> str:
    reasons = (
        (verdict.protected > PERHAPS_PROTECTED, "kept: perhaps a decision or an instruction"),
        (not verdict.whole, "kept: too long to be read as a whole"),
        (not verdict.known_language, "kept: of no language that the judge knows"),
        (verdict.only_user, "kept: a user's words"),
    )
    return next((reason for applies, reason in reasons if applies), "")
