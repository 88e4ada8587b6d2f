"""Make the stores in tests/data/imports with the real tools, where they are installed.

    python scripts/make_import_fixtures.py PREFIX [TOOL ...]

The environment of a tool is the folder PREFIX + its name, for example /tmp/env_mem0. It is made by

    python3 -m venv PREFIXmem0 && PREFIXmem0/bin/pip install mem0ai
    python3 -m venv PREFIXmcp-memory-service && PREFIXmcp-memory-service/bin/pip install mcp-memory-service
    python3 -m venv PREFIXmempalace && PREFIXmempalace/bin/pip install mempalace
    python3.12 -m venv PREFIXbasic-memory && PREFIXbasic-memory/bin/pip install basic-memory
    mkdir PREFIXnpm && cd PREFIXnpm && npm install --ignore-scripts opencode-ai bun
    mkdir PREFIXclaude-mem && cd PREFIXclaude-mem && npm pack claude-mem && tar xzf claude-mem-*.tgz

A tool that is missing is passed over. The stores of Cursor, ChatGPT and claude.ai are written by
tests/support/foreign_stores.py after what their exports hold.
"""

import argparse
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "tests" / "data" / "imports"

BEGAN = 1_772_000_000
"""25 February 2026, in seconds; each text is a day later than the one before."""

DAY = 86_400

FACTS = (
    (
        "harbour",
        "decision",
        "Tide tables are stored in UTC, because a fixed offset survives the summer time.",
    ),
    (
        "harbour",
        "error",
        "The departures board crashed when a berth had no name; an empty name is shown as a dash.",
    ),
    ("lighthouse", "research", "Lamps of the lighthouse last 9,000 hours according to three years of logs."),
)
QUESTION = "Why do the tide tables jump by an hour in March?"
ANSWER = (
    "The reader takes local time for UTC, so the change to summer time moves every table by an hour."
    " I store a fixed offset with each table and convert it once, when it is imported."
)

MEM0 = """
import sys
from importlib.metadata import version
from mem0.memory.storage import SQLiteManager
facts, path = json.loads(sys.argv[1]), sys.argv[2]
history = SQLiteManager(path)
days = ("2026-02-25T06:13:20+00:00", "2026-02-26T06:13:20+00:00", "2026-02-27T06:13:20+00:00")
for number, (_, _, text) in enumerate(facts):
    key = f"0b9f6f2e-0000-4000-8000-00000000000{number}"
    history.add_history(key, None, text, "ADD", created_at=days[number], updated_at=days[number])
key = "0b9f6f2e-0000-4000-8000-000000000002"
history.add_history(key, facts[2][2], "Lamps last 9,500 hours.", "UPDATE",
    created_at=days[2], updated_at=days[2])
gone = "0b9f6f2e-0000-4000-8000-000000000009"
history.add_history(gone, None, "Ana is on leave.", "ADD", created_at=days[0], updated_at=days[0])
history.add_history(gone, "Ana is on leave.", None, "DELETE",
    created_at=days[0], updated_at=days[1], is_deleted=1)
history.close()
print(version("mem0ai"))
"""

MCP = """
import asyncio, os, sys
os.environ["MCP_MEMORY_ALLOW_HASH_EMBEDDINGS"] = "1"
from importlib.metadata import version
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.utils.hashing import generate_content_hash
async def main(facts, path, began):
    storage = SqliteVecMemoryStorage(path)
    await storage.initialize()
    for number, (project, kind, text) in enumerate(facts):
        await storage.store(Memory(content=text, content_hash=generate_content_hash(text),
            tags=[f"project:{project}", "notes"], memory_type=kind, created_at=began + number * 86400.0))
    gone = "Ana is on leave."
    await storage.store(Memory(content=gone, content_hash=generate_content_hash(gone), tags=["x"]))
    await storage.delete(generate_content_hash(gone))
    await storage.close()
asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
print(version("mcp-memory-service"))
"""

MEMPALACE = """
import sys
from importlib.metadata import version
from pathlib import Path
import chromadb
from chromadb.config import Settings
from mempalace import miner
from mempalace.knowledge_graph import KnowledgeGraph
facts, folder = json.loads(sys.argv[1]), sys.argv[2]
client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
drawers = client.get_or_create_collection("mempalace_drawers", embedding_function=None)
class Collection:  # the palace's own needs a model, of which nothing is imported
    def upsert(self, documents, ids, metadatas):
        for one in metadatas:
            one["content_date"] = f"2026-02-{25 + one['chunk_index']}"
        drawers.upsert(documents=documents, ids=ids, metadatas=metadatas, embeddings=[[0.5, 0.5]] * len(ids))
for number, (project, kind, text) in enumerate(facts):
    miner.add_drawer(Collection(), project, kind, text, "/work/notes.md", number, "miner")
graph = KnowledgeGraph(str(Path(folder, "knowledge_graph.sqlite3")))
graph.add_triple("Ana", "works_on", "harbour", valid_from="2026-02-25")
graph.add_triple("Ana", "lives_in", "Porto", valid_from="2025-02-25", valid_to="2026-01-01")
graph.close()
print(version("mempalace"))
"""


