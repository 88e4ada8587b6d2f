"""gc: a plan that can be read, refused, applied and undone."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope, State
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.doctor.invariants import violations

DAY = 86_400_000_000
TEXT = "Readers waited because of a lock, an error in the config. The fix was number "


def note(number: int, *, text: str = "", project: str = "user") -> Draft:
    return Draft("ingest", f"/n/{number}", text or f"{TEXT}{number}", f"note {number}", scope=Scope(project))


def test_an_orderly_store_needs_nothing(memory):
    memory.ingest([note(1), note(2)])
    assert memory.gc.plan().empty


def test_a_declaration_is_shown_without_the_words_of_both_texts(memory, inside, tmp_path):
    older = replace(note(1, text="Timetables come from tides.csv in the harbour folder."), title="files")
    newer = replace(note(2, text="Timetables come from tides.db."), title="database")
    first, _ = memory.ingest([older, replace(newer, metadata={"supersedes": "/n/1"})])
    home = str(tmp_path / "ragmem")
    shown = inside("gc", "--yes", RAGMEM_HOME=home).stdout
    (cluster,) = [part for part in shown.split("\n\n") if "supersede/declared" in part and "kept" in part]
    assert [line.split()[0] for line in cluster.splitlines()[1:]] == ["kept", "hidden"]
    assert memory.catalog.supersessions.in_force([first.id])
    undone = inside("gc", "--undo", RAGMEM_HOME=home).stdout
    assert undone.endswith(", and reverted 1 other decision\n")
    assert not memory.catalog.supersessions.in_force([first.id])


def test_the_plan_changes_nothing(memory):
    memory.ingest([note(1, text=f"{TEXT}x"), note(2, text=f"{TEXT}x")])
    assert [item.rule for item in memory.gc.plan().active_items()] == ["duplicate"]
    assert len(memory.catalog.memories.ids()) == 2


def test_of_exact_duplicates_the_oldest_stays(memory):
    (first,) = memory.ingest([note(1, text=f"{TEXT}x")])
    memory.ingest([note(2, text=f"{TEXT}x"), note(3, text=f"{TEXT}   x")])
    outcome = memory.gc.apply(memory.gc.plan())
    assert outcome.removed == 2
    assert memory.catalog.memories.ids() == memory.store.memory_ids() == {first.id}


def test_a_protected_duplicate_stays(memory):
    text = "Decision: we decided to use WAL mode, because readers must not wait for writers."
    memory.ingest([note(1, text=text), note(2, text=text)])
    assert [item.action for item in memory.gc.plan().items] == ["keep", "keep"]
    assert "protected" in {item.rule for item in memory.gc.plan().items}
    assert memory.gc.plan().empty


@pytest.mark.parametrize("text", ["Yes.", "TaskUpdate: 5 | completed"])
def test_a_few_words_of_a_session_depend_on_their_place_and_are_no_duplicate(memory, text):
    said = [replace(note(number, text=text), source="transcripts") for number in (1, 2)]
    memory.ingest(said)
    assert memory.gc.plan().empty


def test_a_few_words_are_a_duplicate_only_below_the_same_title(memory):
    first, *_ = memory.ingest([note(number, text="To do.") for number in (1, 2)])
    assert memory.gc.plan().empty
    again = replace(note(3, text="To do."), title="note 1")
    memory.ingest([again])
    (item,) = memory.gc.plan().active_items()
    assert (item.rule, item.others) == ("duplicate", (first.id,))


def test_the_same_text_in_two_projects_is_no_duplicate(memory):
    memory.ingest([note(1, text=f"{TEXT}x", project="one"), note(1, text=f"{TEXT}x", project="two")])
    assert memory.gc.plan().empty


def test_undo_brings_back_the_same_memories(memory):
    memory.ingest([note(1, text=f"{TEXT}x"), note(2, text=f"{TEXT}x")])
    before = {m.id: m for m in memory.catalog.memories.each()}
    memory.gc.apply(memory.gc.plan())
    undone = memory.gc.undo()
    after = {m.id: m for m in memory.catalog.memories.each()}
    assert undone.restored == 1
    assert after == before
    assert memory.store.memory_ids() == set(before)


def test_undo_without_a_run_says_so(memory):
    memory.ingest([note(1)])
    with pytest.raises(NotFoundError, match="no gc run"):
        memory.gc.undo()


def test_a_run_that_does_not_exist_is_named_with_those_that_do(memory):
    memory.ingest([note(1, text=f"{TEXT}x"), note(2, text=f"{TEXT}x")])
    outcome = memory.gc.apply(memory.gc.plan())
    with pytest.raises(NotFoundError, match='"nope"') as caught:
        memory.gc.undo("nope")
    assert outcome.run in caught.value.hint


def test_a_vanished_file_is_only_missing_when_asked(memory, notes: Path):
    memory.seed()
    (notes / "bug.md").unlink()
    assert memory.gc.plan().empty
    assert [item.rule for item in memory.gc.plan(missing=True).active_items()] == ["missing"]


def test_a_protected_memory_whose_file_vanished_is_named(memory, notes: Path, inside, tmp_path: Path):
    memory.seed()
    (notes / "decision.md").unlink()
    assert memory.gc.plan(missing=True).empty
    config = tmp_path / "ragmem" / "config"
    config.mkdir(exist_ok=True)
    (config / "sources.toml").write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')
    shown = inside("gc", "--missing", "--dry-run", RAGMEM_HOME=str(tmp_path / "ragmem")).stdout
    assert "Database  its source no longer has it, but it is protected" in shown


def test_a_file_that_comes_back_is_seeded_again(memory, notes: Path):
    memory.seed()
    ids = memory.catalog.memories.ids()
    content = (notes / "bug.md").read_text()
    (notes / "bug.md").unlink()
    memory.gc.apply(memory.gc.plan(missing=True))
    assert len(memory.catalog.memories.ids()) == len(ids) - 1
    (notes / "bug.md").write_text(content)
    assert memory.seed().tallies[0].new == 1
    assert memory.catalog.memories.ids() == ids


def test_of_duplicates_the_one_whose_file_is_still_there_stays(memory, notes: Path):
    memory.seed()
    (notes / "bug.md").rename(notes / "lock.md")
    memory.seed()
    memory.gc.apply(memory.gc.plan())
    assert not memory.gc.plan(missing=True).active_items()
    assert str(notes / "lock.md") in {one.uri for one in memory.catalog.memories.each()}


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("fate", ["deleted", "edited"])
def test_a_duplicate_comes_back_once_no_memory_has_its_text(memory, notes: Path, fate: str, copies: int):
    memory.seed()
    text = (notes / "bug.md").read_text()
    for number in range(copies):
        (notes / f"copy-{number}.md").write_text(text)
    memory.seed()
    assert memory.gc.apply(memory.gc.plan()).removed == copies
    assert memory.seed(dry_run=True).tallies[0].new == 0
    if fate == "deleted":
        (notes / "bug.md").unlink()
        memory.gc.apply(memory.gc.plan(missing=True))
    else:
        (notes / "bug.md").write_text(f"# Another\n\n{TEXT}77\n")
        memory.seed()
    assert memory.seed(dry_run=True).tallies[0].new == copies
    memory.seed()
    kept = {one.uri for one in memory.catalog.memories.each()}
    assert {str(notes / f"copy-{number}.md") for number in range(copies)} < kept
    assert not memory.seed(dry_run=True).would_change


def test_a_duplicate_of_a_forgotten_memory_stays_forgotten(memory, notes: Path):
    memory.seed()
    (notes / "copy.md").write_text((notes / "bug.md").read_text())
    memory.seed()
    memory.gc.apply(memory.gc.plan())
    (bug,) = [one.id for one in memory.catalog.memories.each() if one.uri == str(notes / "bug.md")]
    memory.forget([bug])
    assert not memory.seed().would_change


def test_an_entry_that_left_its_file_is_missing_and_its_neighbours_are_not(tmp_path, notes: Path):
    lines = [
        f'{{"timestamp": "2026-05-0{n}", "task_description": "{task}: fix the error of the config",'
        f' "reflection_q1": "because of a pattern"}}\n'
        for n, task in enumerate(("one lock", "task 2", "a third and longer matter of the pool"), 1)
    ]
    (notes / "log#1.jsonl").write_text("".join(lines))
    sources = tmp_path / "sources.toml"
    sources.write_text('[sources.log]\nglob = "~/notes/*.jsonl"\nreader = "reflections"\n')
    environ = {
        "RAGMEM_HOME": str(tmp_path / "r"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }
    home = tmp_path / "home"
    with Ragmem.open(environ=environ, home=home, cwd=home, sources_file=sources) as memory:
        memory.seed()
        assert memory.gc.plan(missing=True).empty
        (notes / "log#1.jsonl").write_text(lines[0] + lines[2])
        (item,) = memory.gc.plan(missing=True).active_items()
        assert "task 2" in memory.memory(item.id).text


def test_a_markdown_file_with_a_hash_in_its_name_is_not_missing(memory, notes: Path):
    (notes / "c#.md").write_text(f"# C sharp\n\n{TEXT}1\n")
    memory.seed()
    assert memory.gc.plan(missing=True).empty


def test_memories_that_were_handed_in_are_never_missing(memory):
    memory.seed()
    memory.ingest([note(1)])
    assert memory.gc.plan(missing=True).empty


def test_more_than_a_third_is_refused_until_allowed(memory, notes: Path):
    for number in range(12):
        (notes / f"n{number}.md").write_text(f"# n{number}\n\n{TEXT}{number}\n")
    memory.seed()
    for path in notes.iterdir():
        path.unlink()
    before = memory.catalog.memories.ids()
    plan = memory.gc.plan(missing=True)
    with pytest.raises(UsageError, match="would remove") as caught:
        memory.gc.apply(plan)
    assert "gc --dry-run" in caught.value.hint
    assert memory.catalog.memories.ids() == before
    memory.gc.apply(plan, allow_large=True)
    assert all(left.protected for left in memory.catalog.memories.each())
    assert len(memory.catalog.memories.ids()) == 1
    memory.gc.undo()
    assert memory.catalog.memories.ids() == before


def test_what_the_store_has_and_the_catalog_has_not_is_dropped(memory):
    (kept, lost) = memory.ingest([note(1), note(2)])
    memory.catalog.memories.remove([lost.id])
    outcome = memory.gc.apply(memory.gc.plan())
    assert outcome.dropped == 1
    assert memory.store.memory_ids() == {kept.id}


def test_what_the_catalog_has_and_the_store_has_not_is_mended(memory):
    (one, two) = memory.ingest([note(1), note(2)])
    memory.store.delete([two.id])
    outcome = memory.gc.apply(memory.gc.plan())
    assert outcome.mended == 1
    assert memory.store.memory_ids() == {one.id, two.id}
    assert memory.catalog.memories.ids(states=[State.PENDING]) == set()


def test_gc_purges_nothing_by_itself(memory):
    memory.ingest([note(1, text=f"{TEXT}x"), note(2, text=f"{TEXT}x")])
    memory.gc.apply(memory.gc.plan())
    assert memory.gc.plan().expired == 0
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE archive SET archived_at = archived_at - ?", (31 * DAY,))
    plan = memory.gc.plan()
    assert (plan.expired, plan.empty) == (1, True)
    memory.gc.apply(plan)
    assert [run.memories for run in memory.catalog.archive.runs()] == [1]


def test_only_a_purge_deletes_and_only_what_has_lain_for_long(memory):
    memory.ingest([note(1), note(2)])
    memory.forget([item.id for item in memory.catalog.memories.each()])
    assert (memory.gc.purge().memories, memory.catalog.archive.count()) == (0, 2)
    with memory.catalog.database.write() as connection:
        connection.execute(
            "UPDATE archive SET archived_at = archived_at - ? WHERE id = (SELECT min(id) FROM archive)",
            (31 * DAY,),
        )
    assert memory.gc.plan_purge().texts == 1
    assert (memory.gc.purge().memories, memory.catalog.archive.count()) == (1, 1)
    assert violations(memory.catalog, memory.store) == []


def test_no_byte_of_what_was_purged_stays_in_the_files(memory):
    words = "The heronry of Osmotherley flooded because of a broken sluicegate"
    (first, _) = memory.ingest([note(1, text=f"{words} {TEXT}"), note(2)])
    memory.forget([first.id])
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE archive SET archived_at = archived_at - ?", (31 * DAY,))

    def told() -> set[str]:
        files = [path for path in memory.catalog.database.home.rglob("*") if path.is_file()]
        raw = b"".join(path.read_bytes() for path in files).lower()
        return {word for word in ("osmotherley", "sluicegate", "heronry") if word.encode() in raw}

    assert told()
    assert memory.gc.purge().left is False
    assert told() == set()


def test_a_purge_tells_that_a_reader_keeps_what_was_there(memory, monkeypatch):
    monkeypatch.setattr("ragmem.storage.sql.sqlite.VACUUM_PATIENCE", 0.1)
    (first,) = memory.ingest([note(1)])
    memory.forget([first.id])
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE archive SET archived_at = archived_at - ?", (31 * DAY,))
    with closing(sqlite3.connect(memory.catalog.database.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM archive").fetchone()
        purged = memory.gc.purge()
    assert (purged.memories, purged.left) == (1, True)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(0, 10**9))
def test_no_text_is_lost_by_gc_and_undo_restores_all(tmp_path: Path, kinds: list[int], unique: int):
    environ = {
        "RAGMEM_HOME": str(tmp_path / f"h{unique}-{len(kinds)}"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory:
        memory.ingest([note(n, text=f"{TEXT}{kind}") for n, kind in enumerate(kinds)])
        before = {m.id: m for m in memory.catalog.memories.each()}
        memory.gc.apply(memory.gc.plan(), allow_large=True)
        texts = {m.content_hash for m in memory.catalog.memories.each()}
        assert texts | memory.catalog.archive.hashes() == {m.content_hash for m in before.values()}
        if memory.catalog.archive.runs():
            memory.gc.undo()
        assert {m.id: m for m in memory.catalog.memories.each()} == before


def test_what_was_forgotten_on_request_comes_back_by_undo(memory):
    memory.seed()
    (match, *_) = memory.query("stale lock").matches
    run = memory.forget([match.memory.id[:12]])
    assert match.memory.id not in memory.catalog.memories.ids()
    assert match.memory.id not in memory.store.memory_ids()
    undone = memory.gc.undo()
    assert (undone.run, undone.restored) == (run, 1)
    assert memory.store.memory_ids() == memory.catalog.memories.ids(states=[State.INDEXED])
    assert match.memory.id in memory.store.memory_ids()


def test_forgetting_an_unknown_memory_forgets_none(memory):
    memory.seed()
    before = memory.catalog.memories.ids()
    with pytest.raises(NotFoundError, match="no memory has the id"):
        memory.forget([next(iter(before)), "zzzzzzzz"])
    assert memory.catalog.memories.ids() == before


def test_what_another_process_wrote_meanwhile_is_in_the_archive_and_not_its_former_text(
    memory, open_memory, monkeypatch
):
    (asked,) = memory.ingest([note(1)])
    other, delete = open_memory(), memory.store.delete

    def late(ids, **more):
        other.ingest([note(1, text=f"{TEXT}two")])
        delete(ids, **more)

    monkeypatch.setattr(memory.store, "delete", late)
    memory.forget([asked.id])
    memory.gc.undo()

    assert memory.memory(asked.id).text.strip() == f"{TEXT}two"


def test_gc_of_no_memory_says_so_and_makes_none(inside, tmp_path):
    home = tmp_path / "elsewhere"
    for arguments in (["--dry-run"], ["--yes"]):
        refused = inside("gc", *arguments, RAGMEM_HOME=str(home))
        assert (refused.returncode, "there is no memory" in refused.stderr) == (2, True)
    assert not (home / "data" / "memory.db").exists()


def test_the_plan_shows_no_secret(inside):
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    inside(
        "ingest", "-", "--title", f"Mirror {token}", stdin=f"The mirror takes the token {token} since May."
    )
    shown = inside("gc", "--dry-run", "--all").stdout + inside("gc", "--dry-run", "--all", "--json").stdout
    assert shown.count("Mirror") == 2
    assert token not in shown
