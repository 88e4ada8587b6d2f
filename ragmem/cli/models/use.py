"""`ragmem models use`: choose a model, and have its vectors made."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.api.memory import Ragmem
from ragmem.backends.composed import ComposedModels
from ragmem.cli.common import open_memory, plural, say, say_json, tell
from ragmem.cli.models.choosing import LanguageOption, choice_of
from ragmem.cli.models.resume import reembed, say_made
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.errors import EXIT_BACKEND, EXIT_OK, BackendError, UsageError

if TYPE_CHECKING:
    from ragmem.services.models.use import Choice

EPILOG = """\b
Examples:
  ragmem models use minilm
  ragmem models use mlx:mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ
  ragmem models use ollama:nomic-embed-text --dry-run
  ragmem models use openai:text-embedding-3-small --dimensions 512 --wait
  ragmem models use --language compatible:qwen3 --url http://localhost:8000/v1
  ragmem models use --language none

\b
Exit codes:
  0    chosen
  2    usage, or a variable wins over what would be written
  3    config.toml cannot be written
  4    the model does not answer; nothing was changed
  5    another process makes vectors, and does not end
  130  interrupted; the model is chosen, `ragmem models resume` goes on
"""

PATIENCE_S = 20.0
"""For a process that makes vectors of another model to end."""


def use(
    model: Annotated[
        str, typer.Argument(help="BACKEND, BACKEND:MODEL, a model on this machine, its folder, or none.")
    ],
    language: LanguageOption = False,
    url: Annotated[
        str, typer.Option("--url", help="Address of the server, with its /v1 if it has one.")
    ] = "",
    dimensions: Annotated[
        int,
        typer.Option("--dimensions", min=0, help="Length of the vectors, where the model offers several."),
    ] = 0,
    key_variable: Annotated[
        str, typer.Option("--key-variable", metavar="NAME", help="Environment variable that holds the key.")
    ] = "",
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not ask the model for anything.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Make the vectors here, not in the background.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Choose a model: try it, write config.toml, and make its vectors in the background.

    Questions are answered with the former model's vectors until all of the new one's are there, then with
    those, from one moment to the next. In config.toml every other line stays as it is.
    """
    if wait and language:
        raise UsageError("--wait is for embedding models", hint="a language model makes no vectors")
    with open_memory(quiet=quiet or as_json) as memory:
        choice = choice_of(
            memory, model, language=language, url=url, dimensions=dimensions, key_variable=key_variable
        )
        document = _settle(memory, choice, test=not no_test, dry_run=dry_run)
    if not as_json:
        _say_choice(document, quiet=quiet)
    if not dry_run and not language:
        made = _make_vectors(wait=wait, quiet=quiet or as_json)
        if not as_json:
            _say_vectors(made, quiet=quiet)
        # The model stays as it was named; `made` knows it by the name that its vectors have.
        document |= made | {"model": document["model"]}
    if as_json:
        say_json(document)
    return EXIT_BACKEND if document.get("problem") else EXIT_OK


def _settle(memory: Ragmem, choice: "Choice", *, test: bool, dry_run: bool) -> dict[str, Any]:
    """Try the choice and write it down; return what is said of that."""
    from ragmem.config import writing
    from ragmem.config.loading import CONFIG_FILE
    from ragmem.services.models.hardware import advice, models_of, this_machine

    change = writing.plan(memory.settings.places.config / CONFIG_FILE, {choice.table: choice.values})
    if test:
        _probe(memory, choice)
    if not dry_run:
        if choice.table == "models" and memory.catalog.exists():
            memory.require()
            # What opens the model of the vectors is written down before nothing names it any more.
            memory.models.remember()
        writing.write(change)
    machine = this_machine()
    large = models_of(choice.settings, os.environ, home=memory.home)
    return {
        "schema": 1,
        "dry_run": dry_run,
        "table": choice.table,
        "model": choice.name,
        "file": str(change.path),
        "diff": change.diff(),
        "warnings": [
            line for table, found in large if table == choice.table for line in advice(table, found, machine)
        ],
    }


def _probe(memory: Ragmem, choice: "Choice") -> None:
    """Ask the model for something; raises BackendError where it does not answer, or not with a vector."""
    from ragmem.services.models.trial import TrialMeter, probe

    chosen = choice.settings
    opened = ComposedModels(
        chosen.models, chosen.language_model, meter=TrialMeter(memory.ledger), redactor=memory.redactor
    )
    try:
        if choice.table == "models":
            if problem := probe(opened.embedder):
                raise BackendError(f"{choice.name}: {problem}", hint="choose another model")
        elif chosen.language_model.backend:
            model = opened.language_model
            if model is None:
                raise BackendError(
                    f'the backend "{chosen.language_model.backend}" has no such language model',
                    hint=f"name one: {chosen.language_model.backend}:MODEL",
                )
            model.complete("Answer with one word: are you there?", max_tokens=8)
    finally:
        opened.close()


def _say_choice(document: dict[str, Any], *, quiet: bool) -> None:
    if document["dry_run"]:
        for line in document["diff"] or [f"{document['file']} says so already"]:
            say(line)
    else:
        say(f"{document['file']}: [{document['table']}] is {document['model']}")
    if not quiet:
        for line in document["warnings"]:
            tell(f"warning: {line}")


def _make_vectors(*, wait: bool, quiet: bool) -> dict[str, Any]:
    """See to the vectors of the model that is configured now; return what becomes of them."""
    from ragmem.services.models import background
    from ragmem.services.models.reembed import reembedding_pid
    from ragmem.storage.activity.model_record import NEXT

    with open_memory(quiet=True) as memory:
        if not memory.catalog.exists():
            return {"vectors": "none"}
        memory.require()
        home = memory.catalog.database.home
        standing = memory.vectors.status()
        coming = memory.models.records.read(NEXT)
        if reembedding_pid(home):
            if standing.changing and coming is not None and coming.model == standing.wanted:
                return {"vectors": "background", "total": standing.total, "done": standing.done}
            # It makes another model's, or has not got so far as to say whose.
            background.stop(home, patience=PATIENCE_S)
            standing = memory.vectors.status()
        if not standing.active:
            return {"vectors": "none"}
        one_model_only = memory.store.two_models is None
        if standing.changing and (one_model_only or not wait):
            log = memory.settings.places.state / background.LOG_NAME
            facts = {"total": standing.total, "done": standing.done}
            if one_model_only:
                return {"vectors": "anew", **facts}
            return {
                "vectors": "background",
                **facts,
                "process": background.start(home, log),
                "log": str(log),
            }
        done = reembed(memory, quiet=quiet)
    return {"vectors": "made" if done.finished else "stopped", **asdict(done)} | (
        {"problem": done.note} if not done.finished else {}
    )


def _say_vectors(document: dict[str, Any], *, quiet: bool) -> None:
    match document["vectors"]:
        case "none":
            say("there are no vectors yet, so none have to be made anew")
        case "anew":
            say("this store holds the vectors of one model: `ragmem seed --rebuild` makes them anew")
        case "background":
            left = document["total"] - document["done"]
            say(f"{plural(left, 'vector')} are made in the background; the former ones answer until then")
            if not quiet:
                tell("hint: `ragmem models list` shows how far it is")
                if "log" in document:
                    tell(f"hint: it writes to {document['log']}")
        case "made" | "stopped":
            say_made(document)
