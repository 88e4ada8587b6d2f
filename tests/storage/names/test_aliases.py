"""The further names of an entity, as they are read."""

from ragmem.storage.names.aliases import OtherName, entity_of, other_names

ROW = (
    "INSERT INTO entity_names (project, name, types, form, node, rule, made_at)"
    " VALUES (?, ?, 'tool', '', ?, ?, 0)"
)


def test_names_lead_to_the_entity_and_back_within_their_project(catalog):
    with catalog.database.write() as connection:
        connection.execute(ROW, ("user", "PostgreSQL", None, ""))
        connection.execute(ROW, ("user", "Postgres", "PostgreSQL", "alias"))
        connection.execute(ROW, ("other", "pg", "PostgreSQL", "alias"))

    assert other_names(catalog.database, "user", "PostgreSQL") == [OtherName("Postgres", "alias")]
    assert other_names(catalog.database, "user", "Postgres") == []
    assert entity_of(catalog.database, "user", "POSTGRES") == "PostgreSQL"
    assert entity_of(catalog.database, "user", "PostgreSQL") is None
    assert entity_of(catalog.database, "user", "pg") is None


def test_a_home_that_records_no_merges_has_none(catalog):
    with catalog.database.write() as connection:
        for table in ("entity_mentions", "entity_names"):
            connection.execute(f"DROP TABLE {table}")

    assert other_names(catalog.database, "user", "PostgreSQL") == []
    assert entity_of(catalog.database, "user", "PostgreSQL") is None
