"""The entities that memories mention, by the names of their nodes."""

from ragmem.storage.sql.database import Database


class Mentions:
    """What the memories of one database mention."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def names(self, identifier: str) -> list[str]:
        """Return the names of the nodes that a memory mentions, in order."""
        return self._database.select_column(
            "SELECT DISTINCT e.canonical FROM entity_mentions s JOIN entity_names e ON e.n = s.name"
            " JOIN memories m ON m.n = s.memory WHERE m.id = ? ORDER BY 1",
            (identifier,),
        )

    def of(self, project: str) -> list[tuple[str, int]]:
        """Return (node, stamp of the event) for each memory of a project and each node that it mentions."""
        rows = self._database.select(
            "SELECT DISTINCT e.canonical, m.event_at, m.n FROM memories m"
            " JOIN entity_mentions s ON s.memory = m.n JOIN entity_names e ON e.n = s.name"
            " WHERE m.project = ?",
            (project,),
        )
        return [(name, int(stamp)) for name, stamp, _ in rows]

    def mark(self) -> str:
        """Return a text that changes when names are learnt, merged or removed."""
        with self._database.read() as connection:
            (names,) = connection.execute(
                "SELECT count(*) || '/' || coalesce(max(n), 0) || '/' || coalesce(max(made_at), 0)"
                " FROM entity_names"
            ).fetchone()
            (nodes,) = connection.execute(
                "SELECT count(*) FROM entity_names WHERE canonical <> name"
            ).fetchone()
            (indexed,) = connection.execute(
                "SELECT count(*) FROM memories WHERE state = 'indexed'"
            ).fetchone()
        return f"{names}/{nodes}/{indexed}"
