"""Entities and relations by a language model, beside the rules: each text once, whoever is killed or down."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeEmbedder, FakeLanguageModel, FakeModels
from ragmem.domain.model import Draft, State
from ragmem.errors import BackendError
from ragmem.services.doctor.invariants import violations
from ragmem.services.entities import extraction
from ragmem.services.lifecycle.undo import undo

NOTE = (
    "# {0}\n\nWe decided to run {0} beside Kafka because the error of March came from {0}. The fix was to let"
    " {0} call the Harbour Board first; the config of the deploy was resolved.\n"
)
NAMES = ("Tideline", "Gullwing", "Quayside", "Breakwater", "Lighthouse", "Mooring")


class Asked:
    """A language model that answers like the fake one, and remembers what it was asked."""

    model_id = "asked"

    def __init__(self, manner="valid", *, answer=None):
        self.prompts: list[str] = []
        self._answer = answer or FakeLanguageModel(manner).complete
        self._guard = threading.Lock()

    def complete(self, prompt, *, system="", max_tokens=1024, json_schema=None):
        with self._guard:
            self.prompts.append(prompt)
        return self._answer(prompt, system=system, max_tokens=max_tokens, json_schema=json_schema)


class Many(Asked):
    """The same, for several prompts at a time."""

    def complete_many(self, prompts, **options):
        self.batches = [*getattr(self, "batches", []), len(prompts)]
        return [self.complete(prompt, **options) for prompt in prompts]


class Counting(FakeEmbedder):
    def __init__(self):
        self.texts: list[str] = []

    def embed(self, texts, *, role):
        self.texts.extend(texts if role == "document" else ())
        return super().embed(texts, role=role)


class Home:
    """A home with notes; each `memory` is what a new process would open."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.notes = place / "user" / "notes"
        self.notes.mkdir(parents=True)
        (place / "sources.toml").write_text('[sources.notes]\nglob = "~/notes/*.md"\n')
        for name in NAMES:
            self.write(name, NOTE.format(name))
        self._opened: list[Ragmem] = []

    def write(self, name: str, text: str) -> None:
        (self.notes / f"{name}.md").write_text(text)

    def environ(self, by: str, **more: str) -> dict[str, str]:
        return {
            "RAGMEM_HOME": str(self.place / "ragmem"),
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_BACKEND": "fake",
            "RAGMEM_EXTRACTION_BY": by,
            "RAGMEM_LANGUAGE_MODEL_BACKEND": "fake",
            "RAGMEM_LANGUAGE_MODEL_MODEL": "valid",
            **more,
        }

    def memory(self, by: str = "both", model: object = None, **more: str) -> Ragmem:
        opened = Ragmem.open(
            environ=self.environ(by, **more),
            home=self.place / "user",
            cwd=self.place / "user",
            sources_file=self.place / "sources.toml",
        )
        if model is not None:
            models = FakeModels(model)
            opened = Ragmem(opened.settings, home=opened.home, cwd=opened.cwd, models=models)
        self._opened.append(opened)
        return opened

    def close(self) -> None:
        for memory in self._opened:
            memory.close()


@pytest.fixture
def home(tmp_path):
    place = Home(tmp_path)
    yield place
    place.close()


def graph(memory):
    """Return entities and relations; the order in which memories came decides the order of what they say."""
    whole = memory.settings.store.backend == "lightrag"
    entities, relations = set(), set()
    for one, degree in memory.store.entities(limit=10_000):
        entities.add(
            (one.name, degree, *((one.type, frozenset(one.description.split("\n"))) if whole else ()))
        )
        for relation, _ in memory.store.neighbours(one.name, limit=1000):
            said = (frozenset(relation.keywords.split(",")), frozenset(relation.description.split("\n")))
            relations.add((relation.source, relation.target, relation.weight, *(said if whole else ())))
    return entities, relations


def names(memory):
    return {one.name for one, _ in memory.store.entities(limit=10_000)}


def sound(memory):
    assert violations(memory.catalog, memory.store) == []
    assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
    return True


