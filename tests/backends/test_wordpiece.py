"""The pure-Python WordPiece gives the same ids as the reference implementation."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as ReferenceWordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from ragmem.backends.minilm import embedder
from ragmem.backends.minilm import wordpiece as module
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary
from ragmem.errors import BackendError

ROOT = Path(__file__).resolve().parents[2]
VOCABULARY = read_vocabulary(embedder.FOLDER / "vocab.txt")
TOKENIZER = WordPiece(VOCABULARY)
START, END, UNKNOWN = 101, 102, 100

# These changed their category after Unicode 8, where the reference's tables end.
RECLASSIFIED = {"\u166d", "\u1734", "\u1885", "\u1886"}

TORTURE = [
    "",
    " ",
    "\n\n\t\r",
    "\x00\x01\x1f\x7f\x85\x9f",
    "a\x00b a\x0bb a\x0cb a\x1cb a\x85b a\u2028b a\u2029b a\xa0b a\u3000b a\u200bb a\ufeffb a\xadb",
    "na\u0131ve na\xefve nai\u0308ve \xc5ngstr\xf6m \u212bngstrom \u0130stanbul",
    "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2",
    "stra\xdfe STRASSE \u1e9e \u0149 \ufb01ne \xbd \u2460 \xb2",
    "\u6771\u4eac\u90fd\u3068\u3072\u3089\u304c\u306a\u30ab\u30bf\u30ab\u30ca",
    "\uf900\u3400 \U00020000\U0002b820\U0002b920",
    "\ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940",
    "\u0e20\u0e32\u0e29\u0e32",
    "\u05e2\u05b4\u05d1\u05e8\u05b4\u05d9\u05ea \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "e\u0301\u0302\u0303\u0304 \u0344 Z\u0351\u036b\u0343a\u0363l\u0348go",
    "\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea \u2764\ufe0f \U0001d54f\U0001d7d8",
    "`$HOME` ^a|b~c <x> {y} [z] \\n 'q' \"r\"",
    "\u2018s\u2019 \u201ct\u201d \u2014 \u2026 \u20ac \xa7 \xb6 \xbf",
    "unaffable unaffableness ##able able## #able",
    "\ufffd\ufffe\uffff \ue000 \U000e0001 \U0010ffff",
    "v1.2.3-rc.1+build https://example.org/a?b=c&d=%20#e C:\\dir\\file.txt",
    "0xDEADBEEF 1e-9 snake_case CamelCase",
    "[CLX] [SEX] [PAN]",
    "x" * 100 + " " + "x" * 101 + " " + "supercalifragilistic" * 6,
]


@pytest.fixture(scope="module")
def reference():
    ids = {piece: number for number, piece in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(ReferenceWordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def is_in_both_tables(character):
    old = unicodedata.ucd_3_2_0.category(character)
    return old not in {"Cn", "Cs"} and character not in RECLASSIFIED


def test_every_character_of_unicode_gives_the_ids_of_the_reference(reference):
    characters = [chr(code) for code in range(0x110000) if is_in_both_tables(chr(code))]
    assert len(characters) > 90_000
    different = []
    for start in range(0, len(characters), 100):
        text = " ".join(f"a{character}b" for character in characters[start : start + 100])
        if TOKENIZER.pieces(text) != reference(text):
            different += characters[start : start + 100]
    assert [each for each in different if TOKENIZER.pieces(f"a{each}b") != reference(f"a{each}b")] == []


@pytest.mark.parametrize("text", TORTURE, ids=range(len(TORTURE)))
def test_hard_texts_give_the_ids_of_the_reference(text, reference):
    assert TOKENIZER.pieces(text) == reference(text)


def test_the_repository_gives_the_ids_of_the_reference(reference):
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *(ROOT / "ragmem").rglob("*.py")]
    lines = {line for file in files for line in file.read_text(encoding="utf-8").splitlines()}
    assert len(lines) > 1000
    assert [line for line in lines if TOKENIZER.pieces(line) != reference(line)] == []


@given(st.text(st.characters(codec="utf-8").filter(is_in_both_tables)))
def test_any_text_gives_the_ids_of_the_reference(reference, text):
    assert TOKENIZER.pieces(text) == reference(text)


@given(st.text(st.characters(), max_size=40))  # lone surrogates and unassigned characters too
def test_any_string_has_ids_of_the_vocabulary(text):
    assert all(0 <= number < len(VOCABULARY) for number in TOKENIZER.pieces(text))


def test_a_lone_surrogate_is_skipped():
    assert TOKENIZER.pieces("ab\ud800cd") == TOKENIZER.pieces("abcd")


def test_special_tokens_inside_a_text_are_text():
    ids = TOKENIZER.pieces("[CLS] [SEP] [UNK] [PAD] [MASK]")
    assert not {START, END, UNKNOWN, 0, 103} & set(ids)


def test_encoding_adds_the_start_and_the_end():
    assert TOKENIZER.encode("", limit=256) == [START, END]
    assert TOKENIZER.encode("memory", limit=256) == [START, *TOKENIZER.pieces("memory"), END]


@given(st.lists(st.sampled_from(["memory", "\u6771", "y" * 300, "a.b", "na\u00efve"]), max_size=3000))
def test_a_long_text_is_cut_to_the_first_ids_of_the_whole(words):
    text = " ".join(words)
    assert TOKENIZER.encode(text, limit=256) == [START, *TOKENIZER.pieces(text)[:254], END]


@pytest.mark.parametrize("text", ["\u6771" * 20_000, "z" * 20_000, " " * 20_000 + "memory", "a " * 20_000])
def test_a_text_longer_than_its_head_is_cut_in_the_same_place(text):
    assert TOKENIZER.encode(text, limit=256) == [START, *TOKENIZER.pieces(text)[:254], END]


def test_a_full_cache_of_words_changes_no_ids(monkeypatch):
    monkeypatch.setattr(module, "CACHED_WORDS", 3)
    tokenizer = WordPiece(VOCABULARY)
    text = "the cache of words is full after the third word, and again after the sixth"
    assert tokenizer.pieces(text) == TOKENIZER.pieces(text)
    assert len(tokenizer._words) <= 3


def test_a_word_too_long_for_any_piece_is_not_kept():
    tokenizer = WordPiece(VOCABULARY)
    assert tokenizer.pieces("k" * 5000) == [UNKNOWN]
    assert not tokenizer._words


def test_threads_that_share_a_tokenizer_get_the_same_ids(monkeypatch):
    monkeypatch.setattr(module, "CACHED_WORDS", 5)
    tokenizer = WordPiece(VOCABULARY)
    texts = [f"thread {number} writes unaffable words {number % 7}" for number in range(400)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokenizer.pieces, texts)) == [TOKENIZER.pieces(text) for text in texts]


def test_a_missing_vocabulary_is_a_backend_error(tmp_path):
    with pytest.raises(BackendError) as caught:
        read_vocabulary(tmp_path / "vocab.txt")
    assert caught.value.hint


def test_a_vocabulary_without_special_pieces_is_a_backend_error():
    with pytest.raises(BackendError, match=r"\[UNK\]"):
        WordPiece(["a", "b"])
