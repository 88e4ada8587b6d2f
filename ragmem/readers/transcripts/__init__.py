"""The transcripts of assistants, read line by line as exchanges.

`assistant_of` tells whose transcript a file is, `read` yields its exchanges from a position on, `drafts_of`
makes drafts of an exchange.
"""

from ragmem.readers.transcripts.detecting import ASSISTANTS, assistant_of
from ragmem.readers.transcripts.drafts import drafts_of
from ragmem.readers.transcripts.reading import HEAD_BYTES, RULES, Step, read

__all__ = ["ASSISTANTS", "HEAD_BYTES", "RULES", "Step", "assistant_of", "drafts_of", "read"]
