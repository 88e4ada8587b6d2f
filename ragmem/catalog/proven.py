"""Which memories have proven their worth: by rule or a person's word, whatever else there is."""

from collections.abc import Collection, Sequence

from ragmem.catalog.batches import marks
from ragmem.catalog.database import Database
from ragmem.domain.lifecycle import Life


def proven(database: Database, *, projects: Sequence[str], curated: Collection[str]) -> list[str]:
    """Return the ids of what is protected, pinned, proven or permanent in these projects and still holds.

    Whatever is of a `curated` source is proven. No text is read.
    """
    lasting = (Life.PROVEN.value, Life.PERMANENT.value)
    sources = sorted(curated)
    with database.read() as connection:
        rows = connection.execute(
            f"SELECT m.id FROM memories m LEFT JOIN lives l ON l.id = m.id"
            f" WHERE m.project IN ({marks(projects)})"
            f" AND (m.protected = 1 OR m.source IN ({marks(sources)}) OR l.pinned = 1"
            f" OR l.life IN ({marks(lasting)}))"
            " AND NOT EXISTS (SELECT 1 FROM supersessions s WHERE s.older = m.id)"
            " ORDER BY m.id",
            [*projects, *sources, *lasting],
        )
        return [identifier for (identifier,) in rows]