def test_the_model_is_told_no_secret_and_forgets_none_of_its_answers_for_that(home):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    private = (
        "\n\n<private>\n## Aunt Lovelace\n\nJane Lovelace pays Zanzibar Holdings each month.\n</private>\n"
    )
    home.write("Tideline", NOTE.format("Tideline") + f"\nThe token was {secret}, of Tideline.\n" + private)
    model = Asked()
    with home.memory(model=model) as memory:
        memory.seed()
        asked = len(model.prompts)
        assert sound(memory)
        memory.gc.apply(memory.gc.plan())
        memory.seed()
        assert len(model.prompts) == asked
    told = "\n".join(model.prompts)
    assert "The token was \u2026, of Tideline." in told
    assert not [hidden for hidden in (secret, "Lovelace", "Zanzibar") if hidden in told]


def test_rules_alone_ask_nobody(home):
    model = Asked()
    report = home.memory("rules", model).seed()
    assert (report.extraction, model.prompts) == (None, [])


@pytest.mark.parametrize("store", ["fake", "lightrag"])
def test_by_llm_has_the_models_entities_and_by_both_has_both(home, store):
    memory = home.memory("rules", RAGMEM_STORE_BACKEND=store)
    memory.seed()
    ruled = graph(memory)
    memory.close()
    memory = home.memory("llm", RAGMEM_STORE_BACKEND=store)
    report = memory.seed()
    assert (report.extraction.asked, report.extraction.invalid, report.extraction.waiting) == (6, 0, 0)
    # The fake model names single capitalised words, the rules "Harbour Board".
    assert {"Harbour", "Board", "Tideline"} <= names(memory)
    assert "Harbour Board" not in names(memory)
    ((entity, _),) = memory.store.entities("Tideline")
    assert entity.description == "Tideline is named in the text."
    assert sound(memory)
    memory.close()
    memory = home.memory("both", RAGMEM_STORE_BACKEND=store)
    report = memory.seed()
    assert (report.extraction.asked, report.extraction.known) == (0, 6)
    assert {"Harbour", "Board", "Harbour Board"} <= names(memory)
    pairs = [frozenset(relation[:2]) for relation in graph(memory)[1]]
    assert len(pairs) == len(set(pairs))
    assert sound(memory)
    memory.close()
    memory = home.memory("rules", RAGMEM_STORE_BACKEND=store)
    memory.seed()
    assert graph(memory) == ruled
    assert sound(memory)


def test_the_newest_memory_is_asked_about_first(home):
    for age, name in enumerate(NAMES):
        os.utime(home.notes / f"{name}.md", (1.7e9 - age, 1.7e9 - age))
    model = Asked()
    home.memory("both", model, RAGMEM_LANGUAGE_MODEL_CONCURRENCY="1").seed()
    assert [next(name for name in NAMES if name in prompt) for prompt in model.prompts] == list(NAMES)


@pytest.mark.parametrize("store", ["fake", "lightrag"])
def test_whoever_indexes_after_the_model_makes_the_same_record(home, store):
    model = Asked()
    memory = home.memory("both", model, RAGMEM_STORE_BACKEND=store)
    memory.seed()
    asked, seen = len(model.prompts), graph(memory)
    put = []
    original = memory.store.put

    def counting(records, **options):
        put.extend(records)
        original(records, **options)

    memory.store.put = counting
    report = memory.seed()
    assert (report.would_change, report.extraction.asked, put) == (False, 0, [])
    memory.seed(rebuild=True)
    assert graph(memory) == seen
    ids = sorted(memory.catalog.memories.ids())
    memory.store.repair(whole=True)
    memory.gc.apply(memory.gc.plan())
    assert graph(memory) == seen
    memory.forget(ids[:3])
    undo(
        memory.catalog,
        memory.store,
        sizes=memory.settings.chunking,
        policy=memory.settings.lifecycle.policy,
        now=memory.ledger._now(),
    )
    assert graph(memory) == seen
    assert sound(memory)
    assert len(model.prompts) == asked


