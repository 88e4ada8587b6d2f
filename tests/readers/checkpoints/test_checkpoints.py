"""Sessions that Entire keeps beside commits are found in each of its layouts, whatever else is there."""

from pathlib import Path

import pytest
from entire_repository import V1, EntireRepository, copy_of

from ragmem.readers.checkpoints import git_objects, sessions
from ragmem.readers.checkpoints.links import links_of
from ragmem.readers.checkpoints.sessions import SessionCopy, begins_with, read_checkpoints, transcript_of

ONE, TWO = "a1b2c3d4e5f6", "0f1e2d3c4b5a"
ULID = "01KVBJCWYA4YW6J5M9GP655HZN"
TEXT = b'{"type":"user"}\n{"type":"assistant"}\n'


@pytest.fixture
def repository(tmp_path: Path) -> EntireRepository:
    return EntireRepository(tmp_path / "tide")


def copies(repository: EntireRepository) -> list[SessionCopy]:
    found = read_checkpoints(repository.folder)
    return found.copies if found else []


def test_a_repository_without_checkpoints_has_none_and_runs_no_git(repository, monkeypatch):
    monkeypatch.setattr(sessions, "output_of", lambda *_, **__: pytest.fail("git was run"))
    assert read_checkpoints(repository.folder) is None
    assert read_checkpoints(repository.folder / "gone") is None


