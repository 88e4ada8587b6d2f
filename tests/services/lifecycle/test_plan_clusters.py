"""A plan of gc that people can judge: what stays, what is hidden behind it, and how the two differ."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import Draft, Memory, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import NotFoundError
from ragmem.services.lifecycle.items import Item
from ragmem.services.lifecycle.plan_clusters import HiddenMemory, PlanCluster, word_diff

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PRINTED = "Backup job {n} finished at {n}:15 with {n} files copied to the cellar and no error at all found."
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def printed(memory):
    """Return a memory with reports of one template and two equal notes, and the ids of the reports."""
    texts = [PRINTED.format(n=n) for n in range(10, 14)]
    texts += [f"The key of the harbour office is {SECRET}, says the note on the door."] * 2
    drafts = [
        Draft(
            "notes",
            f"/n/{n}",
            text,
            "backup" if n < 4 else "door",
            event_time=NOW + timedelta(days=n),
            scope=Scope("kitchen"),
        )
        for n, text in enumerate(texts)
    ]
    return memory, [one.id for one in memory.ingest(drafts, rule="off")][:4]


@pytest.fixture
def run(inside, tmp_path):
    where = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home")}
    return lambda *arguments, **environ: inside(*arguments, **where, **environ)


def test_a_cluster_tells_what_is_said_what_stays_and_what_differs(printed):
    memory, reports = printed
    (fold, double) = memory.gc.clusters(memory.gc.plan())
    assert (fold.rule, fold.kept.id) == ("fold", reports[3])
    assert {one.memory.id for one in fold.hidden} == set(reports[:3])
    assert fold.statement.startswith("Backup job \u2026 finished at \u2026 with \u2026 files copied")
    oldest = next(one for one in fold.hidden if one.memory.id == reports[0])
    assert [(one.other, one.first) for one in oldest.differences][:2] == [("10", "13"), ("10:15", "13:15")]
    assert (double.rule, double.hidden[0].differences) == ("duplicate", [])


def test_the_same_memories_have_the_same_id_in_each_plan(printed):
    memory, _ = printed
    first, again = (memory.gc.clusters(memory.gc.plan()) for _ in range(2))
    assert [one.id for one in first] == [one.id for one in again]
    assert len({one.id for one in first}) == len(first)


def test_a_cluster_or_a_memory_is_shown_by_its_id_and_nothing_else_is(printed):
    memory, reports = printed
    plan = memory.gc.plan()
    (fold, _) = memory.gc.clusters(plan)
    assert memory.gc.show(plan, fold.id) == ([], [fold])
    for one in reports:
        items, clusters = memory.gc.show(plan, one[:12])
        assert [item.id for item in items] == [one]
        assert clusters == [fold]
    for unknown in ("zzzzzzzz", "", reports[0][:1]):
        with pytest.raises(NotFoundError, match="neither a cluster nor a memory"):
            memory.gc.show(plan, unknown)


def test_colours_carry_nothing_alone_and_no_secret_is_shown(printed, run):
    memory, reports = printed
    (fold, double) = memory.gc.clusters(memory.gc.plan())
    for arguments in (
        ("--dry-run",),
        ("--show", fold.id),
        ("--show", double.id),
        ("--show", reports[0][:12]),
    ):
        plain, painted = run("gc", *arguments), run("gc", *arguments, FORCE_COLOR="1")
        assert plain.returncode == painted.returncode == 0
        assert "\x1b" not in plain.stdout
        assert "\x1b[" in painted.stdout
        assert re.sub(r"\x1b\[[\d;]*m", "", painted.stdout) == plain.stdout
        assert SECRET not in plain.stdout
        assert SECRET not in painted.stdout
    assert "10:15 -> 13:15" in run("gc", "--dry-run").stdout
    shown = run("gc", "--show", fold.id).stdout
    assert "[-10-] {+13+}" in shown
    assert PRINTED.format(n=10) in shown
    assert PRINTED.format(n=13) in shown


def test_json_has_the_clusters_and_with_show_the_whole_texts(printed, run):
    memory, reports = printed
    document = json.loads(run("gc", "--dry-run", "--json").stdout)
    (fold, double) = document["clusters"]
    assert (fold["kept"]["id"], len(fold["hidden"])) == (reports[3][:12], 3)
    assert "text" not in fold["kept"]
    shown = json.loads(run("gc", "--show", fold["id"], "--json").stdout)
    (whole,) = shown["clusters"]
    assert whole["kept"]["text"] == PRINTED.format(n=13)
    assert whole["hidden"][0]["diff"]
    assert SECRET not in run("gc", "--show", double["id"], "--json").stdout
    assert memory.gc.history() == []


def test_show_stands_alone_and_knows_what_there_is(printed, run):
    printed[0].gc.plan()
    assert run("gc", "--show", "zzzzzzzz").returncode != 0
    assert run("gc", "--show", "zzzzzzzz", "--undo").returncode == 2


@pytest.mark.parametrize(
    ("first", "other", "segments"),
    [
        ("", "", []),
        ("a  b\nc", "a b c", [("a b c", "a b c")]),
        ("a b c", "a x c", [("a", "a"), ("b", "x"), ("c", "c")]),
        ("a b", "b", [("a", ""), ("b", "b")]),
        ("a", "a b", [("a", "a"), ("", "b")]),
    ],
)
def test_words_are_compared_and_white_space_is_not(first, other, segments):
    assert [(one.first, one.other) for one in word_diff(first, other)] == segments


def test_a_difference_shows_no_secret_that_only_its_words_around_give_away():
    kept, hidden = (
        Memory(
            f"m{n}",
            "notes",
            f"m{n}",
            f"The gate of the harbour opens with password: Xk9{n}tideBoard77 since March.",
            "",
            NOW,
            NOW,
            NOW,
            f"h{n}",
        )
        for n in (1, 2)
    )
    item = Item(hidden.id, "supersede", "restated", "says so now", others=(kept.id,))
    shown = HiddenMemory(item, hidden, kept, DEFAULT)
    document = PlanCluster("supersede", "restated", kept, (shown,)).document()
    assert "tideBoard77" not in json.dumps(document)
    assert document["statement"].startswith("The gate of the harbour opens with password:")
