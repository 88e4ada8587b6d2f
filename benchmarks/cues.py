"""Measure injections about files and errors: whether what is relevant is injected, and only that.

The memories are the notes and sessions of a corpus of repositories, a project each. Cases are made by rule.
Due is what a note says of a file together with a rule, a trap, a decision or a cause, and what it says of
an error together with its fix; the error comes again with other numbers and paths, among other output. Few
notes of the corpus quote an error, so that more are seeded: errors of common tools, with names that the
notes of the repository have. Not due is anything on files of other repositories, on seeded errors with
another name, and on names and errors that are everywhere. The rules of the program were chosen on every
other repository; the rest is reported.
"""

import random
import re
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Memory, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import RagmemError
from ragmem.readers.transcripts import drafts_of, read

NOTES = {"memory": "memory", "session_summary": "sessions", "plan_spec": "plans", "prd": "prds"}
"""A folder of the corpus -> the source of its notes."""

SESSIONS = ("transcripts_claude", "transcripts_codex", "transcripts_gemini")
CURATED = "memory"

SEED = 22
MOST = 400
"""Cases of one sort, drawn by a fixed seed."""

_PATH = re.compile(r"(?<![\w/.@:-])((?:[\w.@-]+/)+[\w@-][\w.@-]*\.[a-z]{1,5})(?![\w/])")
_WORTH = re.compile(
    r"\b(never|must|because|bug|gotcha|instead of|decided|wrong|breaks?|root cause|silently|careful|don't"
    r"|do not)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^ {0,8}```.*?^ {0,8}```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`|\S*/\S*|\S*[-_]\S*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_QUOTED = re.compile(r"`([^`\n]{20,200})`|^ {0,6}(?:- )?(?:Failed: )?([^\n`]{20,200})$", re.MULTILINE)
_ERROR = re.compile(
    r"(?:\S{1,60}[:)]\s+)?(?:[\w.]+\s){0,2}?(?:[\w.]*(?:Error|Exception)\b(?:\[\w+\])?: "
    r"|error(?:\[\w+\]| TS\d+)?: |fatal: |panic: |ERR_[A-Z_]+)|.{0,60}command not found$"
)
"""The beginning of a line of an output that names an error."""

_SOURCE = re.compile(
    r"=>|\$\{|</|\{ ?\w+:|[{;,]$|^(?:#|\||//|/\*)"
    r"|\b(?:const|let|var|def|class|return|raise|throw|catch|except)\b"
)
"""A line of a program, a table or a heading, which no command prints."""

_MARKS = re.compile(r"^(?:[-*\u2022>]\s+|\d+[.)]\s+)+")
_CLASS = re.compile(r"^(?:\w*(?:Error|Exception)|error|fatal|panic): ")
_FIX = re.compile(
    r"\b(?:fix(?:ed|es)?|root cause|solution|work ?around|resolved|instead|because|caused by)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_]{3,}")
_NUMBER = re.compile(r"\b\d+\b")
_ABSOLUTE = re.compile(r"(?<![\w.])/(?:[\w.@-]+/)+")

_NAME = re.compile(r"`((?:[a-z]+_[a-z_]*[a-z]|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+))(?:\(\))?`")

ERRORS = (
    "AttributeError: module 'settings' has no attribute '{}'",
    "ImportError: cannot import name '{}' from 'app.core' (/home/dev/app/core.py)",
    "NameError: name '{}' is not defined",
    "TypeError: {}() missing 2 required positional arguments: 'config' and 'target'",
    "TypeError: Cannot read properties of undefined (reading '{}')",
    "src/app.ts(41,7): error TS2339: Property '{}' does not exist on type 'Options'.",
    "./cmd/main.go:88:3: undefined: {}",
    "error[E0425]: cannot find value `{}` in this scope",
    "sqlite3.OperationalError: no such column: {}",
    'psycopg.errors.UndefinedTable: relation "{}" does not exist',
    "panic: runtime error: index out of range [5] with length 3 in {}",
    "java.lang.IllegalStateException: {} was not initialized after 300 ms",
    "Error: listen EADDRINUSE: address already in use 127.0.0.1:8080 by {}",
)
"""Errors of common tools, each with a place for a name."""

FIXES = (
    "`{0}` came from a stale build. Fix: delete the cache folder and build again.",
    "When the nightly job says:\n\n```\n{0}\n```\n\nthe cause is the order of start: the store first.",
    "## Gotcha\n\n- {0}\n\nResolved by pinning the former version; the next one works only with other flags.",
    "We hit {0} after the update. It was solved by naming the folder, because the default moved.",
)
"""Notes on an error."""

