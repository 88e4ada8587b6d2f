"""Measure how well a change of topic is told from the prompts of a session.

Prompts that follow each other in a session go on (some do not, nobody has marked them); the first prompt of
another session of the same project stands for a change. Sessions: coding with an assistant, and talk.
"""

import json
import random
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from vector_cache import VectorCache

from ragmem.api.memory import Ragmem
from ragmem.services.context.topics import THRESHOLD, Topic, calibrate, prompt_text, reason_to_skip, watch

THRESHOLDS = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
MAX_PROMPTS = 25
MAX_SESSIONS = 200
MAX_CHARS = 800

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


def area(going: Sequence[float], leaving: Sequence[float]) -> float:
    """Return how often a change lies farther than a continuation (half for equal ones)."""
    one, other = np.asarray(going), np.asarray(leaving)
    return float(((other[:, None] > one).mean() + (other[:, None] >= one).mean()) / 2)


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ragmem-vectors", metavar="DIR"
    )
    options = parser.parse_args()
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
            mute = f"{silent['going']:.2f} of those that go on and {silent['leaving']:.2f} of first prompts"
            notes += [
                f"{name}: area under the curve {whole:.3f} of all, {judged_area:.3f} of judged prompts",
                f"{name}: not judged, because they say too little, are {mute}",
                f"{name}: threshold calibrated on {len(first)} first prompts: {calibrate(first):.2f}",
            ]
        cache.close()
    headers = ["sessions, threshold", "pairs", "false switches", "switches found"]
    common.report("topics", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
