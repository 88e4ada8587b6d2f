"""Rules that apply to what a question sets out to do: found without its words, where that is sure."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.domain.retrieval.rule_scope import MAX_CHARS, known_scopes_of
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.select import ONLY_RULES
from ragmem.services.retrieval.shapes import explain_match
from ragmem.storage.home.catalog import Catalog

NOW = datetime(2026, 6, 1, tzinfo=UTC)
RULE = "Before a release, bring the changelog up to date."
FACT = "The push service drops what it cannot deliver within a minute, and we now count that."


def store(memory, *texts, project="user", source="notes", days=0.0):
    drafts = [
        Draft(
            source,
            f"{text[:9]}.md",
            text,
            event_time=NOW - timedelta(days=days),
            scope=Scope(project),
        )
        for text in texts
    ]
    return [result.id for result in memory.ingest(drafts, rule="off")]


def asked(memory, text, **filters):
    return memory.query(text, question=Question(text, **filters), at=NOW)


def texts(answer):
    return [match.memory.text for match in answer.matches]


def test_a_rule_in_scope_comes_before_what_shares_the_words(memory):
    store(memory, RULE, FACT)
    answer = asked(memory, "I will push the release now", nearest=True)
    assert texts(answer)[0] == RULE
    assert "rule in scope: release" in explain_match(answer.matches[0], DEFAULT)
    assert not any("rule in scope" in line for line in explain_match(answer.matches[1], DEFAULT))


def test_a_question_why_finds_what_answers_it_and_no_rule(memory):
    store(memory, RULE, FACT)
    answer = asked(memory, "why does the push service drop a release", nearest=True)
    assert texts(answer)[0] == FACT
    assert not any(name.startswith("rule") for match in answer.matches for name in match.terms)


def test_what_nothing_answers_is_told_the_rules_alone(memory, monkeypatch):
    from ragmem.services.retrieval import select

    store(memory, RULE, FACT)
    monkeypatch.setattr(select, "answer_evidence", lambda *_: ({"relevance": 0.0, "floor": 1.0}, False))
    answer = asked(memory, "let's cut version 2")
    assert (texts(answer), answer.notes[-1]) == ([RULE], ONLY_RULES)
    assert not asked(memory, "let's paint the fence").matches


@pytest.mark.parametrize("source", ["transcripts", "prds", "plans"])
def test_what_was_said_or_planned_is_no_rule(memory, source):
    store(memory, "User: Before a release, bring the changelog up to date.", source=source)
    assert not memory.catalog.rules.of(None)


def test_rules_are_those_of_the_projects_that_are_asked(memory):
    store(memory, RULE, project="quay")
    store(memory, "Never release on a Friday.", project="kiln")
    assert texts(asked(memory, "release this", projects=("kiln",)))[:1] == ["Never release on a Friday."]
    assert len(memory.catalog.rules.of(None)) == 2
    assert memory.catalog.rules.of(()) == ()


def test_a_new_rule_is_known_at_once_and_a_forgotten_one_is_not(memory):
    [old] = store(memory, RULE)
    assert [rule.memory_id for rule in memory.catalog.rules.of(None)] == [old]
    [new] = store(memory, "Never release on a Friday.", days=1)
    assert [rule.memory_id for rule in memory.catalog.rules.of(None)] == [old, new]
    memory.catalog.memories.remove([old])
    assert [rule.memory_id for rule in memory.catalog.rules.of(None)] == [new]


def test_a_rule_with_another_date_takes_its_place(memory):
    [old, new] = [*store(memory, RULE, days=1), *store(memory, "Never release on a Friday.")]
    assert [rule.memory_id for rule in memory.catalog.rules.of(None)] == [new, old]
    memory.catalog.memories.redate({old: NOW + timedelta(days=1)})
    assert [rule.memory_id for rule in memory.catalog.rules.of(None)] == [old, new]


def test_what_a_session_was_shown_makes_no_rule_be_read_again(memory, monkeypatch):
    store(memory, RULE)
    rules = memory.catalog.rules
    first = rules.of(None)
    memory.catalog.sessions.keep("session", project="user", topic=None, shown=["a"], now=NOW)
    monkeypatch.delattr(type(rules), "_read")
    assert rules.of(None) == first


def test_all_threads_share_the_rules(memory, monkeypatch):
    store(memory, RULE)
    rules = memory.catalog.rules
    first = rules.of(None)
    monkeypatch.delattr(type(rules), "_read")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(rules.of, None).result() == first


def test_of_a_long_text_the_chunk_with_the_rule_is_shown(memory):
    filler = "\n\n".join(f"Ship {n} lay at berth {n} and left with the evening tide." for n in range(200))
    store(
        memory,
        f"# Conventions\n\nAlways be kind.\n\n{filler}\n\n## Release\n\n- Never release on a Friday.\n",
    )
    [match, *_] = asked(memory, "release this").matches
    assert "Never release on a Friday" in match.chunk.text


def test_a_long_text_is_read_for_its_rules_once(memory):
    filler = "\n\n".join(f"Ship {n} lay at berth {n} and left with the evening tide." for n in range(500))
    store(
        memory,
        f"# Conventions\n\nAlways be kind.\n\n## Release\n\n- Never release on a Friday.\n\n{filler}\n",
    )
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET protected = 1")
    assert len(filler) > MAX_CHARS
    assert memory.catalog.rules.of(None)
    before = known_scopes_of.cache_info().misses
    [match, *_] = asked(memory, "release this").matches
    assert any(term.startswith("rule in scope") for term in match.terms)
    assert known_scopes_of.cache_info().misses == before


def long_rules(count=10):
    """Return texts with a rule each, enough of them to be worth the cache."""
    filler = "\n\n".join(f"Ship {n} lay at berth {n} and left with the evening tide." for n in range(120))
    return [
        f"# {n} Conventions\n\n## Release\n\n- Never release version {n} on a Friday.\n\n{filler}\n"
        for n in range(count)
    ]


def store_protected(memory, texts, **options):
    store(memory, *texts, **options)
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET protected = 1")


@pytest.fixture
def instructed(memory):
    """Return a memory with long instruction files, and the file with their scopes, which is there."""
    store_protected(memory, long_rules())
    assert len(memory.catalog.rules.of(None)) == 10
    return memory, memory.settings.places.cache / "rules.json"


def rules_of_another_process(memory):
    known_scopes_of.cache_clear()
    catalog = Catalog(memory.catalog.database, cache=memory.settings.places.cache)
    return catalog.rules.of(None), known_scopes_of.cache_info().misses


def test_another_process_reads_no_text_for_its_rules_again(instructed):
    memory, _ = instructed
    assert rules_of_another_process(memory) == (memory.catalog.rules.of(None), 0)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"rules": "older", "texts": {}}'])
def test_rules_are_found_again_where_their_file_is_lost_or_of_other_rules(instructed, content):
    memory, file = instructed
    kept = file.read_bytes()
    file.unlink() if content is None else file.write_bytes(content)
    assert rules_of_another_process(memory) == (memory.catalog.rules.of(None), 10)
    assert file.read_bytes() == kept


def test_a_damaged_entry_is_found_again(instructed):
    memory, file = instructed
    written = orjson.loads(file.read_bytes())
    written["texts"] = {text: [[1, 2]] for text in written["texts"]}
    file.write_bytes(orjson.dumps(written))
    assert rules_of_another_process(memory) == (memory.catalog.rules.of(None), 10)


def test_a_cache_that_cannot_be_written_changes_no_answer(instructed):
    memory, file = instructed
    file.unlink()
    file.mkdir()
    assert rules_of_another_process(memory) == (memory.catalog.rules.of(None), 10)


def test_what_is_deleted_for_good_leaves_no_word_in_the_cache(instructed):
    memory, file = instructed
    stale = Catalog(memory.catalog.database, cache=memory.settings.places.cache).rules
    assert len(stale.of(None)) == 10
    memory.removal.purge(memory.removal.plan([min(memory.catalog.memories.ids())], purge=True))
    assert not file.exists()
    assert len(rules_of_another_process(memory)[0]) == 9
    store_protected(memory, [text.replace("version", "build") for text in long_rules()], project="kiln")
    # It knew the deleted text, and adds others to the file.
    assert len(stale.of(None)) == 19
    assert len(orjson.loads(file.read_bytes())["texts"]) == 19
