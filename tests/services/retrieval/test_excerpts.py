"""An excerpt holds the sentences that answer the question: whole, within a budget, without secrets."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Chunk, Draft, Match
from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.mcp.dispatch import call
from ragmem.readers.documents.tables import write_table
from ragmem.services.context.context import context
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index, record_of
from ragmem.services.retrieval.excerpts import FIRST, excerpt, find_secrets_near
from ragmem.services.retrieval.query import Question

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FILLING = "The harbour has many boats and each of them is painted in a colour of its own. "
NOTE = f"""# Ferry

{FILLING * 12}

## Booking

- The booking page is built from Svelte.
- Seats are held for eleven minutes, then the lock expires.
- Refunds go through Adyen.

| table | engine |
|---|---|
| crossings | Postgres |
| tide cache | Redis 7 |

## Root cause

The queue of passengers stalled. Two workers took one lock in a different order.

**Port:** ferries listen on 4711
**Owner:** Ada keeps the timetable
"""
EXCHANGE = f"""User: Why does the ferry importer skip the night crossings?

Assistant:

# Research

I am looking at the importer of the night crossings.

- Looked at `importer.py`

{FILLING * 12}

# Result

The ferry importer dropped every row without an arrival, because the last night crossing ends on the next day.
"""


@pytest.fixture
def best(memory):
    """Return a function that stores one text, asks a question, and gives the excerpt of its best match."""

    def ask(text: str, question: str, most: int = FIRST) -> str:
        memory.prepare()
        item = classify_draft(
            Draft("ingest", "note", text, "", event_time=NOW),
            now=NOW,
            sizes=memory.settings.chunking,
            rule="off",
            redactor=DEFAULT,
        )
        memory.catalog.memories.accept([(item.memory, item.chunks)])
        index(memory.catalog, memory.store, [record_of(item.memory, item.chunks, redactor=DEFAULT)])
        asked = Question(question, nearest=True)
        return excerpt(
            memory.query(question, question=asked, at=NOW).matches[0], question, most=most, redactor=DEFAULT
        )

    return ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how long is a seat held", "- Seats are held for eleven minutes, then the lock expires."),
        ("which engine has the tide cache", "| tide cache | Redis 7 |"),
        ("why did the passengers stall", "Two workers took one lock in a different order."),
        ("which port do the ferries use", "**Port:** ferries listen on 4711"),
    ],
)
def test_an_excerpt_holds_the_whole_sentence_row_or_line_that_answers(best, question, answer):
    shown = best(NOTE, question, most=120)
    assert answer in shown
    assert len(shown) <= 120


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how long should a cover letter be", "**Length:** a full page of 600 words"),
        ("how big is the photo of a cover letter", "**Size:** 3 by 4 centimetres"),
        ("how often is the cover letter checked", "**Interval:** each Monday"),
    ],
)
def test_a_quantity_is_found_by_what_the_answer_calls_it(best, question, answer):
    letters = "\n\n".join(f"A cover letter goes to harbour {number} first." for number in range(9))
    quantities = (
        "**Length:** a full page of 600 words\n\n**Size:** 3 by 4 centimetres\n\n**Interval:** each Monday"
    )
    assert answer in best(f"# Cover letters\n\n{letters}\n\n{quantities}\n\n{letters}", question, most=200)


def test_a_line_with_only_a_date_answers_only_when_it_is_asked_for(best):
    record = (
        "# Ferries\n\nDate: 2026-05-03\n\n**Project:** May ferries\n\nThe night ferry gets a second crew.\n"
    )
    assert best(record, "what about ferries in May 2026") == "The night ferry gets a second crew."
    assert "Date: 2026-05-03" in best(record, "when did the ferry get a second crew")
    status = "# Ferries\n\n## Status\n\nSupercedes [2. May](0002-may.md)\n\n## Why\n\nFerries sail in May.\n"
    assert best(status, "what about May ferries") == "Why: Ferries sail in May."
    assert "0002" in best(status, "what does the note on May ferries supersede, or supercede")
    assert "**Project:** May ferries" in best(record, "which project has the May ferries")


def test_a_bare_key_of_json_is_told_only_if_it_is_asked_for(best):
    finding = '"finding": "The ferry importer drops rows without an arrival.",'
    record = (
        f'# Ferries\n\n{{\n  "ferries": [\n    {{\n      "end_line": 95,\n      {finding}\n    }}\n  ]\n}}\n'
    )
    assert best(record, "what does the importer drop") == finding
    assert '"end_line": 95' in best(record, "what is the end line of the importer")


def test_lines_that_only_lead_elsewhere_come_behind_what_answers(best):
    note = (
        "# Ferry lock\n\n[[ferry|Ferry lock]] | Previous: [[ferry queue]] | Next: [[ferry lock]]\n\n"
        "- [[ferry lock]]\n- [the ferry lock](lock.md)\n\n| ferry | lock |\n| --- | --- |\n| night | no |\n\n"
        "Two workers of the ferry took one lock in a different order.\n"
    )
    shown = best(note, "which lock did the ferry take", most=70)
    assert shown == "Two workers of the ferry took one lock in a different order."
    assert best("# Ferry\n\n- [[ferry lock]]\n", "ferry lock") == "- [[ferry lock]]"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('{% hint style="info" %}\nThe ferry burns gas.\n{% endhint %}', "The ferry burns gas."),
        ("The ferry burns [[Fuel#Gas|natural gas]]. %% checked %%", "The ferry burns natural gas."),
        ("| ferry | [[Fuel\\|gas]] |", "| ferry | gas |"),
        ("The ferry burns [[natural gas|dendron://boats/fuel.gas#cold]].", "The ferry burns natural gas."),
        ("The ferry burns [[gas|boats.fuel.gas]].", "The ferry burns gas."),
        ("The ferry burns [[80/20|dendron://boats/fuel]].", "The ferry burns 80/20."),
        ("The ferry burns [[boats/fuel.md|gas 2.0]].", "The ferry burns gas 2.0."),
        (
            "- The ferry burns gas.\n  collapsed:: true\n  captain:: Ada",
            "- The ferry burns gas. captain:: Ada",
        ),
        ("- The ferry burns gas.\n  done:: 1628054749291\n  hl-page:: 12", "- The ferry burns gas."),
        ("The ferry burns gas.\nid:: 610a27f6-7581-4ef3-96aa-f3fcb7b6049c", "The ferry burns gas."),
        ("The ferry burns gas. ((610a27f6-7581-4ef3-96aa-f3fcb7b6049c))", "The ferry burns gas."),
        ("The ferry burns gas. ^ln5zq9jphkjb", "The ferry burns gas."),
        ("The ferry burns [[id:0176-81a][natural gas]].", "The ferry burns natural gas."),
        ("The ferry takes x ^2 hours.", "The ferry takes x ^2 hours."),
        ("The ferry has a type: `id:: a -> a`", "The ferry has a type: `id:: a -> a`"),
        ("![[ferry.png]] The ferry burns gas.&#x20;", "The ferry burns gas."),
        ("<table><tr><td>The ferry</td><td>gas</td></tr></table>", "The ferry gas"),
        ("The ferry\\\nburns gas.", "The ferry burns gas."),
        ("`<td>ferry</td>` is a cell", "`<td>ferry</td>` is a cell"),
        ("```\n<div>ferry[[a|b]]</div>\n```", "<div>ferry[[a|b]]</div>"),
        ('{% embed url="https://ferry.example" %}', '{% embed url="https://ferry.example" %}'),
        ("if [[ -f ferry || -d x ]]", "if [[ -f ferry || -d x ]]"),
    ],
)
def test_markup_that_no_reader_sees_is_not_shown(best, line, shown):
    assert best(f"# Boat\n\n{line}\n", "what about the ferry") == shown


def test_a_note_of_nothing_but_headings_shows_them(best):
    assert best("## Ferry crew\n## Getting help\n", "ferry crew") == "## Ferry crew ## Getting help"


def test_what_is_said_twice_is_shown_once(best):
    note = "> The ferry burns gas.\n\nThe ferry burns [gas](/gas.md).\n\nThe ferry sails.\n"
    assert best(note, "what does the ferry burn") == "> The ferry burns gas. \u2026 The ferry sails."


def test_fields_above_the_title_belong_to_it(best):
    note = (
        "::\n\n    Status: Draft\n    Authors: Ada Lovelace <ada@ferry.example>\n\n=====\nFerry\n=====\n\n"
        "Why\n---\n\nThe ferry needs a crew. The ferry crossed at night.\n"
    )
    assert "Ada Lovelace" in best(note, "who wrote the note about the ferry")
    assert "Author: Ada" in best("# Ferry\n\nAuthor: Ada\n\nIt sails.\n", "who wrote about the ferry")
    assert "Author" not in best("# Ferry\n\nAuthor: Ada\n\nThe ferry sails.\n", "does the ferry sail")


@pytest.mark.parametrize(
    ("field", "question"),
    [
        ("Author: Maria Lopez", "who wrote the cache design?"),
        ("**Authors:** Maria Lopez, Jonas Weber", "who has written the cache design"),
        ("Autorin: Maria Lopez", "Wer hat die Notiz zum Cache geschrieben?"),
        ("- Owner: the portal team", "who owns the cache"),
        ("Approvers: Aisha Khan", "who approved the cache design"),
    ],
)
def test_who_did_it_is_the_field_that_names_the_role(best, field, question):
    note = f"# Cache design\n\n{field}\nDate: 2026-03-01\nStatus: Accepted\n\n## Context\n\n"
    note += "This is the cache design, a note on the design of our cache.\n\n## Decision\n\n"
    note += "The cache of the portal is in Redis.\n"
    assert field.strip("-* ") in best(note, question)
    assert "Redis" in best(note, "where is the cache of the portal")


def test_fields_with_a_title_above_a_text_answer_only_what_asks_for_them(best):
    text = "PEP: 12\nTitle: Queue limits\nAuthor: A\nStatus: Final\n\nWhy\n===\n\nThe queue holds 40 jobs.\n"
    assert best(text, "queue limits") == "Why: The queue holds 40 jobs."
    assert "Status: Final" in best(text, "what status have the queue limits")


@pytest.mark.parametrize("to", ["", "To: Tom <t@o.example>\n", "To: a@o.example\nCc: b@o.example\n"])
def test_the_head_of_a_mail_answers_only_who_wrote_it(best, to):
    mail = (
        f"From: Vera Vale <v@vale.example>\n{to}Date: 2026-02-12T09:14:00Z\n\nDear Tom,\n\n"
        "I stop the pilot in Oxford. Waste went up, and guests complain about the eggs.\n\nVera\n"
    )
    shown = best(mail, "why did vera stop the pilot")
    assert shown.startswith("Vera Vale: Dear Tom, I stop the pilot")
    assert "guests complain" in shown
    assert "From:" not in shown
    assert "From: Vera" in best(mail, "who is vera vale")


def test_a_list_of_fields_above_a_text_and_targets_of_links_are_left_out(best):
    text = (
        "- Feature Name: `queue_limits`\n- Start Date: 2025-03-15\n"
        "- RFC PR: [acme/rfcs#12](https://acme.example/12)\n\n## Summary\n[summary]: #summary\n\n"
        "The queue holds 40 jobs [^1].\n\n[^1]: The queue of the RFC had 20.\n"
    )
    assert best(text, "feature queue limits").startswith("Summary: The queue holds 40 jobs")
    assert "RFC PR: [acme" in best(text, "which RFC PR has the queue limits")
    shown = best(text, "queue summary")
    assert "#summary" not in shown
    assert "The queue of the RFC had 20" in shown
    wiki = (
        "<pre>\n  BIP: 7\n  Title: Queue\n  Status: Final\n</pre>\n\n==Why==\n\n"
        "The '''queue''' has <code>40</code> jobs.\n"
    )
    assert best(wiki, "queue final") == "Why: The queue has 40 jobs."
    own = "- Port: 4711\n- Host: ferry\n- Queue limit: 40\n\nIt sails.\n"
    assert "Queue limit: 40" in best(own, "what is the limit")


@pytest.mark.parametrize(
    "question",
    [
        "what did we decide about the queue limit",
        "was the queue limit raised",
        "was wurde zur queue limit beschlossen",
    ],
)
def test_a_question_about_an_outcome_is_answered_by_what_was_decided(best, question):
    talk = "The queue limit came up. The queue limit is low, says Ada. The queue limit is high, says Bo. " * 3
    text = f"# Meeting\n\n## Queue limit\n\n{talk}\n\n### Conclusion\n\n- The queue limit stays at 40 jobs.\n"
    assert "stays at 40" in best(text, question, most=160)
    assert "stays at 40" not in best(text, "queue limit according to Bo", most=160)


def test_the_result_of_an_exchange_is_told_and_not_its_question_or_the_work(best):
    shown = best(EXCHANGE, "why does the ferry importer skip night crossings", most=130)
    assert shown.startswith("The ferry importer dropped every row without an arrival")


def test_what_is_left_out_between_two_sentences_is_marked(best):
    shown = best(NOTE, "who is refunded when a worker took the lock", most=200)
    assert " \u2026 " in shown


def test_a_sentence_beyond_the_budget_is_cut_around_the_words_of_the_question(best):
    line = ", ".join(f"item{number}" for number in range(200))
    shown = best(
        f"Values: {line}, the anchor weighs nine tons, {line}.", "what does the anchor weigh", most=150
    )
    assert "the anchor weighs nine tons" in shown
    assert len(shown) <= 150


def test_without_a_word_of_the_question_the_matching_chunk_is_told_from_its_beginning(best):
    assert best("# Kiln\n\nThe kiln burns gas.", "zzz qqq") == "The kiln burns gas."


def test_a_table_that_a_document_repeats_row_by_row_is_shown_in_words(best):
    rows = [["Item", "Price", "Note"], ["towel", "0.38", ""], ["duvet", "1.24", "a|b."]]
    shown = best(write_table(rows), "what is the price of a towel", most=60)
    assert shown == "Item: towel; Price: 0.38."
    assert "|" not in best(write_table(rows[:1] + rows[2:]), "price of a duvet").replace("a|b", "")
    markdown = write_table(rows).partition("\n\n")[0]
    assert "| towel | 0.38 |" in best(markdown, "what is the price of a towel")


def test_the_heading_of_a_section_tells_what_its_sentences_are_about(best):
    log = (
        "# Trials\n\n## Trial 7 in May\n\nSpeed 11 knots.\n\n## Trial 9 in June\n\nSpeed 14 knots.\n"
        "The hull was clean.\n\n## [[tides]]\n\nNone.\n"
    )
    shown = "Trial 7 in May: Speed 11 knots. \u2026 Trial 9 in June: Speed 14 knots."
    assert best(log, "speed in knots") == f"{shown} The hull was clean."
    assert len(best(log, "speed in knots", most=60)) <= 60
    assert best("# Trial 9\n\nSpeed 14 knots.\n", "what speed") == "Speed 14 knots."
    assert best(f"## {'Long ' * 30}\n\nSpeed 14 knots.\n", "what speed") == "Speed 14 knots."


def test_a_heading_shows_no_secret():
    key = "ghp_" + "a1B2c3D4" * 4 + "a1B2"
    note = replace(
        stored("Nothing."), text=f"# Keys\n\n## Token {key}\n\nIt opens the ferry.\n", clean_hash=0
    )
    found = Match(note, Chunk("c", note.id, 0, note.text, 0, len(note.text)), 1.0)
    shown = excerpt(found, "what opens the ferry", redactor=DEFAULT)
    assert shown.startswith("Token [redacted")
    assert key not in shown


def test_a_secret_is_never_shown_although_its_beginning_is_left_out(best):
    key = "ghp_" + "a1B2c3D4" * 5
    shown = best(f"{FILLING}\n\nThe ferry token is {key} for now.", "what is the ferry token", most=80)
    assert key not in shown
    assert "ferry token" in shown


class CountingRedactor(Redactor):
    """The default rules, which notes how long the texts were that it searched."""

    def find(self, text):
        lengths.append(len(text))
        return super().find(text)


lengths = []


def test_secrets_are_searched_around_the_parts_that_are_shown_and_only_once():
    lengths.clear()
    keys = [f"ghp_{letter}1B2c3D4" + "a1B2c3D4" * 4 for letter in "ab"]
    text = f"The token is {keys[0]}.\n{'Nothing here. ' * 3_000}\nNow it is {keys[1]}, for good."
    spans = [(text.index(key), text.index(key) + 9) for key in keys]
    note = replace(stored("Nothing yet."), text=text)

    found = find_secrets_near(note, spans, CountingRedactor())

    assert [text[one.start : one.end] for one in found] == keys
    assert len(lengths) == 2
    assert sum(lengths) < len(text) / 3
    assert find_secrets_near(note, spans[1:], CountingRedactor()) == found[1:]
    assert len(lengths) == 2
    # A part between them was not searched yet.
    assert find_secrets_near(note, [(20_000, 20_010)], CountingRedactor()) == []
    assert len(lengths) == 3


def stored(text, redactor=DEFAULT):
    """Return the memory of a note as ingestion makes it."""
    draft = Draft("memory", "/notes/ferry.md", text)
    return classify_draft(draft, now=NOW, sizes=ChunkingSettings(), redactor=redactor).memory


def test_a_text_that_was_stored_without_secrets_is_not_searched_again():
    lengths.clear()
    assert find_secrets_near(stored(NOTE), [(0, 90)], CountingRedactor()) == []
    assert not lengths
    assert find_secrets_near(replace(stored(NOTE), clean_hash=0), [(0, 90)], CountingRedactor()) == []
    assert lengths


@pytest.mark.parametrize("allow", [(), ("Svelte",)])
def test_other_rules_than_those_of_the_writer_are_applied(allow):
    note = stored(NOTE, Redactor(allow=allow))
    (found,) = find_secrets_near(note, [(0, len(NOTE))], Redactor(extra=("Ad(yen)",)))
    assert NOTE[found.start : found.end] == "yen"
    allowed = stored("The password is hunter22xyz", Redactor(allow=("hunter22xyz",)))
    assert "hunter22xyz" in allowed.text
    assert find_secrets_near(allowed, [(0, 27)], DEFAULT)


def test_a_secret_that_another_program_writes_to_the_database_is_not_shown(memory, best):
    best(NOTE, "what is the booking page built from")
    token = "ghp_" + "a1B2c3D4" * 4 + "a1B2"
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET text = replace(text, 'Svelte', ?)", (token,))
    said = call(memory, "search", {"query": "what is the booking page built from", "project": "*"}).text
    assert "booking page" in said
    assert token not in said


def test_every_way_to_ask_gives_the_same_sentence(memory, best, inside, tmp_path):
    answer = "Seats are held for eleven minutes, then the lock expires."
    question = "how many minutes is a seat held"
    assert answer in best(NOTE, question)
    told = call(memory, "search", {"query": question, "project": "*"}).text
    assert answer in told
    block = context(memory.query(question, question=Question(question)), max_chars=700, redactor=DEFAULT).text
    assert answer in block

    note = tmp_path / "ferry.md"
    note.write_text(NOTE, encoding="utf-8")
    home = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
    inside("ingest", str(note), "--project", "user", **home)
    assert answer in inside("query", question, "--all", **home).stdout
    document = json.loads(inside("query", question, "--all", "--json", **home).stdout)
    assert answer in document["matches"][0]["excerpt"]
