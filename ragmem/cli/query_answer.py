"""`ragmem query --answer`: an answer with its sources, of the language model or of the timeline."""

import sys
from typing import TYPE_CHECKING

from ragmem.cli.common import dim, printable, say, say_fitted, say_json, tell
from ragmem.errors import EXIT_NO, EXIT_OK, BackendError

if TYPE_CHECKING:
    from datetime import datetime

    from ragmem.api.memory import Ragmem
    from ragmem.services.retrieval.query import Answer, Question

INDENT = 12
"""Columns before the further lines of an occurrence."""


def say_answer(
    memory: "Ragmem", answer: "Answer", *, now: "datetime", tokens: int | None, as_json: bool, quiet: bool
) -> int:
    """Stream the answer, then print the sources that it cites, or all if it cites none.

    Without a language model the timeline answers a question about time. Returns 1 if nothing was found to
    answer from; raises BackendError if there is no language model for another question.
    """
    from ragmem.domain.model.document_place import describe_place
    from ragmem.services.context.context import context
    from ragmem.services.retrieval.answerer import AnswerRequest, find_citations

    answerer = memory.answers.answerer()
    if answerer is None:
        return _say_timeline(memory, answer.question, now=now, as_json=as_json, quiet=quiet)
    redactor = memory.redactor
    for note in () if quiet else answer.notes:
        tell(f"note: {note}")
    block = context(answer, tokens=tokens, home=str(memory.home), redactor=redactor)
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
        tell("note: the answer cites no source; it was made from these:")
    for number in named or range(1, len(sources) + 1):
        say(dim(f"[{number}] {sources[number - 1]}"))
    return EXIT_OK


def _say_timeline(
    memory: "Ragmem", question: "Question", *, now: "datetime", as_json: bool, quiet: bool
) -> int:
    """Print the dated sentences that answer a question about time; returns 1 if there are none."""
    told = memory.retrieval.answer_by_timeline(question, now=now)
    if told is None:
        raise BackendError(
            "--answer needs a language model, and none is configured",
            hint="configure one in [language_model] of config.toml, or leave --answer out",
        )
    if as_json:
        from ragmem.services.retrieval.occurrences import occurrence_shape

        listed = [occurrence_shape(one) for one in told.occurrences]
        document = {
            "schema": 1,
            "query": question.text.strip(),
            "answer": told.line,
            "model": "",
            "sources": [],
        }
        say_json({**document, "occurrences": listed})
        return EXIT_OK if listed else EXIT_NO
    if not told.occurrences:
        if not quiet:
            tell(told.line)
        return EXIT_NO
    say(printable(told.line))
    for one in told.occurrences:
        say_fitted(f"{one.day}  {dim(one.memory.short_id)}  {printable(one.text)}", indent=INDENT)
    if told.note and not quiet:
        tell(f"note: {told.note}")
    return EXIT_OK
