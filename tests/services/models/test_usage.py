"""The ledger: everything is counted once, whoever is killed, and a cap stops background work alone."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.__main__ import run
from ragmem.config.loader import load
from ragmem.errors import BackendError
from ragmem.ports import INVALID, Call
from ragmem.services.models.usage import Ledger
from ragmem.services.processes.spool import CLOSED, OPEN, Spool
from ragmem.storage.activity.usage import Sums, Use
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.maintenance.salvage import read_damaged, write_salvaged
from ragmem.storage.sql.fair_lock import turn
from ragmem.storage.sql.sqlite import LOCK_NAME

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
CALL = Call("openai", "small", "document", tokens_in=1_000_000, seconds=0.5)


class Home:
    """A home, and ledgers that count for it, each as a process of its own would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.moment = NOON
        self.ledgers: list[tuple[Catalog, Ledger]] = []

    def ledger(self, *, catalog: Catalog | None = None, **environ: str) -> Ledger:
        chosen = load(
            environ={"RAGMEM_HOME": str(self.root), **environ},
            home=self.root,
            cwd=self.root,
            sources_file=None,
        )
        catalog = catalog or Catalog.at(chosen.places.data)
        ledger = Ledger(catalog, chosen, now=lambda: self.moment)
        self.ledgers.append((catalog, ledger))
        return ledger

    def prepare(self) -> None:
        catalog = Catalog.at(self.root / "data")
        catalog.prepare()
        catalog.close()

    def spool(self) -> list[Path]:
        return sorted((self.root / "state" / "usage").glob("*"))

    def close(self) -> None:
        for catalog, ledger in self.ledgers:
            ledger.close()
            catalog.close()


@pytest.fixture
def home(tmp_path):
    opened = Home(tmp_path / "ragmem")
    opened.root.mkdir()
    yield opened
    opened.close()


def test_a_request_is_counted_with_its_price(home):
    ledger = home.ledger(RAGMEM_MODELS_PRICE="0.02", RAGMEM_LANGUAGE_MODEL_PRICE_IN="3")
    ledger.record(CALL)
    ledger.record(Call("ollama", "big", "extraction", tokens_in=1_000_000, tokens_out=7))
    ledger.record(Call("openai", "small", "test", tokens_in=1_000_000))
    ledger.record(Call("ollama", "big", "test", tokens_in=1_000_000, tokens_out=7))

    rows = ledger.rows()

    assert rows[Use("2026-03-15", "openai", "small", "document")] == Sums(1, 0, 0, 1_000_000, 0, 500, 0.02)
    assert rows[Use("2026-03-15", "ollama", "big", "extraction")] == Sums(1, 0, 0, 1_000_000, 7, 0, 3.0)
    assert rows[Use("2026-03-15", "openai", "small", "test")].cost == 0.02
    assert rows[Use("2026-03-15", "ollama", "big", "test")].cost == 3.0


def test_a_price_that_changes_leaves_what_was_paid(home):
    home.prepare()
    home.ledger(RAGMEM_MODELS_PRICE="1").record(CALL)
    later = home.ledger(RAGMEM_MODELS_PRICE="2")
    later.record(CALL)
    later.absorb()

    assert later.today().cost == 3.0


def test_a_failure_is_a_request_and_a_useless_answer_is_none(home):
    ledger = home.ledger()
    ledger.record(Call("openai", "small", "extraction", error="429"))
    ledger.record(Call("openai", "small", "extraction", tokens_in=5, error=INVALID))

    assert ledger.today() == Sums(calls=1, failures=1, invalid=1)


