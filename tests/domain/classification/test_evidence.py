import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.classification.evidence import weigh
from ragmem.domain.classification.evidence_cues import WORDS, EvidenceType
from ragmem.domain.classification.protection import is_protected
from ragmem.domain.classification.signal import (
    FADES_BY,
    KEPT_ABOVE,
    WHOLE_FROM,
    classify,
    classify_by_evidence,
)
from ragmem.domain.model import Tier

PHRASES = [phrase.strip() for cues in WORDS.values() for phrase in cues.words.split(",")]
TEXTS = st.text(max_size=300) | st.lists(
    st.sampled_from(
        [
            *PHRASES,
            "# Step 1\n",
            "\n\n",
            ". ",
            "- Never moor here",
            "`a.b()`",
            "```\n",
            "let me see",
            "[name of it]",
        ]
    ),
    max_size=40,
).map(" ".join)


def sorts(text: str) -> dict[EvidenceType, tuple[str, ...]]:
    return {item.sort: item.words for item in weigh(text)}


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        (
            "It failed because `pull()` returns before the rope is tight. Fixed by a wait in `winch.py`.",
            Tier.INGEST,
        ),
        ("## Decision\n\nThe tide table is kept in `tides.db`.", Tier.INGEST),
        ("- Never push to the quay branch.\n- Prefer short ropes.", Tier.INGEST),
        ("## Step 3: lights\n\n- Add `Lamp.on()` to the pier, after the cable is there.", Tier.SUMMARIZE),
        ("The ferry of Porto Azul had no captain on Monday.", Tier.DISCARD),
        ("Let me look at the tests before I go on:", Tier.DISCARD),
        ("Can you commit all of this, please?", Tier.DISCARD),
        ("Read the harbour rules and write a report on each of them for me.", Tier.DISCARD),
        ("<notice>\n<id>7</id>\n<state>done</state>\n</notice>", Tier.DISCARD),
        ("Exit code 1\nls: /quay: No such file or directory", Tier.DISCARD),
        ("- Consider edge cases\n- Ensure good quality\n- Write comprehensive tests", Tier.DISCARD),
        ("## Personas\n\n- Describe [name of persona] for this feature.", Tier.DISCARD),
        ("# Harbour\n\nA guide.", Tier.DISCARD),
        ("Thanks, that was really great!", Tier.DISCARD),
        ("", Tier.DISCARD),
    ],
)
def test_a_text_has_the_tier_that_its_evidence_gives(text, tier):
    assert classify_by_evidence(text).tier is tier


def test_words_are_looked_for_and_not_parts_of_words():
    assert EvidenceType.FIX not in sorts("The prefixes are suffixed.")
    assert sorts("The rope was fixed.")[EvidenceType.FIX] == ("fixed",)
    assert sorts("It was THE ROOT CAUSE.")[EvidenceType.CAUSE] == ("root cause",)


def test_a_phrase_does_not_reach_over_the_end_of_a_sentence():
    assert EvidenceType.CAUSE not in sorts("It is at the root. Cause unknown.")


def test_what_is_only_announced_states_nothing():
    said = sorts("Let me see whether it failed because of the root cause in `winch.py`.")
    assert said[EvidenceType.PROGRESS] == ("let me",)
    assert not said.keys() & {EvidenceType.CAUSE, EvidenceType.DENIAL, EvidenceType.NAMES}


@pytest.mark.parametrize(
    "text",
    [
        "[The plan](plan.md) says which quay is closed.",
        '"North" is the quay that the ferry uses.',
        "import of the tide tables failed on Monday",
        "at the quay there are two winches",
        "It links to [[north quay]] and is tagged [quay, winch].",
    ],
)
def test_prose_that_begins_like_output_or_code_is_prose(text):
    assert not sorts(text).keys() & {EvidenceType.OUTPUT, EvidenceType.CODE, EvidenceType.BLANKS}


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ('{\n  "name": "quay"\n}', EvidenceType.OUTPUT),
        ("0629d16 add a winch\n9dd68ea mend the winch", EvidenceType.OUTPUT),
        ("import winch;\nlet rope = winch.pull();", EvidenceType.CODE),
        ("Moor at [name of quay].", EvidenceType.BLANKS),
    ],
)
def test_output_code_and_blanks_are_told_from_prose(text, sort):
    assert sort in sorts(text)


def test_plans_are_worth_less_in_the_long_run():
    fact = "The winch waits for `Rope.tight`, because `pull()` returns before."
    assert classify_by_evidence(f"## Winch\n\n{fact}").tier is Tier.INGEST
    plan = classify_by_evidence(f"## Next steps\n\n{fact}")
    assert plan.tier is Tier.SUMMARIZE
    assert re.match(r"worth [\d.]+, later [\d.]+; ", plan.reason)


