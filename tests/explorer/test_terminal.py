"""The explorer on a real terminal: it opens, is left with code 0, and who has none is told."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl

import pytest

PATIENCE = 60.0
"""Seconds that a busy machine may take to open it."""

NO_TEXTUAL = "import sys; sys.modules['textual'] = None; from ragmem.__main__ import main; main()"

NO_ERRORS = """
import os
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
from ragmem.__main__ import main
main()
"""


class Terminal:
    """A process on a pseudo terminal, and what it wrote there."""

    def __init__(self, command, environ):
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._terminal = ours
        self.written = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", **environ},
                start_new_session=True,
            )
        finally:
            os.close(theirs)

    def until(self, text):
        ends = time.monotonic() + PATIENCE
        while text not in self.written:
            left = ends - time.monotonic()
            assert left > 0, self.written[-2000:]
            if not self._read(left):
                break
        assert text in self.written, self.written[-2000:]

    def _read(self, seconds):
        if not select.select([self._terminal], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self._terminal, 65536)
        except OSError:  # the process has ended
            part = b""
        self.written += part
        return bool(part)

    def press(self, keys):
        os.write(self._terminal, keys)

    def ends(self):
        """Return the exit code."""
        while self._read(PATIENCE):
            pass
        return self._process.wait(PATIENCE)

    def close(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._terminal)


@pytest.fixture
def terminal(home):
    opened = []

    def open_(*arguments, python=("-m", "ragmem"), **environ):
        environ = {**home.environ, "HOME": str(home.root), **environ}
        opened.append(Terminal([sys.executable, *python, *arguments], environ))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def test_inspect_on_a_terminal_opens_the_explorer_and_q_leaves_it(terminal):
    at = terminal("inspect")
    at.until(b"Tiers per source")
    at.press(b"3")
    at.until(b"Ferry")
    at.press(b"q")
    assert at.ends() == 0
    # The screen of before is back, and nothing was written beside.
    assert b"\x1b[?1049l" in at.written
    assert b"Traceback" not in at.written


def test_without_textual_the_numbers_are_printed_with_a_hint(terminal):
    at = terminal("inspect", python=("-c", NO_TEXTUAL))
    assert at.ends() == 0
    assert b'pip install "ragmem[explore]"' in at.written
    assert b"memories" in at.written
    assert b"\x1b[?1049h" not in at.written

    named = terminal("inspect", "explore", python=("-c", NO_TEXTUAL))
    assert named.ends() == 4
    assert b"the explorer needs Textual, which is not installed" in named.written
    assert b'pip install "ragmem[explore]"' in named.written


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"CI": "true"}], ids=["dumb", "ci"])
def test_where_nobody_looks_the_numbers_are_printed(terminal, environ):
    at = terminal("inspect", **environ)
    assert at.ends() == 0
    assert b"memories" in at.written
    assert b"pip install" not in at.written


def test_where_nobody_sees_standard_error_the_numbers_are_printed(terminal):
    # That is where Textual draws.
    at = terminal("inspect", python=("-c", NO_ERRORS))
    at.until(b"memories")
    assert at.ends() == 0


def test_a_damaged_store_is_one_line_and_its_exit_code(terminal, tmp_path):
    data = tmp_path / "ragmem" / "data"
    data.mkdir(parents=True)
    (data / "memory.db").write_bytes(b"no database " * 1000)
    at = terminal("inspect", RAGMEM_HOME=str(tmp_path / "ragmem"))
    assert at.ends() == 6
    assert b"\x1b[?1049h" not in at.written
    assert at.written.startswith(b"ragmem: ")


def test_e_opens_the_file_of_a_memory_in_the_editor_and_comes_back(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    at = terminal("inspect", "explore", "--theme", "light", EDITOR=f"{editor} --wait")
    at.until(b"Tiers per source")
    at.press(b"3")
    at.until(b"Ferry")
    at.press(b"jje")
    ends = time.monotonic() + PATIENCE
    while not (tmp_path / "opened").exists() or not (tmp_path / "opened").read_text():
        assert time.monotonic() < ends
        time.sleep(0.02)
    assert (tmp_path / "opened").read_text().startswith("--wait|")
    assert ".md|" in (tmp_path / "opened").read_text()
    at.press(b"q")
    assert at.ends() == 0


def test_without_colours_what_is_chosen_is_told_by_other_means(terminal):
    at = terminal("inspect", NO_COLOR="1")
    at.until(b"Tiers per source")
    at.press(b"3")
    at.until(b"Ferry")
    at.press(b"q")
    assert at.ends() == 0
    codes = {code for found in re.findall(rb"\x1b\[([0-9;]*)m", at.written) for code in found.split(b";")}
    coloured = {code for code in codes if code in {b"38", b"48"} or 30 <= int(code or 0) <= 37}
    assert not coloured
    assert b"7" in codes
    assert "\u25b8".encode() in at.written


BROKEN = """
import sys
from ragmem.cli.explorer import overview
def facts_of(*_):
    secret = "local value"
    raise RuntimeError("the abacus fell over")
overview.facts_of = facts_of
from ragmem.__main__ import main
main()
"""


def test_a_bug_leaves_the_screen_and_is_reported_as_everywhere(terminal, tmp_path):
    at = terminal("inspect", python=("-c", BROKEN), TMPDIR=str(tmp_path))
    assert at.ends() == 70
    assert b"this is a bug in ragmem: RuntimeError: the abacus fell over" in at.written
    assert b"local value" not in at.written
    [report] = tmp_path.glob("ragmem-bug-*.txt")
    assert "the abacus fell over" in report.read_text()
