"""What a sheet of small charts shows; `chart_lines` draws it for a terminal, `chart_svg` as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """What sort of thing a mark stands for; never the only thing that tells it."""

    PLAIN = "plain"
    FRESH = "fresh"
    FIRM = "firm"
    LASTING = "lasting"
    FADING = "fading"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, how many, and a word beside the number."""

    label: str
    value: int
    note: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Parts:
    """One bar that is made of parts, in their order."""

    title: str
    bars: Sequence[Bar]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars one below the other, from the same beginning."""

    title: str
    bars: Sequence[Bar]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the axis of a histogram."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often values between `low` and `high` occur, in classes of equal width, with marked places."""

    title: str
    low: float
    high: float
    counts: Sequence[int]
    marks: Sequence[Mark] = ()
    note: str = ""


Chart = Parts | Bars | Histogram


@dataclass(frozen=True, slots=True)
class Sheet:
    """Charts under one title; `told` is the same in a sentence, for who cannot see it."""

    title: str
    told: str
    charts: Sequence[Chart]
