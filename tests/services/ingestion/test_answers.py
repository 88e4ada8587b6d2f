"""What an answer is made of: syntax, dates, edits, the graph, other words, a better order, and silence."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends import fake
from ragmem.domain.model import Draft, Scope
from ragmem.domain.retrieval.scoring import BEHIND
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import BackendError
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index, record_of
from ragmem.services.retrieval import calibration
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.select import BASE

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SUBJECTS = (
    ("parser", "The parser rejects tabs, because the grammar of the config was ambiguous."),
    ("ledger", "The ledger rounds to cents at the very end; before that the invoices did not add up."),
    ("queue", "Jobs are acknowledged after the commit, since a crash lost two of them in March."),
    ("cache", "Entries of the cache live ten minutes; longer and the prices on the page were stale."),
    ("gateway", "The gateway retries twice with a jitter, as the bank throttles bursts of requests."),
    ("backup", "Backups run at four in the morning and are restored into a scratch database weekly."),
)
FOREIGN = "Which rivers flow into the Black Sea?"


def draft(uri: str, text: str, *, days: float = 0, project: str = "user", **more) -> Draft:
    return Draft(
        "ingest", uri, text, uri, event_time=NOW - timedelta(days=days), scope=Scope(project), **more
    )


def fill(memory: Ragmem, drafts, *, indexed: bool = True) -> None:
    """Store drafts whatever they are worth; what is not indexed waits for its vectors."""
    memory.prepare()
    items = [
        classify_draft(one, now=NOW, sizes=memory.settings.chunking, rule="off", redactor=DEFAULT)
        for one in drafts
    ]
    memory.catalog.memories.accept([(item.memory, item.chunks) for item in items])
    if indexed:
        index(
            memory.catalog,
            memory.store,
            [record_of(item.memory, item.chunks, redactor=DEFAULT) for item in items],
        )


def noise(count: int = 36) -> list[Draft]:
    return [
        draft(f"{name}-{number}", f"{text} Written down in round {number}.", days=400 + number)
        for number, (name, text) in zip(range(count), SUBJECTS * count, strict=False)
    ]


def asked(memory: Ragmem, text: str, **more):
    return memory.query(text, question=Question(text, **more), at=NOW)


def found(memory: Ragmem, text: str, **more) -> list[str]:
    return [match.memory.uri for match in asked(memory, text, **more).matches]


def terms(memory: Ragmem, text: str, **more) -> dict[str, dict[str, float]]:
    return {match.memory.uri: dict(match.terms) for match in asked(memory, text, **more).matches}


@pytest.fixture(params=["fake", "lightrag"])
def memory(request, open_memory: Callable[..., Ragmem]) -> Ragmem:
    return open_memory(RAGMEM_STORE_BACKEND=request.param)


class TestSyntax:
    @pytest.fixture
    def filled(self, memory):
        fill(
            memory,
            [
                draft("apart", "The stack of the old harbour crane was replaced by a new one."),
                draft("together", "The harbour kept its old stack of invoices in the crane."),
                draft("swarm", "The harbour moved its crane jobs from swarms to systemd."),
            ],
        )
        return memory

    def test_a_phrase_must_occur_where_words_are_asked_for(self, filled):
        assert found(filled, 'harbour crane "old stack"') == ["together"]

    def test_a_phrase_in_a_sentence_only_says_what_its_words_say(self, filled):
        assert set(found(filled, 'where does the harbour crane have the "old stack"?')) == {
            "apart",
            "together",
            "swarm",
        }

    def test_what_is_excluded_comes_by_no_list(self, filled):
        assert "swarm" in found(filled, "harbour crane jobs")
        assert "swarm" not in found(filled, "harbour crane jobs -swarm")
        assert found(filled, 'harbour crane -"old stack"').count("together") == 0

    @pytest.mark.parametrize("mode", ["naive", "mix"])
    def test_what_is_excluded_does_not_come_by_a_mode_of_the_engine(self, filled, mode):
        assert "swarm" in found(filled, "harbour crane jobs", mode=mode)
        assert "swarm" not in found(filled, "harbour crane jobs -swarm", mode=mode)
        assert found(filled, 'harbour crane "old stack"', mode=mode) == ["together"]

    def test_what_is_excluded_does_not_come_back_by_the_graph(self, memory):
        fill(
            memory,
            [
                draft("start", "The checkout page sends its orders through Lighthouse."),
                draft("answer", "We run Lighthouse as a broker; the team of Marta Ruiz answers at night."),
            ],
        )
        question = "which team answers for the broker behind the checkout page"
        assert "graph_rank" in terms(memory, question)["answer"]
        assert found(memory, f"{question} -Marta") == ["start"]


class TestDates:
    @pytest.fixture
    def filled(self, memory):
        fill(
            memory,
            [
                draft("standup-may", "The team spoke about the crane and the harbour.", days=12),
                draft("standup-april", "The team spoke about the crane and the harbour again.", days=50),
                draft("far", "Quokkas sleep under tea trees.", days=12.2),
                draft("other", "Quokkas eat the bark of young trees.", days=12.1, project="kiln"),
            ],
        )
        return memory

    def test_what_happened_when_the_question_says_comes_first(self, filled):
        assert found(filled, "what was said about the crane on 2026-04-12")[0] == "standup-april"
        assert found(filled, "what was said about the crane on 2026-05-20")[0] == "standup-may"

    def test_a_named_day_finds_what_neither_words_nor_vectors_find(self, filled):
        assert "far" not in found(filled, "what was said about the crane")
        known = terms(filled, "what was said about the crane on 2026-05-20")
        assert "dates_rank" in known["far"]
        assert known["far"]["time"] == 1

    def test_who_asks_for_nothing_but_a_time_gets_what_happened_then_newest_first(self, filled):
        assert found(filled, "what happened on 2026-05-20?")[:3] == ["standup-may", "other", "far"]
        assert found(filled, "what happened on 2026-05-20?", projects=("kiln",)) == ["other"]

    def test_a_long_or_open_span_is_no_way_to_find_beside_other_words(self, filled):
        for when in ("in 2026", "before 2026-05-25"):
            known = terms(filled, f"what was said about the crane {when}?")
            assert known
            assert not any("dates_rank" in mine for mine in known.values())

    @pytest.mark.parametrize("when", ["in 2026", "before 2026-05-25", "since 2026-05-19", "this year"])
    def test_who_asks_for_nothing_but_a_long_time_gets_what_happened_then(self, filled, when):
        assert found(filled, f"what happened {when}?")[:3] == ["standup-may", "other", "far"]

    def test_where_nothing_happened_then_there_is_a_note(self, filled):
        assert asked(filled, "what happened on 2026-02-03?").notes == ("no memory has an event at that time",)

    def test_no_more_than_fifty_memories_come_by_a_date_the_newest_of_them(self, memory):
        fill(memory, [draft(f"n{n:02}", f"Note {n}.", days=1 + n / 100) for n in range(60)])
        known = terms(memory, "what happened yesterday?", limit=100)
        ranks = {uri: known[uri]["dates_rank"] for uri in known if "dates_rank" in known[uri]}
        assert ranks == {f"n{n:02}": n + 1 for n in range(50)}

    def test_an_archived_memory_does_not_come_by_its_date(self, filled):
        filled.forget([next(one.id for one in filled.catalog.memories.each() if one.uri == "far")])
        assert "far" not in found(filled, "what happened on 2026-05-20?")


def test_who_asks_for_the_edits_of_a_file_gets_the_sessions_that_edited_it(memory):
    files = {"metadata": {"files": "src/pool.py\nsrc/pool.py"}}
    fill(
        memory,
        [
            draft("talks", "We spoke about src/pool.py and the pool for an hour; src/pool.py is a pool."),
            draft("edits", "Closed the cursor at last.", **files),
        ],
    )
    assert found(memory, "which session changed src/pool.py")[0] == "edits"
    assert terms(memory, "which session changed src/pool.py")["edits"]["edits"] == 2


@pytest.mark.parametrize(("weight", "hops"), [("0.15", True), ("0", False)])
def test_the_second_hop_is_taken_as_far_as_it_has_a_weight(open_memory, weight, hops):
    memory = open_memory(RAGMEM_STORE_BACKEND="lightrag", RAGMEM_QUERY_GRAPH_WEIGHT=weight)
    fill(
        memory,
        [
            draft("start", "The checkout page sends its orders through Lighthouse."),
            draft("answer", "We run Lighthouse as a broker; the team of Marta Ruiz answers at night."),
        ],
    )
    known = terms(memory, "which team answers for the broker behind the checkout page")
    assert ("graph_rank" in known.get("answer", {})) is hops


def test_what_a_name_leads_to_stands_behind_what_the_question_finds(open_memory):
    memory = open_memory(RAGMEM_STORE_BACKEND="lightrag", RAGMEM_QUERY_GRAPH_WEIGHT="1")
    fill(
        memory,
        [
            draft("start", "The checkout page sends each of its orders through Lighthouse.", days=900),
            draft("answer", "Lighthouse has a pager, which Marta Ruiz keeps beside her bed.", days=0),
        ],
    )
    question = "who keeps the pager for what the checkout page sends its orders through"
    weight = memory.retrieval.policy().proximity_weight
    reached = {
        name: told["relevance"] - weight * told["proximity"] for name, told in terms(memory, question).items()
    }
    assert reached["answer"] == pytest.approx(BEHIND * reached["start"])
    assert found(memory, question) == ["start", "answer"]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A home with the bundled model, whose floor is known without a measurement; one memory has no vector."""
    home = tmp_path_factory.mktemp("real")

    def opened(**environ: str) -> Ragmem:
        return Ragmem.open(environ={"RAGMEM_HOME": str(home / "ragmem"), **environ}, home=home, cwd=home)

    with opened() as memory:
        fill(memory, [*noise(), draft("far", "Quokkas sleep in the shade of tea trees.", days=12)])
        fill(memory, [draft("kiln", "The kiln burns gas; wood was too slow to heat.")], indexed=False)
    return opened


