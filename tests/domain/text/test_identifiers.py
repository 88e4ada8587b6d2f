"""Which tokens of a text are code, and which words they are made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.text.identifiers import MAX_CHARS, identifiers, parts


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("camelCase", "camel case"),
        ("PascalCase", "pascal case"),
        ("HTTPServer", "http server"),
        ("parseURLs", "parse urls"),
        ("userIDs", "user ids"),
        ("UTF8Text", "utf8 text"),
        ("base64Encode", "base64 encode"),
        ("snake_case", "snake case"),
        ("kebab-case", "kebab case"),
        ("dotted.names", "dotted names"),
        ("paths/with/slashes.py", "paths with slashes py"),
        ("--dry-run", "dry run"),
        ("Class::method", "class method"),
        ("ERR_CONN_42", "err conn 42"),
        ("v1.2.3", "1 2 3"),
        ("1.2.3", "1 2 3"),
        ("x86_64", "x86 64"),
        ("HTTPServer.sendAll()", "http server send all"),
    ],
)
def test_a_token_is_divided_at_its_capitals_and_marks(token, expected):
    assert parts(token) == expected.split()


@pytest.mark.parametrize(
    "word",
    ["", "word", "Word", "WORD", "don't", "don\u2019t", "sha256", "9fceb02d0ae", "2023", "stra\u00dfe"],
)
def test_a_plain_word_has_no_parts(word):
    assert parts(word) == []


def test_data_has_no_parts():
    assert parts("aB" * MAX_CHARS) == []


@given(st.text(max_size=300))
def test_parts_are_plain_words_of_the_token_itself(token):
    for part in parts(token):
        assert part.lower() == part
        assert part in token.lower()
        assert parts(part) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where is src/app/main.py:42?", ["src/app/main.py"]),
        ("call get_user() before fooBar(bazQux)", ["get_user", "fooBar", "bazQux"]),
        ("set $HOME and RAGMEM_HOME=/var/lib/ragmem", ["HOME", "RAGMEM_HOME", "/var/lib/ragmem"]),
        ("it fails with --dry-run, E501 and TS2345.", ["--dry-run", "E501", "TS2345"]),
        ("after v1.2.3 (9fceb02d0ae)", ["v1.2.3", "9fceb02d0ae"]),
        ("see https://example.org/a?b=c, please", ["https://example.org/a?b=c"]),
        ("std::vec::Vec and os.path.join", ["std::vec::Vec", "os.path.join"]),
        ("what does `retries` do in `git commit --amend`", ["retries", "--amend"]),
        ("ConnectionResetError or ENOENT", ["ConnectionResetError", "ENOENT"]),
        ("a _private one", ["_private"]),
    ],
)
def test_identifiers_are_found_in_order(text, expected):
    assert identifiers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a well-known state-of-the-art idea, and/or none",
        "we don't use Python 3.11 or GitHub, e.g. in 2023",
        "he said (quite loudly) that decade and facade differ",
        "12:30 on 2026-03-01, 20.03, 99.9% of 1234567",
        "Caf\u00e9 und \u00c4nderung \u65e5\u672c\u8a9e",
    ],
)
def test_plain_prose_has_no_identifiers(text):
    assert identifiers(text) == []


@given(st.text(alphabet="aB1_-./:#`$@~ '\u2019(),\u00e9"))
def test_identifiers_are_tokens_of_the_text_and_each_comes_once(text):
    found = identifiers(text)
    assert len(set(found)) == len(found)
    assert all(name and name in text and not any(mark.isspace() for mark in name) for name in found)
