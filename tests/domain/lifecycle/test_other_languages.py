"""What gc does to memories in other languages: it hides, archives and marks none of them by English words."""

import csv
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem.domain.lifecycle.ageing import age
from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.lifecycle.folds import contained, repeated_reports
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OTHERS = ("The kiln burns gas.", "Bees are counted by a camera.", "Invoices are rounded to cents.")
CHANGES = {
    "de": "Der Importer gibt nach {} Versuchen an einer Station auf.",
    "nl": "De importer geeft het na {} pogingen bij een station op.",
    "fr": "L'importateur abandonne une station après {} essais.",
    "es": "El importador deja de probar una estación tras {} intentos.",
    "sv": "Importen ger upp vid en station efter {} försök.",
    "pl": "Importer rezygnuje ze stacji po {} próbach i nie wraca.",
    "ru": "Импорт бросает станцию после {} попыток подряд.",
    "ko": "가져오기 프로그램은 한 관측소에서 {} 번 시도한 뒤 포기한다.",
    "hi": "आयातक एक स्टेशन पर {} प्रयासों के बाद रुक जाता है।",
    "ar": "يتوقف المستورد عن المحطة بعد {} محاولات متتالية.",
    "tr": "İçe aktarıcı bir istasyonda {} denemeden sonra vazgeçer.",
    "short": "Zeitlimit: {} Sekunden für jede Abfrage",
}
REPORTS = {
    "de": "2026-03-0{} 10:00:00 Das Treffen zur Tide findet im Hafen statt und Ana schreibt mit.",
    "zh": "2026-03-0{} 10:00:00 潮汐例会 在港口 举行 由安娜 做记录 下次 讨论 备份",
    "ru": "2026-03-0{} 10:00:00 Встреча по приливам прошла в порту, протокол вела Анна.",
}


def entry(number, text, source="notes", **metadata):
    at = NOW + timedelta(days=number)
    name = f"m{number}"
    memory = Memory(name, source, name, text, "", at, at, at, content_hash(text), Scope("shop"))
    return Entry(replace(memory, metadata=metadata), number)


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES)
def test_another_number_in_another_language_marks_nothing(text):
    around = [entry(number, other) for number, other in enumerate(OTHERS)]
    assert not changes([*around, entry(10, text.format(3)), entry(20, text.format(5))])


def test_a_short_line_in_a_note_of_another_language_marks_nothing():
    note = "Notizen zum Betrieb, die Ana für den Hafen und die Schleuse geschrieben hat.\n\n- Pool size: {}"
    older, newer = entry(10, "Pool size: 20 in the harbour"), entry(20, note.format("30 in the harbour"))
    around = [entry(number, other) for number, other in enumerate(OTHERS)]
    assert changes([*around, older, entry(20, "Pool size: 30 in the harbour")])
    assert not changes([*around, older, newer])


@pytest.mark.parametrize("text", REPORTS.values(), ids=REPORTS)
def test_notes_of_several_days_in_another_language_are_no_reports_of_a_run(text):
    assert not repeated_reports([entry(number, text.format(number)) for number in range(1, 5)])


def test_equal_texts_fold_in_any_language():
    text = REPORTS["ru"].format(1)
    entries = [entry(number, text, "transcripts", session="s") for number in range(3)]
    assert [fold.keeper.id for fold in contained(entries)] == ["m2"]


def test_a_lone_old_memory_in_another_language_is_never_archived():
    with (Path(__file__).parent.parent / "classification/languages.tsv").open(encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    newer = [entry(number, "The kiln burns gas.") for number in range(1, 9)]
    for text in texts:
        decision = age([entry(0, text), *newer], {}, LifecyclePolicy(age_after=5))[0]
        assert decision.action in {"keep", "reprieve"}, text