class TestSilence:
    @pytest.fixture
    def filled(self, real):
        with real() as memory:
            yield memory

    def test_a_question_that_nothing_answers_finds_nothing_and_says_why(self, filled):
        answer = asked(filled, "Which flamingos winter at the weekly market of Marrakesh?")
        assert answer.matches == ()
        assert "no memory answers this" in answer.notes[0]
        assert "--nearest" in answer.notes[0]
        assert answer.evidence["cosine"] < answer.evidence["floor"]
        assert answer.evidence["margin"] < 0

    def test_where_nothing_comes_near_there_is_a_note_as_well(self, filled):
        answer = asked(filled, FOREIGN)
        assert answer.matches == ()
        assert "no memory is relevant enough" in answer.notes[0]

    def test_the_nearest_are_shown_to_who_wants_them_however_far_they_are(self, filled):
        answer = asked(filled, FOREIGN, nearest=True)
        assert len(answer.matches) == 8
        assert answer.notes == ()

    @pytest.mark.parametrize("mode", [None, "naive", "mix"])
    def test_a_question_none_of_whose_words_is_there_must_come_nearer(self, filled, mode):
        far = asked(filled, "giraffes eat acacia leaves", mode=mode)
        assert far.matches == ()
        assert BASE < far.evidence["relevance"] < far.evidence["floor"]
        assert far.evidence["coverage"] == 0
        assert asked(filled, "koala naps", mode=mode).matches[0].memory.uri == "far"

    def test_a_memory_of_the_named_day_answers_with_a_word_of_the_question(self, filled):
        answer = asked(filled, "Which agenda did the regional board approve in the shade on 20 May 2026?")
        assert answer.evidence["margin"] < 0
        assert answer.matches[0].memory.uri == "far"
        assert asked(filled, "Which agenda did the regional board approve in the shade?").matches == ()

    def test_a_question_in_other_words_is_answered(self, filled):
        assert found(filled, "how often do we call the bank again when it refuses")[0].startswith("gateway")

    def test_words_that_stand_in_a_memory_are_found(self, filled):
        for words in ("jitter", "scratch database", '"ambiguous"'):
            assert found(filled, words), words

    def test_quotes_in_a_sentence_are_no_evidence(self, filled):
        assert found(filled, 'Which rivers flow into the "Black Sea"?') == []

    def test_a_time_alone_is_answered_by_what_happened_then(self, filled):
        assert found(filled, "what happened on 2026-05-20?")[0] == "far"
        assert found(filled, "which rivers flooded on 2026-05-20?") == []

    def test_a_memory_without_a_vector_is_found_by_its_words(self, filled):
        assert found(filled, "why does the kiln burn gas and not coal")[0] == "kiln"
        assert "cosine" not in terms(filled, "why does the kiln burn gas and not coal")["kiln"]

    def test_silence_can_be_turned_off(self, real, filled):
        question = "Which flamingos winter at the weekly market of Marrakesh?"
        with real(RAGMEM_QUERY_ABSTAIN="false") as loud:
            assert asked(loud, question).matches
        assert asked(filled, question).matches == ()


