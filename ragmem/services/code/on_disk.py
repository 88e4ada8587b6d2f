"""Compare the code on disk with the stored code, and parse the differences."""

import hashlib
import posixpath
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from ragmem.domain.code.code import ParsedFile
from ragmem.domain.code.words import pack_words
from ragmem.domain.injection.sanitization import secrets_in, without_parts
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.code import MANIFESTS, read_code
from ragmem.readers.code_files import MAX_BYTES, CodeFile
from ragmem.readers.failures import failure
from ragmem.readers.files import ReadError, Reason, read_text
from ragmem.services.processes.progress import Progress
from ragmem.storage.code.code_writer import FileState

SETTLED_NS = 2_000_000_000
"""A file that was modified just before it was read may change again with the same timestamp."""

UNSURE = 0
"""The timestamp of such a file: it is opened again, and compared by content."""

HIDDEN = "[redacted]"
"""The prefix of the placeholder for a secret literal in the facts."""


@dataclass(slots=True)
class CodeOnDisk:
    """The current files; `parsed` are the changed ones, `touched` those with only a new timestamp."""

    seen: dict[str, FileState] = field(default_factory=dict)
    parsed: dict[str, ParsedFile] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Files with errors, and the reasons; they stay unchanged in the store."""

    def fail(self, path: str, error: Exception, before: FileState | None) -> None:
        """Keep a file unchanged; raises the error again if the file is not its cause."""
        self.failed.append((path, failure(error)))
        self.parsed.pop(path, None)
        self.touched.discard(path)
        if before is None:
            self.seen.pop(path, None)
        else:
            self.seen[path] = before


def read_disk(
    root: Path,
    files: Sequence[CodeFile],
    known: Mapping[str, FileState],
    *,
    anew: bool,
    progress: Progress,
    redactor: Redactor,
) -> CodeOnDisk:
    """Return the files that differ from the known ones, parsed; all of them with `anew`.

    A file with the known size and timestamp is not opened, one with the known content is not parsed.
    """
    found = CodeOnDisk()
    now = time.time_ns()
    waiting: list[tuple[str, str]] = []
    for file in files:
        before = known.get(file.path)
        if before and not anew and (before.size, before.modified_ns) == (file.size, file.modified_ns):
            found.seen[file.path] = before
            continue
        try:
            text = _text(root / file.path)
        except ReadError as error:
            if error.reason is not Reason.VANISHED:
                found.skipped.append((file.path, error.reason.value))
            continue
        except Exception as error:  # noqa: BLE001 - one file never stops the others
            found.fail(file.path, error, before)
            continue
        modified = file.modified_ns if file.modified_ns < now - SETTLED_NS else UNSURE
        hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        seen = FileState(hashed, file.size, modified, before.links if before else "")
        found.seen[file.path] = seen
        if before is None or anew or before.content_hash != hashed:
            waiting.append((file.path, text))
        elif seen != before:
            found.touched.add(file.path)
    progress.begin("read code", len(waiting))
    for path, text in waiting:
        try:
            found.parsed[path] = parse(path, text, redactor=redactor)
        except Exception as error:  # noqa: BLE001 - one file never stops the others
            found.fail(path, error, known.get(path))
        progress.advance()
    return found


def parse(path: str, text: str, redactor: Redactor) -> ParsedFile:
    """Return a file for storage, without secrets.

    Texts lose their secrets. Names and links of symbols stay, unless a name is a secret by itself: then the
    same placeholder replaces all its occurrences.
    """
    file = read_code(path, text)
    clean, hidden = redactor.redact(text)
    said = {"": ""} | _clean_sentences(text, (file.purpose, *(one.doc for one in file.symbols)), redactor)
    symbols = tuple(
        one if said[one.doc] == one.doc else replace(one, doc=said[one.doc]) for one in file.symbols
    )
    # Manifests, and what no person wrote, are found by their paths alone.
    told = "" if not file.symbols[1:] and (file.problem or posixpath.basename(path) in MANIFESTS) else clean
    file = replace(file, purpose=said[file.purpose], symbols=symbols)
    if not hidden:
        return replace(file, words=pack_words(told, symbols))
    facts = _with_values(file.facts, _replacements(path, file.facts, text, clean, redactor))

    @cache
    def clean_name(name: str) -> str:
        words = _WORD.sub(lambda found: _word(found[0], clean, redactor), name)
        return words if _NAME.fullmatch(words) else redactor.redact(words)[0]

    symbols = tuple(
        replace(symbol, name=clean_name(symbol.name), qualified=clean_name(symbol.qualified))
        for symbol in symbols
    )
    return replace(
        file,
        module=clean_name(file.module),
        symbols=symbols,
        words=pack_words(told, symbols),
        facts={
            relation: value if relation == "types" else _with_names(value, clean_name)
            for relation, value in facts.items()
        },
    )


def _clean_sentences(text: str, sentences: Iterable[str], redactor: Redactor) -> dict[str, str]:
    """Return sentence -> sentence without secrets, for those that a file's comments begin with.

    Each is stored in one line, so it is read in the context of the whole file.
    """
    distinct = [sentence for sentence in dict.fromkeys(sentences) if sentence]
    if not distinct:
        return {}
    secrets = secrets_in(text, redactor)
    comments = "\n".join(_comment_lines(text))
    # One search for all takes a tenth of the time. A pattern of the user may need the end of its text.
    if not redactor.extra and not redactor.find(_APART.join((comments, *distinct))):
        return {sentence: without_parts(sentence, secrets) for sentence in distinct}
    secrets += secrets_in(comments, redactor)
    return {sentence: without_parts(redactor.redact(sentence)[0], secrets) for sentence in distinct}


_APART = "\n\1\n"
"""Separator of texts that are searched together; no secret spans it but a key or a private block."""

_COMMENT = re.compile(r"(?://[/!]?|#+|\*(?!/)|--|;+)[ \t]?(.*)")


def _comment_lines(text: str) -> Iterator[str]:
    """Yield the lines of comments without their marks; the first letter rules out most other lines."""
    for line in text.split("\n"):
        bare = line.lstrip(" \t")
        if bare[:1] in _COMMENT_MARKS and (found := _COMMENT.match(bare)):
            yield found[1]


_COMMENT_MARKS = frozenset("/#*-;")

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[\w.:$#@<>*/-]*")

_VALUES = ("constants", "items", "puts")
"""Facts whose second column holds string literals used as keys."""


def _word(word: str, clean: str, redactor: Redactor) -> str:
    """Return a word of a name, or a placeholder for one that is a secret by itself."""
    if word in clean:
        return word
    redacted, hidden = redactor.redact(word)
    return "_".join(_WORD.findall(redacted)) if hidden else word


def _replacements(
    path: str, facts: Mapping[str, Any], text: str, clean: str, redactor: Redactor
) -> dict[str, str]:
    """Return literal -> placeholder, for literals that are secrets alone or in their lines.

    Each literal has its own placeholder, so that a look-up by one does not find another.
    """
    lines = text.split("\n")
    placeholders: dict[str, str] = {}
    rows = (row for relation in _VALUES for row in facts.get(relation, ()))
    for one in dict.fromkeys(value for row in rows for value in _texts(row[1])):
        if one in text and one not in clean:
            # Alone, because text marked as private may be pages of code.
            around = "\n".join(line for line in lines if one in line)
            if one not in redactor.redact(around)[0]:
                placeholders[one] = f"{HIDDEN} {path}:{len(placeholders) + 1}"
    return placeholders


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _with_values(facts: Mapping[str, Any], placeholders: Mapping[str, str]) -> dict[str, Any]:
    def substitute(value: Any) -> Any:
        if isinstance(value, str):
            return placeholders.get(value, value)
        return [substitute(one) for one in value] if isinstance(value, list | tuple) else value

    return {
        relation: [[row[0], substitute(row[1]), *row[2:]] for row in rows]
        if placeholders and relation in _VALUES
        else rows
        for relation, rows in facts.items()
    }


def _with_names(facts: Any, clean: Callable[[str], str]) -> Any:
    """Return facts with replaced names; the row of a scope keeps its keys and its kind."""
    if isinstance(facts, str):
        return clean(facts)
    if isinstance(facts, Mapping):
        if "kind" in facts:
            return {
                key: value if key == "kind" else _with_names(value, clean) for key, value in facts.items()
            }
        return {clean(key): _with_names(value, clean) for key, value in facts.items()}
    return [_with_names(one, clean) for one in facts] if isinstance(facts, list | tuple) else facts


def _text(path: Path) -> str:
    try:
        return read_text(path, max_bytes=MAX_BYTES)
    except ReadError as error:
        if error.reason is Reason.EMPTY:
            # A package consists of files without content.
            return ""
        raise
