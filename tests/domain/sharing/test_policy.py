"""Which memories a rule chooses for the team, and which stay whatever a person says."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragmem.config.settings import SHARE_KINDS
from ragmem.domain.model import (
    EPISODES,
    SHARED,
    UNASSIGNED,
    USER,
    Category,
    Kind,
    Memory,
    Scope,
    Tier,
    content_hash,
)
from ragmem.domain.model.lifecycle import Approval, EntryType
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import draft_of, record
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sharing.policy import Standing, Wish, kinds_of, omission, refusal, types_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TEXT = "Use NATS, because Kafka needs too many brokers."
RULES = Wish(kinds=SHARE_KINDS)


def memory(text=TEXT, *, type="", **fields):  # noqa: A002 - the key of the metadata
    made = Memory("m1", "ingest", "/p/queue.md", text, "Queue", NOW, NOW, NOW, content_hash(text), Scope("p"))
    return replace(made, metadata={"type": type} if type else {}, **fields)


def of_record(kind, **fields):
    draft = draft_of(record(kind, fields), scope=Scope("p"), event_time=NOW, redactor=DEFAULT)
    return replace(
        memory(draft.text),
        source=draft.source,
        metadata=draft.metadata,
        category=draft.category,
        tags=draft.tags,
    )


@pytest.mark.parametrize(
    ("made", "kinds"),
    [
        (memory(type="decision"), ("decision",)),
        (memory(type="adr"), ("decision",)),
        (memory(protected=True), ("decision",)),
        (memory(uri="/p/docs/adr/0007-queue.md"), ("decision",)),
        (memory(category=Category.GOTCHA), ("gotcha",)),
        (memory(category=Category.ERROR_SOLUTION), ("error_solution",)),
        (memory(category=Category.PATTERN), ("convention",)),
        (memory(category=Category.BEST_PRACTICE), ("convention",)),
        (of_record(RecordType.GOTCHA, gotcha="it drops connections"), ("record", "gotcha")),
        (of_record(RecordType.CODEBASE_DISCOVERY, path="a.py", purpose="parses"), ("record",)),
        (memory(), ()),
        (memory(protected=True, text=TEXT * 100), ()),
        (memory(category=Category.GOTCHA, text=TEXT * 100), ()),
        (memory(type="decision", text=TEXT * 100), ("decision",)),
        (memory(type="gotcha"), ("gotcha",)),
        (memory(type="best practice", protected=True), ("convention",)),
        (memory(type="project", protected=True), ()),
        (memory(type="user", protected=True), ()),
        (memory(type="user", protected=True, text="We decided on tabs."), ()),
        (memory(protected=True, kind=Kind.PREFERENCE), ()),
        (memory(protected=True, kind=Kind.PREFERENCE, text="We decided to use Redis."), ("decision",)),
        (
            memory(protected=True, kind=Kind.PREFERENCE, text="Wir haben uns f\u00fcr tar entschieden."),
            ("decision",),
        ),
        (of_record(RecordType.SESSION_INSIGHT, summary="we did much"), ()),
        (of_record(RecordType.TASK_OUTCOME, task="deploy", success="true"), ()),
    ],
)
def test_a_rule_chooses_by_what_a_memory_is(made, kinds):
    assert kinds_of(made) == kinds
    assert set(kinds) <= set(SHARE_KINDS)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("Gotcha: {}", "gotcha"),
        ("# Gotcha\n\n{}", "gotcha"),
        ("## Pitfall (macOS): the lock\n\n{}", "gotcha"),
        ("**Known pitfalls:** {}", "gotcha"),
        ("- **Convention**: {}", "convention"),
        ("Best practice \u2014 {}", "convention"),
        ("# Decision 7 - the queue\n\n{}", "decision"),
        ("GOTCHAS:\n{}", "gotcha"),
    ],
)
def test_the_head_of_a_text_names_its_kind_whatever_its_words_suggest(head, kind):
    for guessed in ({}, {"protected": True}, {"category": Category.PATTERN}):
        assert kinds_of(memory(head.format(TEXT), **guessed)) == (kind,)
        assert kinds_of(memory(title=head.partition("\n")[0].format(""), **guessed)) == (kind,)


@pytest.mark.parametrize(
    ("made", "category", "entry"),
    [
        (memory("Gotcha: it hangs.", protected=True), Category.GOTCHA, EntryType.ERROR),
        (memory(type="gotcha", category=Category.PATTERN), Category.GOTCHA, EntryType.ERROR),
        (memory("Convention: tabs."), Category.BEST_PRACTICE, EntryType.INSIGHT),
        (memory("Convention: tabs.", category=Category.PATTERN), Category.PATTERN, EntryType.INSIGHT),
        (memory("Decision: tabs.", category=Category.PATTERN), Category.PATTERN, EntryType.DECISION),
        (memory(category=Category.PATTERN), Category.PATTERN, EntryType.INSIGHT),
        (memory(), Category.NONE, EntryType.NOTE),
    ],
)
def test_it_leaves_under_the_type_that_it_names(made, category, entry):
    assert types_of(made) == (category, entry)


@pytest.mark.parametrize(
    "made",
    [
        memory("Gotcha hunting is fun: we met at noon."),
        memory("The decision: none yet."),
        memory("Decisionless: we wait."),
        memory("Conventional wisdom: use NATS."),
        memory("Pitfalls of Kafka are many."),
        memory("It works.\n\nGotcha: it is slow."),
        memory("Gotcha: it is slow.", type="project"),
        memory(f"# Gotchas\n\n{TEXT * 100}"),
    ],
)
def test_what_no_head_names_is_left_to_the_guess(made):
    assert kinds_of(made) == ()


@pytest.mark.parametrize("source", [*sorted(EPISODES), SHARED])
def test_episodes_and_what_others_have_shared_never_leave(source):
    made = memory(type="decision", source=source)
    word = Wish(ids=(made.id,), consent=(made.id,))
    assert kinds_of(made) == ()
    assert refusal(made, Standing(), word)


@pytest.mark.parametrize(
    ("made", "standing"),
    [
        (memory(type="decision", scope=Scope(USER)), Standing()),
        (memory(type="decision", scope=Scope(UNASSIGNED)), Standing()),
        (memory(type="decision"), Standing(approval=Approval.PROPOSED)),
        (memory(type="decision"), Standing(approval=Approval.REJECTED)),
        (memory(type="decision"), Standing(redacted=True)),
        (memory(type="decision"), Standing(personal=True)),
        (of_record(RecordType.EPISODE, title="it fell over", event_type="error"), Standing()),
    ],
)
def test_a_persons_word_does_not_share_it(made, standing):
    assert refusal(made, standing, Wish(ids=(made.id,)))


def test_only_consent_shares_what_redaction_touched():
    made = memory(type="decision")
    assert refusal(made, Standing(redacted=True), Wish(consent=("other",)))
    assert refusal(made, Standing(redacted=True), Wish(consent=(made.id,))) == ""


@pytest.mark.parametrize(
    ("made", "standing"),
    [
        (memory(type="decision", tier=Tier.DISCARD), Standing()),
        (memory(type="decision"), Standing(superseded=True)),
        (memory(type="decision"), Standing(tracked=True)),
        (memory(type="decision", title="Session summary 2026-02-10"), Standing()),
        (memory(type="decision", title="Session S54 - triage"), Standing()),
        (memory(type="decision", uri="/p/CLAUDE.md"), Standing()),
    ],
)
def test_a_rule_leaves_it_out_and_a_persons_word_shares_it(made, standing):
    assert omission(made, standing, RULES)
    assert refusal(made, standing, Wish(ids=(made.id,))) == ""


@pytest.mark.parametrize("title", ["Session tokens expire", "Sessions live in Redis", "Handler", "Queue"])
def test_a_decision_about_sessions_is_no_report_of_one(title):
    assert omission(memory(type="decision", title=title), Standing(), RULES) == ""


def test_tags_choose_whatever_the_kind_is_and_what_no_rule_is_about_is_not_told():
    assert omission(memory(tags=("team",)), Standing(), Wish(tags=("team",))) == ""
    assert omission(memory(tags=("own",)), Standing(), Wish(tags=("team",), kinds=SHARE_KINDS)) is None
