"""Answers of models about texts, stored by the hash of the text, so that each is paid for once."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

from ragmem.domain.model import Entity, Relation, State, digest
from ragmem.frozen import dataclass
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import select_from, table_exists
from ragmem.storage.sql.rows import to_stamp

if TYPE_CHECKING:
    from ragmem.domain.entities.extraction_answer import Answer

By = Literal["rules", "llm", "both"]

_CHOICE = "extraction"
_FINISHED = "extraction_finished"
"""Keys in `meta`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The extractor of entities and relations: rules, or the answers of a model (its name and prompt).

    `ner` is the key of a model whose named entities the rules' ones get besides, "" for none.
    """

    by: By = "rules"
    model: str = ""
    ner: str = ""


RULES = Choice()


class Extractions:
    """The answers, and the choice of the extractor that the store uses.

    The choice is stored in the database, and not in settings, so that every command makes the same record of
    a memory.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def choice(self) -> Choice:
        """Return the extractor of records; rules by default."""
        value = self._meta(_CHOICE)
        return _read_choice(value) if value else RULES

    def choose(self, choice: Choice, *, again: Iterable[str]) -> None:
        """Change the extractor of records; the memories of `again` become pending."""
        value = orjson.dumps({"by": choice.by, "model": choice.model, "ner": choice.ner}).decode()
        with self._database.write() as connection:
            meta.put(connection, _CHOICE, value)
            _mark_pending(connection, again)

    def fingerprint(self, model: str) -> str:
        """Return a hash of a model and the chunks of all indexed memories.

        It is much cheaper than reading the texts. Equal fingerprints mean equal texts, except for their
        headings.
        """
        rows = self._database.select(
            "SELECT c.id FROM chunks c JOIN memories m ON m.n = c.memory WHERE m.state = ? ORDER BY c.id",
            (State.INDEXED.value,),
        )
        return digest(model, *(key for (key,) in rows))

    def is_finished(self, fingerprint: str) -> bool:
        """Return whether a model had answered every text at this fingerprint."""
        return fingerprint in self._meta(_FINISHED).split()

    def finish(self, fingerprint: str) -> None:
        """Record that a model has answered every text of a fingerprint."""
        with self._database.write() as connection:
            # Two models may take turns: the language model and that for named entities.
            former = (meta.get(connection, _FINISHED) or "").split()[-1:]
            meta.put(connection, _FINISHED, " ".join([*former, fingerprint]))

    def _meta(self, key: str) -> str:
        with self._database.read() as connection:
            return meta.get(connection, key) or ""

    def keep(
        self, model: str, answers: "Mapping[str, Answer]", *, again: Iterable[str], now: datetime
    ) -> None:
        """Write the answers of a model by the keys of their texts; the memories of `again` become pending.

        Both in one transaction, so that after a kill nothing is asked twice and no memory is missed.
        """
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO extractions (text_hash, model, valid, data, made_at) VALUES (?,?,?,?,?)"
                " ON CONFLICT (text_hash, model) DO UPDATE SET valid = excluded.valid, data = excluded.data,"
                " made_at = excluded.made_at",
                [
                    (key, model, int(answer.is_valid), _dump(answer), to_stamp(now))
                    for key, answer in answers.items()
                ],
            )
            _mark_pending(connection, again)

    def mark_pending(self, memory_ids: Iterable[str]) -> None:
        """Mark those of the memories as pending that are indexed."""
        with self._database.write() as connection:
            _mark_pending(connection, memory_ids)

    def answers(self, model: str, keys: Iterable[str]) -> "dict[str, Answer]":
        """Return the answers of a model to these texts, as far as there are any."""
        sql = "SELECT text_hash, data FROM extractions WHERE model = ? AND text_hash IN ({})"
        return {key: _load(data) for key, data in self._database.select_in(sql, keys, model)}

    def answered_texts(self, model: str) -> dict[str, bool]:
        """Return the keys of all texts that a model has answered, and whether the answer is valid."""
        sql = "SELECT text_hash, valid FROM extractions WHERE model = ?"
        return {key: bool(valid) for key, valid in select_from(self._database, "extractions", sql, (model,))}

    def texts(self) -> set[str]:
        """Return the keys of all texts that any model has answered."""
        return set(self._database.select_column("SELECT DISTINCT text_hash FROM extractions"))

    def forget(self, keys: Iterable[str]) -> None:
        """Remove all answers about these texts."""
        with self._database.write() as connection:
            connection.executemany("DELETE FROM extractions WHERE text_hash = ?", [(key,) for key in keys])
            # A text that comes back needs a new answer.
            meta.put(connection, _FINISHED, "")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield all rows of answers, for `write_rows` of another catalog."""
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "extractions"):
                return
            yield from connection.execute(
                "SELECT text_hash, model, valid, data, made_at FROM extractions ORDER BY text_hash, model"
            )

    def write_rows(self, rows: Iterable[tuple[Any, ...]]) -> int:
        """Write answers of another catalog and return how many were new; existing ones stay."""
        with self._database.write() as connection:
            written = connection.executemany(
                "INSERT INTO extractions (text_hash, model, valid, data, made_at) VALUES (?,?,?,?,?)"
                " ON CONFLICT DO NOTHING",
                rows,
            )
            return written.rowcount


def _mark_pending(connection: Connection, memory_ids: Iterable[str]) -> None:
    # Not those in the buffer, nor any that has left meanwhile.
    connection.executemany(
        "UPDATE memories SET state = ? WHERE id = ? AND state = ?",
        [(State.PENDING.value, key, State.INDEXED.value) for key in memory_ids],
    )


def _read_choice(value: str) -> Choice:
    read = orjson.loads(value)
    by = read.get("by")
    return Choice(by, str(read.get("model", "")), str(read.get("ner", ""))) if by in get_args(By) else RULES


def _dump(answer: "Answer") -> str:
    document: dict[str, Any] = {"invented": answer.invented} if answer.invented else {}
    if answer.problem:
        document |= {"problem": answer.problem, "excerpt": answer.excerpt}
    else:
        document["entities"] = [[one.name, one.type, one.description] for one in answer.entities]
        document["relations"] = [
            [one.source, one.target, one.keywords, one.description] for one in answer.relations
        ]
    return orjson.dumps(document).decode()


def _load(data: str) -> "Answer":
    # Every command opens the catalog, and few read answers.
    from ragmem.domain.entities.extraction_answer import Answer  # noqa: PLC0415 - tens of milliseconds

    read = orjson.loads(data)
    return Answer(
        tuple(Entity(*row) for row in read.get("entities", ())),
        tuple(Relation(*row) for row in read.get("relations", ())),
        read.get("invented", 0),
        read.get("problem", ""),
        read.get("excerpt", ""),
    )
