"""Mark the tables of docs/ that are older than the code that they measure."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from fingerprint import fingerprint  # noqa: E402 - of the scripts that measure

SCRIPTS = {"code": "code_graph", "secrets": "redaction", "serve-memory": "serve"}
"""Sections by the script that writes them, where that has another name."""

_SECTION = re.compile(
    r"(?P<begin><!-- BEGIN (?P<name>[\w-]+) -->\n)"
    r"(?P<body>.*?)(?P<end><!-- END (?P=name) -->)",
    re.DOTALL,
)
_RECORD = re.compile(r"<!-- measured by benchmarks/(?P<script>\w+)\.py of code (?P<code>\w+) -->\n?")
_COMMIT = re.compile(r"; commit (?P<commit>\w+)\+?\._")
_MARK = re.compile(r"> Older than the code: [^\n]*\n\n?")


def pages() -> list[str]:
    """Return the pages of docs/ with tables that a benchmark has written."""
    return [
        f"docs/{path.name}"
        for path in sorted((ROOT / "docs").glob("*.md"))
        if any(True for _ in tables(path.read_text(encoding="utf-8")))
    ]


def tables(text: str) -> Iterator[re.Match[str]]:
    """Yield the sections of a page that a benchmark has written."""
    for found in _SECTION.finditer(text):
        if _RECORD.search(found["body"]) or "_Measured " in found["body"]:
            yield found


def marked(text: str) -> str:
    """Return a page in which each table that is older than the code says so, and no other does."""

    def section(found: re.Match[str]) -> str:
        body = _MARK.sub("", found["body"])
        record = _RECORD.search(body)
        if record is None and "_Measured " not in body:
            return found[0]
        script = record["script"] if record else SCRIPTS.get(found["name"], found["name"].replace("-", "_"))
        if record is None:
            body = f"{body}<!-- measured by benchmarks/{script}.py of code unknown -->\n"
        if record is None or record["code"] != fingerprint(script, ROOT):
            commit = _COMMIT.search(body)
            at = commit["commit"] if commit else "unknown"
            update = f"run `python benchmarks/{script}.py` to update it"
            mark = f"> Older than the code: measured at {at}; {update}.\n\n"
            body = mark + body
        return f"{found['begin']}{body}{found['end']}"

    return _SECTION.sub(section, text)
