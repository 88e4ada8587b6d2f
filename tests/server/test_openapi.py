"""The description of the server: complete, with examples that fit, and true of what the server answers."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ragmem.server import description as describing

DRIVER = Path(__file__).parents[2] / "benchmarks" / "fuzz_api.py"


@pytest.fixture(scope="module")
def description(reader):
    return reader.get("/openapi.json").json()


def operations(description):
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def resolved(description, schema):
    while "$ref" in schema:
        schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def examples(description, content):
    """Return the examples of a body, those of its schema or of all its fields included."""
    found = [content["example"]] if "example" in content else []
    schema = content.get("schema", {})
    whole = resolved(description, schema)
    found += [*schema.get("examples", ()), *whole.get("examples", ())]
    if not found and whole.get("type") == "array":
        return [[one] for one in examples(description, {"schema": whole["items"]})]
    if not found and "properties" in whole:
        fields = {name: examples(description, {"schema": one}) for name, one in whole["properties"].items()}
        found = [{name: values[0] for name, values in fields.items()}] if all(fields.values()) else []
    return found


def bodies(description):
    for name, operation in operations(description):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{name} request {kind}", content
        for status, answer in operation["responses"].items():
            for kind, content in answer.get("content", {}).items():
                yield f"{name} {status} {kind}", content


def test_every_operation_says_what_it_is_who_may_call_it_and_what_it_answers(description):
    identifiers = []
    for name, operation in operations(description):
        assert all(operation[part] for part in ("summary", "description", "tags", "security")), name
        assert {"400", "401", "403", "413", "422", "429", "503"} <= operation["responses"].keys(), name
        identifiers.append(operation["operationId"])
    assert len(identifiers) == len(set(identifiers)) > 80
    told = {tag["name"] for tag in description["tags"] if tag["description"]}
    assert {tag for _, operation in operations(description) for tag in operation["tags"]} == told
    assert description["components"]["securitySchemes"].keys() == {"bearer", "key", "cookie"}


def test_every_request_and_answer_has_an_example_that_fits(description):
    lacking, wrong = [], []
    for name, content in bodies(description):
        found = examples(description, content)
        if not found:
            lacking.append(name)
        schema = content.get("schema", {}) | {"components": description["components"]}
        for example in found:
            problems = Draft202012Validator(schema).iter_errors(example)
            wrong += [f"{name}: {problem.message}" for problem in problems]
    assert not lacking
    assert not wrong, "\n".join(wrong)


def test_no_name_in_the_description_tells_where_the_code_lies(description):
    assert "ragmem__" not in json.dumps(description)


def test_the_description_is_made_once(reader):
    assert reader.get("/openapi.json").content == reader.get("/openapi.json").content


def test_others_are_answered_while_the_description_is_made(open_memory, connect, monkeypatch):
    made, answered, times = describing.get_openapi, threading.Event(), []

    def made_late(**options):
        times.append(answered.wait(20))
        return made(**options)

    monkeypatch.setattr(describing, "get_openapi", made_late)
    with connect(open_memory()) as client:

        async def ask_meanwhile():
            descriptions = [asyncio.create_task(client.http.get("/openapi.json")) for _ in range(2)]
            await asyncio.sleep(0)
            assert (await client.http.get("/health")).status_code == 200
            answered.set()
            return await asyncio.gather(*descriptions)

        first, second = client.runner.run(ask_meanwhile())
    assert times == [True]
    assert first.json()["info"]["title"] == "ragmem"
    assert first.content == second.content


def test_generated_requests_are_answered_as_described(tmp_path):
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(DRIVER), "--quick", "--json", str(figures)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-8_000:]
    said = json.loads(figures.read_text())
    assert said["operations"] > 80
    assert said["cases"] >= said["operations"]
    assert not any(int(status) >= 500 for status in said["statuses"])
