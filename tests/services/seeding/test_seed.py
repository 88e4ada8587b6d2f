"""Seeding: idempotent, resumable, honest about what it could not read."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import State, Tier
from ragmem.errors import NotFoundError, StorageError, StoreBusyError
from ragmem.services.seeding.writer import Writer
from ragmem.storage.sql.sqlite import SQLiteDatabase

Opener = Callable[..., Ragmem]


def titles(memory: Ragmem) -> dict[str, str]:
    return {found.title: found.text for found in memory.catalog.memories.each()}


def test_each_note_gets_the_tier_of_its_signal(memory):
    (tally,) = memory.seed().tallies
    assert (tally.found, tally.new, tally.ingest + tally.summarize, tally.discard) == (4, 4, 3, 1)


def test_a_discarded_note_is_stored_and_has_no_vectors(memory):
    report = memory.seed()
    assert [d.tier for d in report.decisions if d.uri.endswith("chatter.md")] == [Tier.DISCARD]
    (cold,) = [found for found in memory.catalog.memories.each() if found.state is State.BUFFERED]
    assert cold.text.startswith("Good morning!")
    assert cold.id not in memory.store.memory_ids()
    assert memory.catalog.memories.ids(states=[State.INDEXED]) == memory.store.memory_ids()


def test_the_classic_rule_stores_nothing_of_what_it_discards(open_memory, tmp_path):
    sources = '[sources.notes]\nglob = "~/notes/**/*.md"\nkind = "auto"\nsignal = "classic"\n'
    (tmp_path / "sources.toml").write_text(sources)
    memory = open_memory()
    (tally,) = memory.seed().tallies
    assert (tally.found, tally.new, tally.discard) == (4, 3, 1)
    assert set(titles(memory)) == {"Database", "Stale lock", "Backlog"}
    (found,) = [one for one in memory.catalog.memories.each() if one.tier is Tier.SUMMARIZE]
    assert "because the harbour office" in found.summary
    assert "walk along the quay" not in found.indexed_text
    assert memory.query("harbour office closes early").matches[0].memory.title == "Backlog"


def test_what_another_seed_stores_meanwhile_is_no_change_of_this_one(open_memory: Opener, monkeypatch):
    others, flush = [open_memory()], Writer.flush

    def late(writer: Writer) -> None:
        if others:
            others.pop().seed()
        flush(writer)

    monkeypatch.setattr(Writer, "flush", late)
    report = open_memory().seed()
    (tally,) = report.tallies
    assert (tally.found, tally.new, tally.changed, tally.unchanged) == (4, 0, 0, 4)
    assert (report.characters, report.would_change) == (0, False)


def test_what_waits_for_its_vectors_has_not_changed(open_memory: Opener):
    open_memory().seed(wait=False)
    report = open_memory().seed(explain=True)
    assert (report.tallies[0].changed, report.tallies[0].unchanged) == (0, 4)
    assert not open_memory().catalog.memories.pending_ids()


def test_a_second_run_changes_nothing(open_memory: Opener):
    open_memory().seed()
    again = open_memory()
    before = list(again.catalog.memories.each())
    report = again.seed()
    assert (report.tallies[0].unchanged, report.would_change) == (4, False)
    assert list(again.catalog.memories.each()) == before
    assert [entry["operation"] for entry in again.catalog.log.entries()] == ["seed"]


def test_a_touched_file_with_the_same_text_is_unchanged_and_redated(memory, notes):
    memory.seed()
    moment = datetime(2020, 5, 17, 12, tzinfo=UTC)
    os.utime(notes / "bug.md", (moment.timestamp(), moment.timestamp()))
    report = memory.seed()
    assert (report.tallies[0].unchanged, report.would_change) == (4, False)
    (found,) = [m for m in memory.catalog.memories.each() if m.title == "Stale lock"]
    assert found.event_time == moment


def test_the_memories_of_files_that_are_gone_are_told_once(open_memory: Opener, notes):
    assert open_memory().seed().lost == 0
    (notes / "bug.md").unlink()
    (notes / "thin.md").rename(notes / "plans.md")
    assert [open_memory().seed(dry_run=dry).lost for dry in (True, False, False)] == [2, 2, 0]
    (notes / "plans.md").rename(notes / "thin.md")
    assert [open_memory().seed().lost for _ in range(2)] == [1, 0]


def test_a_changed_file_keeps_its_id_and_loses_its_old_text(memory, notes):
    memory.seed()
    old = {m.title: m.id for m in memory.catalog.memories.each()}
    (notes / "decision.md").write_text(
        "# Database\n\nWe decided on PostgreSQL because two writers need it; the migration is done.\n"
    )
    report = memory.seed()
    assert (report.tallies[0].changed, report.tallies[0].unchanged) == (1, 3)
    assert {m.title: m.id for m in memory.catalog.memories.each()} == old
    assert memory.query("PostgreSQL").matches[0].memory.title == "Database"
    assert all("SQLite" not in match.chunk.text for match in memory.query("SQLite").matches)


def test_a_note_that_loses_its_signal_leaves_the_store(memory, notes):
    memory.seed()
    (notes / "bug.md").write_text("Good evening, and thank you very much!\n")
    memory.seed()
    assert len(titles(memory)) == 4
    assert memory.catalog.memories.ids(states=[State.INDEXED]) == memory.store.memory_ids()
    assert len(memory.store.memory_ids()) == 2


def test_a_dry_run_writes_nothing_at_all(memory, tmp_path):
    report = memory.seed(dry_run=True, explain=True)
    assert (report.would_change, len(report.decisions)) == (True, 4)
    assert not (tmp_path / "ragmem").exists()


def test_a_dry_run_explains_unchanged_notes_too(memory):
    memory.seed()
    report = memory.seed(dry_run=True, explain=True)
    assert not report.would_change
    assert all(decision.reason for decision in report.decisions)
    assert len(report.decisions) == 4


def test_files_that_cannot_be_read_are_named_and_the_rest_is_stored(memory, notes):
    (notes / "nul.md").write_bytes(b"a\0b because error fix")
    (notes / "latin.md").write_bytes("caf\xe9 because error fix".encode("latin-1"))
    (notes / "empty.md").write_bytes(b"")
    (notes / "loop.md").symlink_to(notes / "loop.md")
    report = memory.seed()
    assert report.failed == 4
    named = " ".join(f"{problem.place} {problem.reason}" for problem in report.problems)
    assert all(name in named for name in ("nul.md", "latin.md", "empty.md", "loop.md"))
    assert len(titles(memory)) == 4


def test_a_file_above_the_limit_is_named_and_not_read(open_memory: Opener, notes):
    (notes / "large.md").write_text("because error fix " * 4000)
    memory = open_memory(RAGMEM_SEED_MAX_FILE_MB="0.01")
    report = memory.seed()
    (problem,) = report.problems
    assert "large.md" in problem.place
    assert "limit" in problem.reason


def test_an_unreadable_file_is_tried_again_on_the_next_run(memory, notes):
    (notes / "late.md").write_bytes(b"\xff\xfe broken")
    memory.seed()
    (notes / "late.md").write_text(f"# Late\n\nIt was fixed because of this: {DECISION_AGAIN}")
    assert memory.seed().tallies[0].new == 1


DECISION_AGAIN = "the config of the lock was the root cause.\n"


def test_what_a_killed_run_left_pending_is_finished_by_the_next(open_memory: Opener):
    first = open_memory()
    first.seed()
    ids = first.catalog.memories.ids(states=[State.INDEXED])
    # What a kill between acknowledgement and index leaves behind.
    first.catalog.memories.mark(ids, State.PENDING)
    first.store.delete(sorted(ids))
    first.close()
    again = open_memory()
    report = again.seed()
    assert report.resumed == 3
    assert again.store.memory_ids() == ids
    assert again.catalog.memories.ids(states=[State.INDEXED]) == ids


def test_rebuild_makes_vectors_and_graph_anew_under_the_same_ids(open_memory: Opener):
    memory = open_memory(RAGMEM_STORE_BACKEND="lightrag")
    memory.seed()
    ids = memory.catalog.memories.ids(states=[State.INDEXED])
    before = dict(memory.store.statistics())
    assert before["entities"] > 0
    with memory.catalog.database.write() as connection:
        # Damage that a plain seed cannot see, because the texts have not changed.
        connection.execute("UPDATE store_chunk_vectors SET vector = zeroblob(384)")
        connection.execute("DELETE FROM store_nodes")
    memory.seed(rebuild=True)
    assert memory.store.memory_ids() == memory.catalog.memories.ids(states=[State.INDEXED]) == ids
    with memory.catalog.database.read() as connection:
        (dead,) = connection.execute(
            "SELECT count(*) FROM store_vectors WHERE vector = zeroblob(384)"
        ).fetchone()
    assert dead == 0
    assert dict(memory.store.statistics()) == before
    assert memory.query("stale lock").rung == "text and vectors"


def test_progress_ends_where_it_said_it_would(memory):
    steps: list[int] = []
    totals: list[int] = []

    class Counting:
        def begin(self, label: str, total: int, *, unit: str = "") -> None:
            totals.append(total)

        def advance(self, done: int = 1, *, told: str = "") -> None:
            steps.append(done)

    # Each file is read, and each memory with a signal gets vectors once.
    for dry_run, expected in ((True, [4]), (False, [4, 3]), (False, [4])):
        steps.clear()
        totals.clear()
        memory.seed(dry_run=dry_run, progress=Counting())
        assert (totals, sum(steps)) == (expected, sum(expected))


def test_an_unknown_source_is_named_with_those_that_exist(memory):
    with pytest.raises(NotFoundError, match=r'no source "nots"') as caught:
        memory.seed(sources=["nots"])
    assert "notes" in caught.value.hint


def test_a_glob_that_matches_nothing_gives_an_empty_source(memory, notes):
    for path in notes.iterdir():
        path.unlink()
    (tally,) = memory.seed().tallies
    assert (tally.files, tally.found, tally.failed) == (0, 0, 0)


def test_changed_rules_read_every_file_again(open_memory: Opener):
    open_memory().seed()
    report = open_memory(RAGMEM_CHUNKING_MAX_CHARS="400").seed()
    assert len(report.decisions) == 4


def test_the_example_home_fills_all_eight_sources(tmp_path: Path):
    home = Path(__file__).parents[3] / "examples" / "home"
    environ = {
        "RAGMEM_HOME": str(tmp_path / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }
    with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
        report = memory.seed()
    assert {tally.source for tally in report.tallies if tally.ingest + tally.summarize} == {
        "memory", "prds", "reflections", "sessions", "paidocs", "skills", "commands", "claudemds",
    }  # fmt: skip
    assert report.failed == 0


def test_a_quiet_seed_prints_nothing_but_what_failed(inside, notes):
    sources = notes.parent / "quiet.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')
    for arguments in (["--check"], ["--dry-run"], []):
        done = inside("seed", *arguments, "-q", "--sources", str(sources))
        assert (done.stdout, done.stderr) == ("", "")
    (notes / "broken.md").write_bytes(b"a\0b")
    done = inside("seed", "-q", "--sources", str(sources))
    assert done.stdout == ""
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["failed"]


def test_many_warnings_do_not_hide_what_failed(inside, notes):
    for number in range(50):
        (notes / f"a{number}.md").write_text(f"---\na: b: {number}\n---\nWe decided on {number} buoys.\n")
    (notes / "z.md").write_text("")
    sources = notes.parent / "many.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')
    done = inside("seed", "--sources", str(sources))
    assert done.returncode == 3
    told = [line for line in done.stderr.splitlines() if line.startswith(("failed: ", "warning: "))]
    assert told[0].startswith(f'failed: cannot read "{notes}/z.md"')
    assert told[1].startswith("warning: ")


def test_a_dry_run_shows_the_path_and_one_reason_and_explains_on_demand(inside, notes):
    sources = notes.parent / "shown.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')
    for arguments in (("seed", "--sources", str(sources)), ("ingest", str(notes))):
        shown = inside(*arguments, "--dry-run").stdout
        explained = inside(*arguments, "--dry-run", "--explain").stdout
        row, whole = (
            next(line for line in text.splitlines() if "decision.md" in line) for text in (shown, explained)
        )
        assert str(notes / "decision.md") in row
        assert "; " not in row
        assert whole.startswith(row.partition("  /")[0].rstrip())
        assert 'sentence for it: "' in explained
        assert inside(*arguments, "--explain").returncode == 2


def write_notes(folder: Path, count: int) -> None:
    for number in range(count):
        words = " ".join(f"Quay{number * part} berth-{part}" for part in range(1, 20))
        (folder / f"note-{number}.md").write_text(
            f"# Note {number}\n\nWe decided on {words}, because of #{number}.\n"
        )


def test_the_file_of_a_home_that_was_made_for_the_larger_part_is_rewritten(memory, notes, monkeypatch):
    rewritten = []
    vacuum = SQLiteDatabase.vacuum
    monkeypatch.setattr(
        SQLiteDatabase, "vacuum", lambda *one, **how: rewritten.append(vacuum(*one, **how)) or rewritten[-1]
    )
    memory.seed()
    assert rewritten == []
    write_notes(notes, 50)
    assert memory.seed().indexed == 50
    assert rewritten == [True]
    with memory.catalog.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM lexicon_segments").fetchone() == (1,)
    (notes / "one-more.md").write_text("# One more\n\nWe decided on a second crane, because of the tide.\n")
    assert memory.seed().indexed == 1
    assert rewritten == [True]
    assert memory.query("second crane tide").matches


def test_a_seed_beside_a_reader_ends_well(memory, notes):
    write_notes(notes, 50)
    path = memory.settings.places.data / "memory.db"
    memory.catalog.prepare()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM memories").fetchone() == (0,)
        assert memory.seed().indexed > 50


@pytest.mark.parametrize(
    "error", [StorageError("the disk is full"), StoreBusyError("another process writes")]
)
def test_a_file_that_cannot_be_rewritten_stays(memory, notes, monkeypatch, error):
    def fail(*_: object, **__: object) -> bool:
        raise error

    write_notes(notes, 50)
    monkeypatch.setattr(SQLiteDatabase, "vacuum", fail)
    assert memory.seed().indexed > 50
    assert memory.query("berth-7").matches
