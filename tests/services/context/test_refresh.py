"""A memory file tells what is proven, in lines that a person would keep, and never what it told before."""

import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.api.memory import Ragmem
from ragmem.api.memory_file import MemoryFile
from ragmem.domain.classification.one_line import line_of
from ragmem.domain.classification.standalone import MAX_CHARS, plain
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.model.lifecycle import LifecycleState
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import StorageError, UsageError
from ragmem.readers.slugs import slug_of
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PROJECT = "p-quay"

DECISION = (
    "## Decision\n\nStatus: accepted. We decided that the tide table is computed once a night, because the"
    " harbour's model takes eleven minutes and the departures board must answer at once."
)
PROBLEM = (
    "The importer failed with `E1042` because the feed of the buoys sends wind in knots. Root cause: the unit"
    " was assumed. Fixed by converting in `feeds/wind.py` before validation."
)
WISH = "The user prefers that commit messages name the berth and never the ticket."


def stored(memory, name, text, *, source="memory", days=10, project=PROJECT, **more):
    draft = Draft(
        source,
        more.pop("uri", f"/n/{name}.md"),
        text,
        title=more.pop("title", ""),
        scope=Scope(project),
        event_time=NOW - timedelta(days=days),
        **more,
    )
    [one] = memory.ingest([draft])
    return one.id


@pytest.fixture
def filled(memory):
    """A memory of a project with a decision, a problem and a wish."""
    return memory, {
        "decision": stored(memory, "tide", DECISION, title="Tide table"),
        "problem": stored(memory, "buoys", PROBLEM, title="Wind of the buoys", days=3),
        "wish": stored(memory, "wish", WISH, kind=Kind.PREFERENCE, days=30),
    }


def refreshed(memory, path, **more):
    return memory.memory_file.update(project=PROJECT, file=path, **more)


def lines_of(path):
    return [line for line in path.read_text().splitlines() if line.startswith("- 20")]


def test_each_proven_memory_is_one_dated_line_with_its_id_in_its_group(filled, tmp_path):
    memory, ids = filled
    path = tmp_path / "AGENTS.md"
    refreshed(memory, path)
    text = path.read_text()
    groups = re.split(r"^## ", text, flags=re.MULTILINE)
    of = {group.split("\n", 1)[0]: group for group in groups[1:]}
    assert f"(memory `{ids['wish'][:12]}`)" in of["Preferences and rules"]
    assert f"`{ids['problem'][:12]}`" in of["Problems and fixes"]
    assert f"`{ids['decision'][:12]}`" in of["Decisions"]
    assert "- 2026-05-22 " in of["Decisions"]
    assert "`ragmem inspect memory ID`" in text
    assert all(len(line) <= MAX_CHARS + 30 for line in lines_of(path))


def test_the_same_memory_gives_the_same_bytes_and_writes_nothing_twice(filled, tmp_path):
    memory, _ = filled
    path = tmp_path / "AGENTS.md"
    assert refreshed(memory, path).changed
    before = path.stat()
    assert not refreshed(memory, path).changed
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    other = tmp_path / "OTHER.md"
    refreshed(memory, other)
    assert other.read_bytes() == path.read_bytes()


def test_what_a_person_wrote_stays_byte_for_byte(filled, tmp_path):
    memory, _ = filled
    path = tmp_path / "CLAUDE.md"
    mine = "# Mine\r\n\r\n\ttabs, \xff bytes and no end".encode("latin-1")
    path.write_bytes(mine)
    refreshed(memory, path)
    assert path.read_bytes().startswith(mine)
    stored(memory, "more", DECISION.replace("tide", "crane").replace("night", "week"), title="Cranes")
    refreshed(memory, path)
    assert path.read_bytes().startswith(mine)
    assert path.read_bytes().count(b"BEGIN ragmem") == 1


def test_what_the_file_says_already_is_not_told_again(filled, tmp_path):
    memory, ids = filled
    path = tmp_path / "CLAUDE.md"
    path.write_text(f"- {WISH}\n")
    refreshed(memory, path)
    assert ids["wish"][:12] not in path.read_text()
    assert ids["decision"][:12] in path.read_text()


def test_what_was_read_from_the_file_or_from_one_that_it_links_never_comes_back(memory, tmp_path):
    path = tmp_path / "MEMORY.md"
    path.write_text("- [Tides](tides.md)\n")
    own = stored(memory, "own", DECISION, uri=str(path))
    linked = stored(memory, "linked", PROBLEM, uri=str(tmp_path / "tides.md"))
    other = stored(memory, "other", WISH, kind=Kind.PREFERENCE)
    refreshed(memory, path)
    text = path.read_text()
    assert (own[:12] in text, linked[:12] in text, other[:12] in text) == (False, False, True)


@pytest.mark.parametrize("part", ["", "#9f3a"])
def test_what_was_read_from_a_file_with_a_hash_in_its_path_never_comes_back(memory, tmp_path, part):
    path = tmp_path / "c#" / "MEMORY.md"
    path.parent.mkdir()
    own = stored(memory, "own", DECISION, uri=f"{path}{part}")
    other = stored(memory, "other", WISH, kind=Kind.PREFERENCE)
    refreshed(memory, path)
    text = path.read_text()
    assert (own[:12] in text, other[:12] in text) == (False, True)


