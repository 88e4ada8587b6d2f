"""What goes into a chat model and what comes out, as its template and tokenizer have it."""

import re
from typing import Any

from ragmem.errors import BackendError

CUT = "\n[... the middle was left out ...]\n"

_CHARACTERS_PER_TOKEN = 16
"""Of a longer text, the middle is left out before it is counted: that a text is too long is seen soon."""

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


def as_text(text: str) -> str:
    """Return the text with a question mark for half a surrogate pair: no tokenizer takes one."""
    return text.encode("utf-8", "replace").decode()


def render(tokenizer: Any, system: str, prompt: str) -> list[int]:
    """Return the tokens of a conversation that the model is to answer, without thinking where it can.

    Without a system prompt there is no such message; where the template has none, it leads the prompt.
    """
    instructions = [{"role": "system", "content": system}] if system else []
    try:
        tokens = _apply(tokenizer, [*instructions, {"role": "user", "content": prompt}])
    except Exception as error:
        # Templates are programs of the model's makers, who raise what they like where a role is not theirs.
        if not system:
            raise BackendError(
                f"the model's chat template does not work: {error}", hint="use another model"
            ) from error
        return render(tokenizer, "", f"{system}\n\n{prompt}")
    return tokens


def fit(tokenizer: Any, system: str, prompt: str, *, room: int) -> list[int]:
    """Return the tokens of a conversation, at most `room`; the middle of a longer prompt is left out.

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
    # Tokens at the two seams may come apart anew; each turn gives up what was still too much.
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
    """Return the text of an answer, without what the model thought aloud and without special tokens."""
    if tokenizer.has_thinking:
        end = tokenizer.rfind_think_end(tokens)
        if end >= 0:
            tokens = tokens[end + len(tokenizer.think_end_tokens) :]
        elif (start := tokenizer.find_think_start(tokens)) >= 0:
            tokens = tokens[:start]
    text: str = tokenizer.decode(tokens, skip_special_tokens=True)
    return text


def strip_thoughts(text: str) -> str:
    """Return the text without blocks in <think>, for models that write them in plain letters."""
    return _THOUGHTS.sub("", text.rsplit("</think>", 1)[-1] if "<think>" not in text else text).strip()


def _apply(tokenizer: Any, messages: list[dict[str, str]]) -> list[int]:
    text: str = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, enable_thinking=False, tokenize=False
    )
    if tokenizer.has_thinking and text.rstrip().endswith(tokenizer.think_start):
        # Some templates open the thoughts whatever they are told.
        text = f"{text.rstrip()}\n\n{tokenizer.think_end}\n\n"
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return tokens
