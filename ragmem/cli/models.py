"""`ragmem models`: show the models, choose, fetch and try them."""

import os
from typing import TYPE_CHECKING, Any

import typer

from ragmem.cli import models_trial
from ragmem.cli.common import JsonOption, bold, open_memory, printable, say, say_json, size, table
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.memory import Ragmem
    from ragmem.services.models_found import FoundModel

EPILOG = """\b
Examples:
  ragmem models
  ragmem models list --json

\b
Exit codes:
  0  done
  1  a model answers, but its answers make no sense
  2  usage or configuration
  3  a hub or a file could not be read or written
  4  a model does not answer
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Show the models, choose, fetch and try them.",
    epilog=EPILOG,
)


@app.callback(invoke_without_command=True)
def models(context: typer.Context, as_json: JsonOption = False) -> int:
    """Show the models, choose, fetch and try them."""
    name = context.invoked_subcommand
    if name is None:
        return list_models(as_json=as_json)
    if as_json:
        raise UsageError(f"--json stands before {name}", hint=f"ragmem models {name} ... --json")
    return EXIT_OK


@app.command("list")
def list_models(as_json: JsonOption = False) -> int:
    """Show the models on this machine and the configured ones, and whose vectors there are."""
    from ragmem.services.models_found import found

    with open_memory(quiet=as_json) as memory:
        here = found(memory.settings.places.data, os.environ, home=memory.home)
        vectors = _vectors(memory)
        configured = _configured(memory)
    if as_json:
        say_json({"schema": 1, "configured": configured, "vectors": vectors, "models": here})
        return EXIT_OK
    for use, chosen in configured.items():
        say(f"{bold(use.replace('_', ' ').ljust(15))} {printable(chosen['backend'])} {chosen['model']}")
    for row in vectors:
        say(f"{bold('vectors'.ljust(15))} {row['vectors']:,} of {printable(row['model'])}")
    if here:
        say()
        table(("model", "place", "for", "type", "size", "bits", "problem"), map(_row, here))
    return EXIT_OK


app.command("test", epilog=models_trial.EPILOG)(models_trial.try_models)


def _configured(memory: "Ragmem") -> dict[str, dict[str, Any]]:
    embedder, language_model = memory.settings.models, memory.settings.language_model
    chosen = {"embedder": {"backend": embedder.backend, "model": embedder.model}}
    if language_model.backend:
        chosen["language_model"] = {"backend": language_model.backend, "model": language_model.model}
    return chosen


def _vectors(memory: "Ragmem") -> list[dict[str, Any]]:
    if not memory.catalog.exists():
        return []
    return [
        {"model": model, "dimensions": dimensions, "vectors": count}
        for (model, dimensions), count in sorted(memory.store.vector_models().items())
    ]


def _row(model: "FoundModel") -> tuple[Any, ...]:
    return (
        model.name,
        model.place,
        model.use,
        model.type,
        size(model.bytes),
        model.bits or "",
        model.problem,
    )