def test_refresh_then_seed_then_refresh_is_stable(tmp_path):
    home = tmp_path / "home"
    root = home / "quay"
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    folder = home / ".claude/projects" / slug_of(root) / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(
        "# Notes of mine\n\nThe harbour master signs each release on Fridays.\n"
    )
    (folder / "tide.md").write_text(f"---\nname: tide\ntype: project\n---\n\n{DECISION}\n")
    environ = {
        "HOME": str(home),
        "RAGMEM_HOME": str(tmp_path / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }
    with Ragmem.open(environ=environ, home=home, cwd=root) as memory:
        memory.seed()
        first = memory.memory_file.update()
        assert first.path == folder / "MEMORY.md"
        assert first.index.lines == 1
        for _ in range(2):
            memory.seed()
            again = memory.memory_file.update()
            assert (again.changed, again.before) == (False, first.after)
        texts = [one.text for one in memory.catalog.memories.get(memory.catalog.memories.ids()).values()]
        assert not [text for text in texts if "BEGIN ragmem" in text or "What memory holds" in text]
        assert [text for text in texts if "harbour master" in text]


def test_only_the_project_and_the_wishes_of_the_user_are_told(filled, tmp_path):
    memory, ids = filled
    other = stored(memory, "other", DECISION.replace("tide", "crane"), project="p-other")
    fact = stored(memory, "fact", PROBLEM.replace("buoys", "cranes"), project="user")
    wish = stored(
        memory,
        "own",
        "The user prefers tables to lists and never emoji.",
        project="user",
        kind=Kind.PREFERENCE,
    )
    refreshed(memory, tmp_path / "A.md")
    text = (tmp_path / "A.md").read_text()
    assert ids["decision"][:12] in text
    assert wish[:12] in text
    assert other[:12] not in text
    assert fact[:12] not in text


def test_what_was_superseded_or_rated_bad_is_not_told(filled, tmp_path):
    memory, ids = filled
    memory.lifecycle.rate(ids["problem"], "bad", session="s")
    with memory.catalog.database.write() as connection:
        connection.execute(
            "INSERT INTO supersessions (older, newer, older_at, newer_at, rule, reason, made_at)"
            " VALUES (?,?,1,2,'value','',3)",
            (ids["decision"], ids["wish"]),
        )
    refreshed(memory, tmp_path / "A.md")
    text = (tmp_path / "A.md").read_text()
    assert [ids[name][:12] in text for name in ("decision", "problem", "wish")] == [False, False, True]


def test_of_what_happened_only_decisions_and_what_was_of_use_later_is_told(memory, tmp_path):
    once = stored(memory, "once", PROBLEM, source="transcripts")
    decided = stored(memory, "decided", DECISION, source="transcripts")
    stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    assert once[:12] not in path.read_text()
    assert decided[:12] in path.read_text()
    memory.lifecycle.rate(once, "good", session="s")
    refreshed(memory, path)
    assert once[:12] in path.read_text()


def test_procedures_are_not_told(memory, tmp_path):
    for source in ("skills", "commands", "claudemds", "paidocs"):
        stored(memory, source, DECISION.replace("tide", source), source=source)
    done = refreshed(memory, tmp_path / "A.md")
    assert not done.changed
    assert not (tmp_path / "A.md").exists()


def test_a_pinned_memory_stands_before_others_where_room_is_short(memory, tmp_path):
    ids = [
        stored(
            memory,
            f"d{number}",
            f"## Decision\n\nWe decided that crane {number} of the {name} quay stops at wind force {number},"
            f" because its {name} brake slips in the rain.",
            days=number,
        )
        for number, name in enumerate("alder birch cedar dogwood elm fir gum hazel ivy juniper".split(), 2)
    ]
    memory.lifecycle.pin(ids[-1])
    done = refreshed(memory, tmp_path / "A.md", max_lines=28)
    told = [line.id for _, lines in done.index.groups for line in lines]
    assert len(told) < len(ids)
    assert ids[-1] in told
    assert len((tmp_path / "A.md").read_text().splitlines()) <= 28


def test_a_memory_file_of_claude_code_has_as_many_lines_as_are_read(filled, tmp_path):
    memory, _ = filled
    path = tmp_path / "MEMORY.md"
    path.write_text("".join(f"line {number} of mine\n" for number in range(199)))
    done = refreshed(memory, path)
    assert (done.changed, len(path.read_text().splitlines())) == (False, 199)
    path.write_text("".join(f"line {number} of mine\n" for number in range(160)))
    refreshed(memory, path, max_lines=200)
    assert 160 < len(path.read_text().splitlines()) <= 200


def test_a_block_with_nothing_to_tell_any_more_is_emptied(filled, tmp_path):
    memory, ids = filled
    path = tmp_path / "A.md"
    path.write_text("mine\n")
    refreshed(memory, path)
    memory.forget(ids.values())
    refreshed(memory, path)
    assert path.read_text().startswith("mine\n")
    assert lines_of(path) == []
    assert not refreshed(memory, path).changed


def test_broken_marks_are_an_error_that_touches_nothing(filled, tmp_path):
    memory, _ = filled
    path = tmp_path / "A.md"
    path.write_text("mine\n<!-- BEGIN ragmem -->\nno end\n")
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r'A\.md" line 2: a BEGIN ragmem without its END'):
        refreshed(memory, path)
    assert path.read_bytes() == before


def test_the_mode_of_a_file_and_a_symbolic_link_are_kept(filled, tmp_path):
    memory, _ = filled
    real = tmp_path / "real.md"
    real.write_text("mine\n")
    real.chmod(0o640)
    link = tmp_path / "AGENTS.md"
    link.symlink_to(real)
    refreshed(memory, link)
    assert link.is_symlink()
    assert "BEGIN ragmem" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir() if "refresh" in one.name) == []


def test_a_file_that_changes_while_it_is_planned_is_planned_again(filled, tmp_path, monkeypatch):
    memory, _ = filled
    path = tmp_path / "A.md"
    path.write_text("mine\n")
    planned = MemoryFile._plan

    def disturbed(self, *more):
        found = planned(self, *more)
        if path.read_text() == "mine\n":
            path.write_text("mine\nand theirs\n")
        return found

    monkeypatch.setattr(MemoryFile, "_plan", disturbed)
    refreshed(memory, path)
    assert path.read_text().startswith("mine\nand theirs\n")


def test_a_place_that_there_is_not_is_an_error(filled, tmp_path):
    memory, _ = filled
    with pytest.raises(UsageError, match=r'there is no folder ".*/nowhere"'):
        refreshed(memory, tmp_path / "nowhere" / "A.md")
    with pytest.raises(StorageError, match=r'cannot read ".*": file name too long'):
        refreshed(memory, tmp_path / f"{'x' * 300}.md")
    assert list(tmp_path.glob("nowhere*")) == []


