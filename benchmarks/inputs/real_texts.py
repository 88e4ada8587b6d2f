"""Real texts for benchmarks of the bundled model: paragraphs and sentences of the files below a folder."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIXES = {".md", ".txt", ".json", ".jsonl"}
SEED = 20
SENTENCE_CHARACTERS = range(20, 400)
SENTENCE_WORDS = 3
"""At least; signatures and hashes in transcripts are long words, not sentences."""


def _strings(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _contents(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    documents = text.splitlines() if path.suffix == ".jsonl" else [text]
    for document in documents:
        try:
            yield from _strings(json.loads(document)) if path.suffix in {".json", ".jsonl"} else [document]
        except ValueError:  # cut short, or several documents in one file: text all the same
            yield document


def paragraphs(folder: Path) -> list[str]:
    """Return the distinct paragraphs of all files, in the order of the files' names."""
    found: dict[str, None] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file()):
        for content in _contents(path):
            found.update(dict.fromkeys(part for part in content.split("\n\n") if part.strip()))
    return list(found)


def sentences(folder: Path, count: int) -> list[str]:
    """Return distinct sentences of the files, drawn by a fixed seed; fewer where there are no more."""
    found: dict[str, None] = {}
    for paragraph in paragraphs(folder):
        for line in paragraph.splitlines():
            for part in re.split(r"(?<=[.!?])\s+", line.strip(" #*-|>\t")):
                if len(part) in SENTENCE_CHARACTERS and len(part.split()) >= SENTENCE_WORDS:
                    found[part] = None
    return random.Random(SEED).sample(list(found), min(count, len(found)))
