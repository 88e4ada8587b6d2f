"""Read the transcripts of assistants line by line as exchanges.

`assistant_of` detects the assistant of a file, `read` yields its exchanges from a position on, `drafts_of`
makes drafts of an exchange.
"""

from ragmem.readers.transcripts.detection import ASSISTANTS, assistant_of
from ragmem.readers.transcripts.drafts import drafts_of
from ragmem.readers.transcripts.reader import HEAD_BYTES, RULES, Step, read

__all__ = ["ASSISTANTS", "HEAD_BYTES", "RULES", "Step", "assistant_of", "drafts_of", "read"]
