"""Named entities by a model beside the rules: each text is read once, whatever fails."""

import json
import re

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeLanguageModel, FakeModels
from ragmem.domain.model import Draft, State
from ragmem.errors import BackendError
from ragmem.ports import Span
from ragmem.services.doctor.invariants import violations
from ragmem.services.entities import recognition
from ragmem.services.retrieval.query import Question

NOTE = (
    "# {0}\n\nWe decided to run it in Genoa because the error of March came from there. Lugger pays for it."
    " The quay of Widget Lane is called each day by {0}, and `Quay.open` logs it.\n"
)
TOPICS = ("Tideline", "Gullwing", "Mooring")


class Names:
    """A recognizer that knows some words, and remembers what it read."""

    def __init__(self, model_id="names", *, down=False, **known):
        self.model_id, self.down = model_id, down
        self.known = known or {"Genoa": "location", "Widget Lane": "organization", "quay": "location"}
        self.read: list[str] = []

    def recognize(self, texts, labels, *, threshold):
        if self.down:
            raise BackendError("the model is broken", hint="fetch it again")
        self.read += texts
        return [
            [
                Span(found.start(), found.end(), label, 0.7)
                for name, label in self.known.items()
                for found in re.finditer(name, text)
                if threshold < 0.7
            ]
            for text in texts
        ]


class Home:
    """A home with notes; each `open` is a new process."""

    def __init__(self, place):
        self.place = place
        (place / "user" / "notes").mkdir(parents=True)
        (place / "sources.toml").write_text('[sources.notes]\nglob = "~/notes/*.md"\n')
        for topic in TOPICS:
            self.write(topic)
        self.opened = []

    def write(self, topic, text=NOTE):
        (self.place / "user" / "notes" / f"{topic}.md").write_text(text.format(topic))

    def open(self, recognizer=None, *, llm=None, **more):
        given = {"RAGMEM_EXTRACTION_NER": "fake:names"} if recognizer else {}
        given |= {"RAGMEM_EXTRACTION_BY": "both"} if llm else {}
        opened = Ragmem.open(
            environ={
                "RAGMEM_HOME": str(self.place / "ragmem"),
                "RAGMEM_MODELS_BACKEND": "fake",
                "RAGMEM_STORE_BACKEND": "fake",
                **given,
                **more,
            },
            home=self.place / "user",
            cwd=self.place / "user",
            sources_file=self.place / "sources.toml",
        )
        models = FakeModels(llm)
        models.recognizer = recognizer
        memory = Ragmem(opened.settings, home=opened.home, cwd=opened.cwd, models=models)
        self.opened += [opened, memory]
        return memory


@pytest.fixture
def home(tmp_path):
    place = Home(tmp_path)
    yield place
    for memory in place.opened:
        memory.close()


def types(memory):
    assert violations(memory.catalog, memory.store) == []
    assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
    return {one.name: one.type for one, _ in memory.store.entities(limit=1000)}


def test_without_a_model_nothing_is_read_and_nothing_changes(home):
    report = home.open().seed()
    assert report.recognition is None
    assert types(home.open())["Genoa"] == "tool"


def test_the_model_types_what_the_rules_guess_and_adds_what_they_miss(home):
    home.open().seed()
    ruled = types(home.open())
    assert (ruled["Genoa"], "Lugger" in ruled) == ("tool", False)
    memory = home.open(Names(Genoa="location", Lugger="organization", Quay="person", day="event"))
    report = memory.seed()
    assert (report.recognition.read, report.recognition.waiting, report.recognition.note) == (3, 0, "")
    assert types(memory) == {**ruled, "Genoa": "concept", "Lugger": "organization"}


def test_each_text_is_read_once_and_a_new_one_next_time(home):
    model = Names()
    memory = home.open(model)
    assert memory.seed().recognition.read == 3
    report = memory.seed()
    assert (report.recognition.read, report.recognition.known, len(model.read)) == (0, 3, 3)
    home.write("Breakwater")
    report = home.open(model).seed()
    assert (report.recognition.read, len(model.read)) == (1, 4)
    assert "Breakwater" in model.read[-1]
    home.open(model).seed(rebuild=True)
    assert len(model.read) == 4


