"""Describe the pictures of documents with a vision model: once each, within a budget, and only if configured.

Nothing is sent unless [documents] names a model (`vision`). Descriptions are cached by the picture's bytes,
the model and the version of the prompt.
"""

import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError, RagmemError
from ragmem.ports import Sees
from ragmem.readers.documents.model import Picture
from ragmem.readers.documents.picture.picture_prompt import (
    PROMPT_VERSION,
    SYSTEM,
    around,
    description,
    picture_prompt,
)

FOLDER = "pictures"
MAX_FAILURES = 3
"""Consecutive failures after which a run stops asking: the server is down, or the model has no vision."""

_MAX_TOKENS = 400


class VisionModel(Protocol):
    """A vision model that is opened on first use."""

    def open(self) -> Sees:
        """Return the model; raises BackendError if it is unavailable."""

    def close(self) -> None:
        """Close it; closing twice is fine."""


@dataclass(slots=True)
class PictureDescriber:
    """Describes the pictures of one run. Calling it never raises.

    The model named `model` is opened at the first picture that is not cached; it describes at most `most`
    pictures, and none in a `dry_run`.
    """

    sight: VisionModel
    redactor: Redactor
    model: str
    cache: Path
    most: int
    dry_run: bool = False
    asked: int = 0
    _model: Sees | None = None
    _failures: int = 0
    _warnings: list[str] = field(default_factory=list)
    _beyond: int = 0

    def __call__(self, picture: Picture, text: str) -> str:
        """Return a line that describes a picture; empty if there is not a description.

        `text` is the stored text of the picture's part, with a mark at the picture's place.
        """
        try:
            known = self._cached_text(picture)
            if known.is_file():
                return _format_line(known.read_text(encoding="utf-8"))
            if self._failures >= MAX_FAILURES or self.asked >= self.most:
                self._beyond += 1
                return ""
            self.asked += 1
            told = self._describe(picture, text)
            self._failures = 0
            if told:
                _write_cache(known, told)
        except (RagmemError, OSError) as error:
            self._failures += 1
            self._warnings.append(f"a picture was not described: {error}")
            return ""
        return _format_line(told)

    def take_warnings(self) -> list[str]:
        """Return the warnings since the last call, which are those of one document."""
        told = list(dict.fromkeys(self._warnings))
        if self._beyond:
            count = "1 picture is" if self._beyond == 1 else f"{self._beyond:,} pictures are"
            told.append(f"{count} not described: {self._why()}")
        self._warnings, self._beyond = [], 0
        return told

    def close(self) -> None:
        """Close the model."""
        self.sight.close()

    def _why(self) -> str:
        if self.dry_run:
            return "this is a dry run"
        if self._failures >= MAX_FAILURES:
            return "the previous requests failed"
        return f"max_pictures in [documents] is {self.most:,}"

    def _describe(self, picture: Picture, text: str) -> str:
        if self._model is None:
            self._model = self.sight.open()
        # Redacted before the text around is cut out: a part of a secret is not recognized.
        told = self.redactor.redact(text)[0] if self.redactor.stored else text
        answer = self._model.describe(
            picture_prompt(around(told, picture.mark)),
            image=picture.data,
            media_type=picture.media_type,
            system=SYSTEM,
            max_tokens=_MAX_TOKENS,
        )
        told = description(answer)
        if not told:
            raise BackendError(f'the answer of "{self.model}" is not a description')
        return self.redactor.redact(told)[0]

    def _cached_text(self, picture: Picture) -> Path:
        asked = f"{PROMPT_VERSION}\n{self.model}\n{picture.media_type}\n".encode()
        name = sha256(asked + picture.data).hexdigest()
        return self.cache / FOLDER / name[:2] / f"{name}.txt"


def _format_line(told: str) -> str:
    return f"Picture: {told}" if told else ""


def _write_cache(path: Path, told: str) -> None:
    """Write a description for the next run, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = path.with_suffix(f".{os.getpid()}")
    aside.touch(mode=0o600)
    aside.write_text(told, encoding="utf-8")
    aside.replace(path)
