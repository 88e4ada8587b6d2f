"""The embedder: texts to token ids, spread over threads, to unit vectors, on the fastest engine here."""

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.engines import (
    Engine,
    local_candidates,
    must_measure,
    open_engine,
    processor_name,
)
from ragmem.backends.minilm.weights import WIDTH, WINDOW
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary
from ragmem.domain.text.gloss import in_english
from ragmem.errors import BackendError
from ragmem.heap import trim_heap
from ragmem.patterns import lazy
from ragmem.ports import Role

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

FILE = "minilm-engine.json"
LIBRARIES = {"numpy": "numpy", "onnx": "onnxruntime", "mlx": "mlx"}
"""The library of each engine; a new version is measured again."""

WORTH_TOKENS = 8192
"""Tokens of a call from which the engines are measured: about three seconds of work for the slowest."""
TURNS = 2

FOLDER = Path(__file__).parent
MODEL_ID = "all-MiniLM-L6-v2-int8-1"
"""Model, format of the weights, version of the file; the vectors of all engines are compatible."""

MOST_THREADS = 4
"""The default maximum; more threads wait for memory, not for a core."""

AS_IT_IS = 0.35
"""Weight of a text of another language beside its gloss, of weight 1: names and words that both languages
share. Of 0, 0.2, 0.35, 0.5 and 0.7 the best in recall@1 over seven languages (benchmarks/multilingual.py)."""

_MARKUP = lazy(r"[`*|\u2500-\u259f]|(?<![A-Za-z])#+|:?([-=_~])\1+:?")
"""Marks of Markdown, rules and box drawing; not marks in words, as in C# or snake_case."""

_HEADING = lazy(r"([^\n]+)\n+#{1,6} +([^\n]+?) *(?=\n)")
"""The path of headings above a chunk, and the heading that its text begins with."""

