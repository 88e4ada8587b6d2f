"""The short version of the kill driver; docs/backup.md has the long one's table."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).parents[1] / "benchmarks" / "reliability.py"
SEED = 20260601


def run(tmp_path: Path, *arguments: str, broken: str = "") -> tuple[int, dict, str]:
    """Run the driver on a package that is broken as the code says; return exit code, figures and messages."""
    figures = tmp_path / "figures.json"
    script = textwrap.dedent(broken) + textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv.pop(1))
        import reliability
        raise SystemExit(reliability.main(sys.argv[1:]))
        """
    )
    ended = subprocess.run(
        [
            *(sys.executable, "-c", script, str(DRIVER.parent)),
            *("--seed", str(SEED), "--json", str(figures), "--keep", str(tmp_path / "kept"), *arguments),
        ],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        cwd=DRIVER.parents[1],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    return ended.returncode, json.loads(figures.read_text()), ended.stderr


def test_twenty_kills_lose_nothing_and_leave_nothing_half_done(tmp_path):
    code, figures, messages = run(tmp_path, "--kills", "20")
    assert figures["violations"] == []
    assert code == 0, messages
    operations = figures["operations"]
    assert sum(row["kills"] for row in operations.values()) == 20
    assert all(row["kills"] for row in operations.values())
    # A few may come after the last step: then everything has been acknowledged.
    assert sum(row["running"] for row in operations.values()) >= 15
    assert sum(row["acknowledged"] for row in operations.values()) > 0


def test_the_driver_tells_of_a_memory_that_was_acknowledged_and_not_stored(tmp_path):
    broken = """
    from ragmem.storage.memories.memories import Memories
    accept = Memories.accept
    Memories.accept = lambda self, items: accept(self, list(items)[1:])
    """
    code, figures, messages = run(tmp_path, "--kills", "1", "--only", "ingest", broken=broken)
    assert code == 1
    assert figures["operations"]["ingest"]["lost"] > 0
    assert f"seed {SEED}, round 0 (ingest" in messages
    assert (tmp_path / "kept" / f"seed-{SEED}-round-0" / "ragmem" / "data" / "memory.db").is_file()


def test_the_driver_tells_of_a_write_that_was_torn_in_two(tmp_path):
    broken = """
    import time
    from ragmem.domain.model import State
    from ragmem.services.ingestion import index, ingest
    def torn(catalog, store, records, *, finish=None):
        catalog.memories.mark([record.memory.id for record in records], State.INDEXED)
        time.sleep(0.4)
        store.put(records, finish=finish)
    index.index = ingest.index = torn
    """
    code, figures, _ = run(tmp_path, "--kills", "3", "--only", "ingest", "--aim", "moment", broken=broken)
    assert code == 1
    assert any("are not in the store" in one["what"] for one in figures["violations"])
