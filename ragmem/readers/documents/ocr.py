"""Read the text in a picture with the program tesseract, if it is installed."""

import os
import re
import shutil
import subprocess

from ragmem.readers.documents.model import Limits

PROGRAM = "tesseract"
SECONDS = 30.0
_LANGUAGES = re.compile(r"[A-Za-z0-9_]+(?:\+[A-Za-z0-9_]+)*")
_WORD = re.compile(r"\w{2,}")


def is_installed() -> bool:
    """Tell whether tesseract is installed."""
    return shutil.which(PROGRAM) is not None


def ocr(data: bytes, limits: Limits, *, seconds: float = SECONDS) -> str:
    """Return the text in a picture (PNG or JPEG); empty without text or without tesseract.

    It uses one thread and pipes, and writes no files. The text is also empty if it takes longer than
    `seconds`, or if tesseract has no data for the language.
    """
    program = shutil.which(PROGRAM) if limits.ocr else None
    if program is None:
        return ""
    languages = limits.ocr_languages
    chosen = ["-l", languages] if _LANGUAGES.fullmatch(languages) else []
    try:
        done = subprocess.run(  # noqa: S603 - the program of this name, on a picture of its input
            [program, "stdin", "stdout", *chosen],
            input=data,
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


def tidy_text(text: str) -> str:
    """Return recognised text without specks that look like signs, and without repeated blank lines."""
    lines = [" ".join(line.split()) for line in text.replace("\f", "\n").splitlines()]
    kept = [line if _WORD.search(line) else "" for line in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
