"""Score entities and relations against annotated passages: by rules, simpler rules, a language model, both.

A second table tells by type what the rules find in those passages, and in passages of `--corpus` that were
chosen at random and annotated after the rules were written (`extraction_held_back.toml`).

A folder has `dev.jsonl` (`id`, `text`, `entities` with `name`, `aliases`, `type`, `relations`, and what
counts for nothing: `optional_entities`, `optional_relations`) and its scorer, `score.py`. A language model is
asked where config.toml has one below [language_model], and counts like any other request. The key phrases of
yake are compared where it is installed: `pip install yake`.
"""

import json
import runpy
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import common
from measures import extraction_baselines as baselines

from ragmem.api.memory import Ragmem
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.entities.entities import canonical_key
from ragmem.domain.entities.extraction import extract
from ragmem.domain.entities.extraction_answer import Answer, read_answer, unite
from ragmem.domain.entities.extraction_prompt import SCHEMA, SYSTEM, prompt
from ragmem.domain.model import Chunk, Extraction
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk
from ragmem.domain.text.code_spans import classify_code
from ragmem.domain.text.token_types import classify_token
from ragmem.domain.text.word_shapes import shape_of
from ragmem.ports import LanguageModel
from ragmem.services.entities.extraction import Request, complete_all

SIZES = ChunkingSettings()
ROUNDS = 5
HELD_BACK = Path(__file__).with_name("extraction_held_back.toml")
TYPES = ("person", "organization", "host", "service", "tool", "model")
"""Types of the second table: those that names without the form of an identifier have."""

Passage = dict[str, Any]
Prediction = dict[str, Any]


def chunks_of(passage: Passage) -> tuple[Chunk, ...]:
    """Return the passage cut as a memory of this text would be; cut once, so that no clock sees it again."""
    return _chunks(passage["id"], passage["text"])


@cache
def _chunks(memory_id: str, text: str) -> tuple[Chunk, ...]:
    return chunk(
        text, memory_id=memory_id, max_chars=SIZES.max_chars, min_chars=SIZES.min_chars, redactor=DEFAULT
    )


def prediction(passage: Passage, extractions: Sequence[Extraction]) -> Prediction:
    """Return all that was found in the chunks of a passage, an entity once, as the graph merges them."""
    entities = {canonical_key(one.name): one for found in reversed(extractions) for one in found.entities}
    relations = [one for found in extractions for one in found.relations]
    return {
        "id": passage["id"],
        "entities": [{"name": one.name, "type": one.type} for one in reversed(entities.values())],
        "relations": [
            {"source": one.source, "target": one.target, "relation": one.keywords} for one in relations
        ],
    }


def by_rules(passage: Passage) -> list[Extraction]:
    return [extract(one) for one in chunks_of(passage)]


def by_names(find: baselines.Find) -> Callable[[Passage], list[Extraction]]:
    """Return an extractor that takes the names that `find` returns for what they are."""

    def extractor(passage: Passage) -> list[Extraction]:
        return [baselines.extraction(one, find) for one in chunks_of(passage)]

    return extractor


def with_rules(find: baselines.Find) -> Callable[[Passage], list[Extraction]]:
    """Return an extractor that adds what `find` returns to the entities of the rules."""

    def extractor(passage: Passage) -> list[Extraction]:
        return [unite(extract(one), baselines.extraction(one, find)) for one in chunks_of(passage)]

    return extractor


def by_annotation(passage: Passage) -> list[Extraction]:
    """Return the annotation itself, read like a model's answer: what the reading keeps of a perfect one."""
    rows = [
        {"source": one["source"], "target": one["target"], "keywords": one["relation"]}
        for one in passage["relations"]
    ]
    perfect = json.dumps({"entities": passage["entities"], "relationships": rows})
    answers = [(one, read_answer(perfect, one.searchable)) for one in chunks_of(passage)]
    return [Extraction(one.id, answer.entities, answer.relations) for one, answer in answers]