def test_a_text_is_asked_about_once_however_often_it_occurs(home):
    home.write("twin", NOTE.format(NAMES[0]))
    model = Asked()
    memory = home.memory("llm", model)
    memory.seed()
    assert len(model.prompts) == len(set(model.prompts)) == len(NAMES)
    home.write("triplet", NOTE.format(NAMES[0]))
    report = memory.seed()
    assert (len(model.prompts), report.extraction.known) == (len(NAMES), len(NAMES))
    twins = [m for m in memory.catalog.memories.each() if NAMES[0] in m.text]
    (entity,) = [one for one, _ in memory.store.entities(NAMES[0])]
    assert len(twins) == 3
    assert entity.description == f"{NAMES[0]} is named in the text."


def test_a_changed_text_is_asked_about_again_and_the_others_are_not(home):
    model = Asked()
    memory = home.memory("both", model)
    memory.seed()
    model.prompts.clear()
    home.write(NAMES[0], NOTE.format("Pierhead"))
    report = memory.seed()
    assert report.extraction.asked == 1
    assert "Pierhead" in model.prompts[0]
    assert NAMES[0] not in names(memory)


def test_another_model_is_asked_anew_and_the_former_answers_wait_for_its_return(home):
    first, second = Asked(), Asked(answer=lambda *_, **__: '{"entities": [], "relationships": []}')
    second.model_id = "second"
    home.memory("llm", first).seed()
    memory = home.memory("llm", second)
    assert memory.seed().extraction.asked == len(NAMES)
    # It names nothing, so the rules stand.
    assert "Harbour Board" in names(memory)
    memory = home.memory("llm", first)
    assert memory.seed().extraction.asked == 0
    assert "Harbour Board" not in names(memory)


def test_where_no_answer_can_be_used_the_graph_is_that_of_the_rules(home):
    memory = home.memory("rules")
    memory.seed()
    ruled = graph(memory)
    memory = home.memory("both", Asked(answer=lambda *_, **__: "I would rather not say."))
    report = memory.seed()
    assert (report.extraction.asked, report.extraction.invalid) == (len(NAMES), len(NAMES))
    assert graph(memory) == ruled
    memory.ledger.absorb()
    assert sum(sums.invalid for sums in memory.ledger.rows().values()) == 2 * len(NAMES)
    (check,) = [check for check in memory.doctor.examine().checks if check.name == "extraction"]
    assert (check.status, check.detail) == ("ok", "6 texts by asked prompt 1, 6 invalid, 0 wait")


def test_a_model_that_is_down_leaves_the_rules_and_the_next_seed_goes_on(home):
    down = Asked("down")
    memory = home.memory("both", down)
    report = memory.seed()
    assert len(memory.catalog.memories.ids(states=[State.INDEXED])) == len(NAMES)
    assert (report.extraction.asked, report.extraction.waiting) == (0, len(NAMES))
    assert "the fake language model is down" in report.extraction.note
    assert len(down.prompts) <= 8
    (check,) = [check for check in memory.doctor.examine().checks if check.name == "extraction"]
    assert (check.status, check.fix) == ("warning", "ragmem seed")
    model = Asked()
    model.model_id = down.model_id
    report = home.memory("both", model).seed()
    assert (report.extraction.asked, report.extraction.waiting, report.extraction.note) == (6, 0, "")


def test_a_seed_is_well_although_no_model_is_there(home, inside):
    arguments = ("seed", "--sources", str(home.place / "sources.toml"))
    environ = home.environ("both", HOME=str(home.place / "user"), RAGMEM_LANGUAGE_MODEL_MODEL="down")
    done = inside(*arguments, **environ)
    assert done.returncode == 0
    assert "6 texts wait for the language model, the rules' entities stand: the fake" in done.stderr
    none = inside(*arguments, **environ | {"RAGMEM_LANGUAGE_MODEL_BACKEND": ""})
    assert none.returncode == 0
    assert "no model is set in [language_model]" in none.stderr
    assert "language model" not in inside(*arguments, "--no-llm", **environ).stderr
    waits = inside(*arguments, "--dry-run", "--json", **environ)
    assert '"waiting": 6' in waits.stdout
    asked = inside(*arguments, **environ | {"RAGMEM_LANGUAGE_MODEL_MODEL": "valid"})
    assert "asked fake-valid about 6 texts" in asked.stderr


