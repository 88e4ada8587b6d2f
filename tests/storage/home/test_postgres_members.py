"""What a member of a team sees of the tables in PostgreSQL, and what it may write, by the database alone."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from member_logins import make_login

from ragmem.backends.lightrag.external.tables import Registry
from ragmem.domain.model.lifecycle import Approval
from ragmem.errors import ConfigError, ForbiddenError
from ragmem.ports.principal import NOBODY, Principal, acting_as, requested_audience
from ragmem.storage.fulltext.fulltext import search
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.home.postgres_members import ADMIN, TABLES, prepare_members
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.sql.database import delete_in

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ragmem[postgres]'")

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ANN = Principal("ann", "writer")
BOB = Principal("bob", "writer", frozenset({"tideline"}))
EVE = Principal("eve", "writer", frozenset())
READER = Principal("ron", "reader")
ADMIN_MEMBER = Principal("ada", "admin")

MEMBERS = (ANN, BOB, EVE, READER, NOBODY)


def login_of(url: str, *, may_make_roles: bool) -> str:
    """Return the address for a login that is no superuser: those pass every policy."""
    name = "app_with_roles" if may_make_roles else "app"
    with psycopg.connect(url, autocommit=True) as connection:
        make_login(connection, name, may_make_roles=may_make_roles)
        connection.execute(f'GRANT CREATE ON DATABASE "{urlsplit(url).path[1:]}" TO {name}')
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {name}")
    return url.replace("postgres@", f"{name}@")


@dataclass
class Rows:
    catalog: Catalog
    make: object

    def store(self, principal, uri, text, *, project="user", audience=None, **more):
        memory, chunks = self.make(uri, text, project=project, **more)
        token = requested_audience.set(audience)
        with acting_as(principal):
            self.catalog.memories.accept([(memory, chunks)])
        requested_audience.reset(token)
        return memory

    def seen_by(self, principal):
        with acting_as(principal):
            return set(self.catalog.database.select_column("SELECT uri FROM memories"))


@pytest.fixture
def shared(postgres: str, tmp_path: Path, make) -> Iterator[Rows]:
    """A catalog in which ann has memories of each audience, as a login that is no superuser."""
    url = login_of(postgres, may_make_roles=True)
    catalog = Catalog(PostgresDatabase(url, tmp_path / "data", busy_timeout=5.0))
    catalog.prepare()
    prepare_members(catalog.database)
    Registry(catalog.database, "postgres").create()
    rows = Rows(catalog, make)
    rows.store(ANN, "/ann/private.md", "zebra quartz is a secret of ann")
    rows.store(ANN, "/ann/project.md", "tideline uses lemmas", project="tideline")
    rows.store(ANN, "/ann/team.md", "all of us drink oolong", audience="team")
    rows.store(ANN, "/ann/other.md", "harbour uses sextants", project="harbour")
    rows.store(None, "/owner/private.md", "the owner likes quartz")
    yield rows
    catalog.close()


def test_each_member_sees_its_own_its_projects_and_the_teams(shared):
    everything = {f"/ann/{name}.md" for name in ("private", "project", "team", "other")}
    assert shared.seen_by(ANN) == everything
    assert shared.seen_by(BOB) == {"/ann/project.md", "/ann/team.md"}
    assert shared.seen_by(EVE) == {"/ann/team.md"}
    assert shared.seen_by(READER) == everything - {"/ann/private.md"}
    assert shared.seen_by(NOBODY) == set()
    assert shared.seen_by(ADMIN_MEMBER) == shared.seen_by(None) == everything | {"/owner/private.md"}


@pytest.mark.parametrize("claim", ["*", "harbour\x1ftideline", "'; RESET ROLE; --", "\\'", "é\n*"])
def test_no_name_of_a_project_opens_another(shared, claim):
    assert shared.seen_by(Principal("eve", "writer", frozenset({claim}))) == {"/ann/team.md"}


def test_the_settings_end_with_the_transaction(shared):
    shared.seen_by(BOB)
    row = shared.catalog.database.select_row(
        "SELECT current_user, current_setting('ragmem.member', true),"
        " current_setting('ragmem.projects', true)"
    )
    assert row[0] == "app_with_roles"
    assert not any(row[1:])


def test_a_member_acts_as_a_role_that_passes_no_policy_by_itself(shared):
    with acting_as(BOB):
        row = shared.catalog.database.select_row(
            "SELECT rolname, rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = current_user"
        )
    assert row == ("ragmem_member", False, False, False)


def test_every_table_has_a_decision_and_a_policy(shared):
    rows = shared.catalog.database.select(
        "SELECT relname, relrowsecurity FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = 'ragmem'::regnamespace"
    )
    assert {name for name, _ in rows} == set(TABLES), "say in postgres_members.TABLES who may see a new table"
    assert all(secured for _, secured in rows)


def test_a_table_without_a_decision_gives_a_member_nothing(shared):
    with shared.catalog.database.write() as connection:
        connection.execute("CREATE TABLE newer (secret TEXT)")
        connection.execute("INSERT INTO newer VALUES ('zebra')")
    prepare_members(shared.catalog.database)
    with acting_as(BOB), pytest.raises(ForbiddenError):
        shared.catalog.database.select("SELECT * FROM newer")
    assert shared.catalog.database.select("SELECT * FROM newer") == [("zebra",)]


def test_words_of_others_are_neither_found_nor_counted(shared):
    with acting_as(BOB):
        assert search(shared.catalog.database, "zebra quartz", limit=5).hits == []
        told = search(shared.catalog.database, "quartz lemmas", limit=5)
    assert [hit.memory_id for hit in told.hits] == [shared.make("/ann/project.md", project="tideline")[0].id]
    assert told.frequencies["quartz"] == 0
    with acting_as(ANN):
        assert len(search(shared.catalog.database, "quartz", limit=5).hits) == 1


def test_a_member_finds_its_own_behind_many_of_others(shared):
    for number in range(60):
        shared.store(ANN, f"/ann/{number}.md", "oolong oolong oolong")
    mine = shared.store(BOB, "/bob/tea.md", "some words about the green oolong of the shop round the corner")
    with acting_as(BOB):
        found = search(shared.catalog.database, "oolong", limit=2).hits
    assert mine.id in {hit.memory_id for hit in found}


def test_nobody_writes_for_another(shared):
    private = shared.make("/ann/private.md")[0]
    database = shared.catalog.database
    with acting_as(BOB):
        with database.write() as connection:
            for statement in (
                "UPDATE memories SET title = 'mine' WHERE uri LIKE '/ann/private%'",
                "DELETE FROM memories WHERE uri LIKE '/ann/private%'",
                "DELETE FROM chunks WHERE memory IN (SELECT n FROM memories WHERE uri = '/ann/private.md')",
            ):
                assert connection.execute(statement).rowcount == 0
        for statement in (
            "UPDATE memories SET owner = 'ann'",
            "UPDATE memories SET audience = 'team'",
            "INSERT INTO memories (id, owner) VALUES ('x', 'ann')",
        ):
            with pytest.raises(ForbiddenError), database.write() as connection:
                connection.execute(statement)
        with pytest.raises(ForbiddenError):
            shared.catalog.lives.pin(private.id, pinned=True, now=NOW)
        with pytest.raises(ForbiddenError):
            shared.catalog.archive.put("r", [Removal(private, "forget")], now=NOW)
        with pytest.raises(ForbiddenError):
            shared.catalog.memories.accept([shared.make("/ann/private.md", "overwritten")])
        assert shared.catalog.memories.remove([private.id]) == 0
    assert shared.catalog.memories.get([private.id])[private.id].text == "zebra quartz is a secret of ann"
    assert not shared.catalog.lives.of([private.id])


def test_a_reader_writes_no_memory_even_by_sql(shared):
    with acting_as(READER), pytest.raises(ForbiddenError):
        shared.catalog.memories.accept([shared.make("/ron/a.md", "a note")])


def test_a_member_writes_only_into_its_projects(shared):
    shared.store(BOB, "/bob/a.md", "of the tideline", project="tideline")
    with pytest.raises(ForbiddenError):
        shared.store(BOB, "/bob/b.md", "of the harbour", project="harbour")
    with pytest.raises(ForbiddenError):
        shared.store(BOB, "/bob/c.md", "of the harbour", project="harbour", audience="project")


def test_what_comes_back_from_the_archive_keeps_its_owner(shared):
    memory = shared.make("/ann/private.md", "zebra quartz is a secret of ann")[0]
    with acting_as(ANN), shared.catalog.database.write():
        shared.catalog.archive.put("run", [Removal(memory, "forget", "told so")], now=NOW)
        shared.catalog.memories.remove([memory.id])
    with acting_as(BOB):
        assert shared.catalog.archive.count() == 0
        with pytest.raises(ForbiddenError):
            shared.catalog.memories.accept([shared.make("/ann/private.md", "mine now")])
    shared.store(None, "/ann/private.md", "zebra quartz is a secret of ann")
    assert "/ann/private.md" in shared.seen_by(ANN)
    assert "/ann/private.md" not in shared.seen_by(READER)


def test_what_is_moved_into_a_project_is_seen_by_its_members_and_what_leaves_it_is_not(shared):
    owners = shared.make("/owner/private.md")[0]
    anns = shared.make("/ann/private.md")[0]
    of_project = shared.make("/ann/project.md", project="tideline")[0]
    with shared.catalog.database.write() as connection:
        for memory, project in ((owners, "tideline"), (anns, "tideline"), (of_project, "user")):
            connection.execute("UPDATE memories SET project = ? WHERE id = ?", (project, memory.id))
    assert shared.seen_by(BOB) == {"/owner/private.md", "/ann/team.md"}
    assert {"/ann/private.md", "/ann/project.md"} <= shared.seen_by(ANN)


def test_who_has_left_a_project_may_still_remove_its_own(shared):
    mine = shared.store(BOB, "/bob/a.md", "of the tideline", project="tideline")
    left = Principal("bob", "writer", frozenset())
    with pytest.raises(ForbiddenError):
        shared.store(left, "/bob/a.md", "changed", project="tideline")
    with acting_as(left):
        assert shared.catalog.database.size_elsewhere() == 0
        assert shared.catalog.memories.remove([mine.id]) == 1


def test_sessions_of_one_name_are_each_members_own(shared):
    with acting_as(ANN):
        shared.catalog.sessions.keep("s", project="user", topic=["zebra"], shown=["a"], now=NOW)
    with acting_as(BOB):
        assert shared.catalog.sessions.get("s") is None
        shared.catalog.sessions.keep("s", project="user", topic=["lemmas"], shown=["b"], now=NOW)
    with acting_as(ANN):
        assert shared.catalog.sessions.get("s").topic == ["zebra"]


def test_lives_written_before_their_memory_are_the_members(shared):
    memory, chunks = shared.make("/bob/new.md", "a proposal")
    with acting_as(BOB), shared.catalog.database.write():
        shared.catalog.approvals.propose([memory])
        shared.catalog.memories.accept([(memory, chunks)])
    with acting_as(BOB):
        assert shared.catalog.lives.of([memory.id])[memory.id].approval is Approval.PROPOSED
        assert shared.catalog.approvals.withheld_ids() == [memory.id]
    with acting_as(EVE):
        assert shared.catalog.approvals.withheld_ids() == []


def test_a_transaction_of_one_is_not_joined_by_another(shared):
    with (
        acting_as(ANN),
        shared.catalog.database.read(),
        acting_as(BOB),
        pytest.raises(RuntimeError, match="join"),
    ):
        shared.catalog.database.select("SELECT 1")
    with shared.catalog.database.read(), acting_as(BOB), pytest.raises(RuntimeError, match="join"):
        shared.catalog.database.select("SELECT 1")


def test_the_owner_alone_pays_nothing_and_passes_no_policy(shared):
    (plan,) = zip(
        *shared.catalog.database.select("EXPLAIN SELECT * FROM memories WHERE id = 'x'"), strict=True
    )
    assert not re.search(r"current_user|current_setting", "\n".join(plan))


def test_without_the_right_to_make_roles_the_statements_are_named(postgres, tmp_path):
    url = login_of(postgres, may_make_roles=False)
    catalog = Catalog(PostgresDatabase(url, tmp_path / "data", busy_timeout=5.0))
    catalog.prepare()
    with psycopg.connect(postgres, autocommit=True) as connection:
        # A role is the whole server's: another test may have made it.
        if connection.execute("SELECT to_regrole('ragmem_member')").fetchone()[0]:
            connection.execute("REVOKE ragmem_member FROM app")
    with pytest.raises(ConfigError) as refused:
        prepare_members(catalog.database)
    statements = refused.value.hint.partition(": ")[2]
    assert "GRANT ragmem_member TO app" in statements
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(statements)
    prepare_members(catalog.database)
    with acting_as(BOB):
        assert catalog.memories.ids() == set()
    catalog.close()


@pytest.fixture
def guest(postgres, tmp_path):
    """Return the administrator, and a database of a login that may make roles, but not give this one."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        # A role is the whole server's: another test may have made it.
        if not connection.execute("SELECT to_regrole('ragmem_member')").fetchone()[0]:
            connection.execute("CREATE ROLE ragmem_member NOLOGIN")
        connection.execute("CREATE ROLE guest LOGIN NOSUPERUSER CREATEROLE")
        connection.execute("GRANT CREATE ON SCHEMA public TO guest")
        connection.execute(f'GRANT CREATE ON DATABASE "{urlsplit(postgres).path[1:]}" TO guest')
        url = postgres.replace("postgres@", "guest@")
        with closing(PostgresDatabase(url, tmp_path / "data", busy_timeout=5.0)) as database:
            Catalog(database).prepare()
            yield connection, database
        connection.execute("DROP OWNED BY guest")
        connection.execute("DROP ROLE guest")


