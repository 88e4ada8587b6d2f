"""`ragmem forget`: what it takes out, what it leaves, and that nothing of it comes back by itself."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from transcript_sessions import Session

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.doctor.invariants import violations

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
TEXT = "We decided that {0} uses PostgreSQL behind HarborGate because the fix of {0} was a config error."


@pytest.fixture
def home() -> Path:
    return Path(os.environ["RAGMEM_HOME"])


@pytest.fixture
def filled(inside, tmp_path):
    """Store five notes, and return name -> id."""
    folder = tmp_path / "quay"
    folder.mkdir()
    names = ("crane", "lamp", "pump", "rope", "tide")
    for number, name in enumerate(names):
        (folder / f"{name}.md").write_text(f"# {name}\n\n{TEXT.format(name.title())}\n")
        os.utime(folder / f"{name}.md", (1_772_000_000 + number,) * 2)
    return dict(zip(names, inside("ingest", str(folder), "--quiet").stdout.split(), strict=True))


def on_terminal(arguments):
    """Run a command whose output is a terminal, and return what stands there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **FAKE},
    ) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65_536):
                said += part
        os.close(ours)
    assert process.returncode == 0
    return said.decode()


def found(inside):
    shown = json.loads(inside("inspect", "memories", "--json").stdout)
    return {one["title"].strip("# ") for one in shown["memories"]}


def test_a_dry_run_names_what_would_go_and_changes_nothing(inside, filled):
    shown = inside("forget", filled["crane"], "--dry-run")

    assert shown.returncode == 0
    assert filled["crane"] in shown.stdout
    assert "would archive 1 memory, of 5" in shown.stdout
    assert len(found(inside)) == 5


def test_off_a_terminal_nobody_is_asked_and_nothing_is_forgotten(inside, filled):
    refused = inside("forget", filled["crane"])

    assert refused.returncode == 2
    assert "there is no terminal to confirm it" in refused.stderr
    assert "--yes" not in refused.stderr
    assert len(found(inside)) == 5


def test_what_was_forgotten_is_found_no_more_and_comes_back_with_undo(inside, filled):
    before = inside("inspect", "memory", filled["crane"], "--json").stdout
    done = inside("forget", filled["crane"][:6], "--yes", "--json")
    run = json.loads(done.stdout)["run"]

    assert done.returncode == 0
    assert inside("inspect", "memory", filled["crane"]).returncode == 2
    assert filled["crane"] not in inside("query", "Crane", "--ids", "--nearest").stdout

    undone = inside("forget", "--undo", run)
    assert (undone.returncode, undone.stdout) == (0, f"restored 1 memory of run {run}\n")
    assert inside("inspect", "memory", filled["crane"], "--json").stdout == before
    again = inside("forget", "--undo", run)
    assert again.returncode == 2
    assert "undone already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "no memories were named"),
        (("zzzzzzzz",), '"zzzzzzzz"'),
        (("--source", "nope"), '"nope"'),
        (("--project", "nope"), '"nope"'),
        (("--ingest", "nope"), '"nope"'),
        (("--undo", "nope"), '"nope"'),
        (("--undo", "nope", "--purge"), "--undo"),
    ],
)
def test_what_does_not_exist_is_named_and_nothing_is_done(inside, filled, arguments, named):
    known = () if not arguments or arguments[0].startswith("--") else (filled["rope"],)
    refused = inside("forget", *known, *arguments, "--yes")

    assert refused.returncode == 2
    assert named in refused.stderr.splitlines()[0]
    assert len(found(inside)) == 5


def test_filters_narrow_each_other(inside, filled):
    inside("ingest", "-", "--project", "user", "--title", "mine", stdin=TEXT.format("Mine"))
    shown = inside(
        "forget", "--source", "ingest", "--project", "user", filled["crane"], "--dry-run", "--json"
    )
    everything = inside("forget", "--source", "ingest", "--dry-run", "--json")

    narrow, wide = json.loads(shown.stdout), json.loads(everything.stdout)
    assert {one["id"] for one in narrow["memories"]} <= {filled["crane"]}
    assert len(wide["memories"]) >= 5
    assert narrow["total"] == wide["total"] == 6


