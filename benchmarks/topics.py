"""Measure how well a change of topic is detected from the prompts of a session.

Prompts that follow each other in a session go on (some do not, nobody has marked them); the first prompt of
another session of the same project stands for a change. Sessions: coding with an assistant, and talk.

Follow-ups: after a real first prompt, a short one names something that a few other sessions have, in several
languages; and the short prompts of the sessions that name nothing.
"""

import json
import random
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from injections import QUICK, build
from inputs.retrieval_sets import RetrievalSet
from inputs.vector_cache import CachedModels, VectorCache

from ragmem.api.memory import Ragmem
from ragmem.domain.text.identifiers import identifiers
from ragmem.services.context.topics import THRESHOLD, Topic, prompt_text, reason_to_skip, watch

THRESHOLDS = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
UNRELATED_SHARE = 0.3
"""Share of pairs of unrelated texts below the threshold of the bundled model."""

UNRELATED_PAIRS = 1000
MAX_PROMPTS = 25
MAX_SESSIONS = 200
MAX_CHARS = 800
MAX_NAME = 60
MOST_FOLLOW_UPS = 60
MOST_PLAIN = 6
"""Words of a prompt that names nothing, at most."""

_CAPITAL = re.compile(r"\s[A-Z]")

Session = tuple[str, list[str]]