def test_a_text_that_is_refused_twice_is_not_asked_about_with_every_seed(home):
    valid = FakeLanguageModel("valid").complete

    def refuse(prompt, **options):
        if NAMES[2] in prompt:
            raise BackendError("the provider does not like \ud83d in this text")
        return valid(prompt, **options)

    model = Asked(answer=refuse)
    memory = home.memory("both", model)
    report = memory.seed()
    assert sum(NAMES[2] in prompt for prompt in model.prompts) == 2
    assert (report.extraction.invalid, report.extraction.waiting) == (1, 0)
    model.prompts.clear()
    memory.seed()
    assert model.prompts == []


def test_a_model_that_goes_down_at_the_last_texts_has_refused_none_of_them(home):
    valid = FakeLanguageModel("valid").complete
    answers = []

    def down_after_four(prompt, **options):
        if len(answers) == 4:
            raise BackendError("the server is gone")
        answers.append(prompt)
        return valid(prompt, **options)

    done = home.memory("both", Asked(answer=down_after_four)).seed().extraction
    assert (done.asked, done.invalid, done.waiting) == (4, 0, 2)
    assert "the server is gone" in done.note
    done = home.memory("both", Asked()).seed().extraction
    assert (done.known, done.asked, done.waiting) == (4, 2, 0)


def test_a_cap_ends_the_pass_and_counts_for_nobody_as_invalid(home):
    memory = home.memory("both", RAGMEM_SPEND_DAILY_CALLS="2", RAGMEM_LANGUAGE_MODEL_CONCURRENCY="1")
    report = memory.seed()
    done = report.extraction
    assert (done.asked, done.invalid, done.waiting) == (2, 0, 4)
    assert "cap of 2 requests is reached" in done.note
    assert sound(memory)
    done = home.memory("both").seed().extraction
    assert (done.known, done.asked, done.waiting) == (2, 4, 0)


def test_what_is_on_its_way_when_the_cap_is_reached_is_kept(home):
    reached, answered = threading.Event(), threading.Event()
    valid = FakeLanguageModel("valid").complete
    guard = threading.Lock()
    asked = []

    def capped(prompt, **options):
        with guard:
            asked.append(prompt)
            number = len(asked)
        if number == 1:
            assert reached.wait(10)
            answered.set()
            return valid(prompt, **options)
        reached.set()
        raise BackendError("today's cap is reached")

    memory = home.memory("both", Asked(answer=capped), RAGMEM_LANGUAGE_MODEL_CONCURRENCY="2")

    def admit(purpose):
        if reached.is_set():
            raise BackendError("today's cap is reached", hint="wait")

    memory.ledger.admit = admit
    done = memory.seed().extraction
    assert answered.is_set()
    assert (done.asked, done.note) == (1, "today's cap is reached; wait")
    assert len(asked) <= 4


def test_a_pass_without_news_looks_at_no_text(home, monkeypatch):
    model = Asked()
    memory = home.memory("both", model)
    memory.seed()
    monkeypatch.setattr(extraction, "find_texts", None)
    assert memory.seed().extraction.known == len(NAMES)
    monkeypatch.undo()
    found = {m.title: m.id for m in memory.catalog.memories.each()}
    memory.forget([found[NAMES[0]]])
    assert memory.seed().extraction.known == len(NAMES) - 1
    memory.gc.undo()
    assert memory.seed().extraction.known == len(NAMES)
    assert len(model.prompts) == len(NAMES)


def test_a_text_that_was_purged_and_comes_back_is_asked_about_again(home):
    model = Asked()
    memory = home.memory("both", model, RAGMEM_ARCHIVE_KEEP_DAYS="0")
    memory.seed()
    note = home.notes / f"{NAMES[0]}.md"
    (gone,) = [one for one in memory.catalog.memories.each() if one.uri == str(note)]
    memory.forget([gone.id])
    assert memory.gc.purge().texts == 1
    # A person writes it again, which ends the forgetting.
    memory.ingest([Draft(gone.source, gone.uri, gone.text, gone.title, event_time=gone.event_time)])
    assert memory.seed().extraction.asked == 1
    assert len(model.prompts) == len(NAMES) + 1


