"""Short questions of one form: what they name, in which language, and which questions are none of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.retrieval.routing_frames import agents_frame, code_frame

CALLED = (
    "who calls helper",
    "Who calls helper?",
    "which functions call helper()",
    "callers of helper",
    "helper's callers",
    "helper callers",
    "where is helper called",
    "where do we use helper?",
    "what depends on helper",
    "what would break if I change helper",
    "show me all usages of `helper` in the project",
    "wer ruft helper auf",
    "Wo wird helper aufgerufen?",
    "Was hängt von helper ab?",
    "was haengt von helper ab",
    "Von wem wird die Funktion helper benutzt?",
    "qui appelle helper ?",
    "Qu'est-ce qui dépend de helper ?",
    "où est appelée la fonction helper",
    "¿Quién llama a helper?",
    "¿Dónde se usa la función helper?",
    "quem chama helper?",
    "chi chiama helper?",
)
HEIRS = (
    "what inherits from Kiln",
    "which classes extend Kiln?",
    "subclasses of Kiln",
    "Kiln subclasses",
    "was erbt von Kiln",
    "Unterklassen von Kiln",
    "quelles classes héritent de Kiln",
    "qué clases heredan de Kiln",
)
OTHERS = (
    "why do we call the helper before the deploy",
    "how is helper called by the scheduler when the queue is full",
    "what did Ann say about calling customers",
    "the deploy fails",
    "kiln",
    "",
)
AT_WORK = (
    "what agents are running?",
    "which agents are online",
    "who is working right now",
    "is anyone else working on this at the moment?",
    "who is online",
    "agents",
    "list the active agents",
    "wer arbeitet gerade",
    "Welche Agenten laufen gerade?",
    "quels agents sont actifs ?",
    "qui travaille en ce moment ?",
    "¿Qué agentes están activos?",
)


@pytest.mark.parametrize("question", CALLED)
def test_a_short_question_about_a_function_names_it_alone(question):
    frame = code_frame(question)
    assert frame is not None
    assert (frame.names, frame.heirs) == (("helper",), False)


@pytest.mark.parametrize("question", HEIRS)
def test_a_short_question_about_subclasses_asks_for_what_inherits(question):
    frame = code_frame(question)
    assert frame is not None
    assert (frame.names, frame.heirs) == (("Kiln",), True)


@pytest.mark.parametrize(
    ("question", "name"),
    [("who calls run", "run"), ("subclasses of Base", "Base"), ("what implements Interface", "Interface")],
)
def test_a_word_of_the_closed_list_may_be_the_name_where_there_is_no_other(question, name):
    frame = code_frame(question)
    assert frame is not None
    assert frame.names == ()
    assert frame.instead[-1] == name


@pytest.mark.parametrize("question", OTHERS)
def test_a_question_with_a_reason_or_a_story_is_no_such_question_or_names_what_no_code_has(question):
    frame = code_frame(question)
    assert frame is None or set(frame.names) - {"helper", "kiln"}


@pytest.mark.parametrize("question", AT_WORK)
def test_a_short_question_about_who_is_at_work_asks_for_all_agents(question):
    frame = agents_frame(question)
    assert frame is not None
    assert frame.names == ()


@pytest.mark.parametrize(
    "question", ["is builder still running?", "what is builder working on", "was macht builder gerade?"]
)
def test_a_short_question_about_one_agent_names_it(question):
    frame = agents_frame(question)
    assert frame is not None
    assert frame.names == ("builder",)


@pytest.mark.parametrize("question", ["who fixed the bug", "why is the agent slow", "when did it run", ""])
def test_a_question_about_something_else_asks_for_no_agents_or_names_what_is_none(question):
    frame = agents_frame(question)
    assert frame is None or frame.names


@given(st.text(max_size=2000))
def test_any_text_names_only_what_it_holds(text):
    for frame in (code_frame(text), agents_frame(text)):
        if frame is not None:
            assert len(frame.names) <= 3
            assert all(name in text for name in (*frame.names, *frame.instead))


@given(name=st.from_regex(r"zq[a-z0-9_]{1,20}", fullmatch=True), question=st.sampled_from(CALLED))
def test_whatever_the_name_is_the_question_stays_the_same(name, question):
    frame = code_frame(question.replace("helper", name))
    assert frame is not None
    assert frame.names == (name,)
