"""Words: exactly those that SQLite's own tokenizer makes of a text in a script with spaces."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.text.words import count_words, fold_words, pairs, stem, unspaced_runs, words_of

REPOSITORY = Path(__file__).resolve().parents[3]

# Endings of which the algorithm's rules speak, on stems that make its conditions true and false.
ENDINGS = (
    "ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism iveness fulness"
    " ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able ible ant"
    " ement ment ent ion ou ism ate iti ous ive ize sses ies s ed ing eed y e ll"
).split()
# Letters of Unicode 6.1, which SQLite knows: later ones are words to one and not to the other.
LETTERS = "aeiouysxlztbA0_9 -./éÄñșßİıΣςώЖёʼ'\"\u0301\u0905\t\n😀"


@pytest.fixture(scope="module")
def tokenize():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(
        'CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = "porter unicode61 remove_diacritics 2")'
    )
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab (texts, 'instance')")

    def words(text: str) -> list[str]:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO texts VALUES (?)", (text,))
        found = [word for (word,) in connection.execute("SELECT term FROM words ORDER BY offset")]
        connection.execute("ROLLBACK")
        return found

    yield words
    connection.close()


@settings(max_examples=300, deadline=None)
@given(text=st.text(LETTERS, max_size=60))
def test_any_text_is_cut_as_sqlite_cuts_it(tokenize, text):
    assert words_of(text) == tokenize(text)


@settings(max_examples=500, deadline=None)
@given(
    stem=st.text("abcdeiloustyzxжёß", min_size=1, max_size=7),
    endings=st.lists(st.sampled_from(ENDINGS), max_size=3),
)
def test_any_ending_is_removed_as_sqlite_removes_it(tokenize, stem, endings):
    word = stem + "".join(endings)
    assert words_of(word) == tokenize(word)


@settings(max_examples=500, deadline=None)
@given(
    begun=st.text("abcdeiloustyzxжß", min_size=0, max_size=7),
    endings=st.lists(st.sampled_from(ENDINGS), min_size=1, max_size=3),
)
def test_a_stem_begins_as_its_word_does(begun, endings):
    (word,) = fold_words(begun + "".join(endings))
    assert stem(word)[0] == word[0]


def test_the_words_of_real_documents_are_sqlites(tokenize):
    pages = [path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob("docs/**/*.md"))]
    # SQLite takes a run of letters in a script without spaces for one word.
    texts = [text for text in pages if not unspaced_runs(text)]
    assert sum(len(words_of(text)) for text in texts) > 1000
    for text in texts:
        assert words_of(text) == tokenize(text)


@pytest.mark.parametrize("length", [2, 3, 64, 65, 5000])
def test_short_and_very_long_words_keep_their_ending(tokenize, length):
    word = "s" * (length - 1) + "s"
    assert words_of(word) == tokenize(word)


@pytest.mark.parametrize(
    ("text", "words", "together"),
    [
        ("用SQLite存储。数据", ["用", "sqlite", "存", "储", "数", "据"], ["存储", "数据"]),
        ("メモリの café", ["メ", "モ", "リ", "の", "cafe"], ["メモ", "モリ", "リの"]),
        ("잠금은 lock", ["잠", "금", "은", "lock"], ["잠금", "금은"]),
    ],
)
def test_a_letter_of_a_script_without_spaces_is_a_word(text, words, together):
    assert words_of(text) == words
    assert pairs(text) == together


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("the tide is late", 4),
        ("潮汐表的显示问题", 4),
        ("サーバーの設定を tide.toml に書く", 4),
        ("die Flut k\u00f6mmt", 3),
    ],
)
def test_words_are_counted_also_without_spaces(text, words):
    assert count_words(text) == words