def test_a_model_that_was_not_measured_never_keeps_silent(memory):
    fill(memory, noise())
    answer = asked(memory, "which jobs of the gateway flow into the sea of invoices")
    assert answer.matches
    assert answer.evidence == {}


def silent(memory: Ragmem) -> None:
    """Have the fake model's store taken for one where answers lie near."""
    calibration.write(memory.catalog.database, replace(calibration.DEFAULT, model=fake.MODEL_ID))


class TestOtherWords:
    ANSWER = "The quay wall leaks at spring tide."
    QUESTION = "where is the harbour wet"

    @pytest.fixture
    def filled(self, memory):
        fill(memory, [*noise(12), draft("quay", self.ANSWER, days=500)])
        return memory

    @staticmethod
    def tell(memory, *texts, note=""):
        memory.retrieval.expand = lambda text: (texts, note)  # what a language model would say

    def test_other_words_find_what_the_question_does_not(self, filled):
        assert "quay" not in found(filled, self.QUESTION)
        self.tell(filled, "the quay wall leaks")
        assert "expanded_rank" in terms(filled, self.QUESTION, expand=True)["quay"]

    def test_other_words_are_evidence_where_something_answers_them(self, filled):
        silent(filled)
        self.tell(filled, "the quay wall leaks")
        assert "quay" in found(filled, self.QUESTION, expand=True)
        self.tell(filled, "flamingos are pink from shrimp")
        assert found(filled, FOREIGN, expand=True) == []

    def test_what_is_excluded_does_not_come_by_other_words(self, filled):
        self.tell(filled, "the quay wall leaks")
        assert "quay" not in found(filled, f"{self.QUESTION} -tide", expand=True)

    def test_an_embedder_that_dies_meanwhile_leaves_the_question_itself(self, open_memory):
        memory = open_memory(RAGMEM_STORE_BACKEND="lightrag")
        fill(memory, noise(12))
        embedder = memory.models.embedder
        embed = type(embedder).embed

        def once(self, texts, *, role):
            if texts[0] == "other words":
                raise BackendError("the embedder is down", hint="start it")
            return embed(self, texts, role=role)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(embedder), "embed", once)
            self.tell(memory, "other words")
            answer = asked(memory, "the gateway retries", expand=True)
        assert answer.matches[0].memory.uri.startswith("gateway")
        assert any("without rephrasing" in note for note in answer.notes)

    @pytest.mark.parametrize(("manner", "noted"), [("garbage", True), ("down", True), ("valid", False)])
    def test_a_language_model_that_fails_leaves_the_question_itself_with_a_note(
        self, open_memory, manner, noted
    ):
        memory = open_memory(RAGMEM_LANGUAGE_MODEL_BACKEND="fake", RAGMEM_LANGUAGE_MODEL_MODEL=manner)
        fill(memory, noise(12))
        answer = asked(memory, "the gateway retries", expand=True)
        assert answer.matches[0].memory.uri.startswith("gateway")
        assert any("without rephrasing" in note for note in answer.notes) is noted