@pytest.mark.parametrize(
    "ref",
    [
        V1,
        "refs/remotes/origin/entire/checkpoints/v1",
        "refs/remotes/team/fork/entire/checkpoints/v1",
        "refs/heads/entire/sessions",
        "refs/entire/checkpoints/v1.1",
        "refs/entire/remotes/origin/checkpoints/v1.1",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_branch_of_any_version_is_read(repository, ref, packed):
    repository.add(ONE, copy_of(TEXT, "s-1"), copy_of(TEXT, "s-2"), ref=ref)
    if packed:
        repository.git("pack-refs", "--all", "--prune")
        repository.git("gc", "-q")
    (first, second) = copies(repository)
    assert (first.session, second.session) == ("s-1", "s-2")
    assert (first.place, first.assistant, first.branch) == (f"{ONE}/0", "Claude Code", "main")
    assert first.created is not None
    assert first.created.isoformat() == "2026-05-30T01:00:00+00:00"
    assert transcript_of(repository.folder, first) == TEXT


def test_a_clone_has_the_sessions_of_its_origin(repository, tmp_path):
    repository.add(ONE, copy_of(TEXT, "s-1"))
    repository.git("clone", "-q", str(repository.folder), str(tmp_path / "clone"))
    found = read_checkpoints(tmp_path / "clone")
    assert found is not None
    assert [copy.session for copy in found.copies] == ["s-1"]


def test_a_repository_with_long_hashes_is_read(tmp_path):
    repository = EntireRepository(tmp_path / "long", hash_name="sha256")
    repository.add(ONE, copy_of(TEXT, "s-1"))
    (copy,) = copies(repository)
    assert begins_with(transcript_of(repository.folder, copy), copy)


def test_a_checkpoint_with_a_ref_of_its_own_is_read(repository):
    tree = {"metadata.json": b"{}", "0": copy_of(TEXT, "s-1"), "tasks": {"t1": {"agent-a.jsonl": TEXT}}}
    repository.point(f"refs/entire/checkpoints/ZN/{ULID}", tree, "Checkpoint", author="Bo Li")
    repository.point(f"refs/entire/checkpoints/f6/{ONE}", {"3": copy_of(TEXT, "s-2")}, "Checkpoint")
    found = read_checkpoints(repository.folder)
    assert found is not None
    assert sorted((copy.session, copy.place) for copy in found.copies) == [
        ("s-1", f"{ULID}/0"),
        ("s-2", f"{ONE}/3"),
    ]
    assert links_of(found).authors == {ULID: "Bo Li", ONE: "Ana Ruiz"}


def test_version_2_has_its_transcripts_in_another_ref(repository):
    told = copy_of(TEXT, "s-1")
    main = {"metadata.json": told["metadata.json"], "transcript.jsonl": b"{}\n"}
    for ref, files in (("main", main), ("full/0000000000001", {"raw_transcript": TEXT})):
        tree = {ONE[:2]: {ONE[2:]: {"0": files}}}
        repository.point(f"refs/entire/checkpoints/v2/{ref}", tree, "Checkpoint")
    (copy,) = copies(repository)
    assert (copy.session, transcript_of(repository.folder, copy)) == ("s-1", TEXT)


def test_the_oldest_version_has_no_folders_and_dates_before_sessions(repository):
    session = "3f1c2b7a-0000-4000-8000-000000000001"
    old = {"full.log": TEXT, "metadata.json": copy_of(TEXT, f"2025-12-02-{session}")["metadata.json"]}
    repository.add(ONE, old, folders=False)
    (copy,) = copies(repository)
    assert (copy.session, copy.place) == (session, ONE)


def test_a_transcript_in_parts_is_put_together(repository):
    tree = copy_of(b'{"n":1}\n', "s-1") | {"full.jsonl.001": b'{"n":2}', "full.jsonl.002": b'{"n":3}\n'}
    # A part after a missing one would not fit.
    tree["full.jsonl.004"] = b'{"n":5}\n'
    repository.add(ONE, tree)
    (copy,) = copies(repository)
    assert transcript_of(repository.folder, copy) == b'{"n":1}\n{"n":2}\n{"n":3}\n'


def test_commits_and_authors_come_from_trailers_also_of_squashed_commits(repository):
    repository.add(ONE, copy_of(TEXT, "s-1"), author="Ana Ruiz")
    repository.add(TWO, copy_of(TEXT, "s-2"), author="Bo Li")
    single = repository.code(f"Bound the queue\n\nEntire-Checkpoint: {ONE}", author="Sam Reed")
    both = repository.code(
        f"Squash (#7)\n\n* Bound\n\nEntire-Checkpoint: {ONE}\n\n* Log\n\nEntire-Checkpoint: {TWO}\n\nmore"
    )
    repository.code(f"Talk of Entire-Checkpoint: {ONE} in a sentence")
    found = read_checkpoints(repository.folder)
    assert found is not None
    links = links_of(found)
    assert links.commits == {ONE: [single, both], TWO: [both]}
    assert links.authors == {ONE: "Ana Ruiz", TWO: "Bo Li"}


def test_a_later_copy_that_goes_on_is_told_by_the_hash_of_the_earlier(repository):
    repository.add(ONE, copy_of(TEXT, "s-1"))
    (copy,) = copies(repository)
    assert begins_with(TEXT + b"more\n", copy)
    assert not begins_with(b" " + TEXT, copy)
    assert not begins_with(TEXT[:-1], copy)


def test_hostile_trees_are_passed_over_and_counted(repository, monkeypatch):
    outside = repository.folder.parent / "secret.txt"
    outside.write_text("do not read")
    link = ("120000", repository.blob(str(outside).encode()))
    good = copy_of(TEXT, "s-good")
    repository.tree = {
        "README.md": b"# hi\n",
        "a1": {
            "b2c3d4e5f6": {
                "metadata.json": b"[",
                "0": good,
                "1": {"metadata.json": b"{broken", "full.jsonl": TEXT},
                "2": {"metadata.json": b'["a list"]', "full.jsonl": TEXT},
                "3": {"metadata.json": b'{"session_id": 7}', "full.jsonl": TEXT},
                "4": copy_of(TEXT, "../../etc/passwd"),
                "5": {**copy_of(TEXT, "s-link"), "full.jsonl": link},
                "6": {**copy_of(TEXT, "s-sub"), "full.jsonl": ("160000", "1" * 40)},
                "7": {**copy_of(TEXT, "s-gone"), "full.jsonl": ("100644", "2" * 40)},
                "8": {"metadata.json": b" " * 400, "full.jsonl": TEXT},
                "9": {**copy_of(TEXT, "s-folder"), "full.jsonl": {"x": b"y"}},
                "10": {**copy_of(TEXT, "s-note"), "metadata.json": link},
                "999999": copy_of(TEXT, "s-number"),
                "name\nwith line": copy_of(TEXT, "s-name"),
            },
            "B2C3D4E5F6": {"0": copy_of(TEXT, "s-upper")},
            "b2c3": {"0": copy_of(TEXT, "s-short")},
        },
        "zz9": {"b2c3d4e5f6": {"0": copy_of(TEXT, "s-shard")}},
    }
    repository.point(V1, repository.tree, "Checkpoint")
    monkeypatch.setattr(sessions, "MAX_METADATA", 300)
    found = read_checkpoints(repository.folder)
    assert found is not None
    assert [copy.session for copy in found.copies] == ["s-good"]
    assert found.problems == {
        "object that is too large": 1,
        "transcript that is not in this clone": 1,
        "transcript without the metadata of its session": 6,
    }


def test_a_broken_tree_is_passed_over_and_counted(repository):
    raw = b"40000 a1\0" + b"k" * 20 + b"40000 b2\0" + b"k" * 19
    tree = repository.git("hash-object", "-w", "--stdin", "-t", "tree", "--literally", given=raw)
    repository.git("update-ref", V1, repository.git("commit-tree", tree, "-m", "Checkpoint"))
    found = read_checkpoints(repository.folder)
    assert found is not None
    assert (found.copies, found.problems) == ([], {"broken tree": 1})


def test_a_tree_of_endless_folders_is_read_only_so_deep(repository):
    inner = repository.write({str(number): b"x" for number in range(40)})
    for _ in range(30):
        inner = repository.write({f"{number:02x}": ("040000", inner) for number in range(40)})
    commit = repository.git("commit-tree", inner, "-m", "Checkpoint: bomb")
    repository.git("update-ref", V1, commit)
    assert read_checkpoints(repository.folder) is None


def test_sizes_have_limits(repository, monkeypatch):
    repository.add(ONE, copy_of(TEXT, "s-1"), copy_of(TEXT * 2, "s-2"))
    monkeypatch.setattr(sessions, "MAX_TRANSCRIPT", len(TEXT))
    assert [copy.session for copy in copies(repository)] == ["s-1"]
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 0)
    assert copies(repository) == []
    monkeypatch.setattr(git_objects, "MAX_TREE", 0)
    found = read_checkpoints(repository.folder)
    assert found is not None
    assert found.problems == {"object that is too large": 1}


def test_refs_of_other_names_are_not_read(repository):
    tree = {"0": copy_of(TEXT, "s-1")}
    for name in (
        f"refs/entire/checkpoints/aa/{ONE}",
        f"refs/entire/trails/f6/{ONE}",
        "refs/entire/policies/checkpoint",
        "refs/heads/entire/2b4c177-e3b0c4",
        "refs/heads/feature/entire/checkpoints/v1/x",
    ):
        repository.point(name, tree, "Checkpoint")
    repository.git("tag", "-f", "entire", "HEAD")
    assert copies(repository) == []
    # A ref may point at something else than a commit.
    repository.git("update-ref", f"refs/entire/checkpoints/f6/{ONE}", repository.blob(b"x"))
    assert copies(repository) == []