CACHED_QUERIES = 256
"""Vectors of questions in the cache: 400 KB."""


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 as shipped; satisfies ports.Embedder, safe to use from several threads.

    Nothing is loaded before the first text. A text is read up to 256 tokens, [CLS] and [SEP] included, some
    1,000 characters of English; the rest does not change its vector. NUL, lone surrogates and control
    characters are skipped; an empty text has a vector like any other.
    """

    model_id = MODEL_ID
    dimensions = WIDTH
    window = WINDOW - 2
    """Tokens of a text that are read, as `count_tokens` counts them."""

    def __init__(
        self,
        *,
        engine: str = "auto",
        threads: int = 0,
        folder: Path = FOLDER,
        cache: Path | None = None,
    ) -> None:
        """Choose an engine by name; 0 threads is one per core, at most 4. `folder` holds the weights.

        With "auto" and a `cache` folder, the first large call measures the engines and stores the fastest
        there, unless the processor's flags decide; before that, and without the folder, they always do.
        """
        self._engine_name = engine
        self.folder = folder
        self._cache = cache
        self._measured = engine != "auto" or cache is None
        self._threads = threads or min(available_cores(), MOST_THREADS)
        self._loading = threading.Lock()
        self._engine: Engine | None = None
        self._tokenizer: WordPiece | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._queries: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._queries_lock = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._engine is not None

    @property
    def engine(self) -> str:
        """Name of the engine that runs here: "numpy", "onnx" or "mlx"; loads it."""
        return self._open_engine().id

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return float32 (n, 384), rows of unit length, in the order of the texts; no texts give (0, 384).

        The role matters only for the cache of questions. A text's vector does not depend on the other texts
        (numpy and mlx: to 1e-6; onnx: bit for bit). Raise BackendError when the
        weights are missing or damaged, or the engine is not installed.
        """
        np = import_numpy()
        if not texts:
            return np.empty((0, WIDTH), np.float32)  # type: ignore[no-any-return]
        if role == "query" and len(texts) == 1:
            return self._embed_query(texts[0])
        return self._embed(texts)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of the whole text, without [CLS] and [SEP]; up to `window` are read."""
        return len(self._open_tokenizer().pieces(strip_markup(text)))

    def can_read(self, text: str) -> bool:
        """Return whether most tokens of a text are in the vocabulary: in Thai or Tamil, none is."""
        tokenizer = self._open_tokenizer()
        pieces = tokenizer.pieces(strip_markup(in_english(text)))
        return 2 * pieces.count(tokenizer.unknown) <= len(pieces)

    def close(self) -> None:
        """Free the model and end the threads; the next text would load it again."""
        with self._loading:
            pool, self._pool, self._engine, self._tokenizer = self._pool, None, None, None
        if pool is not None:
            pool.shutdown()
        with self._queries_lock:
            self._queries.clear()

    def _embed_query(self, text: str) -> "NDArray[np.float32]":
        with self._queries_lock:
            vector = self._queries.get(text)
            if vector is not None:
                self._queries.move_to_end(text)
                return vector.copy()
        vector = self._embed([text])
        with self._queries_lock:
            self._queries[text] = vector.copy()
            if len(self._queries) > CACHED_QUERIES:
                self._queries.popitem(last=False)
        return vector

    def _embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return unit vectors (n, 384); a text in another language counts by its gloss and as it is."""
        glosses = [in_english(text) for text in texts]
        foreign = [place for place, text in enumerate(texts) if glosses[place] is not text]
        vectors = self._forward([strip_markup(text) for text in (*glosses, *(texts[n] for n in foreign))])
        if not foreign:
            return vectors
        np = import_numpy()
        mixed = vectors[foreign] + np.float32(AS_IT_IS) * vectors[len(texts) :]
        vectors[foreign] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        return vectors[: len(texts)].copy()

    def _forward(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        engine, tokenizer = self._open_engine(), self._open_tokenizer()
        np = import_numpy()
        sequences = [tokenizer.encode(text, limit=WINDOW) for text in texts]
        if not self._measured and sum(map(len, sequences)) >= WORTH_TOKENS:
            engine = self._choose_engine(sequences)
            trim_heap()
        batches = batch(list(map(len, sequences)), tokens=engine.batch_tokens, least=self._threads)
        vectors = np.empty((len(texts), WIDTH), np.float32)

        def work(places: Sequence[int]) -> None:
            vectors[places] = engine.forward([sequences[place] for place in places])

        if self._threads == 1 or len(batches) == 1:
            for places in batches:
                work(places)
        else:
            for _ in self._open_pool().map(work, batches):
                pass
        return vectors  # type: ignore[no-any-return]

    def _open_engine(self) -> Engine:
        with self._loading:
            if self._engine is None:
                first = None
                if self._engine_name == "auto" and self._cache is not None:
                    engines = local_candidates()
                    self._measured = not must_measure(engines)
                    if not self._measured:
                        key = machine_key(engines, processor=processor_name())
                        first = recall_engine(self._cache, key)
                        self._measured = first is not None
                self._engine = open_engine(self._engine_name, self.folder, first=first)
            return self._engine

    def _choose_engine(self, sequences: Sequence[Sequence[int]]) -> Engine:
        """Measure the candidates on these sequences, store the fastest, and use it."""
        current = self._open_engine()
        with self._loading:
            if self._measured or self._cache is None:
                return self._engine or current
            names = local_candidates()
            engines = {current.id: current}
            for name in names:
                if name not in engines:
                    with suppress(BackendError):  # installed, but it does not load: no candidate
                        engines[name] = open_engine(name, self.folder)
            speeds = measure(list(engines.values()), sequences, threads=self._threads)
            remember_engine(self._cache, machine_key(names, processor=processor_name()), speeds)
            self._measured = True
            self._engine = engines[max(speeds, key=lambda name: speeds[name])]
            return self._engine

    def _open_tokenizer(self) -> WordPiece:
        with self._loading:
            if self._tokenizer is None:
                self._tokenizer = WordPiece(read_vocabulary(self.folder / "vocab.txt"))
            return self._tokenizer

    def _open_pool(self) -> "ThreadPoolExecutor":
        from concurrent.futures import ThreadPoolExecutor  # 9 ms, and a single question needs no pool

        with self._loading:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="minilm")
            return self._pool