@pytest.mark.parametrize("content", [b"\0\1binary", None])
def test_what_is_no_text_file_is_refused(filled, tmp_path, content):
    memory, _ = filled
    path = tmp_path / "A.md"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(UsageError):
        refreshed(memory, path)


def test_a_line_has_no_secret_and_nothing_that_markdown_reads_as_more(memory):
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7h8"
    text = (
        f"- **The deploy** must never use [the token]({token}) <b>because</b> `x` the harbour's"
        f" gate {token} rejects it <!-- END ragmem -->."
    )
    one = memory.catalog.memories.get([stored(memory, "x", text)])
    [found] = one.values()
    line, worth = line_of(found, redactor=DEFAULT)
    assert worth > 0
    assert line.startswith("The deploy must never use the token because")
    for mark in (token, "**", "](", "<b>", "<!--", "\n"):
        assert mark not in line


@pytest.mark.parametrize("status", ["Superseded (2026-02-09)", "rejected", "Deprecated"])
def test_what_says_that_it_holds_no_more_is_not_told(memory, tmp_path, status):
    stored(memory, "old", f"# Tides\n\n**Date:** 2026-02-01\n**Status:** {status}\n\n{DECISION}")
    assert not refreshed(memory, tmp_path / "A.md").changed


@pytest.mark.parametrize(
    ("title", "described", "told"),
    [
        (
            "Ink of the printer \u2014 RESOLVED 2026-03-25",
            "Never print the board without ink in `printer.py`.",
            False,
        ),
        ("Definition of DONE", "Never print the board without ink in `printer.py`.", True),
        ("Ink of the printer", "Fixed in May: never print the board without ink in `printer.py`.", False),
        ("Ink of the printer", "Fixed-width boards must never be printed without `printer.py`.", True),
    ],
)
def test_what_a_title_or_a_description_calls_over_is_not_told(memory, tmp_path, title, described, told):
    metadata = {"description": described, "type": "feedback"}
    stored(memory, "ink", "The printer hums.", title=title, metadata=metadata)
    assert refreshed(memory, tmp_path / "A.md").changed is told


def test_of_a_record_of_a_decision_the_decision_is_told(memory):
    text = (
        "# Decision 5: a small model for tides\n\n## Context\n\nThe tide model must never fail because the"
        " harbour closes at `gate.py` otherwise, which breaks all 40 departures.\n\n## Decision\n\nUse the"
        " two layer model for the tides of the north quay.\n\n## Alternatives\n\nNever use the large model,"
        " because `gate.py` times out after 30 s.\n"
    )
    one = memory.catalog.memories.get([stored(memory, "d", text, metadata={"type": "decision"})])
    [found] = one.values()
    assert "Use the two layer model for the tides of the north quay." in line_of(found, redactor=DEFAULT)[0]


def test_an_approach_that_was_left_is_not_told(memory):
    text = (
        "# Harbour design\n\n## Key decisions\n\n"
        "**Initial Approach**: Each berth must keep its own tide table.\n\n"
        "**Rule**: All berths must read one tide table.\n"
    )
    [found] = memory.catalog.memories.get([stored(memory, "d", text)]).values()
    assert line_of(found, redactor=DEFAULT)[0].endswith("All berths must read one tide table.")


def test_steps_and_questions_are_plain_words():
    for text in ("Add the berth to the form of the skipper.", "Should we add a berth to the form at all?"):
        assert plain(text, redactor=DEFAULT) == text
    assert plain("**潮汐表のみ**でSQLiteに", redactor=DEFAULT) == "潮汐表のみでSQLiteに"


TRANSCRIPT = (
    "User: where are we?\n\nAssistant: ## Next steps\n\n"
    "- [ ] Measure the depth of berth nine again, because the ferry must not touch ground\n"
    "- Fix the `tide_feed.py` importer, because it fails on knots\n\n"
    "User: go on\n\n"
    "Assistant: Berth nine is measured and `tide_feed.py` is fixed. All of it is closed."
)


@pytest.mark.parametrize("source", ["sessions", "transcripts", "memory"])
def test_work_that_was_open_for_a_while_is_never_told(filled, tmp_path, source):
    memory, _ = filled
    for name, text in (("one", TRANSCRIPT), ("two", TRANSCRIPT.replace("[ ]", "Still open:"))):
        one = stored(memory, name, text, source=source, days=1)
        memory.lifecycle.pin(one)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    text = path.read_text()
    assert "Open work" not in text
    assert "Measure the depth" not in text
    assert "Fix the" not in text


def test_the_state_before_a_migration_is_not_told_as_true(memory, tmp_path):
    old = "The harbour stores its departures in SQLite, because one file is easy to back up at night."
    new = (
        "The harbour stores its departures in PostgreSQL now instead of SQLite, because two may write."
        " Before the migration the harbour stored its departures in SQLite, because a file is easy to copy."
    )
    stored(memory, "old", old, days=60)
    later = stored(memory, "new", new, days=5)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    (line,) = lines_of(path)
    assert later[:12] in line
    assert "in PostgreSQL now" in line
    assert "Before the migration" not in line


def test_what_gc_merged_or_kept_is_not_promoted_by_it(filled, tmp_path):
    memory, _ = filled
    plain_note = stored(memory, "plain", PROBLEM.replace("buoys", "cranes"), source="consolidated")
    lasting = stored(memory, "lasting", PROBLEM.replace("buoys", "gates"), source="notes")
    rows = [LifeRow(plain_note, life=LifecycleState.PROVEN), LifeRow(lasting, life=LifecycleState.PERMANENT)]
    memory.catalog.lives.put(rows, now=NOW)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    assert plain_note[:12] not in path.read_text()
    assert lasting[:12] not in path.read_text()


