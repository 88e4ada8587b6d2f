"""Which rules apply to a moment: by what is done, files, programs and languages; and when nothing is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.retrieval.rule_moment import moment_of_command, moment_of_path, moment_of_text
from ragmem.domain.retrieval.rule_scope import scopes_of
from ragmem.domain.retrieval.rule_topics import TOPICS, topics_of_path, vocabulary


def reasons(rule, moment):
    return [reason for scope in scopes_of(rule) if (reason := scope.reason(moment))]


def by_text(rule, text):
    return bool(reasons(rule, moment_of_text(text)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Bring the changelog up to date before every release.", "I will push the release now"),
        ("Tests must not open sockets.", "please write a few unit tests for the mailer"),
        ("We use pnpm here.", "let's add a library for dates"),
        ("Never push to main.", "could you push this to main"),
        ("Every endpoint needs an entry in the handbook.", "we need a new endpoint for refunds"),
        ("Always lint before committing.", "ok, commit what we have"),
        ("Log lines never contain names of people.", "add a log line when the import stops"),
        ("All migrations must be reversible.", "I want to add a column to the orders table"),
        ("Passwords are never stored in plain text.", "where should I put the password of the mail server"),
        ("Ask me before installing anything: no new dependencies.", "install left-pad"),
        ("From now on every pull request needs a screenshot.", "time to open a PR"),
        ("Niemals direkt auf main pushen.", "bitte push das auf main"),
        ("Jede Migration braucht einen Rückweg.", "ich will der Tabelle eine Spalte geben"),
        ("Les tests ne doivent jamais appeler un service externe.", "ajoute un test pour la carte"),
        ("Nunca hagas commit sin revisar.", "haz un commit"),
        ("Never use npm; use yarn.", "upgrade react to 19"),
        ("## Release\n\n- Never skip the smoke run on Windows.", "we ship version 3 today"),
        ("Integration tests need a real database.", "write an integration test for the cart"),
        ("Tests for the importer must use recorded files.", "write a test for the importer"),
        ("Never use `npm` or `yarn`.", "I will add the dependency zod"),
        ("Never use `npm` or `yarn`.", "could you add zod as a dependency?"),
        ("Never use `npm` or `yarn`.", "I'll run `npm install zod`"),
        ("**Documentation.** Write each list item in one line.", "update the docs of the importer"),
        ("Existing migrations must never change.", "I want to add a column to the orders table"),
        ("Tests must never sleep: inject the clock.", "write a test for the cart"),
    ],
)
def test_a_rule_applies_to_what_somebody_sets_out_to_do(rule, text):
    assert by_text(rule, text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Tests must not open sockets.", "why do the tests open sockets"),
        ("Tests must not open sockets.", "the test server is slow"),
        ("Tests must not open sockets.", "which tests failed yesterday"),
        ("Tests must not open sockets.", "I wrote a test yesterday"),
        ("Integration tests need a real database.", "write a test for the cart"),
        ("Tests for the importer must use recorded files.", "write a test for the cart"),
        ("Bring the changelog up to date before every release.", "release the lock when the work is done"),
        ("Always lint before committing.", "commit the transaction at the end of the loop"),
        ("Never push to main.", "push a notification to the phone"),
        ("The worker never retries failed tests.", "write a test for the worker"),
        ("Never use `npm` or `yarn`.", "add the package manager to the picture"),
        ("Never use `npm` or `yarn`.", "why did npm install fail"),
        ("**Interface text.** Write each list item in one line.", "update the docs of the importer"),
        ("The release was tagged on main.", "let's release this"),
        ("Our tests took nine minutes, because each one filled the database.", "add a test for the cart"),
        ("If the import fails, never commit.", "commit this"),
        ("Fix the flaky tests.", "add a test for the cart"),
        ("In TypeScript, never use any.", "is TypeScript a good choice for this"),
        ("Should we always lint before committing?", "commit this"),
        ("Passwords are never stored in plain text.", "add a password field to the form"),
        ("```\nalways lint before committing\n```", "commit this"),
        ("Existing tests pass.", "add a test for the cart"),
        ("Tests: inject the clock.", "add a test for the cart"),
        ("Always lint before committing.", ""),
        ("", "commit this"),
    ],
)
def test_nothing_is_told_where_the_scope_is_not_sure(rule, text):
    assert not by_text(rule, text)


RECORD = """# 12: Queues

## Context

Tests must not open sockets, said the old handbook.

## Decision

Tests use one queue. Tests must always drain the queue.

### Consequences

Every commit must be slower.

### Naming

Every branch must carry the number of its queue.

## Alternatives