def main() -> int:
    """Make the fixtures of the tools that are installed; print the version of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("prefix")
    parser.add_argument("tool", nargs="*", default=list(MAKERS))
    given = parser.parse_args()
    TARGET.mkdir(parents=True, exist_ok=True)
    for tool in given.tool:
        with tempfile.TemporaryDirectory() as folder:
            try:
                version = MAKERS[tool](given.prefix, Path(folder))
            except FileNotFoundError as error:
                print(f"{tool}: not installed: {error.filename}")
            else:
                print(f"{tool}: {version}")
    return 0


def _run_python(program: str, environment: Path, *arguments: str, interpreter: str = "") -> str:
    """Run a program with the packages of an environment; return the last line of its output."""
    (packages,) = environment.glob("lib/python*/site-packages")
    variables = {**os.environ, "PYTHONPATH": str(packages), "ANONYMIZED_TELEMETRY": "False"}
    command = [
        interpreter or str(environment / "bin" / "python"),
        "-c",
        f"import json\n{program}",
        json.dumps(FACTS),
        *arguments,
    ]
    done = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1]


def _require(path: Path) -> Path:
    path.stat()
    return path


def _store(database: Path, name: str) -> None:
    """Write a database as one compressed file, with its log taken in."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("VACUUM")
    connection.close()
    (TARGET / name).write_bytes(gzip.compress(database.read_bytes(), mtime=0))


def _mem0(prefix: str, folder: Path) -> str:
    version = _run_python(MEM0, _require(Path(f"{prefix}mem0")), str(folder / "history.db"))
    _store(folder / "history.db", "mem0-history.db.gz")
    return version


def _mcp_memory_service(prefix: str, folder: Path) -> str:
    environment = _require(Path(f"{prefix}mcp-memory-service"))
    # The SQLite of the system's interpreter loads the extension with which vectors are stored.
    version = _run_python(
        MCP, environment, str(folder / "sqlite_vec.db"), str(BEGAN), interpreter="/usr/bin/python3"
    )
    _store(folder / "sqlite_vec.db", "mcp-memory-service.db.gz")
    return version


def _mempalace(prefix: str, folder: Path) -> str:
    version = _run_python(MEMPALACE, _require(Path(f"{prefix}mempalace")), str(folder))
    _store(folder / "chroma.sqlite3", "mempalace-chroma.db.gz")
    _store(folder / "knowledge_graph.sqlite3", "mempalace-graph.db.gz")
    return version


NOTE = """# Tide tables

How the tables are stored.

## Observations
- [decision] Tables are stored in UTC #time (seen in March)
- [decision] One reader for all ports

## Relations
- implements [[Port calendar]]
"""


def _basic_memory(prefix: str, folder: Path) -> str:
    environment = _require(Path(f"{prefix}basic-memory"))
    program = environment / "bin" / "basic-memory"
    command = [
        program,
        "tool",
        "write-note",
        "--title",
        "Tide tables",
        "--folder",
        "tides",
        "--tags",
        "tides",
    ]
    variables = {**os.environ, "HOME": str(folder)}
    subprocess.run(
        list(map(str, command)), env=variables, input=NOTE, check=True, capture_output=True, text=True
    )
    (note,) = (folder / "basic-memory").rglob("*.md")
    (TARGET / "basic-memory-note.md").write_bytes(note.read_bytes())
    (metadata,) = environment.glob("lib/python*/site-packages/basic_memory-*.dist-info")
    return metadata.name.removesuffix(".dist-info").partition("-")[2]


