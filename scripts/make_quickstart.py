"""Run docs/quickstart.md on a clone with a separate home, and write the transcript.

Usage: make_quickstart.py [--dry-run]. Needs git, make, Python 3.11 and a package index, as a person does.
What is committed is tried, not what lies in the checkout besides. Nothing outside of a temporary folder is
touched but the page, between its marks.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "quickstart.md"
BEGIN, END = "<!-- BEGIN transcript -->", "<!-- END transcript -->"
MOST_S = 300
"""What all of it may take."""


@dataclass(frozen=True)
class Step:
    """A command as a person types it, what it is for, and whether it fails on purpose."""

    what: str
    command: str
    code: int = 0


STEPS = (
    Step("clone", "git clone ADDRESS ragmem && cd ragmem"),
    Step("install, seed the example notes, run three queries", "make demo"),
    Step(
        "or try it without installing, from the wheel",
        "make wheel && .venv/bin/pip install --quiet uv"
        " && .venv/bin/uvx --quiet --from dist/ragmem-*.whl ragmem demo | head -6",
    ),
    Step("put the command on the PATH", 'export PATH="$PWD/.venv/bin:$PATH"'),
    Step("check the version", "ragmem --version"),
    Step(
        "set up an example home directory; for your own run `ragmem setup`",
        'cp -r examples/home .demo-home/sam; HOME="$PWD/.demo-home/sam" ragmem setup --yes --no-completions',
    ),
    Step(
        "store a note",
        'ragmem ingest - <<< "We decided to keep sessions in PostgreSQL because Redis lost them twice."',
    ),
    Step("query it in other words", 'ragmem query "where do we store sessions"'),
    Step("query something that it does not know", 'ragmem query "how to bake sourdough bread"', code=1),
    Step("store a folder of documents", "ragmem ingest docs/adr --tag decision"),
    Step("query them", 'ragmem query "why not the official SDK for MCP" --limit 1'),
    Step("preview the connection of an assistant", "ragmem connect claude-code --dry-run | head -14"),
    Step("check everything", "ragmem doctor | head -6"),
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NOT_OURS = re.compile(r"://|^WARNING|^\[notice\]|^Cloning into")
"""Lines of pip, git and the machine: they tell of its index and its folders."""


def main(arguments: Sequence[str]) -> int:
    """Write the transcript into the page; with `--dry-run` print it. 1: it took too long."""
    if list(arguments) not in ([], ["--dry-run"]):
        print("usage: make_quickstart.py [--dry-run]", file=sys.stderr)
        return 2
    # Setup leaves a process behind that makes vectors.
    with tempfile.TemporaryDirectory(prefix="quickstart-", ignore_cleanup_errors=True) as folder:
        lines, seconds = _tried(Path(folder))
    text = "\n".join(lines)
    if seconds > MOST_S:
        print(f"all steps took {seconds:.0f} s, more than {MOST_S} s", file=sys.stderr)
        return 1
    if arguments:
        print(text)
        return 0
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


def _tried(folder: Path) -> tuple[list[str], float]:
    home = folder / "home"
    home.mkdir()
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAGMEM_", "XDG_", "VIRTUAL_ENV", "CLAUDE", "PIP_CACHE"))
        and name != "PYTHONPATH"
    }
    environ |= {"HOME": str(home), "NO_COLOR": "1", "COLUMNS": "100"}
    here, passed = home, 0.0
    rows, shown = [], []
    for step in STEPS:
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", _typed(step.command)],
            cwd=here,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        passed += seconds
        if done.returncode != step.code:
            print(done.stdout, file=sys.stderr)
            raise SystemExit(f"{step.command}: exit code {done.returncode}, not {step.code}")
        if step.command.startswith("git clone"):
            here = home / "ragmem"
        if step.command.startswith("export PATH"):
            environ["PATH"] = f"{here / '.venv' / 'bin'}{os.pathsep}{environ['PATH']}"
        typed = step.command.partition(" <<<")[0].partition(" |")[0]
        rows.append(f"| {step.what} | `{typed}` | {seconds:.1f} | {passed:.0f} |")
        shown += ["", f"```console\n$ {step.command}", *_cleaned(done.stdout, folder, home), "```"]
    return [*_table(rows, passed), *shown, ""], passed


def _typed(command: str) -> str:
    return command.replace("ADDRESS", f"--quiet {ROOT}")


def _table(rows: Sequence[str], passed: float) -> Iterator[str]:
    cores = f"{os.cpu_count()} shared cores"
    yield f"Written by `scripts/make_quickstart.py`: {passed:.0f} seconds in all, on {cores};"
    yield "packages came from an index on the network, nothing was cached."
    yield ""
    yield "| purpose | command | seconds | elapsed |"
    yield "| --- | --- | ---: | ---: |"
    yield from rows


def _cleaned(output: str, folder: Path, home: Path) -> Iterator[str]:
    """Yield the lines of an output without what is this machine's."""
    for line in _COLOUR.sub("", output).rstrip("\n").splitlines():
        told = line.replace(str(home), "~").replace(str(folder), "~").rstrip()
        if told.startswith(("python", "make[", "/", "@PATH", ".venv/")) or _NOT_OURS.search(told):
            continue  # what make says that it does
        yield told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
