"""`ragmem query --answer`: an answer of the language model from the memories found, with its sources."""

import sys
from typing import TYPE_CHECKING

from ragmem.cli.common import dim, printable, say, say_json, tell
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import EXIT_NO, EXIT_OK, BackendError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.retrieval.answerer import Answerer
    from ragmem.services.retrieval.query import Answer


def answerer_of(memory: "Ragmem") -> "Answerer":
    """Return the answerer; raises BackendError if no language model is configured."""
    answerer = memory.answers.answerer()
    if answerer is None:
        raise BackendError(
            "an answer in words is made by a language model, and none is configured",
            hint="name one in config.toml, [language_model], or ask without --answer",
        )
    return answerer


def say_answer(
    answerer: "Answerer",
    answer: "Answer",
    *,
    home: str,
    tokens: int | None,
    as_json: bool,
    quiet: bool,
    redactor: Redactor,
) -> int:
    """Stream the answer, then print the sources that it cites, or all if it cites none.

    Returns 1 if nothing was found to answer from.
    """
    from ragmem.domain.model.document_place import describe_place
    from ragmem.services.context.context import context
    from ragmem.services.retrieval.answerer import AnswerRequest, find_citations

    for note in () if quiet else answer.notes:
        tell(f"note: {note}")
    block = context(answer, tokens=tokens, home=home, redactor=redactor)
    sources = [
        redactor.redact(
            f"{memory.title or memory.short_id}, {memory.event_time:%Y-%m-%d}:"
            f" {describe_place(memory.uri, memory.metadata)}"
        )[0]
        for memory in block.memories
    ]
    if not block.text:
        if as_json:
            say_json({"schema": 1, "query": answer.question.text, "answer": "", "model": "", "sources": []})
        elif not quiet:
            tell(block.why_empty)
        return EXIT_NO
    wanted = AnswerRequest(answer.question.text, block.text, sources)
    if as_json:
        text = answerer.answer(wanted)
        named = find_citations(text, len(sources))
        listed = [
            {"number": number, "id": memory.id, "source": source, "cited": number in named}
            for number, (memory, source) in enumerate(zip(block.memories, sources, strict=True), start=1)
        ]
        document = {"schema": 1, "query": answer.question.text, "answer": text, "model": answerer.model_id}
        say_json({**document, "sources": listed})
        return EXIT_OK
    text = ""
    for part in answerer.stream(wanted):
        text += part
        sys.stdout.write(printable(part))
        sys.stdout.flush()
    say("")
    named = find_citations(text, len(sources))
    if not named and not quiet:
        tell(
            "note: the answer names no source, so that nothing shows where it is from; it was made of these:"
        )
    for number in named or range(1, len(sources) + 1):
        say(dim(f"[{number}] {sources[number - 1]}"))
    return EXIT_OK
