"""`ragmem models test`: try the configured models, or others before they are chosen."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.backends.composed_models import ComposedModels
from ragmem.cli.common import Bar, open_memory, say, say_json, table, tell
from ragmem.cli.models.choice import LanguageOption, choice_of, require_language_model
from ragmem.cli.options import JsonOption, QuietOption
from ragmem.errors import RagmemError, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.config.settings import Settings
    from ragmem.ports import LanguageModel
    from ragmem.services.models.trial import Trial
    from ragmem.services.reporting.language_report import LanguageReport

EPILOG = """\b
Examples:
  ragmem models test
  ragmem models test minilm mlx --json
  ragmem models test --language
  ragmem models test --language compatible:qwen3 --whole > report.md

\b
Exit codes:
  0  all models answer, and the answers make sense
  1  a model answers, but its answers make no sense
  2  usage or configuration
  4  a model does not answer
"""


def try_models(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help="These models instead of the configured ones."),
    ] = None,
    language: LanguageOption = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="With --language: use all passages, however long it takes.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Test models: how fast they answer, and whether the answers make sense.

    Times an embedder, and checks that it finds twelve notes by rephrased questions. Checks that a language
    model answers and returns JSON of a given form. With --language it also compares, in at most two minutes,
    what the model and the rules extract from 24 passages in nine languages, and how the model answers
    questions about them. The model of extraction.ner reads these passages, too. A provider gets about ten
    requests, or fifty with --language; `ragmem inspect usage` counts them as tests.
    """
    from ragmem.services.models.trial import exit_code

    if whole and not language:
        raise UsageError(
            "--whole works only for language models", hint="ragmem models test --language --whole"
        )
    with open_memory(quiet=quiet or as_json) as memory, Bar(quiet=quiet or as_json) as bar:
        trials: list[Trial] = []
        reports: list[LanguageReport] = []

        def report(model: "LanguageModel") -> None:
            from ragmem.services.reporting.language_report import report_on

            reports.append(report_on(model, whole=whole, progress=bar))

        reporting = report if language else None
        if models:
            for name in models:
                chosen = choice_of(memory, name, language=language).settings
                trials.append(_try(memory, chosen, language=language, report=reporting))
        else:
            if not language:
                trials += [_try(memory, settings, language=False) for settings in _embedders(memory)]
                trials += _try_recognizer(memory)
            if memory.settings.language_model.backend:
                trials.append(_try(memory, memory.settings, language=True, report=reporting))
            elif language:
                raise UsageError(
                    "there is no language model", hint="name one: ragmem models test --language BACKEND:MODEL"
                )
    if as_json:
        documents = [asdict(report) | {"best": report.best} for report in reports]
        say_json({"schema": 1, "trials": [asdict(trial) for trial in trials], "reports": documents})
    else:
        table(("backend", "model", "for", "status", "figures"), map(_row, trials))
        for trial in trials:
            if trial.problem:
                say(f"{trial.model}: {trial.problem}")
                if trial.advice and not quiet:
                    tell(f"hint: {trial.advice}")
        _say_reports(reports, quiet=quiet)
    return exit_code(trials)


def _embedders(memory: "Ragmem") -> "list[Settings]":
    """Return the settings of the configured embedder, and of the one that made the active vectors."""
    from ragmem.services.models.active_models import recipe_of, settings_of

    found = [memory.settings]
    if memory.catalog.exists():
        memory.require()
        active = memory.models.active()
        wanted = memory.models.wanted_id(), recipe_of(memory.settings.models)
        if active is not None and active.recipe and active.model != wanted[0] and active.recipe != wanted[1]:
            found.append(replace(memory.settings, models=settings_of(active.recipe)))
    return found


def _try(
    memory: "Ragmem",
    settings: "Settings",
    *,
    language: bool,
    report: "Callable[[LanguageModel], None] | None" = None,
) -> "Trial":
    """Try a model of these settings; one that does not answer gives a trial as well.

    A language model that answers goes to `report`.
    """
    from ragmem.services.models import trial as models_trial
    from ragmem.services.models.use import model_label

    chosen = settings.language_model if language else settings.models
    meter = models_trial.TrialMeter(memory.ledger)
    composed = ComposedModels(settings.models, settings.language_model, meter=meter, redactor=memory.redactor)
    with closing(composed) as opened:
        try:
            if not language:
                return models_trial.try_embedder(chosen.backend, opened.embedder)
            model = require_language_model(opened, chosen.backend)
            trial = models_trial.try_language_model(chosen.backend, model, meter)
        except RagmemError as error:
            return models_trial.unanswered_trial(
                "language model" if language else "embedder", chosen.backend, model_label(chosen), error
            )
        if report is not None:
            report(model)
        return trial


def _try_recognizer(memory: "Ragmem") -> "Iterator[Trial]":
    """Yield the trial of the model of extraction.ner, if there is one."""
    wanted = memory.settings.extraction
    if not wanted.ner:
        return
    from ragmem.services.models.trial import Trial, unanswered_trial
    from ragmem.services.reporting.language_report import score_recognizer

    backend, _, model = wanted.ner.partition(":")
    try:
        if (recognizer := memory.models.recognizer) is not None:
            figures = score_recognizer(recognizer, threshold=wanted.ner_threshold)
            yield Trial("named entities", backend, recognizer.model_id, "ok", figures)
    except RagmemError as error:
        yield unanswered_trial("named entities", backend, model, error)


def _say_reports(reports: "list[LanguageReport]", *, quiet: bool) -> None:
    if not reports:
        return
    import platform

    from ragmem import __version__
    from ragmem.services.models.hardware import detect_machine
    from ragmem.services.reporting.language_report import as_markdown

    machine = detect_machine()
    line = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {machine.memory / 1e9:.0f} GB"
    for report in reports:
        say()
        say(as_markdown(report, version=__version__, machine=f"{line} {machine.accelerator}".rstrip()))
        if not quiet:
            best = {"model": "llm"}.get(report.best, report.best)
            tell(f'hint: by = "{best}" below [extraction] did best on these passages')
    if not quiet:
        tell("hint: the report has none of your texts or addresses; please share it in an issue")


def _row(trial: "Trial") -> tuple[Any, ...]:
    return (trial.backend, trial.model, trial.use, trial.status, _figures(trial))


def _figures(trial: "Trial") -> str:
    figures = trial.figures
    if not figures:
        return ""
    if trial.use == "embedder":
        sense = (
            f", {figures['found']:.0f} of 12 found, margin {figures['margin']:.2f}"
            if "found" in figures
            else ""
        )
        return (
            f"{figures['dimensions']:.0f} dimensions, first {_time(figures['first_seconds'])},"
            f" a question {_time(figures['query_seconds'])}, {figures['texts_per_second']:.3g} texts/s{sense}"
        )
    if trial.use == "named entities":
        return (
            f"a passage {_time(figures['passage_seconds'])}, F1 of entities {figures['f1']:.2f},"
            f" by rules alone {figures['rules_f1']:.2f}"
        )
    return (
        f"an answer {_time(figures['answer_seconds'])}, JSON {_time(figures['json_seconds'])},"
        f" {figures['tokens_per_second']:.3g} tokens/s"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
