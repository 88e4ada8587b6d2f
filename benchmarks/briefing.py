"""Measure what is injected at the start of sessions: how much, and whether the session uses it.

Real sessions are replayed in their order. Before each one that has earlier ones in its project, the block for
the start is asked for as a hook does, and its blocks are compared with what the session edits, reads, asks,
answers and commits. A block is a hit where it shares a name with the session (a file, a symbol, an option, an
issue) that at most a quarter of the project's sessions have, or two words of its prompts that a tenth have;
neither counts if one in ten of other developers' documents has it. For
chance, the same blocks are compared with a later session of the project and with one of another project.
`--week` replays the prompts as well, and tells what was injected twice or had been refuted. `--checkpoints`
replays what clones keep beside their commits (Entire): the sessions of each developer, with their branches.
"""

import json
import random
import re
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import common
from inputs.vector_cache import CachedModels, VectorCache

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Memory, Record, State
from ragmem.services.transcripts.transcripts import capture

SETS = ("transcripts", "codesess_commit")
FOLDERS = {"transcripts_claude": "claude", "transcripts_codex": "codex"}
QUICK = 12
WEEK = 30
CHECKPOINTS = "refs/heads/entire/checkpoints/v1"
LEAST_SESSIONS = 7
"""Sessions of a developer that are replayed, at least."""

PROMPTS = 12
"""Prompts of a session that are replayed, at most."""

NAME_SHARE, LEAST_NAMES = 0.25, 3
WORD_SHARE, LEAST_WORDS = 0.1, 3
"""Share and number of a project's sessions up to which a name, or a word of prompts, tells something."""

COMMON_SHARE = 0.1
"""Share of developers' documents from which a name or a word tells nothing: README.md, "server"."""

