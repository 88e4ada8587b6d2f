"""Plant secrets in notes and transcripts, store them in every possible way, and search the disk for them.

Beside it: what of real notes and transcripts is taken for a secret, how quickly texts are searched, and where
detect-secrets is installed, what that finds in the same texts.
"""

import base64
import gzip
import importlib.util
import io
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tarfile
import time
import urllib.parse
import urllib.request
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import common
from inputs import planted_secrets

from ragmem.domain.secrets.redaction import find_secrets

MIN_FORM = 8
MIN_WORD = 16
SHARED = 4
"""Letters that two random words have in common at most."""

OWN = "own"
"""The set of those that this makes itself."""

HANDED_IN = 4
"""Notes that are handed in one by one, as processes of their own."""


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/secrets")
    parser.add_argument("--corpus", type=Path, default=Path("../shared/corpus"), help="real texts")
    parser.add_argument("--found", type=Path, metavar="FILE", help="list what real texts hold, to be judged")
    parser.add_argument("--ways", nargs="*", metavar="WAY", help="only these ways in")
    options = parser.parse_args()
    secrets = planted_secrets.planted()
    sets = {OWN: secrets, **(read_sets(options.data) if options.data.is_dir() else {})}
    everything = [one for each in sets.values() for one in each]
    document: dict[str, Any] = {
        "machine": common.machine(),
        "secrets": {name: len(each) for name, each in sets.items()},
        "ways": {},
    }
    rows = []
    chosen = ["seed", "inbox"] if options.quick else options.ways or list(WAYS)
    for name in chosen:
        with common.temporary_folder("redaction") as folder:
            began = time.monotonic()
            document["ways"][name] = outcome = measured(WAYS[name], everything, folder)
        found = set(outcome.pop("parts"))
        stored = outcome["stored"] = {
            each: [one.shape for one in members if found & set(one.parts)] for each, members in sets.items()
        }
        common.tell(f"{name}, {time.monotonic() - began:.0f} s: {stored} {outcome['where']}")
        rows.append(
            [
                name,
                *(f"{outcome[key]:,}" for key in ("memories", "marks", "files")),
                *(f"{len(stored[each])} of {len(members)}" for each, members in sets.items()),
            ]
        )
    notes = [
        f"{OWN}: {len(secrets)} secrets of {len({one.shape for one in secrets})} formats, new in each run",
        (
            "each byte of each file is searched, also as UTF-16, hexadecimal, base64, URL-encoded, in lower "
            "case, and decompressed"
        ),
    ]
    control = document["control"] = not_redacted(everything)
    notes.append(f"without redaction the same search finds {control} of {len(everything)}")
    if options.corpus.is_dir():
        document["real"] = real = of_real_texts(options.corpus, options.found)
        notes.append(
            f"real texts: {real['characters'] / 1e6:.1f} million characters, {real['found']} redactions "
            f"({real['per_100_kb'] * 10:.2f} per MB), {real['mb_per_s']:.1f} MB/s"
        )
    document["detected"] = detected = by_shape(secrets)
    notes.append(f"texts whose secret was found: {detected['ragmem']} of {len(secrets)}")
    if "detect_secrets" in detected:
        notes.append(
            f"detect-secrets {detected['version']}, default plugins: {detected['detect_secrets']} of "
            f"{len(secrets)}"
        )
    common.report(
        "secrets",
        document,
        ["input", "memories", "marks", "files searched", *(f"stored, {name}" for name in sets)],
        rows,
        options=options,
        notes=notes,
    )
    if any(way["stored"][OWN] for way in document["ways"].values()):
        raise SystemExit(1)


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAGMEM_")}
    # What a crash leaves is searched as well.
    temporary = folder / "store/temporary"
    temporary.mkdir(parents=True, exist_ok=True)
    own = {"HOME": str(folder), "RAGMEM_HOME": str(folder / "store"), "TMPDIR": str(temporary)}
    # Vectors hold no letter of a text, whichever model makes them; the quickest will do.
    return {**kept, **own, "NO_COLOR": "1", "RAGMEM_MODELS_BACKEND": "fake", **more}


