"""The texts of chunks with their headings, without the rest of their memories."""

from collections.abc import Iterable

from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text and headings, and the title and project of its memory."""

    chunk_id: str
    memory_id: str
    project: str
    title: str
    heading: str
    text: str


def passages(database: Database, chunk_ids: Iterable[str]) -> dict[str, Passage]:
    """Return those of the chunks that exist, by id."""
    found: dict[str, Passage] = {}
    for row in database.select_in(
        "SELECT c.id, m.id, m.project, m.title, c.heading, substr("
        "CASE WHEN m.summary <> '' THEN m.summary ELSE m.text END,"
        # PostgreSQL has no substr of its 8-byte integers.
        " CAST(c.begin_at + 1 AS INTEGER), CAST(c.end_at - c.begin_at AS INTEGER))"
        " FROM chunks c JOIN memories m ON m.n = c.memory WHERE c.id IN ({})",
        dict.fromkeys(chunk_ids),
    ):
        found[row[0]] = Passage(*row)
    return found
