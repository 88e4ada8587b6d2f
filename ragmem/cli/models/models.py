"""`ragmem models`: list, choose, download and test models."""

import os
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import bold, command_group, open_memory, plural, say, say_json, size, table, tell
from ragmem.cli.models import bundle, pull, resume, trial
from ragmem.cli.models import use as models_use
from ragmem.cli.options import JsonOption
from ragmem.errors import EXIT_OK

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.config.settings import Settings
    from ragmem.services.models.reembed import ModelChangeStatus

EPILOG = """\b
Examples:
  ragmem models
  ragmem models list --json
  ragmem models list --known

\b
Exit codes:
  0  done
  1  a model answers, but its answers make no sense
  2  usage or configuration
  3  a hub or a file could not be read or written
  4  a model does not answer
"""

BUNDLED_PARAMETERS = 22_713_216

app = command_group(
    "models",
    about="List, choose, download and test models.",
    epilog=EPILOG,
    default="list",
)


@app.command("list")
def list_models(
    known: Annotated[
        bool, typer.Option("--known", help="List known embedding models for `onnx:`, with their properties.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """List local and configured models, and the progress of a change."""
    from ragmem.services.models.local_models import find_local_models

    if known:
        return _list_known(as_json=as_json)

    with open_memory(quiet=as_json) as memory:
        settings = memory.settings
        here = [
            _bundled_model(),
            *map(asdict, find_local_models(settings.places.data, os.environ, home=memory.home)),
        ]
        standing = _model_state(memory)
        rest = _rest(memory, standing)
    for model in here:
        model["configured"] = _configuration_tables(settings, model)
    document = {
        "schema": 1,
        "embedder": {"backend": settings.models.backend, "model": settings.models.model},
        "language_model": {
            "backend": settings.language_model.backend,
            "model": settings.language_model.model,
        },
        "vectors": None if standing is None else asdict(standing),
        "models": here,
    }
    if as_json:
        say_json(document)
        return EXIT_OK
    _say_chosen(settings, standing, rest=rest)
    say()
    columns = ("model", "place", "for", "by", "type", "size", "bits", "configured", "problem")
    table(columns, map(_row, here))
    return EXIT_OK


app.command("use", epilog=models_use.EPILOG)(models_use.use)
app.command("resume", epilog=resume.EPILOG)(resume.resume)
app.command("pull", epilog=pull.PULL_EPILOG)(pull.pull)
app.command("remove", epilog=pull.REMOVE_EPILOG)(pull.remove)
app.command("bundle", epilog=bundle.EPILOG)(bundle.bundle)
app.command("test", epilog=trial.EPILOG)(trial.try_models)


def _list_known(*, as_json: bool) -> int:
    from ragmem.config.known_models import KNOWN

    if as_json:
        say_json({"schema": 1, "known": [asdict(one) for one in KNOWN]})
        return EXIT_OK

    def told(value: object, fact: str, unverified: Collection[str]) -> str:
        return f"{value}{'?' if fact in unverified else ''}"

    table(
        ("model", "MB", "vectors", "tokens", "languages", "licence", "fetch with ragmem models pull"),
        [
            (
                one.name,
                told(one.megabytes, "megabytes", one.unverified),
                ", ".join(map(str, (one.dimensions, *one.shorter))),
                one.window,
                one.languages,
                one.licence,
                f"onnx:{one.hub}",
            )
            for one in KNOWN
        ],
    )
    tell("hint: MB is the int8 file; ? means that no published page confirmed it; --json has all facts")
    return EXIT_OK


def _bundled_model() -> dict[str, Any]:
    from ragmem.backends.minilm.embedder import FOLDER

    return {
        "name": "all-MiniLM-L6-v2",
        "place": "bundled",
        "folder": str(FOLDER),
        "use": "embedding",
        "type": "bert",
        "bytes": sum(path.stat().st_size for path in FOLDER.glob("minilm.safetensors")),
        "parameters": BUNDLED_PARAMETERS,
        "bits": 8,
        "problem": "",
        "backends": ["minilm"],
    }


def _model_state(memory: "Ragmem") -> "ModelChangeStatus | None":
    if not memory.catalog.exists():
        return None
    memory.require()
    return memory.vectors.status()


def _configuration_tables(settings: "Settings", model: dict[str, Any]) -> str:
    """Return the uses for which a model of this machine is configured."""
    from ragmem.config.hub import without_file

    bundled = model["place"] == "bundled"
    names = {model["name"], str(model["folder"])}
    embedder, language_model = settings.models, settings.language_model
    chosen = (
        ("embedder", embedder.backend, embedder.model),
        ("language model", language_model.backend, language_model.model),
    )
    return ", ".join(
        use
        for use, backend, name in chosen
        if (backend == "minilm" and bundled)
        or (backend in model["backends"] and not bundled and without_file(name) in names)
    )


def _rest(memory: "Ragmem", standing: "ModelChangeStatus | None") -> str:
    """Return the command that continues an interrupted change of the model, "" if there is none."""
    if standing is None or not standing.changing or standing.running:
        return ""
    return "ragmem models resume" if memory.store.two_models else "ragmem seed --rebuild"


def _say_chosen(settings: "Settings", standing: "ModelChangeStatus | None", *, rest: str) -> None:
    from ragmem.services.models.use import model_label

    def line(name: str, text: str) -> None:
        say(f"{bold(name.ljust(15))} {text}")

    embedder = model_label(settings.models)
    if standing is None or not standing.active:
        line("embedder", f"{embedder}; no vectors yet")
    elif not standing.changing:
        line("embedder", f"{embedder}; {plural(standing.total, 'vector')} of {standing.active}")
    else:
        line("embedder", f"{embedder}; {standing.done:,} of {plural(standing.total, 'vector')} made")
        line("until then", f"{standing.active} is still used for queries")
        line("work", f"rests; `{rest}`" if rest else "continues in the background")
    line("language model", model_label(settings.language_model))
    if standing is not None and standing.problem:
        tell(f"warning: {standing.problem}")


def _row(model: dict[str, Any]) -> tuple[Any, ...]:
    return (
        *(model[name] for name in ("name", "place", "use")),
        ", ".join(model["backends"]),
        model["type"],
        size(model["bytes"]),
        model["bits"] or "",
        model["configured"],
        model["problem"],
    )
