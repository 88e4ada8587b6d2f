"""Types of entities as letters, which is how they are stored."""

from collections.abc import Iterable, Mapping

LETTERS: Mapping[str, str] = {
    "person": "P",
    "organization": "O",
    "project": "J",
    "tool": "T",
    "library": "L",
    "language": "A",
    "model": "M",
    "service": "S",
    "host": "H",
    "file": "F",
    "symbol": "Y",
    "command": "C",
    "config": "G",
    "error": "R",
    "protocol": "X",
    "concept": "N",
    "version": "V",
    "dataset": "D",
    "event": "E",
}
"""Type -> letter; a letter is never given to another type."""

TYPES: Mapping[str, str] = {letter: kind for kind, letter in LETTERS.items()}


def write(types: Iterable[str]) -> str:
    """Return some types as stored: their letters; or, where one has none, the types behind commas."""
    found = sorted(set(types))
    if all(kind in LETTERS for kind in found):
        return "".join(map(LETTERS.__getitem__, found))
    return "".join(f",{kind}" for kind in found)


def read(stored: str) -> list[str]:
    """Return the types of `write`, sorted."""
    return stored[1:].split(",") if stored.startswith(",") else [TYPES[letter] for letter in stored]