_NAME = re.compile(
    r"[\w@./-]*\w\.[A-Za-z]\w{0,5}\b|\b[a-z]+[A-Z]\w{3,}|\b[A-Z][a-z]+[A-Z]\w+|\b\w+_\w{2,}|(?<!\S)--[a-z][\w-]{3,}"
    r"|(?<!\w)#\d+\b|\b[A-Z]{2,}-\d+\b"
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_HEAD = re.compile(r"^(?:- )?\[([a-z2-7]{12})\]", re.MULTILINE)
_PLACE = re.compile(r" \| [~/][^|\n]*")
_SUBJECT = re.compile(r"git commit[^\n]*?-m\s+[\"'](?:\$\(cat <<'?EOF'?\n)?([^\"'\n]+)")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_OWN = re.compile(r"<(?:system-reminder|local-command|command-|task-notification|environment_context)")


@dataclass(slots=True)
class Session:
    """A session: its transcript, its project and times, what it touches, and its prompts."""

    id: str
    project: str
    assistant: str
    path: Path
    began: datetime
    ended: datetime
    branch: str = "main"
    prompts: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Told:
    """The blocks that a session was told at its start, each with its memory's files, and the size of all."""

    session: Session
    blocks: list[tuple[str, set[str]]]
    chars: int
    frame: int


def names_of(text: str) -> set[str]:
    """Return the files, symbols, options and issues of a text, in lower case, files by their last part."""
    return {found.rsplit("/", 1)[-1].lower() for found in _NAME.findall(text)} - {""}


def words_of(text: str) -> set[str]:
    """Return the words of a text of four letters or more, in lower case."""
    return {word.lower() for word in _WORD.findall(text)}


def real_sessions(data: Path, folder: Path) -> Iterator[Session]:
    """Yield the sessions of the corpus that have a repository, with their transcripts moved to one clone."""
    for source, assistant in FOLDERS.items():
        for path in sorted((data / "corpus" / source).glob("*.jsonl")):
            parts = path.name.split("__")
            if len(parts) < 3 or "subagents" in path.name:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            if session := _move(path.stem, parts[1], assistant, text, folder):
                yield session


def checkpoint_sessions(clones: Sequence[Path], folder: Path) -> Iterator[Session]:
    """Yield the sessions beside the commits of clones; each developer of a repository is a project.

    Of a session that several checkpoints have, the longest transcript counts.
    """
    longest: dict[tuple[Path, str], tuple[int, str, str]] = {}
    for clone in clones:
        for name in _git(clone, "ls-tree", "-r", "--name-only", CHECKPOINTS).splitlines():
            text = _git(clone, "show", f"{CHECKPOINTS}:{name}") if name.endswith("/full.jsonl") else ""
            records = list(map(_flat, _records(text)))
            key = next((str(one["sessionId"]) for one in records if one.get("sessionId")), "")
            cwd = next((str(one["cwd"]) for one in records if one.get("cwd")), "")
            if key and cwd.count("/") > 1 and len(text) > longest.get((clone, key), (0,))[0]:
                longest[clone, key] = len(text), f"{clone.name}-{cwd.split('/')[2]}", name
    many = Counter(project for _, project, _ in longest.values())
    for (clone, key), (_, project, name) in longest.items():
        if many[project] >= LEAST_SESSIONS:
            text = _git(clone, "show", f"{CHECKPOINTS}:{name}")
            if session := _move(key, project, "claude", text, folder):
                yield session


def _git(clone: Path, *words: str) -> str:
    """Return what git prints; nothing for what a clone lacks, such as large files."""
    done = subprocess.run(["git", "-C", str(clone), *words], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def _move(name: str, project: str, assistant: str, text: str, folder: Path) -> Session | None:
    """Return a session, its transcript moved to the clone of its project; None without folder or times."""
    records = list(_records(text))
    cwd = next((str(each["cwd"]) for each in map(_flat, records) if each.get("cwd")), "")
    times = sorted(filter(None, (_time(record.get("timestamp")) for record in records)))
    if not cwd or cwd.startswith("/tmp") or not times:
        return None
    target = folder / "transcripts" / assistant / f"{name}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text.replace(cwd, str(_clone(folder, project))), encoding="utf-8")
    branch = next((str(one["gitBranch"]) for one in records if one.get("gitBranch")), "main")
    session = Session(name, project, assistant, target, times[0], times[-1], branch)
    _read(session, records)
    return session


def told_sessions(data: Path, folder: Path) -> Iterator[Session]:
    """Yield the sessions of codesess_commit, written as transcripts with their edits and commits."""
    edits: dict[str, list[str]] = {}
    for line in (data / "eval/codesess_file/edits.jsonl").read_text(encoding="utf-8").splitlines():
        edit = json.loads(line)
        edits.setdefault(edit["session"], []).append(edit["path"])
    commits: dict[str, list[tuple[str, str]]] = {}
    for line in (data / "eval/codesess_commit/queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        for session_id in query["gold"]:
            commits.setdefault(session_id, []).append((query["answer"], query["query"]))
    for line in (data / "eval/codesess_commit/docs.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        name = document["id"]
        clone = _clone(folder, document["scope"])
        ended = datetime.fromisoformat(document["ts"]).astimezone(UTC)
        records = _as_transcript(
            document["text"], str(clone), name, ended, done=(edits.get(name, []), commits.get(name, []))
        )
        target = folder / "transcripts" / "claude" / f"{name.replace('/', '-')}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        began = datetime.fromisoformat(records[0]["timestamp"])
        session = Session(name, document["scope"], "claude", target, began, ended)
        _read(session, records)
        yield session


def _as_transcript(
    text: str,
    cwd: str,
    session: str,
    ended: datetime,
    *,
    done: tuple[Sequence[str], Sequence[tuple[str, str]]],
) -> list[dict[str, Any]]:
    """Return the records of a session; `done` are its edited files, and hash and subject of its commits."""
    edits, commits = done
    turns: list[tuple[str, str]] = []
    for line in text.split("\n"):
        begun = re.match(r"(user|assistant): ?(.*)", line)
        if begun:
            turns.append((begun[1], begun[2]))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}")
    records: list[dict[str, Any]] = []

    def add(role: str, content: Any) -> None:
        records.append({"type": role, "message": {"role": role, "content": content}})

    def act(tool: str, given: dict[str, str], printed: str) -> None:
        key = f"toolu_{len(records)}"
        add("assistant", [{"type": "tool_use", "id": key, "name": tool, "input": given}])
        add("user", [{"type": "tool_result", "tool_use_id": key, "content": printed}])

    last = max((number for number, (role, _) in enumerate(turns) if role == "assistant"), default=-1)
    for number, (role, said) in enumerate(turns):
        if number == last:
            for path in edits:
                change = {"file_path": f"{cwd}/{path}", "old_string": "a", "new_string": "b"}
                act("Edit", change, "The file has been updated.")
            for commit, subject in commits:
                act("Bash", {"command": f'git commit -m "{subject}"'}, f"[main {commit[:9]}] {subject}")
        add(role, said if role == "user" else [{"type": "text", "text": said}])
    for number, record in enumerate(records):
        moment = ended - timedelta(seconds=5 * (len(records) - number))
        record |= {
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session.replace("/", "-"),
            "cwd": cwd,
            "timestamp": moment.isoformat(),
            "version": "2.1.0",
        }
    return records


def _clone(folder: Path, name: str) -> Path:
    clone = folder / "work" / name
    if not clone.is_dir():
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(clone)], check=True)
    return clone


def _records(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    inner = record.get("payload", record.get("message"))
    return {**record, **inner} if isinstance(inner, dict) else record


def _time(stamp: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(stamp)).astimezone(UTC) if isinstance(stamp, str) else None
    except ValueError:
        return None


def _read(session: Session, records: Iterable[dict[str, Any]]) -> None:
    """Fill in the prompts of a session, and the names that it reads, changes, says or commits."""
    for record in map(_flat, records):
        role, content = record.get("role"), record.get("content")
        if record.get("isMeta") or record.get("isSidechain"):
            continue
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)]
        said = "\n".join(text for text in texts if text and not _OWN.match(text.lstrip()))
        if role == "user" and said.strip():
            session.prompts.append(said)
            session.words |= words_of(said)
        if role in {"user", "assistant"}:
            session.names |= names_of(said)
        given = [part.get("input") for part in parts if isinstance(part, dict)]
        if record.get("type") in {"function_call", "custom_tool_call"}:
            given.append(_loads(record.get("arguments", record.get("input"))))
        for one in given:
            paths, subjects = _touched(one)
            session.names |= names_of("\n".join((*paths, *subjects)))
            session.words |= words_of("\n".join(subjects))


