"""Plant secrets in notes and transcripts, take them in by every way there is, and look for them on disk.

Beside it: what of real notes and transcripts is taken for a secret, how quickly texts are searched, and where
detect-secrets is installed, what that finds in the same texts.
"""

import base64
import gzip
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import common
import redaction_planted

from ragmem.domain.redaction import find_secrets

MIN_FORM = 8
HANDED_IN = 4
"""Notes that are handed in one by one, as processes of their own."""


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/secrets")
    parser.add_argument("--corpus", type=Path, default=Path("../shared/corpus"), help="real texts")
    parser.add_argument("--found", type=Path, metavar="FILE", help="list what real texts hold, to be judged")
    parser.add_argument("--ways", nargs="*", metavar="WAY", help="only these ways in")
    options = parser.parse_args()
    secrets = redaction_planted.planted()
    document: dict[str, Any] = {"machine": common.machine(), "secrets": len(secrets), "ways": {}}
    rows = []
    chosen = ["seed", "inbox"] if options.quick else options.ways or list(WAYS)
    for name in chosen:
        with common.temporary_folder("redaction") as folder:
            common.tell(name)
            document["ways"][name] = outcome = measured(WAYS[name], secrets, folder)
            common.tell(f"{outcome['found']} found in {outcome['files']} files: {outcome['where']}")
            rows.append([name, *(f"{outcome[key]:,}" for key in ("memories", "marks", "files", "found"))])
    notes = [
        (
            f"{len(secrets)} secrets of {len({one.shape for one in secrets})} shapes; each byte of each file "
            "is searched, also as UTF-16, hexadecimal, base64, in addresses, and what is compressed"
        )
    ]
    control = document["control"] = not_redacted(secrets)
    notes.append(f"with redaction turned off the same search finds {control} of {len(secrets)}")
    if options.data.is_dir():
        document["sets"] = sets = of_sets(options.data, chosen)
        notes += [f"{name}: {told}" for name, told in sets.items()]
    if options.corpus.is_dir():
        document["real"] = real = of_real_texts(options.corpus, options.found)
        notes.append(
            f"real texts: {real['characters'] / 1e6:.1f} million characters, {real['found']} redactions "
            f"({real['per_100_kb'] * 10:.2f} for 1 MB), {real['mb_per_s']:.1f} MB/s"
        )
    document["detected"] = detected = by_shape(secrets)
    notes.append(f"texts with a secret in which one is found: {detected['ragmem']} of {len(secrets)}")
    if "detect_secrets" in detected:
        notes.append(
            f"detect-secrets {detected['version']}, default plugins: {detected['detect_secrets']} of "
            f"{len(secrets)}"
        )
    common.report(
        "secrets",
        document,
        ["way in", "memories", "marks in them", "files searched", "secrets found"],
        rows,
        options=options,
        notes=notes,
    )
    if any(way["found"] for way in document["ways"].values()):
        raise SystemExit(1)


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAGMEM_")}
    return {**kept, "HOME": str(folder), "RAGMEM_HOME": str(folder / "store"), "NO_COLOR": "1", **more}


