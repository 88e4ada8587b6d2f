"""What a database lacks of its schema is named, up to the step that it has reached."""

import pytest

from ragmem.storage.sql.migrations import Migration, Schema, migrate
from ragmem.storage.sql.schema_check import find_damage
from ragmem.storage.sql.sqlite import SQLiteDatabase

STEPS = [
    Migration(1, "begin", ["CREATE TABLE boats (name TEXT)"]),
    Migration(
        2, "harbours", ["CREATE TABLE harbours (name TEXT)", "CREATE INDEX by_name ON harbours (name)"]
    ),
]


@pytest.mark.parametrize("lost", ["TABLE boats", "TABLE harbours", "INDEX by_name"])
def test_what_the_first_and_the_last_step_made_is_missed(lost, tmp_path):
    database = SQLiteDatabase(tmp_path)
    first, both = Schema("port", STEPS[:1]), Schema("port", STEPS)
    migrate(database, first)
    assert find_damage(database, first).text == ""
    migrate(database, both)
    assert find_damage(database, both).text == ""
    with database.write() as connection:
        connection.execute(f"DROP {lost}")
    assert lost.lower() in find_damage(database, both).text
    database.close()
