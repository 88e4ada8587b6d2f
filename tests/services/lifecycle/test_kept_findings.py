"""What gc keeps of a plan for the next one, and when it reads all texts again."""

import json

import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.services.lifecycle.kept_findings import KEY
from ragmem.storage.sql import meta

OLD = "The tide import gives up on a station after 3 attempts."
NEW = "The tide import gives up on a station after 5 attempts."
REPORT = "Backup job {0} finished at 0{0}:15 and wrote everything to the cellar without an error."


@pytest.fixture
def told(memory):
    """A memory of a change, of reports that repeat each other, and of others."""
    texts = [OLD, NEW, *(REPORT.format(number) for number in range(1, 5)), "Bees are counted by a camera."]
    for number, text in enumerate(texts):
        memory.ingest([Draft("ingest", f"/n/{number}", text, scope=Scope("atlas"))], rule="off")
    return memory


def decided(memory) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(one.id, one.rule, one.reason, one.others) for one in memory.gc.plan().items]


def kept_of(memory) -> str:
    return meta.read(memory.catalog.database, KEY) or ""


def keep(memory, value: str) -> None:
    with memory.catalog.database.write() as connection:
        meta.put(connection, KEY, value)


def rewrite(memory, former: str, text: str) -> None:
    """Change a text and nothing else, not even its hash."""
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET text = ? WHERE text = ?", (text, former))


def rules_of(memory) -> set[str]:
    return {rule for _, rule, _, _ in decided(memory)}


@pytest.mark.parametrize(("finding", "rule"), [("reports", "fold"), ("changes", "restated")])
def test_a_second_plan_is_the_same_and_takes_what_was_kept(told, finding, rule):
    first = decided(told)
    assert decided(told) == first
    assert rule in rules_of(told)
    # With what was kept emptied nothing is found: it is not looked for again.
    kept = json.loads(kept_of(told))
    for findings in kept.values():
        findings[finding][1] = []
    keep(told, json.dumps(kept))
    assert rule not in rules_of(told)
    keep(told, "")
    assert decided(told) == first


@pytest.mark.parametrize(
    ("former", "text"),
    [
        (NEW, "The crane of the harbour needs an inspection each spring."),
        # White space counts as well: it divides statements.
        (NEW, f"{NEW[:20]}\n\n{NEW[20:]}"),
        (REPORT.format(4), "The kiln burns gas."),
    ],
)
def test_a_plan_after_a_change_is_that_of_a_store_that_kept_nothing(told, former, text):
    before = decided(told)
    rewrite(told, former, text)
    after = decided(told)
    keep(told, "")
    assert after == decided(told) != before


def test_a_new_memory_makes_a_project_be_read_again(told):
    decided(told)
    told.ingest([Draft("ingest", "/n/9", REPORT.format(9), scope=Scope("atlas"))], rule="off")
    after = decided(told)
    keep(told, "")
    assert after == decided(told)
    assert sum(rule == "fold" for _, rule, _, _ in after) == 4


def test_the_plan_of_one_project_keeps_what_was_found_in_others(told):
    told.ingest([Draft("ingest", "/b/1", OLD, scope=Scope("borealis"))], rule="off")
    decided(told)
    both = json.loads(kept_of(told))
    told.gc.plan(projects=["borealis"])
    assert json.loads(kept_of(told)) == both


@pytest.mark.parametrize("value", ["[]", "{", '{"x": 3}', '{"x": {"changes": 3}}'])
def test_what_cannot_be_read_is_found_again(told, value):
    first = decided(told)
    keep(told, value)
    assert decided(told) == first


def test_no_text_and_no_name_is_kept(told):
    decided(told)
    kept = kept_of(told)
    assert "restated" in kept
    assert not [word for word in ("atlas", "tide", "attempts", "cellar", "/n/") if word in kept]