class TestBetterOrder:
    def filled(self, open_memory, manner, **more):
        memory = open_memory(RAGMEM_RERANKER_BACKEND="fake", RAGMEM_RERANKER_MODEL=manner, **more)
        fill(memory, noise(12))
        return memory

    def test_a_reranker_reads_more_than_is_shown(self, open_memory):
        memory = self.filled(open_memory, "valid")
        answer = asked(memory, "the gateway retries twice", limit=1)
        assert len(answer.matches) == 1
        assert "reranker" in answer.matches[0].terms
        assert answer.notes == ()

    @pytest.mark.parametrize("manner", ["down", "slow"])
    def test_without_its_reranker_the_first_order_stays_and_a_note_says_so(self, open_memory, manner):
        plain = open_memory()
        fill(plain, noise(12))
        expected = found(plain, "the gateway retries twice")
        memory = self.filled(open_memory, manner, RAGMEM_RERANKER_TIMEOUT_S="0.2")
        answer = asked(memory, "the gateway retries twice")
        assert [match.memory.uri for match in answer.matches] == expected
        assert answer.notes[0].startswith("the original order stays")


class TestSuperseded:
    @pytest.fixture
    def filled(self, memory):
        fill(
            memory,
            [
                draft("deploy-old.md", "We deploy the harbour site with compose by hand.", days=90),
                draft(
                    "deploy-new.md",
                    "We deploy the harbour site with systemd units now.",
                    days=9,
                    metadata={"supersedes": "deploy-old.md"},
                ),
            ],
        )
        return memory

    def test_a_superseded_memory_gives_its_place_to_its_successor(self, filled):
        (match,) = asked(filled, "how do we deploy the harbour site with compose by hand").matches
        assert match.memory.uri == "deploy-new.md"
        assert match.score == match.terms["superseded"]
        assert [former.text for former in match.replaced] == [
            "We deploy the harbour site with compose by hand."
        ]

    def test_who_asks_for_what_was_gets_it(self, filled):
        question = "how did we previously deploy the harbour site with compose by hand"
        assert found(filled, question) == ["deploy-old.md", "deploy-new.md"]


