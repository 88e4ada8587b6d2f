"""The tools: their requirements, their isolated environments, and their commands."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import common
from measures.command_runs import write_source
from peer_workers.peer_embeddings import ADDRESS

LIMIT = 20
"""Hits that each tool is asked for; a file counts once, at its best hit."""

ENGINE = "onnx"
"""What computes the bundled model in every tool, ours too, which would else choose by the processor."""

NO_NETWORK = "http://127.0.0.1:9"
"""A proxy that is not there."""

HERE = Path(__file__).resolve().parents[1]

Environ = dict[str, str]
Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tool works: its home and its own copy of the notes."""

    folder: Path

    @property
    def home(self) -> Path:
        """What the tool keeps."""
        return self.folder / "home"

    @property
    def notes(self) -> Path:
        """What it reads."""
        return self.folder / "notes"


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool. Without `ingest`, `cold` or `more` its worker does that, for want of a command that could.

    `first` is a command that stores all notes so far that they are found; `served` says that the tool asks an
    address for its vectors, which a thread of its process answers.
    """

    name: str
    version: str
    requirements: tuple[str, ...]
    worker: str
    environ: Callable[[Place], Environ]
    ingest: Callable[[Place], list[str]] | None = None
    cold: Callable[[str], list[str]] | None = None
    first: Callable[[Place], list[str]] | None = None
    more: Callable[[Path], list[str]] | None = None
    script: str = ""
    served: bool = False
    minimum: tuple[int, int] = (3, 11)
    loads_extension: bool = False
    good: tuple[int, ...] = (0,)

    def work(self, python: Path, place: Place) -> list[str]:
        """Return the command of the worker."""
        return [str(python), *self._serving(), str(HERE / self.worker), str(place.home)]

    def ingest_command(self, python: Path, place: Place) -> tuple[list[str], Request | None]:
        """Return the command that stores all notes, and the line that it reads."""
        if self.ingest is None:
            return self.work(python, place), {"do": "ingest", "folder": str(place.notes)}
        return [*self._program(python), *self.ingest(place)], None

    def first_command(self, python: Path, place: Place) -> tuple[list[str], Request | None]:
        """Return the command of `first`, and nothing to read."""
        assert self.first is not None
        return [*self._program(python), *self.first(place)], None

    def cold_command(self, python: Path, place: Place, text: str) -> tuple[list[str], Request | None]:
        """Return the command that answers one question in a new process, and the line that it reads."""
        if self.cold is None:
            return self.work(python, place), {"do": "ask", "text": text, "limit": LIMIT}
        return [*self._program(python), *self.cold(text)], None

    def more_command(
        self, python: Path, place: Place, name: str, text: str
    ) -> tuple[list[str], Request | None]:
        """Return the command that stores one more text in a new process, and the line that it reads."""
        if self.more is None:
            return self.work(python, place), {"do": "insert", "name": name, "text": text}
        path = place.folder / name
        path.write_text(text, encoding="utf-8")
        return [*self._program(python), *self.more(path)], None

    def environment(self, place: Place) -> Environ:
        """Return all variables of the tool's processes."""
        return {**_isolated(place), **self.environ(place)}

    def _program(self, python: Path) -> list[str]:
        if not self.script:
            return [str(python), "-m", self.name]
        return [str(python), *self._serving(), str(python.parent / self.script)]

    def _serving(self) -> list[str]:
        return [str(HERE / "peer_workers/peer_embeddings.py")] if self.served else []


