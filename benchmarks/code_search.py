"""Measure code search: files for questions about repositories, compared with BM25, vectors and semble.

    python benchmarks/code_search.py --data FOLDER [--peer PYTHON] [--vectors N] [--folds N] [--markdown FILE]

The questions are those of semble's public benchmark (github.com/MinishLab/semble, folder `benchmarks`).
FOLDER has its `repos.json` and `annotations/`, and the repositories at their revisions in `repos/NAME`, of
which only `benchmark_root` is read. `results/` may hold its published results. PYTHON is an interpreter with
semble (`pip install semble`). Its static model comes from a hub; without it semble runs on BM25 and its
ranking alone. `--vectors N` embeds the chunks of the N smallest repositories with the bundled model.
`--folds 5` learns the weights on four fifths of the repositories, and measures them on the other fifth.
"""

import json
import math
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np

from ragmem.api.memory import Ragmem
from ragmem.services.code.search import WEIGHTS, CodePlace, chunk_scores, rank_files, words_of_question
from ragmem.storage.code.word_index import WordIndex, word_index

DEPTH = 10
"""Places that count in NDCG."""

CANDIDATES = 70
"""Files of a question that weights may put into another order."""

STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Sizes of a weight that are tried; its sign is given."""

LEAST_GAIN = 3e-4
"""A weight changes only for more than this, because smaller differences are noise."""

CLASSES = ("symbol", "semantic", "architecture")
HEADERS = ["system", "repositories", "NDCG@10", *CLASSES, "CPU ms p50", "p95", "index CPU s"]
PEER = Path(__file__).with_name("code_search_peer.py")

Place = tuple[str, int, int]
"""A path, and its first and last line."""

Target = tuple[str, int | None, int | None]
"""A path that is right, and its lines where the annotation names them."""

Ranked = tuple[list[Place], float]
"""The places for a question, and the CPU milliseconds that they took."""


def main() -> None:
    """Ask every system all questions and print a table."""
    parser = common.arguments(__doc__ or "", data="../shared/code_search")
    parser.add_argument("--peer", help="a Python with semble")
    parser.add_argument("--vectors", type=int, default=0, help="repositories whose chunks are embedded")
    parser.add_argument("--folds", type=int, default=0, help="cross-validate the weights over repositories")
    parser.add_argument("--most-files", type=int, default=10_000, help="leave larger repositories out")
    options = parser.parse_args()
    names = available(options.data)
    if not names:
        raise SystemExit(
            f"code_search: {options.data} has no repos.json with repos/NAME: copy repos.json and annotations/"
            " of github.com/MinishLab/semble/benchmarks there, and check out each repository at its revision"
        )
    runs: dict[str, dict[str, dict[str, Any]]] = {}
    with common.temporary_folder("code_search") as folder:
        small = sorted(names, key=lambda name: files_in(names[name]))
        chosen = [name for name in small if files_in(names[name]) <= options.most_files]
        for place, name in enumerate(chosen[:3] if options.quick else chosen):
            common.tell(f"reading {name}")
            for system, run in measure(names[name], folder / name, questions(options.data, name)).items():
                runs.setdefault(system, {})[name] = run
            if place < options.vectors:
                runs.setdefault("ragmem's vectors", {})[name] = embed(
                    names[name], folder / name, questions(options.data, name)
                )
    if options.peer:
        asked = {name: [one["query"] for one in questions(options.data, name)] for name in runs["ragmem"]}
        runs |= peer(options.peer, names, asked)
    rows: list[list[str]] = []
    document: dict[str, Any] = {"benchmark": "code_search", "machine": common.machine(), "systems": {}}
    for system, found in runs.items():
        figures = summarize(options.data, found)
        document["systems"][system] = figures
        rows.append(row(system, figures))
    if published := as_published(options.data, runs["ragmem"]):
        document["published"] = published
        rows.append(["semble, hybrid, as published", *published])
    notes = [NOTE]
    if options.folds:
        evidence = {
            name: [
                Evidence(candidates, list(targets(one)))
                for one, candidates in zip(questions(options.data, name), run_["candidates"], strict=True)
            ]
            for name, run_ in runs["ragmem"].items()
        }
        document["cross_validated"] = unseen = cross_validate(evidence, options.folds)
        notes.append(
            f"With weights learnt on other repositories than those they are measured on"
            f" ({options.folds} folds, from equal weights): NDCG@10 {unseen:.3f}."
        )
    common.report("code_search", document, HEADERS, rows, options=options, notes=notes)


NOTE = (
    "NDCG is by file, over all annotated files. A published figure is the mean over the same"
    " repositories. ragmem's index includes the code graph; the time of vectors excludes the"
    " embedding of the question, which ragmem's code search does not need."
)


def available(data: Path) -> dict[str, Path]:
    """Return the repositories that are there, as the folders that are read."""
    if not (data / "repos.json").exists():
        return {}
    found = {}
    for one in json.loads((data / "repos.json").read_text()):
        root = data / "repos" / one["name"] / (one.get("benchmark_root") or "")
        if root.is_dir() and (data / "annotations" / f"{one['name']}.json").exists():
            found[one["name"]] = root
    return found


def files_in(root: Path) -> int:
    """Return the number of files in a folder."""
    return sum(path.is_file() for path in root.rglob("*"))


def questions(data: Path, name: str) -> list[dict[str, Any]]:
    """Return the annotated questions of a repository."""
    found: list[dict[str, Any]] = json.loads((data / "annotations" / f"{name}.json").read_text())
    return found


def measure(root: Path, home: Path, asked: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the answers of ragmem and of plain BM25 for a repository, and the seconds to read it."""
    # A repository's folder is a project of its own, wherever it lies.
    with Ragmem.open(environ=common.environment(home), home=root.parent, cwd=root) as memory:
        started = time.process_time()
        report = memory.code.ingest(root)
        seconds = time.process_time() - started
        index = word_index(memory.catalog.database, report.project)
        if index is None:
            raise SystemExit(f"code_search: {root} has no code")
        return {
            "BM25": run(lambda question: plain(index, question), asked, seconds),
            "ragmem": run(lambda question: ranked(index, question), asked, seconds)
            | {"candidates": [list(rank_files(index, one["query"], limit=CANDIDATES)) for one in asked]},
        }