def strip_markup(text: str) -> str:
    """Return a text without the marks that say how it looks; a text of nothing else stays as it is.

    Each mark is a token of its own: in notes they are an eighth of all tokens and do not help to find a note
    (benchmarks/retrieval.py). A heading that repeats the end of the path above it is left out as well.
    """
    heading = _HEADING.match(text)
    if heading and heading[1].endswith(heading[2]):
        text = heading[1] + text[heading.end() :]
    stripped = _MARKUP.sub(" ", text)
    return text if stripped.isspace() else stripped


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def batch(lengths: Sequence[int], *, tokens: int, least: int) -> list[list[int]]:
    """Return the indices of the sequences in batches, longest first, each of about `tokens` tokens.

    Each of `least` threads gets the same number of batches of about the same size. Longest first, so that no
    thread starts the largest batch last, and so that a batch's sequences have similar lengths.
    """
    total = sum(lengths)
    rounds = max(1, -(-total // (tokens * least)))
    target = -(-total // (rounds * least))
    batches: list[list[int]] = []
    filled = target
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if filled >= target:
            batches.append([])
            filled = 0
        batches[-1].append(place)
        filled += lengths[place]
    return batches


def machine_key(engines: Sequence[str], *, processor: str) -> dict[str, str]:
    """Return the key of a measurement: the processor and the versions of the engines' libraries."""
    return {"processor": processor} | {LIBRARIES[name]: _version(LIBRARIES[name]) for name in engines}


def recall_engine(cache: Path, key: Mapping[str, str]) -> str | None:
    """Return the fastest engine under this key, or None."""
    try:
        stored = json.loads((cache / FILE).read_text(encoding="utf-8"))
        known = stored["key"] == key and stored["engine"] in stored["tokens_per_second"]
        return str(stored["engine"]) if known else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember_engine(cache: Path, key: Mapping[str, str], speeds: Mapping[str, float]) -> None:
    """Store the fastest engine under this key; nothing happens if the folder is not writable."""
    document = {
        "key": key,
        "engine": max(speeds, key=lambda name: speeds[name]),
        "tokens_per_second": {name: round(speed) for name, speed in speeds.items()},
    }
    unfinished = cache / f"{FILE}.{os.getpid()}"
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
        unfinished.replace(cache / FILE)
    except OSError:  # read-only, or full: the next process measures again
        with suppress(OSError):
            unfinished.unlink()


def measure(
    engines: Sequence["Engine"], sequences: Sequence[Sequence[int]], *, threads: int
) -> dict[str, float]:
    """Return the speed of each engine in tokens per second; each gets a batch of its size.

    An engine that fails is left out; raises BackendError if all fail.
    """
    samples = {engine.id: _sample(sequences, engine.batch_tokens) for engine in engines}
    working = []
    failure = BackendError("there is no engine to measure")
    for engine in engines:
        try:  # the first run of a library makes its own work space
            engine.forward(samples[engine.id][:1])
            working.append(engine)
        except BackendError as error:
            failure = error
    if not working:
        raise failure
    best = {engine.id: 0.0 for engine in working}
    for _ in range(TURNS):
        for engine in working:
            sample = samples[engine.id]
            started = time.perf_counter()
            engine.forward(sample)
            speed = sum(map(len, sample)) / (time.perf_counter() - started)
            # MLX has one device; the other engines run in each thread.
            best[engine.id] = max(best[engine.id], speed * (1 if engine.id == "mlx" else threads))
    return best


def _sample(sequences: Sequence[Sequence[int]], tokens: int) -> list[Sequence[int]]:
    sample: list[Sequence[int]] = []
    for sequence in sequences:
        sample.append(sequence)
        if sum(map(len, sample)) >= tokens:
            break
    return sample


def _version(library: str) -> str:
    """Return the version of an installed library by the name of its metadata, without importing anything."""
    spec = find_spec(library)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place).parent
        with suppress(OSError):
            found = [path.name for path in folder.glob(f"{library}-*.dist-info")]
            if found:
                return min(found).removesuffix(".dist-info").partition("-")[2]
    return "unknown"
