"""Names of one thing in a memory: one node, explained, taken back, and the same however it came about."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeEmbedder, FakeModels
from ragmem.domain.model import Draft, State
from ragmem.services.doctor.invariants import violations
from ragmem.services.entities import merges
from ragmem.services.retrieval.graph_list import graph_list
from ragmem.services.retrieval.query import Question
from ragmem.storage.fulltext.fulltext import search
from ragmem.storage.names.names import AT_ONCE

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
LIGHTRAG = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}

LONG = "We decided to keep the Harbor Control Protocol in `pier/services/tide.py` because PostgreSQL failed."
SHORT = "The root cause of the error was HCP: it calls `tide.py` and PostgreSQL before the fix."
STATED = "The decision: HCP (Harbor Control Protocol) is used by `quay-master`, because Quay Master needs it."
OTHER = "The error of `other/tide.py` was the root cause; the fix calls PostgreSQL because HCP broke."


@pytest.fixture(autouse=True)
def _no_notes(notes):
    """Leave the sources empty, so that a seed only finishes what was begun."""
    for path in notes.iterdir():
        path.unlink()


@pytest.fixture
def shown(inside, tmp_path):
    """Return a function that runs `ragmem inspect` on the memory's home."""
    return lambda *arguments: inside("inspect", *arguments, RAGMEM_HOME=str(tmp_path / "ragmem"))


def draft(name, text, **more):
    return Draft("notes", name, f"# {name}\n\n{text}\n", title=name, **more)


def graph(memory):
    """Return the entities with their types, and the relations with their weights."""
    found = memory.store.entities(limit=500)
    names = {(entity.name, entity.type) for entity, _ in found}
    relations = {
        (*sorted((relation.source, relation.target)), relation.weight)
        for entity, _ in found
        for relation, _ in memory.store.neighbours(entity.name, limit=500)
    }
    return names, relations


def names(memory):
    return {name for name, _ in graph(memory)[0]}


def parts(memory):
    """Return which names share a node."""
    with memory.catalog.database.read() as connection:
        rows = connection.execute("SELECT name, canonical FROM entity_names").fetchall()
    return {frozenset(name for name, node in rows if node == canonical) for _, canonical in rows}


def key_of(memory, name):
    return next(one.key for one in merges.merges(memory.catalog, name=name) if one.name == name)


def undo(memory, name, now):
    return merges.undo(memory.catalog, memory.store, key_of(memory, name), now=now)


@pytest.fixture
def now(memory):
    memory.ingest([draft("clock", LONG)])
    moment = next(iter(memory.catalog.memories.each())).created_at
    memory.forget([one.id for one in memory.catalog.memories.each()])
    return moment


def test_what_is_stated_later_joins_what_was_stored_before(memory):
    memory.ingest([draft("long", LONG)])
    memory.ingest([draft("short", SHORT)])
    assert {"HCP", "Harbor Control Protocol"} <= names(memory)
    memory.ingest([draft("stated", STATED)])

    assert len({"HCP", "Harbor Control Protocol"} & names(memory)) == 1
    assert "tide.py" not in names(memory)
    assert {"quay-master", "Quay Master"} & names(memory) in ({"quay-master"}, {"Quay Master"})
    assert not memory.catalog.memories.ids(states=[State.PENDING])
    assert violations(memory.catalog, memory.store) == []


def test_putting_under_another_name_embeds_new_names_only(open_memory, tmp_path):
    class Counting(FakeEmbedder):
        def __init__(self):
            super().__init__()
            self.texts = []

        def embed(self, texts, *, role):
            self.texts.extend(texts)
            return super().embed(texts, role=role)

    counting = Counting()
    settings_of = open_memory(**LIGHTRAG)
    memory = Ragmem(
        settings_of.settings, home=settings_of.home, cwd=tmp_path, models=FakeModels(embedder=counting)
    )
    memory.ingest([draft("long", LONG)])
    memory.ingest([draft("short", SHORT)])
    counting.texts.clear()
    memory.ingest([draft("stated", STATED)])
    memory.close()

    assert not [text for text in counting.texts if SHORT in text or LONG in text]


