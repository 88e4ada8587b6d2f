"""docs/models.md: what it shows opens, and what it and the package list is all there is."""

import re
import tomllib
from pathlib import Path

import pytest

from ragmem.backends import SHIPPED, open_models
from ragmem.backends.composed_models import completion_options, embedding_options, reranking_options
from ragmem.config.models import LanguageModelSettings, ModelSettings, RerankerSettings
from ragmem.domain.secrets.redaction import DEFAULT

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
SNIPPETS = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
PROVIDERS = {name for name, module in SHIPPED.items() if ".providers." in module}


@pytest.mark.parametrize("tables", SNIPPETS)
def test_each_snippet_lacks_nothing_but_a_key(tables):
    opened = [
        open_models(table["backend"], options_of(name, table))
        for name, table in tables.items()
        if "backend" in table
    ]

    assert opened
    for models in opened:
        # Neither a key nor a model of the hub is on the machine of a test.
        absent = re.compile("there is no key|is not on this machine")
        assert [line for line in models.check() if not absent.search(line)] == []
        models.close()


def options_of(name, table):
    if name == "models":
        return embedding_options(ModelSettings(**table), redactor=DEFAULT)
    if name == "reranker":
        return reranking_options(RerankerSettings(**table), redactor=DEFAULT)
    return completion_options(LanguageModelSettings(**table), redactor=DEFAULT)


def test_the_table_has_every_provider():
    section = PAGE.partition("\n## Providers\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == PROVIDERS


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_the_table_says_who_offers_what(name):
    _, _, embeddings, chat, *_ = re.search(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE).group().split("|")
    for half, cell in (("model", embeddings), ("language_model", chat)):
        lines = open_models(name, {half: "x", "url": "http://127.0.0.1:9/v1"}).check()
        assert (cell.strip() == "none") == any("offers no" in line for line in lines)


def test_backends_that_ship_are_the_entry_points_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"]["ragmem.backends"] == dict(SHIPPED)
