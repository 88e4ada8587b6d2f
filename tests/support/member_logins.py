"""Logins for tests of members: superusers pass every policy of PostgreSQL."""

from ragmem.storage.home.postgres_members import ROLE


def make_login(connection, name, *, may_make_roles):
    """Make a login where it is missing; one that may make roles may also give the role of members."""
    if not connection.execute("SELECT to_regrole(%s)", (name,)).fetchone()[0]:
        right = "CREATEROLE" if may_make_roles else "NOCREATEROLE"
        connection.execute(f"CREATE ROLE {name} LOGIN NOSUPERUSER NOBYPASSRLS {right}")
    if may_make_roles and connection.execute("SELECT to_regrole(%s)", (ROLE,)).fetchone()[0]:
        # The login of another test has made it, on the server of them all.
        connection.execute(f"GRANT {ROLE} TO {name} WITH ADMIN OPTION")
