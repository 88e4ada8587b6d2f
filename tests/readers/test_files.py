"""Text of files, and the ways in which a file is no text."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.errors import EXIT_FAILED, SourceError
from ragmem.readers.files import ReadError, Reason, read_text

LIMIT = 1000


def refusal(path: Path) -> ReadError:
    with pytest.raises(ReadError) as caught:
        read_text(path, max_bytes=LIMIT)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == EXIT_FAILED
    return caught.value


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_read_in_each_of_its_forms(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.md"
    path.write_bytes("naïve 日本 🌊\n".encode(encoding))
    assert read_text(path, max_bytes=LIMIT) == "naïve 日本 🌊\n"


def test_line_ends_of_all_systems_become_one(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"one\r\ntwo\rthree\n")
    assert read_text(path, max_bytes=LIMIT) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("raw", "reason", "words"),
    [
        (b"", Reason.EMPTY, "it is empty"),
        (b" \n\t\r\n", Reason.EMPTY, "it is empty"),
        (b"\xef\xbb\xbf", Reason.EMPTY, "it is empty"),
        (b"text\0more", Reason.BINARY, "it is not text"),
        (b"\x89PNG\r\n\x1a\n\0\0", Reason.BINARY, "it is not text"),
        ("déjà".encode("latin-1"), Reason.ENCODING, "byte 1 is not valid UTF-8"),
        (b"\xff\xfeodd", Reason.ENCODING, "UTF-16"),
        (b"x" * (LIMIT + 1), Reason.HUGE, "its 1,001 bytes exceed the limit of 1,000"),
    ],
)
def test_what_is_no_text_is_refused_with_its_reason(
    tmp_path: Path, raw: bytes, reason: Reason, words: str
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(raw)
    error = refusal(path)
    assert error.reason is reason
    assert words in str(error)


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * LIMIT)
    assert len(read_text(path, max_bytes=LIMIT)) == LIMIT


def test_folders_pipes_devices_and_missing_files_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert refusal(tmp_path).reason is Reason.FOLDER
    assert refusal(tmp_path / "pipe.md").reason is Reason.SPECIAL
    assert refusal(Path("/dev/null")).reason is Reason.SPECIAL
    assert refusal(tmp_path / "gone.md").reason is Reason.VANISHED


def test_a_file_without_permission_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("text")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert refusal(path).reason is Reason.UNREADABLE


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=200))
def test_bytes_give_text_that_a_database_takes_or_a_source_error(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(raw)
    try:
        text = read_text(path, max_bytes=LIMIT)
    except SourceError:
        return
    assert "\0" not in text
    assert text.encode("utf-8")
