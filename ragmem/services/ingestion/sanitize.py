"""Make a draft fit to be stored: without secrets, what is private, and what memory itself said."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from ragmem.domain.injection.purity import sanitize_text, secrets_in, without_parts
from ragmem.domain.model import Draft, Memory, content_hash
from ragmem.domain.records.records import FIELDS
from ragmem.domain.secrets.redaction import Redactor

__all__ = ["purified_memory", "sanitize_draft", "sanitize_text"]

MIN_SHOWN = 12
"""Characters of a line that is known as one of a key."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")


def sanitize_draft(draft: Draft, redactor: Redactor) -> Draft:
    """Return the draft as it may be stored; the same object where nothing has to go.

    In text, title, tags and metadata each secret is `[redacted: kind]`, in an address that is its uri as
    well; a path stays, for by it the file is known again. Private blocks and blocks of the frame are left
    out. The text may be empty then. Purifying twice is purifying once.
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


def purified_memory(memory: Memory, redactor: Redactor) -> Memory:
    """Return a memory that somebody else made as it may be stored; the same object where nothing has to go.

    Its id stays, and a summary is kept as far as it goes.
    """
    draft = Draft(
        memory.source, memory.uri, memory.text, memory.title, tags=memory.tags, metadata=memory.metadata
    )
    clean = sanitize_draft(draft, redactor=redactor)
    summary = _part(memory.summary, memory.text, redactor=redactor)
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


def _part(part: str, whole: str, redactor: Redactor) -> str:
    """Return a part of a text, purified; empty where it shows some of what has to go as a whole."""
    if not part or redactor.stored:
        return sanitize_text(part, redactor=redactor)
    secrets = [whole[one.start : one.end] for one in redactor.find(whole)]
    clean = sanitize_text(part, redactor=redactor)
    # Of a text that is made of its sentences, a line of a key may be one.
    shown = any(line in secret for secret in secrets for line in clean.split("\n") if len(line) >= MIN_SHOWN)
    return "" if shown else clean


def _title(draft: Draft, text: str, redactor: Redactor) -> str:
    """Return the title, or nothing where it is taken from what has left the text."""
    title = sanitize_text(_named_by_file(draft, redactor=redactor), redactor=redactor)
    said = title.strip("# \t…")
    return "" if len(said) > len("x") and said in draft.text and said not in text else title


def _named_by_file(draft: Draft, redactor: Redactor) -> str:
    """Return the title; one that was made of a file's name as that name where it holds a secret.

    Readers write blanks for the marks of a name, and without them a token is none that is known.
    """
    name = PurePath(draft.uri.partition("#")[0]).stem
    if _words(name) == _words(draft.title) and redactor.find(name):
        return name
    return draft.title


def _words(name: str) -> list[str]:
    return re.split(r"[\W_]+", name)


def _metadata(metadata: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """Return the values without secrets; the fields of a typed record each by itself."""
    left_out = {
        sanitize_text(key, redactor=redactor): sanitize_text(value, redactor=redactor)
        for key, value in metadata.items()
    }
    covered: dict[str, str] = left_out if redactor.stored else redactor.redact_document(left_out)
    if FIELDS in metadata:
        covered[FIELDS] = _fields(metadata[FIELDS], redactor=redactor)
    return covered


def _fields(written: str, redactor: Redactor) -> str:
    # In the text that a JSON document is, a quoted secret stands between other marks and is not seen.
    try:
        fields = json.loads(written)
    except (ValueError, RecursionError):
        return sanitize_text(written, redactor=redactor)
    kept = _each(fields, redactor=redactor)
    covered = kept if redactor.stored else redactor.redact_document(kept)
    return written if covered == fields else json.dumps(covered, ensure_ascii=False)


def _each(part: object, redactor: Redactor) -> object:
    if isinstance(part, str):
        return sanitize_text(part, redactor=redactor)
    if isinstance(part, dict):
        return {
            sanitize_text(key, redactor=redactor): _each(value, redactor=redactor)
            for key, value in part.items()
        }
    return [_each(item, redactor=redactor) for item in part] if isinstance(part, list) else part
