"""Interactive shells in terminals of their own, in which Tab is pressed after `ragmem ...`."""

import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

NEEDS = {
    name: pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not installed")
    for name in ("bash", "zsh", "fish")
}
SHELLS = [pytest.param(name, marks=mark) for name, mark in NEEDS.items()]

# The completion calls ragmem for values; the command line itself only shows the words that it was given.
_ECHO = """ragmem() {
  if [[ $1 == __complete ]]; then command ragmem "$@"; else printf '<%s>' "$@"; echo 'EN'D; fi
}
"""
_PREPARED = {
    "bash": f"bind 'set enable-bracketed-paste off'\n{_ECHO}",
    "zsh": f"PS1=\n{_ECHO}",
    "fish": 'function ragmem; if test "$argv[1]" = __complete; command ragmem $argv;'
    " else; printf '<%s>' $argv; echo 'EN'D; end; end\n",
}


def environment(home):
    """Return the environment of a shell with this home, in which `ragmem` is this environment's."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "RAGMEM_HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PS1": "",
    }


class Shell:
    """An interactive shell in a terminal of its own, started so and given some lines first."""

    def __init__(self, name, home, command, lines=""):
        self._process, self._terminal = pty.fork()
        if not self._process:
            os.chdir(home)
            os.execvpe(command[0], command, environment(home))
        os.write(self._terminal, f"{lines}{_PREPARED[name]}echo EN''D\n".encode())
        self._read_to_end()

    def words_after_tab(self, typed):
        """Return the words that `ragmem` is given when Tab and Enter follow what is typed."""
        os.write(self._terminal, f"ragmem {typed}\t\r".encode())
        shown = self._read_to_end()
        found = re.findall(r"(<.*>)END", shown)
        assert found, shown
        # zsh takes the slash behind a folder away where the line ends.
        return found[-1][1:-1].rstrip("/").split("><")

    def _read_to_end(self):
        shown, patience = b"", time.monotonic() + 20
        while not re.search(rb"END\r?\n", shown) and time.monotonic() < patience:
            if select.select([self._terminal], [], [], 0.2)[0]:
                shown += os.read(self._terminal, 65_536)
        return shown.decode(errors="replace")

    def close(self):
        """End the shell."""
        os.kill(self._process, signal.SIGKILL)
        os.close(self._terminal)
        os.waitpid(self._process, 0)
