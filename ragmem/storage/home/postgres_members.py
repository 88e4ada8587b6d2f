"""Which rows a member of a team sees in PostgreSQL: columns, triggers, and row-level security by table.

A transaction of a member runs as the role `ragmem_member`, which owns nothing and passes no policy by itself.
The settings `ragmem.member`, `ragmem.projects` and `ragmem.role` hold for that transaction only. Everybody
else, such as the owner of the tables, sees all rows. FORCE is left out: it would bind the owner too, for whom
every condition with a function that is not leakproof would then lose its index.
"""

import hashlib
from collections.abc import Mapping

from ragmem.errors import ConfigError
from ragmem.frozen import dataclass
from ragmem.ports.principal import NOBODY, Principal, requested_audience
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.rows import MEMORY_COLUMNS

ROLE = "ragmem_member"
"""The role of members' transactions; nobody can log in as it."""

SEPARATOR = "\x1f"
"""Between the ids of projects in the setting `ragmem.projects`."""

ALL_PROJECTS = "*"

_STAMP = "member rules"
"""Key in `meta`: the hash of the statements that were carried out last."""

_ME = "nullif((SELECT current_setting('ragmem.member', true)), '')"
_PROJECTS = "(SELECT current_setting('ragmem.projects', true))"
_WRITER = "(SELECT current_setting('ragmem.role', true)) = 'writer'"
_WRITING = "(SELECT current_setting('transaction_read_only')) = 'off'"
_OWN = "current_setting('ragmem.member', true)"
_NOBODYS = "('user', 'unassigned')"
_NOWHERE = "('user', 'unassigned', '')"

# Rows without an owner belong to the owner of the machine. Without an audience they are for the members of
# their project, and outside of projects for the owner: no row of a former release has to be written anew.
COLUMNS = f"""
ALTER TABLE memories ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN IF NOT EXISTS audience TEXT COLLATE "C" NOT NULL DEFAULT ''
  CHECK (audience IN ('', 'personal', 'project', 'team'));
ALTER TABLE archive ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE archive ADD COLUMN IF NOT EXISTS audience TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE archive ADD COLUMN IF NOT EXISTS project TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL
  DEFAULT coalesce({_OWN}, '');
ALTER TABLE sessions DROP CONSTRAINT IF EXISTS sessions_pkey;
ALTER TABLE sessions ADD PRIMARY KEY (id, owner);
ALTER TABLE injections ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL
  DEFAULT coalesce({_OWN}, '');
ALTER TABLE violations ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL
  DEFAULT coalesce({_OWN}, '');
ALTER TABLE gc_runs ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL
  DEFAULT coalesce({_OWN}, '');
ALTER TABLE log ADD COLUMN IF NOT EXISTS owner TEXT COLLATE "C" NOT NULL
  DEFAULT coalesce({_OWN}, '')
"""

# A memory that comes back keeps its owner, unless that would give a member a row that it may not see.
_OWN_MEMORY = f"""
CREATE OR REPLACE FUNCTION own_memory() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  member text := coalesce({_OWN}, '');
  wanted text := coalesce(current_setting('ragmem.audience', true), '');
  former record;
BEGIN
  SELECT a.owner, a.audience INTO former FROM archive a WHERE a.id = NEW.id
    ORDER BY a.archived_at DESC, a.run DESC LIMIT 1;
  IF FOUND AND (member = '' OR former.owner = member OR former.audience IN ('project', 'team')) THEN
    NEW.owner := former.owner;
    NEW.audience := CASE WHEN former.owner = member AND wanted <> '' THEN wanted ELSE former.audience END;
  ELSE
    NEW.owner := member;
    NEW.audience := CASE WHEN member = '' THEN '' WHEN wanted <> '' THEN wanted ELSE 'project' END;
  END IF;
  IF NEW.audience = 'project' AND NEW.project IN {_NOBODYS} THEN
    NEW.audience := 'personal';
  END IF;
  RETURN NEW;
END $$
"""
# The archive has no columns of a memory, but its JSON; the quotes within its strings are escaped.
_OWN_ARCHIVE = f"""
CREATE OR REPLACE FUNCTION own_archive() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  former record;
BEGIN
  SELECT m.owner, m.audience, m.project INTO former FROM memories m WHERE m.id = NEW.id;
  IF FOUND THEN
    NEW.owner := former.owner;
    NEW.audience := former.audience;
    NEW.project := former.project;
  ELSE
    NEW.owner := coalesce({_OWN}, '');
    NEW.audience := CASE WHEN NEW.owner = '' THEN '' ELSE 'personal' END;
    NEW.project := coalesce(substring(NEW.memory from '"project":"([^"]*)"'), '');
  END IF;
  RETURN NEW;
END $$
"""