def test_more_texts_than_are_held_at_once_are_all_asked_about(home, monkeypatch):
    monkeypatch.setattr(extraction, "TEXTS_AT_ONCE", 4)
    model = Asked()
    memory = home.memory("both", model)
    done = memory.seed().extraction
    assert (done.asked, done.waiting, len(set(model.prompts))) == (6, 0, 6)
    assert sound(memory)


def test_a_model_that_takes_many_prompts_gets_many(home):
    model = Many()
    report = home.memory("both", model).seed()
    assert (model.batches, report.extraction.asked) == ([6], 6)


def test_an_interrupted_pass_keeps_what_was_answered(home, monkeypatch):
    monkeypatch.setattr(extraction, "BATCH_SIZE", 2)
    valid = FakeLanguageModel("valid").complete

    def interrupted(prompt, **options):
        if len(model.prompts) == 4:
            raise KeyboardInterrupt
        return valid(prompt, **options)

    model = Many(answer=interrupted)
    memory = home.memory("both", model)
    with pytest.raises(KeyboardInterrupt):
        memory.seed()
    again = Asked()
    memory = home.memory("both", again)
    done = memory.seed()
    assert (done.extraction.known, done.extraction.asked, done.resumed) == (2, 4, 2)
    assert set(again.prompts).isdisjoint(model.prompts[:2])
    assert sound(memory)


def test_an_error_that_nobody_expects_reaches_the_caller(home):
    class OddError(Exception):
        pass

    def odd(prompt, **_):
        raise OddError

    with pytest.raises(OddError):
        home.memory("both", Asked(answer=odd)).seed()


def test_a_memory_that_leaves_or_changes_while_it_is_asked_about_is_as_it_is_then(home):
    other = home.memory("both")
    valid = FakeLanguageModel("valid").complete
    happened = threading.Event()

    def meanwhile(prompt, **options):
        if not happened.is_set():
            happened.set()
            found = {m.title: m for m in other.catalog.memories.each()}
            other.catalog.memories.remove([found[NAMES[0]].id])
            other.store.delete([found[NAMES[0]].id])
            changed = replace(found[NAMES[1]], text=NOTE.format("Pierhead"), content_hash="another")
            other.catalog.memories.accept([(replace(changed, state=State.PENDING), ())])
        return valid(prompt, **options)

    memory = home.memory("llm", Asked(answer=meanwhile), RAGMEM_LANGUAGE_MODEL_CONCURRENCY="1")
    memory.seed()
    left = {m.title: m for m in memory.catalog.memories.each()}
    assert NAMES[0] not in left
    assert "Pierhead" in left[NAMES[1]].text
    assert memory.store.memory_ids() == {m.id for m in left.values()}
    assert {NAMES[0], NAMES[1]}.isdisjoint(names(memory))
    assert happened.is_set()


@pytest.mark.parametrize("store", ["fake", "lightrag"])
def test_a_memory_that_leaves_while_its_record_is_made_is_not_put(home, store):
    memory = home.memory("rules", RAGMEM_STORE_BACKEND=store)
    put, refused = memory.store.put, []

    def late(records, **options):
        if not refused:
            refused.append(records[0].memory.id)
            memory.catalog.memories.remove(refused)
        put(records, **options)

    memory.store.put = late
    memory.seed()
    assert len(refused) == 1
    assert memory.store.memory_ids() == memory.catalog.memories.ids()
    assert len(memory.store.memory_ids()) == len(NAMES) - 1
    assert sound(memory)