def test_three_sessions_that_recall_a_memory_promote_it_and_two_do_not(memory, tmp_path):
    one = stored(memory, "crane", PROBLEM.replace("buoys", "cranes"), source="transcripts")
    wish = stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    path = tmp_path / "A.md"
    for session, told in (("s1", False), ("s2", False), ("s3", True)):
        memory.catalog.lives.add_recalls([Recall(one, session, NOW)])
        refreshed(memory, path)
        assert wish[:12] in path.read_text()
        assert (one[:12] in path.read_text()) is told


@pytest.mark.parametrize(
    "text",
    [
        "# We decided on PostgreSQL because two writers must never wait",
        "```\nwe_decided(postgres, because=two_writers_must_never_wait)\n```",
        "We decided that PostgreSQL holds the tides because "
        + "two writers must never wait and " * 9
        + "so on.",
        "We must never let two writers wait, because the board of `tides.py`",
    ],
)
def test_a_memory_without_a_clean_sentence_is_left_out(memory, tmp_path, text):
    memory.lifecycle.pin(stored(memory, "x", text))
    assert not refreshed(memory, tmp_path / "A.md").index.lines


EXCHANGE = (
    "User: make the board fast\n\nAssistant:\n\n# Research\n\nWe decided that the board is drawn by the"
    " printer of the harbour, because nobody looks at it.\n\n- Looked at `board.py`\n\n# Result\n\n{said}"
)


def test_of_an_exchange_only_a_decision_of_its_question_or_result_is_told(memory, tmp_path):
    said = "We decided that the board is cached for a minute in `board.py`, because the model is slow."
    one = stored(memory, "board", EXCHANGE.format(said=f"ADR-7 is accepted. {said}"), source="transcripts")
    stored(memory, "work", EXCHANGE.format(said="The board is fast now."), source="transcripts", days=2)
    broken = {"interrupted": "yes"}
    stored(
        memory,
        "cut",
        EXCHANGE.format(said=f"ADR-8 is accepted. {said}"),
        source="transcripts",
        metadata=broken,
    )
    path = tmp_path / "A.md"
    refreshed(memory, path)
    [line] = lines_of(path)
    assert one[:12] in line
    assert "printer" not in line


def test_of_a_plan_only_what_it_decides_is_told(memory, tmp_path):
    text = (
        "# Plan of the board\n\nThe board must show each tide of `tides.py`, because ships wait for it.\n\n"
        "## Open decisions\n\nThe board is never cached, because the tides are asked once.\n\n## Talk\n\n"
        "We decided that the board is cached for a minute in `board.py`, because the model is slow.\n"
    )
    stored(memory, "plan", text, title="Plan of the board")
    path = tmp_path / "A.md"
    refreshed(memory, path)
    [line] = lines_of(path)
    assert "cached for a minute" in line


@pytest.mark.parametrize(
    ("status", "head", "told"),
    [
        ("Accepted", "Amends: ADR-0007", ["0009"]),
        ("Accepted", "This supersedes in part ADR 7.", ["0009"]),
        ("Accepted", "It is not superseded by ADR-0007.", ["0007", "0009"]),
        ("Accepted", "Amends: SDR-0007", ["0007", "0009"]),
        ("Proposed", "Amends: ADR-0007", ["0007"]),
    ],
)
def test_a_record_that_a_later_accepted_one_amends_is_not_told(memory, tmp_path, status, head, told):
    for name, own, above, said in (
        ("adr-0007", "Accepted", "", "We will print each board of 0007 at night."),
        ("adr-0009", status, head, "All the paper of 0009 comes from one mill upstream."),
    ):
        text = f"# Printers\n\nStatus: {own}\n\n{above}\n\n## Decision\n\n{said}\n"
        stored(memory, name, text, uri=f"/r/docs/adr/{name}-printer.md", source="decisions", title="Printers")
    lines = [line.text for _, lines in refreshed(memory, tmp_path / "A.md").index.groups for line in lines]
    assert [name for name in ("0007", "0009") if any(name in line for line in lines)] == told


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("15. Remove Postgres (for now)", False),
        ("ADR-0015: Replace postgres with SQLite", False),
        ("Replace Postgres backups with snapshots", True),
        ("Move the tides from Postgres 9 to SQLite", False),
        ("Move the tides from Postgres", True),
        ("Keep Postgres", True),
    ],
)
def test_a_record_whose_thing_a_later_one_removes_is_not_told(memory, tmp_path, title, told):
    for number, name, said in (
        (7, "7. Use TypeORM with Postgres", "We will map each table of the harbour by an entity."),
        (15, title, "We will keep the tides of the harbour in files, because one pilot reads them."),
    ):
        text = f"# {name}\n\nStatus: Accepted\n\n## Decision\n\n{said}\n"
        uri = f"/r/docs/adr/{number:04}-store.md"
        stored(memory, f"adr{number}", text, uri=uri, source="decisions", title=name)
    lines = [line.text for _, lines in refreshed(memory, tmp_path / "A.md").index.groups for line in lines]
    assert any("entity" in line for line in lines) is told
    assert any("pilot" in line for line in lines)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("We decided that the board is cached in `board.py`, because its model is slow.", True),
        ("If the printer is slow, we decided that the board is cached for a minute.", False),
        ("The user decided to print the board of `board.py` in two parts.", False),
        ("They chose not to keep the board that nobody had printed.", False),
    ],
)
def test_of_an_exchange_no_imagined_case_and_nothing_of_others_is_told(memory, tmp_path, said, told):
    stored(memory, "board", EXCHANGE.format(said=f"ADR-7 is accepted. {said}"), source="transcripts")
    path = tmp_path / "A.md"
    assert refreshed(memory, path).changed is told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Never print the board of the harbour on both sides of the paper.", True),
        ("The board must be printed on paper of the harbour in `printer.py`.", True),
        ("When the tide is late, do not print the board a second time.", True),
        ("The board is printed only if `tide_feed.py` has sent its tides.", False),
        ("The board of `board.py` had never been printed on both sides.", False),
        ("Seven tides are open on six other Must berths of the harbour.", False),
        ("Always run the printer of the procedure above with its own paper.", False),
        ("Never fix it by a second printer on the board of the harbour.", False),
        ("Boards always stored as paper in the halls of our harbour.", False),
        ("Always printed on both sides of the paper of the harbour.", False),
        ("Board | never printed | must be paper | of the harbour", False),
        ("(B-6) and never print the board of the harbour on both sides.", False),
        ("Discarded: never print the board of the harbour on both sides.", False),
        ("We decided to postpone the printer of the board of the harbour.", False),
        ("We believe the board must never be printed on both sides of paper.", False),
        ("Never print the board of the harbour as described above.", False),
        ("N.B. Never print the board of the harbour on both sides of the paper.", False),
        ("To achieve that, never print the board of the harbour on both sides.", False),
        ("Additionally, the board of the harbour must never be printed twice.", False),
        ("The hours of the printer must never overlap, but needs to be decided.", False),
        ("Seine Tafel darf niemals auf beiden Seiten des Papiers gedruckt werden.", False),
        ("Diese Tafel darf niemals auf beiden Seiten des Papiers gedruckt werden.", False),
        ("Esta placa nunca deve ser impressa dos dois lados do papel do porto.", False),
        ("The goal is that the board of the harbour must never be printed twice.", False),
        ("Never print the board of the harbour as in the current PR.", False),
        ("The board of the harbour must be able to print all of its tides.", False),
        ("Users must agree to the terms of the harbour before the board prints.", False),
        ("The board must be fast, legible, and quiet in every hall of the harbour.", False),
        ("All printers of the harbour must be reviewed by code, and tests must be isolated.", True),
        ("All code of the harbour must be reviewed and tested before it prints.", False),
        ("Never store the passwords of the harbour in version control, nor on paper.", False),
        ("`printer.py` has an import of the old board that must be updated.", False),
        ("Every printer of `printer.py` must be updated when a new tide is printed.", True),
        ("The board of the harbour - always visible in each hall, never printed.", False),
        ("The fourth printer = must print on both sides of its paper.", False),
        ("Boards of the harbour (they must never hang above each other) by hall.", False),
    ],
)
def test_of_a_note_what_is_to_be_done_is_told_and_no_state_or_detail(memory, tmp_path, said, told):
    text = f"# Notes of the board\n\nThe printer hums. {said}\n"
    stored(memory, "notes", text, title="Notes of the board", kind=Kind.ARCHITECTURE)
    assert refreshed(memory, tmp_path / "A.md").changed is told


