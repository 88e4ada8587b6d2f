"""Evaluate a language model for ragmem with bundled passages and questions in nine languages.

The passages ask for what ragmem uses such a model for: entities and relations as JSON, answers from a note,
and the refusal of questions that the note does not answer. The rules extract from the same passages, so that
a person can compare. It is a small set by one annotator: differences of a few points are chance.
"""

import json
import re
import statistics
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ragmem.domain.entities.extraction import extract
from ragmem.domain.entities.extraction_answer import read_answer, unite
from ragmem.domain.entities.extraction_prompt import SCHEMA, SYSTEM, prompt
from ragmem.domain.entities.recognized_names import LABELS, add_recognized, read_spans
from ragmem.domain.injection.memory_frame import FIRST_WORDS, wrap_in_tags
from ragmem.domain.model import Chunk, Extraction
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk
from ragmem.errors import BackendError
from ragmem.ports import EntityRecognizer, LanguageModel
from ragmem.services.processes.progress import Progress
from ragmem.services.retrieval.answerer import SYSTEM as ANSWER_SYSTEM
from ragmem.services.retrieval.answerer import AnswerRequest, prompt_of

GOLD = Path(__file__).with_name("language_gold.jsonl")

REPORT_S = 120.0
"""Seconds after which no further passage is begun; the languages take turns, so that each has its share."""

STOP_AFTER = 3
"""Requests in a row without an answer after which the report ends."""

ANSWER_TOKENS = 200
"""Enough for a sentence; a longer answer is not read."""

EXTRACTORS = ("rules", "model", "both")

# Words that deny, in the languages of the passages: a refusal has one, an invented answer rarely does.
_DENIAL = re.compile(
    r"\b(no|not|nothing|nobody|none|neither|cannot|unknown|unspecified|unclear|unable|without|lacks?)\b|n[’']t\b"  # noqa: RUF001
    r"|\b(nicht|nichts|kein\w*|unbekannt|unklar|ohne)\b|\b(ne|pas|aucune?|inconnue?s?)\b|\bn[’']"  # noqa: RUF001
    r"|\b(ning[uú]n[oa]?|desconoc\w+|sin|tampoco|não|nenhum\w*|sem|desconhecid\w+)\b"
    r"|\b(non|nessun\w*|sconosciut\w+|né)\b|\b(не|нет|неизвестн\w+|отсутств\w+|ничего)\b"
    r"|没有|未|不|无|沒|ません|ない|なく|なし|不明|おらず",
    re.IGNORECASE,
)
_AROUND = " \t\n`'\"*“”‘’"  # noqa: RUF001