@pytest.mark.parametrize("store", ["fake", "lightrag"])
@pytest.mark.parametrize(
    ("text", "title", "state"),
    [
        (NOTE.format("Pierhead"), "one", State.INDEXED),
        (NOTE.format(NAMES[0]), "another title", State.INDEXED),
        ("ok thanks", "one", State.BUFFERED),
    ],
    ids=["changes", "is renamed", "fades"],
)
def test_what_another_process_handed_in_meanwhile_is_not_overwritten(home, store, text, title, state):
    memory = home.memory("rules", RAGMEM_STORE_BACKEND=store)
    other = home.memory("rules", RAGMEM_STORE_BACKEND=store)
    put, happened = memory.store.put, []

    def late(records, **options):
        if not happened:
            happened.append(True)
            other.ingest([Draft("handed", "/one", text, title)])
        put(records, **options)

    memory.store.put = late
    memory.ingest([Draft("handed", "/one", NOTE.format(NAMES[0]), "one")])
    (left,) = memory.catalog.memories.each()
    assert (left.text.strip(), left.title, left.state) == (text.strip(), title, state)
    assert memory.store.memory_ids() == ({left.id} if state is State.INDEXED else set())
    hits = memory.store.search(NOTE.format(NAMES[0]), limit=9)
    assert {hit.chunk_id for hit in hits} <= {chunk.id for chunk in memory.catalog.memories.chunks(left)}
    assert (NAMES[0] in names(memory)) == (NAMES[0] in text)
    assert sound(memory)


def test_a_memory_that_arrives_with_a_text_that_is_just_asked_about_gets_the_answer(home):
    other = home.memory("both")
    valid = FakeLanguageModel("valid").complete

    def meanwhile(prompt, **options):
        home.write("late", NOTE.format(NAMES[0]))
        if "late.md" not in "".join(m.uri for m in other.catalog.memories.each()):
            other.seed(llm=False)
        return valid(prompt, **options)

    memory = home.memory("llm", Asked(answer=meanwhile), RAGMEM_LANGUAGE_MODEL_CONCURRENCY="1")
    memory.seed()
    alone = [m.id for m in memory.catalog.memories.each() if NAMES[0] not in m.text]
    first = [m.id for m in memory.catalog.memories.each() if NAMES[0] in m.text][:1]
    memory.store.delete([*alone, *first])
    assert "Harbour Board" not in names(memory)


def test_asking_costs_no_vector_of_a_chunk(home):
    embedder = Counting()
    memory = home.memory("rules", RAGMEM_STORE_BACKEND="lightrag")
    memory.seed()
    memory.close()
    plain = home.memory("both", RAGMEM_STORE_BACKEND="lightrag")

    class Models(FakeModels):
        @property
        def embedder(self):
            return embedder

    memory = Ragmem(plain.settings, home=plain.home, cwd=plain.cwd, models=Models(Asked()))
    memory.seed()
    texts = {
        chunk.searchable
        for m in memory.catalog.memories.each()
        for chunk in memory.catalog.memories.chunks(m)
    }
    assert len(texts) == len(NAMES)
    assert embedder.texts == []
    assert sound(memory)
    memory.close()


def test_what_was_found_in_a_text_leaves_with_the_text(home):
    model = Asked()
    memory = home.memory("both", model, RAGMEM_ARCHIVE_KEEP_DAYS="0")
    memory.seed()
    found = {m.title: m.id for m in memory.catalog.memories.each()}
    memory.forget([found[NAMES[0]]])
    assert len(memory.catalog.extractions.texts()) == len(NAMES)
    memory.gc.purge()
    assert memory.catalog.archive.runs() == []
    assert len(memory.catalog.extractions.texts()) == len(NAMES) - 1


KILLED = """
    import os, signal, sys, threading
    from pathlib import Path
    from ragmem.backends.fake import FakeLanguageModel, FakeModels
    from ragmem.api.memory import Ragmem
    place, limit = Path(sys.argv[1]), int(sys.argv[2])
    valid = FakeLanguageModel("valid").complete

    class Model:
        model_id = "counted"
        asked = 0
        def complete(self, prompt, **options):
            self.asked += 1
            if self.asked > limit:
                os.kill(os.getpid(), signal.SIGKILL)
            with open(place / "asked", "a") as file:
                file.write(prompt.replace(chr(10), " ") + chr(10))
            return valid(prompt, **options)

    plain = Ragmem.open(home=place / "user", cwd=place / "user", sources_file=place / "sources.toml")
    memory = Ragmem(plain.settings, home=plain.home, cwd=plain.cwd, models=FakeModels(Model()))
    memory.seed()
    memory.close()
"""