@pytest.mark.parametrize(
    ("cap", "value", "said"),
    [
        ("DAILY_CALLS", "2", "today's cap of 2 requests is reached: 2 requests so far"),
        ("DAILY_TOKENS", "1500000", "today's cap of 1,500,000 tokens is reached: 2,000,000 tokens so far"),
        ("DAILY_COST", "0.03", "today's cap of 0.03 of cost is reached: 0.04 of cost so far"),
    ],
)
def test_a_cap_stops_background_work_and_says_how_to_go_on(home, cap, value, said):
    ledger = home.ledger(RAGMEM_MODELS_PRICE="0.02", **{f"RAGMEM_SPEND_{cap}": value})
    for _ in range(2):
        ledger.admit("document")
        ledger.record(CALL)

    for purpose in ("document", "extraction"):
        with pytest.raises(BackendError) as raised:
            ledger.admit(purpose)
        assert str(raised.value) == f"{said}; it resets at 00:00 UTC, in 12 h"
        assert f"raise {cap.lower()} below [spend]" in raised.value.hint
    for purpose in ("query", "answer", "test"):
        ledger.admit(purpose)


def test_a_new_day_begins_at_nothing(home):
    ledger = home.ledger(RAGMEM_SPEND_DAILY_CALLS="1")
    ledger.record(CALL)
    with pytest.raises(BackendError):
        ledger.admit("document")

    home.moment = NOON + timedelta(hours=12)

    ledger.admit("document")
    assert ledger.today() == Sums()


def test_a_cap_counts_what_other_processes_did_a_moment_ago(home):
    home.prepare()
    mine, other = (home.ledger(RAGMEM_SPEND_DAILY_CALLS="3") for _ in range(2))
    mine.admit("document")
    mine.record(CALL)
    mine.admit("document")
    other.record(CALL)
    other.absorb()
    mine.admit("document")
    other.record(CALL)

    with pytest.raises(BackendError, match="3 requests so far"):
        mine.admit("document")


def test_asking_for_leave_without_a_cap_reads_nothing(home, monkeypatch):
    ledger = home.ledger()
    monkeypatch.setattr(Spool, "read", None)
    ledger.admit("document")


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["record", "absorb", "killed before", "killed after", "new process"]),
        st.integers(0, 2),
    ),
    max_size=15,
)


@settings(max_examples=20, deadline=None)
@given(ACTIONS)
def test_whatever_is_killed_every_request_is_counted_once(actions):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.prepare()
        ledgers = [home.ledger() for _ in range(3)]
        recorded = 0
        for action, which in actions:
            ledger = ledgers[which]
            if action == "record":
                ledger.record(CALL)
                recorded += 1
            elif action == "absorb":
                ledger.absorb()
            elif action == "new process":
                ledgers[which] = home.ledger()
            else:
                with suppress(_KilledError), _killed(ledger, before=action == "killed before"):
                    ledger.absorb()
            assert {one.today().calls for one in ledgers} == {recorded}
        last = home.ledger()
        last.absorb()
        assert last.today().calls == recorded
        assert not home.spool()
        home.close()


class _KilledError(Exception):
    """Where a process ended."""


@contextmanager
def _killed(ledger, *, before):
    def die(*_, **__):
        raise _KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*((ledger._catalog.usage, "add") if before else (ledger._spool, "remove")), die)
        yield


RECORD = """
import sys
from pathlib import Path
from ragmem.api.memory import Ragmem
from ragmem.ports import Call
with Ragmem.open(home=Path.home()) as memory:
    for number in range(int(sys.argv[1])):
        memory.ledger.record(Call("openai", "small", "document", tokens_in=number))
        if number % 50 == 7:
            memory.ledger.absorb()
"""


def test_many_processes_that_count_and_absorb_at_once_lose_nothing(home):
    home.prepare()
    environ = {**os.environ, "RAGMEM_HOME": str(home.root)}
    processes = [subprocess.Popen([sys.executable, "-c", RECORD, "120"], env=environ) for _ in range(3)]
    reader = home.ledger()
    while any(process.poll() is None for process in processes):
        assert reader.rows() is not None
        time.sleep(0.01)

    assert [process.returncode for process in processes] == [0] * 3
    home.moment = datetime.now(tz=UTC)
    reader.absorb()
    total = sum(reader.rows().values(), Sums())
    assert (total.calls, total.tokens_in) == (3 * 120, 3 * sum(range(120)))


