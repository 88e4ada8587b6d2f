"""Remove what must not be stored from a text: secrets, private blocks and injected memory."""

from collections.abc import Sequence

from ragmem.domain.injection.injection_removal import without_injections
from ragmem.domain.injection.memory_block import without_block
from ragmem.domain.secrets.marks import mark
from ragmem.domain.secrets.private import without_private
from ragmem.domain.secrets.redaction import MOST_PASSES, Redactor
from ragmem.patterns import lazy

_PART = lazy(r"[^\s\"'`,;|()<>\[\]]{6,}")
"""A word that identifies a part of a secret; shorter ones are too common."""


def sanitize_text(text: str, redactor: Redactor) -> str:
    """Return a text without secrets, private blocks, injected blocks and blocks of memory files.

    The function is idempotent.
    """
    # The removal of a block may join the text around it to a new block.
    for _ in range(MOST_PASSES):
        before = text
        text = without_private(without_injections(without_block(text)))
        text = text if redactor.stored else redactor.redact(text)[0]
        if text == before:
            break
    return text


def secrets_in(text: str, redactor: Redactor) -> list[str]:
    """Return the secrets of a text, except private blocks, whose words may occur elsewhere."""
    return [text[one.start : one.end] for one in redactor.find(text) if one.kind != "private"]


def without_parts(said: str, secrets: Sequence[str]) -> str:
    """Replace each word of a line that is a part of a secret of the whole text.

    A single line of a key block, a table or a manifest is not recognized as a secret.
    """
    if not secrets:
        return said
    return _PART.sub(
        lambda found: mark("secret") if any(found[0] in one for one in secrets) else found[0], said
    )