def run(ask: Any, asked: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, Any]:
    """Return the answers of one system; each question is asked twice, and the second time counts."""
    answers: list[Ranked] = []
    for one in asked:
        ask(one["query"])
        started = time.process_time()
        places = ask(one["query"])
        answers.append((places, (time.process_time() - started) * 1000))
    return {"answers": answers, "seconds": seconds}


def ranked(index: WordIndex, question: str) -> list[Place]:
    """Return the places of ragmem's ranking."""
    return [(one.path, one.line, one.end_line) for one in rank_files(index, question, limit=DEPTH)]


def plain(index: WordIndex, question: str) -> list[Place]:
    """Return the best chunks by BM25 alone."""
    return best_chunks(index, chunk_scores(index, words_of_question(question).stems)[0])


def best_chunks(index: WordIndex, scores: Any) -> list[Place]:
    """Return the places of the chunks with the highest scores above zero."""
    order = [place for place in np.argsort(-scores, kind="stable")[:DEPTH].tolist() if scores[place] > 0]
    return [
        (index.paths[int(index.chunk_file[at])], int(index.chunk_first[at]), int(index.chunk_last[at]))
        for at in order
    ]


def embed(root: Path, home: Path, asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answers by the bundled model's vectors of the chunks alone."""
    with Ragmem.open(environ=common.environment(home), home=root.parent, cwd=root) as memory:
        [project] = [one.project for one in memory.catalog.code.roots()]
        index = word_index(memory.catalog.database, project)
        if index is None:
            raise SystemExit(f"code_search: {root} has no code")
        texts = {path: (root / path).read_text("utf-8", "replace").split("\n") for path in index.paths}
        files = [index.paths[file] for file in index.chunk_file.tolist()]
        lines = zip(files, index.chunk_first.tolist(), index.chunk_last.tolist(), strict=True)
        chunks = ["\n".join(texts[path][first - 1 : last]) for path, first, last in lines]
        embedder = memory.models.embedder
        started = time.process_time()
        vectors = np.asarray(embedder.embed(chunks, role="document"))
        seconds = time.process_time() - started

        def ask(question: str) -> list[Place]:
            [vector] = np.asarray(embedder.embed([question], role="query"))
            return best_chunks(index, vectors @ vector)

        return run(ask, asked, seconds)


def peer(python: str, roots: Mapping[str, Path], asked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the answers of semble, without and with its ranking."""
    given = json.dumps({name: {"root": str(roots[name]), "questions": asked[name]} for name in asked})
    done = subprocess.run([python, str(PEER)], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"code_search: semble ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def summarize(data: Path, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean figures of one system over all questions."""
    gains: dict[str, list[float]] = {kind: [] for kind in CLASSES}
    by_repository, times = {}, []
    for name, run_ in found.items():
        own = []
        for one, (places, took) in zip(questions(data, name), run_["answers"], strict=True):
            own.append(ndcg(places, list(targets(one))))
            gains[kind_of(one)].append(own[-1])
            times.append(took)
        by_repository[name] = statistics.fmean(own)
    everything = [gain for of_kind in gains.values() for gain in of_kind]
    return {
        "repositories": by_repository,
        "ndcg": statistics.fmean(everything),
        "by_class": {kind: statistics.fmean(of_kind) if of_kind else None for kind, of_kind in gains.items()},
        "p50": common.percentile(times, 0.5),
        "p95": common.percentile(times, 0.95),
        "index_seconds": sum(run_["seconds"] for run_ in found.values()),
    }


def kind_of(question: Mapping[str, Any]) -> str:
    """Return the class of a question, by its form where the annotation has none."""
    text = question["query"].strip()
    kind: str = question.get("category") or (
        "symbol" if " " not in text else "architecture" if text.lower().startswith("how ") else "semantic"
    )
    return kind


def targets(question: Mapping[str, Any]) -> Iterator[Target]:
    """Yield what a question means: a path, and lines where the annotation names them."""
    for one in (*question.get("relevant", ()), *question.get("secondary", ())):
        if isinstance(one, str):
            yield one, None, None
        else:
            yield one["path"], one.get("start_line"), one.get("end_line")


def ndcg(places: Sequence[Place], wanted: Sequence[Target]) -> float:
    """Return the normalized discounted cumulative gain at DEPTH, as semble's benchmark counts it."""
    ranks = set()
    for path, first, last in wanted:
        for rank, (file, begin, end) in enumerate(places[:DEPTH]):
            same = file == path or file.endswith(f"/{path}") or path.endswith(f"/{file}")
            if same and (first is None or last is None or (end >= first and begin <= last)):
                ranks.add(rank)
                break
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(wanted))))
    return sum(1 / math.log2(rank + 2) for rank in ranks) / ideal if ideal else 0.0