def test_a_line_that_broke_off_costs_no_other_one(home, capfd, monkeypatch):
    home.prepare()
    ledger = home.ledger()
    ledger.record(CALL)
    [file] = home.spool()
    with file.open("ab") as opened:
        opened.write(b'\n{"day":"2026-03-15","backend":"op')
    ledger.record(CALL)

    assert ledger.today().calls == 2
    monkeypatch.setenv("RAGMEM_HOME", str(home.root))
    assert run(["inspect", "usage"]) == 0
    assert "missing in the sums: 1" in capfd.readouterr().err
    assert home.ledger().today().calls == 2
    [entry] = Catalog.at(home.root / "data").log.entries()
    assert entry["detail"] == {"unreadable lines": 1}


SOUND = {**Use("2026-03-15", "openai", "small", "query")._asdict(), **asdict(Sums(calls=1))}


@pytest.mark.parametrize(
    "line",
    ["[]", '{"day": "2026-03-15"}']
    + [json.dumps(SOUND | other) for other in ({"calls": -1}, {"model": 7}, {"tokens_in": 1e300})],
)
def test_a_line_that_is_none_of_ours_is_left_out(home, line):
    home.prepare()
    ledger = home.ledger()
    ledger.record(CALL)
    with home.spool()[0].open("a") as opened:
        opened.write(line + "\n")

    assert ledger.today().calls == 1
    taken = ledger.absorb()
    assert (taken.lines, taken.unreadable) == (1, 1)


def test_a_home_that_cannot_be_written_counts_for_this_process(home):
    (home.root / "state").write_text("a file where the folder should be")
    ledger = home.ledger(RAGMEM_SPEND_DAILY_CALLS="1")
    ledger.record(CALL)

    with pytest.raises(BackendError):
        ledger.admit("document")
    ledger.close()