Pair = frozenset[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with its annotation; each name has its other forms, `answer` is "" for no answer.

    What is `optional` counts neither for nor against an extraction.
    """

    id: str
    language: str
    text: str
    entities: Mapping[str, str]
    """Form as `_norm` gives it -> name of the entity."""
    relations: frozenset[Pair]
    optional: frozenset[str]
    optional_relations: frozenset[Pair]
    question: str
    answer: str


@dataclass(slots=True)
class Counts:
    """Right, wrong and missing names or pairs, summed over passages."""

    right: int = 0
    wrong: int = 0
    missing: int = 0

    def add(self, other: "Counts") -> None:
        """Add the counts of other passages."""
        self.right += other.right
        self.wrong += other.wrong
        self.missing += other.missing

    @property
    def scores(self) -> dict[str, float]:
        """Precision, recall and F1 (0..1); 0 where nothing was found."""
        precision = self.right / max(1, self.right + self.wrong)
        recall = self.right / max(1, self.right + self.missing)
        both = precision + recall
        return {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / both if both else 0.0,
        }


@dataclass(slots=True)
class LanguageReport:
    """The figures of a model: counts, seconds, and scores by extractor ("rules", "model", "both").

    Of `passages` asked about, `valid_json` gave JSON of the wanted form, and `usable` an answer of use,
    perhaps after repair. `invented` counts entities that no passage names, `right` the answers with the right
    words, and `refused` the questions without an answer that were refused. `note` says why it ended early.
    """

    model: str
    total: int
    passages: int = 0
    valid_json: int = 0
    usable: int = 0
    invented: int = 0
    answerable: int = 0
    right: int = 0
    unanswerable: int = 0
    refused: int = 0
    seconds: float = 0.0
    seconds_per_passage: float = 0.0
    seconds_per_answer: float = 0.0
    entities: dict[str, dict[str, float]] = field(default_factory=dict)
    relations: dict[str, dict[str, float]] = field(default_factory=dict)
    languages: dict[str, dict[str, float]] = field(default_factory=dict)
    """Language -> passages, and F1 of entities by extractor."""
    note: str = ""

    @property
    def best(self) -> str:
        """The extractor with the best mean F1 of entities and relations; rules where it is no worse."""
        return max(EXTRACTORS, key=lambda name: self.entities[name]["f1"] + self.relations[name]["f1"])


@cache
def passages() -> tuple[Passage, ...]:
    """Return the passages, alternating between languages."""
    lines = GOLD.read_text(encoding="utf-8").splitlines()
    return tuple(_passage(json.loads(line)) for line in lines)


def _passage(row: Mapping[str, Any]) -> Passage:
    forms = {_norm(form): one.split("|")[0] for one in row["entities"] for form in one.split("|")}
    return Passage(
        row["id"],
        row["language"],
        row["text"],
        forms,
        frozenset(map(frozenset, row["relations"])),
        frozenset(_norm(form) for one in row["optional"] for form in one.split("|")),
        frozenset(map(frozenset, row["optional_relations"])),
        row["question"],
        row["answer"],
    )


def report_on(model: LanguageModel, *, whole: bool, progress: Progress) -> LanguageReport:
    """Ask a model about the passages, within REPORT_S unless `whole`, and return its figures.

    A request without an answer counts as a failure; after STOP_AFTER in a row the report ends with a note.
    """
    return _Run(model, whole=whole, progress=progress).report


class _Run:
    """One run over the passages."""

    def __init__(self, model: LanguageModel, *, whole: bool, progress: Progress) -> None:
        self._model = model
        self._counts = {name: (Counts(), Counts()) for name in EXTRACTORS}
        self._by_language: dict[str, dict[str, Counts]] = {}
        self._extraction_s: list[float] = []
        self._answer_s: list[float] = []
        self._failures = 0
        self.report = LanguageReport(model.model_id, len(passages()))
        progress.begin("passages", self.report.total)
        began = time.perf_counter()
        for passage in passages():
            if not whole and time.perf_counter() - began > REPORT_S:
                self.report.note = (
                    f"stopped after two minutes and {self.report.passages} passages; --whole runs all"
                )
                break
            self._extract(passage)
            self._ask(passage)
            progress.advance()
            if self._failures >= STOP_AFTER:
                break
        self._finish(time.perf_counter() - began)

    def _complete(self, text: str, taken: list[float], **options: Any) -> str:
        """Return the answer, "" if there is none."""
        began = time.perf_counter()
        try:
            answer = self._model.complete(text, **options)
        except BackendError as error:
            self._failures += 1
            self.report.note = f"no answer: {error}"
            return ""
        taken.append(time.perf_counter() - began)
        self._failures = 0
        return answer

    def _extract(self, passage: Passage) -> None:
        report = self.report
        report.passages += 1
        found: dict[str, list[Extraction]] = {name: [] for name in EXTRACTORS}
        valid = usable = True
        for one in chunks_of(passage):
            text = self._complete(
                prompt(one), self._extraction_s, system=SYSTEM, max_tokens=1500, json_schema=SCHEMA
            )
            answer = read_answer(text, one.searchable)
            valid = valid and is_valid_json(text)
            usable = usable and answer.is_valid
            report.invented += answer.invented
            ruled, told = extract(one), Extraction(one.id, answer.entities, answer.relations)
            for name, each in (("rules", ruled), ("model", told), ("both", unite(ruled, told))):
                found[name].append(each)
        report.valid_json += valid
        report.usable += usable
        by_language = self._by_language.setdefault(passage.language, {name: Counts() for name in EXTRACTORS})
        for name, parts in found.items():
            entities, relations = score(passage, parts)
            self._counts[name][0].add(entities)
            self._counts[name][1].add(relations)
            by_language[name].add(entities)

    def _ask(self, passage: Passage) -> None:
        context = wrap_in_tags(f"{FIRST_WORDS}.\n\n[1] note, 2026-06-01\n{passage.text}")
        wanted = AnswerRequest(passage.question, context, ("note, 2026-06-01",))
        answer = self._complete(
            prompt_of(wanted), self._answer_s, system=ANSWER_SYSTEM, max_tokens=ANSWER_TOKENS
        )
        if passage.answer:
            self.report.answerable += 1
            folded = answer.casefold()
            self.report.right += any(word.casefold() in folded for word in passage.answer.split("|"))
        else:
            self.report.unanswerable += 1
            self.report.refused += bool(_DENIAL.search(answer))

    def _finish(self, seconds: float) -> None:
        report = self.report
        report.seconds = seconds
        report.seconds_per_passage = statistics.median(self._extraction_s or [0.0])
        report.seconds_per_answer = statistics.median(self._answer_s or [0.0])
        for name, (entities, relations) in self._counts.items():
            report.entities[name] = entities.scores
            report.relations[name] = relations.scores
        asked = [passage.language for passage in passages()[: report.passages]]
        for language, counts in sorted(self._by_language.items()):
            scores = {name: one.scores["f1"] for name, one in counts.items()}
            report.languages[language] = {"passages": float(asked.count(language)), **scores}


def score_recognizer(recognizer: EntityRecognizer, *, threshold: float) -> dict[str, float]:
    """Return the scores of the entities of rules alone and with a model, and seconds per passage.

    Raises BackendError.
    """
    alone, both = Counts(), Counts()
    began = time.perf_counter()
    for passage in passages():
        chunks = chunks_of(passage)
        texts = [one.searchable for one in chunks]
        found = recognizer.recognize(texts, tuple(LABELS), threshold=threshold)
        ruled = [extract(one) for one in chunks]
        named = [read_spans(spans, text).entities for spans, text in zip(found, texts, strict=True)]
        alone.add(score(passage, ruled)[0])
        both.add(score(passage, map(add_recognized, ruled, named))[0])
    seconds = (time.perf_counter() - began) / len(passages())
    return {"passage_seconds": seconds, "rules_f1": alone.scores["f1"], **both.scores}


def chunks_of(passage: Passage) -> Sequence[Chunk]:
    """Return the passage cut as a memory of this text would be."""
    return chunk(passage.text, memory_id=passage.id, redactor=DEFAULT)


def score(passage: Passage, found: Iterable[Extraction]) -> tuple[Counts, Counts]:
    """Return the counts of entities and of undirected relations; a name counts whole, in any of its forms."""
    parts = list(found)
    names = {_norm(entity.name) for part in parts for entity in part.entities}
    hit = {passage.entities[name] for name in names if name in passage.entities}
    wrong = names - passage.entities.keys() - passage.optional
    total = len(set(passage.entities.values()))
    pairs: set[Pair] = set()
    astray = 0
    for relation in (one for part in parts for one in part.relations):
        ends = [_norm(relation.source), _norm(relation.target)]
        if all(end in passage.entities for end in ends):
            pairs.add(frozenset(passage.entities[end] for end in ends))
        elif not any(end in passage.optional for end in ends):
            astray += 1
    pairs = {pair for pair in pairs - passage.optional_relations if len(pair) > 1}
    right = pairs & passage.relations
    return (
        Counts(len(hit), len(wrong), total - len(hit)),
        Counts(len(right), len(pairs - right) + astray, len(passage.relations - right)),
    )


def is_valid_json(answer: str) -> bool:
    """Return whether an answer is JSON of the wanted form as it is, without repair."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and all(
        isinstance(value.get(name), list) and all(_has_fields(row, part) for row in value[name])
        for name, part in SCHEMA["properties"].items()
    )


