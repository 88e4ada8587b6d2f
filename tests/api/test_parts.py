import re
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

from ragmem.api.home import lazy
from ragmem.api.memory import Ragmem

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("## Parts")[2], re.MULTILINE))


@pytest.fixture
def memory(tmp_path):
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem")}, home=tmp_path, cwd=tmp_path
    ) as opened:
        yield opened


def test_the_page_names_each_part_and_each_of_its_methods(memory):
    parts = {name for name, one in vars(Ragmem).items() if isinstance(one, lazy)}
    assert set(ROWS) == parts | {"agents", "recalls"}
    for name in parts - {"records"}:
        own = {one for one in vars(type(getattr(memory, name))) if not one.startswith("_")}
        assert set(re.findall(r"`(\w+)(?:\(|`)", ROWS[name])) == own, name


def test_no_more_than_twenty_public_names_are_of_the_class_itself_beside_its_parts():
    own = {name for name, one in vars(Ragmem).items() if name[0] != "_" and not isinstance(one, lazy)}
    assert len(own) <= 20


def test_a_part_is_imported_at_its_first_use():
    loaded = "import sys; from ragmem import Ragmem; print(*(n for n in sys.modules if 'ragmem.api.' in n))"
    shown = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(shown.stdout.split()) == {"ragmem.api.home", "ragmem.api.memory"}
    assert all(import_module(f"ragmem.api.{name}") for name in set(ROWS) - {"agents", "recalls"})


def test_a_part_and_what_a_home_opens_are_the_same_for_every_thread(memory):
    seen, begin = [], threading.Barrier(8)

    def look():
        begin.wait(30)
        seen.append((memory.gc, memory.models, memory.recalls))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len(set(seen)) == 1
    assert len(seen) == 8


def test_what_was_closed_opens_again_at_its_next_use(memory):
    first = memory.models
    memory.close()
    memory.close()
    assert memory.models is not first
