"""The numbers of plots: those of a home whose content is known, of one project or of all."""

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.charts.numbers import table_of
from ragmem.cli.inspect.plots import PlotName
from ragmem.domain.model import Draft
from ragmem.errors import BackendError
from ragmem.services.connections.connection_list import hubs
from ragmem.services.ingestion.drafts import SOURCE
from ragmem.services.lifecycle.cards import SOURCE as CARDS
from ragmem.services.reporting.context import LONGEST, ReportContext, shipped_sources
from ragmem.services.reporting.latency import Latency, latency_plot, measure_latency
from ragmem.services.reporting.lifecycle_plots import degree
from ragmem.services.reporting.plots import PLOTS
from ragmem.services.reporting.report import CHAPTERS
from ragmem.storage.memories.report_queries import Figures, InjectionUse

from .conftest import FAKE, NOW, SECRET

REEF = ("p-reef",)
BY_SOURCE = ("sources", "tiers")


def rows(memory, name, **more):
    plot = memory.reports.plots([name], at=NOW, **more)[name]
    return table_of(plot)[1]


def test_ages_are_counted_by_the_time_of_the_event_per_source(opened):
    found = rows(opened, "ages")
    classes = [row[0] for row in found]
    assert classes == ["<1 d", "<1 w", "<1 mo", "<3 mo", "<6 mo", "<1 y", "<2 y", "<5 y", ">5 y"]
    head = table_of(opened.reports.plots(["ages"], at=NOW)["ages"])[0]
    assert head[1:] == ["memory", "client-x", "prds"]
    by_source = dict(zip(head[1:], zip(*(row[1:] for row in found), strict=True), strict=True))
    assert by_source["memory"] == (1, 1, 0, 1, 0, 0, 0, 0, 1)
    assert by_source["prds"] == (0, 0, 0, 0, 1, 0, 0, 0, 0)
    assert sum(row[1] for row in rows(opened, "ages", projects=REEF)) == 3


def test_a_moment_later_the_same_memories_are_older(opened):
    before = rows(opened, "ages")
    after = table_of(opened.reports.plots(["ages"], at=NOW + timedelta(days=1))["ages"])[1]
    assert before[0][1] == 1
    assert after[0][1] == 0
    assert sum(map(sum, (row[1:] for row in before))) == sum(map(sum, (row[1:] for row in after))) == 6


def test_what_lies_ahead_is_told_so(opened):
    plot = opened.reports.plots(["ages"], at=NOW - timedelta(days=3000))["ages"]
    assert plot.note == "Half of them are in the future."
    assert sum(plot.totals) == 6
    assert plot.totals[0] == 6


def test_each_memory_is_in_one_state(opened):
    assert dict(map(tuple, rows(opened, "states"))) == {
        "buffer": 0,
        "proven": 4,
        "permanent": 1,
        "superseded": 1,
        "waiting": 0,
        "archived": 0,
    }
    report = opened.reports.lifecycle()
    assert dict(map(tuple, rows(opened, "states"))) == report.states


def test_what_keeps_memories_is_counted_by_its_reason(opened):
    found = dict(map(tuple, rows(opened, "kept")))
    assert (found["pinned"], found["proven"], found["connected"], found["curated"]) == (1, 1, 3, 5)
    assert dict(map(tuple, rows(opened, "kept", projects=("p-quarry",))))["connected"] == 0


def test_connections_and_recalls_are_counted_per_memory(opened):
    assert dict(map(tuple, rows(opened, "connections"))) == {
        **dict.fromkeys(["3-5", "6-10", "11-20", "21-50", ">50"], 0),
        "0": 3,
        "1": 2,
        "2": 1,
    }
    found = dict(map(tuple, rows(opened, "recalls")))
    assert (found["0"], found["1"], found["2"], found["3-5"]) == (4, 1, 0, 1)


def test_the_most_connected_are_those_of_the_projects_that_are_asked(known, opened):
    def most(projects, limit=9):
        return [
            (one.memory.id, one.connections) for one in hubs(opened.catalog, projects=projects, limit=limit)
        ]

    assert most(REEF)[0] == (known.ids[0], 2)
    assert sorted(most(REEF)[1:]) == sorted((one, 1) for one in known.ids[1:3])
    assert most(None) == most(REEF)
    assert most(REEF, limit=1) == [(known.ids[0], 2)]
    assert most(("p-quarry",)) == []


def test_an_injection_counts_once_by_the_best_that_is_known_of_its_use(opened):
    assert Figures(opened.catalog.database).injection_uses() == [
        InjectionUse("prompt", 2, 50, 1, 1, 0),
        InjectionUse("start", 2, 15, 0, 0, 1),
    ]
    assert rows(opened, "injections") == [["prompt", 1, 1, 0, 0], ["start", 0, 0, 1, 1]]
    assert Figures(opened.catalog.database, ["p-quarry"]).injection_uses() == []


def test_tiers_sources_and_projects_add_up(opened):
    assert [row[0] for row in rows(opened, "tiers")] == ["memory", "client-x", "prds"]
    assert [sum(row[1:]) for row in rows(opened, "tiers")] == [4, 1, 1]
    assert dict(map(tuple, rows(opened, "sources"))) == {"memory": 4, "client-x": 1, "prds": 1}
    assert rows(opened, "projects") == [["p-reef", 5], ["p-quarry", 1]]


