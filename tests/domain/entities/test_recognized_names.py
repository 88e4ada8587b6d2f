"""The spans of a model for named entities, beside the entities of the rules."""

import pytest

from ragmem.domain.entities.recognized_names import LABELS, add_recognized, read_spans, recognition_key
from ragmem.domain.model import Entity, Extraction, Relation
from ragmem.domain.text.token_types import ENTITY_TYPES


def spans(text, **labels):
    """Return a span for each name in a text, all with one score."""
    names = [(name.replace("_", " "), label) for name, label in labels.items()]
    return [(text.index(name), text.index(name) + len(name), label, 0.9) for name, label in names]


def found(text, named):
    return {one.name: one.type for one in read_spans(named, text).entities}


def test_every_label_has_one_of_our_types():
    # An export with three labels could not be told from one with the scores of start, end and inside.
    assert set(LABELS.values()) <= set(ENTITY_TYPES)
    assert len(LABELS) != 3


def test_names_get_types_and_their_line_as_description():
    text = "# Quay\n\nAda Lovelace lives in Genoa.\nThe quay is old."
    answer = read_spans(spans(text, Ada_Lovelace="person", Genoa="location"), text)
    assert answer.is_valid
    assert answer.entities == (
        Entity("Ada Lovelace", "person", "Ada Lovelace lives in Genoa."),
        Entity("Genoa", "concept", "Ada Lovelace lives in Genoa."),
    )
    assert read_spans([], text).entities == ()


def test_the_best_score_decides_on_two_types_of_one_name():
    text = "Genoa called. Genoa is a town."
    named = [(0, 5, "person", 0.6), (14, 19, "location", 0.9)]
    assert found(text, named) == {"Genoa": "concept"}
    assert found(text, named[::-1]) == {"Genoa": "concept"}


@pytest.mark.parametrize(
    "text",
    [
        "the quay is open",
        "run `Quay up` now",
        "```sh\nQuay up\n```",
        "```\nQuay up",
        "see src/Quay/main.py",
        "call Quay.open now",
        "set PORT=Quay here",
        "at https://example.com/Quay today",
        "write to Quay@example.com",
    ],
)
def test_code_and_words_in_lower_case_are_no_names(text):
    at = text.lower().index("quay")
    assert found(text, [(at, at + 4, "organization", 0.99)]) == {}


@pytest.mark.parametrize(
    "text", ["[Quay](src/quay.py)", "Quay. The next", "(Quay)", "the `x` of Quay", "Quay's"]
)
def test_names_beside_code_and_marks_are_names(text):
    assert found(text, spans(text, Quay="organization")) == {"Quay": "organization"}


def test_a_name_does_not_reach_over_the_end_of_a_line():
    assert found("Harbour\nAda Lovelace", [(0, 20, "person", 0.9)]) == {}


def test_chinese_names_are_names():
    text = "\u7531 \u5f20\u4f1f \u5728 \u5317\u4eac \u5f00\u53d1"
    assert found(text, [(2, 4, "person", 0.9)]) == {"\u5f20\u4f1f": "person"}


def test_the_model_adds_names_and_types_only_what_the_rules_guess():
    entities = (
        Entity("Genoa", "tool", "a"),
        Entity("Ada Lovelace", "person", "b"),
        Entity("Kafka", "tool", "c"),
        Entity("pier.db", "file", "d"),
        Entity("omlx", "tool", "e"),
    )
    relations = (Relation("Genoa", "Kafka", "uses", "a"),)
    ruled = Extraction("chunk", entities, relations)
    named = [
        Entity(name, "organization", "z")
        for name in ("Genoa", "Ada Lovelace", "Kafka", "pier.db", "omlx", "Quay")
    ]
    both = add_recognized(ruled, named)
    assert (both.chunk_id, both.relations) == ("chunk", relations)
    assert both.entities == (
        Entity("Genoa", "organization", "a"),
        *entities[1:],
        Entity("Quay", "organization", "z"),
    )
    assert add_recognized(ruled, []) == ruled


def test_another_model_or_threshold_has_another_key():
    keys = {recognition_key(model, threshold) for model in ("one", "other") for threshold in (0.5, 0.6)}
    assert len(keys) == 4