def test_another_model_or_threshold_reads_again_and_none_leaves_the_rules_names(home):
    home.open().seed()
    ruled = types(home.open())
    home.open(Names()).seed()
    assert types(home.open())["Genoa"] == "concept"
    other = Names("other", Genoa="organization")
    assert home.open(other).seed().recognition.read == 3
    assert types(home.open())["Genoa"] == "organization"
    strict = home.open(other, RAGMEM_EXTRACTION_NER_THRESHOLD="0.8")
    assert strict.seed().recognition.read == 3
    assert types(home.open()) == ruled
    first = Names()
    home.open(first).seed()
    assert (first.read, types(home.open())["Genoa"]) == ([], "concept")
    home.open().seed()
    assert types(home.open()) == ruled


def test_a_broken_model_fails_no_seed_and_the_next_one_continues(home):
    report = home.open(Names(down=True)).seed()
    assert (report.indexed, report.recognition.read) == (3, 0)
    assert report.recognition.note == "the model is broken; fetch it again"
    assert types(home.open())["Genoa"] == "tool"
    assert home.open(Names()).seed().recognition.read == 3
    assert types(home.open())["Genoa"] == "concept"


@pytest.mark.parametrize("when", ["between batches", "before the index"])
def test_after_a_kill_the_next_seed_continues(home, monkeypatch, when):
    class Killed(Names):
        def recognize(self, texts, labels, *, threshold):
            if self.read and when == "between batches":
                raise KeyboardInterrupt
            return super().recognize(texts, labels, threshold=threshold)

    def kill(*_):
        raise KeyboardInterrupt

    home.open().seed()
    with monkeypatch.context() as patch:
        patch.setattr(recognition, "BATCH_SIZE", 1)
        if when == "before the index":
            patch.setattr(recognition, "index_by_id", kill)
        killed = Killed()
        with pytest.raises(KeyboardInterrupt):
            home.open(killed).seed()
    assert len(killed.read) == 1
    memory = home.open(Names())
    report = memory.seed()
    assert (report.recognition.known, report.recognition.read) == (1, 2)
    assert types(memory)["Genoa"] == "concept"


def test_a_dry_run_counts_and_reads_nothing(home):
    home.open().seed()
    model = Names()
    report = home.open(model).seed(dry_run=True)
    assert (report.recognition.waiting, model.read) == (3, [])
    assert types(home.open())["Genoa"] == "tool"


def test_the_language_model_is_asked_beside_it(home):
    memory = home.open(
        Names(Genoa="location"), llm=FakeLanguageModel("valid"), RAGMEM_LANGUAGE_MODEL_BACKEND="fake"
    )
    report = memory.seed()
    assert (report.recognition.read, report.extraction.asked) == (3, 3)
    assert types(memory)["Genoa"] == "concept"
    report = memory.seed()
    assert (report.recognition.read, report.extraction.asked) == (0, 0)
    report = home.open(Names(Genoa="location")).seed()
    assert (report.recognition.read, types(memory)["Genoa"]) == (0, "concept")


def test_secrets_are_not_read(home):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    home.write("Secret", NOTE + f"\nThe token was {secret}, of Genoa.\n")
    model = Names()
    home.open(model).seed()
    assert "of Genoa" in "".join(model.read)
    assert secret not in "".join(model.read)


def test_a_question_and_a_single_write_read_nothing(home):
    model = Names()
    memory = home.open(model)
    memory.seed()
    count = len(model.read)
    memory.retrieval.ask(Question("where is the quay of Genoa"))
    memory.ingest([Draft("notes", "/new", NOTE.format("Harbour"))])
    assert len(model.read) == count


def test_doctor_tells_of_files_and_of_waiting_texts(home, tmp_path):
    home.open().seed()
    place = home.open(RAGMEM_EXTRACTION_NER=f"onnx:{tmp_path / 'none'}")
    plain = Ragmem(place.settings, home=place.home, cwd=place.cwd)
    home.opened.append(plain)
    checks = {one.name: one for one in plain.doctor.examine().checks}
    assert (checks["named entities"].status, "there is no folder" in checks["named entities"].detail) == (
        "failed",
        True,
    )
    assert checks["extraction"].status == "warning"
    memory = home.open(Names())
    memory.seed()
    checks = {one.name: one for one in memory.doctor.examine().checks}
    assert (checks["named entities"].status, checks["named entities"].detail) == ("ok", "names")
    assert checks["extraction"].detail == "3 texts by names names 1 0.5, 0 invalid, 0 wait"


def test_the_report_is_part_of_the_json(home):
    report = home.open(Names()).seed()
    from ragmem.cli.seed import _document

    document = json.loads(json.dumps(_document(report, explain=False), default=str))
    assert document["recognition"] == {"model": "names", "known": 0, "read": 3, "waiting": 0, "note": ""}