def test_a_login_that_may_make_roles_but_not_give_the_one_of_members_is_told_the_statement(guest):
    administrator, database = guest
    with pytest.raises(ConfigError, match="guest may not") as refused:
        prepare_members(database)
    statements = refused.value.hint.partition(": ")[2]
    assert statements == "GRANT ragmem_member TO guest;"
    administrator.execute(statements)
    prepare_members(database)
    with acting_as(BOB):
        assert Catalog(database).memories.ids() == set()


def test_a_login_that_may_only_give_the_role_gives_it_to_itself(guest):
    administrator, database = guest
    # PostgreSQL does so for whoever makes a role.
    administrator.execute("GRANT ragmem_member TO guest WITH ADMIN TRUE, SET FALSE, INHERIT FALSE")
    prepare_members(database)
    with acting_as(BOB):
        assert Catalog(database).memories.ids() == set()
    prepare_members(database)
    administrator.execute("REVOKE ragmem_member FROM guest CASCADE")


def test_admin_tables_are_empty_for_a_member(shared):
    database = shared.catalog.database
    with database.write() as connection:
        connection.execute("INSERT INTO files VALUES ('notes', '/ann/private.md', 1, 1, 'r', '{}')")
    for table in (name for name, access in TABLES.items() if access is ADMIN):
        with acting_as(BOB):
            assert database.select_int(f"SELECT count(*) FROM {table}") == 0
            with database.write() as connection:
                assert delete_in(connection, "files", "source", ["notes"]) == 0
