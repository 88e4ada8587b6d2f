"""Names of code that memories write in several ways are one name where they mean one thing."""

import pytest

from ragmem.services.connections.comparison import with_code_names

PAY = "class Store:\n    def put(self):\n        return 1\n\n    def close(self):\n        return 2\n"
BANK = "def close():\n    return 3\n"


@pytest.fixture
def shop(memory, tmp_path):
    """The catalog of a project with code, and the project's name."""
    root = tmp_path / "home" / "shop"
    (root / "shop").mkdir(parents=True)
    (root / "shop" / "pay.py").write_text(PAY)
    (root / "shop" / "bank.py").write_text(BANK)
    memory.code.ingest(root)
    [found] = memory.catalog.code.roots()
    return memory.catalog, found.project


def test_a_symbol_and_a_file_have_one_name_however_they_are_written(shop):
    catalog, project = shop
    named = {
        1: frozenset({"Store.put", "pay.py", "Redis"}),
        2: frozenset({"put", "shop/pay.py"}),
        3: frozenset({"put()"}),
    }
    found = with_code_names(catalog, project, named)
    assert found[1] & found[2] == {"shop.pay.Store.put", "shop/pay.py"}
    assert found[3] == {"shop.pay.Store.put"}
    assert "Redis" in found[1]


def test_what_may_be_several_stays_as_it_is(shop):
    catalog, project = shop
    found = with_code_names(catalog, project, {1: frozenset({"close", "Store.close"})})
    assert found == {1: {"close", "shop.pay.Store.close"}}


def test_a_project_without_code_keeps_its_names(shop):
    catalog, _ = shop
    named = {1: frozenset({"Store.put"})}
    assert with_code_names(catalog, "another", named) == named
