"""Which memories edited a file: by its path, by an end of it, never by a text that merely mentions it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.model import Draft, Scope
from ragmem.domain.retrieval.question import parse
from ragmem.services.retrieval.sources import edits_of_commits, edits_of_files, memories_of_files
from ragmem.storage.memories.edits import plain_path

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TEXT = "We decided to change {0} because of the error; the fix of {0} resolved it."


def session(name, *files, project="user", days=0.0):
    return Draft(
        "transcripts",
        name,
        TEXT.format(name),
        event_time=NOW - timedelta(days=days),
        scope=Scope(project),
        metadata={"files": "\n".join(files)} if files else {},
    )


def asked(memory, *paths, projects=None, limit=9):
    names = {one.id: one.uri for one in memory.catalog.memories.each()}
    found = edits_of_files(memory.catalog, paths, projects=projects, limit=limit)
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    rows = memory.catalog.memories.chunks_by_id(hit.chunk_id for hit in found)
    assert all(rows[hit.chunk_id][0] == hit.memory_id for hit in found)
    return [names[hit.memory_id] for hit in found]


def made(memory, commit):
    commits = parse(f"who made {commit}?", now=NOW).commits
    return edits_of_commits(memory.catalog, commits, projects=None, limit=9)


def stored(memory, *paths, projects=None):
    return [hit.memory_id for hit in memories_of_files(memory.catalog, paths, projects=projects)]


def note(uri, text, project="user"):
    return Draft("memory", uri, text, event_time=NOW, scope=Scope(project))


def test_a_question_with_a_files_name_finds_what_was_read_from_it(memory):
    uris = ("/work/quay/adr/030-root-user.md", "/work/quay/adr/031-images.md", "/home/ada/100%_sure.md")
    memory.ingest([note(uri, f"The decision number {number}.") for number, uri in enumerate(uris)])
    memory.ingest(
        [note("/work/quay/adr/032-keys.md", "As 030-root-user.md says, the root user has no keys.")]
    )
    ids = {one.uri: one.id for one in memory.catalog.memories.each()}
    for path in ("030-root-user.md", "adr/030-root-user.md", uris[0]):
        assert stored(memory, path) == [ids[uris[0]]]
    assert stored(memory, "root-user.md", "r/030-root-user.md", "quay/031-images.md", "_root-user.md") == []
    assert stored(memory, "100%_sure.md") == [ids[uris[2]]]
    assert stored(memory, "100x_sure.md") == []
    answer = memory.query("what does 030-root-user.md say about it?")
    assert answer.matches[0].memory.uri == uris[0]
    assert answer.matches[0].terms["files"] == 1.0


def test_a_name_that_several_files_have_finds_none_of_them_without_a_folder(memory):
    memory.ingest([note(f"/work/{project}/CLAUDE.md", "Run make.", project) for project in ("quay", "kiln")])
    ids = {one.uri: one.id for one in memory.catalog.memories.each()}
    assert stored(memory, "CLAUDE.md") == []
    assert stored(memory, "quay/CLAUDE.md") == [ids["/work/quay/CLAUDE.md"]]
    assert stored(memory, "CLAUDE.md", projects=["kiln"]) == [ids["/work/kiln/CLAUDE.md"]]


@pytest.fixture
def filled(memory):
    memory.ingest(
        [
            session("once", "cmd/session.go", "README.md", days=1),
            session("often", "cmd/session.go", "cmd/session.go", "list/view.go", days=9),
            session("former", "./cmd/session.go", days=5),
            session("other", "cmd/session.go", project="kiln"),
            session("nested", "docs/README.md"),
            session("reader"),
        ]
    )
    return memory


def test_sessions_that_edited_a_file_come_by_their_edits_and_then_the_latest_first(filled):
    assert asked(filled, "cmd/session.go", projects=["user"]) == ["often", "once", "former"]
    assert asked(filled, "cmd/session.go", projects=["user"], limit=1) == ["often"]


def test_a_question_keeps_to_its_projects(filled):
    assert asked(filled, "cmd/session.go", projects=["kiln"]) == ["other"]
    assert set(asked(filled, "cmd/session.go")) == {"often", "once", "former", "other"}
    assert asked(filled, "cmd/session.go", projects=[]) == []


@pytest.mark.parametrize(
    "path", ["session.go", "./cmd/session.go", "/home/ana/app/cmd/session.go", "cmd\\session.go"]
)
def test_the_end_of_a_path_and_a_longer_path_mean_the_same_file(filled, path):
    assert asked(filled, path, projects=["kiln"]) == ["other"]


@pytest.mark.parametrize("path", ["ession.go", "md/session.go", "session", "cmd", "src/session.go", ""])
def test_a_part_of_a_name_means_no_file(filled, path):
    assert asked(filled, path) == []


def test_a_path_that_is_there_as_it_is_means_no_other_that_ends_so(filled):
    assert asked(filled, "README.md") == ["once"]
    assert asked(filled, "docs/README.md") == ["nested"]


def test_a_bare_name_of_several_files_means_none_of_them(filled):
    filled.ingest([session("far", "web/view.go")])
    assert asked(filled, "view.go") == []
    assert asked(filled, "list/view.go") == ["often"]


def test_edits_of_several_files_are_counted_together(filled):
    assert asked(filled, "README.md", "cmd/session.go", projects=["user"]) == ["once", "often", "former"]


def test_a_memory_that_changes_or_goes_takes_its_edits_along(filled):
    filled.ingest([session("once", "README.md", days=1), session("nested")])
    assert asked(filled, "cmd/session.go", projects=["user"]) == ["often", "former"]
    assert asked(filled, "docs/README.md") == []
    gone = next(one.id for one in filled.catalog.memories.each() if one.uri == "often")
    filled.catalog.memories.remove([gone])
    assert asked(filled, "cmd/session.go", projects=["user"]) == ["former"]


def test_the_files_of_a_note_are_read_from_its_frontmatter(memory, notes):
    (notes / "log.md").write_text(
        "---\nfiles:\n  - src/pool.py\n  - src/lock.py\n---\n# Log\n\n"
        "The error came from a stale lock. Root cause: the fix of March. We resolved it by a restart.\n"
    )
    memory.seed()
    found = edits_of_files(memory.catalog, ["src/lock.py"], projects=None, limit=9)
    assert len(found) == 1


@given(path=st.text(max_size=40))
def test_a_plain_path_is_plain_already(path):
    assert plain_path(plain_path(path)) == plain_path(path)


def test_the_session_that_made_a_commit_is_found_by_any_beginning_of_its_hash(memory):
    drafts = [session("maker"), session("other")]
    drafts[0] = replace(drafts[0], metadata={"commits": "1f3a9bc, 77aa0012de"})
    memory.ingest(drafts)
    for told in ("1f3a9bc", "1F3A9BC5d0", "77aa0012", "77aa001", "77aa0012de" + "0" * 30):
        found = edits_of_commits(
            memory.catalog, parse(f"who made {told}?", now=NOW).commits, projects=None, limit=9
        )
        assert [hit.rank for hit in found] == [1]
        (match, *_) = memory.query(f"which session made commit {told}").matches
        assert match.memory.uri == "maker"
    for told in ("1f3a9bd", "77aa001f", "1234567", "defaced"):
        assert (
            edits_of_commits(
                memory.catalog, parse(f"who made {told}?", now=NOW).commits, projects=None, limit=9
            )
            == []
        )