def test_the_readme_of_a_dated_folder_is_a_record(memory, tmp_path):
    text = "# Printers\n\n## Decision\n\nWe will print the boards of the harbour at night.\n"
    for place in ("", "2026-01-02-printers/", "printers/"):
        uri = f"/r/docs/decision-records/{place}README.md"
        stored(memory, f"adr{place}", text, uri=uri, source="decisions", title="Printers")
    [(_, lines)] = refreshed(memory, tmp_path / "A.md").index.groups
    assert len(lines) == 1


@pytest.mark.parametrize(
    "title", ["{short title of the problem}", "[short title]", "ADR 7: Decision record title"]
)
def test_the_placeholder_of_a_title_is_not_told(memory, tmp_path, title):
    text = f"# {title}\n\n## Decision\n\nWe will print the boards of the harbour at night.\n"
    stored(memory, "adr", text, uri="/r/docs/adr/0007-printers.md", source="decisions", title=title)
    [(_, [line])] = refreshed(memory, tmp_path / "A.md").index.groups
    assert line.text == "We will print the boards of the harbour at night."


@pytest.mark.parametrize("name", ["README.md", "template.md", "0001-record-architecture-decisions.md"])
def test_what_only_tells_how_decisions_are_recorded_is_not_told(memory, tmp_path, name):
    text = "# Record architecture decisions\n\n## Decision\n\nWe will never decide without a record of it.\n"
    stored(
        memory,
        "adr",
        text,
        uri=f"/r/docs/adr/{name}",
        source="decisions",
        title="Record architecture decisions",
    )
    assert not refreshed(memory, tmp_path / "A.md").changed


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ("We will use **one printer** as the printer of the board.", "We will use one printer as"),
        (
            "<!-- lint: off -->\nWe print the boards at night only, by one printer.",
            "We print the boards at night only",
        ),
        ("Option 2 - We will print the board at night.", "We will print the board at night."),
        ("(#2) We will print [the board][b] and hang it up[^1].", "We will print the board and hang it up."),
        ("Run the board by a queue of jobs:\n\n- one\n- two", ""),
        (f"Chosen: the printer of the north quay, because {'it prints on both sides, ' * 9}.", "north quay."),
        ("We've tested the printers of the harbour. We will print all boards at night.", "We will print all"),
        ("We tested six printers of the harbour. We will print all boards at night.", "We will print all"),
        ("Our printers are limited to one hall. We will print all boards at night.", "We will print all"),
        ("Our proposal consists of one queue of jobs. We print all boards at night.", "We print all boards"),
        ("We will not change the north quay. We print all boards at night.", "We print all boards"),
        ("We use offset-based printing. We use the queue of the operating system.", "offset-based"),
        ("It has been decided to print all boards at night.", "It has been decided to print"),
        ("We will also print all the boards of the harbour at night.", ""),
        ("We are going to print all boards of the harbour at night.", "We are going to print all boards"),
        ("The operating system offers six queues. We will print at night only.", "We will print at night"),
        ("Some queue of the harbour prints at night. We have decided to print at dawn.", "print at dawn"),
        ("Some queue of the harbour prints at night. We will not print at dawn.", "prints at night"),
        ("We will evaluate six printers. We will print at night only.", "We will print at night"),
        ("We developed a queue for printers. We will print at night only.", "We will print at night"),
        ("All printers were tried by the skippers. We will print at night only.", "We will print at night"),
        ("The current printers hum all night. We will print at dawn only.", "We will print at dawn"),
        ("To lower the costs of paper we will go with Proposal 1 for the harbour.", ""),
        ("Option (2) was chosen by all the skippers of the harbour.", ""),
        ("2 was chosen by all the skippers of the harbour for its paper.", ""),
        ("We should change the way we are printing all the boards.", ""),
        ("We will use Architecture Decision Records, as described by others.", ""),
        (
            f"The core must not print boards; these {'boards and ' * 20}walls in turn are printed.",
            "must not print boards.",
        ),
        (
            f"We will use one printer for all boards of the harbour, and remove {'`old` and ' * 20}`new`.",
            "We will use one printer for all boards of the harbour.",
        ),
        ("Update the printer of the north quay so that it prints at night.", ""),
        ("Printers are the halls of our harbour, and they all hum.", ""),
        ("Printers are the only machines that print `board.py` in a hall.", "only machines"),
        (
            f"Give the skippers {'more and ' * 20}more time for boards; they are printed six hours early.",
            "six hours early",
        ),
        (
            f"In the context of paper, facing {'rain and ' * 30}wind, we decided for ink, accepting noise.",
            "We decided for ink, accepting noise.",
        ),
        ('Chosen option: "One printer", because\n\n- it hums', 'Chosen option: "One printer".'),
        ('Chosen option: "One printer", because comes out best (see below).', 'option: "One printer".'),
        ('Chosen option: "One printer", because it is still new.', 'option: "One printer".'),
        ('Chosen option: "Status quo", because all of its others hum at night.', ""),
        ('Chosen option: "All options", because comes out best.', ""),
        ("The options considered are one printer, six of them and a hall of paper.", ""),
        ("asynchronous printing with paper from the north quay of the harbour.", ""),
        ("hostPort is the port of the printer on the north quay.", "hostPort is the port"),
        ("Each entry names the printer of the hall in which it hums.", ""),
        ("Every board above is printed at night by one printer.", ""),
        (
            "> **Correction (2026-05-31):** it is not\n> printed.\n\nWe print all boards at dawn only.",
            "We print all boards at dawn only.",
        ),
        (
            f"Add one printed board, **`North Quay \u2014 Board of Ships`** {'with ships and ' * 20}boats.",
            "",
        ),
        ("Momenteel drukken we alle borden van de haven 's nachts.", ""),
        ("Wir drucken alle Tafeln des Hafens vorerst in der Nacht.", ""),
        ('Chosen option: "{title of option 1}", because\n\n- it hums', ""),
        ("Paper by night and\n\n- one\n- two", ""),
        ("The board has three layers:\n\n- one\n- two", ""),
        ("Printing at night was chosen because:\n\n- it is quiet", "Printing at night was chosen."),
        ("We will need to buy paper for the printer of the harbour.", ""),
        ("Remove the second printer from all lists of the harbour.", ""),
        ("We will implement a reliable printing system for the boards.", ""),
        (
            "We will implement a printing system with CUPS for the boards.",
            "We will implement a printing system",
        ),
        ("Chosen option: 2 \u2014 the printer of the north quay of the harbour.", ""),
        ("Use both printers in combination for all boards of the harbour.", "Use both printers"),
        ("Use both options in combination for all boards of the harbour.", ""),
        ("The north quay keeps its printer [binding] at night and on Sundays.", "keeps its printer at night"),
        (
            "\u6f6e\u6c50\u8868\u306f\u591c\u306b\u4e00\u5ea6\u3060\u3051SQLite\u306b\u66f8\u304d\u8fbc\u3080\u3002",
            "SQLite",
        ),
        (
            "\u6f6e\u6c50\u8868\u5199\u5165\u672c\u5730\u6570\u636e\u5e93\uff0c\u4e0d\u4f7f\u7528\u7f13\u5b58\u3002",
            "\u4e0d\u4f7f\u7528\u7f13\u5b58",
        ),
        (
            "\u4ee5\u4e0b\u306e\u6f6e\u6c50\u8868\u3092\u591c\u306b\u4e00\u5ea6\u3060\u3051\u66f8\u304d\u8fbc\u3080\u3002",
            "",
        ),
    ],
)
def test_of_a_decision_the_sentence_that_says_what_is_done_is_told(memory, tmp_path, decision, told):
    text = f"# ADR 7: printers\n\n## Status\n\nAccepted\n\n## Decision\n\n{decision}\n"
    stored(
        memory, "adr", text, uri="/r/docs/adr/0007-printers.md", source="decisions", title="ADR 7: printers"
    )
    lines = [line for _, lines in refreshed(memory, tmp_path / "A.md").index.groups for line in lines]
    assert [told in line.text for line in lines] == [True] * bool(told)
    assert all("lint" not in line.text for line in lines)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("- **Status:** Accepted", True),
        ("**Status**  Accepted", True),
        ("- **Status:** Accepted (2026-08-01, by the harbour master)", True),
        ("- **Status:** Entschieden", True),
        ("- **Status:** Accepted \u2014 and the move that it deferred was carried out", False),
        ("**Status**  Accepted, but only for the north quay", False),
    ],
)
def test_a_record_whose_status_says_more_than_that_it_holds_is_not_told(memory, tmp_path, status, told):
    text = f"# ADR 7: printers\n\n{status}\n\n## Decision\n\nWe print the boards at night.\n"
    stored(
        memory, "adr", text, uri="/r/docs/adr/0007-printers.md", source="decisions", title="ADR 7: printers"
    )
    assert refreshed(memory, tmp_path / "A.md").changed is told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Relates to ADR-0007.", True),
        ("**Refines:** ADR 0007 (printers)", False),
        ("ADR-0007 (printers) was rescoped to the north quay.", False),
        ("- ADR-0007: printers (the hours of printing that this ADR replaces).", False),
        ("ADR-0007 said to print on all quays from the start. This ADR refines that decision.", False),
        ("ADR-0007 said to print on all quays. This ADR follows that decision.", True),
    ],
)
def test_a_record_that_a_later_one_says_it_changes_is_not_told(memory, tmp_path, line, told):
    for number, name, said in ((7, "printers", ""), (9, "screens", line)):
        text = f"# ADR {number}\n\nStatus: accepted\n\n## Decision\n\nWe hang up {name} at night.\n\n{said}\n"
        stored(
            memory,
            name,
            text,
            uri=f"/r/docs/adr/000{number}-{name}.md",
            source="decisions",
            title=f"ADR {number}",
        )
    refreshed(memory, tmp_path / "A.md")
    assert ["We hang up printers" in (tmp_path / "A.md").read_text()] == [told]


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("/r/docs/adr/0007-printers.md", True),
        ("/r/docs/entscheidungen/0007-drucker.md", True),
        ("/r/docs/decisoes/0007-impressoras.md", True),
        ("/r/docs/adr/legacy/0007-printers.md", False),
        ("/r/docs/adr/templates/0007-printers.md", False),
        ("/examples/r/docs/adr/0007-printers.md", True),
        ("/r/docs/adr/0007-briefs/a-printers.md", False),
        ("/r/docs/adr/0007-printers-prompt.md", False),
        ("/old/r/docs/adr/0007-printers.md", True),
    ],
)
def test_what_lies_in_a_folder_of_what_is_over_or_beside_records_is_not_told(memory, tmp_path, uri, told):
    text = "# Printers\n\n- **Status:** accepted\n\nWe print the boards of the harbour at night.\n"
    stored(memory, "adr", text, uri=uri, source="decisions", title="Printers")
    assert refreshed(memory, tmp_path / "A.md").changed is told


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ("Steps required every time a new board is added to the harbour", False),
        ("User preferences for how boards should be printed \u2014 paper, ink, and halls", False),
        ("Naming conventions of the boards: prefer the quay in `board.py`, never the berth", True),
        ("Printer quirks learned at night \u2014 paper, ink jams, tray order of the harbour", False),
        ("User wants to rewrite the printer of the boards in Rust this year", False),
        ("The printer jams in `board.py` because the paper of the boards is wet", True),
    ],
)
def test_a_description_that_names_a_subject_or_a_wish_of_work_is_not_told(memory, tmp_path, described, told):
    metadata = {"description": described, "type": "feedback"}
    stored(memory, "ink", "The printer hums.", title="", metadata=metadata)
    assert refreshed(memory, tmp_path / "A.md").changed is told


