"""A write is accepted at once, whole or not at all, and its process loads next to nothing for it."""

import io
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragmem import inbox
from ragmem.__main__ import run
from ragmem.errors import StorageError, UsageError
from ragmem.inbox import buffer, reader
from ragmem.readers.roots import marked_root

SAID = "We decided to pin the driver at 2.9."
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip)
NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


def put(data, text, **said):
    return inbox.put(data, text, at_ns=time.time_ns(), **said)


def held(data):
    folder = inbox.inbox_folder(data)
    return [reader.read(f"{folder}/{name}") for name in reader.list_writes(folder)]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(
    text=TEXT,
    title=NAME,
    tags=st.lists(NAME.filter(bool), max_size=3),
    metadata=st.dictionaries(NAME, NAME, max_size=3),
    folder=st.sampled_from(["/home/sam", "/home/s\udcffm/a\nb", "/home/\\n"]),
)
@example(
    text="\n\nmetadata a\tb\n\ntext\r\n", title="\\n\n\\", tags=["tag \t"], metadata={"\n": "\\"}, folder="/"
)
def test_what_goes_in_is_what_comes_out(text, title, tags, metadata, folder):
    with tempfile.TemporaryDirectory() as data:
        receipt = put(data, text, title=title, tags=tags, metadata=metadata, folder=folder)
        (write,) = held(data)
        assert receipt.status == "accepted"
        assert (write.text, write.fields.get("title", ""), write.fields["folder"]) == (text, title, folder)
        assert (write.tags, write.metadata) == (tuple(tags), metadata)
        assert put(data, f" {text}\n", title="another", tags=tags).status == "duplicate"
        assert len(held(data)) == 1


@pytest.mark.parametrize(
    ("text", "said", "told"),
    [
        ("", {}, "the text is empty"),
        (" \n\t", {}, "the text is empty"),
        ("half \ud83d", {}, "invalid UTF-8 in the text"),
        ("a\0b", {}, "NUL bytes in the text"),
        ("x" * (inbox.MOST_BYTES + 1), {}, "the text is longer than 8,388,608 bytes"),
        (SAID, {"type": "wish"}, '"wish" is not an entry type'),
        (SAID, {"kind": "wish"}, '"wish" is not a kind'),
        (SAID, {"event_time": datetime.fromisoformat("0001-01-01T00:00+14:00")}, "is not a date"),
        (SAID, {"title": "\udcff"}, "invalid UTF-8 in title, tags and metadata"),
        (SAID, {"metadata": {"a": "x" * 300_000}}, "title, tags and metadata are longer"),
        (SAID, {"project": "../other"}, '"../other" cannot be a project name'),
        (SAID, {"project": "q" * 101}, '"q{60}" cannot be a project name'),
    ],
)
def test_what_cannot_be_stored_is_refused_and_leaves_nothing(text, said, told, tmp_path):
    with pytest.raises(UsageError, match=told):
        put(tmp_path, text, **said)
    assert list(tmp_path.rglob("*")) == []


def test_only_its_owner_can_read_a_write(tmp_path):
    put(tmp_path / "data", SAID)
    folder = tmp_path / "data" / "inbox"
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder, *folder.iterdir())] == [
        0o700,
        0o700,
        0o600,
    ]


def test_a_home_that_cannot_be_written_refuses_with_its_reason(tmp_path, ragmem):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="not a directory"):
        put(tmp_path / "file", SAID)
    refused = ragmem("ingest", "--buffer", "--text", SAID, RAGMEM_HOME=str(tmp_path / "file"))
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.startswith('ragmem: cannot write in "')
    assert "hint: check free space" in refused.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_on_a_full_disk_a_write_is_refused_whole_and_those_before_it_stay(small_disk):
    texts = [f"{number} " + "word " * 2000 for number in range(100)]
    accepted = []

    def put_all():
        for text in texts:
            put(small_disk, text)
            accepted.append(text)

    with pytest.raises(StorageError, match="no space left on device"):
        put_all()
    assert accepted
    assert [write.text for write in held(small_disk)] == accepted
    assert reader.list_unfinished(inbox.inbox_folder(small_disk)) == []


# --- the command