def coding_sessions(data: Path) -> list[Session]:
    """Return (project, prompts) of the sessions in which somebody had code written."""
    found = []
    for line in (data / "codesess_commit/docs.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        prompts: list[str] = []
        speaker = ""
        for text in document["text"].split("\n"):
            begun = re.match(r"(user|assistant): ?(.*)", text)
            if begun:
                speaker = begun[1]
                if speaker == "user":
                    prompts.append(begun[2])
            elif speaker == "user":
                prompts[-1] += f"\n{text}"
        found.append((document["scope"], [prompt.strip() for prompt in prompts if prompt.strip()]))
    return found


def talks(data: Path) -> list[Session]:
    """Return (project, prompts) of the sessions of talk; all are of one project."""
    found: dict[str, list[str]] = {}
    for line in (data / "lme_turn/docs.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        if document["text"].startswith("user: "):
            found.setdefault(document["meta"]["session"], []).append(document["text"].removeprefix("user: "))
    return [("talk", prompts) for prompts in found.values()]


def distances(sessions: Sequence[Session], vectors: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Return the distances of prompts that go on and of such that do not; 0 where too little is said."""
    drawn = random.Random(3)
    going, leaving = [], []
    for project, prompts in sessions:
        others = [item for item in sessions if item[0] == project and item[1] is not prompts]
        topic: Topic | None = None
        for prompt in prompts:
            judged = watch(topic, prompt, vectors[prompt], model="m", threshold=9.0)
            if topic is not None:
                going.append(judged.distance or 0.0)
                other = drawn.choice(others)[1][0]
                leaving.append(watch(topic, other, vectors[other], model="m", threshold=9.0).distance or 0.0)
            topic = judged.topic
    return going, leaving


FEW = 5
"""Sessions that have a name, at most, of which a follow-up is made."""

NAMING = (
    "now {} too",
    "also the {}",
    "and {}?",
    "do the same for {} please",
    "was ist mit {}",
    "et pour {} ?",
    "\u90a3\u4e48 {} \u5462",
)
PLAIN = ("yes, go on", "continue", "ok, commit it", "ja, mach weiter", "oui, continue", "\u7ee7\u7eed")


@dataclass(slots=True)
class FollowUps:
    """What follow-ups were told: how many got something, and how many the memory that has the name."""

    prompts: int = 0
    given: int = 0
    right: int = 0


def follow_ups(data: Path, folder: Path, options: Any) -> dict[str, FollowUps]:
    """Return what follow-ups that name something new are told, and such that name nothing."""
    chosen = RetrievalSet.read(data / "codesess_commit")
    drawn = random.Random(11)
    having: dict[str, set[str]] = {}
    for draft in chosen.drafts:
        for name in identifiers(draft.text):
            if 4 <= len(name) <= MAX_NAME:
                having.setdefault(name, set()).add(draft.uri)
    by_document: dict[str, list[str]] = {}
    for name, holders in sorted(having.items()):
        if len(holders) <= FEW:
            by_document.setdefault(min(holders), []).append(name)
    sessions = {prompts[0]: prompts for _, prompts in coding_sessions(data) if prompts}
    short = sorted(
        {
            prompt
            for prompts in sessions.values()
            for prompt in prompts[1:]
            if len(prompt.split()) <= MOST_PLAIN and not identifiers(prompt) and not _CAPITAL.search(prompt)
        }
    )
    found = {"naming": FollowUps(), "plain": FollowUps()}
    plain = Ragmem.open(environ=common.environment(folder), home=folder, cwd=folder)
    cache = VectorCache(options.cache, plain.models.embedder)
    models: Any = CachedModels(plain.models, cache)
    with Ragmem(plain.settings, home=folder, cwd=folder, models=models) as memory:
        documents = build(memory, chosen)
        scopes = {draft.uri: draft.scope.project for draft in chosen.drafts}
        asked = [
            (drawn.choice(NAMING).format(name), scopes[uri], having[name])
            for uri, names in sorted(by_document.items())
            for name in drawn.sample(names, 1)
        ]
        asked = drawn.sample(asked, min(len(asked), MOST_FOLLOW_UPS))
        short = drawn.sample(short, min(len(short), MOST_FOLLOW_UPS - len(PLAIN)))
        quiet = [(prompt, "cli", frozenset[str]()) for prompt in (*PLAIN, *short)]
        firsts = sorted(sessions)
        for sort, prompts in (("naming", asked), ("plain", quiet)):
            for number, (prompt, scope, gold) in enumerate(prompts[: QUICK if options.quick else None]):
                session = f"{sort} {number}"
                for said in (drawn.choice(firsts), prompt):
                    block = memory.injections.anticipate(
                        session, said, event="prompt", projects=[scope], at=chosen.latest
                    ).context
                told = {documents[one.id] for one in block.memories}
                found[sort].prompts += 1
                found[sort].given += bool(told)
                found[sort].right += bool(told & gold)
    cache.close()
    plain.close()
    return found


def report_follow_ups(options: Any) -> None:
    """Measure follow-ups and report them."""
    document: dict[str, Any] = {"benchmark": "follow-ups", "machine": common.machine()}
    with common.temporary_folder("topics") as folder:
        found = follow_ups(options.data, folder, options)
    document["today"] = {sort: asdict(one) for sort, one in found.items()}
    former = json.loads(options.beside.read_text(encoding="utf-8"))["today"] if options.beside else None
    rows = []
    for label, figures in (("the former release", former), ("today", document["today"])):
        if figures:
            naming, quiet = figures["naming"], figures["plain"]
            rows.append(
                [
                    label,
                    str(naming["prompts"]),
                    f"{naming['given'] / naming['prompts']:.2f}",
                    f"{naming['right'] / naming['prompts']:.2f}",
                    str(quiet["prompts"]),
                    f"{1 - quiet['given'] / quiet['prompts']:.2f}",
                ]
            )
    headers = ["", "follow-ups that name something", "got something", "found", "others", "silence"]
    common.report("follow-ups", document, headers, rows, options=options)


def area(going: Sequence[float], leaving: Sequence[float]) -> float:
    """Return how often a change lies farther than a continuation (half for equal ones)."""
    one, other = np.asarray(going), np.asarray(leaving)
    return float(((other[:, None] > one).mean() + (other[:, None] >= one).mean()) / 2)


def threshold_of(vectors: Sequence[Sequence[float]]) -> float:
    """Return the threshold of a model, from vectors of unrelated texts: neighbours, then every second one."""
    units = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    found: list[float] = []
    for step in range(1, len(units)):
        found += (1.0 - cosines.diagonal(step)).tolist()
        if len(found) >= UNRELATED_PAIRS:
            break
    return sorted(found)[int(UNRELATED_SHARE * len(found))]


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ragmem-vectors", metavar="DIR"
    )
    parser.add_argument("--follow-ups", action="store_true", help="measure short prompts that name something")
    parser.add_argument(
        "--beside", type=Path, metavar="FILE", help="follow-ups of another release, by --json"
    )
    options = parser.parse_args()
    if options.follow_ups:
        report_follow_ups(options)
        return
    about = common.machine()
    sets = {"coding sessions": coding_sessions(options.data), "talk": talks(options.data)}
    rows, notes = [], []
    document: dict[str, Any] = {"benchmark": "topics", "machine": about, "sets": {}}
    with (
        common.temporary_folder("topics") as home,
        Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory,
    ):
        cache = VectorCache(options.cache, memory.models.embedder)
        for name, found in sets.items():
            sessions = [(project, prompts[:MAX_PROMPTS]) for project, prompts in found if len(prompts) > 1]
            sessions = random.Random(1).sample(
                sessions, min(len(sessions), 50 if options.quick else MAX_SESSIONS)
            )
            prompts = sorted({prompt for _, asked in sessions for prompt in asked})
            embedded = cache.embed(
                [prompt_text(prompt)[:MAX_CHARS] or "-" for prompt in prompts], role="query"
            )
            vectors = {prompt: row.tolist() for prompt, row in zip(prompts, embedded, strict=True)}
            going, leaving = distances(sessions, vectors)
            judged = [(one, two) for one, two in ((going, "going"), (leaving, "leaving")) if two]
            silent = {told: sum(not item for item in values) / len(values) for values, told in judged}
            full = ([item for item in going if item], [item for item in leaving if item])
            points = {
                threshold: (
                    sum(item > threshold for item in going) / len(going),
                    sum(item > threshold for item in leaving) / len(leaving),
                )
                for threshold in THRESHOLDS
            }
            document["sets"][name] = {
                "sessions": len(sessions),
                "pairs": len(going),
                "area": area(going, leaving),
                "area_judged": area(*full),
                "silent": silent,
                "points": {str(key): value for key, value in points.items()},
            }
            for threshold, (false, true) in points.items():
                chosen = " (default)" if threshold == THRESHOLD else ""
                rows.append(
                    [f"{name}, {threshold:g}{chosen}", str(len(going)), f"{false:.3f}", f"{true:.3f}"]
                )
            first = [
                vectors[asked[0]]
                for _, asked in random.Random(5).sample(sessions, min(60, len(sessions)))
                if not reason_to_skip(asked[0])
            ]
            whole, judged_area = area(going, leaving), area(*full)
            mute = f"{silent['going']:.2f} of further prompts and {silent['leaving']:.2f} of first prompts"
            notes += [
                f"{name}: area under the curve {whole:.3f} of all, {judged_area:.3f} of judged prompts",
                f"{name}: too short to judge are {mute}",
                f"{name}: threshold calibrated on {len(first)} first prompts: {threshold_of(first):.2f}",
            ]
        cache.close()
    headers = ["sessions, threshold", "pairs", "false switches", "switches found"]
    common.report("topics", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
