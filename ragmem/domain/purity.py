"""Take out of a text what must not be stored: secrets, what is private, and what memory itself put there."""

from ragmem.domain.injected import without_injections
from ragmem.domain.memory_block import without_block
from ragmem.domain.private import without_private
from ragmem.domain.redaction import MOST_PASSES, Redactor


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