def test_of_what_was_chosen_the_title_is_told_that_says_the_same(memory, tmp_path):
    title = "Use one printer for all boards"
    text = f'# {title}\n\n## Decision Outcome\n\nChosen option: "Use one printer", because\n\n- it hums\n'
    stored(memory, "adr", text, uri="/r/docs/adr/0007-printers.md", source="decisions", title=title)
    [(_, [line])] = refreshed(memory, tmp_path / "A.md").index.groups
    assert line.text == title


@pytest.mark.parametrize(
    ("title", "told"), [("Rules of the board", True), ("User Guide: the board", False), ("FAQ", False)]
)
def test_what_tells_users_how_to_use_a_product_is_not_told(memory, tmp_path, title, told):
    text = f"# {title}\n\nNever print the board of the harbour on both sides of the paper.\n"
    stored(memory, "notes", text, title=title, kind=Kind.ARCHITECTURE)
    assert refreshed(memory, tmp_path / "A.md").changed is told


def test_the_entry_of_an_index_is_not_told_beside_its_note(memory, tmp_path):
    text = "# Memory index\n\n- [Ink](ink.md) \u2014 never print a board of the harbour without ink\n"
    stored(memory, "index", text, title="Memory index")
    assert not refreshed(memory, tmp_path / "A.md").changed