def test_a_killed_pass_goes_on_and_asks_nothing_twice(home):
    environ = {**os.environ, **home.environ("both", RAGMEM_LANGUAGE_MODEL_CONCURRENCY="1")}
    for limit, code in ((3, -signal.SIGKILL), (9, 0)):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(KILLED), str(home.place), str(limit)],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
    asked = (home.place / "asked").read_text().splitlines()
    assert len(asked) == len(set(asked)) == len(NAMES)
    memory = home.memory("both")
    assert len(memory.catalog.extractions.answered_texts("counted prompt 1")) == len(NAMES)
    assert {"Harbour", "Harbour Board"} <= names(memory)
    assert sound(memory)


def test_a_tiny_model_that_answers_garbage_leaves_the_example_home_to_the_rules(home, tiny_models):
    example = Path(__file__).parents[3] / "examples" / "home"
    shutil.copytree(example, home.place / "example")
    model = shutil.copytree(tiny_models.chat, home.place / "chat")
    # Its tokens are letters, of which the instructions take more than its window has; texts are cut to fit.
    description = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(description | {"max_position_embeddings": 1550}))

    def seeded(by, place, **more):
        environ = home.environ(
            by, RAGMEM_HOME=str(home.place / place), RAGMEM_STORE_BACKEND="lightrag", **more
        )
        where = home.place / "example"
        settings = Ragmem.open(environ=environ, home=where, cwd=where).settings
        # Held to the form by a grammar, it would say that nothing is named, which is valid.
        chosen = replace(settings.language_model, options={"constrained": False})
        memory = Ragmem(replace(settings, language_model=chosen), home=where, cwd=where)
        home._opened.append(memory)
        return memory, memory.seed()

    ruled, report = seeded("rules", "ruled")
    assert report.extraction is None
    memory, report = seeded(
        "both",
        "garbage",
        RAGMEM_LANGUAGE_MODEL_BACKEND="mlx",
        RAGMEM_LANGUAGE_MODEL_MODEL=str(model),
        RAGMEM_EXTRACTION_MAX_TOKENS="16",
    )
    done = report.extraction
    assert done.asked == done.invalid > 20
    assert (done.waiting, done.note, report.failed) == (0, "", 0)
    assert graph(memory) == graph(ruled)
    assert len(memory.store.entities(limit=10_000)) > 50
    assert sound(memory)
    assert sum(sums.invalid for sums in memory.ledger.rows().values()) >= 2 * done.invalid
    assert memory.query("why did the deploy answer 502").matches
    (check,) = [check for check in memory.doctor.examine().checks if check.name == "extraction"]
    assert f"{done.asked} texts by" in check.detail
    assert f"{done.invalid} invalid, 0 wait" in check.detail
    again = memory.seed()
    assert (again.would_change, again.extraction.asked) == (False, 0)


def test_an_answer_of_no_use_is_asked_for_once_more(home):
    garbled = set()

    def answer(prompt, **options):
        text = prompt.partition("</text>")[0]
        if text not in garbled:
            garbled.add(text)
            return "I would rather not."
        assert "JSON alone" in prompt
        return FakeLanguageModel("valid").complete(prompt, **options)

    model = Asked(answer=answer)
    memory = home.memory("both", model)
    report = memory.seed()

    assert report.extraction.invalid == 0
    assert report.extraction.asked == len(NAMES)
    assert len(model.prompts) == 2 * len(NAMES)
    memory.seed()
    assert len(model.prompts) == 2 * len(NAMES)


def test_an_answer_of_no_use_is_asked_for_no_third_time(home):
    model = Asked(answer=lambda *_, **__: "I would rather not.")
    memory = home.memory("both", model)
    report = memory.seed()
    memory.seed()

    assert report.extraction.invalid == report.extraction.asked == len(NAMES)
    assert len(model.prompts) == 2 * len(NAMES)
