"""Prompts and answers of a chat model, through its template and tokenizer."""

import re
from typing import Any

from ragmem.errors import BackendError

CUT = "\n[... the middle was left out ...]\n"

_CHARACTERS_PER_TOKEN = 16
"""The middle of a longer text is left out before its tokens are counted."""

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


def as_text(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


def render(tokenizer: Any, system: str, prompt: str) -> list[int]:
    """Return the tokens of a conversation for the model to answer, with thinking turned off if possible.

    If the template takes no system message, the system prompt is put before the prompt.
    """
    instructions = [{"role": "system", "content": system}] if system else []
    try:
        tokens = _apply(tokenizer, [*instructions, {"role": "user", "content": prompt}])
    except Exception as error:
        # Templates are programs that raise any exception for an unsupported role.
        if not system:
            raise BackendError(
                f"the model's chat template does not work: {error}", hint="use another model"
            ) from error
        return render(tokenizer, "", f"{system}\n\n{prompt}")
    return tokens


def fit(tokenizer: Any, system: str, prompt: str, *, room: int) -> list[int]:
    """Return at most `room` tokens of a conversation; the middle of a longer prompt is left out.

    Raise BackendError when there is no room even for the system prompt.
    """
    widest = room * _CHARACTERS_PER_TOKEN
    if len(prompt) > widest:
        prompt = f"{prompt[: widest // 2]}{CUT}{prompt[-widest // 2 :]}"
    tokens = render(tokenizer, system, prompt)
    if len(tokens) <= room:
        return tokens
    around = len(render(tokenizer, system, CUT))
    words = tokenizer.encode(prompt, add_special_tokens=False)
    # Tokens at the two seams may split differently; each turn removes the remaining excess.
    kept = room - around
    while kept >= 0:
        head, tail = words[: (kept + 1) // 2], words[len(words) - kept // 2 :]
        tokens = render(tokenizer, system, tokenizer.decode(head) + CUT + tokenizer.decode(tail))
        if len(tokens) <= room:
            return tokens
        kept -= max(1, len(tokens) - room)
    raise BackendError(
        f"the instructions alone have {around} tokens, and there is room for {room}",
        hint="use a model with a wider window, or ask for fewer tokens",
    )


def read(tokenizer: Any, tokens: list[int]) -> str:
    """Return the text of an answer without thoughts and special tokens."""
    if tokenizer.has_thinking:
        end = tokenizer.rfind_think_end(tokens)
        if end >= 0:
            tokens = tokens[end + len(tokenizer.think_end_tokens) :]
        elif (start := tokenizer.find_think_start(tokens)) >= 0:
            tokens = tokens[:start]
    text: str = tokenizer.decode(tokens, skip_special_tokens=True)
    return text


def strip_thoughts(text: str) -> str:
    """Return the text without <think> blocks, for models that write them as plain text."""
    return _THOUGHTS.sub("", text.rsplit("</think>", 1)[-1] if "<think>" not in text else text).strip()


def _apply(tokenizer: Any, messages: list[dict[str, str]]) -> list[int]:
    text: str = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, enable_thinking=False, tokenize=False
    )
    if tokenizer.has_thinking and text.rstrip().endswith(tokenizer.think_start):
        # Some templates always open the thoughts.
        text = f"{text.rstrip()}\n\n{tokenizer.think_end}\n\n"
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return tokens
