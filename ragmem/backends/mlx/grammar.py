"""JSON by schema: each next token is limited to those with which the answer can still satisfy it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ragmem.errors import BackendError

Mask = Callable[[Any, Any], Any]
"""Maps the tokens so far and the next logits (1, vocabulary) to these logits, -inf where forbidden."""

# The layout that most models prefer. If any amount of white space is allowed, a weak model never stops
# printing it.
_LAYOUT: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Grammars:
    """Grammars over one tokenizer; the first takes about a second for a large vocabulary."""

    def __init__(self, tokenizer: Any) -> None:
        """Raise BackendError when llguidance is not installed or cannot read the tokenizer."""
        try:
            from llguidance import hf
        except ImportError as error:
            raise BackendError(
                f"JSON by schema needs llguidance: {error}", hint="pip install 'ragmem[mlx]'"
            ) from error
        inner = getattr(tokenizer, "_tokenizer", tokenizer)
        try:
            self._tokenizer = hf.from_tokenizer(inner, eos_token=sorted(tokenizer.eos_token_ids))
        except Exception as error:
            # The tokenizer is read by a Rust library, whose errors have no common type.
            raise BackendError(
                f"llguidance cannot read the model's tokenizer: {error}",
                hint="set constrained = false in [language_model.options]; answers are then only checked",
            ) from error

    def start(self, schema: Mapping[str, Any]) -> Mask:
        """Return the mask of one answer; raise BackendError when no grammar can express the schema."""
        from llguidance import LLMatcher

        grammar = LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=_LAYOUT)
        if complaint := LLMatcher.validate_grammar(grammar, self._tokenizer):
            raise BackendError(
                f"the JSON schema cannot be enforced: {complaint}", hint="use simpler keywords in the schema"
            )
        return _Answer(LLMatcher(self._tokenizer, grammar), self._tokenizer.vocab_size)


class _Answer:
    """Follows one answer token by token."""

    def __init__(self, matcher: Any, vocabulary: int) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._began = False

    def __call__(self, tokens: Any, logits: Any) -> Any:
        import mlx.core as mx
        from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

        # The first call has the prompt; each later call has one more token, including the one that ends the
        # answer, because the generator is one step ahead.
        if self._began and not self._matcher.is_stopped():
            self._matcher.consume_token(int(tokens[-1].item()))
        self._began = True
        if self._matcher.is_error():
            raise BackendError(
                f"the answer violates its grammar: {self._matcher.get_error()}",
                hint="try again, or another model",
            )
        bits = allocate_token_bitmask(1, self._vocabulary)
        fill_next_token_bitmask(self._matcher, bits)
        allowed = np.zeros(logits.shape[-1], bool)
        known = np.unpackbits(bits[0].view(np.uint8), bitorder="little")[: self._vocabulary]
        # A model may have more logits than its tokenizer has tokens: those are unused.
        width = min(len(allowed), len(known))
        allowed[:width] = known[:width]
        return mx.where(mx.array(allowed), logits, -mx.inf)
