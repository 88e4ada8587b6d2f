"""A cap from end to end: a provider's server, a seed that stops at it, questions that go on, and tomorrow."""

import json

import pytest
from provider_protocols import KEY, OpenAI
from provider_servers import serving

from ragmem.domain.model import Draft, State
from ragmem.services.retrieval import calibration
from ragmem.services.retrieval.query import Question


@pytest.fixture
def provider(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(OpenAI()) as server:
        yield server


@pytest.fixture
def asked(provider):
    """Return the environment of a memory whose vectors are the provider's."""
    return {
        "RAGMEM_MODELS_BACKEND": "openai",
        "RAGMEM_MODELS_MODEL": "embedder",
        "RAGMEM_MODELS_URL": f"{provider.root}/v1",
        "RAGMEM_MODELS_PRICE": "0.02",
        "RAGMEM_SEED_BATCH": "1",
    }


def test_a_seed_stops_at_the_cap_and_tomorrows_finishes_it(open_memory, asked, inside, tmp_path, provider):
    environ = {**asked, "RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home")}
    seeding = ("seed", "--sources", str(tmp_path / "sources.toml"))

    capped = inside(*seeding, **environ, RAGMEM_SPEND_DAILY_CALLS="1")

    assert "today's cap of 1 request is reached: 1 request so far" in capped.stderr
    assert len(provider.posts) == 1
    assert open_memory(**asked).catalog.memories.ids(states=[State.PENDING])

    asking = ("query", "why one file, not a server", "--all", "--json")
    answer = inside(*asking, **environ, RAGMEM_SPEND_DAILY_CALLS="1")

    assert json.loads(answer.stdout)["rung"] == "text and vectors"
    assert len(provider.posts) == 2

    done = inside(*seeding, **environ)

    assert done.returncode == 0, done.stderr
    memory = open_memory(**asked)
    assert not memory.catalog.memories.ids(states=[State.PENDING])
    assert memory.ledger.today().calls == len(provider.posts) > 2
    assert memory.ledger.today().cost > 0


def test_a_store_is_not_measured_beyond_the_cap(open_memory, asked, monkeypatch, provider):
    monkeypatch.setattr(calibration, "FROM_CHUNKS", 1)
    memory = open_memory(**asked, RAGMEM_SPEND_DAILY_CALLS="1")
    memory.ingest([Draft("ingest", "one", "We decided to pin the driver because of an error in the pool.")])
    assert len(provider.posts) == 1
    memory.retrieval.calibrate()
    assert len(provider.posts) == 1
    open_memory(**asked).retrieval.calibrate()
    assert len(provider.posts) > len(calibration.generic_questions())


def test_what_is_handed_in_beyond_the_cap_is_found_by_its_words(open_memory, asked):
    memory = open_memory(**asked, RAGMEM_SPEND_DAILY_TOKENS="1")
    first, second = (
        memory.ingest(
            [
                Draft(
                    "ingest",
                    f"/{name}",
                    f"The {name} failed because of a stale lock: the fix is one writer, by config.",
                    name,
                )
            ]
        )[0]
        for name in ("importer", "exporter")
    )

    assert first.note == ""
    assert "today's cap of 1 token is reached" in second.note
    found = memory.query("exporter lock", question=Question("exporter lock", projects=None))
    assert second.id in [match.memory.id for match in found.matches]