def _has_fields(row: Any, schema: Mapping[str, Any]) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(key), str) for key in schema["items"]["required"])


def _norm(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold().strip(_AROUND).removesuffix("()")
    return " ".join(plain.split())


def as_markdown(report: LanguageReport, *, version: str, machine: str) -> str:
    """Return the report for an issue; it has no text of the person, and no path or address of a model.

    `version` is that of ragmem, `machine` a line about processor and memory.
    """
    name = re.split(r"[/\\]", report.model)[-1] if report.model.startswith(("/", "~", ".")) else report.model
    asked = report.passages or 1
    rows = [
        [
            extractor,
            *(f"{report.entities[extractor][key]:.2f}" for key in ("precision", "recall", "f1")),
            f"{report.relations[extractor]['f1']:.2f}",
        ]
        for extractor in EXTRACTORS
    ]
    languages = [
        [language, f"{scores['passages']:.0f}", *(f"{scores[name]:.2f}" for name in EXTRACTORS)]
        for language, scores in report.languages.items()
    ]
    figures = (
        (
            f"{report.passages} of {report.total} passages in {report.seconds:.0f} s; a passage takes"
            f" {report.seconds_per_passage:.1f} s, an answer {report.seconds_per_answer:.1f} s (median)"
        ),
        (
            f"valid JSON {report.valid_json / asked:.0%}, usable after repair {report.usable / asked:.0%};"
            f" {report.invented} invented entities"
        ),
        (
            f"questions answered correctly: {report.right} of {report.answerable}; questions without an"
            f" answer refused: {report.refused} of {report.unanswerable}"
        ),
        report.note,
    )
    lines = [
        f"**{name}**, ragmem {version}, {machine}",
        "",
        *(f"- {line}" for line in figures if line),
        "",
        *_markdown_table(["found by", "entities P", "R", "F1", "relations F1"], rows),
        "",
        *_markdown_table(["language", "passages", "F1 rules", "F1 model", "F1 both"], languages),
    ]
    return "\n".join(lines)


def _markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (headers, ["---", *["---:"] * (len(headers) - 1)], *rows)]
