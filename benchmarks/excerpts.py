"""Measure whether the printed excerpts have the answer: questions on real sessions and notes.

Each question is asked in the project of its repository. Beside the excerpts stands what was printed before:
the beginning of the chunk that matched.
"""

import shutil
import statistics
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
from inputs.vector_cache import CachedModels, VectorCache

from ragmem.api.memory import Ragmem, now
from ragmem.cli.query import match_lines
from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.retrieval.excerpts import FIRST, FURTHER, excerpt
from ragmem.services.retrieval.question import Question
from ragmem.services.retrieval.shapes import best_chunk_text
from ragmem.storage.memories.memory_list import Filter, list_page

QUESTIONS = Path(__file__).with_suffix(".toml")
FOLDERS = ("transcripts_claude", "transcripts_codex", "transcripts_gemini", "transcripts_multi")
NOTES = ("memory", "session_summary")
BEGINNING = 280
"""Characters of a chunk that were printed before."""

DEEP = 100
"""Memories among which the right one is looked for."""

QUICK = 6
ROWS = (
    "first hit",
    "first hit if that memory is right",
    "first three hits",
    "whole output",
    "the right memory alone",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the file that answers it, and what an answer must hold."""

    part: str
    question: str
    file: str
    answer: tuple[str, ...]

    @property
    def repository(self) -> str:
        """The repository of the file, as its name begins."""
        return "__".join(Path(self.file).name.split("__")[:2])

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the answer: each of its strings, or one of its alternatives."""
        said = " ".join(text.split()).casefold()
        return all(any(one.casefold() in said for one in key.split("|")) for key in self.answer)


@dataclass(slots=True)
class Shown:
    """What was shown for some questions: whether it held the answer, its characters, its processor time."""

    right: dict[str, list[bool]] = field(default_factory=lambda: {row: [] for row in ROWS})
    characters: dict[str, list[int]] = field(default_factory=lambda: {row: [] for row in ROWS})
    seconds: list[float] = field(default_factory=list)

    def add(self, row: str, case: Case, text: str) -> None:
        """Count a shown text."""
        self.right[row].append(case.is_in(text))
        self.characters[row].append(len(text))


def read_cases(path: Path) -> list[Case]:
    """Return the questions of a file."""
    with path.open("rb") as file:
        parts = tomllib.load(file)
    return [
        Case(part, one["question"], one["file"], tuple(one["answer"]))
        for part, listed in parts.items()
        for one in listed
    ]


def write_sources(data: Path, folder: Path) -> Path:
    """Copy the notes to a folder for each repository, and write the sources; return their file."""
    for path in (path for name in NOTES for path in sorted((data / name).glob("*.md"))):
        project = folder / "__".join(path.name.split("__")[:2])
        (project / ".git").mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, project / path.name)
    globs = ", ".join(f'"{data.resolve()}/{name}/*.json*"' for name in FOLDERS)
    sources = folder / "sources.toml"
    sources.write_text(
        f'[sources.notes]\nglob = "{folder}/*/*.md"\nscope = "project"\nsignal = "off"\n\n'
        f'[sources.transcripts]\nglob = [{globs}]\nreader = "transcripts"\n',
        encoding="utf-8",
    )
    return sources


def projects_by_repository(memory: Ragmem) -> dict[str, tuple[str, ...]]:
    """Return the projects of the memories of each repository."""
    found: dict[str, set[str]] = {}
    for one in list_page(memory.catalog.database, Filter(), limit=100_000)[0]:
        name = Path(one.uri.partition("#")[0]).name
        found.setdefault("__".join(name.split("__")[:2]), set()).add(one.scope.project)
    return {name: tuple(sorted(projects)) for name, projects in found.items()}


def right_memory(memory: Ragmem, case: Case, projects: tuple[str, ...]) -> Match | None:
    """Return the best memory of the file that holds the answer, as a search finds it; None without one."""
    asked = Question(case.question, projects=projects, limit=DEEP, nearest=True)
    name = Path(case.file).name
    return next(
        (
            match
            for match in memory.retrieval.ask_by_route(asked, now=now()).answer.matches
            if name in match.memory.uri and case.is_in(match.memory.indexed_text)
        ),
        None,
    )


def beginning(match: Match) -> str:
    """Return what was printed of a match before: the beginning of its chunk without headings."""
    rows = best_chunk_text(match, redactor=DEFAULT).strip().splitlines()
    while len(rows) > 1 and (not rows[0].strip() or rows[0].startswith("#")):
        rows.pop(0)
    text = " ".join(" ".join(rows).split())
    return text if len(text) <= BEGINNING else text[: BEGINNING - 1].rstrip() + "\u2026"