def test_a_text_in_another_language_is_not_discarded_for_want_of_english_words():
    german = "Wir schließen den Kai über Nacht, die Fähre fährt früh. Der Schlüssel liegt im Büro."
    assert classify_by_evidence(german).tier is Tier.SUMMARIZE
    assert EvidenceType.FOREIGN in sorts("码头夜间关闭。早班渡轮从北侧出发。钥匙在港务办公室。")
    assert EvidenceType.FOREIGN not in sorts(
        "The café of Inês is open at night and the quay is closed to all."
    )


def test_the_line_lists_every_piece_of_evidence_with_its_weight():
    signal = classify_by_evidence("The winch never failed, because `Rope.tight` is checked.")
    assert signal.reason.startswith("worth ")
    for item in signal.evidence:
        assert f"{item.sort} {item.weight:+g}" in signal.reason
        assert all(word in signal.reason for word in item.words)


@pytest.mark.parametrize("rule", ["graded", "classic"])
def test_a_protected_text_is_never_discarded(rule):
    text = "Boats moor at the north quay."
    assert classify(text, rule=rule).tier is Tier.DISCARD
    kept = classify(text, rule=rule, protected=True)
    assert kept.tier is Tier.SUMMARIZE
    assert kept.reason.startswith("protected")


@settings(deadline=None)
@given(TEXTS)
def test_what_protects_itself_is_kept_and_the_tier_follows_from_the_weights(text):
    signal = classify_by_evidence(text)
    assert signal == classify_by_evidence(text)
    worth = round(sum(item.weight for item in signal.evidence), 1)
    protected = EvidenceType.PROTECTED in {item.sort for item in signal.evidence}
    if protected:
        assert signal.tier is not Tier.DISCARD
    elif signal.evidence:
        assert (signal.tier is Tier.DISCARD) == (worth <= KEPT_ABOVE)
    if signal.tier is Tier.INGEST:
        assert worth >= WHOLE_FROM
    if worth >= WHOLE_FROM + FADES_BY:
        assert signal.tier is Tier.INGEST
    assert protected <= is_protected(text.strip())


@settings(deadline=None)
@given(TEXTS)
def test_every_word_that_counts_stands_in_the_text(text):
    plain = " ".join(re.findall(r"\w+", text.replace("’", "'").lower()))  # noqa: RUF001
    for item in weigh(text):
        if item.sort in WORDS and item.sort is not EvidenceType.PASSING:
            assert all(" ".join(re.findall(r"\w+", word)) in plain for word in item.words)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "\t",
            " ",
            "- **",
            "a ",
            "# ",
            "not ",
            "`a/",
            "\n",
            "[a ",
            "{a ",
            "a/",
            "a_",
            "a.b",
            "/a",
            "{{",
            "<a",
            "1,",
        ),
        *("let me ", "é ", "aB", "--a", "a-", " - [ ] ", "$ ", "a(", '"', "A", "the ", "because "),
    ],
)
def test_no_text_takes_long_to_weigh(unit):
    text = unit * (40_000 // len(unit))
    start = time.thread_time()
    weigh(text)
    assert time.thread_time() - start < 2  # linear takes some hundredths; quadratic takes minutes


@pytest.mark.parametrize(
    "text",
    [
        "Der Import schlug fehl, weil die Datei zweimal geschlossen wurde. Das Problem ist behoben.",
        "Nous avons choisi cette version parce que la nouvelle perd des connexions et bloque la file.",
        "Decidimos fijar el controlador porque la nueva version pierde conexiones y la cola se bloquea.",
        "La coda si blocca perche il lettore non chiude il file, e la scrittura resta in attesa per sempre.",
        "De wachtrij is in de nacht vol omdat de lezer het bestand niet sluit en de schrijver dan wacht.",
        "Decidimos manter o leitor antigo porque o novo perde linhas quando a rede cai e depois para.",
        "Antrean macet karena pembaca tidak menutup berkas, dan penulis menunggu untuk waktu yang lama.",
        "Очередь зависала, так как блокировка не снималась после ошибки чтения файла.",
        "队列被锁住。因为读取器没有关闭文件。",
    ],
)
def test_what_no_table_has_words_for_is_kept(text):
    assert [item.weight for item in weigh(text) if item.sort is EvidenceType.FOREIGN] == [2]
    assert classify_by_evidence(text).tier is not Tier.DISCARD


@pytest.mark.parametrize(
    "text",
    [
        "Спасибо большое!",
        "Let me see what los and die mean here, and then go on with the next of them.",
        "The fix of de Vries, le Roux and van der Berg was in the reader of the queue.",
    ],
)
def test_thanks_in_any_language_and_english_with_foreign_words_get_nothing_for_them(text):
    assert classify_by_evidence(text).tier is Tier.DISCARD or EvidenceType.FOREIGN not in {
        item.sort for item in weigh(text)
    }
