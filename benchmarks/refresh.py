"""Write the memory file of each project of a corpus, line by line, for a reader who judges the lines.

Each repository with enough notes and sessions is a project. The lines go to a file, with the memory that each
one comes from; a person marks each line true and worth keeping, or not (docs/benchmarks.md).
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import common

from ragmem.api.memory import Ragmem
from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import RagmemError
from ragmem.readers import markdown
from ragmem.readers.transcripts import drafts_of, read
from ragmem.services.context.refresh import index
from ragmem.services.ingestion.classify import classify_draft

SOURCES = {
    "memory": "memory",
    "session_summary": "sessions",
    "plan_spec": "plans",
    "prd": "prds",
    "claude_md": "claudemds",
    "skill": "skills",
}
LEAST = 5
"""Minimum files of a project."""

ROOM = 100


def drafts_of_corpus(data: Path, now: datetime) -> dict[str, list[Draft]]:
    """Return repository -> its drafts."""
    found: dict[str, list[Draft]] = defaultdict(list)
    with (data / "MANIFEST.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            folder, path = row["file"].split("/", 1)[0], data / row["file"]
            if folder in SOURCES:
                drafts, _ = markdown.read(
                    path,
                    path.read_text(encoding="utf-8", errors="replace"),
                    SourceSpec(SOURCES[folder], (), data),
                    changed=lambda: now,
                    scope=Scope(row["repo"]),
                    redactor=DEFAULT,
                )
                found[row["repo"]] += drafts
            elif folder.startswith("transcripts"):
                found[row["repo"]] += exchanges_of(path, row["repo"])
    return {repo: drafts for repo, drafts in found.items() if len(drafts) >= LEAST}


def exchanges_of(path: Path, repo: str) -> Iterator[Draft]:
    """Yield the drafts of a transcript; none of a file of another format."""
    try:
        for step in read(path, ended=True, redactor=DEFAULT):
            if step.exchange:
                yield from drafts_of(step.exchange, path=path, scope=Scope(repo), redactor=DEFAULT)
    except RagmemError:
        return


def main() -> None:
    """Print the lines of each project."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the corpus with its MANIFEST.tsv")
    parser.add_argument("--projects", type=int, default=10)
    parser.add_argument("--lines", type=Path, help="write the lines here, with their sources")
    options = parser.parse_args()
    now = datetime.now(UTC)
    corpus = drafts_of_corpus(options.data, now)
    report: list[str] = []
    shown = 0
    with (
        common.temporary_folder("ragmem-refresh") as folder,
        Ragmem.open(environ=common.environment(folder), home=folder, cwd=folder) as memory,
    ):
        memory.prepare()
        for repo, drafts in sorted(corpus.items(), key=lambda item: (-len(item[1]), item[0])):
            judged = [
                classify_draft(draft, now=now, sizes=memory.settings.chunking, redactor=DEFAULT)
                for draft in drafts
            ]
            memory.catalog.memories.accept([(item.memory, item.chunks) for item in judged])
            found = index(memory.catalog, project=repo, policy=memory.settings.lifecycle.policy, room=ROOM)
            if not found.lines or shown == options.projects:
                continue
            shown += 1
            report.append(
                f"## {repo}: {found.lines} lines of {found.considered} memories, {len(drafts)} drafts"
            )
            for group, lines in found.groups:
                report.append(f"### {group.title}")
                for line in lines:
                    one = memory.catalog.memories.get([line.id])[line.id]
                    report.append(
                        f"- {line.at:%Y-%m-%d} {line.text} `{line.id[:12]}`\n    {one.source} {one.uri}"
                    )
    print("\n".join(report))
    if options.lines:
        options.lines.write_text("\n".join(report), encoding="utf-8")


if __name__ == "__main__":
    main()
