"""Read the text in the pictures and scanned pages of a document, within its time for OCR."""

import io
import os
import re
import shutil
import time
from importlib.util import find_spec
from typing import Any

from ragmem.patterns import lazy
from ragmem.readers.documents.model import Limits, Recognition

EXTRA = 'pip install "ragmem[ocr]"'
TESSERACT = "tesseract"
RAPIDOCR = "rapidocr"
SECONDS = 120.0
"""The most for one picture or page."""

_LANGUAGES = lazy(r"[A-Za-z0-9_]+(?:\+[A-Za-z0-9_]+)*")
_WORD = lazy(r"\w{2,}")


def engine_name(languages: str = "") -> str:
    """Return what reads text in pictures here: "rapidocr", "tesseract", or nothing.

    Whoever names languages means tesseract, because the models of rapidocr take none.
    """
    has_tesseract = shutil.which(TESSERACT) is not None
    if has_tesseract and languages:
        return TESSERACT
    if find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None:
        return RAPIDOCR
    return TESSERACT if has_tesseract else ""


def why_unread(*, ocr: bool, languages: str) -> str:
    """Return why pictures gave no text, and what to do if something can be done."""
    if not ocr:
        return "ocr in [documents] is off"
    return "no text was found" if engine_name(languages) else f"text in pictures needs {EXTRA}"


def unread_pictures(count: int) -> str:
    """Return the beginning of a line about pictures and scanned pages that gave no text."""
    if count == 1:
        return "1 picture or scanned page was not read"
    return f"{count:,} pictures or scanned pages were not read"


class Ocr:
    """Reads the pictures of one document one after the other, until its time for that is over."""

    def __init__(self, limits: Limits) -> None:
        self.engine = engine_name(limits.ocr_languages) if limits.ocr else ""
        """What reads; empty if nothing does."""
        self.spent = 0.0
        """Seconds so far, which do not count as time of the document itself."""
        self.cut = 0
        """Pictures that were not read, or not to their end, because the time was over."""
        self._failures: list[str] = []
        self._languages = limits.ocr_languages
        self._seconds = limits.ocr_seconds

    def read(self, picture: Any) -> Recognition:
        """Return what is read in an image of Pillow; nothing without text, engine or time."""
        seconds = min(SECONDS, self._seconds - self.spent)
        if not self.engine or seconds <= 0:
            self.cut += bool(self.engine)
            return Recognition()
        # Imported here because each run asks for the name of the engine, and few read pictures themselves.
        from ragmem.readers.documents.confinement import request_seconds  # noqa: PLC0415
        from ragmem.readers.documents.rapid_ocr import recognize  # noqa: PLC0415

        request_seconds(seconds)
        begun = time.monotonic()
        try:
            if self.engine == TESSERACT:
                found = Recognition(text=_run_tesseract(picture, self._languages, seconds=seconds))
            else:
                found = recognize(picture, seconds=seconds)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - of any library; one picture does not refuse the document
            self._failures.append(type(error).__name__)
            found = Recognition()
        self.spent += time.monotonic() - begun
        self.cut += found.is_cut
        return found

    def warnings(self) -> list[str]:
        """Return the lines about pictures that were not read to the end, or not at all."""
        told = []
        if self.cut:
            told.append(f"{_count(self.cut)} not read to the end: raise ocr_seconds in [documents]")
        if self._failures:
            kinds = ", ".join(dict.fromkeys(self._failures))
            told.append(f"{_count(len(self._failures))} left out, because {self.engine} failed ({kinds})")
        return told


def _count(pictures: int) -> str:
    return "1 picture or scanned page is" if pictures == 1 else f"{pictures:,} pictures or scanned pages are"


def tidy_text(text: str) -> str:
    """Return recognised text without specks that look like signs, and without repeated blank lines."""
    lines = [" ".join(line.split()) for line in text.replace("\f", "\n").splitlines()]
    kept = [line if _WORD.search(line) else "" for line in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _run_tesseract(picture: Any, languages: str, *, seconds: float) -> str:
    """Return the text in an image of Pillow; empty without text.

    It uses one thread and pipes, and writes no files. The text is also empty if it takes longer than
    `seconds`, or if tesseract has no data for the language.
    """
    import subprocess  # noqa: PLC0415 - the same

    chosen = ["-l", languages] if _LANGUAGES.fullmatch(languages) else []
    packed = io.BytesIO()
    # It is not stored, so it need not be small.
    picture.convert("L").save(packed, "PNG", compress_level=1)
    try:
        done = subprocess.run(  # noqa: S603 - the program of this name, on a picture of its input
            [shutil.which(TESSERACT) or TESSERACT, "stdin", "stdout", *chosen],
            input=packed.getvalue(),
            capture_output=True,
            timeout=seconds,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode != 0:
        return ""
    return tidy_text(done.stdout.decode("utf-8", "replace"))
