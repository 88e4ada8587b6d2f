"""`ragmem serve` as a process: the socket, the signals, the command line, and the real backends."""

import http.client
import json
import re
import signal
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from ragmem.__main__ import run as run_here
from ragmem.server.security.guard import MAX_BODY

FILE_TOKEN = re.compile(r"\bm-[a-z2-7]{26}\b")


def get(server, path, **headers):
    # Nothing is encrypted, and to make a client that could verify it takes 70 ms of a processor.
    return httpx.get(server.url + path, headers=headers, timeout=60, verify=False)


def test_it_answers_with_the_token_and_only_then(server):
    assert not get(server, "/health").json().keys() & {"counts", "states", "projects", "backends"}
    assert get(server, "/graph/label/list").status_code == 401
    assert get(server, "/graph/label/list", Authorization="Bearer nonsense").status_code == 401
    bearer = get(server, "/graph/label/list", Authorization=f"Bearer {server.token}")
    assert "PostgreSQL" in bearer.json()
    assert get(server, "/graph/label/list", **{"X-API-Key": server.token}).json() == bearer.json()


def test_it_refuses_foreign_hosts_and_origins_and_tells_nothing_of_itself(server):
    assert get(server, "/health", Host="evil.example").status_code == 403
    assert get(server, "/health", Origin="http://evil.example").status_code == 403
    answer = get(server, "/health", Host=f"localhost:{server.port}")
    assert answer.status_code == 200
    assert "server" not in answer.headers


