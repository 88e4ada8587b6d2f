"""How the memories live, as it is told: each counted once, nothing changed, and readable everywhere."""

import json
import re
from functools import partial
from xml.etree import ElementTree as ET

import pytest
from dated_notes import NOW, store_note

from ragmem.domain.lifecycle.connections import Scale
from ragmem.domain.model.lifecycle import LifecycleState
from ragmem.storage.lifecycle.idle_mark import Mark, write_mark
from ragmem.storage.lifecycle.lifecycle_state import LifeRow
from ragmem.storage.lifecycle.supersessions import Supersession

PROJECT = "p-tideline"
stored = partial(store_note, project=PROJECT, source="notes", rule="off")

TIDE = (
    "The tide importer of harbour {0} timed out because `TideClient.fetch` in tides/client.py retried 5 times"
    " with a timeout of 30 s; the fix was one retry of 10 s for harbour {0}."
)
CHATTER = "Perfect! Now let me check the output:"


@pytest.fixture
def lived(memory):
    """A project with memories in every state, whose connections are made."""
    ids = {
        f"tide{number}": stored(memory, f"tide{number}", TIDE.format(number), days=number)
        for number in (1, 2)
    }
    ids["alone"] = stored(memory, "alone", CHATTER, days=400)
    ids["decision"] = stored(
        memory,
        "decision",
        "We decided to keep SQLite because one file is easy to back up.",
        days=300,
        metadata={"type": "decision"},
    )
    ids |= {
        f"other{number}": stored(memory, f"other{number}", f"Zebra {number} ate {number * 7} apples.", days=5)
        for number in range(21)
    }
    stored(memory, "elsewhere", TIDE.format(9), days=1, project="p-other")
    memory.catalog.connections.keep_scale("fake-hash", Scale(0.1, 0.6, 25, 100), now=NOW, anew=False)
    memory.gc.plan()
    memory.catalog.lives.put([LifeRow(ids["tide1"], life=LifecycleState.PROVEN, feedback=1)], now=NOW)
    memory.catalog.supersessions.put(
        [Supersession(ids["other3"], ids["other4"], NOW, NOW, "value", "ate more", NOW)]
    )
    return memory, ids


def test_each_memory_is_counted_in_one_state_and_one_type(lived):
    memory, ids = lived
    report = memory.reports.lifecycle([PROJECT])
    assert report.memories == len(ids)
    assert sum(count for name, count in report.states.items() if name != "archived") == len(ids)
    assert sum(count for count, _ in report.types.values()) == len(ids)
    assert (report.states["proven"], report.states["superseded"]) == (1, 1)
    assert report.types["decision"] == (1, 1)
    assert memory.reports.lifecycle().memories == len(ids) + 1


def test_what_connects_is_told_and_what_is_alone_with_why_it_goes(lived):
    memory, ids = lived
    report = memory.reports.lifecycle([PROJECT])
    assert report.connections >= 1
    assert 0 < report.density < 1
    assert report.uncompared == 0
    first = next(one for one in report.loners if one.id == ids["alone"])
    assert (first.action, first.newer, first.left) == ("archive", 24, 0)
    assert first.reasons
    assert report.loners[0].action == "archive"
    assert ids["decision"] not in {one.id for one in report.loners}
    assert ids["tide2"] not in {one.id for one in report.loners}
    assert len(memory.reports.lifecycle([PROJECT], limit=2).loners) == 2


def test_nobody_is_called_alone_before_all_of_the_project_were_compared(lived):
    memory, _ = lived
    assert memory.reports.lifecycle([PROJECT]).at_risk >= 1
    stored(memory, "late", "The pump of pier 4 needs `seal_kit` 7 before each winter.", days=2)
    report = memory.reports.lifecycle([PROJECT])
    assert (report.uncompared, report.at_risk, report.loners) == (1, 0, [])


def test_why_gc_does_not_run_by_itself_is_told(lived, command, monkeypatch):
    memory, _ = lived
    assert memory.reports.lifecycle().tended is None
    assert "idle gc is off" in " ".join(command("--all").stdout.split())
    monkeypatch.setenv("RAGMEM_LIFECYCLE_AUTOMATIC", "yes")
    write_mark(memory.catalog.database, Mark(NOW, "1/2", "more than a third would go"))
    assert "idle gc does not run: more than a third would go." in " ".join(command("--all").stdout.split())
    told = json.loads(command("--all", "--json").stdout)["tended"]
    assert told == {"at": "2026-06-01T00:00:00Z", "refused": "more than a third would go"}


def test_what_gc_archived_is_counted_by_its_rule_and_in_its_project(lived):
    memory, ids = lived
    at_risk = memory.reports.lifecycle([PROJECT]).at_risk
    outcome = memory.gc.apply(memory.gc.plan(rules=["cold"]), allow_large=True)
    assert at_risk == outcome.archived >= 1
    report = memory.reports.lifecycle([PROJECT])
    assert [(one.rule, one.memories) for one in report.expiries] == [("cold", outcome.archived)]
    assert report.states["archived"] == report.expired == outcome.archived
    assert report.promotion_rate == pytest.approx(1 / (1 + outcome.archived))
    assert [run.run for run in report.runs] == [outcome.run]
    assert memory.reports.lifecycle(["p-other"]).expiries == []
    assert ids["alone"] not in memory.catalog.memories.ids()


