"""Glosses: English words for words of other languages; names, numbers and unknown words stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.text.gloss import gloss, gloss_word, glossaries, in_english, known_share
from ragmem.domain.text.stemming import has_stemmer, stem_in


@pytest.mark.parametrize(
    ("language", "word", "english"),
    [
        ("de", "datenbank", "database"),
        ("de", "sicherungen", "backup"),
        ("fr", "serveur", "server"),
        ("es", "contrasena", "password"),
        ("pt", "senha", "password"),
        ("it", "errore", "error"),
        ("nl", "wachtwoord", "password"),
        ("ru", "ошибка", "error"),
        ("pl", "hasło", "password"),
        ("sv", "losenord", "password"),
        ("tr", "sunucu", "server"),
    ],
)
def test_a_word_of_programs_has_an_english_word(language, word, english):
    assert english in gloss_word(word, language)


def test_a_compound_is_glossed_by_its_parts():
    assert gloss_word("datenbankschema", "de") == ("database", "schema")
    assert gloss_word("datenbanksicherung", "de") == ("database", "backup")


@pytest.mark.parametrize(
    ("text", "language", "english"),
    [
        ("Wie leite ich die Domain um?", "de", "redirect"),
        ("Wie führen wir doppelte Markierungen zusammen, die alt sind?", "de", "merge"),
        ("Wann bricht der Build ab?", "de", "cancel"),
        ("Waar slaan we de logs op?", "nl", "save"),
    ],
)
def test_a_verb_is_glossed_with_the_particle_that_ends_its_clause(text, language, english):
    assert english in gloss(text, language).split()


def test_a_particle_without_its_verb_changes_nothing():
    assert gloss("Die Adresse um", "de").startswith(gloss("Die Adresse", "de"))


def test_runs_without_spaces_are_glossed_by_the_longest_entries():
    assert "database" in gloss("数据库在哪里", "zh").split()
    assert "server" in gloss("サーバーの設定", "ja").split()
    assert "server" in gloss("서버 설정", "ko").split()


def test_names_numbers_and_code_stay_as_they_are():
    text = "Die Datenbank atlas-db-7 läuft auf Port 5432 unter pg_ctl."
    assert {"atlas", "db", "7", "5432", "pg", "ctl", "database"} <= set(gloss(text, "de").split())


def test_function_words_are_left_out():
    assert not {"die", "auf", "der"} & set(gloss("Die Datenbank auf der Platte", "de").split())


@pytest.mark.parametrize(
    "text",
    ["The lock is on the table.", "", "kubectl get pods", "die Sicherung" * 0, "ข้อความภาษาไทยนี้ไม่มีอภิธานศัพท์"],
)
def test_english_and_what_has_no_glossary_stay_untouched(text):
    assert in_english(text) is text


def test_there_is_a_glossary_for_each_language_that_promises_one():
    assert glossaries() >= {"de", "fr", "es", "pt", "ru", "zh", "ja", "ko", "it", "nl", "pl"}
    assert all(gloss_word("xyzzy-unknown", language) == () for language in glossaries())


@given(st.text(max_size=200), st.sampled_from(sorted(glossaries())))
def test_any_text_can_be_glossed(text, language):
    gloss(text, language)


def test_endings_of_many_languages_are_taken_off():
    assert stem_in("de", "sicherungen") == stem_in("de", "sicherung")
    assert stem_in("ru", "серверами") == stem_in("ru", "сервера")
    assert stem_in("el", "διακομιστες") == stem_in("el", "διακομιστης") or has_stemmer("el")
    assert stem_in("zh", "数据") == "数据"
    assert stem_in("de", "a" * 100) == "a" * 100


def test_the_share_of_known_words_is_of_the_words_that_tell():
    assert known_share("die Sicherung der Datenbank") == 1
    assert known_share("der Hefezopf und die Datenbank") == 0.5
    # Single letters have entries, and mean little.
    assert known_share("服务器的数据库备份失败") > 0.3
    assert known_share("红烧肉要炖多久") == 0


@pytest.mark.parametrize("text", ["where is the backup of the database", "unde este copia bazei de date", ""])
def test_no_share_of_words_is_known_without_a_glossary(text):
    assert known_share(text) is None
