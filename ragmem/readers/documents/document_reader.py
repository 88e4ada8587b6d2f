"""Make a draft of each part of a document: pages, slides, sheets, chapters, or the whole."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, Self

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.model import Draft, Scope
from ragmem.domain.model.document_place import place_metadata
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.dates import Changed, time_of_file
from ragmem.readers.documents.converter import Converter
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.ocr import unread_pictures, why_unread
from ragmem.readers.files import ReadError, Reason

MAX_TITLE_CHARS = 160
MAX_DESCRIPTIONS = 4
"""Maximum number of places for the description of a picture: tables are written twice, and the document may
contain marks itself."""
FIRST_YEAR = 1900
"""An earlier date of a file comes from a clock that was never set."""


class PictureDescriber(Protocol):
    """Describes pictures; never raises."""

    def __call__(self, picture: Picture, text: str) -> str:
        """Describe a picture, given the text of its part with its mark; empty if that is not possible."""

    def take_warnings(self) -> list[str]:
        """Return the warnings since the last call."""

    def close(self) -> None:
        """Free what was opened; closing twice is fine."""


class RemoteConverter(Protocol):
    """Converts documents on a server; never raises."""

    def __call__(self, path: Path, limits: Limits) -> ConvertedDocument | None:
        """Return the document, or None if it must be converted here."""

    def take_warnings(self) -> list[str]:
        """Return the warnings since the last call: why documents must be converted here."""

    def close(self) -> None:
        """Free what was opened; closing twice is fine."""


class DocumentReader:
    """Reads documents one after the other in the separate process; use it in a `with`."""

    def __init__(
        self,
        settings: Settings,
        *,
        describe: PictureDescriber | None = None,
        elsewhere: RemoteConverter | None = None,
    ) -> None:
        wanted = settings.documents
        self.limits = Limits(
            pages=wanted.max_pages,
            characters=wanted.max_characters,
            ocr=wanted.ocr,
            ocr_languages=wanted.ocr_languages,
            ocr_seconds=wanted.ocr_seconds,
            described=describe is not None,
        )
        self._max_bytes = wanted.max_file_bytes
        self._describe = describe
        self._elsewhere = elsewhere
        self._redactor = settings.redactor
        self._converter = Converter(
            self.limits,
            seconds=wanted.seconds,
            memory_mb=wanted.max_memory_mb,
            pictures=describe is not None,
            redactor=settings.redactor,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._converter.close()
        for opened in (self._describe, self._elsewhere):
            if opened is not None:
                opened.close()

    def read(
        self, path: Path, spec: SourceSpec, *, changed: Changed, scope: Scope
    ) -> tuple[list[Draft], list[str], list[str]]:
        """Return the drafts of a document, warnings, and the uris of parts that were not read.

        The event time is that in the document, else that of `time_of_file`. Raises ReadError for a document
        that is not read at all.
        """
        self._check_file(path)
        try:
            converted = self._elsewhere(path, self.limits) if self._elsewhere else None
            converted = converted or self._converter.convert(path)
        except RefusedError as error:
            reason = Reason.COSTLY if error.costly else Reason.FORMAT
            raise ReadError(path, reason, error.problem, hint=error.hint) from error
        why = why_unread(ocr=self.limits.ocr, languages=self.limits.ocr_languages)
        if not converted.parts:
            told = [*converted.warnings[:1], *(self._elsewhere.take_warnings() if self._elsewhere else ())]
            if converted.unseen:
                raise ReadError(path, Reason.PICTURE, "; ".join([why, *told]))
            raise ReadError(path, Reason.EMPTY, "; ".join(["it contains no text", *told]))
        happened = time_of_file(
            path,
            changed,
            told=_moment(converted.event_time),
            # The rows of a table have dates of their own.
            text=f"\n{converted.parts[0].text}".partition("\n|")[0].lstrip(),
            title=converted.title,
        )
        title = converted.title or path.stem
        drafts = [
            Draft(
                source=spec.name,
                uri=_uri(path, part.locator),
                text=self._text(part),
                title=_title(title, part, self._redactor),
                event_time=_moment(part.event_time) or happened,
                scope=scope,
                kind=spec.kind,
                metadata={**converted.metadata, **place_metadata(path.name, part.locator, part.label)},
            )
            for part in converted.parts
        ]
        warnings = [*converted.warnings]
        if converted.unseen:
            warnings.append(f"{unread_pictures(converted.unseen)}: {why}")
        for asked in (self._elsewhere, self._describe):
            warnings += asked.take_warnings() if asked is not None else []
        unread = [_uri(path, locator) for locator in converted.unread]
        drafts = [draft for draft in drafts if draft.text]
        if not drafts and self._describe is not None:
            raise ReadError(path, Reason.PICTURE, warnings[0] if warnings else "no text was found")
        return drafts, warnings, unread

    def _check_file(self, path: Path) -> None:
        """Raise ReadError unless a path is a regular file of a valid size, before a process opens it."""
        try:
            status = os.stat(path)  # noqa: PTH116 - follows links, as opening does
        except OSError as error:
            raise ReadError(path, Reason.UNREADABLE, (error.strerror or "unreadable").lower()) from error
        if not stat.S_ISREG(status.st_mode):
            raise ReadError(path, Reason.SPECIAL, "it is not a regular file")
        if status.st_size == 0:
            raise ReadError(path, Reason.EMPTY, "it is empty")
        if status.st_size > self._max_bytes:
            raise ReadError(
                path,
                Reason.HUGE,
                f"its {status.st_size:,} bytes exceed the limit of {self._max_bytes:,}",
                hint="raise max_file_mb in [documents] of config.toml, or exclude the file",
            )

    def _text(self, part: Part) -> str:
        """Return the text with the description of each picture in its place.

        Private parts are removed first, so that no model sees their text or pictures.
        """
        if not part.pictures:
            return part.text.strip()
        text = sanitize_text(part.text, self._redactor)
        for picture in part.pictures:
            if picture.mark not in text:
                continue
            if description := self._describe(picture, text).strip() if self._describe else "":
                text = text.replace(picture.mark, description, MAX_DESCRIPTIONS)
            else:
                text = text.replace(f"{picture.mark}\n\n", "")
            text = text.replace(picture.mark, "")
        return text.strip()


def _uri(path: Path, locator: str) -> str:
    return f"{path}#{locator}" if locator else str(path)


def _title(title: str, part: Part, redactor: Redactor) -> str:
    whole = ", ".join(filter(None, (title, part.label)))
    if part.title and part.title.casefold() not in whole.casefold():
        whole = f"{whole}: {part.title}"
    return redactor.truncate(whole, MAX_TITLE_CHARS)


def _moment(told: str) -> datetime | None:
    """Return the time of a document in UTC, also the default zone; None for an invalid one."""
    try:
        moment = datetime.fromisoformat(told)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year >= FIRST_YEAR else None