def test_a_memory_that_waits_for_its_vector_ranks_by_its_words_among_the_others(memory):
    fill(memory, noise(12))
    fill(memory, [draft("kiln", "The kiln burns gas; wood was too slow to heat.")], indexed=False)
    assert found(memory, "the kiln burns gas")[0] == "kiln"
    first = found(memory, "the gateway retries twice with a jitter")[0]
    assert first.startswith("gateway")


def test_filters_reach_beyond_the_best_hits(open_memory):
    memory = open_memory(RAGMEM_QUERY_CANDIDATES="5")
    fill(memory, [draft(f"n{n:02}", f"The kiln burns gas in round {n}.", days=n) for n in range(40)])
    fill(
        memory,
        [draft("tagged", "The kiln is old, says the gas man, of all of them the oldest.", tags=("x",))],
    )
    assert found(memory, "the kiln burns gas in round 7", tags=("x",)) == ["tagged"]


def test_who_wants_more_matches_than_a_list_has_by_default_gets_them(open_memory):
    memory = open_memory(RAGMEM_QUERY_CANDIDATES="5")
    fill(
        memory,
        [draft(f"n{n}", f"The kiln {n} burns gas{n} by ton{n} in hall{n}.", days=n) for n in range(40)],
    )
    assert len(found(memory, "the kiln burns", limit=30)) == 30


class TestCommand:
    @pytest.fixture
    def filled(self, inside, tmp_path):
        notes = tmp_path / "written"
        notes.mkdir()
        for number, (name, text) in enumerate(SUBJECTS):
            (notes / f"{name}.md").write_text(f"# {name} {number}\n\nWe decided: {text} It was an error.\n")
        assert inside("ingest", str(notes)).returncode == 0
        return inside

    def test_why_a_match_stands_where_it_does_is_told_in_lines(self, filled):
        told = filled("query", "--explain", "--all", "the gateway retries twice")
        assert told.returncode == 0
        assert "found by text 1, vectors 1" in told.stdout
        assert {"lexical=", "semantic=", "relevance=", "recency=", "score="} <= {
            f"{part.partition('=')[0]}=" for part in told.stdout.split()
        }
        assert "rung: text and vectors" in told.stderr

    def test_why_a_match_stands_where_it_does_is_told_in_json(self, filled):
        document = json.loads(filled("query", "--explain", "--json", "--all", "gateway retries").stdout)
        assert document["evidence"] == {}
        best = document["matches"][0]
        assert best["terms"]["text_rank"] == 1
        assert 0 < best["terms"]["score"] <= 1

    def test_silence_is_told_with_its_reasons(self, filled):
        question = "which rivers of the bank flow because of the rain"
        with Ragmem.open() as memory:
            silent(memory)
        told = filled("query", "--explain", "--all", question)
        assert told.returncode == 1
        assert told.stdout == ""
        assert "no memory answers this" in told.stderr
        assert "floor" in told.stderr
        document = json.loads(filled("query", "--explain", "--json", "--all", question).stdout)
        assert document["matches"] == []
        assert document["evidence"]["margin"] < 0

    def test_other_words_need_a_language_model(self, filled):
        told = filled("query", "--expand", "--all", "gateway")
        assert told.returncode == 4
        assert "none is configured" in told.stderr
        assert "[language_model]" in told.stderr


def test_a_time_is_looked_up_in_postgres_as_well(open_memory, postgres):
    memory = open_memory(RAGMEM_STORE_PROFILE="postgres", RAGMEM_STORE_URL=postgres)
    fill(
        memory,
        [
            draft("here", "Quokkas sleep under tea trees.", days=12),
            draft("there", "Quokkas eat bark.", days=12.1, project="kiln"),
            draft("before", "Quokkas eat bark.", days=40),
        ],
    )
    assert found(memory, "what happened on 2026-05-20?") == ["here", "there"]