def ask(
    model: LanguageModel, passages: Sequence[Passage], *, max_tokens: int, concurrency: int
) -> dict[str, Answer]:
    """Return the model's answers by the ids of the chunks; raises BackendError where there is none."""
    chunks = {one.id: one for passage in passages for one in chunks_of(passage)}
    prompts = {key: prompt(one) for key, one in chunks.items()}
    answers: dict[str, Answer] = {}
    request = Request(SYSTEM, max_tokens, SCHEMA)
    for found in complete_all(model, prompts, request, concurrency=concurrency, stop=threading.Event()):
        for key, outcome in found.items():
            if not isinstance(outcome, str):
                raise outcome
            answers[key] = read_answer(outcome, chunks[key].searchable)
        common.tell(f"{len(answers)} of {len(prompts)} chunks answered")
    return answers


def with_answers(answers: Mapping[str, Answer], *, rules: bool) -> Callable[[Passage], list[Extraction]]:
    """Return an extractor like the one that indexes: the rules stand where there is no answer of use."""

    def extractor(passage: Passage) -> list[Extraction]:
        result = []
        for one in chunks_of(passage):
            answer = answers[one.id]
            found = Extraction(one.id, answer.entities, answer.relations)
            if not answer.entities:
                result.append(extract(one))
            else:
                result.append(unite(extract(one), found) if rules else found)
        return result

    return extractor


def score(
    score_all: Callable[..., dict[str, Any]],
    passages: Sequence[Passage],
    extractor: Callable[[Passage], list[Extraction]],
) -> dict[str, Any]:
    """Return the scorer's figures, and how much text a second of one core takes at best, its words unseen."""
    rounds = []
    for _ in range(ROUNDS):
        for seen in (classify_code, classify_token, shape_of):
            seen.cache_clear()
        began = time.process_time()
        found = [extractor(passage) for passage in passages]
        rounds.append(time.process_time() - began)
    predictions = {one["id"]: prediction(one, parts) for one, parts in zip(passages, found, strict=True)}
    size = sum(len(passage["text"].encode()) for passage in passages)
    return {**score_all(passages, predictions), "bytes_per_second": size / min(rounds)}


def held_back(corpus: Path) -> list[Passage]:
    """Return passages of the corpus that were annotated after the rules were written, without relations."""
    found = tomllib.loads(HELD_BACK.read_text(encoding="utf-8"))["passage"]
    return [
        {
            "id": f"held{number}",
            "text": (corpus / one["file"]).read_text(encoding="utf-8", errors="replace")[slice(*one["span"])],
            "entities": [
                {"name": name, "type": kind, "aliases": more} for name, kind, *more in one["entities"]
            ],
            "relations": [],
            "optional_entities": one["optional"],
            "optional_relations": [],
        }
        for number, one in enumerate(found)
    ]


def by_type(scorer: Mapping[str, Any], passages: Sequence[Passage]) -> dict[str, dict[str, int]]:
    """Return for each type how many entities are annotated, found with it, told, and rightly told."""
    counts = {kind: Counter[str]() for kind in TYPES}
    for passage in passages:
        gold = passage["entities"]
        told = prediction(passage, by_rules(passage))["entities"]
        links = [(one["type"], scorer["link"](one["name"], gold), one["name"]) for one in told]
        for number, entity in enumerate(gold):
            if entity["type"] in counts:
                counts[entity["type"]]["annotated"] += 1
                found = any(link == (number, "full") and kind == entity["type"] for kind, link, _ in links)
                counts[entity["type"]]["found"] += found
        for kind, link, name in links:
            if kind in counts and not (link is None and scorer["is_opt"](name, passage)):
                counts[kind]["told"] += 1
                counts[kind]["right"] += (
                    link is not None and link[1] == "full" and gold[link[0]]["type"] == kind
                )
    return {kind: dict(found) for kind, found in counts.items()}


def types_table(sets: Mapping[str, dict[str, dict[str, int]]]) -> list[list[str]]:
    """Return a row for each type: of the annotated ones those found, of those told the right ones, by set."""
    return [
        [
            kind,
            *(
                f"{counts[kind].get(part, 0)} of {counts[kind].get(whole, 0)}"
                for counts in sets.values()
                for part, whole in (("found", "annotated"), ("right", "told"))
            ),
        ]
        for kind in TYPES
    ]