def test_more_than_half_needs_a_second_word(inside, filled):
    chosen = [filled[name] for name in ("crane", "rope", "tide")]
    refused = inside("forget", *chosen, "--yes")

    assert refused.returncode == 2
    assert "3 of 5 memories" in refused.stderr
    assert "--allow-large" not in refused.stderr
    assert len(found(inside)) == 5
    assert inside("forget", *chosen, "--yes", "--allow-large").returncode == 0
    assert len(found(inside)) == 2


def test_what_one_run_stored_is_forgotten_by_its_name(inside, filled, tmp_path):
    late = tmp_path / "late"
    late.mkdir()
    for name in ("gate", "mast"):
        (late / f"{name}.md").write_text(TEXT.format(name.title()))
    told = inside("ingest", str(late), "--json")
    run = json.loads(told.stdout)["run"]
    listed = json.loads(inside("inspect", "runs", "--json").stdout)["runs"]
    assert (listed[0]["run"], listed[0]["memories"], listed[0]["operation"]) == (run, 2, "ingest")
    assert json.loads(inside("ingest", str(late), "--json").stdout)["run"] == ""

    assert inside("forget", "--ingest", run, "--yes").returncode == 0
    assert found(inside) == set(filled)
    assert "nothing to forget" in inside("forget", "--ingest", run, "--yes").stdout


def test_the_run_is_told_at_the_end_of_a_seed_and_of_an_ingest(inside, tmp_path):
    note = tmp_path / "note.md"
    note.write_text(TEXT.format("Note"))
    told = on_terminal(["ingest", str(note)])
    (listed,) = json.loads(inside("inspect", "runs", "--json").stdout)["runs"]
    assert f"run {listed['run']};" in told
    folder = Path(os.environ["HOME"]) / "vault"
    folder.mkdir()
    (folder / "one.md").write_text(TEXT.format("Seeded"))
    sources = tmp_path / "sources.toml"
    sources.write_text('[sources.vault]\nglob = "~/vault/*.md"\n')
    seeded = inside("seed", "--sources", str(sources))
    run = json.loads(inside("inspect", "runs", "--json").stdout)["runs"][0]["run"]
    assert seeded.stdout.splitlines()[-1] == f"run {run}"
    assert "run " not in inside("seed", "--sources", str(sources)).stdout


# What follows opens the memory of the notes, whose sources a seed reads.


def test_no_seed_brings_a_forgotten_text_back_until_it_changes(memory, notes):
    memory.seed()
    forgotten = next(one for one in memory.catalog.memories.each() if "decision" in one.uri)
    run = memory.forget([forgotten.id])

    for rebuild in (False, True):
        memory.seed(rebuild=rebuild)
        assert forgotten.id not in memory.catalog.memories.ids()
    (notes / "decision.md").rename(notes / "renamed.md")
    memory.seed()
    assert not any("renamed" in one.uri for one in memory.catalog.memories.each())
    (notes / "renamed.md").rename(notes / "decision.md")

    memory.removal.undo(run)
    assert memory.catalog.memories.get([forgotten.id])[forgotten.id].text == forgotten.text
    memory.forget([forgotten.id])
    (notes / "decision.md").write_text("# Database\n\nWe decided to use DuckDB because the error is gone.\n")
    memory.seed()
    assert "DuckDB" in memory.catalog.memories.get([forgotten.id])[forgotten.id].text


def test_what_is_undone_may_be_renamed_again(memory, notes):
    memory.seed()
    forgotten = next(one for one in memory.catalog.memories.each() if "decision" in one.uri)
    memory.removal.undo(memory.forget([forgotten.id]))
    (notes / "decision.md").rename(notes / "renamed.md")
    memory.seed()
    assert any("renamed" in one.uri for one in memory.catalog.memories.each())


