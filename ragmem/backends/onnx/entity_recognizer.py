"""A GLiNER model on onnxruntime: it reads labels and a text together and scores the spans of the text.

Zaratiana et al.: GLiNER, Generalist Model for Named Entity Recognition using Bidirectional Transformer, 2024.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.model_folder import (
    FETCH,
    find_folder,
    find_tokenizer,
    fingerprint,
    is_count,
    make_model_id,
    model_name,
    read_json_file,
)
from ragmem.backends.onnx.description import GLINER_CONFIG, Graph, describe_graph
from ragmem.backends.onnx.options import OnnxOptions, read_options
from ragmem.backends.onnx.session import Resident, Session
from ragmem.backends.onnx.variants import split_model
from ragmem.backends.tokens import load_tokenizer
from ragmem.errors import BackendError
from ragmem.patterns import lazy
from ragmem.ports import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORM = 1
"""Part of every model id; raise it when texts become spans in another way."""

_OF_WORDS = ("input_ids", "attention_mask", "words_mask", "text_lengths")
_OF_SPANS = ("span_idx", "span_mask")
"""The inputs of each export, and those of models that score spans instead of the words at their ends."""

_WORD = lazy(r"\w+(?:[-_]\w+)*|\S")
"""The words of GLiNER's splitter "whitespace". A run of letters without blanks is one, also in Chinese."""

_HINT = "choose a GLiNER model with an ONNX file, such as onnx-community/gliner_small-v2.1"


@dataclass(frozen=True, slots=True)
class _Description:
    """A model with what its gliner_config.json says."""

    graph: Graph
    words: int
    """Words that are read at a time."""
    width: int
    """Words of the longest span."""
    marks: tuple[str, str]
    """The tokens before each label and behind the last one."""
    model_id: str


class OnnxEntityRecognizer:
    """Names in texts; satisfies ports.EntityRecognizer, safe in several threads. Loads on first use.

    Each text is computed alone, so that no other text changes its scores.
    """

    def __init__(self, model: _Description, options: OnnxOptions) -> None:
        self._model, self._graph = model, model.graph
        self._by_span = _OF_SPANS[0] in model.graph.header.inputs
        self._opening = threading.Lock()
        self._tokenizer: Any = None
        self._session = Resident(lambda: Session(model.graph, options), idle_s=options.idle_s)

    @property
    def model_id(self) -> str:
        """Name of the model, and a hash of its files."""
        return self._model.model_id

    def recognize(self, texts: Sequence[str], labels: Sequence[str], *, threshold: float) -> list[list[Span]]:
        """Return the spans of each text that score above the threshold and do not overlap, in their order."""
        found: list[list[Span]] = [[] for _ in texts]
        tokenizer, session = self._load_tokenizer(), self._session.get()

        def work(places: Sequence[int]) -> None:
            for place in places:
                found[place] = self._recognize(session, tokenizer, texts[place], labels, threshold)

        session.map(work, [[place] for place in range(len(texts))])
        return found

    def close(self) -> None:
        """Free the model; the next text would load it again."""
        self._session.free()
        with self._opening:
            self._tokenizer = None

    def _load_tokenizer(self) -> Any:
        with self._opening:
            if self._tokenizer is None:
                tokenizer = load_tokenizer(self._graph.folder, extra="onnx")
                # The marks are special tokens; no word of a text is one, because its signs are words.
                tokenizer.encode_special_tokens = False
                tokenizer.enable_truncation(self._graph.window)  # a word may have thousands of letters
                if None in map(tokenizer.token_to_id, self._model.marks):
                    raise BackendError(
                        f'the tokenizer of "{self._graph.folder}" is another model\'s', hint=FETCH
                    )
                self._tokenizer = tokenizer
            return self._tokenizer

    def _recognize(
        self, session: Session, tokenizer: Any, text: str, labels: Sequence[str], threshold: float
    ) -> list[Span]:
        text = text.encode("utf-8", "replace").decode()  # lone surrogates, which the library refuses
        words = [found.span() for found in _WORD.finditer(text)]
        encoded = tokenizer.encode_batch(
            [[text[start:end]] for start, end in words], is_pretokenized=True, add_special_tokens=False
        )
        # What the tokenizer drops, such as a control character, is no word.
        words = [word for word, pieces in zip(words, encoded, strict=True) if pieces.ids]
        lengths = [len(pieces.ids) for pieces in encoded if pieces.ids]
        prompt = [part for label in labels for part in (self._model.marks[0], label)] + [self._model.marks[1]]
        room = self._graph.window - len(tokenizer.encode(prompt, is_pretokenized=True).ids)
        if room < 1:
            raise BackendError(f'the window of "{self._graph.name}" has no room for a text', hint=_HINT)
        spans: list[tuple[float, int, int, int]] = []
        for first, last in windows(lengths, room, words=self._model.words, overlap=self._model.width):
            part = tokenizer.encode(
                [*prompt, *(text[start:end] for start, end in words[first:last])], is_pretokenized=True
            )
            scores = self._score(session, part, len(prompt), last - first, len(labels))
            above = (_by_span if self._by_span else _by_word)(scores, threshold)
            spans += [(-score, first + start, first + end, label) for score, start, end, label in above]
        taken: set[int] = set()
        chosen = []
        for score, start, end, label in sorted(spans):
            if taken.isdisjoint(range(start, end + 1)):
                taken.update(range(start, end + 1))
                chosen.append(Span(words[start][0], words[end][1], labels[label], -score))
        return sorted(chosen)

    def _score(self, session: Session, encoded: Any, skipped: int, count: int, labels: int) -> "NDArray[Any]":
        """Return the scores of `count` words: (first word, words more, label), or (word, label, 3)."""
        np = import_numpy()
        mask = np.zeros((1, len(encoded.ids)), np.int64)
        before = None
        for place, word in enumerate(encoded.word_ids):
            if word is not None and word != before and word >= skipped:
                mask[0, place] = word - skipped + 1
            before = word
        starts = np.repeat(np.arange(count), self._model.width)
        ends = starts + np.tile(np.arange(self._model.width), count)
        inside = ends < count
        feed = {
            "input_ids": np.array([encoded.ids]),
            "attention_mask": np.ones_like(mask),
            "words_mask": mask,
            "text_lengths": np.array([[count]]),
            "span_idx": (np.stack([starts, ends], -1) * inside[:, None])[None],
            "span_mask": inside[None],
        }
        logits = session.compute("logits", feed, tokens=len(encoded.ids))
        if not self._by_span and logits.shape[-1] == labels and labels != 3:
            logits = np.moveaxis(logits, 0, -1)  # older exports have start, end and inside first
        shape = (1, count, self._model.width, labels) if self._by_span else (1, count, labels, 3)
        if logits.shape != shape or not np.isfinite(logits).all():
            raise BackendError(
                f'the model "{self._graph.name}" gives an array {logits.shape} instead of {shape}', hint=_HINT
            )
        return 0.5 * (1 + np.tanh(logits[0] / 2))  # type: ignore[no-any-return]  # cannot overflow


