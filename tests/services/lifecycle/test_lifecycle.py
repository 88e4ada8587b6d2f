"""gc with the rules of the lifecycle: what folds, is hidden or archived, brought back, and never lost."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem.domain.model import Draft, Scope, State, Supersession
from ragmem.domain.model.document_place import place_metadata
from ragmem.domain.model.lifecycle import Connection, LifecycleState
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion.archive import archive_memories, new_run
from ragmem.services.lifecycle.items import RULES
from ragmem.services.lifecycle.outcome import Outcome
from ragmem.services.lifecycle.purge import purge
from ragmem.storage.lifecycle.archive import Removal

DOCS = Path(__file__).parents[3] / "docs"
NOW = datetime(2026, 3, 1, tzinfo=UTC)

BREAD = (
    "The sourdough starter doubles in six hours at 24 degrees, if it is fed with rye flour in the morning.",
    "Rye flour each morning keeps the sourdough starter alive; in the cold it needs a whole night to rise.",
    "A sourdough starter that smells of vinegar was fed too late: throw half of it away and feed it rye.",
)
WISH = "Decision: we bake with the sourdough starter and rye flour only, because yeast gives no taste."
SAID = (" ".join(BREAD), " ".join(BREAD[:2]), " ".join(BREAD[1:]))
"""What one session says whole, and parts of it once more."""
PRINTED = "Backup job {n} finished at {n}:15 with {n} files copied to the cellar and no error at all found."


def draft(name, text, *, minute=0, project="kitchen", source="ingest", **more):
    return Draft(
        source,
        f"/n/{name}",
        text,
        name,
        event_time=NOW + timedelta(minutes=minute),
        scope=Scope(project),
        **more,
    )


@pytest.fixture
def connected(memory, monkeypatch):
    """Return a memory all of whose projects were compared, and a function that connects some of them."""
    links = []

    def all_compared(catalog, store, **more):
        del catalog, store, more
        return {}, ""

    def of(projects=None):
        there = memory.catalog.memories.ids()
        return [one for one in links if one.first in there and one.second in there]

    def alone(catalog, store, wanted):
        del catalog, store
        return dict.fromkeys(wanted, 0.0)

    monkeypatch.setattr("ragmem.services.lifecycle.plan._connect_memories", all_compared)
    monkeypatch.setattr("ragmem.services.lifecycle.plan.nearest", alone)
    monkeypatch.setattr(memory.catalog.connections, "of", of)

    def link(*ids):
        links.extend(Connection(low, high, 0.8, 0.8, 0.8) for low in ids for high in ids if low < high)

    memory.link = link
    return memory


def stored(memory, *texts):
    memory.prepare()
    first = len(memory.catalog.memories.ids())
    return [
        one.id
        for one in memory.ingest(
            [draft(str(first + n), text, minute=first + n) for n, text in enumerate(texts)], rule="off"
        )
    ]


def spoken(memory, *texts, session="s1", source="transcripts"):
    """Store what a session says."""
    memory.prepare()
    first = len(memory.catalog.memories.ids())
    drafts = [
        draft(str(first + n), text, minute=first + n, source=source, metadata={"session": session})
        for n, text in enumerate(texts)
    ]
    return [one.id for one in memory.ingest(drafts, rule="off")]


def ids(memory):
    return memory.catalog.memories.ids()


def sound(memory):
    assert violations(memory.catalog, memory.store, deep=True) == []


def actions(plan):
    return {item.id: (item.action, item.rule) for item in plan.items}


def test_what_a_session_says_again_folds_behind_the_whole_and_the_run_can_be_undone(connected):
    whole, *parts = spoken(connected, *SAID)
    before = {m.id: m for m in connected.catalog.memories.each()}
    plan = connected.gc.plan()
    assert actions(plan) == {whole: ("keep", "last copy")} | dict.fromkeys(parts, ("archive", "fold"))
    done = connected.gc.apply(plan)
    assert done.archived == 2
    # It keeps its own title, text, date and source, and nothing new is made.
    assert list(connected.catalog.memories.each()) == [before[whole]]
    assert {item.successor for item in connected.catalog.archive.of(done.run)} == {whole}
    assert connected.gc.plan().empty
    sound(connected)
    undone = connected.gc.undo()
    assert (undone.restored, undone.left) == (2, 0)
    assert {m.id: m for m in connected.catalog.memories.each()} == before
    sound(connected)


def test_connected_memories_about_one_thing_stay_apart(connected):
    bread = stored(connected, *BREAD)
    connected.link(*bread)
    assert connected.gc.plan().empty


@pytest.mark.parametrize(
    "apart",
    [
        {"session": ["s1", "s2", "s3"]},
        {"source": ["transcripts", "sessions", "conversations"]},
        {"project": ["kitchen", "bakery", "cellar"]},
    ],
)
def test_what_several_sessions_sources_or_projects_say_does_not_fold(connected, apart):
    connected.prepare()
    texts = SAID[:3]
    for n, text in enumerate(texts):
        at = {name: values[n] for name, values in apart.items()}
        session = at.pop("session", "s1")
        more = {"source": "transcripts"} | at
        connected.ingest([draft(str(n), text, minute=n, metadata={"session": session}, **more)], rule="off")
    assert not [item for item in connected.gc.plan().items if item.action != "keep"]


@pytest.mark.parametrize("source", ["ingest", "records", "memory", "prds", "claudemds", "notes"])
def test_what_a_person_keeps_or_hands_in_never_folds(connected, source):
    spoken(connected, *SAID, source=source)
    assert not [item for item in connected.gc.plan().items if item.action != "keep"]


def test_the_pages_of_a_document_never_fold(connected):
    connected.prepare()
    for file in ("north.pdf", "south.pdf"):
        connected.ingest(
            [
                draft(
                    f"{file}#page={n}",
                    text,
                    minute=n,
                    source="transcripts",
                    metadata={"session": "s1", **place_metadata(file, f"page={n}", f"page {n}")},
                )
                for n, text in enumerate((*SAID, "This page is left empty on purpose."), 1)
            ],
            rule="off",
        )
    assert not [item for item in connected.gc.plan().items if item.action != "keep"]


def test_a_protected_memory_does_not_fold_and_stays_in_sight(connected):
    bread = spoken(connected, *SAID)
    metadata = {"session": "s1", "type": "decision"}
    decided = draft("9", f"{SAID[0]} {WISH}", minute=9, source="transcripts", metadata=metadata)
    (wish,) = [one.id for one in connected.ingest([decided], rule="off")]
    connected.link(*bread, wish)
    connected.gc.apply(connected.gc.plan())
    assert wish in ids(connected)
    assert connected.catalog.supersessions.all() == []
    found = [match.memory.id for match in connected.query("bake with the sourdough starter only").matches]
    assert wish in found


def test_each_memory_that_folded_is_found_by_its_own_words(connected):
    whole, *_ = spoken(connected, *SAID)
    connected.gc.apply(connected.gc.plan())
    for text in BREAD:
        assert connected.query(text).matches[0].memory.id == whole


def test_memories_of_a_session_that_differ_in_one_amount_do_not_fold(connected):
    texts = [f"{SAID[0]} The oven holds {n} loaves." for n in (4, 6, 8)]
    spoken(connected, *texts)
    assert "fold" not in {item.rule for item in connected.gc.plan().items}


def test_templates_collapse_to_the_newest_and_are_not_seeded_again(memory):
    printed = stored(memory, *(PRINTED.format(n=n) for n in range(10, 16)))
    done = memory.gc.apply(memory.gc.plan(), allow_large=True)
    assert done.archived == 5
    assert ids(memory) == {printed[-1]}
    assert {item.successor for item in memory.catalog.archive.of(done.run)} == {printed[-1]}


def test_what_is_alone_and_worthless_is_archived_when_it_is_old(connected):
    (old,) = spoken(connected, "Perfect! Now let me check the output:")
    words = (
        "amber basalt cedar dune ember fjord grove heath islet jetty knoll lagoon marsh notch oasis".split()
    )
    later = stored(connected, *(f"The {w} gate of {w} needs {w} keys because {w} locks rust." for w in words))
    plan = connected.gc.plan(rules=["cold"])
    # Twenty newer ones are needed.
    assert plan.empty
    later += stored(
        connected, *(f"The {w} well of {w} needs {w} rope because {w} winches slip." for w in words)
    )
    plan = connected.gc.plan(rules=["cold"])
    assert [item.id for item in plan.active_items()] == [old]
    connected.gc.apply(plan)
    assert old not in ids(connected)
    item, note = connected.gc.restore(old[:12])
    assert (item.memory.id, note) == (old, "")
    assert (
        connected.catalog.lives.entry(old, policy=connected.settings.lifecycle.policy).life
        is LifecycleState.PROVEN
    )
    assert old not in {item.id for item in connected.gc.plan().active_items()}
    sound(connected)


def test_what_changed_after_the_plan_is_left_alone(connected):
    said = spoken(connected, *SAID)
    plan = connected.gc.plan()
    connected.catalog.lives.pin(said[1], pinned=True, now=NOW)
    done = connected.gc.apply(plan)
    assert (done.archived, done.skipped) == (1, 1)
    assert ids(connected) == set(said[:2])
    sound(connected)


def test_nothing_folds_behind_a_memory_whose_text_changed_after_the_plan(connected):
    said = spoken(connected, *SAID)
    plan = connected.gc.plan()
    with connected.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET content_hash = 'other' WHERE id = ?", (said[0],))
    done = connected.gc.apply(plan)
    assert (done.archived, done.skipped) == (0, 2)
    assert ids(connected) == set(said)


def test_what_replaces_another_memory_never_folds(connected):
    said = spoken(connected, *SAID, "The oven in the yard holds nine loaves of bread at once.")
    replaced = Supersession(said[3], said[1], NOW, NOW, "value", "says so now", NOW)
    connected.catalog.supersessions.put([replaced])
    connected.gc.apply(connected.gc.plan())
    assert ids(connected) == {said[0], said[1], said[3]}


def test_time_that_is_up_ends_a_run_between_two_steps(memory):
    stored(memory, *(PRINTED.format(n=n) for n in range(10, 16)))
    done = memory.gc.apply(memory.gc.plan(), allow_large=True, budget_s=-1)
    assert (done.stopped, done.archived) == (True, 0)
    assert len(ids(memory)) == 6
    assert memory.gc.apply(memory.gc.plan(), allow_large=True).archived == 5


def test_an_interrupted_run_tells_what_it_did_and_can_be_undone(connected, monkeypatch):
    printed = stored(connected, *(PRINTED.format(n=n) for n in range(10, 16)))
    (liked,) = stored(connected, BREAD[0])
    connected.catalog.lives.rate(liked, 1, now=NOW)

    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(connected.catalog.lives, "change", interrupted)
    outcome = Outcome()
    with pytest.raises(KeyboardInterrupt):
        connected.gc.apply(connected.gc.plan(), allow_large=True, outcome=outcome)
    assert outcome.archived == 5
    assert [run.ended for run in connected.gc.history()] == [None]
    sound(connected)
    assert connected.gc.undo().restored == 5
    assert ids(connected) == {*printed, liked}


def test_undo_leaves_what_was_stored_anew_and_its_former_text_stays_in_the_archive(memory):
    (first,) = memory.ingest([draft("a", BREAD[0])])
    run = memory.forget([first.id])
    memory.ingest([draft("a", BREAD[1])])
    undone = memory.gc.undo(run)
    assert (undone.restored, undone.left) == (0, 1)
    assert memory.memory(first.id).text == BREAD[1]
    assert [item.text for item in memory.catalog.archive.memories(run)] == [BREAD[0]]
    with pytest.raises(UsageError, match="a newer text"):
        memory.gc.restore(first.id)
    sound(memory)


def test_what_is_not_in_the_archive_cannot_be_restored(memory):
    memory.ingest([draft("a", BREAD[0])])
    with pytest.raises(NotFoundError, match='the archive has no memory "zzzzzz"'):
        memory.gc.restore("zzzzzz")


def test_seed_leaves_in_the_archive_what_lies_there_until_its_file_changes(memory, notes):
    memory.seed()
    (bug,) = [m for m in memory.catalog.memories.each() if m.uri.endswith("bug.md")]
    memory.forget([bug.id])
    memory.seed(rebuild=True)
    report = memory.seed(explain=True)
    assert bug.id not in ids(memory)
    assert sum(tally.archived for tally in report.tallies) == 1
    path = notes / "bug.md"
    path.write_text(f"{path.read_text()}\nThe lock was in /run/lock, and nobody knew.\n")
    assert sum(tally.new for tally in memory.seed().tallies) == 1
    assert bug.id in ids(memory)


def test_what_is_handed_in_again_comes_back(memory):
    (one,) = memory.ingest([draft("a", BREAD[0])])
    memory.forget([one.id])
    memory.ingest([draft("a", BREAD[0])])
    assert one.id in ids(memory)
    assert memory.catalog.lives.of([one.id])[one.id].reprieves == 1
    assert memory.gc.undo().restored == 0
    assert memory.catalog.archive.count() == 0
    sound(memory)


def test_history_tells_of_each_run(memory):
    stored(memory, *(PRINTED.format(n=n) for n in range(10, 16)))
    done = memory.gc.apply(memory.gc.plan(), allow_large=True)
    memory.gc.undo()
    (run,) = memory.gc.history()
    assert (run.run, run.caller, run.counts, run.archived) == (done.run, "gc", {"archive/fold": 5}, 0)
    assert run.undone
    assert memory.gc.run_idle(budget_s=5) is None


def test_a_protected_memory_outlives_its_file(memory, notes):
    (notes / "wish.md").write_text(f"# Bread\n\n{WISH}\n")
    memory.seed()
    (wish,) = [m for m in memory.catalog.memories.each() if m.uri.endswith("wish.md")]
    (notes / "wish.md").unlink()
    (item,) = [item for item in memory.gc.plan(missing=True).items if item.id == wish.id]
    assert (item.action, item.rule) == ("keep", "protected")


def test_several_processes_decide_as_one_does(memory):
    memory.prepare()
    drafts = [
        draft(f"{project}-{n}", PRINTED.format(n=n), minute=n, project=project)
        for project in ("kitchen", "cellar", "attic")
        for n in range(10, 14)
    ]
    memory.ingest(drafts, rule="off")
    alone, together = memory.gc.plan(), memory.gc.plan(workers=2)
    assert len(alone.active_items()) == 9
    assert together == alone


def test_a_rule_that_there_is_not_is_refused_with_the_list_of_those_that_there_are(memory):
    memory.prepare()
    with pytest.raises(UsageError, match='gc has no rule "colt"') as refused:
        memory.gc.plan(rules=["colt"])
    assert "duplicate" in refused.value.hint
    assert "cold" in refused.value.hint


def test_every_rule_that_the_pages_name_can_be_asked_for_alone():
    page = (DOCS / "lifecycle.md").read_text(encoding="utf-8")
    named = set()
    for heading in ("## What gc does", "## Superseded memories"):
        text = page.partition(heading)[2]
        table = text[text.index("\n|") :].partition("\n\n")[0]
        rows = [row.split("|")[1] for row in table.splitlines() if row]
        named |= {rule for row in rows for rule in re.findall("`([^`]+)`", row)}
    assert named == set(RULES)


def merged_by_an_earlier_release(memory, parts):
    """Put one memory in place of others, as releases did that merged; return its id and the run."""
    (whole,) = spoken(memory, f"All of it: {' '.join(SAID)}", source="consolidated", session="")
    run = new_run("gc", NOW)
    memory.catalog.gc_runs.begin(run, caller="gc", now=NOW)
    memory.catalog.gc_runs.link(run, {whole: parts})
    memory.catalog.gc_runs.add(run, {"make/cluster": 1})

    def removals():
        return [Removal(one, "cluster", "", whole) for one in memory.catalog.memories.get(parts).values()]

    archive_memories(memory.catalog, memory.store, run, parts, removals=removals, now=NOW, action="merge")
    memory.catalog.gc_runs.end(run, now=NOW)
    return whole, run


def test_undo_takes_out_what_an_earlier_release_merged(connected):
    said = spoken(connected, *SAID)
    _, run = merged_by_an_earlier_release(connected, said)
    undone = connected.gc.undo(run)
    assert (undone.restored, undone.kept) == (3, 0)
    assert ids(connected) == set(said)
    sound(connected)


def test_undo_keeps_what_was_merged_of_memories_that_have_been_purged(connected):
    merged, run = merged_by_an_earlier_release(connected, spoken(connected, *SAID))
    later = datetime.now(UTC) + timedelta(days=40)
    purge(connected.catalog, now=later, keep=timedelta(days=30), sizes=connected.settings.chunking)
    assert connected.catalog.archive.count() == 0
    undone = connected.gc.undo(run)
    assert (undone.restored, undone.kept) == (0, 1)
    assert ids(connected) == {merged}
    sound(connected)


def test_what_came_in_of_little_worth_and_was_indexed_comes_back_to_be_indexed(memory):
    (one,) = stored(memory, BREAD[0])
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET tier = 'discard'")
    memory.forget([one])
    assert memory.gc.undo().restored == 1
    assert memory.store.memory_ids() == {one}
    sound(memory)


def test_what_was_kept_out_of_the_index_comes_back_as_it_was(memory):
    (noise,) = stored(memory, "Looks good to me, thank you so much.")
    memory.store.delete([noise])
    memory.catalog.memories.mark([noise], State.BUFFERED)
    before = list(memory.catalog.memories.each())
    memory.forget([noise])
    memory.gc.undo()
    assert list(memory.catalog.memories.each()) == before
    sound(memory)


def test_undo_shows_what_an_earlier_release_hid_behind_a_merged_memory(connected):
    (wish,) = stored(connected, WISH)
    said = spoken(connected, *SAID)
    merged, run = merged_by_an_earlier_release(connected, said)
    connected.catalog.gc_runs.link(run, {merged: [wish]})
    hidden = Supersession(wish, merged, NOW, NOW, "merged", "stays behind it", NOW)
    connected.catalog.supersessions.put([hidden])
    assert connected.gc.undo(run).restored == 3
    assert connected.catalog.supersessions.all() == []
    assert ids(connected) == {*said, wish}


def test_the_newest_of_a_template_stays_however_old_and_lone_it_is(connected):
    printed = stored(connected, *(PRINTED.format(n=n) for n in range(10, 16)))
    words = "amber basalt cedar dune ember fjord grove heath islet jetty knoll lagoon marsh notch".split()
    for round_of in ("north", "south"):
        connected.gc.apply(connected.gc.plan(), allow_large=True)
        connected.ingest(
            [
                draft(f"{w}-{round_of}", f"The {w} gate {round_of} needs a key because {w} rusts.", minute=90)
                for w in words
            ],
            rule="off",
        )
    connected.gc.apply(connected.gc.plan(), allow_large=True)
    assert printed[-1] in ids(connected)
    assert not ids(connected).intersection(printed[:-1])
