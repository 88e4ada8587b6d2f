"""Store uploaded files, and keep the track ids of documents that were sent together."""

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fastapi import HTTPException

from ragmem.api.memory import Ragmem
from ragmem.domain.model import USER
from ragmem.domain.model.document_place import LABEL, LOCATOR, place_metadata
from ragmem.errors import SourceError, UsageError
from ragmem.readers.documents.suffixes import FORMATS
from ragmem.server.http import handlers
from ragmem.server.http.models import TextRequest, TextResponse
from ragmem.server.lightrag.document_list import TRACK_PREFIX
from ragmem.services.ingestion.options import DraftOptions

MAX_TRACKS = 1_000
"""Maximum track ids."""

TYPES = tuple(
    sorted(
        {
            *(
                ".md",
                ".markdown",
                ".mdc",
                ".rst",
                ".adoc",
                ".org",
                ".mediawiki",
                ".wiki",
                ".txt",
                ".log",
                ".sql",
                ".css",
            ),
            *(".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg", ".xml", ".sh"),
            *(".py", ".js", ".jsx", ".ts", ".tsx", ".go", ".rs", ".rb", ".php", ".java", ".kt", ".swift"),
            *(".c", ".h", ".cc", ".cpp", ".hpp", ".cs"),
        }
    )
)
"""Suffixes of text files."""

DOCUMENTS = frozenset(FORMATS)
"""Suffixes of documents, which a separate process reads; this needs the extra `documents`."""

LONGEST_NAME = 255

_STAND_IN = "a-document-that-was-uploaded-to-ragmem"
"""The temporary name of a document's file, which no document has in its own title or text."""


class Tracks:
    """The memories of the latest track ids."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def keep(self, answer: TextResponse) -> TextResponse:
        """Record the track id of an answer, and return the answer."""
        self._ids[answer.track_id] = tuple(answer.memory_ids)
        while len(self._ids) > MAX_TRACKS:
            self._ids.popitem(last=False)
        return answer

    def of(self, track_id: str) -> tuple[str, ...]:
        """Return the memories of a track id; empty if it is unknown or forgotten."""
        if (found := self._ids.get(track_id)) is not None:
            return found
        return (track_id.removeprefix(TRACK_PREFIX),) if track_id.startswith(TRACK_PREFIX) else ()


def store_file(memory: Ragmem, name: str, raw: bytes, *, project: str = "") -> TextResponse:
    """Store the text of a file under its name, a document's by pages; no file of that name is opened.

    Raises HTTPException 415 for an unsupported type, UsageError for a file without text, and ConflictError if
    another text has the name: the README.md of one folder must not replace that of another.
    """
    source = plain_name(name)
    suffix = PurePosixPath(source).suffix.lower()
    if suffix in DOCUMENTS:
        return _store_document(memory, source, suffix, raw, project=project)
    if suffix not in TYPES:
        raise HTTPException(
            415, f'files "{suffix or source}" are not supported; GET /documents/supported_file_types'
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f'"{source}" is not UTF-8: byte {error.start} is invalid', hint="convert it: iconv -t utf-8"
        ) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise UsageError(f'"{source}" contains no text', hint="send a file with text")
    return handlers.store_text(
        memory, TextRequest(text=text, file_source=source, project=project), replacing=False
    )


def _store_document(memory: Ragmem, source: str, suffix: str, raw: bytes, *, project: str) -> TextResponse:
    """Store the parts of a document, which a separate process reads from a temporary file."""
    wish = DraftOptions(project=project or USER)
    with TemporaryDirectory(prefix="ragmem-") as folder:
        path = Path(folder, f"{_STAND_IN}{suffix}")
        path.write_bytes(raw)
        try:
            handed = memory.ingestion.draft([path], wish)
        except SourceError as error:
            raise UsageError(str(error).replace(str(path), source), hint=error.hint) from error
    left_out = [warning.replace(str(path), source) for warning in handed.warnings]
    if not handed.drafts:
        said = left_out[0] if left_out else f'"{source}" contains no text'
        raise UsageError(said, hint="send a file with text")
    drafts = []
    for draft in handed.drafts:
        locator = draft.metadata.get(LOCATOR, "")
        label = draft.metadata.get(LABEL, "")
        drafts.append(
            replace(
                draft,
                uri=f"{source}#{locator}" if locator else source,
                # The text of a picture contains its file name.
                text=draft.text.replace(path.name, source),
                title=draft.title.replace(path.stem, PurePosixPath(source).stem, 1),
                metadata={**draft.metadata, **place_metadata(source, locator, label)},
            )
        )
    stored = handlers.store_new(memory, drafts)
    stored.message = "; ".join([stored.message, *left_out])
    return stored


def plain_name(name: str) -> str:
    """Return the last part of a file name without control characters; raises UsageError if it is empty."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(char for char in last if char.isprintable()).strip()[-LONGEST_NAME:]
    if not kept.strip("."):
        raise UsageError("the file has no name", hint="send its name, such as notes.md")
    return kept.encode("utf-8", "replace").decode("utf-8")
