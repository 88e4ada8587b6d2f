"""What a question reads of a project is found by what it asks for, not by going through the project."""

import pytest

from ragmem.storage.memories.edits import edits_of
from ragmem.storage.names.aliases import spellings

SQLITE = pytest.mark.parametrize("catalog", ["sqlite"], indirect=True)


def plans(database, read) -> list[str]:
    """Return how SQLite carries out the joins and searches of a function, a line for each table."""
    asked: list[str] = []
    connection = database.connection()
    connection.set_trace_callback(asked.append)
    read()
    connection.set_trace_callback(None)
    return [
        line
        for statement in asked
        if statement.startswith("SELECT")
        for *_, line in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]


@SQLITE
@pytest.mark.parametrize("projects", [["user"], ["user", "work"], None])
def test_edits_are_found_by_the_name_of_the_file(catalog, projects):
    first, *_ = plans(catalog.database, lambda: edits_of(catalog.database, "a.py", projects=projects))
    assert first == "SEARCH e USING PRIMARY KEY (name=?)"


@SQLITE
def test_spellings_are_found_by_the_entity(catalog):
    lines = plans(catalog.database, lambda: spellings(catalog.database, "user", ["Lighthouse", "Marta"]))
    assert [line for line in lines if "entity_names" in line] == [
        "SEARCH entity_names USING INDEX entity_names_by_node (project=? AND canonical=?)"
    ]


def test_spellings_come_in_order(catalog):
    with catalog.database.write() as connection:
        connection.executemany(
            "INSERT INTO entity_names (project, name, types, form, node, rule, made_at)"
            " VALUES ('user', ?, '[]', '', ?, '', 0)",
            [
                ("Postgres", "PostgreSQL"),
                ("PG", "PostgreSQL"),
                ("PostgreSQL", None),
                ("Go", "Golang"),
            ],
        )
    found = spellings(catalog.database, "user", ["PostgreSQL", "Golang", "Rust"])
    assert found == {"PostgreSQL": ["PG", "Postgres"], "Golang": ["Go"]}