@pytest.fixture
def answer(capfd, monkeypatch, tmp_path):
    """Return a function that runs a command line in this process, which is ten times as fast as a new one."""
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))

    def answer(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(arguments)
        return code, *capfd.readouterr()

    return answer


def test_the_command_prints_a_line_for_each_text_and_the_next_query_finds_them(ragmem):
    accepted = ragmem("ingest", "--buffer", "--text", SAID, "--text", "We chose blue because of Ana.")
    assert accepted.returncode == 0, accepted.stderr
    lines = [line.split() for line in accepted.stdout.splitlines()]
    assert [(word, len(name)) for word, name in lines] == [("accepted", 12), ("accepted", 12)]
    again = ragmem("ingest", f"--text={SAID}", "--buffer", "--json")
    assert json.loads(again.stdout) == {
        "schema": 1,
        "writes": [{"status": "duplicate", "id": lines[0][1]}],
    }
    found = ragmem("query", "which driver do we pin", "--json")
    assert found.returncode == 0, found.stderr
    assert [match["text"] for match in json.loads(found.stdout)["matches"]] == [SAID]


def test_a_write_tells_its_session_and_the_agent_within_it(ragmem):
    who = ("--session", "s1", "--agent", "reviewer")
    assert ragmem("ingest", "--buffer", "--text", SAID, *who).returncode == 0
    line = '{"text": "We chose blue because of Ana.", "metadata": {"b": "c"}}\n'
    assert ragmem("ingest", "--buffer", "--jsonl", "-", *who, stdin=line).returncode == 0
    (quick,) = json.loads(ragmem("query", "which driver do we pin", "--json", "-n1").stdout)["matches"]
    assert (quick["metadata"]["session"], quick["metadata"]["agent"]) == ("s1", "reviewer")
    (lined,) = json.loads(ragmem("query", "why blue", "--json", "-n1").stdout)["matches"]
    assert (lined["metadata"]["agent"], lined["metadata"]["b"]) == ("reviewer", "c")
    refused = ragmem("ingest", "-", "--agent", "reviewer", stdin=SAID)
    assert refused.returncode == 2
    assert "require --buffer" in refused.stderr


def test_standard_input_is_a_text_or_a_text_a_line(answer, tmp_path):
    assert answer("ingest", "--buffer", "-", "--type", "insight", stdin="one\ntwo\n")[0] == 0
    lines = '"plain"\n{"text": "with more", "type": "decision", "tags": ["a"], "metadata": {"b": "c"}}\n'
    assert answer("ingest", "--buffer", "--jsonl", "-", stdin=lines)[1].count("accepted") == 2
    first, second, third = held(tmp_path / "data")
    assert (first.text, first.fields["type"]) == ("one\ntwo\n", "insight")
    assert second.text == "plain"
    assert (third.text, third.fields["type"], third.tags, third.metadata) == (
        "with more",
        "decision",
        ("a",),
        {"b": "c"},
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('"good"\nbad', "line 2 is not JSON"),
        ('"good"\n{"title": "x"}', "line 2 has no text"),
        ('"good"\n{"text": "x", "tittle": "y"}', 'line 2: "tittle" is unknown'),
        ('"good"\n{"text": "x", "tags": "y"}', 'line 2: "tags" is unknown'),
        ('"good"\n{"text": "x", "event_time": "soon"}', 'line 2: "soon" is not a date'),
        ('"good"\n{"text": "x", "event_time": "0001-01-01T00:00+14:00"}', "is not a date"),
        ('"good"\n{"text": "x", "event_time": "9999-12-31T23:59-14:00"}', "is not a date"),
        ('"good"\n"  "', "the text is empty"),
        ('"good"\n{"text": "x", "type": "wish"}', '"wish" is not an entry type'),
        ('"good"\n{"text": "x", "title": "\\ud83d"}', "invalid UTF-8 in title"),
        ('"good"\n' + "[" * 100_000, "line 2 is not JSON"),
    ],
)
def test_one_wrong_line_lets_none_in(lines, told, answer, tmp_path):
    code, out, err = answer("ingest", "--buffer", "--jsonl", "-", stdin=lines)
    assert (code, out) == (2, "")
    assert told in err.splitlines()[0]
    assert not (tmp_path / "data").exists()


def test_what_the_quick_way_does_not_know_the_whole_command_line_does(answer, tmp_path):
    for options in (["--kind", "error"], ["--at", "2026-03-15"], ["-tone"]):
        assert buffer.request_of(["--buffer", "--text", SAID, *options]) is None
        code, out, err = answer("ingest", "--buffer", "--text", f"{SAID} {options}", *options)
        assert (code, out.split()[0], err) == (0, "accepted", "")
    first, second, third = held(tmp_path / "data")
    assert first.fields["kind"] == "error"
    assert second.fields["event"] == "2026-03-15T00:00:00+00:00"
    assert third.tags == ("one",)


