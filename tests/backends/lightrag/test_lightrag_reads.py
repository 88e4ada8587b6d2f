"""What people see of the graph when several projects speak of the same thing."""

from pathlib import Path

from ragmem.backends import fake, lightrag
from ragmem.domain.model import Chunk, Entity, Extraction, Record, Relation
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing import make_record


def record(number: int, project: str, other: str) -> Record:
    plain = make_record(f"memory{number}", f"PostgreSQL works with {other}.", project=project)
    chunk: Chunk = plain.chunks[0]
    named = Extraction(
        chunk.id,
        (Entity("PostgreSQL", "tool", f"said in {project}"), Entity(other, "tool", "also")),
        (Relation("PostgreSQL", other, "uses", "works with"),),
    )
    return Record(plain.memory, plain.chunks, (named,))


def test_an_entity_of_two_projects_is_listed_once_with_all_its_relations(tmp_path: Path):
    database = SQLiteDatabase(tmp_path)
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([record(1, "one", "Caddy"), record(2, "two", "Redis")])
    assert [(entity.name, degree) for entity, degree in store.entities("postg")] == [("PostgreSQL", 2)]
    assert [(entity.name, degree) for entity, degree in store.entities("postg", project="two")] == [
        ("PostgreSQL", 1)
    ]
    assert {entity.name for _, entity in store.neighbours("PostgreSQL")} == {"Caddy", "Redis"}
    store.close()
    database.close()