def _claude_mem(prefix: str, folder: Path) -> str:
    """Start claude-mem's worker, and let it import sessions as its own export has them."""
    package = _require(Path(f"{prefix}claude-mem", "package"))
    (bun,) = Path(f"{prefix}npm", "node_modules", "@oven").glob("bun-*/bin/bun")
    port = "37991"
    environment = {
        **os.environ,
        "HOME": str(folder),
        "CLAUDE_MEM_DATA_DIR": str(folder / "data"),
        "CLAUDE_MEM_WORKER_PORT": port,
        "CLAUDE_MEM_CHROMA_ENABLED": "false",
    }
    worker = subprocess.Popen(
        [bun, package / "plugin" / "scripts" / "worker-service.cjs", "--daemon"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}/api/import"
        request = urllib.request.Request(
            address, json.dumps(_claude_mem_export()).encode(), {"Content-Type": "application/json"}
        )
        _send(request, tries=60)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(20)
    _store(folder / "data" / "claude-mem.db", "claude-mem.db.gz")
    return str(json.loads((package / "package.json").read_text())["version"])


def _send(request: urllib.request.Request, *, tries: int) -> None:
    for left in reversed(range(tries)):
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                print(answer.read().decode()[:300], file=sys.stderr)
        except OSError:
            if not left:
                raise
            time.sleep(0.5)
        else:
            return


def _claude_mem_export() -> dict[str, object]:
    session = {
        "memory_session_id": "7d0c1f9a-tides",
        "content_session_id": "c-7d0c1f9a",
        "project": "harbour",
    }
    at = {"created_at": "2026-02-25T06:13:20.000Z", "created_at_epoch": BEGAN * 1000}
    sorts = {"decision": "decision", "error": "bugfix", "research": "discovery"}
    observations = [
        {
            "memory_session_id": session["memory_session_id"],
            "project": project,
            "type": sorts[kind],
            "title": text.partition(",")[0].partition(";")[0],
            "subtitle": "",
            "facts": json.dumps([text]),
            "narrative": f"Seen while the tables were imported. {text}",
            "concepts": json.dumps(["how-it-works"]),
            "files_read": "[]",
            "files_modified": json.dumps(["src/tides.py"]),
            "prompt_number": 1,
            "created_at": f"2026-02-{25 + number}T06:13:20.000Z",
            "created_at_epoch": (BEGAN + number * DAY) * 1000,
        }
        for number, (project, kind, text) in enumerate(FACTS)
    ]
    summary = {
        "request": QUESTION,
        "investigated": "The reader of the tide tables.",
        "learned": ANSWER,
        "completed": "A fixed offset is stored with each table.",
        "next_steps": "Import the tables of last year again.",
    }
    return {
        "sessions": [
            {
                **session,
                "user_prompt": QUESTION,
                "started_at": at["created_at"],
                "started_at_epoch": at["created_at_epoch"],
                "status": "completed",
            }
        ],
        "observations": observations,
        "summaries": [
            {"memory_session_id": session["memory_session_id"], "project": "harbour", **summary, **at}
        ],
        "prompts": [
            {
                "content_session_id": session["content_session_id"],
                "prompt_number": 1,
                "prompt_text": QUESTION,
                **at,
            }
        ],
    }


def _opencode(prefix: str, folder: Path) -> str:
    """Let OpenCode import a session as its own export has it."""
    modules = _require(Path(f"{prefix}npm", "node_modules"))
    program = next(modules.glob("opencode-linux-*/bin/opencode"))
    (folder / "session.json").write_text(json.dumps(_opencode_export()))
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "share")}
    subprocess.run(
        [program, "import", "session.json"], cwd=folder, env=environment, check=True, capture_output=True
    )
    database = folder / "share" / "opencode" / "opencode.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        # It takes the folder in which the import runs.
        connection.execute("UPDATE session SET directory = '/work/harbour', path = 'work/harbour'")
    _store(database, "opencode.db.gz")
    return str(json.loads((modules / "opencode-ai" / "package.json").read_text())["version"])


def _opencode_export() -> dict[str, object]:
    session, asked, answered = "ses_tides1", "msg_tides1", "msg_tides2"
    began = BEGAN * 1000
    of_session: dict[str, object] = {"sessionID": session, "agent": "build"}
    model: dict[str, object] = {"providerID": "example", "modelID": "example-1"}
    tokens = {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    return {
        "info": {
            "id": session,
            "slug": "tides",
            "projectID": "global",
            "directory": "/work/harbour",
            "title": "Tide tables",
            "version": "1",
            "time": {"created": began, "updated": began + 5000},
        },
        "messages": [
            {
                "info": of_session
                | {"id": asked, "role": "user", "time": {"created": began}, "model": model},
                "parts": [
                    {
                        "id": "prt_1",
                        "sessionID": session,
                        "messageID": asked,
                        "type": "text",
                        "text": QUESTION,
                    }
                ],
            },
            {
                "info": of_session
                | model
                | {
                    "id": answered,
                    "role": "assistant",
                    "parentID": asked,
                    "mode": "build",
                    "path": {"cwd": "/work/harbour", "root": "/"},
                    "cost": 0,
                    "tokens": tokens,
                    "time": {"created": began + 1000, "completed": began + 5000},
                },
                "parts": [
                    {
                        "id": "prt_2",
                        "sessionID": session,
                        "messageID": answered,
                        "type": "text",
                        "text": ANSWER,
                    }
                ],
            },
        ],
    }


MAKERS: dict[str, Callable[[str, Path], str]] = {
    "mem0": _mem0,
    "basic-memory": _basic_memory,
    "mcp-memory-service": _mcp_memory_service,
    "mempalace": _mempalace,
    "claude-mem": _claude_mem,
    "opencode": _opencode,
}

if __name__ == "__main__":
    sys.exit(main())