def test_a_purged_text_does_not_come_back_with_a_seed_either(memory):
    memory.seed()
    forgotten = next(one for one in memory.catalog.memories.each() if "decision" in one.uri)
    memory.removal.purge(memory.removal.plan([forgotten.id], purge=True))
    memory.seed(rebuild=True)
    assert forgotten.id not in memory.catalog.memories.ids()
    assert memory.catalog.archive.count() == 0


def test_undo_brings_back_text_dates_life_and_connections(memory):
    memory.ingest(
        [Draft("handed", f"n{number}", TEXT.format("Crane") + f" Case {number}.") for number in range(12)]
    )
    memory.gc.apply(memory.gc.plan(), allow_large=True)
    chosen = sorted(memory.catalog.memories.ids())[:2]
    memory.lifecycle.pin(chosen[0])
    store = memory.catalog
    before = (
        store.memories.get(chosen),
        store.lives.of(chosen),
        [store.connections.neighbours(key) for key in chosen],
        store.connections.snapshot(chosen),
    )
    memory.removal.undo(memory.forget(chosen))
    after = (
        store.memories.get(chosen),
        store.lives.of(chosen),
        [store.connections.neighbours(key) for key in chosen],
        store.connections.snapshot(chosen),
    )
    assert after == before
    assert violations(memory.catalog, memory.store, deep=True) == []


def merge(memory, sources, name):
    """Let a memory be merged from one of each source, as gc leaves it."""
    originals = memory.ingest([Draft(source, name, TEXT.format(f"{source} {name}")) for source in sources])
    (made,) = memory.ingest([Draft("consolidated", name, TEXT.format(f"{name} of {' and '.join(sources)}"))])
    run = memory.forget([one.id for one in originals])
    memory.catalog.gc_runs.link(run, {made.id: [one.id for one in originals]})
    return made.id


def test_a_merged_memory_goes_with_all_its_originals_and_stays_where_it_holds_others(memory):
    whole = merge(memory, ["alpha", "alpha"], "whole")
    mixed = merge(memory, ["alpha", "beta"], "mixed")
    memory.ingest([Draft("gamma", "g", TEXT.format("Gamma"))])

    planned = memory.removal.plan(sources=["alpha"])
    assert [one.id for one in planned.going] == [whole]
    assert [one.id for one in planned.mixed] == [mixed]


def test_the_python_api_takes_filters_and_refuses_too_much(memory):
    memory.ingest([Draft("alpha", str(n), TEXT.format(f"Alpha{n}")) for n in range(3)])
    memory.ingest([Draft("beta", "b", TEXT.format("Beta"))])
    with pytest.raises(UsageError, match="3 of 4"):
        memory.forget(sources=["alpha"])
    with pytest.raises(NotFoundError):
        memory.forget(["zzzzzzzz"])
    with pytest.raises(UsageError):
        memory.forget()
    assert len(memory.catalog.memories.ids()) == 4
    run = memory.forget(sources=["alpha"], allow_large=True)
    assert len(memory.catalog.memories.ids()) == 1
    assert memory.removal.undo(run).restored == 3


def everywhere(home: Path, text: str) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


MARK = "Zanzibarquay"


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("backend", ["fake", "lightrag"])
def test_a_purge_leaves_not_a_byte(inside, filled, home, archived, backend):
    store = {"RAGMEM_STORE_BACKEND": backend}
    said = f"# {MARK}\n\nWe decided that {MARK} uses PostgreSQL behind Gate{MARK} because of {MARK}.\n"
    key = inside("ingest", "-", "--quiet", stdin=said, **store).stdout.strip()
    for other in ("one", "two"):
        inside("ingest", "-", "--quiet", stdin=TEXT.format(other), **store)
    inside("query", MARK, **store)
    if archived:
        assert inside("forget", key, "--yes", **store).returncode == 0
    assert everywhere(home, MARK)

    shown = inside("forget", key, "--purge", "--dry-run", **store)
    assert "permanently" in shown.stdout
    assert everywhere(home, MARK)
    done = inside("forget", key, "--purge", "--yes", **store)
    assert (done.returncode, done.stdout) == (0, "deleted 1 memory permanently\n")
    assert everywhere(home, MARK) == []
    assert everywhere(home, MARK.lower()) == []
    assert inside("forget", key, "--purge", "--yes", **store).returncode == 2