def extractors_without_models() -> dict[str, Callable[[Passage], list[Extraction]]]:
    """Return what needs no language model, by name."""
    found = {
        "rules": by_rules,
        "code spans": by_names(baselines.code_spans),
        "code spans, capitals, paths": by_names(baselines.surface),
    }
    phrases = baselines.phrases()
    if phrases is not None:
        found["key phrases (yake)"] = by_names(phrases)
        found["rules and key phrases"] = with_rules(phrases)
    return {**found, "the annotation, parsed as answers": by_annotation}


def main() -> int:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/extraction")
    parser.add_argument("--set", default="dev.jsonl", metavar="NAME", help="which file of the folder")
    parser.add_argument(
        "--corpus", type=Path, default=Path("../shared/corpus"), help="where HELD_BACK's files are"
    )
    options = parser.parse_args()
    about = common.machine()
    lines = (options.data / options.set).read_text(encoding="utf-8").splitlines()
    passages = [json.loads(line) for line in lines if line.strip()]
    scorer = runpy.run_path(str(options.data / "score.py"))
    score_all = scorer["score"]
    others = held_back(options.corpus)
    if options.quick:
        passages = passages[:5]

    extractors = extractors_without_models()
    notes = [f"{len(passages)} passages; the annotation itself scores 1 before parsing"]
    if baselines.phrases() is None:
        notes.append(f"yake is not installed: {baselines.YAKE}")
    with Ragmem.open() as memory:
        settings = memory.settings
        model = memory.models.language_model
        if model is None:
            notes.append("no language model was configured: [language_model] in config.toml")
        else:
            answers = ask(
                model,
                passages,
                max_tokens=settings.extraction.max_tokens,
                concurrency=settings.language_model.concurrency,
            )
            extractors[f"llm: {model.model_id}"] = with_answers(answers, rules=False)
            extractors[f"both: {model.model_id}"] = with_answers(answers, rules=True)
            invalid = sum(not answer.is_valid for answer in answers.values())
            invented = sum(answer.invented for answer in answers.values())
            notes.append(f"{len(answers)} chunks: {invalid} invalid answers, {invented} invented entities")
    results = {name: score(score_all, passages, extractor) for name, extractor in extractors.items()}
    rows = [
        [
            name,
            *(f"{result['entity_strict'][one]:.3f}" for one in ("P", "R", "F1")),
            f"{result['type_acc']:.3f}" if result["type_acc"] else "",
            *(f"{result['relation_undirected'][one]:.3f}" for one in ("P", "R", "F1")),
            f"{result['relation_directed']['F1']:.3f}",
            ""
            if name.startswith(("the annotation", "llm", "both"))
            else f"{result['bytes_per_second'] / 1e3:,.0f}",
        ]
        for name, result in results.items()
    ]
    headers = [
        "found by",
        "entities P",
        "R",
        "F1",
        "type right",
        "relations P",
        "R",
        "F1",
        "directed F1",
        "kB/s",
    ]
    others_scored = score(score_all, others, by_rules)
    strict = others_scored["entity_strict"]
    rows.append(
        [
            f"rules, {len(others)} passages held out",
            *(f"{strict[one]:.3f}" for one in ("P", "R", "F1")),
            f"{others_scored['type_acc']:.3f}",
            *[""] * 4,
            f"{others_scored['bytes_per_second'] / 1e3:,.0f}",
        ]
    )
    sets = {"dev": by_type(scorer, passages), "held out": by_type(scorer, others)}
    document = {
        "benchmark": "extraction",
        "machine": about,
        "passages": len(passages),
        "results": results,
        "types": sets,
    }
    common.report("extraction", document, headers, rows, options=options, notes=notes)
    common.report(
        "extraction-types",
        document,
        ["type", *(f"{name}: {what}" for name in sets for what in ("found", "right"))],
        types_table(sets),
        options=options,
        notes=[
            f"found: of the annotation in {len(passages)} and {len(others)} passages; right: of the results"
        ],
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
