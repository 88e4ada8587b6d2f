"""Find named entities with the model of extraction.ner, resumably, and in each text only once.

As with a language model, memories are indexed by rule at once and never wait for this pass.
"""

from dataclasses import dataclass, replace

from ragmem.domain.entities.recognized_names import LABELS, read_spans, recognition_key
from ragmem.errors import BackendError
from ragmem.ports import EntityRecognizer, HasEntityRecognizer
from ragmem.services.entities.extraction import ExtractionPorts, choose_extractor, unread_texts
from ragmem.services.entities.extraction_texts import Texts, find_newly_indexed, find_texts
from ragmem.services.ingestion.index import index_by_id
from ragmem.storage.sql.batches import batches

BATCH_SIZE = 64
"""Texts per batch, some seconds: the maximum loss if the process is killed."""


@dataclass(slots=True)
class RecognitionReport:
    """The result of a pass, in texts; `note` says why some still wait.

    `known` texts were read before, `read` ones by this pass.
    """

    model: str = ""
    known: int = 0
    read: int = 0
    waiting: int = 0
    note: str = ""


def recognize_entities(ports: ExtractionPorts, *, dry_run: bool = False) -> RecognitionReport | None:
    """Read all new texts with the configured model; None if there is none.

    With `dry_run` nothing is read or written, and `waiting` counts what would be. If the model fails, the
    pass ends with a note, and the next one continues.
    """
    extractions, settings = ports.catalog.extractions, ports.settings.extraction
    choice = extractions.choice()
    if not settings.ner:
        if choice.ner and not dry_run:
            choose_extractor(ports, replace(choice, ner=""))
        return None
    report = RecognitionReport(settings.ner)
    try:
        models = ports.open_models()
        recognizer = models.recognizer if isinstance(models, HasEntityRecognizer) else None
        if recognizer is None:
            report.note = f'extraction.ner is "{settings.ner}", and these models have none for entities'
            return report
        report.model = recognizer.model_id
        key = recognition_key(recognizer.model_id, settings.ner_threshold)
        if dry_run:
            texts = find_texts(ports.catalog, key)
            report.known, report.waiting = texts.known, texts.waiting
            return report
        if choice.ner != key:
            choose_extractor(ports, replace(choice, ner=key))
        for texts in unread_texts(ports, key, report, stage="read"):
            _read(ports, recognizer, key, texts, report)
    except BackendError as error:
        report.note = error.full_message
    return report


def _read(
    ports: ExtractionPorts, recognizer: EntityRecognizer, key: str, texts: Texts, report: RecognitionReport
) -> None:
    """Read some texts, store what was found, and index their memories again."""
    catalog, labels = ports.catalog, tuple(LABELS)
    for keys in batches(texts.chunks, BATCH_SIZE):
        read = [texts.chunks[each].searchable for each in keys]
        found = recognizer.recognize(read, labels, threshold=ports.settings.extraction.ner_threshold)
        answers = {each: read_spans(spans, text) for each, spans, text in zip(keys, found, read, strict=True)}
        again = [one for each, answer in answers.items() if answer.entities for one in texts.memories[each]]
        catalog.extractions.keep(key, answers, again=again, now=ports.now())
        index_by_id(catalog, ports.open_store(), list(dict.fromkeys(again)))
        report.read += len(keys)
        report.waiting -= len(keys)
        ports.progress.advance(len(keys))
    if late := find_newly_indexed(catalog, texts):
        catalog.extractions.mark_pending(late)
        index_by_id(catalog, ports.open_store(), late)
