"""The slowest part of storing memories, which needs only their texts: other processes can do it ahead."""

from collections.abc import Sequence

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.entities.extraction import extract
from ragmem.domain.entities.user_statements import user_statements_of
from ragmem.domain.model import Chunk, Extraction, Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.frozen import dataclass
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.entities import Item, cache_extractions
from ragmem.services.ingestion.indexable_text import redact_chunks
from ragmem.storage.fulltext.terms import Analysed
from ragmem.storage.memories.memories import words_of


@dataclass(frozen=True, slots=True)
class MemoryAnalysis:
    """The words of a memory's chunks, and their extractions by rule, without secrets and private parts."""

    words: tuple[Analysed, ...]
    named: tuple[tuple[Chunk, Extraction], ...]

    def keep(self) -> None:
        """Cache the extractions in this process."""
        cache_extractions(dict(self.named))


def extract_names(items: Sequence[Item], redactor: Redactor) -> list[tuple[Chunk, Extraction]]:
    """Return the extractions by rule from the texts of memories, without secrets and private parts."""
    return [
        (one, extract(one))
        for memory, chunks in items
        if user_statements_of(memory) is None
        for one in redact_chunks(memory, chunks, redactor=redactor)
    ]


def analyze_memory(item: Item, redactor: Redactor) -> MemoryAnalysis:
    """Return the words and extractions of a memory."""
    return MemoryAnalysis(tuple(words_of(*item)), tuple(extract_names([item], redactor=redactor)))


@dataclass(frozen=True, slots=True)
class ChunkedMemory:
    """A memory's chunks and their words."""

    chunks: tuple[Chunk, ...]
    words: tuple[Analysed, ...]


def chunk_memory(memory: Memory, sizes: ChunkingSettings, redactor: Redactor) -> ChunkedMemory:
    """Split a memory into chunks, and these into words."""
    chunks = chunks_of(memory, sizes, redactor=redactor)
    return ChunkedMemory(chunks, tuple(words_of(memory, chunks)))
