"""Pictures of documents are described by a model that sees: once each, within a budget, only where asked for.

Nothing is sent unless [documents] names a model (`vision`). What a model said is kept under the cache folder
by what it was asked: the picture's bytes, the model and the version of the question.
"""

import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import RagmemError
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
"""Failures in a row after which a run asks no more: the server is down, or the model has no eyes."""

_MAX_TOKENS = 400


class Sight(Protocol):
    """A model that sees, opened where it is first needed."""

    def open(self) -> Sees:
        """Return the model; raises BackendError where it cannot be had."""
        ...

    def close(self) -> None:
        """Close it; closing twice is fine."""
        ...


@dataclass(slots=True)
class Descriptions:
    """Tells what pictures show; one for a run. Calling it never raises.

    The model named `model` is opened at the first picture that is not known; `most` is how many it is asked
    about. A `dry_run` asks nothing.
    """

    sight: Sight
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
        """Return what a picture shows, in a line that says so; empty where nothing can be told.

        `text` is that of its part as it is stored, with the picture's mark where it stands.
        """
        try:
            known = self._cached_text(picture)
            if known.is_file():
                return _line(known.read_text(encoding="utf-8"))
            if self._failures >= MAX_FAILURES or self.asked >= self.most:
                self._beyond += 1
                return ""
            self.asked += 1
            told = self._describe(picture, text)
            self._failures = 0
            if told:
                _keep(known, told)
        except (RagmemError, OSError) as error:
            self._failures += 1
            self._warnings.append(f"a picture is not described: {error}")
            return ""
        return _line(told)

    def taken(self) -> list[str]:
        """Return the warnings since the last call: those of one document."""
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
            return "no description came for those before"
        return f"max_pictures in [documents] is {self.most:,}"

    def _describe(self, picture: Picture, text: str) -> str:
        if self._model is None:
            self._model = self.sight.open()
        # Before the text around is cut out: a part of a secret is not known as one.
        told = self.redactor.redact(text)[0] if self.redactor.stored else text
        answer = self._model.describe(
            picture_prompt(around(told, picture.mark)),
            image=picture.data,
            media_type=picture.media_type,
            system=SYSTEM,
            max_tokens=_MAX_TOKENS,
        )
        return self.redactor.redact(description(answer))[0]

    def _cached_text(self, picture: Picture) -> Path:
        asked = f"{PROMPT_VERSION}\n{self.model}\n{picture.media_type}\n".encode()
        name = sha256(asked + picture.data).hexdigest()
        return self.cache / FOLDER / name[:2] / f"{name}.txt"


def _line(told: str) -> str:
    return f"Picture: {told}" if told else ""


def _keep(path: Path, told: str) -> None:
    """Write a description for the next run, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = path.with_suffix(f".{os.getpid()}")
    aside.touch(mode=0o600)
    aside.write_text(told, encoding="utf-8")
    aside.replace(path)