def test_what_follows_the_label_of_a_story_in_its_paragraph_is_not_told(memory, tmp_path):
    text = "# Decision log\n\n- **Context:** We needed paper. The paper of the harbour must never be wet.\n"
    stored(memory, "log", text, title="Decision log")
    assert not refreshed(memory, tmp_path / "A.md").changed


def git(root, *words):
    subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *words],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path):
    """A project whose file was moved and whose function was removed."""
    root = tmp_path / "home" / "quay"
    (root / "feeds").mkdir(parents=True)
    git(root, "init", "-q")
    (root / "NOTES.md").write_text("`convert_knots`, `WindReader` and `SIGN_OFF` stand in notes for ever.\n")
    kept = "def read_wind(): ...\n"
    for text in (
        f"def convert_knots(): ...\nclass WindReader: ...\nMAST = '4.0.7'\n{kept}",
        f"TIDE = '4.1.2'\n{kept}",
    ):
        (root / "feeds/wind.py").write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "wind")
    git(root, "mv", "feeds/wind.py", "feeds/air.py")
    git(root, "commit", "-qm", "air")
    return root


GONE = {
    "gone": "The importer must convert in `feeds/wind.py`, because the buoys send knots.",
    "removed": "The importer must call `convert_knots` first, because the buoys send knots in winter.",
    "class": "The mast must open `WindReader.read(mast)` at dawn, because salt blocks the vane overnight.",
    "version": "The mast must run on version 4.0.7 of its vane, because newer ones block it at night.",
    "kept": "The tide must run on version 4.1.2 of its gauge, because older ones freeze in the winter.",
    "there": "The board must read from `feeds/air.py`, because the feed of the buoys is slow at noon.",
    "called": "The board must call `read_wind()` twice, because the first answer of the mast is empty.",
    "never": "The harbour's master must sign `orders.pdf` and `SIGN_OFF`, because the law asks for it.",
}


@pytest.fixture
def opened(tmp_path, repository):
    """Return a function that opens the memory of a home whose memory files have these texts."""

    def opens(texts):
        home = tmp_path / "home"
        folder = home / ".claude/projects" / slug_of(repository) / "memory"
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / f"{name}.md").write_text(
                f"---\nname: {name}\ntype: project\n---\n\n## Rules\n\n{text}\n"
            )
        environ = {
            "HOME": str(home),
            "RAGMEM_HOME": str(tmp_path / "ragmem"),
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_BACKEND": "fake",
        }
        memory = Ragmem.open(environ=environ, home=home, cwd=repository)
        memory.seed()
        return memory

    return opens