def test_a_cluster_is_a_card_with_its_members_by_date_and_their_names(lived):
    memory, ids = lived
    third = stored(memory, "tide3", TIDE.format(3), days=9)
    memory.gc.plan()
    [card] = memory.reports.lifecycle([PROJECT]).groups
    assert card.size == 3
    assert card.id in {third, ids["tide1"], ids["tide2"]}
    assert [one.title for one in card.members] == ["tide3", "tide2", "tide1"]
    assert {"TideClient.fetch", "tides/client.py"} <= set(card.names)
    assert memory.reports.lifecycle(["p-other"]).groups == []


def test_the_report_changes_nothing(lived):
    memory, _ = lived
    before = {one.id: one for one in memory.catalog.memories.each()}, memory.catalog.lives.all()
    memory.reports.lifecycle()
    assert ({one.id: one for one in memory.catalog.memories.each()}, memory.catalog.lives.all()) == before


def test_without_vectors_the_rest_is_told(open_memory):
    memory = open_memory(RAGMEM_MODELS_URL="down")
    stored(memory, "one", TIDE.format(1), days=1)
    report = memory.reports.lifecycle()
    assert (report.memories, report.states["waiting"], report.connections) == (1, 1, 0)
    assert (report.at_risk, report.loners) == (0, [])


@pytest.fixture
def command(lived, inside, tmp_path):
    def run(*arguments, **environ):
        where = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home")}
        return inside("inspect", "lifecycle", *arguments, **where, **environ)

    return run


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_charts_keep_to_the_terminal_and_need_no_colours(command, columns):
    shown = command("--all", COLUMNS=str(columns))
    assert shown.returncode == 0
    charts = shown.stdout.partition("\nIsolated memories: ")[0].splitlines()
    assert max(map(len, charts)) <= columns
    assert "\x1b" not in shown.stdout
    for told in ("States", "Types", "buffer", "half way", "Isolated memories: next"):
        assert told in shown.stdout
    painted = command("--all", COLUMNS=str(columns), FORCE_COLOR="1")
    assert "\x1b[" in painted.stdout
    assert re.sub(r"\x1b\[\d*m", "", painted.stdout) == shown.stdout
    assert "\x1b" not in command("--all", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_a_title_neither_drives_the_terminal_nor_shows_a_secret(lived, command):
    memory, ids = lived
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    title = f'\x1b]0;owned\x07 one\ntwo <b>&" {secret}'
    third = stored(memory, "tide3", TIDE.format(3), days=9)
    memory.gc.plan()
    with memory.catalog.database.write() as connection:
        connection.executemany(
            "UPDATE memories SET title = ? WHERE id = ?",
            [(title, one) for one in (third, ids["tide1"], ids["tide2"], ids["alone"])],
        )
    for shown in (command("--all").stdout, command("--all", "--svg", "-").stdout):
        assert "owned" in shown
        assert not {"\x1b", "\x07"} & set(shown)
        assert "one\ntwo" not in shown
        assert secret[:12] not in shown
    told = command("--all", "--json").stdout
    assert "owned" in told
    assert secret not in told


def test_json_tells_all_of_it(command, lived):
    memory, ids = lived
    document = json.loads(command("--all", "--json").stdout)
    assert document["schema"] == 1
    assert document["memories"] == len(memory.catalog.memories.ids())
    assert set(document) > {
        "states",
        "types",
        "density",
        "expiries",
        "clusters",
        "loners",
        "similarity",
        "runs",
    }
    assert document["similarity"]["unrelated"] < document["similarity"]["connects"]
    assert ids["alone"][:12] in {one["id"] for one in document["loners"]}


def test_the_picture_is_a_file_that_is_not_replaced_unasked(command, tmp_path):
    target = tmp_path / "life.svg"
    assert command("--all", "--svg", str(target)).returncode == 0
    root = ET.fromstring(target.read_text())
    assert root.find("{http://www.w3.org/2000/svg}title").text == "The lifecycle of all projects"
    again = command("--all", "--svg", str(target))
    assert again.returncode == 2
    assert "name another file" in again.stderr
    assert command("--all", "--svg", str(target), "--force").returncode == 0
    assert command("--all", "--svg", "-").stdout.startswith("<svg ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--json", "--svg", "-"), "are mutually exclusive"), (("--all", "-p", "x"), "are mutually exclusive")],
)
def test_what_excludes_each_other_is_refused(command, arguments, message):
    refused = command(*arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_what_replaces_another_memory_is_not_alone(lived):
    memory, ids = lived
    memory.catalog.supersessions.put(
        [Supersession(ids["other5"], ids["alone"], NOW, NOW, "value", "says so now", NOW)]
    )
    assert ids["alone"] not in {one.id for one in memory.reports.lifecycle([PROJECT], limit=50).loners}
