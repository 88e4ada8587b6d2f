"""Keys: from a variable or a command, once, and shown nowhere."""

import sys
import time

import pytest
from provider_protocols import KEY, Ollama, OpenAI, Reply
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.backends.providers import keys
from ragmem.errors import BackendError


@pytest.fixture
def server():
    with serving(OpenAI()) as server:
        server.protocol.names = ("text-embedding-3-small",)
        yield server


@pytest.fixture
def ask(server, monkeypatch):
    """Return a function that asks the server, and the options' key with it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    opened = []

    def ask(backend="openai", **options):
        given = {"url": f"{server.root}/v1", "model": "text-embedding-3-small", **options}
        opened.append(open_models(backend, given))
        return opened[-1].embedder.embed(["a text"], role="document")

    yield ask
    for models in opened:
        models.close()


def command(code):
    return f'{sys.executable} -c "{code}"'


def authorization(server):
    return [seen.headers.get("authorization") for seen in server.posts]


def test_the_usual_variable_of_the_provider_holds_the_key(ask, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    ask()

    assert authorization(server) == [f"Bearer {KEY}"]


def test_the_variable_that_is_configured_goes_before_the_usual_one(ask, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("MY_KEY", KEY)
    ask(key_variable="MY_KEY")

    assert authorization(server) == [f"Bearer {KEY}"]


def test_a_command_that_prints_the_key_runs_once_in_a_process(ask, server, tmp_path):
    runs = tmp_path / "runs"
    line = command(f"open('{runs}', 'a').write('x'); print('{KEY}')")

    for _ in range(3):
        ask(key_command=line)

    assert authorization(server) == [f"Bearer {KEY}"] * 3
    assert runs.read_text() == "x"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (command(f"import sys; print('{KEY}'); sys.exit(3)"), "it ended with 3"),
        (command("pass"), "it printed nothing"),
        (command("import sys; sys.stdout.buffer.write(b'\\xff')"), "it did not print text"),
        ("no-such-command-anywhere", "it cannot be run"),
        ("'unclosed", "it cannot be run"),
        (" ", "it cannot be run"),
    ],
)
def test_a_command_that_fails_is_told_without_its_output(ask, server, line, problem):
    with pytest.raises(BackendError, match=problem) as caught:
        ask(key_command=line)

    assert KEY not in f"{caught.value}{caught.value.hint}{caught.value.__context__!r}"
    assert server.posts == []


def test_a_command_that_hangs_is_ended_and_not_run_again_at_once(ask, monkeypatch, tmp_path):
    monkeypatch.setattr(keys, "COMMAND_TIMEOUT_S", 0.2)
    runs = tmp_path / "runs"
    line = command(f"import time; open('{runs}', 'a').write('x'); time.sleep(30)")

    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(BackendError, match="ran for more than"):
            ask(key_command=line)

    assert time.monotonic() - began < 5
    assert len(runs.read_text() if runs.exists() else "") <= 1


def test_a_command_is_not_read_by_a_shell(ask, tmp_path):
    made = tmp_path / "made"

    with pytest.raises(BackendError):
        ask(key_command=f"no-such-command; touch {made}")

    assert not made.exists()


@pytest.mark.parametrize("key", ["sk-a b", "sk-ä", "sk-\x07", "sk-a\nX-Evil: 1"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(ask, server, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)

    with pytest.raises(BackendError, match="invalid characters") as caught:
        ask()

    assert key not in f"{caught.value}{caught.value.hint}"
    assert server.posts == []


def test_without_a_key_the_hint_says_what_to_set(ask, server):
    with pytest.raises(BackendError, match="OPENAI_API_KEY is not set") as caught:
        ask()

    assert caught.value.hint == "set OPENAI_API_KEY, or key_command in config.toml, [models]"
    assert server.posts == []


@pytest.mark.parametrize("backend", ["compatible", "ollama"])
def test_servers_that_people_run_need_no_key_and_take_one(backend, monkeypatch):
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    monkeypatch.setenv("MY_KEY", KEY)
    protocol = OpenAI() if backend == "compatible" else Ollama()
    protocol.key, protocol.names = "", ("embedder", "embedder:latest")
    with serving(protocol) as server:
        options = {"url": f"{server.root}{'/v1' if backend == 'compatible' else ''}", "model": "embedder"}
        for more in ({}, {"key_variable": "MY_KEY"}):
            models = open_models(backend, {**options, **more})
            assert models.check() == []
            models.embedder.embed(["a text"], role="document")
            models.close()

        assert authorization(server) == [None, f"Bearer {KEY}"]


def test_the_key_of_one_provider_is_not_sent_to_another_server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(OpenAI()) as server:
        server.protocol.key = ""
        models = open_models("compatible", {"url": f"{server.root}/v1", "model": "embedder"})
        models.embedder.embed(["a text"], role="document")
        models.close()

        assert authorization(server) == [None]


def test_a_key_from_a_command_is_concealed_as_well(ask, server):
    server.script.append(Reply(400, {"error": {"message": f"who is {KEY}?"}}))

    with pytest.raises(BackendError, match=r"who is \*\*\*\?"):
        ask(key_command=command(f"print('{KEY}')"))
