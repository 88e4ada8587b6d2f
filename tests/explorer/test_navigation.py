"""Walks through the explorer: filters, pages, connections, entities, questions, the plan of gc, and back."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from explorer_walk import walk
from shared_home import ADA, BOB, HOSTILE, fetch, make_shared, share, statement

from ragmem.cli.explorer.filter_query import parse_filter
from ragmem.cli.explorer.memories import Memories
from ragmem.domain.model import Draft, Scope

from .conftest import FAKE, Home


def table_of(at):
    return at.app.screen.query_one("#rows")


def test_a_list_is_read_page_by_page_as_one_goes_down(home):
    async def steps(at):
        await at.press("3")
        assert "100 of 135" in at
        assert len(table_of(at).shown) == 100
        await at.press("G")
        assert len(table_of(at).shown) == 135
        assert len({row.key for row in table_of(at).shown}) == 135
        await at.press("g")
        assert table_of(at).cursor_row == 0

    walk(home, steps)


def test_a_page_of_a_list_that_was_read_again_meanwhile_is_dropped(home, monkeypatch):
    read, late, go_on = Memories.page, Event(), Event()

    def page(self, memory, asked, after):
        if after is not None and not late.is_set():
            late.set()
            go_on.wait(10)
        return read(self, memory, asked, after)

    monkeypatch.setattr(Memories, "page", page)

    async def steps(at):
        await at.press("3")
        before = table_of(at).shown
        await at.pilot.press("G")
        await asyncio.to_thread(late.wait, 10)
        await at.pilot.press("r")
        async with asyncio.timeout(20):
            while table_of(at).shown is before:
                await at.pilot.pause(0.01)
            await at.pilot.press("G")
            while len(table_of(at).shown) < 135:
                await at.pilot.pause(0.01)
        go_on.set()
        await at.settle()
        assert len(table_of(at).shown) == len({row.key for row in table_of(at).shown}) == 135

    walk(home, steps)


def test_a_filter_narrows_as_one_types_and_escape_takes_it_away(home):
    async def steps(at):
        await at.press("3", "slash")
        await at.type("ferry 12")
        assert len(table_of(at).shown) == 11
        await at.type("9 kind:error")
        assert [row.cells[2] for row in table_of(at).shown] == ["Ferry 129"]
        await at.press("escape")
        assert "100 of 135" in at

    walk(home, steps)


def test_rows_come_back_after_a_filter_that_nothing_matched(home):
    async def steps(at):
        await at.press("3", "slash")
        await at.type("no such title")
        assert "Ferry 129" not in at
        await at.press("escape")
        assert "Ferry 129" in at
        assert "100 of 135 memories" in at
        await at.press("4")
        await at.type("xyzzy")
        await at.press("enter")
        assert "Nothing answers this" in at
        await at.press("home", "ctrl+k")
        await at.type("why do we pin the driver of PostgreSQL")
        await at.press("enter")
        assert "Driver" in at

    walk(home, steps)


def test_a_value_that_nothing_has_is_told_in_a_line_with_those_that_there_are(home):
    async def steps(at):
        await at.press("3", "slash")
        await at.type("kind:eror")
        assert 'no kind "eror"; one of preference' in at
        assert "general" in at  # the last of them: the line is not cut
        await at.press("escape", "slash")
        await at.type("no such title")
        assert "Nothing matches" in at
        await at.type(" kind:eror")
        assert "Nothing matches" not in at

    walk(home, steps)


def test_a_filter_is_completed(home):
    async def steps(at):
        await at.press("3", "slash")
        await at.type("so")
        await at.press("right")
        assert at.app.screen.query_one(".filter").value == "so" + "urce:"
        await at.type("no")
        await at.press("right")
        assert at.app.screen.query_one(".filter").value == "source:notes"
        await at.press("enter")
        assert "100 of 134" in at

    walk(home, steps)


def test_one_walks_along_connections_and_back(home):
    async def steps(at):
        await at.press("6", "enter")
        first = at.app.screen.own_key()
        assert "4 Connections" in at
        linked = [row.key for row in at.app.screen.table("links").shown]
        assert linked
        assert first not in linked
        await at.press("enter")
        assert at.app.screen.own_key() == linked[0]
        assert "▸" in at.screen.splitlines()[0]
        await at.press("4")
        assert first in [row.key for row in at.app.screen.table("links").shown]
        await at.press("escape")
        assert at.app.screen.own_key() == first
        await at.press("escape")
        assert "most connected first" in at

    walk(home, steps)


def test_a_memory_is_shown_whole_in_its_tabs(home):
    async def steps(at):
        await at.press("3", "slash")
        await at.type("driver")
        await at.press("enter", "enter")
        assert "# Driver" in at
        assert "version 3 leaks connections" in at
        await at.press("2")
        for text in ("event time", "indexed", "life", "rule", "driver.md"):
            assert text in at, at.screen
        await at.press("3")
        assert "Scores depend on a question" in at
        await at.press("5")
        assert "PostgreSQL" in at
        await at.press("6")
        assert "stored" in at
        assert "injected" in at
        await at.press("left_square_bracket")
        assert "PostgreSQL" in at
        await at.press("enter")
        assert "in 2 memories" in at
        await at.press("enter")
        assert "PostgreSQL ▸" in at

    walk(home, steps, size=(90, 30))


def test_a_question_is_answered_explained_and_not_counted_as_recalled(home):
    async def steps(at):
        await at.press("4")
        await at.type("why is there a stale lock")
        await at.press("enter")
        assert table_of(at).shown[0].cells[1] == "Stale lock"
        assert "answers   searched by text and vectors" in at
        await at.press("enter", "3")
        for term in ("score", "relevance", "recency", "found by"):
            assert term in at, at.screen
        recalled = at.app.reader.memory.lifecycle.status(at.app.screen.identifier).entry.sessions
        assert recalled == 0

    walk(home, steps, size=(120, 34))


def test_a_phrase_in_quotes_is_asked_for_as_it_stands(home):
    async def steps(at):
        await at.press("4")
        await at.type('"a stale lock"')
        await at.press("enter")
        assert [row.cells[1] for row in table_of(at).shown] == ["Stale lock"]
        await at.press("slash")
        at.app.focused.value = '"lock stale a"'
        await at.press("enter")
        assert table_of(at).shown == []

    walk(home, steps, size=(120, 34))


@pytest.fixture
def in_tokyo(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
def test_the_log_is_told_in_the_time_of_the_person(home):
    async def steps(at):
        at_utc = at.app.reader.memory.catalog.log.entries(limit=1)[0]["at"]
        await at.app.show("log")
        await at.settle()
        assert f"{at_utc + timedelta(hours=9):%Y-%m-%d %H:%M}" in at

    walk(home, steps)


def test_enter_on_a_source_shows_its_memories(home):
    async def steps(at):
        await at.press("2", "slash")
        await at.type("records")
        await at.press("enter", "enter")
        assert [row.cells[2] for row in table_of_memories(at).shown] == ["the tide table is in UTC"]

    def table_of_memories(at):
        return at.app.screen.query_one("#memories").table

    walk(home, steps)


def test_the_plan_of_gc_is_shown_and_nothing_of_it_is_done(home):
    async def steps(at):
        before = at.app.reader.memory.catalog.memories.ids()
        await at.press("7", "p")
        assert "only `ragmem gc` executes it" in at
        assert "searched 135 now" in at, at.screen
        await at.press("escape")
        assert "The lifecycle of" in at, at.screen
        assert at.app.reader.memory.catalog.memories.ids() == before
        assert at.app.reader.memory.gc.history(10) == []

    walk(home, steps, size=(140, 30))


def test_what_memories_say_is_shown_as_it_stands_drives_nothing_and_is_copied_by_its_id(home):
    async def steps(at):
        await at.press("3", "slash")
        await at.type("marked")
        assert "[bold]Marked[/bold]" in at
        assert "\x1b" not in at.screen
        await at.press("enter", "enter")
        assert "[red]brackets[/red]" in at
        assert "\x1b" not in at.screen
        # The file's name has no place in it, and a record has no file at all.
        await at.press("escape", "c")
        assert at.app.clipboard == table_of(at).shown[0].key
        await at.press("escape", "slash")
        await at.type("tide table")
        await at.press("enter", "e")
        assert "it has no file" in at

    walk(home, steps)


def test_no_text_of_a_memory_reaches_the_terminal_with_control_characters(tmp_path):
    # Files are cleaned when they are read; what an assistant or a program hands in is not.
    drive = "\x1b]0;owned\x07\x1b[31m\x9b31m\n"
    home = Home(tmp_path)
    with home.open() as memory:
        memory.ingest(
            [
                Draft(
                    "memory",
                    f"/made/{drive}",
                    f"We decided `Fohub` depends on PostgreSQL because {drive} matters.\n{drive}",
                    title=f"Title {drive}",
                    scope=Scope(f"project{drive}"),
                    metadata={f"key{drive}": f"value{drive}"},
                )
            ]
        )
        memory.agents.heartbeat("builder", status="working", current_task=f"build {drive}")
        memory.injections.anticipate("session", f"why does Fohub {drive} need PostgreSQL", everywhere=True)

    async def steps(at):
        def look(where):
            assert all(letter.isprintable() or letter == "\n" for letter in at.screen), (where, at.screen)

        for keys in ("1", "2", "3", "5", "6", "7", "8", "9", "0"):
            await at.press("escape", *keys)
            look(keys)
        for name in ("transcripts", "agents", "log"):
            await at.app.show(name)
            await at.settle()
            look(name)
        await at.press("4")
        await at.type("PostgreSQL Fohub")
        await at.press("enter")
        look("answers")
        await at.press("enter")
        assert "Title" in at
        # The title is one line, and below it stands what the memory is.
        assert "architecture" in at.screen.splitlines()[1]
        for tab in "123456":
            await at.press(tab)
            look(f"tab {tab}")
        at.app.notify(f"told {drive}")
        await at.settle()
        look("notification")

    walk(home, steps, size=(140, 50))


def test_an_editor_of_blanks_is_none_and_the_file_itself_is_not_run(home, monkeypatch):
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv("EDITOR", " ")

    async def steps(at):
        await at.press("3", "slash")
        await at.type("ferry 129")
        await at.press("enter", "e")
        assert "set EDITOR to open" in at

    walk(home, steps)


def test_the_plan_shows_what_stays_and_where_the_texts_differ(tmp_path):
    home = Home(tmp_path)
    text = "Backup job {0} finished at {0}:15 with {0} files copied to the cellar and no error at all found."
    drafts = [
        Draft("notes", f"/{one}", text.format(one), "Backup", event_time=datetime(2026, 1, one, tzinfo=UTC))
        for one in range(10, 14)
    ]
    with home.open() as memory:
        memory.ingest(drafts, rule="off")

    async def steps(at):
        await at.press("7", "p")
        row, *others = table_of(at).shown
        assert len(others) == 2
        for part in ("stays: 2026-01-13", "both say: Backup job", "differs: ", " -> 13"):
            assert part in row.detail, row.detail

    walk(home, steps)


def test_r_makes_the_plan_anew(tmp_path):
    home = Home(tmp_path)

    def store(memory, number):
        memory.ingest(
            [
                Draft(
                    "memory",
                    f"/{number}",
                    f"We decided to moor ferry {number} because {number * 7} m is deep.",
                )
            ]
        )

    with home.open() as memory:
        store(memory, 1)

    async def steps(at):
        await at.press("7", "p")
        assert "searched 1 now" in at
        store(at.app.reader.memory, 2)
        await at.press("r")
        assert "searched 2 now" in at

    walk(home, steps)


def test_brackets_turn_no_view_behind_the_plan(home):
    async def steps(at):
        await at.press("7", "p", "right_square_bracket", "escape")
        assert "The lifecycle of all projects" in at

    walk(home, steps)


def test_a_home_without_memories_says_what_comes_next(empty_home):
    async def steps(at):
        assert "Nothing is stored here yet" in at
        for key in "34780":
            await at.press("escape", key)
            assert any(text in at for text in ("ragmem seed", "Nothing is queued", "paidocs")), at.screen

    walk(empty_home, steps)
    assert not (empty_home.root / "ragmem" / "data" / "memory.db").exists()


def test_the_mouse_chooses_a_view_colours_can_be_turned_and_the_keys_are_told(home):
    async def steps(at):
        await at.pilot.click("#views", offset=(5, 3))
        await at.settle()
        assert "100 of 135" in at
        await at.press("1")
        assert not at.app.current_theme.dark
        await at.press("t")
        assert at.app.current_theme.dark
        await at.press("question_mark")
        assert "a view by its number" in at
        await at.press("escape")
        assert "Tiers per source" in at

    walk(home, steps, light=True)


def test_a_terminal_of_a_few_letters_shows_little_and_breaks_nothing(home):
    async def steps(at):
        await at.press("3", "enter", "escape", "d", "j", "6", "enter")
        assert at.app.screen.own_key()

    walk(home, steps, size=(20, 5))


def test_a_line_is_cut_into_words_and_values():
    asked = parse_filter('driver kind:error project:"two words" http://x kind:', ("kind", "project"))
    assert asked.text == "driver http://x"
    assert asked.values == {"kind": ("error",), "project": ("two words",)}


def test_what_others_have_shared_is_accepted_and_rejected_by_keys_and_told_with_its_author(tmp_path):
    remote, folder = make_shared(tmp_path)
    for member, said in (("ada", ADA), ("bob", BOB), ("eve", HOSTILE)):
        share(remote, tmp_path, member, statement(member, *said))
    project = fetch(tmp_path, folder)
    home = Home(tmp_path)
    assert home.environ.items() >= FAKE.items()

    async def steps(at):
        await at.app.show("shared")
        await at.settle()
        assert len(table_of(at).shown) == 3
        await at.press("slash")
        await at.type("from:ada")
        await at.press("enter")
        assert [row.cells[1:3] for row in table_of(at).shown] == [("ada", "unsigned")]
        await at.press("y")
        assert [row.cells[1] for row in table_of(at).shown] != ["ada"]
        await at.press("slash")
        await at.type("from:eve")
        await at.press("enter")
        assert "onerror" in at, "a text is shown as it is"
        await at.press("n")
        assert [row.cells[1] for row in table_of(at).shown] == ["bob"]
        await at.press("3")
        assert "from ada" in at
        assert "from bob" not in at

    walk(home, steps, size=(200, 60))
    with home.open() as memory:
        assert {one.row.member for one in memory.sharing.waiting(project=project)} == {"bob"}