FUNCTIONS = (
    _OWN_MEMORY,
    "DROP TRIGGER IF EXISTS own_memory ON memories",
    "CREATE TRIGGER own_memory BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION own_memory()",
    _OWN_ARCHIVE,
    "DROP TRIGGER IF EXISTS own_archive ON archive",
    "CREATE TRIGGER own_archive BEFORE INSERT ON archive FOR EACH ROW EXECUTE FUNCTION own_archive()",
)


def _of_project(column: str) -> str:
    listed = f"{column} = ANY (string_to_array({_PROJECTS}, chr(31)))"
    return f"({column} IN {_NOBODYS} OR {_PROJECTS} = '{ALL_PROJECTS}' OR {listed})"


_SEES = (
    f"(owner = {_ME} OR (audience = 'team' AND {_ME} IS NOT NULL)"
    f" OR (audience IN ('project', '') AND project NOT IN {_NOWHERE} AND {_of_project('project')}))"
)


@dataclass(frozen=True, slots=True)
class Access:
    """What a member may see of a table, write to it and remove, as conditions on a row.

    An empty `writes` stands for what it sees, an empty `removes` for what it writes.
    """

    reads: str
    writes: str = ""
    removes: str = ""

    @property
    def checks(self) -> str:
        """The condition for rows that a member writes."""
        return self.writes or self.reads


def _by_number(column: str, table: str) -> str:
    return f"EXISTS (SELECT 1 FROM memories m WHERE m.n = {table}.{column})"


def _by_id(column: str, table: str) -> str:
    return (
        f"(EXISTS (SELECT 1 FROM memories m WHERE m.id = {table}.{column})"
        f" OR EXISTS (SELECT 1 FROM archive a WHERE a.id = {table}.{column}))"
    )


def _derived(condition: str) -> Access:
    """Return the access to what is derived from all memories: whoever writes keeps it whole."""
    return Access(f"({_WRITING} OR {condition})", _WRITING)


OPEN = Access("true")
"""Numbers and hashes, from which nobody can tell a text, a name or a place."""

ADMIN = Access("false")
"""Only for the owner and admins."""

OWN = Access(f"owner = {_ME}")
PROJECT = Access(_of_project("project"))
_CODE_ROOT = "EXISTS (SELECT 1 FROM code_roots r WHERE r.n = {}.root)"
_CODE_FILE = "EXISTS (SELECT 1 FROM code_files f WHERE f.n = {}.file)"