def test_undoing_a_merge_gives_the_graph_of_before(memory, now):
    memory.ingest([draft("long", LONG)])
    memory.ingest([draft("short", SHORT)])
    before = graph(memory)
    for name in ("tide.py",):
        undo(memory, name, now)
    apart = graph(memory)
    assert "tide.py" in names(memory)
    done = merges.merges(memory.catalog, undone=True)
    merges.redo(memory.catalog, memory.store, done[0].key, now=now)

    assert graph(memory) == before != apart


def test_undoing_a_merge_leaves_transcripts_that_wait_to_who_makes_their_vectors(memory, now):
    memory.ingest([draft("long", LONG), draft("short", SHORT)])
    (told,) = memory.ingest(
        [replace(draft("told", "The queue lost rows because the disk was full."), source="transcripts")]
    )
    memory.catalog.memories.mark([told.id], State.PENDING)
    undo(memory, "tide.py", now)
    assert memory.catalog.memories.pending_ids() == [told.id]
    assert "tide.py" in names(memory)


def test_what_was_undone_stays_so(memory, now):
    memory.ingest([draft("long", LONG), draft("stated", STATED), draft("short", SHORT)])
    gone = {"HCP", "Harbor Control Protocol"} - names(memory)
    undo(memory, *gone, now)
    memory.ingest([draft("again", STATED + " It was resolved."), draft("short", SHORT + " Resolved.")])
    apart = graph(memory)[1]
    memory.seed(rebuild=True)

    assert {"HCP", "Harbor Control Protocol"} <= names(memory)
    assert graph(memory)[1] == apart
    assert merges.merges(memory.catalog, undone=True)[0].name in gone


def test_a_rebuild_gives_the_same_graph(memory):
    for number, text in enumerate((OTHER, SHORT, STATED, LONG)):
        memory.ingest([draft(str(number), text)])
    before = names(memory), graph(memory)[1]
    memory.seed(rebuild=True)

    assert (names(memory), graph(memory)[1]) == before


def test_an_alias_goes_with_the_last_memory_that_states_it(memory):
    stored = memory.ingest([draft(str(number), text) for number, text in enumerate((LONG, SHORT, STATED))])
    (again,) = memory.ingest([draft("again", STATED + " The fix was resolved.")])
    joined = graph(memory)[0]
    memory.forget([stored[2].id])
    assert len({"HCP", "Harbor Control Protocol"} & names(memory)) == 1
    memory.forget([again.id])
    memory.seed()

    assert {"HCP", "Harbor Control Protocol"} <= names(memory)
    assert graph(memory)[0] != joined


def test_nothing_of_a_forgotten_memory_is_left_in_the_names(memory):
    kept, gone = memory.ingest([draft("kept", LONG), draft("gone", OTHER)])
    memory.forget([gone.id])

    with memory.catalog.database.read() as connection:
        left = {name for (name,) in connection.execute("SELECT name FROM entity_names")}
        connection.execute("SELECT 1").fetchall()
    assert "other/tide.py" not in left
    assert "pier/services/tide.py" in left
    assert kept.id in memory.catalog.memories.ids()


def test_one_write_puts_a_bounded_number_of_memories_again(memory):
    many = [draft(str(number), SHORT + f" Case {number}.") for number in range(4 * AT_ONCE)]
    memory.ingest(many)
    told = memory.catalog.names.learn
    waiting = []

    def learn(items, **options):
        told(items, **options)
        waiting.append(len(memory.catalog.memories.ids(states=[State.PENDING])))

    memory.catalog.names.learn = learn
    memory.ingest([draft("long", LONG)])

    assert waiting[0] <= AT_ONCE + 1
    late = [check.detail for check in memory.doctor.examine().checks if check.mend == "pending"]
    assert late == [
        (
            "1 names were resolved to another entity; a seed or this repair updates the memories that "
            "mention them"
        )
    ]
    memory.seed()
    assert memory.catalog.names.count_late() == 0
    assert "tide.py" not in names(memory)


