"""Handing in: durable first, scoped to where it belongs, honest about what has to wait."""

from collections.abc import Callable
from pathlib import Path

from ragmem.domain.model import Draft, State
from ragmem.memory import Ragmem
from ragmem.services.hand_in import HandIn

TEXT = "The importer failed because of a lock: the fix is one writer, by config."


def test_what_was_handed_in_is_indexed_when_it_returns(memory):
    (stored,) = memory.ingest([Draft("ingest", "/n", TEXT, "n")])
    assert (stored.judged.memory.state, stored.note) == (State.INDEXED, "")
    assert memory.memory(stored.id).state is State.INDEXED


def test_the_same_text_again_is_unchanged(memory):
    memory.ingest([Draft("ingest", "/n", TEXT, "n")])
    (again,) = memory.ingest([Draft("ingest", "/n", TEXT, "n")])
    assert again.change == "unchanged"


def test_of_two_texts_from_one_place_the_last_is_indexed(memory):
    memory.ingest([Draft("ingest", "/n", TEXT, "n"), Draft("ingest", "/n", f"{TEXT} Since March.", "n")])
    (stored,) = memory.catalog.memories.each()
    assert (stored.state, stored.text) == (State.INDEXED, f"{TEXT} Since March.")
    assert memory.store.memory_ids() == {stored.id}


def test_without_a_model_the_text_is_kept_and_found_and_finished_later(open_memory: Callable[..., Ragmem]):
    broken = open_memory(RAGMEM_MODELS_BACKEND="nowhere")
    (stored,) = broken.ingest([Draft("ingest", "/n", TEXT, "n")])
    assert "nowhere" in stored.note
    assert stored.judged.memory.state is State.PENDING
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
    handed = memory.hand_in([loose / "n.md"], HandIn())
    assert [draft.scope.project for draft in handed.drafts] == ["user"]


def test_a_note_in_a_marked_folder_belongs_to_its_project(memory, tmp_path: Path):
    kiln = tmp_path / "kiln"
    kiln.mkdir()
    (kiln / "CLAUDE.md").write_text("# Kiln")
    (kiln / "n.md").write_text(TEXT)
    (draft,) = memory.hand_in([kiln / "n.md"], HandIn()).drafts
    assert draft.scope.project.startswith("kiln-")


def test_a_project_above_the_home_is_not_that_of_the_home(memory, tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("# Above")
    (tmp_path / "n.md").write_text(TEXT)
    handed = memory.hand_in([tmp_path / "n.md"], HandIn())
    memory.ingest(handed.drafts, projects=handed.projects)
    assert memory.default_projects() is None
    outside = Ragmem(memory.settings, home=memory.home, cwd=tmp_path)
    assert outside.default_projects() == (handed.drafts[0].scope.project, "user")
