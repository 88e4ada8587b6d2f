"""Two machines with one memory in PostgreSQL: each finds what the other stored, and removes only its own."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.errors import ConfigError, StorageError, UsageError
from ragmem.services.retrieval.query import Question

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
LOCK = "# Stale lock\n\nThe error came from a stale lock. Root cause: the fix of March. We resolved it.\n"
CHOICE = (
    "# Database\n\nThe copy of `data.db` was broken because a writer held it. The fix: `VACUUM INTO` makes"
    " one file that is easy to back up.\n"
)


class Machine:
    """A computer with a home of its own; its notes are seeded as the source `notes`."""

    def __init__(self, folder: Path, url: str) -> None:
        self.home = folder
        self.notes = folder / "notes"
        self.notes.mkdir(parents=True)
        self.sources = folder / "sources.toml"
        self.sources.write_text('[sources.notes]\nglob = "~/notes/**/*.md"\nkind = "auto"\n')
        self.environ = {
            **FAKE,
            "RAGMEM_HOME": str(folder / "ragmem"),
            "RAGMEM_STORE_PROFILE": "postgres",
            "RAGMEM_STORE_URL": url,
        }
        self.memory = Ragmem.open(environ=self.environ, home=folder, cwd=folder, sources_file=self.sources)

    def write(self, **notes: str) -> "Machine":
        for name, text in notes.items():
            (self.notes / f"{name}.md").write_text(text)
        return self

    def seed(self):
        return self.memory.seed()

    def missing(self) -> set[str]:
        return {
            Path(item.uri).stem for item in self.memory.gc.plan(missing=True).items if item.rule == "missing"
        }

    def found(self, text: str) -> list[str]:
        answer = self.memory.query(text, question=Question(text))
        return [Path(match.memory.uri).stem for match in answer.matches]


@pytest.fixture
def machine(tmp_path, postgres):
    made: list[Machine] = []

    def maker(name: str) -> Machine:
        made.append(Machine(tmp_path / name, postgres))
        return made[-1]

    yield maker
    for one in made:
        one.memory.close()


@pytest.fixture
def pair(machine):
    """Anna's machine and Ben's, each with a note, both seeded."""
    anna = machine("anna").write(lock=LOCK)
    ben = machine("ben").write(choice=CHOICE)
    anna.seed()
    ben.seed()
    return anna, ben


def test_each_machine_finds_what_the_other_has_seeded(pair):
    for one in pair:
        assert one.found("stale lock")[0] == "lock"
        assert one.found("one file to back up")[0] == "choice"


def test_seeding_on_one_machine_leaves_what_the_other_has_seeded(pair):
    anna, ben = pair
    again = ben.seed()
    assert again.would_change == 0
    assert len(anna.memory.catalog.memories.ids()) == 2
    assert anna.missing() == ben.missing() == set()


def test_a_machine_declares_only_its_own_notes_missing(pair):
    anna, ben = pair
    for path in [*anna.notes.iterdir(), *ben.notes.iterdir()]:
        path.unlink()
    assert anna.missing() == {"lock"}
    assert ben.missing() == {"choice"}
    ben.memory.gc.apply(ben.memory.gc.plan(missing=True))
    assert anna.found("stale lock")[0] == "lock"
    assert len(anna.memory.catalog.memories.ids()) == 1


def test_a_machine_that_has_seeded_nothing_declares_nothing_missing(pair, machine):
    carl = machine("carl")
    assert carl.missing() == set()
    assert carl.seed().would_change == 0
    assert carl.missing() == set()


def test_a_note_of_one_path_on_two_machines_is_missing_when_it_is_gone_from_both(machine, tmp_path, postgres):
    anna = machine("anna").write(lock=LOCK)
    # The same folder with another home for ragmem: what a synchronised folder is to two machines.
    twin = Ragmem.open(
        environ={**anna.environ, "RAGMEM_HOME": str(tmp_path / "twin")},
        home=anna.home,
        cwd=anna.home,
        sources_file=anna.sources,
    )
    anna.seed()
    assert twin.seed().would_change == 0
    (anna.notes / "lock.md").unlink()
    assert anna.missing() == set()
    anna.seed()
    assert len(twin.gc.plan(missing=True).items) == 1
    twin.seed()
    assert anna.missing() == {"lock"}
    anna.write(lock=LOCK).seed()
    assert anna.missing() == set()
    twin.close()


def test_a_file_that_is_unchanged_here_is_read_again_where_it_was_never_seen(pair, machine):
    carl = machine("carl").write(lock=LOCK)
    assert carl.seed().would_change == 1
    assert carl.seed().would_change == 0


def test_a_path_is_a_project_of_the_machine_that_saw_it(pair):
    anna, ben = pair
    anna.memory.catalog.projects.remember("kiln-1", name="kiln", root="/work/kiln")
    ben.memory.catalog.projects.remember("oven-2", name="oven", root="/work/kiln")
    assert anna.memory.catalog.projects.at(["/work/kiln"]) == "kiln-1"
    assert ben.memory.catalog.projects.at(["/work/kiln"]) == "oven-2"
    assert ben.memory.catalog.projects.find("/work/kiln") == ["oven-2"]
    assert ben.memory.catalog.projects.find("kiln") == ["kiln-1"]


def test_a_machine_keeps_its_id_private_and_for_good(pair):
    paths = [one.home / "ragmem" / "data" / "machine-id" for one in pair]
    ids = [path.read_text() for path in paths]
    assert ids[0] != ids[1]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    pair[0].seed()
    assert [path.read_text() for path in paths] == ids
    paths[0].write_text("")
    with pytest.raises(StorageError, match="is empty"):
        pair[0].seed()


def test_what_one_machine_removes_another_can_bring_back(pair):
    anna, ben = pair
    (lock,) = [one.id for one in anna.memory.catalog.memories.each() if one.uri.endswith("lock.md")]
    anna.memory.forget([lock])
    assert "lock" not in ben.found("stale lock")
    undone = ben.memory.gc.undo()
    assert (undone.restored, undone.left) == (1, 0)
    assert anna.found("stale lock")[0] == "lock"


def test_the_sizes_are_those_of_the_home_and_of_the_database(pair):
    figures = pair[0].memory.reports.statistics()
    assert figures["bytes"] > 1_000_000
    assert figures["catalog"]["total"]["memories"] == 2
    assert figures["database"] == pair[0].memory.catalog.database.place


def test_two_processes_that_ingest_at_once_lose_nothing(pair, tmp_path):
    code = (
        "import sys\nfrom ragmem.api.memory import Ragmem\nfrom ragmem.domain.model import Draft\n"
        "with Ragmem.open() as memory:\n"
        "    for number in range(12):\n"
        "        text = f'{sys.argv[1]} decided number {number}, because the kiln was cold. It was fixed.'\n"
        "        memory.ingest([Draft('notes', f'{sys.argv[1]}-{number}', text, title='Decision')])\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, name],
            env={**os.environ, **one.environ, "RAGMEM_HOME": str(tmp_path / name)},
        )
        for name, one in zip(("first", "second"), pair, strict=True)
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    memories = {memory.uri: memory for memory in pair[0].memory.catalog.memories.each()}
    assert {f"{name}-{n}" for name in ("first", "second") for n in range(12)} <= set(memories)
    assert pair[1].memory.store.memory_ids() == {memory.id for memory in memories.values()}


def test_without_an_address_the_error_says_what_to_write(tmp_path):
    with pytest.raises(ConfigError, match="needs the address") as caught:
        Ragmem.open(environ={"RAGMEM_STORE_PROFILE": "postgres"}, home=tmp_path, cwd=tmp_path)
    assert "RAGMEM_STORE_URL" in caught.value.hint


def test_an_empty_database_is_no_memory_yet(machine):
    with pytest.raises(UsageError, match='no memory in "postgresql://'):
        machine("anna").memory.require()


def test_the_commands_work_on_a_shared_memory(pair, ragmem):
    anna, _ = pair
    environ = {**anna.environ, "HOME": str(anna.home)}
    for command, says in (
        (["query", "stale lock", "--project", "user"], "Stale lock"),
        (
            [
                "query",
                "what did edit notes/lock.md last week",
                "--all",
                "--nearest",
                "--route",
                "operational",
            ],
            "",
        ),
        (["context", "--all"], ""),
        (["context", "stale lock", "--all"], "Stale lock"),
        (["inspect"], "2"),
        (["gc", "--dry-run", "--missing"], ""),
        (["seed", "--sources", str(anna.sources)], ""),
        (["--version"], "ragmem"),
        (["doctor"], ""),
    ):
        run = ragmem(*command, **environ)
        assert run.returncode in {0, 1}, (command, run.stdout, run.stderr)
        assert says in run.stdout, command


def test_no_password_is_printed(ragmem, tmp_path):
    environ = {
        "RAGMEM_STORE_PROFILE": "postgres",
        "RAGMEM_STORE_URL": "postgresql://anna:s3cret@127.0.0.1:1/team?sslpassword=s3cret",
    }
    config = tmp_path / "ragmem" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[store.environment]\nNEO4J_PASSWORD = "s3cret"\n')
    environ["RAGMEM_HOME"] = str(tmp_path / "ragmem")
    for command in (
        ["inspect", "config"],
        ["inspect", "config", "--json"],
        ["inspect"],
        ["query", "x y z"],
        ["seed"],
    ):
        run = ragmem(*command, **environ)
        assert "s3cret" not in run.stdout + run.stderr, command
        assert "***" in run.stdout + run.stderr, command
        assert command[1:2] == ["config"] or run.returncode == 3, (command, run.stderr)


def test_tab_offers_what_is_configured_and_never_asks_the_server(ragmem, tmp_path):
    environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path)}
    folder = tmp_path / "ragmem"
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "sources.toml").write_text('[sources.kiln]\nglob = "~/kiln/*.md"\n')
    ragmem(
        "ingest", "-", "--title", "old", stdin="We decided to fire the kiln, because it was cold.", **environ
    )
    assert ragmem("__complete", "memory", "", **environ).stdout
    # An address that swallows whatever is sent to it: a connection would wait.
    (folder / "config" / "config.toml").write_text(
        '[store]\nprofile = "postgres"  # shared\nurl = "postgresql://192.0.2.1/team"\n'
    )
    began = time.perf_counter()
    sources = ragmem("__complete", "source", "", **environ)
    assert "kiln" in sources.stdout
    assert sources.stderr == ""
    assert ragmem("__complete", "memory", "", **environ).stdout == ""
    assert time.perf_counter() - began < 10


def test_what_one_machine_records_the_other_finds_by_type(machine):
    one, other = machine("one").memory, machine("other").memory
    for project in ("tide", "kiln"):
        one.records.add_gotcha("The lock is stale.", project=project)
    one.records.add_pattern("A lock has a timeout.", project="tide")
    for query in ("", "stale lock"):
        found = other.records.get("gotcha", query, everywhere=True)
        assert {(item.type, item.memory.scope.project) for item in found} == {
            ("gotcha", "tide"),
            ("gotcha", "kiln"),
        }
        assert len(other.records.get("gotcha", query, projects=["tide"])) == 1