TABLES: Mapping[str, Access] = {
    # The memories, and what holds a text, a name or a place of one.
    # A member who has left a project may still remove what it stored there.
    "memories": Access(
        _SEES,
        f"({_SEES} AND {_WRITER} AND {_of_project('project')} AND NOT is_hidden(id))",
        f"({_SEES} AND {_WRITER})",
    ),
    "archive": Access(_SEES, f"({_SEES} AND {_WRITER})"),
    "chunks": Access(_by_number("memory", "chunks")),
    "edited_files": Access(_by_number("memory", "edited_files")),
    # The life of a proposed memory is written before the memory.
    "lives": Access(
        f"({_by_id('id', 'lives')} OR ({_WRITING} AND NOT is_hidden(lives.id)))",
    ),
    "recalled_in": Access(_by_id("id", "recalled_in")),
    "supersessions": Access(f"({_by_id('older', 'supersessions')} AND {_by_id('newer', 'supersessions')})"),
    "merged_from": Access(f"({_by_id('merged', 'merged_from')} AND {_by_id('original', 'merged_from')})"),
    "gc_changes": Access(_by_id("id", "gc_changes")),
    "project_moves": Access(_by_id("memory", "project_moves")),
    "store_placements": _derived("EXISTS (SELECT 1 FROM memories m WHERE m.id = store_placements.memory_id)"),
    "connections": _derived(f"({_by_number('low', 'connections')} AND {_by_number('high', 'connections')})"),
    "compared": _derived(_by_number("memory", "compared")),
    "entity_mentions": _derived(_by_number("memory", "entity_mentions")),
    "entity_aliases": _derived(_by_number("memory", "entity_aliases")),
    "entity_names": _derived("EXISTS (SELECT 1 FROM entity_mentions e WHERE e.name = entity_names.n)"),
    "entity_apart": _derived(
        "EXISTS (SELECT 1 FROM entity_names e WHERE e.project = entity_apart.project"
        " AND e.name = entity_apart.name)"
    ),
    # What a member's sessions and commands leave.
    "sessions": OWN,
    "injections": OWN,
    "violations": OWN,
    "gc_runs": OWN,
    "log": OWN,
    # By project.
    "projects": Access(_of_project("id")),
    "project_paths": PROJECT,
    "project_commits": PROJECT,
    "project_remotes": PROJECT,
    "project_aliases": PROJECT,
    "code_roots": PROJECT,
    "code_files": Access(_CODE_ROOT.format("code_files")),
    "code_symbols": Access(_CODE_ROOT.format("code_symbols")),
    "code_edges": Access(_CODE_ROOT.format("code_edges")),
    "code_renames": Access(_CODE_ROOT.format("code_renames")),
    "code_facts": Access(_CODE_FILE.format("code_facts")),
    "code_words": Access(_CODE_FILE.format("code_words")),
    "store_workspaces": _derived(_of_project("project")),
    "shared_records": PROJECT,
    "shared_supersessions": PROJECT,
    "share_members": PROJECT,
    "share_heads": PROJECT,
    # Of the machine, and of all members.
    "files": ADMIN,
    "transcripts": ADMIN,
    "skill_drafts": ADMIN,
    # Daily caps hold for all together.
    "usage": Access("true", _WRITING),
    "usage_files": Access("true", _WRITING),
    "extractions": _derived("false"),
    "meta": OPEN,
    "migrations": OPEN,
    "lexicon_segments": OPEN,
    "lexicon_blocks": OPEN,
    "lexicon_memories": OPEN,
    "store_models": OPEN,
}
"""The decision on every table; a test fails where a table has none, and members get nothing of it."""

_ARCHIVE_COLUMNS = ("run", "id", "rule", "reason", "successor", "archived_at", "memory")

_IS_HIDDEN = f"""
CREATE OR REPLACE FUNCTION is_hidden(wanted text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM memories WHERE id = wanted AND NOT coalesce({_SEES}, false))
    OR EXISTS (SELECT 1 FROM archive WHERE id = wanted AND NOT coalesce({_SEES}, false))
$$
"""


def settings_of(principal: Principal | None) -> str:
    """Return the statements that confine a transaction to what a member may do; "" for the owner.

    An admin's transaction sees all rows, and what it writes belongs to the admin.
    """
    if principal is None:
        return ""
    projects = ALL_PROJECTS
    if principal.projects is not None:
        # No project has such an id; a claim of an issuer may.
        known = {name for name in principal.projects if SEPARATOR not in name and name != ALL_PROJECTS}
        projects = SEPARATOR.join(sorted(known))
    values = {
        "member": "" if principal == NOBODY else principal.member,
        "role": principal.role,
        "projects": projects,
        "audience": requested_audience.get() or "",
    }
    # The driver's parameters allow for one statement only.
    settings = "".join(f"; SET LOCAL ragmem.{name} = {_literal(value)}" for name, value in values.items())
    return settings if principal.role == "admin" else f"{settings}; SET LOCAL ROLE {ROLE}"


def _literal(value: str) -> str:
    if "\0" in value:
        raise ConfigError(
            f'"{value!a}" is not a valid name of a member or project', hint="remove the NUL character"
        )
    quoted = value.replace("\\", "\\\\").replace("'", "''")
    return f" E'{quoted}'"


def prepare_members(database: Database) -> None:
    """Make the role of members, its rights and its policies, where they are missing or outdated.

    Called by the owner of the tables before a member acts. Raises ConfigError, with the statements for the
    database's owner, where the role cannot be made.
    """
    if database.dialect != "postgres":
        raise ConfigError(
            "--team needs the store in PostgreSQL", hint='set [store] profile = "postgres", and its url'
        )
    with database.write() as connection:
        # A database that was restored on another server has the stamp, and lacks what names the role.
        _renew(connection, anew=_make_role(database, connection))