def test_growth_ends_at_all_of_them_and_never_falls(opened):
    found = rows(opened, "growth")
    for name in ("by event", "by storing"):
        counts = [row[2] for row in found if row[0] == name]
        assert counts == sorted(counts)
    assert [row[2] for row in found if row[0] == "by event"][-1] == 6


def test_the_weeks_hold_what_happened_in_them(opened):
    cells = rows(opened, "weeks")
    assert len(cells) == 53
    assert sum(row[1] for row in cells) == 4
    assert cells[-1] == ["2026-05-25", 2]


def test_the_graph_and_the_topics_are_those_of_the_store(opened):
    degrees = dict(map(tuple, rows(opened, "degree")))
    nodes = {
        entity.name: degree
        for project in ("p-reef", "p-quarry")
        for entity, degree in opened.store.nodes(project)
    }
    for number, count in degrees.items():
        assert sum(one == number for one in nodes.values()) == count
    topics = dict(map(tuple, rows(opened, "topics")))
    assert max(topics.values()) >= 3
    assert sum(degrees.values()) + list(nodes.values()).count(0) == len(nodes)


def test_gc_shows_what_its_runs_did(opened):
    assert rows(opened, "gc") == [["2026-05-30 00:00", 3, 2]]


def test_private_leaves_out_every_name_but_those_that_are_shipped(opened):
    plots = opened.reports.plots(at=NOW, private=True)
    told = str([table_of(plot) for plot in plots.values()] + [plot.note for plot in plots.values()])
    for name in ("client-x", "p-reef", "PostgreSQL", "Reef", SECRET):
        assert name not in told
    assert "source 1" in told
    assert "memory" in told


def test_a_source_without_a_name_has_one_number_in_every_plot(tmp_path):
    # More of them than a list of the biggest holds; the last by name are the biggest.
    with Ragmem.open(environ=FAKE | {"RAGMEM_HOME": str(tmp_path)}, home=tmp_path, cwd=tmp_path) as memory:
        drafts = [
            Draft(
                f"source-{number:02}",
                f"/{number}/{copy}",
                f"We decided that pump {number} runs {copy} hours.",
            )
            for number in range(LONGEST + 3)
            for copy in range(number + 1)
        ]
        memory.ingest(drafts)
        sizes = {number + 1 for number in range(LONGEST + 3)}
        told = [{row[0]: sum(row[1:]) for row in rows(memory, name, private=True)} for name in BY_SOURCE]
    assert told[0] == told[1]
    assert set(told[0].values()) <= sizes
    assert len(told[0]) == LONGEST


def test_private_says_of_a_store_that_cannot_be_read_only_that(opened):
    place = "/home/somebody/graph of Reef"

    def broken():
        raise BackendError(f'cannot read "{place}"')

    for private in (False, True):
        reading = ReportContext(
            opened.catalog,
            broken,
            opened.settings.decay,
            opened.settings.lifecycle,
            NOW,
            private=private,
        )
        note = degree(reading).note
        assert note.startswith("The store cannot be read")
        assert (place in note) is not private


def test_the_growth_of_the_last_month_counts_nothing_that_was_stored_later(opened):
    plot = opened.reports.plots(["growth"], at=NOW - timedelta(days=3650))["growth"]
    assert plot.note == "0 were stored within the last 30 days."


def test_a_private_report_is_called_by_no_name_that_is_given(opened):
    assert opened.reports.build(where="Reef", private=True, at=NOW).title == "The memory of all projects"
    assert opened.reports.build(where="Reef", projects=REEF, private=True, at=NOW).title == (
        "The memory of some projects"
    )


def test_every_plot_can_be_named_and_stands_in_a_chapter():
    assert [name.value for name in PlotName] == list(PLOTS)
    assert sorted(name for names in CHAPTERS.values() for name in names) == sorted(PLOTS)


def test_the_latency_is_that_of_the_questions_but_for_the_first():
    times = iter([0, 2.0, 2.0, 2.01, 3.0, 3.03, 4.0, 4.02])
    asked = []
    found = measure_latency(asked.append, ["a", "b", "c", "d"], clock=lambda: next(times))
    assert asked == ["a", "b", "c", "d"]
    assert found.first == 2000
    assert found.others == pytest.approx([10, 30, 20])
    assert (found.share(0.5), found.share(0.95)) == (pytest.approx(20), pytest.approx(30))
    plot = latency_plot(found)
    assert sum(plot.totals) == 3
    assert [mark.label for mark in plot.marks] == ["p50 20.0 ms", "p95 30.0 ms"]
    assert sum(latency_plot(Latency(0.0, [])).totals) == 0


def test_questions_of_the_latency_are_no_recalls(opened):
    before = opened.catalog.lives.recalls()
    found = opened.reports.latency(questions=3)
    assert len(found.others) == 3
    assert all(one > 0 for one in found.others)
    opened.recalls.absorb()
    assert opened.catalog.lives.recalls() == before


def test_the_names_of_shipped_sources_are_no_secret():
    shipped = tomllib.loads((Path(__file__).parents[3] / "sources.toml").read_text())["sources"]
    assert set(shipped) | {CARDS, SOURCE} <= shipped_sources()