def test_a_line_whose_file_or_symbol_is_gone_is_left_out_and_named(opened, repository):
    with opened(GONE) as memory:
        done = memory.memory_file.update(assistant="codex")
    assert done.path == repository / "AGENTS.md"
    text = done.path.read_text()
    assert [name for name, said in GONE.items() if said in text] == ["kept", "there", "called", "never"]
    gone = sorted(name for _, name in done.index.gone)
    assert gone == ["4.0.7", "WindReader", "convert_knots", "feeds/wind.py"]


@pytest.mark.parametrize(
    ("assistant", "name"),
    [("gemini", "GEMINI.md"), ("cursor", ".cursor/rules/ragmem.mdc"), ("codex", "AGENTS.md")],
)
def test_the_file_that_an_assistant_reads_in_the_project(opened, repository, assistant, name):
    with opened({"there": GONE["there"]}) as memory:
        assert memory.memory_file.update(assistant=assistant).path == repository / name
        text = (repository / name).read_text()
        assert GONE["there"] in text
        assert text.startswith("---\n" if assistant == "cursor" else "<!-- BEGIN ragmem")
        assert not memory.memory_file.update(assistant=assistant).changed


SAID = "The board is cached for a minute in `board.py`, because the model of the tides is slow."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"# ADR 7: the board\n\nStatus: accepted\n\n## Decision\n\n{SAID}", True),
        (f"# ADR 7: the board\n\n## Decision\n\n### How\n\n{SAID}", True),
        (f"# ADR 7: the board\n\n## Decision\n\n```\nboard = cached\n```\n\n{SAID}", False),
        (f"# ADR 7: the board\n\n- \uc0c1\ud0dc: accepted\n\n{SAID}", True),
        (f"# ADR 7: the board\n\n## Status\n\n\U0001f914 Incomplete\n\n## Decision\n\n{SAID}", False),
        (f"# ADR 7: the board\n\n## Decision Drivers\n\n- {SAID}", False),
        (f"# ADR 7: the board\n\nStatus: proposed\n\n## Decision\n\n{SAID}", False),
        (f"# ADR 7: the board\n\n> SUPERSEDED, do not follow\n\n## Decision\n\n{SAID}", False),
        (f"# ADR 7: the board\n\nSuperseded by ADR 9.\n\n## Decision\n\n{SAID}", False),
        (
            "# ADR 7: the board\n\n## Decision\n\n- operator, machine or tide track record of the harbour",
            False,
        ),
        (
            "# ADR 7: the board\n\n## Decision\n\n- The board has the following parts for each of the tides.",
            False,
        ),
        (f"# ADR 7: the board\n\n## Consequences\n\nGood: {SAID}", False),
    ],
)
def test_of_a_record_the_decision_is_told_if_it_holds(memory, tmp_path, text, told):
    stored(memory, "board", text, source="plans", title="ADR 7: the board")
    stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    assert ("ADR 7: the board: " in path.read_text()) is told


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("feedback", "The design of the board must be exact to the pixel, and is checked by eye.", True),
        (
            "project",
            "The board of the harbour is live, and 3 of 7 screens are drawn by the new printer.",
            False,
        ),
        (
            "project",
            "MERGED: the board must be drawn by the printer, because nobody looks at the screen.",
            False,
        ),
        ("user", "The harbour master answers at master@example.org and never by telephone.", False),
    ],
)
def test_a_description_is_told_if_it_lasts_and_is_no_address(memory, tmp_path, kind, said, told):
    metadata = {"description": said, "type": kind}
    stored(memory, "design", "The board is drawn.", title="Exact design of the board", metadata=metadata)
    stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    assert (said in path.read_text()) is told


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("project", "The file `board.py` draws late tides in red \u2014 never draw the early ones.", True),
        ("project", "How the board of the harbour is drawn, printed and hung beside the gate.", False),
        ("project", "Tracked as D-15: the board has no tide of the north quay, so nobody sails.", False),
        ("feedback", "Conventions of the board and common mistakes to avoid in the harbour.", False),
        ("feedback", "Three printers ran at once on the board, and two of them were out of ink.", False),
        (
            "feedback",
            "Before hanging up the board, print its 12 pages by `printer.py` on paper of the harbour.",
            True,
        ),
        (
            "feedback",
            "RESOLVED: the board used to be printed twice, because the gate was asked twice.",
            False,
        ),
        (
            "decision",
            "The file `board.py` is the source of the board; the screen is a mirror, not the master.",
            True,
        ),
    ],
)
def test_a_description_that_only_names_its_subject_or_tells_a_story_is_not_told(
    memory, tmp_path, kind, said, told
):
    metadata = {"description": said, "type": kind}
    stored(memory, "look", "The board is drawn.", title="Look of the board", metadata=metadata)
    assert refreshed(memory, tmp_path / "A.md").changed is told


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("ADR 7: Use one printer for all boards", True),
        ("ADR 7: Printers of the boards", False),
        ("ADR 7: Users of the printer revisited", False),
        ("ADR 7: Server rendered boards of quays", False),
        ("ADR 7: Model Context Protocol of boards", False),
        ("ADR 7: Supported printers of the harbour", False),
        ("ADR 7: CUPS as a candidate for the boards", False),
        ("ADR 7: Combine all printers into a queue", True),
    ],
)
def test_a_record_without_a_sentence_is_told_by_a_title_that_decides(memory, tmp_path, title, told):
    text = f"# {title}\n\n## Decision\n\n1. Buy it\n2. Plug it in\n"
    stored(memory, "board", text, source="plans", title=title)
    stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    path = tmp_path / "A.md"
    refreshed(memory, path)
    assert (title in path.read_text()) is told
