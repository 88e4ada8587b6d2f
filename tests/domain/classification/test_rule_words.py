"""Texts in languages that no rule was trained on: nothing is lost of them, and their rules protect."""

import csv
from pathlib import Path

import pytest

from ragmem.domain.classification.judge import judge
from ragmem.domain.classification.protection import is_protected, protection_reasons
from ragmem.domain.classification.rule_words import WORDS, rule_words
from ragmem.domain.classification.signal import classify, is_noise
from ragmem.domain.model import Tier


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


TEXTS = table(Path(__file__).with_name("languages.tsv"))
SOURCES = ("", "sessions", "transcripts")


def texts(*sorts):
    chosen = [row for row in TEXTS if row["sort"] in sorts]
    return pytest.mark.parametrize(
        "text", [pytest.param(row["text"], id=f"{row['language']}-{row['sort']}") for row in chosen]
    )


@texts("decision", "rule", "gotcha", "chatter")
def test_a_text_that_the_judge_cannot_read_is_kept_whole(text):
    for source in SOURCES:
        assert classify(text, source=source).tier is Tier.INGEST, source
        assert classify(text, source=source, rule="classic").tier is not Tier.DISCARD, source
        assert not is_noise(text, source=source), source


@pytest.mark.parametrize(
    "text",
    [
        "Backup laeuft um drei",
        "El servidor usa el puerto 8080",
        "Serwer stoi w Krakowie, klucz ma Ania",
        "Sunucu Ankarada duruyor",
        "Ang server ay nasa Cebu at gumagamit ng port 8080 para sa bayad, napagkasunduan noong isang linggo",
        "Mae'r gweinydd yng Nghaerdydd ac yn defnyddio porth 8080 ar gyfer taliadau",
        "სერვერი თბილისშია",
        "সার্ভার ঢাকায় আছে",
        "ဆာဗာသည် ရန်ကုန်တွင်ရှိသည်",
        "ሰርቨሩ አዲስ አበባ ነው",
    ],
)
def test_a_text_of_no_known_language_is_never_discarded_however_short_it_is(text):
    for source in SOURCES:
        assert classify(text, source=source).tier is not Tier.DISCARD, source
        assert not is_noise(text, source=source), source


@texts("decision", "rule")
def test_a_decision_and_a_rule_are_protected_in_any_language(text):
    for source in SOURCES:
        assert is_protected(text, source=source), source
        assert is_protected(f"Notes of March.\n\n- {text}", source=source), source


@texts("gotcha", "chatter")
def test_what_rules_nothing_is_not_protected(text):
    assert not protection_reasons(text)


@pytest.mark.parametrize(
    "text",
    [
        "Warum ist der Cache nie warm?",
        "¿Por qué nunca termina la migración?",
        "为什么必须重启服务?",
        "なぜ毎回必ず失敗するのか?",
    ],
)
def test_a_question_rules_nothing(text):
    assert not rule_words(text)


def test_a_word_that_only_looks_like_one_rules_nothing():
    # The Arabic for "start" and "creativity", the Thai for "how", and names.
    for text in ("ابدأ الخادم", "الإبداع في العمل", "ทำงานอย่างไร", "Soham and Immerse, Musial, Niemand"):
        assert not rule_words(text)


def test_a_long_text_needs_more_than_one_word():
    filler = "Der Dienst liest die Aufträge aus der Warteschlange und schreibt sie in die Tabelle. " * 40
    assert is_protected(f"{filler[:850]} Niemals am Freitag ausrollen.")
    assert not is_protected(f"{filler}Es läuft immer noch.")
    assert is_protected(f"{filler}Niemals am Freitag ausrollen, und ab sofort stets mit Sicherung.")


@pytest.mark.parametrize("name", ["Entscheidung", "décision", "Regla", "решение", "决定", "ルール"])
def test_metadata_and_labels_name_a_rule_in_any_language(name):
    assert is_protected("PostgreSQL 16.", metadata={"type": name})
    assert is_protected(f"# Redis\n\n- {name}: PostgreSQL 16.")
    assert not is_protected("PostgreSQL 16.", metadata={"type": name, "protected": "false"})


def test_each_language_has_words_of_each_sort():
    for row in table(WORDS):
        assert all(part and part == part.strip() for cell in row.values() for part in cell.split(", ")), row


@pytest.mark.parametrize(
    "text",
    [
        "ok, thanks",
        "## Phase 4 \u2014 ToUnicode CMap Generation (`src/cmap.rs` & `src/font.rs`)",
        "- **Commits**: conventional commits (`fix:`, `feat:`, `test:`, `docs:`, `ci:`)",
        "now everything is black i don't see anything on page load, the naïve café demo is gone",
        "$ cd /home/die/mit/und && ls -la ./der/das \u2713",
    ],
)
def test_names_and_code_in_english_are_of_no_other_language(text):
    assert not judge(text).is_foreign
