"""What the graph tells: an entity, ways between two, communities, timelines; project by project."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Entity, Extraction, Record, Relation, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.ingestion.classify import classify_draft

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(params=["fake", "lightrag"])
def memory(request, open_memory) -> Ragmem:
    return open_memory(RAGMEM_STORE_BACKEND=request.param)


def tell(memory, text, *relations, names=(), project="user", days=0):
    """Store a memory that relates entities; each relation is `source, target` and perhaps how."""
    memory.prepare()
    at = NOW + timedelta(days=days)
    judged = classify_draft(
        Draft("notes", f"{project}/{text}", text, event_time=at, scope=Scope(project)),
        now=NOW,
        sizes=memory.settings.chunking,
        rule="off",
        redactor=DEFAULT,
    )
    memory.catalog.memories.accept([(judged.memory, judged.chunks)])
    every = dict.fromkeys([*names, *(name for relation in relations for name in relation[:2])])
    extraction = Extraction(
        judged.chunks[0].id,
        tuple(Entity(name, "tool", text) for name in every),
        tuple(
            Relation(source, target, how[0] if how else "uses", text) for source, target, *how in relations
        ),
    )
    memory.store.put([Record(judged.memory, judged.chunks, (extraction,))])
    return judged.memory.id


def test_an_entity_tells_who_speaks_of_it_latest_first_and_its_neighbours(memory):
    old = tell(memory, "Redis caches the sessions. Nothing else.", ("Redis", "sessions"))
    new = tell(memory, "Calm begins here. Then Billing asks Redis.", ("Billing", "Redis"), days=3)

    [view] = memory.graph().entity("Redis")
    assert (view.place.entity.type, view.place.degree, view.memories) == ("tool", 2, 2)
    assert [(one.memory_id, one.text) for one in view.quotations] == [
        (new, "Then Billing asks Redis."),
        (old, "Redis caches the sessions."),
    ]
    assert {near.entity.name for near in view.neighbours} == {"Billing", "sessions"}


def test_no_more_memories_and_neighbours_are_shown_than_asked_for(memory):
    for number in range(4):
        tell(memory, f"Redis serves part {number}.", ("Redis", f"part {number}"), days=number)
    [view] = memory.graph().entity("Redis", limit=2)
    assert [one.text for one in view.quotations] == ["Redis serves part 3.", "Redis serves part 2."]
    assert (len(view.neighbours), view.memories, view.place.degree) == (2, 4, 4)


@pytest.mark.parametrize("typed", ["Redis Cluster", "redis cluster", " REDIS  CLUSTER ", "redis clu"])
def test_an_entity_is_found_in_any_case_and_by_its_beginning(memory, typed):
    tell(memory, "Redis Cluster is up.", names=["Redis Cluster", "Cluster"])
    [view] = memory.graph().entity(typed)
    assert view.place.entity.name == "Redis Cluster"


def test_the_spelling_that_was_typed_comes_before_a_better_connected_one(memory):
    tell(memory, "Go is fast, go is a verb.", ("Go", "speed"), ("Go", "compiler"), ("go", "verb"))
    for typed in ("Go", "go"):
        [view] = memory.graph().entity(typed)
        assert view.place.entity.name == typed
        assert {typed, *view.place.spellings} == {"Go", "go"}


def test_an_entity_behind_many_of_the_same_beginning_is_found(memory):
    many = [("a", f"a{number}") for number in range(70)]
    tell(memory, "many", *((name, f"{name} end") for _, name in many), names=["A"])
    [view] = memory.graph().entity("a")
    assert view.place.entity.name == "A"


@pytest.mark.parametrize(
    ("typed", "near"), [("Rediss", "Redis"), ("Kafke", "Kafka"), ("edi", "Redis"), ("", "")]
)
def test_an_unknown_entity_is_answered_with_near_names(memory, typed, near):
    tell(memory, "Redis feeds Kafka.", ("Redis", "Kafka"))
    with pytest.raises(NotFoundError, match=f'no entity "{typed}"') as error:
        memory.graph().entity(typed)
    assert near in error.value.hint


def test_projects_never_mix(memory):
    here = tell(memory, "Redis caches the tides.", ("Redis", "tides"), project="tideline")
    tell(memory, "Redis keeps gulls.", ("Redis", "gulls"), ("gulls", "sea"), project="gullwing")

    views = memory.graph().entity("Redis")
    assert {view.place.project: {near.entity.name for near in view.neighbours} for view in views} == {
        "tideline": {"tides"},
        "gullwing": {"gulls"},
    }
    [alone] = memory.graph(["tideline"]).entity("Redis")
    assert [one.memory_id for one in alone.quotations] == [here]
    assert memory.graph(["tideline"]).scope.elsewhere("Redis") == ["gullwing"]
    assert memory.graph().path("tides", "sea") == []
    with pytest.raises(NotFoundError) as error:
        memory.graph(["tideline"]).entity("gulls")
    assert "gullwing" in error.value.hint


def test_a_name_that_was_merged_leads_to_its_entity(memory):
    texts = {
        "one": "We decided to speak the Model Context Protocol (MCP) because it needs no server of its own.",
        "two": "The root cause of the error was MCP: the fix is to answer each request within a second.",
    }
    memory.ingest([Draft("notes", name, text, event_time=NOW) for name, text in texts.items()])

    views = [memory.graph().entity(typed) for typed in ("mcp", "model context protocol")]
    assert {view.place.entity.name for [view] in views} <= {"MCP", "Model Context Protocol"}
    assert [[set(view.place.names) for view in each] for each in views] == [
        [{"MCP", "Model Context Protocol"}]
    ] * 2
    assert {one.text for one in views[0][0].quotations} == set(texts.values())


def test_a_name_leads_to_its_entity_in_each_project_whether_merged_there_or_not(memory):
    merged = (
        "We decided to speak the Model Context Protocol (MCP) because it needs no server of its own.",
        "The root cause of the error was MCP: the fix is to answer each request within a second.",
    )
    memory.ingest(
        [Draft("notes", text, text, event_time=NOW, scope=Scope("tideline")) for text in merged], rule="off"
    )
    tell(memory, "MCP asks Redis.", ("MCP", "Redis"), project="gullwing")

    views = memory.graph().entity("MCP")
    assert {view.place.project for view in views} == {"tideline", "gullwing"}
    assert memory.graph(["gullwing"]).scope.elsewhere("MCP") == ["tideline"]


def test_a_path_tells_the_memory_that_says_each_step_and_avoids_hubs(memory):
    for number in range(30):
        tell(memory, f"Python runs thing {number}.", ("Python", f"thing {number}"))
    tell(memory, "The ledger is Python. So is the outage tool.", ("ledger", "Python"), ("Python", "outage"))
    first = tell(memory, "Off topic. The ledger fills the queue.", ("ledger", "queue", "fills"))
    second = tell(memory, "A full queue caused the outage.", ("queue", "outage", "causes"))

    best, other = memory.graph().path("LEDGER", "outage", count=2)
    assert best.names == ("ledger", "queue", "outage")
    assert [
        (step.relation.keywords, step.quotation.memory_id, step.quotation.text) for step in best.steps
    ] == [
        ("fills", first, "The ledger fills the queue."),
        ("causes", second, "A full queue caused the outage."),
    ]
    assert other.names == ("ledger", "Python", "outage")
    assert best.cost < other.cost


def test_a_path_prefers_what_is_said_to_what_merely_stands_together(memory):
    tell(memory, "ledger and box, box and outage", ("ledger", "box", "co-mentioned"), ("box", "outage"))
    tell(memory, "ledger fills queue, queue fills outage", ("ledger", "queue"), ("queue", "outage"))
    assert memory.graph().path("ledger", "outage")[0].names == ("ledger", "queue", "outage")


def test_there_may_be_no_path(memory):
    tell(memory, "Redis caches. Kafka carries.", ("Redis", "cache"), ("Kafka", "events"))
    assert memory.graph().path("Redis", "Kafka") == []


def test_two_names_of_one_entity_have_no_path_and_are_told_to_be_one(memory):
    tell(memory, "Redis feeds Kafka.", ("Redis", "Kafka"))
    with pytest.raises(UsageError, match='"redis" and "REDIS" are the same entity, "Redis"'):
        memory.graph().path("redis", "REDIS")


def test_communities_have_names_sizes_and_memories(memory):
    tea = tell(memory, "Tea, cup and pot.", ("tea", "cup"), ("cup", "pot"), ("pot", "tea"))
    tell(memory, "Sea and gull.", ("sea", "gull"), names=["stone"])

    found = memory.graph().communities()
    assert (found.entities, found.total, found.alone) == (6, 2, 1)
    assert [set(one.members) for one in found.shown] == [{"tea", "cup", "pot"}, {"sea", "gull"}]
    assert found.shown[0].name == ", ".join(found.shown[0].members)
    assert found.shown[0].cohesion == 1.0
    assert [one.memory_id for one in found.shown[0].examples] == [tea]
    [around] = memory.graph().communities(around="Gull").shown
    assert set(around.members) == {"sea", "gull"}
    assert len(memory.graph().communities(limit=1).shown) == 1


def test_a_timeline_follows_the_events_and_not_the_order_of_storing(memory):
    for day in (5, 1, 9):
        tell(memory, f"On day {day} Redis fell over.", names=["Redis"], days=day)
    tell(memory, "Unrelated.", names=["Kafka"], days=3)

    found = memory.graph().timeline("redis")
    assert [one.text for one in found.events] == [f"On day {day} Redis fell over." for day in (1, 5, 9)]
    assert (found.first, found.last) == (NOW + timedelta(days=1), NOW + timedelta(days=9))
    late = memory.graph().timeline("Redis", since=NOW + timedelta(days=2), limit=1)
    assert [one.text for one in late.events] == ["On day 9 Redis fell over."]
    assert late.total == 2
    none = memory.graph().timeline("Redis", since=NOW + timedelta(days=99))
    assert (none.total, none.events, none.first) == (0, (), None)


def test_what_was_forgotten_is_not_told_of(memory):
    gone = tell(memory, "Redis was here.", ("Redis", "cache"))
    tell(memory, "Redis is there.", ("Redis", "queue"))
    memory.forget([gone])
    [view] = memory.graph().entity("Redis")
    assert [one.text for one in view.quotations] == ["Redis is there."]
    assert memory.graph().timeline("Redis").total == 1


def test_the_most_connected_come_first(memory):
    tell(memory, "Redis here.", ("Redis", "a"), ("Redis", "b"), project="one")
    tell(memory, "Redis there.", ("Redis", "c"), project="two")
    top = memory.graph().top(limit=2)
    assert [(one.entity.name, one.degree, one.project) for one in top] == [
        ("Redis", 2, "one"),
        ("Redis", 1, "two"),
    ]


def test_what_a_secret_or_a_private_part_holds_names_nothing(memory):
    key = "\n".join(f"qL9aP2b3Yk8zX1cV4bN5mM6nB7vC8xZ9lK0jH1gF2dS3aQ4wE5rT6yU7iO8p{n:04}" for n in range(40))
    text = (
        "# Deploy\n\nThe pipeline uses `deploy.py` with Kafka.\n\n"
        f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----\n\n"
        "<private>\n## Aunt Lovelace\n\nJane Lovelace pays `acme_bank` for Zanzibar Holdings.\n</private>\n"
    )
    memory.ingest([Draft("notes", "deploy", text, event_time=NOW)], rule="off")

    named = {place.entity.name for place in memory.graph().top(limit=100)}
    assert {"deploy.py", "Kafka"} <= named
    told = "\n".join(place.entity.description for place in memory.graph().top(limit=100))
    for hidden in ("qL9a", "Lovelace", "acme_bank", "Zanzibar"):
        assert not [name for name in named if hidden in name]
        assert hidden not in told
    assert not [name for name in named if "redacted" in name.lower()]