def test_what_is_counted_is_the_owners_alone(home):
    ledger = home.ledger()
    ledger.record(CALL)

    for path in (home.root / "state", home.root / "state" / "usage", *home.spool()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_closing_waits_for_no_writer(home):
    home.prepare()
    ledger = home.ledger()
    ledger.record(CALL)
    with turn(home.root / "data" / LOCK_NAME, timeout=1):
        started = time.monotonic()
        ledger.close()
        assert time.monotonic() - started < 1

    assert [path.suffix for path in home.spool()] == [CLOSED]
    assert home.ledger().today().calls == 1


def test_a_question_leaves_its_line_and_background_work_takes_it_along(home):
    home.prepare()
    asking = home.ledger()
    asking.record(Call("openai", "small", "query"))
    asking.close()
    assert [path.suffix for path in home.spool()] == [OPEN]

    working = home.ledger()
    working.record(CALL)
    working.close()

    assert not home.spool()
    assert home.ledger().today().calls == 2


def test_without_a_memory_nothing_is_made(home, capfd, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(home.root))
    assert run(["inspect", "usage"]) == 0
    assert "no requests to providers so far" in capfd.readouterr().out
    assert list(home.root.iterdir()) == []


def test_the_catalog_of_an_older_ragmem_has_counted_nothing(home):
    home.prepare()
    catalog = Catalog.at(home.root / "data")
    with catalog.database.write() as connection:
        connection.execute("DROP TABLE usage")
    ledger = home.ledger(catalog=catalog)

    assert ledger.rows() == {}
    ledger.record(CALL)
    assert ledger.today().calls == 1


def test_inspect_usage_sums_by_day_model_and_purpose(home, capfd, monkeypatch):
    home.prepare()
    monkeypatch.setenv("RAGMEM_HOME", str(home.root))
    ledger = home.ledger(RAGMEM_MODELS_PRICE="1")
    for days, model, purpose in [(0, "a", "document"), (1, "a", "query"), (1, "b", "document")]:
        home.moment = NOON + timedelta(days=days)
        ledger.record(Call("openai", model, purpose, tokens_in=1_000_000))

    def rows(*options):
        assert run(["inspect", "usage", "--json", *options]) == 0
        document = json.loads(capfd.readouterr().out)
        return [(*list(row.values())[:-7], row["calls"], row["cost"]) for row in document["rows"]], document

    assert rows()[0] == [("2026-03-16", 2, 2.0), ("2026-03-15", 1, 1.0)]
    assert rows("--by", "model")[0] == [("openai", "a", 2, 2.0), ("openai", "b", 1, 1.0)]
    assert rows("--by", "purpose")[0] == [("document", 2, 2.0), ("query", 1, 1.0)]
    assert rows("--since", "2026-03-16")[1]["total"]["calls"] == 2
    assert (len(rows("-n", "1")[0]), rows("-n", "1")[1]["left_out"]) == (1, 1)
    assert not home.spool()


def test_inspect_usage_tells_what_the_caps_leave(home, capfd, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(home.root))
    monkeypatch.setenv("RAGMEM_SPEND_DAILY_CALLS", "3")
    home.moment = datetime.now(tz=UTC)
    ledger = home.ledger()
    ledger.record(CALL)

    assert run(["inspect", "usage"]) == 0
    assert "1 request of 3 (daily_calls), 2 requests left" in capfd.readouterr().out
    ledger.record(CALL)
    ledger.record(CALL)
    assert run(["inspect", "usage"]) == 0
    assert re.search(r"3 requests of 3 \(daily_calls\), reached", capfd.readouterr().out)


def test_doctor_tells_of_a_cap_and_takes_up_what_was_interrupted(home, capfd, monkeypatch):
    home.prepare()
    for name, value in {
        "RAGMEM_HOME": str(home.root),
        "RAGMEM_SPEND_DAILY_CALLS": "1",
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }.items():
        monkeypatch.setenv(name, value)
    home.moment = datetime.now(tz=UTC)
    ledger = home.ledger()
    ledger.record(CALL)
    with suppress(_KilledError), _killed(ledger, before=True):
        ledger.absorb()

    def spend(*options):
        assert run(["doctor", "--json", *options]) == 0
        checks = json.loads(capfd.readouterr().out)["checks"]
        return [(check["status"], check["detail"]) for check in checks if check["name"] == "spend"]

    capped, interrupted = spend()
    assert capped[0] == "warning"
    assert "cap of 1 request is reached" in capped[1]
    assert "left by a killed process: 1" in interrupted[1]
    assert spend("--repair", "--yes") == [capped]
    assert not home.spool()


def test_a_salvage_keeps_the_sums(home):
    home.prepare()
    ledger = home.ledger()
    ledger.record(CALL)
    ledger.absorb()
    rescued = Catalog.at(home.root / "rescued")
    rescued.prepare()

    found = read_damaged(home.root / "data" / "memory.db")
    write_salvaged(found, rescued)

    assert rescued.usage.rows() == ledger.rows()
    assert not found.incomplete
    rescued.close()


def test_a_salvage_misses_no_table_that_an_older_ragmem_never_had(home):
    home.prepare()
    with closing(sqlite3.connect(home.root / "data" / "memory.db")) as connection:
        for table in ("usage", "usage_files", "extractions"):
            connection.execute(f"DROP TABLE {table}")

    assert not read_damaged(home.root / "data" / "memory.db").incomplete


def test_two_machines_add_to_one_database(home, postgres, tmp_path):
    machines = [Home(tmp_path / name) for name in ("one", "two")]
    for machine in machines:
        catalog = Catalog(PostgresDatabase(postgres, machine.root / "data"))
        catalog.prepare()
        ledger = machine.ledger(catalog=catalog)
        ledger.record(CALL)
        assert ledger.absorb().lines == 1
        assert ledger.absorb().lines == 0

    assert [ledger.today().calls for machine in machines for _, ledger in machine.ledgers] == [2, 2]
    for machine in machines:
        machine.close()
