"""Serve the bundled model's vectors to other tools, in the form of OpenAI's embeddings, on the loopback."""

import argparse
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import common
import numpy as np  # noqa: F401 - every tool has it without the model, so it is not of what the model takes


def largest_mb() -> float:
    """Return the largest resident size of this process; that of getrusage has its parent's in it as well."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return common.peak_memory_mb()
    return int(re.findall(r"VmHWM:\s*(\d+)", status)[0]) / 1024


BEFORE = largest_mb()

from ragmem.backends.minilm import MODEL_ID, open_models  # noqa: E402


class Vectors:
    """The model, and what it was asked for; a question of one text waits for no other work but a batch."""

    def __init__(self, engine: str) -> None:
        self.embedder = open_models({"engine": engine}).embedder
        self.texts = 0
        self.seconds = 0.0
        self._lock = threading.Lock()

    def of(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors in the order of the texts."""
        with self._lock:
            started = time.perf_counter()
            found = self.embedder.embed(texts, role="document").tolist()
            self.seconds += time.perf_counter() - started
            self.texts += len(texts)
        return found


class Handler(BaseHTTPRequestHandler):
    """Answers POST /v1/embeddings; GET tells what was spent."""

    protocol_version = "HTTP/1.1"
    vectors: Vectors

    def do_POST(self) -> None:
        """Answer with the vectors of one text or of several."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        rows = [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(self.vectors.of(texts))
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._answer({"object": "list", "data": rows, "model": MODEL_ID, "usage": usage})

    def do_GET(self) -> None:
        """Answer with what was spent so far."""
        model = largest_mb() - BEFORE
        self._answer({"texts": self.vectors.texts, "seconds": self.vectors.seconds, "model_mb": model})

    def _answer(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        # In one piece: two small writes would wait for each other's acknowledgement.
        self.wfile.write(head.encode() + body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    Handler.vectors = Vectors(options.engine)
    Handler.vectors.of(["warm"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Until whoever started this closes its end.
    sys.stdin.read()


if __name__ == "__main__":
    main()
