"""Words first: full text finds what a seed has read before any vector is made; nothing is lost between."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from ragmem.api.memory import Ragmem, now
from ragmem.backends.fake import FakeEmbedder, FakeModels
from ragmem.domain.model import Draft, State
from ragmem.services.doctor.invariants import violations
from ragmem.storage.fulltext.terms import term_of

Opener = Callable[..., Ragmem]
STORE = {"RAGMEM_STORE_BACKEND": "lightrag"}


def pending(memory: Ragmem) -> set[str]:
    return memory.catalog.memories.ids(states=[State.PENDING])


def write_notes(folder, count):
    for number in range(count):
        (folder / f"more-{number}.md").write_text(
            f"# More {number}\n\nWe decided that worker{number} uses `queue_{number % 3}.py`, because the"
            f" error of Harbour{number % 4} Service was ours.\n"
        )


def content(memory: Ragmem):
    """Return what the catalog and the store hold, without the times of writing."""
    kept = [
        (one.id, one.text, one.kind, one.tier, one.state, memory.catalog.memories.chunks(one))
        for one in memory.catalog.memories.each()
    ]
    graph = [
        (project, [node.name for node, _ in memory.store.nodes(project)], list(memory.store.edges(project)))
        for project in memory.catalog.overview.counts()["project"]
    ]
    return kept, graph, dict(memory.store.statistics())


def test_words_find_everything_before_the_first_vector(memory):
    seen = []

    def look(report):
        answer = memory.query("stale lock")
        seen.append((report.pending, memory.store.memory_ids(), answer.matches[0].memory.title, answer.rung))

    report = memory.seed(on_searchable=look)
    assert seen == [(3, set(), "Stale lock", "text")]
    assert (report.indexed, report.pending, report.resumed) == (3, 0, 0)
    assert 0 < report.searchable_seconds < report.seconds
    assert memory.query("stale lock").rung == "text and vectors"


def test_who_does_not_wait_leaves_the_vectors_to_the_next_seed(open_memory: Opener):
    first = open_memory().seed(wait=False)
    assert (first.pending, first.indexed, first.note, first.would_change) == (3, 0, "", True)
    memory = open_memory()
    assert (len(pending(memory)), memory.store.memory_ids()) == (3, set())
    second = memory.seed()
    assert (second.resumed, second.indexed, second.tallies[0].unchanged) == (3, 3, 4)
    assert memory.store.memory_ids() == memory.catalog.memories.ids(states=[State.INDEXED])
    assert not memory.seed().would_change


def test_what_waits_and_what_does_not_answer_together(open_memory: Opener, notes):
    open_memory().seed()
    (notes / "late.md").write_text("# Late\n\nThe stale harbour crane was fixed because of its lock.\n")
    memory = open_memory()
    memory.seed(wait=False)
    answer = memory.query("stale lock")
    assert {match.memory.state for match in answer.matches} >= {State.PENDING, State.INDEXED}
    assert answer.rung == "text and vectors"


@pytest.mark.parametrize("rest", [["seed"], ["ingest", "--drain"], ["doctor", "--repair", "--yes"]])
def test_every_way_to_the_vectors_ends_with_the_same_content(open_memory, notes, tmp_path, inside, rest):
    write_notes(notes, 12)
    once = open_memory(**STORE, RAGMEM_HOME=str(tmp_path / "once"), RAGMEM_SEED_BATCH="5")
    once.seed()
    place = {**STORE, "RAGMEM_HOME": str(tmp_path / "twice")}
    twice = open_memory(**place)
    twice.seed(wait=False)
    assert len(pending(twice)) == 15
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    more = ["--sources", str(empty)] if rest == ["seed"] else []
    assert inside(*rest, *more, "--quiet", **place).returncode == 0
    assert content(twice) == content(once)
    assert violations(twice.catalog, twice.store) == []


class Interrupted(FakeModels):
    """The fake embedder, during whose work somebody presses ^C."""

    def __init__(self, after):
        super().__init__()
        self.calls, self.after = 0, after
        embed = self.embedder.embed

        def counted(texts, *, role):
            self.calls += 1
            if self.calls > self.after:
                raise KeyboardInterrupt
            return embed(texts, role=role)

        self.embedder.embed = counted


def test_an_interruption_among_the_vectors_loses_nothing(open_memory: Opener, notes):
    write_notes(notes, 12)
    plain = open_memory(**STORE, RAGMEM_SEED_BATCH="2")
    with Ragmem(plain.settings, home=plain.home, cwd=plain.cwd, models=Interrupted(after=4)) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.seed()
        waiting = pending(memory)
        assert 0 < len(waiting) < 15
        assert memory.store.memory_ids().isdisjoint(waiting)
    finished = plain.seed()
    assert (finished.resumed, finished.tallies[0].unchanged) == (len(waiting), 16)
    assert pending(plain) == set()
    assert violations(plain.catalog, plain.store, deep=True) == []


def test_the_worthiest_are_indexed_first(open_memory: Opener):
    memory = open_memory()
    for days, source in enumerate(("transcripts", "sessions", "memory", "documents", "claudemds")):
        text = f"We decided on the driver of {source}, because of the error."
        memory.ingest([Draft(source, f"{source}.md", text, event_time=now() - timedelta(days=days))])
    memory.catalog.memories.mark(memory.catalog.memories.ids(), State.PENDING)
    known = memory.catalog.memories.get(memory.catalog.memories.ids())
    order = [known[identifier].source for identifier in memory.catalog.memories.pending_ids()]
    assert order == ["memory", "claudemds", "sessions", "documents", "transcripts"]


def test_a_small_rest_is_finished_by_the_next_ingest_and_a_backlog_is_not(open_memory, notes, monkeypatch):
    write_notes(notes, 12)
    memory = open_memory()
    memory.seed(wait=False)
    monkeypatch.setattr("ragmem.storage.memories.memories.BACKLOG", 15)
    memory.ingest([Draft("handed", "one", "We decided on the driver, because of the error.")])
    assert len(pending(memory)) == 15
    assert memory.gc.apply(memory.gc.plan()).mended == 0
    assert len(pending(memory)) == 15
    monkeypatch.setattr("ragmem.storage.memories.memories.BACKLOG", 16)
    memory.ingest([Draft("handed", "two", "We decided on the pump, because of the error.")])
    assert pending(memory) == set()


def test_the_words_that_were_read_take_no_memory_from_the_model(memory, notes, monkeypatch):
    write_notes(notes, 60)
    read, held = [], []
    embed = FakeEmbedder.embed

    def counted(self, texts, *, role):
        held.append(term_of.cache_info().currsize)
        return embed(self, texts, role=role)

    monkeypatch.setattr(FakeEmbedder, "embed", counted)
    memory.seed(on_searchable=lambda _: read.append(term_of.cache_info().currsize))

    assert read[0] > 60
    assert held[0] == 0


def test_a_note_that_fades_names_nothing_any_more(memory, notes):
    write_notes(notes, 1)
    memory.seed()
    (faded,) = [one.id for one in memory.catalog.memories.each() if one.title == "More 0"]
    before = mentions(memory, faded)
    assert before > 0
    (notes / "more-0.md").write_text("Good evening, and thank you very much!\n")
    memory.seed()
    assert mentions(memory, faded) == 0
    assert memory.catalog.names.update_all() == 0


def mentions(memory: Ragmem, identifier: str) -> int:
    sql = "SELECT count(*) FROM entity_mentions WHERE memory = (SELECT n FROM memories WHERE id = ?)"
    return memory.catalog.database.select_row(sql, (identifier,))[0]


def test_the_command_tells_both_times(inside, tmp_path, notes):
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')
    place = {"RAGMEM_HOME": str(tmp_path / "ragmem")}
    done = inside("seed", "--sources", str(sources), "--no-wait", **place)
    assert "in full text after" in done.stderr
    assert "3 memories wait for vectors" in done.stderr
    assert "`ragmem ingest --drain`, or the next seed, makes the vectors" in done.stderr
    assert "3 memories wait to be indexed" in inside("doctor", **place).stdout
    again = json.loads(inside("seed", "--sources", str(sources), "--json", **place).stdout)
    assert (again["indexed"], again["resumed"], again["pending"], again["background"]) == (3, 3, 0, False)
    assert 0 < again["searchable_seconds"] < again["seconds"]
    (notes / "late.md").write_text("# Late\n\nThe stale harbour crane was fixed because of its lock.\n")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "ragmem", "seed", "--sources", str(sources)]
    subprocess.run(command, stderr=theirs, stdout=subprocess.DEVNULL, env={**os.environ, **place}, check=True)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    assert b"1 memory waits for vectors" in shown
    assert b"indexed after" in shown


def test_another_process_makes_the_vectors_in_the_background(inside, open_memory, notes, tmp_path):
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')
    place = {**STORE, "RAGMEM_HOME": str(tmp_path / "ragmem")}
    done = inside("seed", "--sources", str(sources), "--background", **place)
    assert (done.returncode, "a background process" in done.stderr) == (0, True)
    memory = open_memory(**STORE)
    deadline = time.monotonic() + 100
    while pending(memory) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(memory.store.memory_ids()) == 3
    refused = inside("seed", "--background", "--dry-run", **place)
    assert (
        refused.returncode,
        "--background cannot be combined with --check or --dry-run" in refused.stderr,
    ) == (2, True)
