"""The bundled model in a tool's own process: as a function, or behind a URL.

Run as a script, `peer_embeddings.py SCRIPT ARGUMENT...` runs a Python script and answers requests in the
form of OpenAI's embeddings beside it, on the loopback, by a thread of the same process.
"""

import json
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.minilm.embedder import MODEL_ID, MiniLmEmbedder

ADDRESS = "http://embeddings.invalid/v1"
"""Stands in the environment of a tool for the address, which is known when its process has started."""

_embedder = MiniLmEmbedder(engine=os.environ.get("RAGMEM_MODELS_ENGINE", "auto"))
_one_at_a_time = threading.Lock()


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors in the order of the texts; the first call loads the model."""
    with _one_at_a_time:
        # As the original model reads them: with all marks of Markdown, and no gloss.
        return _embedder._forward(texts)  # noqa: SLF001 - a user never needs it


class Handler(BaseHTTPRequestHandler):
    """Answers POST /v1/embeddings."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with the vectors of one text or of several."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        rows: list[dict[str, Any]] = [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(embed(texts).tolist())
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        body = json.dumps({"object": "list", "data": rows, "model": MODEL_ID, "usage": usage}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        # In one piece: two small writes would wait for each other's acknowledgement.
        self.wfile.write(head.encode() + body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    script = sys.argv[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    os.environ.update({name: value.replace(ADDRESS, address) for name, value in os.environ.items()})
    sys.argv = sys.argv[1:]
    # Behind what the tool has installed: a module of this folder must not stand for one of the same name.
    sys.path.append(sys.path.pop(0))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
