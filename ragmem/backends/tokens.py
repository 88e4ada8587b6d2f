"""Texts to token ids with the tokenizer of a model's folder, and token ids into batches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragmem.backends.model_folder import FETCH, read_json
from ragmem.errors import BackendError

LONGEST_TOKEN = 64
"""Characters that are read for each token of a window: some ten times the average of any language."""


class Tokenizer:
    """The tokenizer of an embedding model; safe to use from several threads.

    A text is data: the name of a special token inside it is read as letters.
    """

    def __init__(self, folder: Path, *, window: int, extra: str, closing: int | None = None) -> None:
        """Open tokenizer.json, else vocab.txt; `window` is the most ids of a text.

        `closing` is the id that ends a text if the tokenizer itself adds none. Raise BackendError as
        `load_tokenizer` does.
        """
        self._tokenizer = load_tokenizer(folder, extra=extra)
        bare = self._tokenizer.encode("a", add_special_tokens=False).ids
        closes = self._tokenizer.encode("a").ids[-1:] != bare[-1:]
        self._closing = [] if closing is None or closes else [closing]
        added = len(self._tokenizer.encode("").ids) + len(self._closing)
        if window <= added:
            raise BackendError(
                f"a window of {window} tokens has no room for a text", hint="set a larger window"
            )
        self._window = window
        self._tokenizer.enable_truncation(window - len(self._closing))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, at least one; the text is cut at the window."""
        ids = self._tokenizer.encode(clean(text, window=self._window)).ids
        return [*ids, *self._closing] or [0]


def load_tokenizer(folder: Path, *, extra: str) -> Any:
    """Open tokenizer.json, else vocab.txt, with the library `tokenizers`; it neither pads nor cuts.

    Raise BackendError when the files cannot be read or the library is not installed; `extra` installs it.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise BackendError(
            f"tokenizers cannot load: {error}", hint=f"pip install 'ragmem[{extra}]'"
        ) from error
    path = folder / "tokenizer.json"
    try:
        if path.is_file():
            tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
        else:
            path = folder / "vocab.txt"
            lowercase = _read_settings(folder).get("do_lower_case", True) is not False
            tokenizer = tokenizers.BertWordPieceTokenizer(str(path), lowercase=lowercase)._tokenizer  # noqa: SLF001 - the implementation hides the one switch that is needed
    except Exception as error:  # the library raises plain Exception
        raise BackendError(f'"{path}" cannot be read: {error}', hint=FETCH) from error
    tokenizer.encode_special_tokens = True
    tokenizer.no_padding()  # the file often holds the settings of the training
    tokenizer.no_truncation()
    return tokenizer


def clean(text: str, *, window: int) -> str:
    """Return what is read of a text for a window of tokens, without lone surrogates.

    The library refuses these, and reads texts as a whole: ten megabytes took a minute and 1.8 GB.
    """
    return text[: window * LONGEST_TOKEN].encode("utf-8", "ignore").decode()


def closing_id(config: Mapping[str, Any]) -> int | None:
    """Return the id that ends a text for a decoder, from its config.json.

    Not from tokenizer_config.json: Qwen3-Embedding has the end of a chat's turn there, which it was not
    trained to end texts with.
    """
    found = config.get("eos_token_id")
    if isinstance(found, list):
        found = found[0] if found else None
    return found if isinstance(found, int) else None


def bucket(lengths: Sequence[int], *, tokens: int) -> list[list[int]]:
    """Return the indices of the sequences in batches, longest first, each of up to `tokens` with padding.

    A longer sequence gets its own batch. No sequence shares a batch with one more than twice as long: at most
    half of each batch is padding.
    """
    batches: list[list[int]] = []
    longest = 0
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        fits = batches and (len(batches[-1]) + 1) * longest <= tokens and 2 * lengths[place] >= longest
        if not fits:
            batches.append([])
            longest = lengths[place]
        batches[-1].append(place)
    return batches


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        found = read_json((folder / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError):  # the tokenizer's defaults apply
        return {}
    return found if isinstance(found, dict) else {}