def test_a_purge_names_the_backup_and_the_memory_that_still_have_it(inside, filled, home):
    said = f"We decided that {MARK} uses PostgreSQL because of the error in {MARK}."
    key = inside("ingest", "-", "--quiet", "--title", "first", stdin=said).stdout.strip()
    other = inside(
        "ingest", "-", "--quiet", "--title", "second", stdin=f"{said} It was in March."
    ).stdout.strip()
    assert inside("backup", "--quiet").returncode == 0
    (backup,) = (home / "data" / "backups").glob("*.tar.gz")

    done = inside("forget", key, "--purge", "--yes")
    assert done.returncode == 3
    assert f"left in the backup {backup}" in done.stdout
    assert f"left in the memory {other}" in done.stdout
    assert inside("inspect", "memory", other).returncode == 0


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from ragmem.storage.sql.sqlite import SQLiteDatabase

original, count = SQLiteDatabase.write, int(sys.argv[1])
begun = depth = 0


@contextmanager
def write(self, **more):
    # Die before the commit of each transaction, and right after it.
    global begun, depth
    outer = depth == 0
    begun += outer
    depth += 1
    with original(self, **more) as connection:
        yield connection
        if outer and begun * 2 == count:
            os.kill(os.getpid(), signal.SIGKILL)
    depth -= 1
    if outer and begun * 2 + 1 == count:
        os.kill(os.getpid(), signal.SIGKILL)


SQLiteDatabase.write = write
from ragmem.__main__ import run
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("purge", [False, True])
def test_a_kill_leaves_each_memory_there_or_archived_and_never_half(inside, filled, home, purge):
    chosen = {filled["crane"], filled["rope"]}
    arguments = [*chosen, "--yes", *(["--purge"] if purge else [])]
    died = 0
    for count in range(2, 60):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(count), "forget", *arguments],
            env={**os.environ, **FAKE},
            capture_output=True,
            check=False,
        )
        with Ragmem.open(environ={**os.environ, **FAKE}) as memory:
            assert violations(memory.catalog, memory.store, deep=True) == []
            ids = {key[:12] for key in memory.catalog.memories.ids()}
            lying = {key[:12] for key in memory.catalog.archive.ids()}
            assert ids & chosen in (set(), chosen)
            assert not ids & lying
            if done.returncode != -signal.SIGKILL:
                assert done.returncode == 0 or died
                break
            died += 1
            assert ids | lying >= chosen or purge
            for run in memory.catalog.archive.runs():
                memory.removal.undo(run.run)
            gone = chosen - {key[:12] for key in memory.catalog.memories.ids()}
        if gone:
            # The rows went; the next purge takes the bytes, whatever it is asked for.
            assert purge
            assert inside("forget", filled["tide"], "--purge", "--yes").returncode == 0
            assert everywhere(home, "because the fix of Crane was") == []
            break
    assert died > 1


def test_a_forgotten_exchange_stays_out_when_another_transcript_repeats_it(tmp_path):
    user = tmp_path / "user"
    folder = user / ".claude" / "projects" / "-work-tideline"
    folder.mkdir(parents=True)

    def write(name):
        session = Session(name)
        session.ask("Why does the harbour job fail?")
        (folder / f"{name}.jsonl").write_bytes(session.text)

    write("first")
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE}, home=user, cwd=user
    ) as memory:
        memory.seed(sources=["transcripts"])
        (known,) = memory.catalog.memories.each()
        memory.forget([known.id])
        write("second")
        (folder / "first.jsonl").touch()
        memory.seed(sources=["transcripts"])
        assert list(memory.catalog.memories.each()) == []