class Evidence:
    """The candidates of one question: what each term says of them, unweighted, and which are right."""

    def __init__(self, candidates: Sequence[CodePlace], wanted: Sequence[Target]) -> None:
        terms = [[one.terms[name] / weight for name, weight in WEIGHTS.items()] for one in candidates]
        self.terms = np.array(terms).reshape(-1, len(WEIGHTS))
        self.factors = np.array([one.score / (sum(one.terms.values()) or 1.0) for one in candidates])
        self.places: list[Place] = [(one.path, one.line, one.end_line) for one in candidates]
        self.wanted = wanted

    def gain(self, weights: Any) -> float:
        """Return the question's NDCG with these weights."""
        order = np.argsort(-(self.terms @ weights) * self.factors, kind="stable")[:DEPTH]
        return ndcg([self.places[place] for place in order.tolist()], self.wanted)


def cross_validate(evidence: Mapping[str, Sequence[Evidence]], folds: int) -> float:
    """Return the mean NDCG of repositories by weights that the other folds chose."""
    names, gains = sorted(evidence), []
    for fold in range(folds):
        unseen = set(names[fold::folds])
        weights = climb([one for name in names if name not in unseen for one in evidence[name]])
        gains += [one.gain(weights) for name in sorted(unseen) for one in evidence[name]]
    return statistics.fmean(gains)


def climb(seen: Sequence[Evidence]) -> Any:
    """Return weights for questions: from equal ones, each is set to its best size until none gains."""
    signs = np.sign(list(WEIGHTS.values()))
    weights = 0.5 * signs
    best = statistics.fmean(one.gain(weights) for one in seen)
    gained = True
    while gained:
        gained = False
        for place, sign in enumerate(signs):
            for step in STEPS:
                tried = weights.copy()
                tried[place] = sign * step
                mean = statistics.fmean(one.gain(tried) for one in seen)
                if mean > best + LEAST_GAIN:
                    weights, best, gained = tried, mean, True
    return weights


def as_published(data: Path, found: Mapping[str, Any]) -> list[str]:
    """Return the row of semble's own results for the same repositories; empty without them."""
    for path in sorted((data / "results").glob("semble-hybrid-*.json")):
        document = json.loads(path.read_text())
        own = {one["repo"]: one for one in document["repos"] if one["repo"] in found}
        if own.keys() != found.keys():
            continue
        kinds = [
            [one["by_category"][kind] for one in own.values() if kind in one["by_category"]]
            for kind in CLASSES
        ]
        mean = statistics.fmean(one["ndcg10"] for one in own.values())
        return [
            str(len(own)),
            f"{mean:.3f}",
            *(f"{statistics.fmean(kind):.3f}" for kind in kinds),
            "",
            "",
            "",
        ]
    return []


def row(system: str, figures: Mapping[str, Any]) -> list[str]:
    """Return the row of a system."""
    kinds = [figures["by_class"][kind] for kind in CLASSES]
    return [
        system,
        str(len(figures["repositories"])),
        f"{figures['ndcg']:.3f}",
        *("" if kind is None else f"{kind:.3f}" for kind in kinds),
        f"{figures['p50']:.2f}",
        f"{figures['p95']:.2f}",
        f"{figures['index_seconds']:.1f}",
    ]


if __name__ == "__main__":
    main()