Never deploy on Fridays.
"""


@pytest.mark.parametrize(
    ("text", "applies"),
    [
        ("write a few unit tests for the mailer", "Tests must always drain the queue."),
        ("ok, commit what we have", ""),
        ("create a branch for this", "Every branch must carry the number of its queue."),
        ("deploy it", ""),
    ],
)
def test_of_a_record_only_what_it_decides_is_a_rule(text, applies):
    held = [scope for scope in scopes_of(RECORD, "12: Queues") if scope.reason(moment_of_text(text))]
    assert [RECORD[scope.start :].partition("\n")[0] for scope in held] == [applies] * bool(applies)


def test_what_only_weighs_and_a_table_of_contents_have_no_rules():
    assert not by_text("## Pros\n\nTests must not open sockets.", "write a few unit tests")
    assert by_text("## Options\n\n`--dry`\n\n## Tests\n\nTests must not open sockets.", "write unit tests")
    assert not by_text("- [Never push to main](0003-branches.md)", "could you push this to main")


@pytest.mark.parametrize(
    ("rule", "path", "applies"),
    [
        ("Never edit generated files under api/.", "api/client.ts", True),
        ("Never edit generated files under api/.", "web/rapid/client.ts", False),
        ("Tests must not open sockets.", "src/app/foo.test.ts", True),
        ("Tests must not open sockets.", "tests/test_cart.py", True),
        ("Tests must not open sockets.", "src/app/foo.ts", False),
        ("Fields of a .proto file are never renumbered.", "proto/seats.proto", True),
        ("Files matching *.gen.go must not be edited.", "internal/seats.gen.go", True),
        ("In Go, errors are always wrapped.", "cmd/root.go", True),
        ("In Go, errors are always wrapped.", "cmd/root.rs", False),
        ("In Go tests, never sleep.", "cmd/root_test.go", True),
        ("In Go tests, never sleep.", "cmd/root.go", False),
        ("Always run scripts/check.sh before a release.", "scripts/check.sh", False),
        ("`src/core/` - the engine, which must stay small", "src/core/loop.c", False),
        ("Schema changes must have a way back.", "db/migrate/20260101_names.rb", True),
        ("Actions in workflows are always pinned to a hash.", ".github/workflows/ci.yml", False),
        ("Workflows must pin their actions to a hash.", ".github/workflows/ci.yml", True),
        ("All features must include examples in the gallery/ folder.", "gallery/cart.svg", False),
        ("Commands are registered in `groups.rs` only.", "groups.rs", False),
        ("Handlers in `src/ipc/handlers.xyz` must match the preload script.", "src/ipc/handlers.xyz", True),
        ("Files that end in .g.dart are generated, so do not change them.", "lib/hike.g.dart", True),
        ("Agents must not edit `db/schema.rb`.", "db/schema.rb", True),
        ("Clients are in `api/out/` and must never be edited.", "api/out/a.txt", True),
        ("Keep runbooks under `operations/`.", "operations/restore.txt", True),
        ("Do not skip hooks (the `scripts/check.sh` hook is enforced).", "scripts/check.sh", False),
        ("No calls to docker/compose, ever.", "docker/compose/base.txt", False),
    ],
)
def test_a_rule_applies_to_the_files_that_it_names(rule, path, applies):
    assert bool(reasons(rule, moment_of_path(path))) == applies


@pytest.mark.parametrize(
    ("rule", "command", "reason"),
    [
        ("Use pnpm, never npm or yarn.", "cd web && npm install zod", "npm"),
        ("Use pnpm, never npm or yarn.", "sudo yarn add zod", "yarn"),
        ("Use pnpm, never npm or yarn.", "pnpm add zod", "dependency"),
        ("Use pnpm, never npm or yarn.", "ls -la", ""),
        ("Use pnpm, never npm or yarn.", "cargo add serde", ""),
        ("No new dependencies without asking.", "cargo add serde", "dependency"),
        ("Never use `git add .`: name the files.", "git add .", "git add ."),
        ("Never use `git add .`: name the files.", "git add src/a.py", ""),
        ("No new dependencies without asking.", "git commit -m 'a && npm install b'", ""),
        ("Always lint before committing.", "A=1 git commit -m 'x; y'", "commit"),
        ("Always lint before committing.", "git log --grep commit", ""),
        ("Never push to main.", "git push origin main", "push"),
        ("Before a release, write the changelog.", "npm publish", "release"),
        ("Run tests with make, never pytest.", "pytest -q", "pytest"),
        ("Use `bun run <script>` instead of `npm run <script>`.", "npm run build", "npm run"),
        ("Use `bun run <script>` instead of `npm run <script>`.", "npm test", ""),
        ("Always lint before committing.", "git commit -m 'an open quote", "commit"),
    ],
)
def test_a_rule_applies_to_commands_by_program_and_by_what_they_do(rule, command, reason):
    found = reasons(rule, moment_of_command(command))
    assert found == ([reason] if reason else [])


def test_a_scope_stands_where_its_sentence_does():
    text = "# Notes\n\nThe cache is a file.\n\n- Kept by hand.\n- Tests must not open sockets.\n"
    [scope] = scopes_of(text)
    assert text[scope.start :].startswith("Tests must not open sockets.")


def test_each_word_of_the_vocabulary_has_one_topic_and_each_row_its_columns():
    rows = [line.split("\t") for line in TOPICS.read_text(encoding="utf-8").splitlines()]
    assert {len(row) for row in rows} == {5}
    topics = [row[0] for row in rows[1:]]
    assert len(topics) == len(set(topics)) > 40
    assert vocabulary().thing("migrations") == "migration"
    assert topics_of_path("src/app/foo.test.ts") >= {"writing tests", "typescript"}


@given(st.text(max_size=400))
def test_any_text_is_read_as_a_moment_and_as_rules(text):
    moments = [moment_of_text(text), moment_of_command(text), moment_of_path(text)]
    for scope in scopes_of(text):
        assert 0 <= scope.start < len(text)
        assert all(isinstance(scope.reason(moment), str) for moment in moments)


def test_a_huge_text_is_read_in_part():
    rule = "Tests must not open sockets. "
    assert len(scopes_of(rule * 10_000)) < 1_000
    assert not moment_of_text("word " * 100_000 + "commit this")
