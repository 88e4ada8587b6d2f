"""Ask semble the questions of `code_search.py`, in an interpreter that has it; reads and writes JSON.

Its static model comes from a hub. Where it cannot be had, all vectors are equal and only BM25 counts.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from semble.index.create import create_index_from_path
from semble.index.dense import load_model
from semble.search import _search_bm25, search

DEPTH = 10


class NoModel:
    """Gives every text the same vector."""

    dim = 8

    def encode(self, texts, **_):
        """Return one row for each text."""
        return np.ones((len(texts), self.dim), dtype=np.float32)


def main():
    """Index each folder and answer its questions by BM25, by BM25 and ranking, and by all if possible."""
    try:
        model, alpha = load_model()[0], None
    except Exception as error:  # noqa: BLE001 - whatever the hub's client raises
        print(f"semble's model cannot be had: {error}", file=sys.stderr)
        model, alpha = NoModel(), 0.0
    systems = {"semble, BM25 alone": {}, "semble, BM25 and ranking": {}}
    if alpha is None:
        systems["semble, hybrid"] = {}
    for name, given in json.load(sys.stdin).items():
        root = Path(given["root"])
        started = time.process_time()
        words, vectors, chunks, _ = create_index_from_path(root, model, display_root=root)
        seconds = time.process_time() - started
        index = (model, vectors, words, chunks)
        for system, found in systems.items():
            found[name] = {
                "seconds": seconds,
                "answers": [timed(system, index, one) for one in given["questions"]],
            }
    json.dump(systems, sys.stdout)


def ask(system, index, question):
    """Return semble's results."""
    model, vectors, words, chunks = index
    if system == "semble, BM25 alone":
        return _search_bm25(question, words, chunks, DEPTH, None)
    weight = None if system == "semble, hybrid" else 0.0
    return search(question, model, vectors, words, chunks, DEPTH, weight)


def timed(system, index, question):
    """Return the places for a question that is asked a second time, and the CPU milliseconds."""
    ask(system, index, question)
    started = time.process_time()
    results = ask(system, index, question)
    took = (time.process_time() - started) * 1000
    return [(one.chunk.file_path, one.chunk.start_line, one.chunk.end_line) for one in results], took


if __name__ == "__main__":
    main()