def ragmem(environ: Mapping[str, str], *words: str, stdin: str = "", codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", *words],
        env=dict(environ),
        cwd=environ["HOME"],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode not in codes:
        raise SystemExit(
            f"ragmem {' '.join(words)[:200]} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
    return done.stdout


Secrets = list[planted_secrets.Planted]


def seed(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    planted_secrets.notes(secrets, folder / ".claude/History/Sessions")
    planted_secrets.reflections(
        secrets, folder / ".claude/MEMORY/LEARNING/REFLECTIONS/algorithm-reflections.jsonl"
    )
    ragmem(environ, "seed")
    again = json.loads(ragmem(environ, "seed", "--json"))
    fresh = sum(
        one.get("new", 0) + one.get("changed", 0) for one in again.get("sources", []) if isinstance(one, dict)
    )
    if fresh:
        raise SystemExit(f"a second seed found {fresh} memories new or changed")


def transcripts(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    repository = folder / "repos/tide"
    repository.mkdir(parents=True)
    planted_secrets.transcripts(secrets, folder, repository)
    ragmem(environ, "seed", "--source", "transcripts")


def hooks(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    repository = folder / "repos/tide"
    repository.mkdir(parents=True)
    path = planted_secrets.transcripts(secrets, folder, repository)[0]
    said = {"session_id": path.stem, "transcript_path": str(path), "cwd": str(repository)}
    for event, more in (
        ("UserPromptSubmit", {"prompt": planted_secrets.told(secrets[0], 0)}),
        ("SessionEnd", {"reason": "other"}),
    ):
        ragmem(environ, "hook", event, stdin=json.dumps({**said, "hook_event_name": event, **more}))
    ragmem(environ, "ingest", "--drain")


def ingest(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    ragmem(environ, "ingest", str(planted_secrets.notes(secrets, folder / "notes")[0].parent))
    for number, secret in enumerate(secrets[:HANDED_IN]):
        ragmem(environ, "ingest", "-", stdin=planted_secrets.told(secret, number))


def files(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Hand in each text as it is, as a file of Markdown or plain text, and as lines of an output."""
    (folder / "files").mkdir()
    for number, secret in enumerate(secrets):
        (folder / f"files/quay-{number}.{('md', 'txt')[number % 2]}").write_text(secret.text)
    ragmem(environ, "ingest", str(folder / "files"))
    ragmem(environ, "ingest", "-", stdin="\n\n".join(one.text for one in secrets))


def inbox(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    lines = [json.dumps(planted_secrets.told(secret, number)) for number, secret in enumerate(secrets)]
    ragmem(environ, "ingest", "--buffer", "--jsonl", "-", stdin="\n".join(lines))
    waiting = leaked(secrets, folder / "store")
    if waiting:
        raise SystemExit(f"{len(waiting)} secrets wait in the inbox")
    ragmem(environ, "ingest", "--drain")


def http(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Send the texts as they are together, and notes, questions, messages and descriptions with one each."""
    folder.mkdir(exist_ok=True)
    ragmem(environ, "ingest", "-", stdin="The first note: quays are numbered from the north, since 2019.")
    port = str(_free_port())
    server = subprocess.Popen(
        [sys.executable, "-m", "ragmem", "serve", "--port", port, "--log-level", "debug"],
        env=dict(environ),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "store/temporary/serve.log").open("wb"),
    )
    try:
        _wait(f"http://127.0.0.1:{port}/health")
        key = next((folder / "store").rglob("serve.token")).read_text().strip()

        def send(path: str, body: object, kind: str = "application/json") -> None:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}",
                data=body if isinstance(body, bytes) else json.dumps(body).encode(),
                headers={"Content-Type": kind, "X-API-Key": key},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                answer.read()

        send("/documents/texts", {"texts": [one.text for one in secrets]})
        for agent in ("quay", "tide"):
            send("/heartbeat", {"agent_id": agent})
        for number, secret in enumerate(secrets):
            note = planted_secrets.told(secret, number)
            for path, body in planted_secrets.requests(secret.text, note, number):
                send(path, body, planted_secrets.FORM if isinstance(body, bytes) else "application/json")
        time.sleep(2)
    finally:
        server.terminate()
        server.wait(30)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(address: str) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not begin to listen")


def imported(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    other = {**environ, "RAGMEM_HOME": str(folder / "other"), "RAGMEM_SECRETS_REDACT": "false"}
    ragmem(other, "ingest", str(planted_secrets.notes(secrets, folder / "notes")[0].parent))
    ragmem(other, "export", str(folder / "export.jsonl"))
    ragmem(environ, "import", str(folder / "export.jsonl"))


def record(secrets: Secrets, _: Path, environ: Mapping[str, str]) -> None:
    """Record some of them as each type: in its main field, in another one, in tags."""
    for number, (sort, fields) in enumerate(RECORD_FIELDS.items()):
        some = secrets[number :: len(RECORD_FIELDS)]
        texts = [one.text for one in some]
        said = "\n\n".join(texts)
        main, more, *others = fields.split()
        given = {main: said, more: texts if more in LISTS else "\n".join(texts)}
        given |= dict(other.split("=") for other in others)
        tags = [part for text in texts[:3] for part in ("--tag", text[:200])]
        ragmem(environ, "record", sort, "-", *tags, stdin=json.dumps(given))


RECORD_FIELDS = {
    "session_insight": "summary what_failed",
    "codebase_discovery": "purpose notes path=src/tide.py",
    "pattern": "pattern when",
    "gotcha": "gotcha solution",
    "task_outcome": "task outcome success=yes",
    "root_cause": "error cause",
    "user_correction": "right said",
    "knowledge": "content title category=gotcha",
    "episode": "content title event_type=decision",
}
"""Types of records: the field that says most, another one, and those that a type must have."""

LISTS = frozenset({"what_failed", "notes"})


def settings(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Hand in a folder of settings, of which only the notes are read, and then two files by their names."""
    paths = planted_secrets.settings_files(secrets, folder / "service")
    ragmem(environ, "ingest", "--yes", str(folder / "service"))
    for path in paths[::4]:
        ragmem(environ, "ingest", str(path))


def code(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Read a repository whose source files hold them: as constants, defaults, comments and doc comments."""
    planted_secrets.source_files(secrets, folder / "tide")
    ragmem(environ, "ingest", "--code", str(folder / "tide"))


def mcp(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Call the tools that write, and those that are asked, with one secret each."""
    folder.mkdir(exist_ok=True)
    calls = planted_secrets.tool_calls(secrets)
    client = {"name": "tide", "version": "1"}
    begun = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", "mcp", "--profile", "full"],
        env={**environ, "RAGMEM_WARM": "off"},
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        send, lines = server.stdin, server.stdout

        def tell(message: Mapping[str, object]) -> dict[str, Any]:
            send.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            send.flush()
            while "id" in message and (line := lines.readline()):
                answer = json.loads(line)
                if answer.get("id") == message["id"]:
                    return dict(answer)
            return {}

        tell({"id": 0, "method": "initialize", "params": begun})
        tell({"method": "notifications/initialized"})
        for number, (name, given) in enumerate(calls, start=1):
            asked_for = {"name": name, "arguments": given}
            answer = tell({"id": number, "method": "tools/call", "params": asked_for})
            if answer.get("result", {"isError": True}).get("isError"):
                raise SystemExit(f"the tool {name} was not answered: {answer}")


def asked(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Ask for them, check them, tell them to agents, and make errors of them: nothing of it is to be kept."""
    ragmem(environ, "ingest", "-", stdin="We decided that the harbour service logs in once, since 2019.")
    (folder / "rules.md").write_text("# Rules\n- never say `harbour`\n")
    ragmem(environ, "agents", "heartbeat", "quay")
    for number in range(PARTS):
        some = secrets[number::PARTS]
        whole = "\n".join(one.text for one in some)
        checked = "\n\n".join(f"The harbour login is this: {one.text}" for one in some)
        ragmem(environ, "query", whole, "--session", "s1", codes=(0, 1))
        ragmem(environ, "context", "--session", "s1", "--prompt", f"harbour login {whole}", codes=(0, 1))
        ragmem(
            environ,
            *("check", "-", "--rules", str(folder / "rules.md"), "--session", "s1"),
            stdin=checked,
            codes=(1,),
        )
        ragmem(environ, "agents", "signal", "message", "quay", whole)
        ragmem(environ, "agents", "heartbeat", "quay", "--task", whole[:4_000])
        ragmem(environ, "inspect", "memory", some[0].text, codes=(2,))
        ragmem(environ, "feedback", some[0].text, "good", codes=(2,))


PARTS = 2
"""Commands for each thing that is asked, each with its share of the secrets."""

WAYS: dict[str, Callable[[Secrets, Path, Mapping[str, str]], None]] = {
    "seed": seed,
    "transcripts": transcripts,
    "hooks": hooks,
    "ingest": ingest,
    "files": files,
    "settings": settings,
    "code": code,
    "inbox": inbox,
    "record": record,
    "mcp": mcp,
    "http": http,
    "import": imported,
    "asked": asked,
}


def measured(way: Callable[..., None], secrets: Secrets, folder: Path) -> dict[str, Any]:
    environ = environment(folder)
    way(secrets, folder, environ)
    store = folder / "store"
    ragmem(environ, "backup")
    found = leaked(secrets, store)
    with closing(sqlite3.connect(next(store.rglob("memory.db")))) as connection:
        texts = [text for (text,) in connection.execute("SELECT text FROM memories")]
    return {
        "memories": len(texts),
        "marks": sum(text.count("[redacted: ") for text in texts),
        "files": sum(1 for path in store.rglob("*") if path.is_file()),
        "parts": sorted({part for part, _ in found}),
        "where": found[:20],
    }


def read_sets(data: Path) -> dict[str, Secrets]:
    """Return the sets of shapes that lie in a folder, by their names."""
    sets = {}
    for path in sorted(data.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        sets[path.stem] = [
            planted_secrets.Planted(one["shape"], one["text"], tuple(one["core"])) for one in records
        ]
    return sets


def not_redacted(secrets: Secrets) -> int:
    """Return how many secrets the search finds in a home that keeps them: it must find them all."""
    with common.temporary_folder("redaction") as folder:
        environ = environment(folder, RAGMEM_SECRETS_REDACT="false")
        planted_secrets.notes(secrets, folder / "notes")
        ragmem(environ, "ingest", str(folder / "notes"))
        found = {part for part, _ in leaked(secrets, folder / "store")}
        return sum(not found.isdisjoint(one.parts) for one in secrets)


def leaked(secrets: Secrets, store: Path) -> list[tuple[str, str]]:
    """Return the parts of secrets that stand in a file below a folder, or in its name, with that name."""
    forms = {form.lower(): part for one in secrets for part in one.parts for form in forms_of(part)}
    found = set()
    for path in store.rglob("*"):
        contents = contents_of(path) if path.is_file() else ()
        for content in (str(path.relative_to(store)).encode(), *contents):
            small = content.lower()
            found |= {(forms[form], path.name) for form in forms if form in small}
    return sorted(found)


def forms_of(part: str) -> Iterator[bytes]:
    raw = part.encode()
    yield raw
    yield part.encode("utf-16-le")
    yield raw.hex().encode()
    yield urllib.parse.quote(part, safe="").encode()
    yield json.dumps(part)[1:-1].encode()
    # Full text keeps words, each without the letters that it shares with the one before.
    longest = max(re.findall(r"[A-Za-z0-9]+", part), key=len, default="")
    if len(longest) >= MIN_WORD:
        yield longest[SHARED:].encode()
    for shift in range(3):
        # Without the letters that depend on what stands before and behind.
        encoded = base64.b64encode(b"\0" * shift + raw)
        inner = encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4]
        if len(inner) >= MIN_FORM:
            yield inner


def contents_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and what is compressed or packed in it."""
    raw = path.read_bytes()
    yield raw
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
        yield raw
    if raw[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(raw)) as packed, TemporaryDirectory() as folder:
            packed.extractall(folder, filter="data")
            for inner in Path(folder).rglob("*"):
                if inner.is_file():
                    yield from contents_of(inner)
    if raw[:15] == b"SQLite format 3":
        with closing(sqlite3.connect(path)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
                # In the file a long value is cut where a page ends.
                yield "\0".join(value for row in rows for value in row if isinstance(value, str)).encode()
                yield b"\0".join(part for row in rows for part in unpacked(row))


def unpacked(row: Iterable[Any]) -> Iterator[bytes]:
    for value in row:
        if isinstance(value, bytes) and len(value) > MIN_FORM:
            for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
                try:
                    yield zlib.decompress(value, wbits)
                except zlib.error:
                    continue


def of_real_texts(data: Path, listed: Path | None) -> dict[str, Any]:
    characters = 0
    seconds = 0.0
    found = []
    for path in sorted(path for path in data.rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8", errors="replace")
        characters += len(text)
        began = time.process_time()
        secrets = find_secrets(text)
        seconds += time.process_time() - began
        for one in secrets:
            around = text[max(0, one.start - 40) : one.start], text[one.end : one.end + 20]
            found.append(
                (str(path.relative_to(data)), one.kind, around[0], text[one.start : one.end], around[1])
            )
    if listed:
        listed.write_text("".join(json.dumps(one) + "\n" for one in found))
    return {
        "characters": characters,
        "found": len(found),
        "kinds": dict(Counter(one[1] for one in found)),
        "per_100_kb": len(found) / max(1, characters) * 100_000,
        "mb_per_s": characters / 1e6 / max(seconds, 1e-9),
    }


def by_shape(secrets: Secrets) -> dict[str, Any]:
    """Return in how many of the texts a secret is found, by ragmem and by detect-secrets."""
    found: dict[str, Any] = {"ragmem": sum(bool(find_secrets(one.text)) for one in secrets)}
    if importlib.util.find_spec("detect_secrets") is None:
        return found
    from importlib.metadata import version

    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    def lines_found(text: str) -> int:
        return sum(len(list(scan_line(line))) for line in text.split("\n"))

    with default_settings():
        found["detect_secrets"] = sum(bool(lines_found(one.text)) for one in secrets)
        found["missed"] = sorted({one.shape for one in secrets if not lines_found(one.text)})
    found["version"] = version("detect-secrets")
    return found


if __name__ == "__main__":
    main()
