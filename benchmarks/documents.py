"""Measure the cost of reading documents, and whether their content is found; compare markitdown if installed.

The documents and their questions are the samples of the tests, made by real writers: three questions each,
whose answer sits in a table, a heading, a note, a caption, an equation or a picture. The text of each system
goes through the same pipeline. Scans, screenshots and pages with equations are groups of their own. "File"
counts the questions for which the right file is among the first three answers, "passage" those for which the
passage that was found there holds the answer itself, which a model would be shown.
"""

import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Match
from ragmem.domain.model.document_place import place_metadata
from ragmem.readers.documents.converter import Converter
from ragmem.readers.documents.suffixes import FORMATS
from ragmem.services.ingestion.options import DraftOptions

SAMPLES = common.REPOSITORY / "tests" / "readers" / "documents"
RANK = 3
ROUNDS = 3
KINDS: dict[str, str] = {}
"""The group of a sample by its name; any other belongs to its format."""
NAMES = {
    "pdf": "PDF",
    "word": "Word",
    "powerpoint": "PowerPoint",
    "excel": "Excel",
    "html": "HTML",
    "epub": "EPUB",
    "csv_table": "CSV",
    "notebook": "notebook",
    "image": "picture",
}
GROUPS = {
    "samples_scans": "scan",
    "samples_screens": "screenshot",
    "samples_equations": "equations in PDF",
}
"""What the samples of a module are, where their format is not the point."""
MARKITDOWN = """
import json, re, sys, time
from markitdown import MarkItDown
converter = MarkItDown(enable_plugins=False)
for line in sys.stdin:
    path = line.rstrip("\\n")
    begun = time.perf_counter()
    try:
        text, problem = converter.convert(path).text_content, ""
    except Exception as error:
        text, problem = "", type(error).__name__
    seconds = time.perf_counter() - begun
    peak = re.search("VmHWM:[^0-9]*([0-9]+)", open("/proc/self/status").read())
    told = {"text": text, "problem": problem, "seconds": seconds, "peak_mb": int(peak[1]) / 1000}
    print(json.dumps(told), flush=True)
"""
"""Reads paths and answers in lines, in the environment that markitdown is installed in."""


@dataclass
class Figures:
    """What a system did with the documents of one format."""

    seconds: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    files: int = 0
    passages: int = 0
    places: int = 0
    questions: int = 0
    refused: int = 0
    written: int = 0
    """Distinct words of pictures that say nothing but by their pixels, and how many of them were `seen`."""
    seen: int = 0


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--markitdown", metavar="PYTHON", help="the Python of an environment that has it")
    options = parser.parse_args()
    sys.path.insert(0, str(SAMPLES))
    samples = []
    for path in sorted(SAMPLES.glob("samples_*.py")):
        found = import_module(path.stem).SAMPLES
        samples += found
        if path.stem in GROUPS:
            KINDS.update(dict.fromkeys((one.name for one in found), GROUPS[path.stem]))
    if options.quick:
        samples = samples[::5]
    document: dict[str, Any] = {"machine": common.machine(), "systems": {}}
    with common.temporary_folder("documents-") as folder:
        for sample in samples:
            sample.make(folder / sample.name)
        rounds = 1 if options.quick else ROUNDS
        figures = {"ragmem": ours(samples, folder, rounds)}
        if options.markitdown:
            figures["markitdown"] = theirs(samples, folder, rounds, options.markitdown)
    document["systems"] = {
        name: {kind: vars(told) for kind, told in by_format.items()} for name, by_format in figures.items()
    }
    report(document, figures, options)


def ours(samples: Iterable[Any], folder: Path, rounds: int) -> dict[str, Figures]:
    """Return the figures of this project, whose documents become a memory for each part."""
    figures: dict[str, Figures] = defaultdict(Figures)
    for kind, group in grouped(samples).items():
        told = figures[kind]
        with Converter() as converter:
            for turn in range(rounds + 1):  # the first one loads the libraries
                for sample in group:
                    begun = time.perf_counter()
                    text = " ".join(part.text for part in converter.convert(folder / sample.name).parts)
                    if turn:
                        told.seconds.append(time.perf_counter() - begun)
                    else:
                        count_words(told, sample, text)
                    told.peak_mb = max(told.peak_mb, converter.peak_mb)
    with common.temporary_folder("home-") as home, opened(home) as memory:
        handed = memory.ingestion.draft([folder / sample.name for sample in samples], DraftOptions())
        memory.ingest(handed.drafts)
        ask(memory, samples, folder, figures)
    return figures


