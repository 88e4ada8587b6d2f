"""basic-memory: Markdown notes with observations and relations, in the folder of a project."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ragmem.domain.model import Kind, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import SourceError
from ragmem.readers.dates import first_time
from ragmem.readers.fields import KINDS, TAG_KEYS, as_fields, as_tags, time_values
from ragmem.readers.files import ReadError, read_text, show
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.entries import Entry, Fact, LeftOut, name_of, text_of
from ragmem.readers.frontmatter_block import split

DEFAULT = "basic-memory"
"""The folder of the project that basic-memory makes itself; its notes belong to no project."""

MAX_NOTE = 4 << 20
MAX_LOOK = 200
"""Notes that are looked at to recognise a folder."""

OBSERVATION = re.compile(r"^[ \t]{0,8}[-*] \[([^\[\]()\n]{1,60})\][ \t]+(\S[^\n]*)$", re.MULTILINE)
RELATION = re.compile(r"^[ \t]{0,8}[-*] ([^\[\]\n]{0,80}?)[ \t]*\[\[([^\[\]\n]{1,200})\]\]", re.MULTILINE)
_TASK = frozenset(" xX-/")
_TAG = re.compile(r"(?<!\S)#([\w/-]{1,60})")

_CATEGORIES = {
    **KINDS,
    "design": Kind.ARCHITECTURE,
    "tech": Kind.ARCHITECTURE,
    "issue": Kind.ERROR,
    "problem": Kind.ERROR,
    "fix": Kind.ERROR,
    "rule": Kind.PREFERENCE,
    "fact": None,
}


def entries(path: Path, _redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield a fact for each note: its text as it is, its observations' categories as kind and tags."""
    if not path.is_dir():
        raise SourceError(
            f'cannot import "{show(path)}": basic-memory keeps a folder of notes', hint="give that folder"
        )
    folder = path.resolve()
    for file in _notes(path, left_out):
        try:
            text = read_text(file, max_bytes=MAX_NOTE)
            changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        except (ReadError, OSError) as error:
            left_out[
                f"note that is {error.reason}" if isinstance(error, ReadError) else "note that is gone"
            ] += 1
            continue
        yield _note(file.relative_to(path), text, folder, changed)


def _note(place: Path, text: str, folder: Path, changed: datetime) -> Fact:
    parts = split(text)
    values = {str(key).lower(): value for key, value in parts.values.items()}
    body = text_of(parts.body)
    observed = [(found[1].strip().lower(), found[2]) for found in OBSERVATION.finditer(body)]
    observed = [(category, said) for category, said in observed if category not in _TASK]
    relations = [f"{found[1].strip() or 'links to'} {found[2]}" for found in RELATION.finditer(body)]
    kinds = Counter(kind for category, _ in observed if (kind := _CATEGORIES.get(category)))
    kind, most = kinds.most_common(1)[0] if kinds else (None, 0)
    permalink = name_of(values.get("permalink")) or show(place.with_suffix(""))
    tags = as_tags(
        *(values.get(key) for key in TAG_KEYS), [tag for _, said in observed for tag in _TAG.findall(said)]
    )
    return Fact(
        # Two projects may have notes of one name.
        f"{digest(str(folder), length=12)}/{permalink}",
        body,
        name_of(values.get("title")) or name_of(place.stem),
        first_time(time_values(values)) or changed,
        "" if folder.name == DEFAULT else str(folder),
        kind if 2 * most > len(observed) else None,
        tags=tags,
        metadata={
            **as_fields(values, leave_out=(*TAG_KEYS, "title")),
            **({"relations": name_of("; ".join(relations))} if relations else {}),
        },
    )


def _notes(folder: Path, left_out: LeftOut) -> Iterator[Path]:
    """Yield the notes of a folder in a stable order, without following links out of it."""

    def count(_error: OSError) -> None:
        left_out["folder that cannot be read"] += 1

    for parent, folders, files in os.walk(folder, onerror=count):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(parent, name)
            if path.suffix.lower() == ".md" and not path.is_symlink():
                yield path


def _recognise(path: Path) -> bool:
    """Return whether the notes of a folder have permalinks, as each note of basic-memory does."""
    if not path.is_dir():
        return False
    looked = found = 0
    for file in _notes(path, LeftOut()):
        try:
            values = split(read_text(file, max_bytes=MAX_NOTE)).values
        except (ReadError, OSError):
            continue
        looked += 1
        found += "permalink" in values and "type" in values
        if looked == MAX_LOOK:
            break
    return found > 0 and found == looked


TOOL = Tool("basic-memory", "0.24.1", _recognise, entries)