def _isolated(place: Place) -> Environ:
    """Return an environment with a home of its own, without keys, telemetry or a way out."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "HOME": str(place.home),
        "USERPROFILE": str(place.home),
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
        "HTTP_PROXY": NO_NETWORK,
        "HTTPS_PROXY": NO_NETWORK,
        "http_proxy": NO_NETWORK,
        "https_proxy": NO_NETWORK,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        # For the bundled model: the package of the tree that this script belongs to, one engine for all.
        "PYTHONPATH": str(common.REPOSITORY),
        "RAGMEM_MODELS_ENGINE": ENGINE,
    }


def _seed(place: Place) -> list[str]:
    sources = write_source(place.folder / "sources.toml", place.notes)
    return ["seed", "--json", "--quiet", "--sources", str(sources)]


def _ragmem(place: Place) -> Environ:
    return {"RAGMEM_HOME": str(place.home)}


def _mempalace(place: Place) -> Environ:
    return {
        "MEMPALACE_CONFIG_DIR": str(place.home),
        "MEMPALACE_PALACE_PATH": str(place.home / "palace"),
        "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
        "MEMPALACE_EMBEDDING_API_URL": ADDRESS,
        "MEMPALACE_EMBEDDING_API_MODEL": "minilm",
    }


def _mcp_memory(place: Place) -> Environ:
    return {
        "MCP_MEMORY_BASE_DIR": str(place.home),
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_EXTERNAL_EMBEDDING_URL": f"{ADDRESS}/embeddings",
        "MCP_EXTERNAL_EMBEDDING_MODEL": "minilm",
    }


def _basic_memory(place: Place) -> Environ:
    return {
        "BASIC_MEMORY_CONFIG_DIR": str(place.home),
        "BASIC_MEMORY_HOME": str(place.notes),
        "BASIC_MEMORY_AUTO_UPDATE": "false",
        "BASIC_MEMORY_NO_PROMOS": "1",
        "BASIC_MEMORY_LOG_LEVEL": "WARNING",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_PROVIDER": "litellm",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "openai/minilm",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": "384",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_API_BASE": ADDRESS,
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_API_KEY": "none",
        # Its floor of 0.55 is meant for another model, whose cosines are higher: here it hides answers.
        "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0",
        "OPENAI_API_KEY": "none",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _none(_: Place) -> Environ:
    return {}


OURS = Peer(
    "ragmem",
    "",
    (),
    "peer_workers/worker_ragmem.py",
    _ragmem,
    ingest=_seed,
    first=lambda place: [*_seed(place), "--no-wait"],
    cold=lambda text: ["query", "--json", "--all", "--limit", str(LIMIT), "--", text],
    more=lambda path: ["ingest", "--json", "--quiet", str(path)],
    # 1: nothing found; 3: some sources could not be read.
    good=(0, 1, 3),
)

PEERS = (
    Peer("lightrag", "1.5.7", ("lightrag-hku==1.5.7",), "peer_workers/worker_lightrag.py", _none),
    Peer("chromadb", "1.5.9", ("chromadb==1.5.9",), "peer_workers/worker_chromadb.py", _none),
    Peer("lancedb", "0.40.0", ("lancedb==0.40.0",), "peer_workers/worker_lancedb.py", _none),
    Peer(
        "sqlite-vec",
        "0.1.9",
        ("sqlite-vec==0.1.9",),
        "peer_workers/worker_sqlite_vec.py",
        _none,
        loads_extension=True,
    ),
    Peer(
        "mempalace",
        "3.11.0",
        ("mempalace==3.11.0",),
        "peer_workers/worker_mempalace.py",
        _mempalace,
        ingest=lambda place: ["mine", str(place.notes)],
        cold=lambda text: ["search", text, "--results", str(LIMIT)],
        script="mempalace",
        served=True,
    ),
    Peer(
        "basic-memory",
        "0.23.2",
        ("basic-memory==0.23.2",),
        "peer_workers/worker_basic_memory.py",
        _basic_memory,
        ingest=lambda place: ["reindex"],  # noqa: ARG005
        cold=lambda text: ["tool", "search-notes", text, "--json", "--page-size", str(LIMIT)],
        script="basic-memory",
        served=True,
        minimum=(3, 12),
        loads_extension=True,
    ),
    Peer(
        "mcp-memory-service",
        "12.1.1",
        ("mcp-memory-service[sqlite]==12.1.1",),
        "peer_workers/worker_mcp_memory.py",
        _mcp_memory,
        ingest=lambda place: ["ingest-directory", str(place.notes), "--max-files", "1000000"],
        script="memory",
        served=True,
        loads_extension=True,
    ),
)


def interpreter_of_this_run() -> Path:
    """Return the interpreter that ours runs on."""
    return Path(sys.executable)


def ours_with(about: Mapping[str, str]) -> Peer:
    """Return our own tool with its version."""
    return replace(OURS, version=about["ragmem"])
