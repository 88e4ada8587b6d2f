"""What the server counts and logs: by templates of routes, with ids, and never with what was asked."""

import io
import json
import logging
import re
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragmem.server.http.log import LINES, Handler, Log
from ragmem.server.security.metrics import UNMATCHED

QUESTION = "why did we deploy PostgreSQL"


def figures(client):
    text = client.get("/metrics").text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found, name, **labels):
    return found.get((name, frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_the_template_of_their_route(reader):
    before = figures(reader)
    reader.post("/query", query=QUESTION)
    reader.post("/query", query="?")
    reader.get("/no/such/path")
    reader.get("/graph/entity/exists", name="Redis")
    after = figures(reader)

    def more(name, **labels):
        return value(after, name, **labels) - value(before, name, **labels)

    assert more("ragmem_requests_total", method="POST", route="/query", status="200") == 1
    assert more("ragmem_requests_total", method="POST", route="/query", status="422") == 1
    assert more("ragmem_requests_total", method="GET", route=UNMATCHED, status="404") == 1
    assert more("ragmem_request_seconds_count", method="POST", route="/query") == 2
    assert more("ragmem_request_seconds_sum", method="POST", route="/query") > 0
    assert value(after, "ragmem_requests_in_flight") == 1  # the one that asks for the figures


def test_strangers_cannot_make_new_labels(reader):
    before = {key for key in figures(reader) if key[0] == "ragmem_requests_total"}
    for number in range(20):
        reader.get(f"/path/{number}")
        reader.send(f"METHOD{number}", "/query")
    after = {key for key in figures(reader) if key[0] == "ragmem_requests_total"}
    assert len(after - before) <= 3


def test_the_figures_tell_of_memory_models_and_process(reader):
    found = figures(reader)
    names = {name for name, _ in found}
    assert value(found, "ragmem_memories", state="indexed") == 3
    assert value(found, "ragmem_queue") == 0
    assert value(found, "ragmem_inbox") == 0
    assert value(found, "ragmem_sse_listeners") == 0
    assert {"ragmem_build_info", "ragmem_model_loaded", "process_resident_memory_bytes"} <= names
    assert {"process_cpu_seconds_total", "process_open_fds"} <= names


def test_the_figures_need_the_token(reader):
    assert reader.send("GET", "/metrics", headers={"Authorization": ""}).status_code == 401


def test_a_home_without_a_memory_has_figures_too(open_memory, connect):
    with connect(open_memory()) as client:
        assert client.get("/metrics").status_code == 200


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a.B-3_x", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ('a"b', False), ("", False)],
)
def test_an_id_that_is_one_comes_back_and_any_other_is_replaced(reader, given, kept):
    answer = reader.send("GET", "/health", headers={"X-Request-ID": given})
    found = answer.headers["x-request-id"]
    assert (found == given) is kept
    assert re.fullmatch(r"[\w.-]{1,64}", found)


def test_a_refused_request_has_an_id_too(reader):
    answer = reader.send("GET", "/metrics", headers={"Authorization": "", "X-Request-ID": "mine"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (401, "mine")


def test_a_request_is_one_line_of_json_without_what_was_asked(filled, connect):
    stream = io.StringIO()
    log = Log(json=True, level="info", stream=stream)
    with connect(filled, log=log) as client:
        client.send(
            "POST",
            "/query?secret=1",
            json={"query": QUESTION},
            headers={"X-Request-ID": "one", "Cookie": "a=b"},
        )
        client.get(f"/v1/memory/memories/{QUESTION}")
    log.close()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    [first] = [line for line in lines if line.get("id") == "one"]
    assert first.keys() == {"time", "level", "event", "id", "method", "route", "status", "ms"}
    assert (first["event"], first["method"], first["route"], first["status"]) == (
        "request",
        "POST",
        "/query",
        200,
    )
    assert 0 <= first["ms"] < 60_000
    assert len([line for line in lines if line["event"] == "request"]) == 2
    assert QUESTION not in stream.getvalue()
    assert "secret" not in stream.getvalue()


def test_as_text_a_request_is_one_line_and_only_from_info_on():
    stream = io.StringIO()
    log = Log(level="info", stream=stream)
    log.write("info", "request", route="/query", status=200)
    log.write("debug", "request", route="/health", status=200)
    log.close()
    assert re.fullmatch(r"\d\d:\d\d:\d\d info request: route=/query status=200\n", stream.getvalue())


def test_a_bug_is_logged_with_its_traceback_in_one_line_of_json():
    stream = io.StringIO()
    log = Log(json=True, stream=stream)
    logger = logging.getLogger("a library of the server")
    logger.addHandler(Handler(log))
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logger.exception("it failed")
    log.close()
    [line] = stream.getvalue().splitlines()
    assert json.loads(line)["message"] == "it failed"
    assert "ValueError: two\nlines" in json.loads(line)["traceback"]


def test_a_log_that_nobody_reads_stops_nobody_and_tells_what_it_left_out():
    class Stuck(io.StringIO):
        read = False

        def write(self, text):
            while not self.read:
                time.sleep(0.01)
            return super().write(text)

    stream = Stuck()
    log = Log(level="info", stream=stream)
    began = time.monotonic()
    for _ in range(LINES + 50):
        log.write("info", "request", status=200)
    assert time.monotonic() - began < 20
    stream.read = True
    time.sleep(0.1)
    log.close()
    assert re.search(r"\d+ lines were skipped", stream.getvalue())
