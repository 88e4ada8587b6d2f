"""A sample document: how the tests make it with a real writer, and what must be found in it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Question(NamedTuple):
    """What a person asks, the text that what is found must hold, and the place that it must come from.

    `locator` is what follows `#` in the memory's uri ("slide=4"), and empty for a format without parts.
    A plain tuple of the three does as well.
    """

    text: str
    answer: str
    locator: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A file called `name`; `make` writes it to the path it is given, always with the same content.

    `written` are the lines that a picture shows.
    """

    name: str
    make: Callable[[Path], object]
    questions: tuple[tuple[str, str, str], ...]
    written: tuple[str, ...] = ()