def ask(memory: Ragmem, cases: Sequence[Case]) -> dict[str, Shown]:
    """Return what is shown for the questions now, and what was before."""
    shown = {"now": Shown(), "before": Shown()}
    projects = projects_by_repository(memory)
    for case in cases:
        scope = projects[case.repository]
        answer = memory.retrieval.ask_by_route(
            Question(case.question, projects=scope, limit=memory.settings.query.limit), now=now()
        ).answer
        matches = answer.matches
        started = time.process_time()
        for number, match in enumerate(matches):
            excerpt(match, case.question, most=FURTHER if number else FIRST, redactor=memory.redactor)
        shown["now"].seconds.append(time.process_time() - started)
        started = time.process_time()
        beginnings = [beginning(match) for match in matches]
        shown["before"].seconds.append(time.process_time() - started)
        printed = [
            match_lines(match, number, case.question, redactor=memory.redactor)
            for number, match in enumerate(matches, start=1)
        ]
        former = [[*lines[:-1], f"   {text}"] for lines, text in zip(printed, beginnings, strict=True)]
        is_right = bool(matches) and case.is_in(matches[0].memory.indexed_text)
        right = right_memory(memory, case, scope)
        for name, texts in (("now", printed), ("before", former)):
            first, three, whole = (
                "\n".join(line for lines in texts[:most] for line in lines) for most in (1, 3, None)
            )
            shown[name].add(ROWS[0], case, first)
            if is_right:
                shown[name].add(ROWS[1], case, first)
            shown[name].add(ROWS[2], case, three)
            shown[name].add(ROWS[3], case, whole)
        if right is not None:
            told = excerpt(right, case.question, most=FIRST, redactor=memory.redactor)
            shown["now"].add(ROWS[4], case, told)
            shown["before"].add(ROWS[4], case, beginning(right))
    return shown


HEADERS = [
    "part, excerpt",
    "questions",
    "has the answer",
    "before",
    "characters",
    "characters before",
]


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ragmem-vectors", metavar="DIR"
    )
    options = parser.parse_args()
    about = common.machine()
    cases = read_cases(QUESTIONS)
    document: dict[str, Any] = {"benchmark": "excerpts", "machine": about, "parts": {}}
    rows: list[list[str]] = []
    with common.temporary_folder("excerpts") as folder:
        home = folder / "home"
        home.mkdir()
        sources = write_sources(options.data, folder / "notes")
        plain = Ragmem.open(environ=common.environment(home), home=home, cwd=home, sources_file=sources)
        cache = VectorCache(options.cache, plain.models.embedder)
        with Ragmem(plain.settings, home=home, cwd=home, models=CachedModels(plain.models, cache)) as memory:
            memory.seed()
            common.tell(f"{count(memory)} memories")
            taken: dict[str, list[float]] = {"now": [], "before": []}
            for part in dict.fromkeys(case.part for case in cases):
                chosen = [case for case in cases if case.part == part][: QUICK if options.quick else None]
                shown = ask(memory, chosen)
                document["parts"][part] = {name: figures(one) for name, one in shown.items()}
                for name, one in shown.items():
                    taken[name] += one.seconds
                rows += [row_of(part, row, shown) for row in ROWS]
        cache.close()
        plain.close()
    now_ms, before_ms = (common.milliseconds(statistics.median(taken[name])) for name in ("now", "before"))
    notes = [f"processor time of an answer's excerpts: {now_ms} ms; of the first characters: {before_ms} ms"]
    common.report("excerpts", document, HEADERS, rows, options=options, notes=notes)


def count(memory: Ragmem) -> int:
    """Return the number of memories."""
    return len(list_page(memory.catalog.database, Filter(), limit=100_000)[0])


def figures(shown: Shown) -> dict[str, Any]:
    """Return the figures as data."""
    return {
        row: {
            "questions": len(shown.right[row]),
            "right": sum(shown.right[row]),
            "characters": statistics.median(shown.characters[row]),
        }
        for row in ROWS
    }


def row_of(part: str, row: str, shown: dict[str, Shown]) -> list[str]:
    """Return the line of a part and of what is shown."""
    told, former = shown["now"], shown["before"]
    return [
        f"{part}, {row}",
        str(len(told.right[row])),
        *(f"{statistics.mean(one.right[row]):.2f}" for one in (told, former)),
        *(f"{statistics.median(one.characters[row]):,.0f}" for one in (told, former)),
    ]


if __name__ == "__main__":
    main()