def test_a_large_body_is_refused_before_it_is_sent(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.putrequest("POST", "/query")
        connection.putheader("X-API-Key", server.token)
        connection.putheader("Content-Length", str(MAX_BODY + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413
    finally:
        connection.close()


def test_a_short_question_is_unprocessable(server):
    answer = httpx.post(f"{server.url}/query", json={"query": "ab"}, headers=server.headers, timeout=60)
    assert answer.status_code == 422


def test_questions_are_answered_while_texts_come_in(server):
    with httpx.Client(base_url=server.url, headers=server.headers, timeout=60) as client:

        def ask(number):
            return client.post("/query", json={"query": f"PostgreSQL Kubernetes {number}"})

        def tell(number):
            text = f"We decided to run job{number} on node{number} with Airflow, because cron lost runs."
            return client.post("/documents/text", json={"text": text, "file_source": f"job{number}"})

        with ThreadPoolExecutor(8) as pool:
            told = [pool.submit(tell, number) for number in range(15)]
            asked = [pool.submit(ask, number) for number in range(40)]
            answers = [future.result() for future in (*asked, *told)]
        assert {answer.status_code for answer in answers} == {200}
        assert all(answer.json()["references"] for answer in answers[:40])
        for number in range(15):
            found = client.post(
                "/query", json={"query": f"job{number} Airflow node{number}", "mode": "ragmem"}
            )
            assert f"job{number}" in [one["file_path"] for one in found.json()["references"]]


@pytest.fixture
def here(monkeypatch, tmp_path, capsys):
    """Run `ragmem serve` in this process, on a home of its own; return the exit code and what was said."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "ragmem"))

    def serve_here(*arguments):
        code = run_here(["serve", *arguments])
        return code, *capsys.readouterr()

    return serve_here


def test_a_second_server_on_the_port_fails_in_one_line(server, here):
    code, said, complained = here("--port", str(server.port))
    assert code == 3
    assert said == ""
    first, *_ = complained.splitlines()
    assert first == f"ragmem: cannot listen on 127.0.0.1:{server.port}: address already in use"
    assert "hint: " in complained
    assert get(server, "/health").status_code == 200


def test_a_signal_ends_it_with_0_after_the_running_request(start, tmp_path):
    body = json.dumps(
        {"text": "We decided to finish what was begun, with Erlang.", "file_source": "end"}
    ).encode()
    with start(tmp_path) as server:
        token_file = tmp_path / "ragmem" / "state" / "serve.token"
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(token_file.parent.stat().st_mode) == 0o700
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.putrequest("POST", "/documents/text")
        connection.putheader("X-API-Key", server.token)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        # It says so as soon as it reads the body.
        connection.putheader("Expect", "100-continue")
        connection.endheaders()
        assert connection.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(body[:20])
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert server.process.poll() is None
        connection.send(body[20:])
        answer = connection.getresponse()
        assert answer.status == 200
        assert json.loads(answer.read())["status"] == "success"
        connection.close()
        assert server.process.wait(timeout=60) == 0
        assert server.process.stderr.read() == ""


def test_an_address_that_others_reach_needs_a_second_word(here, monkeypatch):
    for host in ("0.0.0.0", "::", "box.lan", "192.168.1.5"):
        code, _, complained = here("--host", host, "--port", "0")
        assert code == 2
        assert "--allow-remote" in complained
    monkeypatch.setenv("RAGMEM_SERVE_HOST", "0.0.0.0")
    assert here("--port", "0")[0] == 2
    code, _, complained = here("--port", "0", "--allow-remote")
    assert (code, "allow_remote = true" in complained) == (2, True)
    monkeypatch.setenv("RAGMEM_SERVE_ALLOW_REMOTE", "true")
    assert here("--port", "0")[0] == 2


def test_the_token_can_be_printed_for_a_client(here, tmp_path):
    code, printed, complained = here("--print-token")
    assert code == 0
    assert printed == (tmp_path / "ragmem" / "state" / "serve.token").read_text()
    assert complained == ""


def test_another_token_can_take_the_place_of_a_damaged_or_known_one(here, tmp_path):
    path = tmp_path / "ragmem" / "state" / "serve.token"
    first = here("--print-token")[1]
    code, second, complained = here("--new-token")
    assert (code, len(second.strip()) >= 43, second != first) == (0, True, True)
    assert "restarted" in complained
    assert path.read_text() == second == here("--print-token")[1]
    path.chmod(0o644)
    assert here("--print-token")[0] == 2
    third = here("--new-token", "--quiet")
    assert (third[0], third[2]) == (0, "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir() if "token" in one.name] == ["serve.token"]


@pytest.mark.parametrize("package", ["uvicorn", "fastapi"])
def test_without_its_packages_it_names_the_extra(monkeypatch, here, package):
    for name in [name for name in sys.modules if name.startswith("ragmem.server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    code, _, complained = here("--port", "0")
    assert code == 4
    assert f"serve needs the package {package}" in complained
    assert "pip install 'ragmem[serve]'" in complained


def test_lightrag_and_the_bundled_model_serve_the_same_interface(start, run, tmp_path):
    backends = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}
    note = tmp_path / "queue.md"
    note.write_text(
        "# Queue\n\nWe decided for RabbitMQ 3.13 because Kafka was too much for one small team.\n"
    )
    assert run("ingest", "queue.md", **backends).returncode == 0
    with (
        start(tmp_path, **backends) as server,
        httpx.Client(base_url=server.url, headers=server.headers, timeout=120) as client,
    ):
        first = client.post("/query", json={"query": "RabbitMQ or Kafka"})
        assert first.json()["references"][0]["file_path"] == str(note)
        texts = [
            "We decided to deploy PostgreSQL 16 with Kubernetes because the old host ran out of disk.",
            "The error connection reset came from psycopg 3.1; we pin psycopg 3.2 with PostgreSQL.",
            "We use Redis 7 for sessions because Memcached lost data after each restart.",
        ]
        names = ["deploy.md", "driver.md", "cache.md"]
        stored = client.post("/documents/texts", json={"texts": texts, "file_sources": names})
        assert stored.json()["status"] == "success", stored.text
        for mode in ("local", "global", "hybrid", "naive", "mix", "ragmem"):
            question = {"query": "why do we pin psycopg for PostgreSQL", "mode": mode}
            answer = client.post("/query", json=question)
            assert answer.status_code == 200, answer.text
            assert "driver.md" in [one["file_path"] for one in answer.json()["references"]], mode
            data = client.post("/query/data", json=question)
            assert data.json()["status"] == "success", data.text
            assert not FILE_TOKEN.search(answer.text + data.text)
        entities = client.post("/query/data", json={"query": "PostgreSQL Kubernetes", "mode": "local"})
        files = {one["file_path"] for one in entities.json()["data"]["entities"]}
        assert files & {"deploy.md", "deploy.md<SEP>driver.md", "driver.md<SEP>deploy.md"}
        graph = client.get("/graphs", params={"label": "PostgreSQL", "project": "user"})
        assert "PostgreSQL" in {node["id"] for node in graph.json()["nodes"]}
        assert not FILE_TOKEN.search(graph.text)
        assert "PostgreSQL" in client.get("/graph/label/popular").json()
        assert client.get("/graph/entity/exists", params={"name": "PostgreSQL"}).json() == {"exists": True}
        again = client.post("/documents/text", json={"text": texts[0], "file_source": names[0]})
        assert again.json()["status"] == "duplicated"
        # Projects are opened for the first time while others are written and asked.
        with ThreadPoolExecutor(8) as pool:
            told = [
                pool.submit(
                    client.post,
                    "/documents/text",
                    json={"text": text, "file_source": f"{number}", "project": f"project{number % 3}"},
                )
                for number, text in enumerate(texts * 2)
            ]
            asked = [
                pool.submit(client.post, "/query", json={"query": f"{mode} PostgreSQL", "mode": mode})
                for mode in ("local", "global", "hybrid", "naive", "mix", "ragmem")
            ]
            assert {future.result().status_code for future in (*told, *asked)} == {200}
        assert server.end(signal.SIGINT) == 0
        assert "Traceback" not in "".join(server.said)