def renew_members(database: Database) -> None:
    """Extend the policies to tables that were made since `prepare_members`; nothing where it never was."""
    if database.dialect == "postgres" and meta.read(database, _STAMP) is not None:
        with database.write() as connection:
            _renew(connection)


def _role_rights(connection: Connection) -> tuple[bool, bool, bool]:
    """Return whether the role exists, and whether we may act as it and give it to ourselves."""
    (exists,) = connection.execute("SELECT to_regrole(?) IS NOT NULL", (ROLE,)).fetchone()
    superuser, makes, separate = connection.execute(
        "SELECT rolsuper, rolcreaterole, current_setting('server_version_num')::int >= 160000"
        " FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if not exists:
        return False, False, superuser or makes
    # Since version 16 whoever makes roles gives only its own ones, and does not act as each that it may give.
    acts, gives = connection.execute(
        "SELECT pg_has_role(current_user, ?, ?), pg_has_role(current_user, ?, 'MEMBER WITH ADMIN OPTION')",
        (ROLE, "SET" if separate else "MEMBER", ROLE),
    ).fetchone()
    return True, acts, superuser or gives or (makes and not separate)


def _make_role(database: Database, connection: Connection) -> bool:
    """Make the role where it is missing, and return whether it was."""
    exists, acts, gives = _role_rights(connection)
    (user,) = connection.execute("SELECT quote_ident(current_user)").fetchone()
    missing = [] if exists else [f"CREATE ROLE {ROLE} NOLOGIN"]
    missing += [] if acts else [f"GRANT {ROLE} TO {user}"]
    if missing and not gives:
        has, lacks = ("the", "act as") if exists else ("no", "make")
        raise ConfigError(
            f'the database "{database.place}" has {has} role for members, and {user} may not {lacks} it',
            hint=f"let its administrator run: {'; '.join(missing)};",
        )
    for statement in missing:
        connection.execute(statement)
    return not exists


def _renew(connection: Connection, *, anew: bool = False) -> None:
    present = [
        name
        for (name,) in connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = current_schema()::regnamespace ORDER BY relname"
        ).fetchall()
    ]
    statements = _statements(present)
    stamp = hashlib.sha256("\n".join(statements).encode()).hexdigest()
    if meta.get(connection, _STAMP) == stamp and not anew:
        return
    for statement in statements:
        connection.execute(statement)
    meta.put(connection, _STAMP, stamp)


def _statements(present: list[str]) -> list[str]:
    """Return what gives members their rights on these tables."""
    found = [
        _IS_HIDDEN,
        f"DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO {ROLE}', current_schema()); END $$",
    ]
    for table in present:
        access = TABLES.get(table)
        found += [
            f"REVOKE ALL ON {table} FROM {ROLE}",
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            *(f"DROP POLICY IF EXISTS {name} ON {table}" for name in ("others", *_POLICIES)),
            # Whoever is no member sees what it saw before there were policies.
            f"CREATE POLICY others ON {table} USING ((SELECT current_user) <> '{ROLE}')",
        ]
        if access is None:
            continue
        found += [_grant(table), *_policies(table, access)]
    return found


_POLICIES = ("seen", "added", "changed", "removed")


def _policies(table: str, access: Access) -> list[str]:
    reads, checks = access.reads, access.checks
    removes = access.removes or checks
    return [
        f"CREATE POLICY seen ON {table} FOR SELECT TO {ROLE} USING ({reads})",
        f"CREATE POLICY added ON {table} FOR INSERT TO {ROLE} WITH CHECK ({checks})",
        f"CREATE POLICY changed ON {table} FOR UPDATE TO {ROLE} USING ({checks}) WITH CHECK ({checks})",
        f"CREATE POLICY removed ON {table} FOR DELETE TO {ROLE} USING ({removes})",
    ]


def _grant(table: str) -> str:
    """Return the statement that gives rights; no member names an owner, nor the audience of a stored row."""
    columns = {"memories": MEMORY_COLUMNS, "archive": _ARCHIVE_COLUMNS}.get(table)
    if columns is None:
        return f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}"
    named = ", ".join(columns)
    return f"GRANT SELECT, INSERT ({named}), UPDATE ({named}), DELETE ON {table} TO {ROLE}"
