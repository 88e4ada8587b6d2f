"""Remove from a draft what must not be stored: secrets, private blocks, and blocks written by ragmem."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from ragmem.domain.injection.sanitization import sanitize_text, secrets_in, without_parts
from ragmem.domain.model import Draft, Memory, content_hash
from ragmem.domain.records.records import FIELDS
from ragmem.domain.secrets.redaction import Redactor
from ragmem.patterns import lazy

__all__ = ["sanitize_draft", "sanitize_fields", "sanitize_memory", "sanitize_text"]

MIN_SHOWN = 12
"""Minimum characters of a line that counts as a line of a secret key."""

_ADDRESS = lazy(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")


def sanitize_draft(draft: Draft, redactor: Redactor) -> Draft:
    """Return the draft without what must not be stored; the same object if nothing changes.

    In text, title, tags and metadata each secret becomes `[redacted: kind]`, also in a uri that is an
    address; a path stays, because it identifies the file. Private blocks and blocks of the frame are removed,
    so the text may become empty. The function is idempotent.
    """
    text = sanitize_text(draft.text, redactor=redactor)
    title = draft.title if draft.title == "" else _title(draft, text, redactor=redactor)
    tags = tuple(clean for tag in draft.tags if (clean := sanitize_text(tag, redactor=redactor)) or not tag)
    metadata = _metadata(draft.metadata, redactor=redactor)
    if text != draft.text and not redactor.stored:
        secrets = secrets_in(draft.text, redactor)
        title = without_parts(title, secrets)
        tags = tuple(without_parts(tag, secrets) for tag in tags)
        metadata = {
            key: value if key == FIELDS else without_parts(value, secrets) for key, value in metadata.items()
        }
    uri = sanitize_text(draft.uri, redactor=redactor) if _ADDRESS.match(draft.uri) else draft.uri
    if (text, title, tags, metadata, uri) == (draft.text, draft.title, draft.tags, draft.metadata, draft.uri):
        return draft
    return replace(draft, text=text, title=title, tags=tags, metadata=metadata, uri=uri)


def sanitize_memory(memory: Memory, redactor: Redactor) -> Memory:
    """Return a foreign memory without what must not be stored; the same object if nothing changes.

    Its id stays, and so does its summary, unless it shows a secret.
    """
    draft = Draft(
        memory.source, memory.uri, memory.text, memory.title, tags=memory.tags, metadata=memory.metadata
    )
    clean = sanitize_draft(draft, redactor=redactor)
    summary = _sanitize_summary(memory.summary, memory.text, redactor=redactor)
    if clean is draft and summary == memory.summary:
        return memory
    return replace(
        memory,
        uri=clean.uri,
        text=clean.text,
        title=clean.title,
        tags=clean.tags,
        metadata=dict(clean.metadata),
        summary=summary,
        content_hash=content_hash(clean.text),
    )


def _sanitize_summary(part: str, whole: str, redactor: Redactor) -> str:
    """Return a sanitized part of a text; empty if it shows a part of a secret."""
    if not part or redactor.stored:
        return sanitize_text(part, redactor=redactor)
    secrets = [whole[one.start : one.end] for one in redactor.find(whole)]
    clean = sanitize_text(part, redactor=redactor)
    # A summary is made of sentences, and one of them may be a line of a key.
    shown = any(line in secret for secret in secrets for line in clean.split("\n") if len(line) >= MIN_SHOWN)
    return "" if shown else clean


def _title(draft: Draft, text: str, redactor: Redactor) -> str:
    """Return the title, or "" if it comes from a part that was removed from the text."""
    title = sanitize_text(_file_name_or_title(draft, redactor=redactor), redactor=redactor)
    bare = title.strip("# \t…")
    return "" if len(bare) > len("x") and bare in draft.text and bare not in text else title


def _file_name_or_title(draft: Draft, redactor: Redactor) -> str:
    """Return the title, or the file's name if the title was made of it and the name holds a secret.

    Readers replace punctuation in a name by blanks, and a token is not recognized without it.
    """
    name = PurePath(draft.uri.partition("#")[0]).stem
    if _words(name) == _words(draft.title) and redactor.find(name):
        return name
    return draft.title


def _words(name: str) -> list[str]:
    return re.split(r"[\W_]+", name)


def _metadata(metadata: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """Return the metadata without secrets; the fields of a typed record are redacted one by one."""
    left_out = {
        sanitize_text(key, redactor=redactor): sanitize_text(value, redactor=redactor)
        for key, value in metadata.items()
    }
    covered: dict[str, str] = left_out if redactor.stored else redactor.redact_document(left_out)
    if FIELDS in metadata:
        covered[FIELDS] = _fields(metadata[FIELDS], redactor=redactor)
    return covered


def _fields(written: str, redactor: Redactor) -> str:
    # In serialized JSON a quoted secret has escaped quotes and is not recognized.
    try:
        fields = json.loads(written)
    except (ValueError, RecursionError):
        return sanitize_text(written, redactor=redactor)
    covered = sanitize_fields(fields, redactor=redactor)
    return written if covered == fields else json.dumps(covered, ensure_ascii=False)


def sanitize_fields(fields: Any, redactor: Redactor) -> Any:
    """Return a copy of the fields of a typed record without what must not be stored, also in their names."""
    kept = _sanitize_value(fields, redactor=redactor)
    return kept if redactor.stored else redactor.redact_document(kept)


def _sanitize_value(part: object, redactor: Redactor) -> object:
    if isinstance(part, str):
        return sanitize_text(part, redactor=redactor)
    if isinstance(part, dict):
        return {
            sanitize_text(key, redactor=redactor): _sanitize_value(value, redactor=redactor)
            for key, value in part.items()
        }
    return [_sanitize_value(item, redactor=redactor) for item in part] if isinstance(part, list) else part
