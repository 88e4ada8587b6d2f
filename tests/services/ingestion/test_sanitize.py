"""What is stored holds no secret, nothing private, and nothing that memory itself has said."""

import base64
import json
import random
import string
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.injection.injection_removal import without_injections
from ragmem.domain.injection.memory_frame import CLOSING, FIRST_WORDS, OPENING
from ragmem.domain.model import Draft, State
from ragmem.domain.records.records import FIELDS
from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.services.ingestion.classify import classify_draft, rules_version
from ragmem.services.ingestion.sanitize import sanitize_draft, sanitize_memory, sanitize_text

LETTERS = string.ascii_letters + string.digits


def made(length, seed=5):
    chooser = random.Random(seed)
    return "".join(chooser.choice(LETTERS) for _ in range(length))


TOKEN = "gh" + "p_" + made(36)
PASSWORD = "Winter" + "2024#" + made(4)
BLOCK = (
    f"{OPENING}\n{FIRST_WORDS}: what memory holds.\n\n[abcdefghijkl] 2026-01-02 sessions | The tide\n"
    f"Quays are numbered from the north.\n\n1 memory\n{CLOSING}"
)
QUOTED = "\n".join(f"> {line}" for line in BLOCK.split("\n"))


def draft(text, **more):
    return Draft("notes", more.pop("uri", "/notes/a.md"), text, **more)


def test_a_secret_leaves_every_part_of_a_draft():
    one = draft(
        f"use {TOKEN} here",
        title=f"Use {TOKEN}",
        tags=("deploy", TOKEN),
        metadata={"password": PASSWORD, FIELDS: json.dumps({"why": f"see {TOKEN}", "password": PASSWORD})},
        uri=f"https://quay.example.org/a?access_token={made(24)}",
    )
    clean = sanitize_draft(one, redactor=DEFAULT)
    shown = repr(clean)
    assert TOKEN not in shown
    assert PASSWORD not in shown
    assert made(24) not in shown
    assert clean.text == "use [redacted: GitHub token] here"
    assert json.loads(clean.metadata[FIELDS])["why"] == "see [redacted: GitHub token]"


def test_a_title_shows_no_part_of_a_secret_that_only_the_lines_of_the_text_made_one():
    value = base64.b64encode(PASSWORD.encode()).decode()
    text = f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: tide\ndata:\n  login: {value}\n"
    line = " ".join(text.split())
    clean = sanitize_draft(draft(text, title=line, tags=(line,), metadata={"about": line}), redactor=DEFAULT)
    assert value not in repr(clean)
    assert clean.title.startswith("apiVersion: v1 kind: Secret metadata: name: tide")
    assert sanitize_draft(clean, redactor=DEFAULT) == clean


def test_a_pure_draft_is_the_same_object_and_a_path_stays():
    one = draft("The tide table is cached.", tags=("", "a"), uri=f"/notes/{TOKEN}.md")
    assert sanitize_draft(one, redactor=DEFAULT) is one


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a<private>b</private>c", "a c"),
        ("a <PRIVATE>b <private>c</private> d</Private > e", "a  e"),
        ("a\n```\n<private>\nb\n</private>\n```\nc", "a\n```\n\n```\nc"),
        ("a <private>b and all the rest", "a "),
        ("say `<private>` and `</private>`", "say `<private>` and `</private>`"),
        ("<private>all</private>", ""),
    ],
)
def test_what_is_private_is_left_out(text, left):
    assert sanitize_text(text, redactor=DEFAULT) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"before\n{BLOCK}\nafter", "before\n\nafter"),
        (f"before\n{QUOTED}\nafter", "before\n\nafter"),
        ("before\n" + BLOCK.replace("\n", "\n    ") + "\nafter", "before\n\nafter"),
        (f"before {BLOCK[:120]}", "before "),
        (f"before\n{BLOCK[BLOCK.index('[abc') :]}\nafter", "before\n\nafter"),
        (json.dumps({"additionalContext": BLOCK}), '{"additionalContext": " "}'),
        (BLOCK.replace("<", "&lt;").replace(">", "&gt;"), ""),
        (f"say `{OPENING}` or {OPENING} at the beginning", None),
        (f"{CLOSING} alone", None),
    ],
)
def test_what_memory_said_is_left_out_whole_cut_and_quoted(text, left):
    assert without_injections(text) == (text if left is None else left)


def test_a_title_that_was_private_goes_with_it():
    clean = sanitize_draft(
        draft("<private># The merger\n\nbig</private>\nThe tide is high.", title="The merger"),
        redactor=DEFAULT,
    )
    assert clean.title == ""
    assert "merger" not in clean.text


def test_a_memory_judged_from_a_secret_is_the_same_the_second_time():
    one = draft(f"We decided to log in with {TOKEN} because the quay wants it. It fixed the error.")
    now = datetime(2026, 3, 1, tzinfo=UTC)
    first, second = (
        classify_draft(one, now=now, sizes=ChunkingSettings(), rule="off", redactor=DEFAULT) for _ in range(2)
    )
    assert first == second
    assert all(TOKEN not in chunk.text for chunk in first.chunks)
    assert all("redacted" not in chunk.searchable for chunk in first.chunks)


def test_a_memory_of_another_home_is_purified_with_its_summary():
    now = datetime(2026, 3, 1, tzinfo=UTC)
    storing = Redactor(stored=True)
    memory = classify_draft(
        draft(f"log in with {TOKEN}"), now=now, sizes=ChunkingSettings(), rule="off", redactor=storing
    ).memory
    assert TOKEN in memory.text
    clean = sanitize_memory(memory, redactor=DEFAULT)
    assert TOKEN not in clean.text
    assert clean.content_hash != memory.content_hash
    assert clean.id == memory.id
    assert sanitize_memory(clean, redactor=DEFAULT) is clean
    assert memory.state is State.PENDING


def test_a_person_says_what_is_a_secret_and_what_is_none():
    value = "quay-" + "0042-tide"
    text = f"use {TOKEN} for {value}"
    wishes = Redactor(allow=("ghp_.*",), extra=(r"quay-\d{4}-(tide)",))
    clean = f"use {TOKEN} for quay-0042-[redacted: secret]"
    assert sanitize_text(text, wishes) == clean
    assert sanitize_text(clean, wishes) == clean
    assert len({rules_version(one) for one in (DEFAULT, wishes, Redactor(stored=True))}) == 3
    storing = Redactor(stored=True)
    assert sanitize_text(f"{text} <private>x</private>", storing) == f"{text} "
    assert TOKEN not in storing.redact(text)[0]


PARTS = st.sampled_from(
    [
        TOKEN,
        f"password = '{PASSWORD}'",
        f"curl -u sam:{PASSWORD} https://h",
        f"Cookie: sid={made(24)}; a=b",
        BLOCK,
        QUOTED,
        OPENING,
        CLOSING,
        "<private>",
        "</private>",
        "`<private>`",
        "[redacted: GitHub token]",
        "[redacted: ",
        "key=",
        "<pri",
        "vate>",
        "ragmem-memory>",
        "</",
        "\n",
        " ",
        '"',
    ]
)
TEXTS = st.lists(st.one_of(PARTS, st.text(max_size=8)), max_size=10).map("".join)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_purifying_twice_is_purifying_once(text):
    once = sanitize_text(text, redactor=DEFAULT)
    assert sanitize_text(once, redactor=DEFAULT) == once


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_what_is_shown_of_a_stored_text_is_the_stored_text(text):
    stored = sanitize_text(text, redactor=DEFAULT)
    assert DEFAULT.redact(stored) == (stored, 0)
