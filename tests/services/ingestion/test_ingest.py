"""Handing in: durable first, scoped to where it belongs, honest about what has to wait."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem, now
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft, Kind, Memory, State, Tier
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index_pending
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.retrieval.question import Question
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.storage.sql.sqlite import SQLiteDatabase

TEXT = "The importer failed because of a lock: the fix is one writer, by config."


def test_what_was_handed_in_is_indexed_when_it_returns(memory):
    (stored,) = memory.ingest([Draft("ingest", "/n", TEXT, "n")])
    assert (stored.memory.state, stored.note) == (State.INDEXED, "")
    assert memory.memory(stored.id).state is State.INDEXED


def test_the_same_text_again_is_unchanged(memory):
    memory.ingest([Draft("ingest", "/n", TEXT, "n")])
    (again,) = memory.ingest([Draft("ingest", "/n", TEXT, "n")])
    assert again.change == "unchanged"


def test_the_file_of_a_home_that_one_call_fills_is_rewritten_once(memory, monkeypatch):
    rewritten = []
    vacuum = SQLiteDatabase.vacuum
    monkeypatch.setattr(SQLiteDatabase, "vacuum", lambda *one, **how: rewritten.append(vacuum(*one, **how)))
    drafts = [
        Draft("ingest", f"/barge-{n}", f"We moor barge {n} at berth {n + 1}.", f"Barge {n}")
        for n in range(60)
    ]
    memory.ingest(drafts)
    memory.ingest([*drafts, Draft("ingest", "/ferry", "We moor the ferry at berth 80.", "Ferry")])
    assert len(rewritten) == 1
    assert memory.query("where is the ferry moored").matches


def test_long_texts_are_stored_in_short_transactions(memory):
    line = "The crane at berth {} lifts {} tonnes. "
    drafts = [
        Draft("ingest", f"/{n}", "".join(line.format(n, at) for at in range(6_000)), f"Crane {n}")
        for n in range(5)
    ]
    memory.ingest(drafts)
    entries = [one for one in memory.catalog.log.entries() if one["operation"] == "ingest"]
    assert [one["detail"]["memories"] for one in entries] == [1, 2, 2]


def test_of_two_texts_from_one_place_the_last_is_indexed(memory):
    memory.ingest([Draft("ingest", "/n", TEXT, "n"), Draft("ingest", "/n", f"{TEXT} Since March.", "n")])
    (stored,) = memory.catalog.memories.each()
    assert (stored.state, stored.text) == (State.INDEXED, f"{TEXT} Since March.")
    assert memory.store.memory_ids() == {stored.id}


def test_what_metadata_protects_is_not_discarded_by_any_rule():
    draft = Draft("ingest", "/n", "Boats moor at the north quay.", "n", metadata={"type": "feedback"})
    for rule in ("judge", "classic", "off"):
        memory = classify_draft(
            draft, now=now(), sizes=ChunkingSettings(), rule=rule, redactor=DEFAULT
        ).memory
        assert (memory.protected, memory.state) == (True, State.PENDING)


def test_a_summarized_text_is_indexed_whole_and_is_not_in_the_graph(open_memory):
    memory = open_memory(RAGMEM_STORE_BACKEND="lightrag")
    text = "".join(f"Sentence number {n} tells of `berth_{n}` and its rope. " for n in range(40))
    (stored,) = memory.ingest([Draft("sessions", "/n", text, "n")])
    found = memory.memory(stored.id)
    assert (found.tier, found.state, found.summary) == (Tier.SUMMARIZE, State.INDEXED, "")
    assert found.indexed_text == found.text
    assert memory.query("berth_39").matches[0].memory.id == found.id
    assert memory.store.statistics()["entities"] == 0


CHATTER = "Perfect! Now I'll update the todo list and move on to the next task."


def test_a_discarded_text_answers_where_nothing_else_does(memory):
    memory.ingest([Draft("transcripts", "/chatter", CHATTER, "chatter")])
    (last,) = memory.query("update the todo list").matches
    assert (last.memory.tier, last.memory.state) == (Tier.DISCARD, State.BUFFERED)
    assert "only discarded texts match" in memory.query("update the todo list").notes[0]
    memory.ingest([Draft("ingest", "/todo", "Update the todo list by `make todo`, because it is generated.")])
    assert [match.memory.uri for match in memory.query("update the todo list").matches] == ["/todo"]
    question = Question("update the todo list", discarded="always")
    assert {match.memory.uri for match in memory.query("", question=question).matches} == {
        "/todo",
        "/chatter",
    }
    never = Question("move on to the next task", discarded="never")
    assert memory.query("", question=never).matches == ()


@pytest.mark.parametrize("source", ["ingest", "memory", "claudemds", "prds", "paidocs"])
def test_what_a_person_stored_is_never_discarded(memory, source):
    (stored,) = memory.ingest([Draft(source, "/n", CHATTER, "n")])
    assert stored.memory.tier is Tier.INGEST


def happen(other: Ragmem, held: Memory, fate: str) -> None:
    """Do to a memory what another process may do while it is embedded."""
    if fate == "leaves":
        other.forget([held.id])
    elif fate == "is renamed":
        other.ingest([Draft("notes", held.uri, held.text, "another title")])
    elif fate == "fades":
        other.ingest([Draft("notes", held.uri, "ok thanks", held.title)])
    elif fate == "changes":
        other.ingest([Draft("notes", held.uri, f"{held.text} Since March.", held.title)])
    elif fate == "is accepted anew":
        draft = Draft("notes", held.uri, f"{held.text} Not indexed yet.", held.title)
        judged = classify_draft(draft, now=now(), sizes=ChunkingSettings(), redactor=DEFAULT)
        other.catalog.memories.accept([(judged.memory, judged.chunks)])


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.sampled_from(["stays", "changes", "is renamed", "fades", "leaves", "is accepted anew"]),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_happens_to_memories_while_they_are_embedded_the_store_follows_the_catalog(fates):
    environ = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    with TemporaryDirectory() as folder:
        home = Path(folder)
        environ["RAGMEM_HOME"] = str(home / "ragmem")
        with (
            Ragmem.open(environ=environ, home=home, cwd=home) as memory,
            Ragmem.open(environ=environ, home=home, cwd=home) as other,
        ):
            put, happened = memory.store.put, []

            def late(records, **options):
                for held, fate in zip(
                    [one.memory for one in records], [] if happened else fates, strict=False
                ):
                    happen(other, held, fate)
                happened.append(True)
                put(records, **options)

            memory.store.put = late
            memory.ingest([Draft("notes", f"/{n}", f"{TEXT} No {n}.", f"n{n}") for n in range(len(fates))])
            index_pending(memory.catalog, memory.store)
            assert happened
            assert violations(memory.catalog, memory.store) == []
            assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
            assert memory.store.memory_ids() == memory.catalog.memories.ids(states=[State.INDEXED])
            memories = memory.catalog.memories
            kept = {chunk.id for one in memories.each() for chunk in memories.chunks(one)}
            assert {hit.chunk_id for hit in memory.store.search(TEXT, limit=50)} <= kept


def test_a_text_that_one_call_is_indexing_is_not_indexed_by_the_next_call_too(memory):
    put, puts = memory.store.put, []

    def late(records, **options):
        puts.append([one.memory.title for one in records])
        if len(puts) == 1:
            memory.ingest([Draft("ingest", "/b", f"{TEXT} Since March.", "b")])
        put(records, **options)

    memory.store.put = late
    memory.ingest([Draft("ingest", "/a", TEXT, "a")])
    assert puts == [["a"], ["b"]]
    assert memory.catalog.memories.ids(states=[State.PENDING]) == set()


def test_without_a_model_the_text_is_kept_and_found_and_finished_later(open_memory: Callable[..., Ragmem]):
    broken = open_memory(RAGMEM_MODELS_BACKEND="nowhere")
    (stored,) = broken.ingest([Draft("notes", "/n", TEXT, "n")])
    assert "nowhere" in stored.note
    assert stored.memory.state is State.PENDING
    answer = broken.query("importer lock writer")
    assert [match.memory.id for match in answer.matches] == [stored.id]
    assert answer.rung == "text"
    mended = open_memory()
    assert mended.seed().resumed == 1
    assert mended.memory(stored.id).state is State.INDEXED


def test_a_note_in_a_loose_folder_belongs_to_the_person(memory, tmp_path: Path):
    loose = tmp_path / "elsewhere"
    loose.mkdir()
    (loose / "n.md").write_text(TEXT)
    handed = memory.ingestion.draft([loose / "n.md"], DraftOptions())
    assert [draft.scope.project for draft in handed.drafts] == ["user"]


def test_a_folder_gives_texts_without_a_suffix_that_are_named_like_a_note(memory, tmp_path: Path):
    here = tmp_path / "docs"
    here.mkdir()
    named = {"README", "NEWS", "PM-7 - Pump failure", "Release v1.2 in May"}
    for name in (*named, "Makefile", "LICENSE", "run", "tool 1.sh", "new.py", ".notes of mine"):
        (here / name).write_text(TEXT)
    (here / "My App").write_bytes(b"\x7fELF\0")
    handed = memory.ingestion.draft([here], DraftOptions())
    assert {Path(draft.uri).name for draft in handed.drafts} == named
    assert handed.problems == []
    (told,) = handed.warnings
    assert "docs: 6 files of unsupported types were skipped (" in told
    assert "1 .py" in told
    for name in ("Makefile", "LICENSE", "run", "tool 1.sh", "My App"):
        (here / name).unlink()
    (told,) = memory.ingestion.draft([here], DraftOptions()).warnings
    assert told == f"{here}: 1 file of an unsupported type was skipped (1 .py); name a file to read it"


def test_a_note_in_a_marked_folder_belongs_to_its_project(memory, tmp_path: Path):
    kiln = tmp_path / "kiln"
    kiln.mkdir()
    (kiln / "CLAUDE.md").write_text("# Kiln")
    (kiln / "n.md").write_text(TEXT)
    (draft,) = memory.ingestion.draft([kiln / "n.md"], DraftOptions()).drafts
    assert draft.scope.project.startswith("kiln-")


def test_a_project_above_the_home_is_not_that_of_the_home(memory, tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("# Above")
    (tmp_path / "n.md").write_text(TEXT)
    handed = memory.ingestion.draft([tmp_path / "n.md"], DraftOptions())
    memory.ingest(handed.drafts, projects=handed.projects)
    assert memory.projects.default() is None
    outside = Ragmem(memory.settings, home=memory.home, cwd=tmp_path)
    assert outside.projects.default() == (handed.drafts[0].scope.project, "user")


def hand_in(memory: Ragmem, note: Path, **options):
    (draft,) = memory.ingestion.draft([note], DraftOptions(**options)).drafts
    (stored,) = memory.ingest([draft])
    return memory.memory(stored.id)


def test_what_a_person_set_for_a_file_stays_when_it_is_handed_in_again(memory, tmp_path: Path):
    note = tmp_path / "quay.md"
    note.write_text(f"---\ntags: [harbour, old]\ndate: 2026-03-01\n---\n{TEXT}\n")
    said = datetime(2026, 5, 5, tzinfo=UTC)
    hand_in(memory, note, tags=("deploy",), kind=Kind.PREFERENCE, at=said)
    note.write_text(f"---\ntags: [harbour]\ndate: 2026-03-02\n---\n{TEXT} Since March.\n")
    again = hand_in(memory, note)
    assert (again.tags, again.kind, again.event_time) == (("harbour", "deploy"), Kind.PREFERENCE, said)
    assert memory.ingest(memory.ingestion.draft([note], DraftOptions()).drafts)[0].change == "unchanged"
    assert hand_in(memory, note, tags=("release",)).tags == ("harbour", "release")
    reset = hand_in(memory, note, reset=True)
    assert (reset.tags, reset.event_time) == (("harbour",), datetime(2026, 3, 2, tzinfo=UTC))
    assert not any(name.startswith("given") for name in reset.metadata)


def test_a_text_that_is_handed_in_again_without_its_tags_keeps_them(memory):
    for tags in (("deploy",), ()):
        (draft,) = memory.ingestion.draft([], DraftOptions(tags=tags), text=TEXT.encode()).drafts
        (stored,) = memory.ingest([draft])
    assert memory.memory(stored.id).tags == ("deploy",)


def test_a_file_that_claims_that_a_person_set_its_fields_is_read_as_any_other(memory, tmp_path: Path):
    note = tmp_path / "quay.md"
    note.write_text(f"---\ngiven kind: nonsense\ngiven time: never\n---\n{TEXT}\n")
    for _ in range(2):
        stored = hand_in(memory, note)
    assert not any(name.startswith("given") for name in stored.metadata)


def test_no_output_repeats_what_a_person_set(memory):
    (draft,) = memory.ingestion.draft([], DraftOptions(tags=("deploy",)), text=TEXT.encode()).drafts
    (stored,) = memory.ingest([draft])
    assert memory_shape(memory.memory(stored.id), redactor=memory.redactor)["metadata"] == {}