def theirs(samples: Iterable[Any], folder: Path, rounds: int, python: str) -> dict[str, Figures]:
    """Return the figures of markitdown, whose documents become a memory each."""
    figures: dict[str, Figures] = defaultdict(Figures)
    drafts: list[Draft] = []
    for kind, group in grouped(samples).items():
        paths = [folder / sample.name for sample in group]
        told = figures[kind]
        answers = asked(python, paths * (rounds + 1))
        told.peak_mb = max(answer["peak_mb"] for answer in answers)
        told.seconds = [answer["seconds"] for answer in answers[len(paths) :]]
        for path, answer, sample in zip(paths, answers, group, strict=False):
            count_words(told, sample, answer["text"])
            if not answer["text"].strip():
                told.refused += 1
                continue
            drafts.append(
                Draft(
                    "ingest",
                    str(path),
                    answer["text"],
                    title=path.stem,
                    metadata=place_metadata(path.name, "", ""),
                )
            )
    with common.temporary_folder("home-") as home, opened(home) as memory:
        memory.ingest(drafts)
        ask(memory, samples, folder, figures)
    return figures


def grouped(samples: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the samples by format: each gets a process of its own, whose memory is its own."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for sample in samples:
        groups[kind_of(sample.name)].append(sample)
    return groups


def asked(python: str, paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return what markitdown answers for each path, in one process."""
    done = subprocess.run(
        [python, "-c", MARKITDOWN],
        input="".join(f"{path}\n" for path in paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def opened(home: Path) -> Ragmem:
    return Ragmem.open(environ={"RAGMEM_HOME": str(home)}, home=home, cwd=home)


def ask(memory: Ragmem, samples: Iterable[Any], folder: Path, figures: Mapping[str, Figures]) -> None:
    """Count for which questions the file, the passage and the place are among the first three."""
    for sample in samples:
        told = figures[kind_of(sample.name)]
        for question, answer, locator in sample.questions:
            path = str(folder / sample.name)
            found = memory.query(question).matches[:RANK]
            right = [match for match in found if match.memory.uri.split("#")[0] == path]
            told.questions += 1
            told.files += bool(right)
            told.passages += any(plain(answer) in passage(match) for match in right)
            told.places += any(
                match.memory.uri == (f"{path}#{locator}" if locator else path) for match in right
            )


def count_words(told: Figures, sample: Any, text: str) -> None:
    """Count how many distinct words that a picture shows are in the text."""
    shown = set(re.findall(r"\w+", " ".join(sample.written).casefold()))
    told.written += len(shown)
    told.seen += len(shown.intersection(re.findall(r"\w+", text.casefold())))


def passage(match: Match) -> str:
    return plain(" ".join(chunk.text for chunk in (match.chunk, *match.also)))


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def kind_of(name: str) -> str:
    return KINDS.get(name) or NAMES[FORMATS[Path(name).suffix]]


def report(document: dict[str, Any], figures: Mapping[str, Mapping[str, Figures]], options: Any) -> None:
    rows = []
    for kind in (*NAMES.values(), *GROUPS.values()):
        for system, by_format in figures.items():
            if kind in by_format:
                rows.append([kind, system, *cells(by_format[kind])])
    for system, by_format in figures.items():
        whole = Figures()
        for told in by_format.values():
            whole.seconds += told.seconds
            whole.peak_mb = max(whole.peak_mb, told.peak_mb)
            for name in ("files", "passages", "places", "questions", "refused", "written", "seen"):
                setattr(whole, name, getattr(whole, name) + getattr(told, name))
        rows.append(["all", system, *cells(whole)])
    notes = [
        "ms: median of a format's documents, with the libraries loaded; ragmem uses a separate process",
        "MB: peak memory of a process that reads only this format",
        "file, passage, place: questions with the right one among the first three answers",
        "words: share of the distinct words in scans and screenshots that are in the text",
        "markitdown's text of a file is one memory; ragmem's memories are parts of it",
    ]
    refused = sum(told.refused for told in figures.get("markitdown", {}).values())
    if refused:
        notes.append(f"markitdown gave no text for {refused} of the documents")
    headers = ["format", "system", "ms", "MB", "words", "file", "passage", "place"]
    common.report("documents", document, headers, rows, options=options, notes=notes)


def cells(told: Figures) -> list[str]:
    median = common.spread(told.seconds)["median"]
    counts = (told.files, told.passages, told.places)
    return [
        f"{1000 * median:,.0f}",
        f"{told.peak_mb:,.0f}",
        f"{told.seen / told.written:.0%}" if told.written else "",
        *(f"{count} of {told.questions}" for count in counts),
    ]


if __name__ == "__main__":
    main()