WORDS = (
    *(
        "--buffer",
        "--json",
        "--jsonl",
        "-q",
        "-",
        "--",
        "-x",
        "--tag=a=b",
        "-t",
        "a",
        "--type",
        "--type=decision",
    ),
    *(
        "decision",
        "",
        "--type=",
        "--title",
        "--text",
        "--text=said",
        "note.md",
        "folder",
        "-p",
        "user",
        "../x",
    ),
    *("--project=tideline", "--spec", "-pone", "--session", "--no-buffer", "--json=yes", "--buf", "-qt"),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=6))
@example(["--text", "a", "--type="])
@example(["--jsonl", "--text", "a"])
@example(["-", "--jsonl", "--text", "--buffer"])
def test_the_quick_way_accepts_exactly_what_the_whole_command_line_does(capfd, monkeypatch, words):
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        Path("folder").mkdir()
        Path("note.md").write_text("A note.")
        found = []
        for name in ("quick", "whole"):
            monkeypatch.setenv("RAGMEM_HOME", f"{folder}/{name}")
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'"a line"\n')))
            with pytest.MonkeyPatch.context() as patch:
                if name == "whole":
                    patch.setattr("ragmem.inbox.buffer.request_of", lambda _: None)
                code = run(["ingest", "--buffer", *words])
            writes = held(f"{folder}/{name}/data") if Path(name).exists() else []
            for write in writes:
                del write.fields["at"]
            found.append(
                (code, capfd.readouterr().out, [(w.text, w.fields, w.tags, w.metadata) for w in writes])
            )
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["--buffer"], "there is no text to store"),
        (["--buffer", "--text"], "requires an argument"),
        (["--buffer", "--text", "x", "--type", "wish"], "'wish' is not one of"),
        (["--buffer", "--text", "x", "--type", ""], "'' is not one of"),
        (["--buffer", "--text", "x", "--jsonl"], "--jsonl reads standard input"),
        (["--buffer", "no such file"], 'there is no file "no such file"'),
        (["--buffer", "/"], '"/" is not a regular file'),
        (["--buffer", "--text", "x", "--dry-run"], "--buffer takes only texts and files"),
        (["--buffer", "--jsonl", "--text", "x", "--quietly"], "no such option"),
        (["--text", "x"], "require --buffer"),
        (["--drain", "x"], "--drain cannot be combined with other arguments"),
        ([], "missing argument 'PATH...'"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_a_hint(line, told, answer):
    code, out, err = answer("ingest", *line)
    assert (code, out) == (2, "")
    assert told in err
    assert "hint: " in err


def test_a_file_keeps_its_path_its_time_and_the_project_that_it_lies_in(tmp_path, monkeypatch, capsys):
    root = tmp_path / "home" / "tideline"
    (root / "notes").mkdir(parents=True)
    (root / "AGENTS.md").write_text("")
    note = root / "notes" / "pool.md"
    note.write_text("# Pool\n\nThe pool leaks.\n")
    request = buffer.request_of(["--buffer", str(note)])
    buffer.accept(request, environ={"RAGMEM_HOME": str(tmp_path)}, home=str(tmp_path / "home"), cwd="/")
    (write,) = held(tmp_path / "data")
    assert write.fields["file"] == str(note)
    assert write.fields["root"] == str(root)
    assert write.fields["modified"] == str(note.stat().st_mtime_ns)
    assert capsys.readouterr().out.startswith("accepted ")


def test_the_root_of_a_project_is_where_git_is_then_where_another_mark_is_and_never_the_home(tmp_path):
    home, inner = tmp_path / "home", tmp_path / "home" / "repo" / "packages" / "app"
    inner.mkdir(parents=True)
    (home / ".git").mkdir()
    assert marked_root(str(inner), str(home)) == ""
    (inner / "CLAUDE.md").write_text("")
    assert marked_root(str(inner), str(home)) == str(inner)
    (home / "repo" / ".git").mkdir()
    assert marked_root(str(inner), str(home)) == str(home / "repo")
    assert marked_root(str(home), str(home)) == ""