def _loads(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {"command": value}


def _touched(given: object) -> tuple[list[str], list[str]]:
    """Return the files of a tool's input, and the subjects of its commits."""
    if not isinstance(given, dict):
        return [], []
    paths = [given[key] for key in ("file_path", "path", "notebook_path") if isinstance(given.get(key), str)]
    command = given.get("command", given.get("cmd", ""))
    command = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    return [*paths, *_PATCHED.findall(command)], _SUBJECT.findall(command)


def blocks_of(text: str) -> tuple[list[tuple[str, str]], int]:
    """Return (id, told block without its path), and the characters that are frame, headings or paths."""
    inner = text.rpartition("\n(")[0]
    heads = list(_HEAD.finditer(inner))
    blocks, told = [], 0
    for head, following in zip_longest(heads, heads[1:]):
        block = inner[head.end() : following.start() if following else len(inner)]
        lines = [line for line in block.splitlines() if not line.startswith("## ")]
        blocks.append((head[1], _PLACE.sub("", "\n".join(lines)).strip()))
        first, *rest = lines
        # The line above is a heading where the text follows below it.
        told += sum(map(len, rest)) if any(line.strip() for line in rest) else len(first)
    return blocks, len(text) - told


@dataclass(frozen=True, slots=True)
class Common:
    """The names and words that developers' documents of other projects have now and then."""

    names: frozenset[str]
    words: frozenset[str]

    @classmethod
    def read(cls, corpus: Path) -> "Common":
        """Return those of the documents of a corpus, without its transcripts."""
        texts = [
            path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(corpus.glob("*/*.md"))
            if not path.parent.name.startswith("transcripts")
        ]
        least = COMMON_SHARE * len(texts)
        counted = [Counter(found for text in texts for found in find(text)) for find in (names_of, words_of)]
        names, words = (frozenset(one for one, times in each.items() if times >= least) for each in counted)
        return cls(names, words)


class Rarity:
    """Which names and words few sessions of a project, and few other documents, have."""

    def __init__(self, sessions: Sequence[Session], usual: Common) -> None:
        self._usual = usual
        self._names = Counter(name for session in sessions for name in session.names)
        self._words = Counter(word for session in sessions for word in session.words)
        self._most_names = max(LEAST_NAMES, NAME_SHARE * len(sessions))
        self._most_words = max(LEAST_WORDS, WORD_SHARE * len(sessions))

    def is_hit(self, block: tuple[str, set[str]], session: Session) -> bool:
        """Return whether a session touches what a block tells, or its files."""
        text, files = block
        names = ((names_of(text) | files) & session.names) - self._usual.names
        words = (words_of(text) & session.words) - self._usual.words
        named = any(self._names[name] <= self._most_names for name in names)
        return named or sum(self._words[word] <= self._most_words for word in words) > 1


def open_home(folder: Path, cache: Path) -> tuple[Ragmem, Ragmem, VectorCache]:
    """Return a prepared memory with cached vectors, and what must be closed with it."""
    home = folder / "home"
    home.mkdir()
    plain = Ragmem.open(environ=common.environment(folder / "ragmem"), home=home, cwd=folder)
    vectors = VectorCache(cache, plain.models.embedder)
    models: Any = CachedModels(plain.models, vectors)
    memory = Ragmem(plain.settings, home=home, cwd=folder, models=models)
    memory.prepare()
    return memory, plain, vectors


def keep(memory: Ragmem, session: Session) -> None:
    """Store a session that has ended, with its vectors."""
    done = capture(
        memory.catalog, memory.settings, session.path, home=memory.home, now=session.ended,
        assistant=session.assistant, ended=True,
    )  # fmt: skip
    if done.failed:
        raise RuntimeError(f"{session.path.name}: {done.failed}")
    waiting = list(memory.catalog.memories.each(states=[State.PENDING]))
    memory.store.put(
        [Record(one, memory.catalog.memories.chunks(one)) for one in waiting],
        finish=lambda: memory.catalog.memories.mark([one.id for one in waiting], State.INDEXED),
    )


def replay(sessions: Sequence[Session], folder: Path, options: Any) -> list[Told]:
    """Ask for the start of each session when those that had ended by then are stored."""
    told: list[Told] = []
    waiting = sorted(sessions, key=lambda session: session.ended)
    seen: set[str] = set()
    memory, plain, vectors = open_home(folder, options.cache)
    with memory:
        for session in sessions:
            while waiting[0].ended <= session.began:
                seen.add(waiting[0].project)
                keep(memory, waiting.pop(0))
            if session.project in seen:
                clone = folder / "work" / session.project
                (clone / ".git" / "HEAD").write_text(f"ref: refs/heads/{session.branch}\n", encoding="utf-8")
                given = memory.injections.anticipate(
                    f"start {session.id}",
                    event="start",
                    cwd=clone,
                    max_chars=options.max_chars,
                    at=session.began,
                )
                blocks, frame = blocks_of(given.context.text)
                files = {
                    one.short_id: names_of(one.metadata.get("files", "")) for one in given.context.memories
                }
                told.append(
                    Told(
                        session,
                        [(text, files.get(key, set())) for key, text in blocks],
                        len(given.context.text),
                        frame,
                    )
                )
    plain.close()
    vectors.close()
    return told


def week(sessions: Sequence[Session], folder: Path, options: Any) -> dict[str, Any]:
    """Replay the start and the prompts of the first sessions of the project with the most, then run gc."""
    largest = Counter(session.project for session in sessions).most_common(1)[0][0]
    chosen = [session for session in sessions if session.project == largest][:WEEK]
    clone = folder / "work" / largest
    waiting = sorted(chosen, key=lambda session: session.ended)
    chars: list[int] = []
    starts: list[int] = []
    told: list[tuple[Session, Memory]] = []
    prompts = answered = twice = 0
    memory, plain, vectors = open_home(folder, options.cache)
    with memory:
        for session in chosen:
            while waiting[0].ended <= session.began:
                keep(memory, waiting.pop(0))
            given = []
            for number, prompt in enumerate(("", *session.prompts[:PROMPTS])):
                block = memory.injections.anticipate(
                    session.id,
                    prompt,
                    event="prompt" if number else "start",
                    cwd=clone,
                    max_chars=None if number else options.max_chars,
                    at=session.began + timedelta(seconds=number),
                ).context
                given.append(block)
            shown = [one for block in given for one in block.memories]
            twice += len(shown) - len({one.id for one in shown})
            told += [(session, one) for one in shown]
            starts.append(len(given[0].text))
            chars.append(sum(len(block.text) for block in given))
            prompts += len(given) - 1
            answered += sum(bool(block.text) for block in given[1:])
        for session in waiting:
            keep(memory, session)
        memory.gc.apply(memory.gc.plan(missing=True), allow_large=True)
        refuted = _refuted(memory, told, show=options.show)
    plain.close()
    vectors.close()
    return {
        "project": largest,
        "sessions": len(chosen),
        "chars_median": statistics.median(chars),
        "chars_max": max(chars),
        "start_median": statistics.median(starts),
        "start_max": max(starts),
        "prompts": prompts,
        "answered": answered,
        "told": len(told),
        "twice": twice,
        "refuted": refuted,
    }


def _refuted(memory: Ragmem, told: Sequence[tuple[Session, Memory]], *, show: bool) -> int:
    """Return how often a memory was told that one of a session before had superseded, or perhaps had."""
    ids = [one.id for _, one in told]
    links = memory.catalog.supersessions.perhaps_outdated(ids) | memory.catalog.supersessions.in_force(ids)
    newer = memory.catalog.memories.get({link.newer for link in links.values()})
    found = [
        (session, one, newer[links[one.id].newer])
        for session, one in told
        if one.id in links and newer[links[one.id].newer].event_time <= session.began
    ]
    if show:
        for session, one, other in found:
            print(
                f"refuted before {session.id}: {one.short_id} {one.title} | by {other.short_id} {other.title}"
            )
    return len(found)


def figures(told: Sequence[Told], sessions: Sequence[Session], usual: Common) -> dict[str, Any]:
    """Return the precision of the blocks, the sessions they served, their sizes, and the same by chance."""
    drawn = random.Random(7)
    by_project: dict[str, list[Session]] = {}
    for session in sessions:
        by_project.setdefault(session.project, []).append(session)
    rarity = {project: Rarity(found, usual) for project, found in by_project.items()}
    hits, later, elsewhere = [], [], []
    useful = 0
    for one in told:
        judge = rarity[one.session.project]
        right = [judge.is_hit(block, one.session) for block in one.blocks]
        hits += right
        useful += any(right)
        own = by_project[one.session.project]
        after = own[own.index(one.session) + 1 :]
        others = [session for session in sessions if session.project != one.session.project]
        for block in one.blocks:
            if after:
                later.append(judge.is_hit(block, drawn.choice(after)))
            if others:
                other = drawn.choice(others)
                elsewhere.append(rarity[other.project].is_hit(block, other))
    spoken = [one for one in told if one.chars]
    chars = [one.chars for one in spoken]
    return {
        "sessions": len(told),
        "told": len(spoken),
        "useful": useful,
        "blocks": len(hits),
        "precision": sum(hits) / max(1, len(hits)),
        "chance_later": sum(later) / max(1, len(later)),
        "chance_elsewhere": sum(elsewhere) / max(1, len(elsewhere)),
        "chars_median": statistics.median(chars) if chars else 0,
        "chars_max": max(chars, default=0),
        "frame": sum(one.frame for one in spoken) / max(1, sum(chars)),
    }


def row_of(name: str, found: dict[str, Any]) -> list[str]:
    """Return the line of a set."""
    return [
        name,
        str(found["sessions"]),
        f"{found['useful'] / max(1, found['sessions']):.2f}",
        f"{found['blocks'] / max(1, found['sessions']):.1f}",
        f"{found['precision']:.2f}",
        f"{found['chance_later']:.2f}",
        f"{found['chance_elsewhere']:.2f}",
        f"{found['chars_median']:,.0f}",
        f"{found['chars_max']:,}",
        f"{found['frame']:.2f}",
    ]


HEADERS = [
    "set",
    "sessions with earlier ones",
    "got something relevant",
    "blocks per session",
    "precision",
    "by chance: a later session",
    "another project",
    "characters",
    "most",
    "share of headings",
]


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared")
    parser.add_argument("--sets", default=",".join(SETS), help="these, separated by commas")
    parser.add_argument("--max-chars", type=int, help="ask for so many characters, not for the default")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        nargs="+",
        default=[],
        metavar="CLONE",
        help="and the sessions of these clones",
    )
    parser.add_argument("--week", action="store_true", help="replay sessions of one project, with prompts")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="figures of another release, by --json")
    parser.add_argument(
        "--show", action="store_true", help="print each block, + where the session touches it"
    )
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ragmem-vectors", metavar="DIR"
    )
    options = parser.parse_args()
    document: dict[str, Any] = {"benchmark": "briefing", "machine": common.machine(), "sets": {}}
    former = json.loads(options.beside.read_text(encoding="utf-8"))["sets"] if options.beside else {}
    known = Common.read(options.data / "corpus")
    if options.week:
        report_week(document, options, former)
        return
    rows = []
    for name in (*options.sets.split(","), *(["checkpoints"] if options.checkpoints else [])):
        with common.temporary_folder("briefing") as folder:
            if name == "checkpoints":
                found_sessions = checkpoint_sessions(options.checkpoints, folder)
            else:
                read = real_sessions if name == "transcripts" else told_sessions
                found_sessions = read(options.data, folder)
            sessions = sorted(found_sessions, key=lambda session: (session.began, session.id))
            sessions = sessions[:QUICK] if options.quick else sessions
            common.tell(f"{name}: {len(sessions)} sessions")
            told = replay(sessions, folder, options)
            found = figures(told, sessions, known)
        document["sets"][name] = found
        if name in former:
            rows.append(row_of(f"{name}, the former release", former[name]))
        rows.append(row_of(name, found))
        if options.show:
            show(told, sessions, known)
    common.report("briefing", document, HEADERS, rows, options=options)