SHARED = 0.1
"""Largest share of the repositories that have a word by which an error is known again."""

SEEDS = 8
"""Errors of a repository that are seeded; as many are not."""

COMMON_FILES = (
    "index.ts",
    "README.md",
    "main.py",
    "package.json",
    "mod.rs",
    "utils.py",
    "config.yaml",
    "types.ts",
)
COMMON_ERRORS = (
    "exit 1",
    "Error: not found",
    "Error: Process completed with exit code 1.",
    "make: *** [test] Error 2",
    "TypeError: undefined is not a function",
    "AssertionError: assert False",
    "npm ERR! code ELIFECYCLE",
    "error: test failed, to rerun pass `--lib`",
    "FAILED tests/test_app.py::test_main - AssertionError",
    "ls: cannot access 'build': No such file or directory",
    "KeyError: 'id'",
    "fatal: unable to access remote: Could not resolve host",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One event: the project, what is asked, and the memories of which one is due; none: nothing is."""

    project: str
    prompt: str
    gold: frozenset[str] = frozenset()


@dataclass(slots=True)
class Counts:
    """What came of the cases of one moment."""

    due: int = 0
    right: int = 0
    other: int = 0
    idle: int = 0
    alarms: int = 0
    characters: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    loud: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the figures as data."""
        return {
            "due": self.due,
            "delivered": self.right / max(1, self.due),
            "only_others": self.other / max(1, self.due),
            "not_due": self.idle,
            "false_alarms": self.alarms / max(1, self.idle),
            "characters": sorted(self.characters)[len(self.characters) // 2] if self.characters else 0,
            "seconds": common.spread(self.seconds),
        }


def project_of(path: Path) -> str:
    """Return the repository of a file of the corpus: owner/name."""
    return "/".join(path.name.split("__")[:2])


def drafts_in(corpus: Path) -> Iterator[Draft]:
    """Yield the notes and the exchanges of a corpus."""
    for folder, source in NOTES.items():
        for path in sorted((corpus / folder).glob("*.md")):
            text = path.read_text(encoding="utf-8", errors="replace")
            yield Draft(
                source, str(path), text, title=path.stem.split("__")[-1], scope=Scope(project_of(path))
            )
    for folder in SESSIONS:
        for path in sorted((corpus / folder).glob("*.json*")):
            try:
                for step in read(path, ended=True, redactor=DEFAULT):
                    if step.exchange is not None:
                        scope = Scope(project_of(path))
                        yield from drafts_of(step.exchange, path=path, scope=scope, redactor=DEFAULT)
            except RagmemError:
                continue  # a format that is not read


def stored(memory: Ragmem, drafts: Sequence[Draft]) -> list[Memory]:
    """Store drafts, each project in a folder of its own; return the memories."""
    ids = [one.id for one in memory.ingest(list(drafts))]
    found = list(memory.catalog.memories.get(ids).values())
    for project in {one.scope.project for one in found}:
        folder_of(memory, project).mkdir(parents=True, exist_ok=True)
        memory.catalog.projects.remember(project, name=project, root=str(folder_of(memory, project)))
    return found


def folder_of(memory: Ragmem, project: str) -> Path:
    """Return the folder of a project."""
    return memory.home / "repositories" / project


def seeds(memories: Sequence[Memory], rng: random.Random) -> tuple[list[Draft], list[tuple[str, str, str]]]:
    """Return notes on errors, and errors: the project, the line, and the uri of the note on it ("": none).

    Those without one have a name that no note on an error has, or one whose note is on another error.
    """
    texts: dict[str, str] = {}
    for memory in memories:
        texts[memory.scope.project] = f"{texts.get(memory.scope.project, '')}\n{memory.text}"
    drafts, lines = [], []
    for project, text in sorted(texts.items()):
        names = sorted({name for name in _NAME.findall(text) if len(name) > 6})
        rng.shuffle(names)
        for number, name in enumerate(names[:SEEDS]):
            error, other = rng.sample(ERRORS, 2)
            uri = f"seed/{project}/{number}"
            note = rng.choice(FIXES).format(error.format(name))
            drafts.append(Draft(rng.choice(("memory", "sessions")), uri, note, scope=Scope(project)))
            lines += [(project, error.format(name), uri), (project, other.format(name), "")]
        lines += [(project, rng.choice(ERRORS).format(name), "") for name in names[SEEDS : 2 * SEEDS]]
    return drafts, lines


def file_cases(memories: Sequence[Memory], rng: random.Random) -> list[Case]:
    """Return the files that notes tell something of, and files that no note of the project names."""
    due: dict[tuple[str, str], set[str]] = {}
    for memory in memories:
        for sentence in _SENTENCE.split(_FENCE.sub("", memory.indexed_text)):
            if memory.source != CURATED and not _WORTH.search(_CODE.sub("", sentence)):
                continue
            if memory.source == "transcripts" and not _is_said(memory, sentence):
                continue
            for path in _PATH.findall(sentence):
                due.setdefault((memory.scope.project, path), set()).add(memory.id)
    texts: dict[str, str] = {}
    for memory in memories:
        texts[memory.scope.project] = f"{texts.get(memory.scope.project, '')}\n{memory.text}"
    cases = [Case(project, path, frozenset(gold)) for (project, path), gold in due.items()]
    paths = sorted({path for _, path in due})
    idle = []
    for project, text in sorted(texts.items()):
        strange = [path for path in paths if path.rpartition("/")[2] not in text]
        idle += [Case(project, path) for path in rng.sample(strange, min(8, len(strange)))]
        for name in COMMON_FILES:
            folder = rng.choice(paths).rpartition("/")[0]
            if f"{folder.rpartition('/')[2]}/{name}" not in text:
                idle.append(Case(project, f"{folder}/{name}"))
    return [*_some(cases, rng), *_some(idle, rng)]


def _is_said(memory: Memory, sentence: str) -> bool:
    """Return whether a sentence of an exchange stands in its result, not in the work."""
    _, found, result = memory.indexed_text.partition("\n# Result\n")
    return bool(found) and sentence in result


def seeded_cases(
    memories: Sequence[Memory], lines: Sequence[tuple[str, str, str]], rng: random.Random
) -> list[Case]:
    """Return the seeded errors in another run."""
    ids = {one.uri: one.id for one in memories}
    return [
        Case(project, _again(line, rng), frozenset({ids[uri]} if uri else ())) for project, line, uri in lines
    ]


def failure_cases(memories: Sequence[Memory], rng: random.Random) -> list[Case]:
    """Return errors whose fix a note tells, in another run, and errors that no note of the project knows."""
    due: dict[tuple[str, str], set[str]] = {}
    for memory in memories:
        text = memory.indexed_text
        for found in _QUOTED.finditer(text):
            quoted = (found[1] or found[2]).strip()
            line = _MARKS.sub("", quoted).strip("*_ ")
            line = line.strip("\"'\u201c\u201d") if line[:1] in "\"'\u201c" else line
            near = text[found.end() : found.end() + 500]
            if memory.source != "transcripts":
                near = text[max(0, found.start() - 500) : found.start()] + near
            if "exit code" in line or '("' in line or _SOURCE.search(quoted):
                continue  # it says nothing, or is a line of a program
            if _ERROR.match(line) and len(_WORD.findall(line)) > 3 and _FIX.search(near):
                due.setdefault((memory.scope.project, line), set()).add(memory.id)
    texts: dict[str, str] = {}
    for memory in memories:
        texts[memory.scope.project] = f"{texts.get(memory.scope.project, '')}\n{memory.text}"
    same: dict[tuple[str, str], set[str]] = {}
    for (project, line), gold in due.items():
        same.setdefault((project, _CLASS.sub("", line)), set()).update(gold)
    due = {
        (project, line): same[project, _CLASS.sub("", line)]
        for project, line in due
        if _is_known_again(line, texts.values())
    }
    cases = [Case(project, _again(line, rng), frozenset(gold)) for (project, line), gold in due.items()]
    lines = sorted({line for _, line in due})
    idle = []
    for project, text in sorted(texts.items()):
        strange = [line for line in lines if not any(word in text for word in _rare(line))]
        idle += [Case(project, _again(line, rng)) for line in rng.sample(strange, min(4, len(strange)))]
        idle += [
            Case(project, _again(line, rng)) for line in rng.sample(COMMON_ERRORS, 4) if line not in text
        ]
    return [*_some(cases, rng), *_some(idle, rng)]


def _is_known_again(line: str, texts: Collection[str]) -> bool:
    """Return whether an error has a word that few repositories have; others happen everywhere."""
    most = max(2, SHARED * len(texts))
    words = {word for word in _WORD.findall(_ABSOLUTE.sub(" ", line)) if len(word) > 3}
    return any(sum(word in text for text in texts) <= most for word in words)


def _rare(line: str) -> list[str]:
    return sorted(_WORD.findall(line), key=len)[-2:]


def _again(line: str, rng: random.Random) -> str:
    """Return an output with the error of another run: other numbers and paths, and lines around it."""
    other = _ABSOLUTE.sub(f"/srv/build{rng.randrange(90)}/", line)
    other = _NUMBER.sub(lambda found: str(rng.randrange(2, 900)) if len(found[0]) > 1 else found[0], other)
    before = f"Exit code {rng.randrange(1, 3)}\n> building in {rng.randrange(200)} ms"
    return f"{before}\n{other}\n\nfinished after 3.1s\n"


def _some(cases: list[Case], rng: random.Random) -> list[Case]:
    return rng.sample(cases, min(MOST, len(cases)))


def replay(memory: Ragmem, label: str, cases: Sequence[Case]) -> Counts:
    """Return what the events of some cases were told, each in a session of its own."""
    counts, event = Counts(), label.partition(",")[0]
    for number, case in enumerate(cases):
        begun = time.perf_counter()
        folder = folder_of(memory, case.project)
        prompt = f"{folder}/{case.prompt}" if event == "file" else case.prompt
        told = memory.injections.anticipate(f"{label}-{number}", prompt, event=event, cwd=folder)
        counts.seconds.append(time.perf_counter() - begun)
        shown = {one.id for one in told.context.memories}
        if shown:
            counts.characters.append(len(told.context.text))
        if case.gold:
            counts.due += 1
            counts.right += bool(shown & case.gold)
            counts.other += bool(shown) and not shown & case.gold
            if not shown & case.gold:
                counts.missed.append(f"{case.project}: {case.prompt} <- {min(case.gold)}")
        else:
            counts.idle += 1
            counts.alarms += bool(shown)
            if shown:
                counts.loud.append(f"{case.project}: {case.prompt} -> {min(shown)}")
    return counts


def half_of(memories: Sequence[Memory], half: str) -> list[str]:
    """Return every other repository of some memories, by name."""
    return sorted({one.scope.project for one in memories})[half == "held-out" :: 2]


HEADERS = [
    "event",
    "relevant",
    "injected",
    "only others injected",
    "irrelevant",
    "something injected",
    "characters",
    "p50 ms",
    "p95 ms",
]


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument(
        "--errors", type=Path, help="further notes of this form, for the errors that they quote"
    )
    parser.add_argument(
        "--half", choices=("chosen", "held-out"), default="held-out", help="which repositories"
    )
    options = parser.parse_args()
    about = common.machine()
    rows, figures = [], {}
    with common.temporary_folder("cues") as home:
        environ = common.environment(home) | {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
        with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
            memories = stored(memory, list(drafts_in(options.data)))
            projects = half_of(memories, options.half)
            chosen = [one for one in memories if one.scope.project in projects]
            further = stored(memory, list(drafts_in(options.errors))) if options.errors else []
            quoting = half_of(further, options.half)
            noted = [*chosen, *(one for one in further if one.scope.project in quoting)]
            rng = random.Random(SEED)
            drafts, lines = seeds(chosen, rng)
            sorts = {
                "file": file_cases(chosen, rng),
                "failure, as noted": failure_cases(noted, rng),
                "failure, seeded": seeded_cases(stored(memory, drafts), lines, rng),
            }
            for label, cases in sorts.items():
                counts = replay(memory, label, cases[:: 20 if options.quick else 1])
                shown = figures[label] = counts.document()
                figures[label] |= {"missed": counts.missed, "loud": counts.loud}
                rows.append(
                    [
                        label,
                        str(counts.due),
                        f"{shown['delivered']:.2f}",
                        f"{shown['only_others']:.2f}",
                        str(counts.idle),
                        f"{shown['false_alarms']:.3f}",
                        f"{shown['characters']:,}",
                        *(common.milliseconds(shown["seconds"][name]) for name in ("median", "p95")),
                    ]
                )
    among = len(memories) + len(further)
    notes = [f"{len(projects)} repositories with {len(chosen):,} memories, of {among:,} in all"]
    if further:
        notes.append(f"errors as noted: {len(quoting)} further repositories with {len(noted):,} memories")
    document = {"benchmark": "cues", "machine": about, "half": options.half, "moments": figures}
    common.report("cues", document, HEADERS, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