def test_names_of_an_older_release_are_learnt_by_the_next_seed(memory):
    memory.ingest([draft("long", LONG), draft("short", SHORT)])
    after = graph(memory)
    with memory.catalog.database.write() as connection:
        for table in ("entity_mentions", "entity_aliases", "entity_names"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("DELETE FROM meta WHERE key = 'names_learnt'")
        connection.execute("UPDATE memories SET state = 'pending'")
    memory.catalog.names.learn, learn = (lambda *_, **__: None), memory.catalog.names.learn
    memory.seed()
    assert "tide.py" in names(memory)
    memory.catalog.names.learn = learn
    with memory.catalog.database.write() as connection:
        connection.execute("DELETE FROM meta WHERE key = 'names_learnt'")
    memory.seed()

    assert graph(memory) == after


def test_a_merge_is_explained_by_its_rule_and_sentence(memory, shown):
    memory.ingest([draft("long", LONG), draft("short", SHORT), draft("stated", STATED)])
    memory.close()

    found = json.loads(shown("merges", "hcp", "--json").stdout)["merges"]
    (one,) = [one for one in found if one["rule"] == "acronym"]
    assert one["sentence"] == STATED
    assert {one["name"], one["into"]} == {"HCP", "Harbor Control Protocol"}
    assert "tide.py" in shown("merges").stdout


def test_a_merge_is_undone_by_its_key(memory, shown):
    memory.ingest([draft("long", LONG), draft("short", SHORT)])
    key = key_of(memory, "tide.py")
    memory.close()

    assert "would have" in shown("merges", "--undo", key, "--dry-run").stdout
    assert "has an entity of its own" in shown("merges", "--undo", key).stdout
    assert shown("entity", "tide.py").stdout.startswith("tide.py")
    assert shown("merges", "--undo", key).returncode == 2
    assert shown("merges", "--redo", key).returncode == 0
    assert "tide.py" in shown("merges").stdout
    assert shown("merges", "nobody").returncode == 2
    assert shown("merges", "--undone").stderr


TEXTS = (LONG, SHORT, STATED, OTHER)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(len(TEXTS))), st.integers(1, len(TEXTS)))
def test_the_order_of_memories_changes_no_more_than_the_names_of_nodes(order, at_once):
    found = []
    for numbers in (list(range(len(TEXTS))), order):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            memory = Ragmem.open(environ={"RAGMEM_HOME": folder, **FAKE}, home=place, cwd=place)
            with memory:
                for start in range(0, len(numbers), at_once):
                    memory.ingest([draft(str(n), TEXTS[n]) for n in numbers[start : start + at_once]])
                memory.seed(sources=[])
                assert violations(memory.catalog, memory.store) == []
                found.append(parts(memory))

    assert found[0] == found[1]


def test_a_second_hop_goes_by_any_name_of_a_thing(open_memory):
    memory = open_memory()
    memory.ingest(
        [draft("stated", "The decision: we keep the Harbor Control Protocol (HCP) because it lasts.")]
    )
    memory.ingest(
        [
            draft(
                "start", "We decided that Pierd speaks HCP because the tide was the root cause of the error."
            ),
            draft("end", "The Harbor Control Protocol was invented by Ada Winter, because the fix was late."),
            draft("else", "The pump of the harbour failed in March, because the fix of the error was late."),
        ]
    )
    seeds = memory.store.search("who invented what Pierd speaks", limit=10, projects=["user"])
    titles = {one.id: one.title for one in memory.catalog.memories.each()}
    start = [hit for hit in seeds if titles[hit.memory_id] == "start"]
    found = graph_list(
        memory.catalog,
        memory.store,
        "who invented what Pierd speaks",
        words=search(
            memory.catalog.database,
            "who invented what Pierd speaks",
            limit=10,
            also=[hit.chunk_id for hit in start],
        ),
        limit=5,
        seeds=start,
    )

    assert [titles[hit.memory_id] for hit in found][:1] == ["end"]


def test_a_mode_of_the_engine_is_asked_for_the_entity_of_a_name(memory):
    memory.ingest([draft("long", LONG), draft("short", SHORT)])
    asked = []
    native = memory.store.native_query

    def listen(query, mode, *, keywords, **options):
        asked.extend(keywords)
        return native(query, mode, keywords=keywords, **options)

    memory.store.native_query = listen
    memory.query("x", question=Question("what does tide.py call", projects=("user",), mode="local"))

    assert "pier/services/tide.py" in asked