WEEK_HEADERS = [
    "sessions",
    "number",
    "characters per session",
    "most",
    "at the start",
    "most",
    "prompts answered",
    "injected twice",
    "injected though refuted",
]


def report_week(document: dict[str, Any], options: Any, former: dict[str, Any]) -> None:
    """Replay a simulated week and report it."""
    with common.temporary_folder("briefing") as folder:
        sessions = sorted(
            told_sessions(options.data, folder), key=lambda session: (session.began, session.id)
        )
        found = week(sessions, folder, options)
    document["sets"]["week"] = found
    rows = [
        [
            f"{label}, {figures['project']}",
            str(figures["sessions"]),
            f"{figures['chars_median']:,.0f}",
            f"{figures['chars_max']:,}",
            f"{figures['start_median']:,.0f}",
            f"{figures['start_max']:,}",
            f"{figures['answered']} of {figures['prompts']}",
            f"{figures['twice']} of {figures['told']}",
            f"{figures['refuted']} of {figures['told']}",
        ]
        for label, figures in (("the former release", former.get("week")), ("today", found))
        if figures
    ]
    common.report("briefing-week", document, WEEK_HEADERS, rows, options=options)


def show(told: Sequence[Told], sessions: Sequence[Session], usual: Common) -> None:
    """Print each block, with a mark where the session touches it."""
    for one in told:
        judge = Rarity([session for session in sessions if session.project == one.session.project], usual)
        print(f"\n== {one.session.id} {one.session.began:%Y-%m-%d %H:%M} {one.chars}")
        for block in one.blocks:
            print(f"{'+' if judge.is_hit(block, one.session) else '-'} {' '.join(block[0].split())}")


if __name__ == "__main__":
    main()
