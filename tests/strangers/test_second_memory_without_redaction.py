"""Each memory of a process keeps its own rules for secrets, whatever other memories are opened beside it."""

import json
import random
import string
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.services.records.records import record_shape
from ragmem.services.retrieval.shapes import match_shape

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
CHOOSER = random.Random(31)


def made(length: int = 36) -> str:
    return "".join(CHOOSER.choice(string.ascii_letters + string.digits) for _ in range(length))


def token() -> str:
    """Return what looks like a token; made here, so that no file holds one."""
    return "gh" + "p_" + made()


def note(value: str, number: int = 0) -> str:
    return (
        f"We decided that crane {number} logs in with {value} because the old login of the harbour timed out."
    )


@pytest.fixture
def opened(tmp_path):
    """Open memories by name, each with a config.toml of its own."""
    memories = []

    def opener(name: str, config: str = "", **environ: str) -> Ragmem:
        root = tmp_path / name
        (root / "config").mkdir(parents=True, exist_ok=True)
        (root / "config/config.toml").write_text(config)
        (root / "home").mkdir(exist_ok=True)
        memory = Ragmem.open(
            environ={"RAGMEM_HOME": str(root), **FAKE, **environ}, home=root / "home", cwd=root / "home"
        )
        memories.append(memory)
        return memory

    yield opener
    for memory in memories:
        memory.close()


def holding(memory: Ragmem, value: str) -> list[str]:
    """Return the files of a memory's home in which the bytes of a value stand."""
    files = [path for path in memory.settings.places.data.parent.rglob("*") if path.is_file()]
    assert files
    return [path.name for path in files if value.encode() in path.read_bytes()]


def shown(memory: Ragmem, question: str, *, found: bool = True) -> str:
    """Return all that a memory shows of an answer, as the commands and the servers do."""
    answer = memory.query(question)
    assert answer.matches or not found
    shapes = [match_shape(match, redactor=memory.redactor) for match in answer.matches]
    return json.dumps(shapes) + memory.context(question).text


REDACTING_OFF = "[secrets]\nredact = false\n"


def test_a_second_memory_without_redaction_leaves_the_first_as_it_was(opened):
    before, between, after = token(), token(), token()
    first = opened("first")
    first.remember(note(before, 1))
    second = opened("second", REDACTING_OFF)
    first.remember(note(between, 2))
    second.remember(note(between, 2))
    second.close()
    first.remember(note(after, 3))
    told = shown(first, "which login has the crane?")
    first.close()
    for value in (before, between, after):
        assert holding(first, value) == []
        assert value not in told
    assert "[redacted: GitHub token]" in told
    assert holding(second, between)


def test_what_a_memory_stores_with_its_secrets_is_covered_where_it_is_shown(opened):
    value = token()
    second = opened("second", REDACTING_OFF)
    second.remember(note(value))
    opened("first")
    assert value not in shown(second, "which login has the crane?")
    second.close()
    assert holding(second, value)


def test_two_memories_follow_their_own_patterns(opened):
    allowed, tide = token(), "TIDE-" + "271828"
    one = opened("one", "[secrets]\nallow = ['ghp_[A-Za-z0-9]+']\n")
    two = opened("two", "[secrets]\nextra = ['TIDE-([0-9]{6})']\n")
    for memory in (one, two, one, two):
        memory.remember(note(f"{allowed} at {tide}"))
    said = {memory: shown(memory, "which login has the crane?") for memory in (one, two)}
    one.close()
    two.close()
    assert holding(one, allowed)
    assert holding(one, tide)
    assert allowed in said[one]
    assert tide in said[one]
    assert holding(two, allowed) == []
    assert holding(two, "271828") == []
    assert "TIDE-[redacted: secret]" in said[two]
    assert allowed not in said[two]


def test_threads_of_two_memories_follow_their_own_rules(opened):
    first, second = opened("first"), opened("second", REDACTING_OFF)
    values = [token() for _ in range(12)]

    def write(number: int) -> None:
        first.remember(note(values[number], number))
        second.remember(note(values[number], number))
        # What another thread takes in from the inbox at this moment is not found yet.
        assert values[number] not in shown(first, f"how does crane {number} log in?", found=False)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(len(values))))
    first.close()
    second.close()
    for value in values:
        assert holding(first, value) == []
        assert holding(second, value)


def test_records_and_agents_follow_the_rules_of_their_memory(opened):
    first, second = opened("first"), opened("second", REDACTING_OFF)
    value, password = token(), "Winter" + "2024#" + made(6)
    for memory in (first, second):
        memory.agents.heartbeat("crane", current_task=f"log in with {value}")
        memory.agents.publish("own.tide", agent="crane", data={"password": password})
        memory.records.add_gotcha(f"the crane logs in with {value}")
        (found,) = memory.records.get()
        assert value not in json.dumps(record_shape(found, redactor=memory.redactor))
        memory.close()
    for secret in (value, password):
        assert holding(first, secret) == []
        assert holding(second, secret)


@pytest.mark.parametrize("first_opened", [True, False])
def test_files_seeded_by_worker_processes_follow_the_rules_of_their_memory(opened, tmp_path, first_opened):
    value = token()
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(4):
        (notes / f"{number}.md").write_text(f"# Crane {number}\n\n{note(value, number)}\n")
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/**/*.md"\nkind = "auto"\n')
    memories = {}
    for name in ("first", "second") if first_opened else ("second", "first"):
        memories[name] = opened(name, REDACTING_OFF if name == "second" else "")
    for memory in memories.values():
        root = Path(memory.settings.places.data).parent
        seeding = Ragmem.open(
            environ={"RAGMEM_HOME": str(root), **FAKE}, home=tmp_path, cwd=tmp_path, sources_file=sources
        )
        seeding.seed()
        seeding.close()
        memory.close()
    assert holding(memories["first"], value) == []
    assert holding(memories["second"], value)


def redacted_elsewhere(redactor: Redactor) -> tuple[str, bool]:
    return redactor.redact("TIDE-" + "314159 is the code")[0], redactor.stored


def test_a_worker_process_is_given_the_rules_as_a_value():
    wishes = [Redactor(extra=("TIDE-([0-9]{6})",)), Redactor(stored=True)]
    with WorkerPool(2) as processes:
        told = [done for _, done in processes.each(redacted_elsewhere, wishes)]
    assert told == [("TIDE-[redacted: secret] is the code", False), ("TIDE-314159 is the code", True)]
