"""The report of a code ingestion, or of its dry run."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EXAMPLES = 20
"""Maximum paths of each reason in a report."""


@dataclass(slots=True)
class CodeReport:
    """Files by result; `renamed` are (old, new), `problems` path -> unreadable part.

    Each file is in exactly one of new, changed, renamed, gone and unchanged.
    """

    project: str
    root: str
    dry_run: bool = False
    languages: Counter[str] = field(default_factory=Counter)
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: int = 0
    gone: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    relinked: list[str] = field(default_factory=list)
    """Unchanged files that refer to changed ones."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Files with errors, and the reasons; their stored state stays."""
    problems: dict[str, str] = field(default_factory=dict)
    symbols: int = 0
    edges: int = 0
    written: bool = False
    seconds: float = 0.0

    @property
    def files(self) -> int:
        """The number of files in the graph."""
        return len(self.new) + len(self.changed) + len(self.renamed) + self.unchanged

    def shape(self) -> dict[str, Any]:
        """Return the report as a JSON document."""
        return {
            "schema": 1,
            "dry_run": self.dry_run,
            "project": self.project,
            "root": self.root,
            "written": self.written,
            "files": self.files,
            "languages": dict(self.languages.most_common()),
            "new": len(self.new),
            "changed": self.changed,
            "unchanged": self.unchanged,
            "gone": self.gone,
            "renamed": [{"old": old, "new": new} for old, new in self.renamed],
            "relinked": len(self.relinked),
            "failed": _by_reason(self.failed),
            "skipped": _by_reason(self.skipped),
            "problems": _by_reason(self.problems.items()),
            "symbols": self.symbols,
            "edges": self.edges,
            "seconds": round(self.seconds, 3),
        }


def _by_reason(pairs: Any) -> list[Mapping[str, Any]]:
    grouped: dict[str, list[str]] = {}
    for path, reason in pairs:
        grouped.setdefault(reason, []).append(path)
    return [
        {"reason": reason, "files": len(paths), "paths": paths[:EXAMPLES]}
        for reason, paths in sorted(grouped.items())
    ]
