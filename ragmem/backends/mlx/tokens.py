"""Texts to token ids, with the tokenizer of the model's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.backends.mlx.weights import read_json
from ragmem.errors import BackendError


class Tokenizer:
    """The tokenizer of an embedding model; safe to use from several threads.

    A text is data: the name of a special token inside it is read as letters.
    """

    def __init__(self, folder: Path, *, window: int, closing: int | None = None) -> None:
        """Open tokenizer.json, else vocab.txt; `window` is the most ids of a text.

        `closing` is the id that ends a text if the tokenizer itself adds none. Raise BackendError
        when the files cannot be read or `tokenizers` is not installed.
        """
        try:
            import tokenizers
        except ImportError as error:
            raise BackendError(
                f"tokenizers cannot load: {error}", hint="pip install 'ragmem[mlx]'"
            ) from error
        path = folder / "tokenizer.json"
        try:
            if path.is_file():
                self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
            else:
                path = folder / "vocab.txt"
                lowercase = _read_settings(folder).get("do_lower_case", True) is not False
                self._tokenizer = tokenizers.BertWordPieceTokenizer(str(path), lowercase=lowercase)._tokenizer  # noqa: SLF001 - the implementation hides the one switch that is needed
        except Exception as error:  # the library raises plain Exception
            raise BackendError(
                f'"{path}" cannot be read: {error}', hint="fetch the model again: `ragmem models pull`"
            ) from error
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_padding()  # the file often holds the settings of the training
        self._tokenizer.no_truncation()
        bare = self._tokenizer.encode("a", add_special_tokens=False).ids
        closes = self._tokenizer.encode("a").ids[-1:] != bare[-1:]
        self._closing = [] if closing is None or closes else [closing]
        added = len(self._tokenizer.encode("").ids) + len(self._closing)
        if window <= added:
            raise BackendError(
                f"a window of {window} tokens has no room for a text", hint="set a larger window"
            )
        self._tokenizer.enable_truncation(window - len(self._closing))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, at least one; the text is cut at the window."""
        # The library refuses lone surrogates.
        ids = self._tokenizer.encode(text.encode("utf-8", "ignore").decode()).ids
        return [*ids, *self._closing] or [0]


def closing_id(config: Mapping[str, Any]) -> int | None:
    """Return the id that ends a text for a decoder, from its config.json.

    Not from tokenizer_config.json: Qwen3-Embedding has the end of a chat's turn there, which it was not
    trained to end texts with.
    """
    found = config.get("eos_token_id")
    if isinstance(found, list):
        found = found[0] if found else None
    return found if isinstance(found, int) else None


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        found = read_json((folder / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError):  # the tokenizer's defaults apply
        return {}
    return found if isinstance(found, dict) else {}