def _by_span(scores: "NDArray[Any]", threshold: float) -> Iterator[tuple[float, int, int, int]]:
    for start, width, label in zip(*(scores > threshold).nonzero(), strict=True):
        if start + width < len(scores):
            yield float(scores[start, width, label]), int(start), int(start + width), int(label)


def _by_word(scores: "NDArray[Any]", threshold: float) -> Iterator[tuple[float, int, int, int]]:
    """Yield what begins, ends and is inside everywhere; the score is the lowest of these."""
    for start, label in zip(*(scores[:, :, 0] > threshold).nonzero(), strict=True):
        lowest = float(scores[start, label, 0])
        for end in range(start, len(scores)):
            if scores[end, label, 2] < threshold:
                break
            lowest = min(lowest, float(scores[end, label, 2]))
            if scores[end, label, 1] > threshold:
                yield min(lowest, float(scores[end, label, 1])), int(start), end, int(label)


def windows(lengths: Sequence[int], room: int, *, words: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text, as first word and the one behind the last; each word is in one.

    A part has at most `words` words and `room` tokens, except that it has one word at least. The parts
    overlap, so that a name at the end of one is whole in the next.
    """
    first = last = 0
    while last < len(lengths):
        tokens = 0
        last = first
        while last < min(len(lengths), first + words) and (last == first or tokens + lengths[last] <= room):
            tokens += lengths[last]
            last += 1
        yield first, last
        first = max(last - overlap, first + 1)


def open_entity_recognizer(model: str, options: Mapping[str, object]) -> OnnxEntityRecognizer:
    """Return the recognizer of a model, not yet loaded; `model` has the form of the option `recognizer`.

    Raise BackendError where files are missing, damaged or not those of a GLiNER model that ragmem computes.
    """
    name, wanted = split_model(model)
    folder = find_folder(name, options, prefix="onnx:")
    config = read_json_file(folder / GLINER_CONFIG)
    if not isinstance(config, dict):
        raise BackendError(f'"{folder}" has no {GLINER_CONFIG}', hint=_HINT)
    checked = read_options(options)
    graph = describe_graph(folder, model_name(name, folder), wanted, checked, inputs=(*_OF_WORDS, *_OF_SPANS))
    marks = (config.get("ent_token", "<<ENT>>"), config.get("sep_token", "<<SEP>>"))
    words, width = config.get("max_len", 384), config.get("max_width", 12)
    fits = {"words_splitter_type": "whitespace", "subtoken_pooling": "first"}
    sound = is_count(words) and is_count(width) and all(isinstance(mark, str) for mark in marks)
    if not sound or any((config.get(key) or value) != value for key, value in fits.items()):
        raise BackendError(f'"{folder / GLINER_CONFIG}" requires what ragmem does not support', hint=_HINT)
    missing = {*_OF_WORDS, *(_OF_SPANS if "span_idx" in graph.header.inputs else ())} - set(
        graph.header.inputs
    )
    if missing or "logits" not in graph.header.outputs:
        raise BackendError(f'"{graph.path}" is no GLiNER model that finds names', hint=_HINT)
    files = [folder / GLINER_CONFIG, *filter(None, [find_tokenizer(folder)]), *graph.files]
    model_id = make_model_id(graph.name, [FORM, fingerprint(files), graph.window], dimensions=0, width=0)
    described = _Description(graph, words, width, marks, model_id)
    return OnnxEntityRecognizer(described, checked)
