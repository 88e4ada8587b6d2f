"""The bill of materials names what is installed, once each, with licences, and is the same each time."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def make(*options, **environ):
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_sbom.py", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **environ},
    )


@pytest.fixture(scope="module")
def bill():
    done = make("--extra", "serve")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_says_what_it_is_of(bill):
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    own = bill["metadata"]["component"]
    assert (own["name"], own["version"]) == ("ragmem", version("ragmem"))
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"


def test_each_part_is_named_once_with_version_and_licence(bill):
    parts = bill["components"]
    refs = [part["bom-ref"] for part in parts]
    assert len(refs) == len(set(refs))
    for part in parts:
        if part["bom-ref"].startswith("pkg:pypi/"):
            assert part["version"] == version(part["name"])
            assert part["purl"] == part["bom-ref"]
        assert len(part["licenses"]) == 1, part["name"]


def test_every_dependency_is_a_part_and_every_part_is_reached(bill):
    links = {link["ref"]: link.get("dependsOn", []) for link in bill["dependencies"]}
    own = bill["metadata"]["component"]["bom-ref"]
    assert set(links) == {part["bom-ref"] for part in bill["components"]} | {own}
    reached, waiting = set(), [own]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += links[ref]
    assert reached == set(links)


def test_what_is_bundled_is_named_too(bill):
    by_name = {part["name"]: part for part in bill["components"]}
    assert by_name["all-MiniLM-L6-v2"]["type"] == "machine-learning-model"
    assert by_name["preact"]["purl"].startswith("pkg:npm/preact@")
    assert "esbuild" not in by_name  # builds the page, and is no part of it


def test_an_extra_brings_its_own_and_nothing_else(bill):
    small = json.loads(make().stdout)
    less, more = ({part["name"] for part in document["components"]} for document in (small, bill))
    assert {"fastapi", "mcp", "uvicorn"} <= more - less
    assert not {"onnxruntime", "textual", "psycopg"} & more


def test_the_same_environment_gives_the_same_bytes(bill):
    assert json.loads(make("--extra", "serve").stdout) == bill