def ragmem(environ: Mapping[str, str], *words: str, stdin: str = "") -> str:
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
    if done.returncode:
        raise SystemExit(f"ragmem {' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


Secrets = list[redaction_planted.Planted]


def seed(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    redaction_planted.notes(secrets, folder / ".claude/History/Sessions")
    redaction_planted.reflections(
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
    redaction_planted.transcripts(secrets, folder, repository)
    ragmem(environ, "seed", "--source", "transcripts")


def hooks(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    repository = folder / "repos/tide"
    repository.mkdir(parents=True)
    path = redaction_planted.transcripts(secrets, folder, repository)[0]
    said = {"session_id": path.stem, "transcript_path": str(path), "cwd": str(repository)}
    for event, more in (
        ("UserPromptSubmit", {"prompt": redaction_planted.told(secrets[0], 0)}),
        ("SessionEnd", {"reason": "other"}),
    ):
        ragmem(environ, "hook", event, stdin=json.dumps({**said, "hook_event_name": event, **more}))
    ragmem(environ, "ingest", "--drain")


def ingest(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    ragmem(environ, "ingest", str(redaction_planted.notes(secrets, folder / "notes")[0].parent))
    for number, secret in enumerate(secrets[:HANDED_IN]):
        ragmem(environ, "ingest", "-", stdin=redaction_planted.told(secret, number))


def files(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    """Hand in each text as it is, as a file of Markdown or plain text, and as lines of an output."""
    (folder / "files").mkdir()
    for number, secret in enumerate(secrets):
        (folder / f"files/quay-{number}.{('md', 'txt')[number % 2]}").write_text(secret.text)
    ragmem(environ, "ingest", str(folder / "files"))
    ragmem(environ, "ingest", "-", stdin="\n\n".join(one.text for one in secrets))


def inbox(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    lines = [json.dumps(redaction_planted.told(secret, number)) for number, secret in enumerate(secrets)]
    ragmem(environ, "ingest", "--buffer", "--jsonl", "-", stdin="\n".join(lines))
    waiting = leaked(secrets, folder / "store")
    if waiting:
        raise SystemExit(f"{len(waiting)} secrets wait in the inbox")
    ragmem(environ, "ingest", "--drain")


def http(secrets: Secrets, folder: Path, environ: Mapping[str, str]) -> None:
    port = "9741"
    folder.mkdir(exist_ok=True)
    ragmem(environ, "ingest", "-", stdin="The first note: quays are numbered from the north, since 2019.")
    server = subprocess.Popen(
        [sys.executable, "-m", "ragmem", "serve", "--port", port],
        env=dict(environ),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/health")
        key = next((folder / "store").rglob("serve.token")).read_text().strip()
        for number, secret in enumerate(secrets):
            body = json.dumps({"text": redaction_planted.told(secret, number)}).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/documents/text",
                data=body,
                headers={"Content-Type": "application/json", "X-API-Key": key},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                answer.read()
        time.sleep(2)
    finally:
        server.terminate()
        server.wait(30)


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
    ragmem(other, "ingest", str(redaction_planted.notes(secrets, folder / "notes")[0].parent))
    ragmem(other, "export", str(folder / "export.jsonl"))
    ragmem(environ, "import", str(folder / "export.jsonl"))


WAYS: dict[str, Callable[[Secrets, Path, Mapping[str, str]], None]] = {
    "seed": seed,
    "transcripts": transcripts,
    "hooks": hooks,
    "ingest": ingest,
    "files": files,
    "inbox": inbox,
    "http": http,
    "import": imported,
}


def measured(way: Callable[..., None], secrets: Secrets, folder: Path) -> dict[str, Any]:
    environ = environment(folder)
    way(secrets, folder, environ)
    store = folder / "store"
    ragmem(environ, "backup")
    found = leaked(secrets, store)
    with closing(sqlite3.connect(next(store.rglob("*.db")))) as connection:
        texts = [text for (text,) in connection.execute("SELECT text FROM memories")]
    return {
        "memories": len(texts),
        "marks": sum(text.count("[redacted: ") for text in texts),
        "files": sum(1 for path in store.rglob("*") if path.is_file()),
        "found": len(found),
        "where": found[:20],
    }


def of_sets(data: Path, ways: Iterable[str]) -> dict[str, str]:
    """Return for each set of shapes, and each way in, how many of its secrets are stored, and which."""
    told = {}
    for path in sorted(data.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        secrets = [
            redaction_planted.Planted(one["shape"], one["text"], tuple(one["core"])) for one in records
        ]
        for name in ways:
            with common.temporary_folder("redaction") as folder:
                common.tell(f"{path.stem} by {name}")
                environ = environment(folder)
                WAYS[name](secrets, folder, environ)
                parts = {part for part, _ in leaked(secrets, folder / "store")}
            kept = [one.shape for one in secrets if parts & set(one.parts)]
            told[f"{path.stem} by {name}"] = f"{len(kept)} of {len(secrets)} stored {', '.join(kept)}".strip()
    return told


def not_redacted(secrets: Secrets) -> int:
    """Return how many secrets the search finds in a home that keeps them: it must find them all."""
    with common.temporary_folder("redaction") as folder:
        environ = environment(folder, RAGMEM_SECRETS_REDACT="false")
        redaction_planted.notes(secrets, folder / "notes")
        ragmem(environ, "ingest", str(folder / "notes"))
        return len(
            {part for part, _ in leaked(secrets, folder / "store")}
            & {p for s in secrets for p in s.parts[:1]}
        )


def leaked(secrets: Secrets, store: Path) -> list[tuple[str, str]]:
    """Return the parts of secrets that stand in a file below a folder, with its name."""
    forms = {form: part for one in secrets for part in one.parts for form in forms_of(part)}
    found = set()
    for path in store.rglob("*"):
        if path.is_file():
            for content in contents_of(path):
                found |= {(forms[form], path.name) for form in forms if form in content}
    return sorted(found)


def forms_of(part: str) -> Iterator[bytes]:
    raw = part.encode()
    yield raw
    yield part.encode("utf-16-le")
    yield raw.hex().encode()
    yield urllib.parse.quote(part, safe="").encode()
    yield json.dumps(part)[1:-1].encode()
    for shift in range(3):
        # Without the letters that depend on what stands before and behind.
        encoded = base64.b64encode(b"\0" * shift + raw)
        inner = encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4]
        if len(inner) >= MIN_FORM:
            yield inner


def contents_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and what is compressed in it."""
    raw = path.read_bytes()
    yield raw
    if raw[:2] == b"\x1f\x8b":
        yield gzip.decompress(raw)
    if raw[:15] == b"SQLite format 3":
        with closing(sqlite3.connect(path)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    yield from unpacked(row)


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
