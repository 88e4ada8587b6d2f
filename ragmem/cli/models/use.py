"""`ragmem models use`: choose a model, and make its vectors."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.api.memory import Ragmem
from ragmem.backends.composed_models import ComposedModels
from ragmem.cli.common import open_memory, plural, say, say_json, tell
from ragmem.cli.models.choice import LanguageOption, choice_of, require_language_model
from ragmem.cli.models.resume import exit_code, reembed, say_made
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.config.hub import without_file
from ragmem.errors import BackendError, UsageError

if TYPE_CHECKING:
    from ragmem.services.models.speed import Speed
    from ragmem.services.models.use import Choice

EPILOG = """\b
Examples:
  ragmem models use minilm
  ragmem models use onnx:intfloat/multilingual-e5-small
  ragmem models use onnx:onnx-community/Qwen3-Embedding-0.6B-ONNX@int8 --dimensions 256 --dry-run
  ragmem models use mlx:mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ
  ragmem models use ollama:nomic-embed-text --dry-run
  ragmem models use openai:text-embedding-3-small --dimensions 512 --wait
  ragmem models use --language compatible:qwen3 --url http://localhost:8000/v1
  ragmem models use --language none

\b
Exit codes:
  0    chosen
  2    usage, or an environment variable overrides the change
  3    config.toml cannot be written, or the model rejects some texts, which only full text finds
  4    the model does not answer; nothing was changed
  5    another process makes vectors and does not stop
  130  interrupted; the model is chosen, `ragmem models resume` continues
"""

PATIENCE_S = 20.0
"""Seconds for a process that makes vectors of another model to end."""


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
        typer.Option("--dimensions", min=0, help="Length of the vectors, if the model offers several."),
    ] = 0,
    key_variable: Annotated[
        str, typer.Option("--key-variable", metavar="NAME", help="Environment variable that holds the key.")
    ] = "",
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not test the model.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Make the vectors here, not in the background.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Choose a model: test it, write config.toml, and make its vectors in the background.

    Measures the speed of a local model and reports it before anything changes. Queries use the old vectors
    until all new ones are made. The other lines of config.toml stay as they are.
    """
    if wait and language:
        raise UsageError("--wait is for embedding models", hint="a language model makes no vectors")
    with open_memory(quiet=quiet or as_json) as memory:
        choice = choice_of(
            memory, model, language=language, url=url, dimensions=dimensions, key_variable=key_variable
        )
        document = _settle(memory, choice, test=not no_test, dry_run=dry_run, quiet=quiet or as_json)
    if not as_json:
        _say_choice(document, quiet=quiet)
    if not dry_run and not language:
        made = _make_vectors(wait=wait, quiet=quiet or as_json)
        if not as_json:
            _say_vectors(made, quiet=quiet)
        # `made` has the model id of the vectors; the document keeps the name that was given.
        document |= made | {"model": document["model"]}
    if as_json:
        say_json(document)
    return exit_code(document)


def _settle(memory: Ragmem, choice: "Choice", *, test: bool, dry_run: bool, quiet: bool) -> dict[str, Any]:
    """Try the model and write config.toml; return the document to print."""
    from ragmem.config import toml_edit
    from ragmem.config.loader import CONFIG_FILE
    from ragmem.services.models.hardware import configured_models, detect_machine, hardware_problems
    from ragmem.services.models.speed import describe_speed

    change = toml_edit.plan(memory.settings.places.config / CONFIG_FILE, {choice.table: choice.values})
    speed = _probe(memory, choice) if test else None
    if speed is not None and not quiet:
        tell(f"measured: {describe_speed(speed)}")
    if not dry_run:
        if choice.table == "models" and memory.catalog.exists():
            memory.require()
            # Store how to open the model of the vectors while the configuration still names it.
            memory.models.remember()
        toml_edit.write(change)
    machine = detect_machine()
    large = configured_models(choice.settings, os.environ, home=memory.home)
    return {
        "schema": 1,
        "dry_run": dry_run,
        "table": choice.table,
        "model": choice.name,
        "file": str(change.path),
        "diff": change.diff(),
        "speed": None if speed is None else asdict(speed),
        "warnings": [
            *(
                line
                for table, found in large
                if table == choice.table
                for line in hardware_problems(table, found, machine)
            ),
            *_doubts(choice, speed),
        ],
    }


def _doubts(choice: "Choice", speed: "Speed | None") -> Iterator[str]:
    """Yield objections to a choice: a vector length that the model was not trained for, a long change."""
    from ragmem.config.known_models import find_known
    from ragmem.services.models.speed import SLOW_S, format_seconds

    wanted = choice.settings.models.dimensions if choice.table == "models" else 0
    known = find_known(without_file(choice.settings.models.model))
    if known is not None and wanted and wanted < min(known.shorter, default=known.dimensions):
        offered = ", ".join(map(str, (known.dimensions, *known.shorter)))
        yield f"{known.name} was not trained for vectors of {wanted} numbers; it has {offered}"
    if speed is not None and speed.seconds > SLOW_S:
        yield (
            f"making the vectors takes about {format_seconds(speed.seconds)}; until then the old"
            " model is used, and `ragmem models use` with it cancels the change"
        )


def _probe(memory: Ragmem, choice: "Choice") -> "Speed | None":
    """Send the model a request; return the speed of an embedder that runs here.

    Raises BackendError if the model does not answer properly.
    """
    from ragmem.services.models.speed import measure_speed, sample_texts
    from ragmem.services.models.trial import TrialMeter, probe
    from ragmem.services.models.use import BUNDLED_BACKEND, LOCAL_BACKENDS

    chosen = choice.settings
    composed = ComposedModels(
        chosen.models, chosen.language_model, meter=TrialMeter(memory.ledger), redactor=memory.redactor
    )
    with closing(composed) as opened:
        if choice.table == "models":
            if problem := probe(opened.embedder):
                raise BackendError(f"{choice.name}: {problem}", hint="choose another model")
            if chosen.models.backend in {BUNDLED_BACKEND, *LOCAL_BACKENDS}:
                there = memory.catalog.exists()
                if there:
                    memory.require()
                vectors = memory.vectors.missing(opened.embedder.model_id) if there else 0
                return measure_speed(opened.embedder, sample_texts(memory.catalog), vectors=vectors)
        elif chosen.language_model.backend:
            model = require_language_model(opened, chosen.language_model.backend)
            model.complete("Answer with one word: are you there?", max_tokens=8)
    return None


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
    """Make the vectors of the configured model, or start that in the background; return the state."""
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
            # It makes those of another model, or has not recorded yet whose.
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
            say("there are no vectors yet, so there is nothing to rebuild")
        case "anew":
            say("this store holds the vectors of only one model: `ragmem seed --rebuild` rebuilds them")
        case "background":
            left = document["total"] - document["done"]
            say(
                f"{plural(left, 'vector')} are being made in the background; queries use the old ones "
                "until then"
            )
            if not quiet:
                tell("hint: `ragmem models list` shows the progress")
                if "log" in document:
                    tell(f"hint: it writes to {document['log']}")
        case "made" | "stopped":
            say_made(document)
