"""Any server that speaks OpenAI's protocol: omlx, LM Studio, vLLM, llama.cpp, mlx_lm.server and gateways.

None of them needs a key by default; where the server was started with one, set key_variable or
key_command.
"""

from functools import partial
from urllib.parse import urlsplit

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.openai import OpenAIChat, OpenAIEmbeddings, model_names, other_addresses
from ragmem.backends.providers.provider import Provider
from ragmem.backends.providers.rerank import Rerank

_COMMANDS = {
    1234: "`lms server start`",
    8000: "`omlx serve` or `vllm serve`",
    8080: "`llama-server` or `mlx_lm.server`",
}


def start(url: str) -> str:
    """Return the command of the server that usually has this port."""
    return _COMMANDS.get(urlsplit(url).port or 0, "`omlx serve`, or whichever it is")


PROVIDER = Provider(
    name="compatible",
    needs_key=False,
    # Small batches: these servers compute on the machine at hand, and several bound the tokens of a request.
    embeddings=OpenAIEmbeddings(texts=32, tokens=32_000, compact=False),
    chat=OpenAIChat(tokens_field="max_tokens"),
    rerank=Rerank(),
    start=start,
    example="http://127.0.0.1:8000/v1",
    model_names=model_names,
    other_addresses=other_addresses,
)

open_models = partial(ProviderModels, PROVIDER)
