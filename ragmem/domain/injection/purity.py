"""Take out of a text what must not be stored: secrets, what is private, and what memory itself put there."""

import re
from collections.abc import Sequence

from ragmem.domain.injection.injected import without_injections
from ragmem.domain.injection.memory_block import without_block
from ragmem.domain.secrets.marks import mark
from ragmem.domain.secrets.private import without_private
from ragmem.domain.secrets.redaction import MOST_PASSES, Redactor

_PART = re.compile(r"[^\s\"'`,;|()<>\[\]]{6,}")
"""A word that may be a part of a secret; shorter ones are words of other things too."""


def purified_text(text: str, redactor: Redactor) -> str:
    """Return a text without secrets, private blocks, blocks of the frame and of memory files.

    Purifying it again leaves it as it is.
    """
    # What stands around a block that is left out may be one itself then.
    for _ in range(MOST_PASSES):
        before = text
        text = without_private(without_injections(without_block(text)))
        text = text if redactor.stored else redactor.redact(text)[0]
        if text == before:
            break
    return text


def secrets_in(text: str, redactor: Redactor) -> list[str]:
    """Return the secrets of a text but for what is private, of which any word may stand elsewhere too."""
    return [text[one.start : one.end] for one in redactor.find(text) if one.kind != "private"]


def without_parts(said: str, secrets: Sequence[str]) -> str:
    """Return a line with each word replaced that is a part of a secret of the text which it is taken from.

    In one line a key block, a table or a manifest is none that is known.
    """
    if not secrets:
        return said
    return _PART.sub(
        lambda found: mark("secret") if any(found[0] in one for one in secrets) else found[0], said
    )
