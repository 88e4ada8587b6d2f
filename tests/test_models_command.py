"""`ragmem models`: choosing, changing, trying and listing models, on real stores and real servers."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import provider_protocols as protocols
import pytest
from provider_protocols import RefusedError
from provider_servers import serving
from tiny_onnx import make_model

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft
from ragmem.services.models.background import stop
from ragmem.services.models.reembed import LOCK_NAME, reembedding_pid
from ragmem.services.models.trial import PAIRS

NOTES = 12
BUNDLED = "all-MiniLM-L6-v2-int8-1"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def document(self):
        assert self.out, self.err
        return json.loads(self.out)


class Home:
    """A home of the test's own, and the commands that are run in it, in this process."""

    def __init__(self, capfd) -> None:
        self.root = Path(os.environ["RAGMEM_HOME"])
        self.data = self.root / "data"
        self.config = self.root / "config" / "config.toml"
        self.log = self.root / "state" / "models.log"
        self._capfd = capfd

    def run(self, *arguments: str) -> Result:
        self._capfd.readouterr()
        code = run(arguments)
        return Result(code, *self._capfd.readouterr())

    def standing(self) -> dict:
        return self.run("models", "list", "--json").document["vectors"]

    def wait(self, condition) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def events(self, purpose: str) -> int:
        with Ragmem.open() as memory:
            return sum(sums.calls for use, sums in memory.ledger.rows().items() if use.purpose == purpose)


@pytest.fixture
def home(capfd, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    one = Home(capfd)
    yield one
    stop(one.data, patience=10)


@pytest.fixture(scope="module")
def memory_file(tmp_path_factory):
    """Return the data folder of a home with some notes, to be copied."""
    root = tmp_path_factory.mktemp("filled")
    with Ragmem.open(environ={"RAGMEM_HOME": str(root)}, home=root, cwd=root) as memory:
        memory.ingest(
            [
                Draft(
                    "notes",
                    f"/{n}",
                    f"# Note {n}\n\nWe decided to pin driver {n} because of leak {n}; the fix is upstream.",
                    title=f"Note {n}",
                )
                for n in range(NOTES)
            ]
        )
    return root / "data"


@pytest.fixture
def filled(home, memory_file):
    shutil.copytree(memory_file, home.data)
    return home


class Gated(protocols.Ollama):
    """Gives a batch of vectors only while its gate is open, and none of a text with poison."""

    poison = ""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def vectors(self, texts, length=0):
        if len(texts) > 1:
            self.gate.wait(30)
        if self.poison and any(self.poison in text for text in texts):
            raise RefusedError(500, {"error": "unsupported value: NaN"})
        return super().vectors(texts, length)


@pytest.fixture
def ollama():
    protocol = Gated()
    with serving(protocol) as server:
        yield server
        protocol.gate.set()


def use_ollama(home, server, *options):
    return home.run("models", "use", "ollama:embedder", "--url", server.root, *options)


# --- choosing


def test_a_model_is_chosen_made_in_the_background_and_then_answers(filled, ollama):
    filled.config.parent.mkdir(parents=True)
    filled.config.write_text('# mine\n[query]\nlimit = 3 # few\n\n[models]\nengine = "numpy"\n')
    chosen = use_ollama(filled, ollama, "--json")
    assert (chosen.code, chosen.err) == (0, "")
    assert (chosen.document["vectors"], chosen.document["model"]) == ("background", "ollama:embedder")
    assert filled.config.read_text() == (
        '# mine\n[query]\nlimit = 3 # few\n\n[models]\nengine = "numpy"\n'
        f'backend = "ollama"\nmodel = "embedder"\nurl = "{ollama.root}"\n'
    )
    filled.wait(lambda: not filled.standing()["changing"] and not reembedding_pid(filled.data))
    standing = filled.standing()
    assert (standing["done"], standing["total"]) == (standing["total"], standing["total"])
    assert standing["active"] == standing["wanted"] != BUNDLED
    filled.wait(lambda: "answers now" in filled.log.read_text())  # after the scale of its cosines
    assert re.match(r"\d{4}-\d\d-\d\dT\S+Z embed: 12 to go\n", filled.log.read_text())
    asked = len(ollama.posts)
    assert filled.run("query", "driver 7 leak").code == 0
    assert len(ollama.posts) == asked + 1


def test_a_text_that_the_server_rejects_is_named_and_the_change_ends(filled, ollama):
    ollama.protocol.poison = "driver 7 "
    chosen = use_ollama(filled, ollama, "--wait", "--json")
    assert chosen.code == 3
    assert chosen.document["vectors"] == "made"
    [problem] = chosen.document["problems"]
    assert problem.startswith('"/7" is stored, and full text finds it; it has no vectors: ')
    standing = filled.standing()
    assert (standing["changing"], standing["done"]) == (False, NOTES - 1)
    assert filled.run("query", "driver 7 leak", "--json").document["matches"][0]["title"] == "Note 7"


def test_the_process_may_be_killed_questions_are_answered_meanwhile_and_resume_goes_on(filled, ollama):
    ollama.protocol.gate.clear()
    chosen = use_ollama(filled, ollama, "--no-test", "--json").document
    # The first request asks how long the vectors are.
    filled.wait(lambda: reembedding_pid(filled.data) and len(ollama.posts) > 1)
    standing = filled.standing()
    assert (standing["changing"], standing["running"], standing["active"]) == (True, True, BUNDLED)
    assert use_ollama(filled, ollama, "--no-test", "--json").document.get("process") is None
    answer = filled.run("query", "driver 7 leak", "--json")
    assert answer.code == 0
    assert answer.document["matches"][0]["title"] == "Note 7"
    os.kill(chosen["process"], signal.SIGKILL)
    filled.wait(lambda: not reembedding_pid(filled.data))
    shown = filled.run("models").out
    assert "`ragmem models resume`" in shown
    assert f"{BUNDLED} is still used for queries" in shown
    [check] = [
        one for one in filled.run("doctor", "--json").document["checks"] if one["name"] == "model change"
    ]
    assert (check["status"], check["fix"]) == ("warning", "ragmem models resume")
    ollama.protocol.gate.set()
    tried = filled.run("models", "test", "--json").document["trials"]
    assert [trial["backend"] for trial in tried] == ["ollama", "minilm"]
    done = filled.run("models", "resume")
    assert (done.code, done.err) == (0, "")
    assert "answers now" in done.out
    assert filled.standing()["active"] != BUNDLED
    assert filled.run("models", "resume").out.startswith("nothing to make")
    assert filled.run("doctor", "--json").document["well"]


def test_the_process_is_at_work_before_another_choice_can_overtake_it(filled, ollama):
    ollama.protocol.gate.clear()
    chosen = use_ollama(filled, ollama, "--json").document
    assert reembedding_pid(filled.data) == chosen["process"]


def test_going_back_ends_the_process_and_makes_nothing(filled, ollama):
    ollama.protocol.gate.clear()
    process = use_ollama(filled, ollama, "--no-test", "--json").document["process"]
    filled.wait(lambda: reembedding_pid(filled.data) == process and ollama.posts)
    back = filled.run("models", "use", "minilm", "--json").document
    assert (back["vectors"], back["made"], reembedding_pid(filled.data)) == ("made", 0, 0)
    standing = filled.standing()
    assert (standing["changing"], standing["active"]) == (False, BUNDLED)
    assert "url" not in filled.config.read_text()


def test_waiting_makes_the_vectors_here_and_an_interrupt_leaves_them_for_later(filled, ollama):
    ollama.protocol.gate.clear()
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", "models", "use", "ollama:embedder", "--url", ollama.root, "--wait"],
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        filled.wait(lambda: reembedding_pid(filled.data) == process.pid and len(ollama.posts) > 2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, "interrupted" in said) == (130, True)
    assert filled.standing()["changing"]
    ollama.protocol.gate.set()
    made = use_ollama(filled, ollama, "--wait")
    assert (made.code, filled.standing()["changing"]) == (0, False)
    assert "answers now" in made.out


def test_an_empty_home_has_nothing_to_make(home):
    assert "there are no vectors yet" in home.run("models", "use", "minilm").out
    assert "no vectors yet" in home.run("models").out


def test_the_same_model_makes_nothing(filled):
    assert "nothing to make" in filled.run("models", "use", "minilm").out


def test_a_memory_without_vectors_says_so_and_not_whose_they_are(home):
    with Ragmem.open() as memory:
        memory.prepare()
    assert home.run("models", "resume").out == "nothing to make: there are no vectors yet\n"


def test_the_choice_is_named_alike_whatever_becomes_of_the_vectors(filled):
    begun, made = (
        filled.run("models", "use", "fake", "--json", *options).document
        for options in (["--dry-run"], ["--wait"])
    )
    assert (begun["model"], made["model"], made["vectors"]) == ("fake", "fake", "made")


def test_on_a_terminal_the_lines_stand_out_and_nothing_is_lost(home, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert home.run("models").out.startswith("\x1b[1membedder       \x1b[0m minilm;")


def test_a_dry_run_shows_the_lines_and_writes_nothing(filled, ollama):
    shown = use_ollama(filled, ollama, "--dry-run")
    assert shown.code == 0
    assert [line for line in shown.out.splitlines() if line.startswith("+")][2:] == [
        '+backend = "ollama"',
        '+model = "embedder"',
        f'+url = "{ollama.root}"',
    ]
    assert not filled.config.exists()
    assert filled.run("models", "use", "minilm", "--dry-run").code == 0


def test_what_belongs_to_one_server_or_model_does_not_go_to_the_next(home):
    home.config.parent.mkdir(parents=True)
    home.config.write_text(
        '[models]\nbackend = "compatible"\nmodel = "a"\nurl = "http://127.0.0.1:9/v1"\nkey_variable = "K"\n'
        'dimensions = 64\nquery_prefix = "q: "\ntimeout_s = 3.0\n'
    )
    assert home.run("models", "use", "compatible:b", "--no-test").code == 0
    assert home.config.read_text() == (
        '[models]\nbackend = "compatible"\nmodel = "b"\nurl = "http://127.0.0.1:9/v1"\nkey_variable = "K"\n'
        "timeout_s = 3.0\n"
    )
    assert home.run("models", "use", "minilm").code == 0
    assert home.config.read_text() == '[models]\nbackend = "minilm"\ntimeout_s = 3.0\n'


def test_a_model_that_does_not_answer_changes_nothing_unless_it_is_not_asked(filled):
    refused = filled.run("models", "use", "ollama:embedder", "--url", "http://127.0.0.1:9")
    assert (refused.code, refused.out, filled.config.exists()) == (4, "", False)
    taken = filled.run(
        "models", "use", "ollama:embedder", "--url", "http://127.0.0.1:9", "--no-test", "--wait", "--json"
    )
    assert (taken.code, taken.document["vectors"], bool(taken.document["problem"])) == (4, "stopped", True)
    # It is chosen, and until it answers, the former one does.
    assert filled.run("query", "driver 7 leak").code == 0
    assert filled.standing()["active"] == BUNDLED
    assert filled.run("models", "use", "minilm").code == 0


def test_a_language_model_is_chosen_and_given_up(home):
    home.config.parent.mkdir(parents=True)
    chosen = home.run("models", "use", "--language", "fake:valid")
    assert (chosen.code, home.config.read_text()) == (
        0,
        '[language_model]\nbackend = "fake"\nmodel = "valid"\n',
    )
    assert "language model  fake:valid" in home.run("models").out
    assert home.run("models", "use", "--language", "fake:down").code == 4
    assert home.run("models", "use", "--language", "none").code == 0
    assert home.config.read_text() == "[language_model]\n"


def test_a_variable_that_would_win_is_named(home, monkeypatch):
    monkeypatch.setenv("RAGMEM_MODELS_MODEL", "other")
    refused = home.run("models", "use", "ollama:embedder", "--no-test")
    assert (refused.code, home.config.exists()) == (2, False)
    assert "the variable RAGMEM_MODELS_MODEL is set" in refused.err
    monkeypatch.setenv("RAGMEM_MODELS_MODEL", "embedder")
    assert home.run("models", "use", "ollama:embedder", "--no-test").code == 0


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://h:port/v1", "http://me:s3cret@h/v1", "http://h/v1?key=s3cret", "h:1", "ftp://h"],
)
def test_what_is_no_plain_address_is_not_written(home, url):
    refused = home.run("models", "use", "compatible:x", "--no-test", "--url", url)
    assert (refused.code, home.config.exists()) == (2, False)
    assert "s3cret" not in refused.out + refused.err


def test_a_number_that_a_former_process_left_is_nobodys_to_end(home):
    home.data.mkdir(parents=True)
    lock = home.data / LOCK_NAME
    with subprocess.Popen(["sleep", "60"]) as bystander, lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(str(bystander.pid))
        held.flush()

        def write_own_number():
            held.truncate(0)
            time.sleep(0.3)
            fcntl.flock(held, fcntl.LOCK_UN)

        threading.Timer(0.02, write_own_number).start()
        try:
            assert stop(home.data, patience=10)
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_a_backend_that_only_stores_is_no_model(home):
    refused = home.run("models", "use", "lightrag", "--no-test")
    assert refused.code == 2
    assert '"lightrag" is neither a backend nor a model' in refused.err
    assert "lightrag" not in refused.err.partition("known:")[2]


def test_a_key_is_neither_written_nor_repeated(home):
    refused = home.run("models", "use", "openai:x", "--no-test", "--key-variable", "sk-proj-123/secret")
    assert (refused.code, home.config.exists()) == (2, False)
    assert "secret" not in refused.out + refused.err


# --- listing and removing


def _write_model(folder, config, **tensors):
    """Write a model's folder; a tensor is a type and a number of values, which are left out."""
    folder.mkdir(parents=True)
    header = {
        name.replace("_", "."): {"dtype": kind, "shape": [count, 1], "data_offsets": [0, 0]}
        for name, (kind, count) in tensors.items()
    }
    encoded = json.dumps({"__metadata__": {"format": "mlx"}, **header}).encode()
    (folder / "model.safetensors").write_bytes(len(encoded).to_bytes(8, "little") + encoded)
    (folder / "config.json").write_text(json.dumps(config))


def test_models_of_this_machine_are_listed(home, monkeypatch, tmp_path):
    models = home.data / "models"
    packed = {"model_type": "qwen3", "quantization": {"bits": 4}, "architectures": ["Qwen3ForCausalLM"]}
    weights = {"w_weight": ("U32", 1000), "w_scales": ("BF16", 125), "norm": ("BF16", 64)}
    _write_model(models / "team--tiny-embedding", packed, **weights)
    _write_model(models / "team--encoder", {"model_type": "bert"}, w=("F32", 500))
    half = models / "team--half"
    half.mkdir()
    (half / "config.json").write_text('{"model_type": "qwen3"}')
    (models / "team--torn").mkdir()
    (models / "team--torn" / "model.safetensors").write_bytes(b"\xff" * 20)
    repository = tmp_path / "hub" / "models--team--tiny-chat"
    _write_model(repository / "snapshots" / "abc", {"model_type": "qwen3"}, w=("BF16", 10))
    (repository / "snapshots" / "abc" / "chat_template.jinja").write_text("x")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    (tmp_path / "hub" / "models--team--picture" / "snapshots" / "abc").mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    listed = {model["name"]: model for model in home.run("models", "list", "--json").document["models"]}
    fields = ("place", "use", "bits", "parameters", "problem")
    facts = {name: tuple(model[field] for field in fields) for name, model in listed.items()}
    torn = facts.pop("team/torn")
    assert torn[:4] == ("ragmem", "unknown", 0, 0)
    assert "model.safetensors cannot be read" in torn[4] or "config.json is missing" in torn[4]
    assert facts == {
        "all-MiniLM-L6-v2": ("bundled", "embedding", 8, 22_713_216, ""),
        "team/tiny-embedding": ("ragmem", "embedding", 4, 8064, ""),
        "team/encoder": ("ragmem", "embedding", 0, 500, ""),
        "team/half": ("ragmem", "unknown", 0, 0, "it has no *.safetensors and no *.onnx"),
        "team/tiny-chat": ("cache", "language model", 0, 10, ""),
    }
    assert "team/tiny-chat" in home.run("models").out
    refused = home.run("models", "use", "tiny-chat", "--no-test")
    assert (refused.code, home.config.exists()) == (2, False)
    assert "hint: ragmem models use --language team/tiny-chat" in refused.err
    assert home.run("models", "use", "--language", "tiny-chat", "--no-test").code == 0


def test_a_folder_that_is_given_from_here_is_written_so_that_every_process_finds_it(
    home, tmp_path, monkeypatch
):
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    for backend in ("onnx", "mlx"):
        assert home.run("models", "use", f"{backend}:./own", "--no-test").code == 0
        assert f'model = "{tmp_path / "own"}"' in home.config.read_text()


@pytest.mark.slow
def test_a_model_of_this_machine_is_chosen_by_its_name_and_stays_while_it_is_in_use(filled, tiny_models):
    own = filled.data / "models" / "team--tiny-embedding"
    shutil.copytree(tiny_models.embedding, own)
    made = filled.run("models", "use", "tiny-embedding", "--wait")
    assert made.code == 0, made.err
    assert 'backend = "mlx"\nmodel = "team/tiny-embedding"' in filled.config.read_text()
    assert filled.run("query", "driver 7 leak").code == 0
    refused = filled.run("models", "remove", "team/tiny-embedding", "--yes")
    assert (refused.code, own.exists(), "is in use" in refused.err) == (2, True, True)
    assert filled.run("models", "use", "minilm", "--wait").code == 0
    assert filled.run("models", "remove", "team/tiny-embedding", "--dry-run").code == 0
    assert filled.run("models", "remove", "team/tiny-embedding").code == 2
    assert own.exists()
    assert filled.run("models", "remove", "team/tiny-embedding", "--yes").code == 0
    assert not own.exists()


@pytest.mark.slow
def test_a_model_that_cannot_be_opened_any_more_is_tested_once(filled, tmp_path):
    make_model(tmp_path / "own", "bert")
    assert filled.run("models", "use", f"onnx:{tmp_path / 'own'}", "--wait").code == 0
    (tmp_path / "own" / "onnx" / "model.onnx").write_bytes(b"")
    tried = filled.run("models", "test", "--json")
    assert (tried.code, [each["status"] for each in tried.document["trials"]]) == (4, ["no answer"])


def test_what_was_fetched_is_offered_on_tab(home):
    for name in ("team--one", "team--two", ".partial-team--three"):
        (home.data / "models" / name).mkdir(parents=True)
    assert home.run("__complete", "model", "team/").out == (
        "team/one\tfetched by ragmem\nteam/two\tfetched by ragmem\n"
    )
    assert home.run("__complete", "model", "mini").out == "minilm\tthe bundled embedding model\n"


# --- trying


class _Sensible:
    """Vectors that tell the texts of a trial apart: a question has nearly the vector of its note."""

    def embed(self, texts, *, role):
        rows = np.full((len(texts), 384), 0.01, np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[next((n for n, pair in enumerate(PAIRS) if text in pair), len(PAIRS))] = 1
            row[100 + sum(text.encode()) % 200] += 0.2
        return rows


def _sensible(protocol):
    """Return the protocol with vectors that tell texts apart."""
    protocol.embedder = _Sensible()
    return protocol


PROVIDERS = {
    "compatible": protocols.Service("compatible", protocols.OpenAI, "/v1", "OPENAI_API_KEY", "any", "any"),
    **{service.backend: service for service in protocols.SERVICES},
}


@pytest.mark.parametrize("backend", PROVIDERS)
def test_each_provider_is_timed_and_has_to_make_sense(home, backend, monkeypatch):
    service = PROVIDERS[backend]
    path, variable = service.path, service.variable
    monkeypatch.setattr(protocols, "example", lambda _: {"thing": "the bridge", "year": 1932})
    with serving(_sensible(service.protocol())) as server:
        if variable:
            monkeypatch.setenv(variable, getattr(server.protocol, "key", protocols.KEY))
        home.config.parent.mkdir(parents=True)
        lines = []
        shared = f'backend = "{backend}"\nurl = "{server.root}{path}"\n'
        shared += f'key_variable = "{variable}"\n' if variable else ""
        names = [name.partition(":")[0] for name in server.protocol.names]
        if service.model:
            lines += ["[models]", shared, f'model = "{names[0]}"', "dimensions = 384"]
        if service.chatter:
            lines += ["[language_model]", shared, f'model = "{names[-1]}"', "[spend]", "daily_calls = 1"]
        home.config.write_text("\n".join(lines))
        result = home.run("models", "test", "--json")
        trials = {trial["use"]: trial for trial in result.document["trials"]}
        assert {trial["problem"] for trial in trials.values()} == {""}
        assert result.code == 0
        assert set(trials) == {"embedder"} | ({"language model"} if service.chatter else set())
        figures = trials["embedder"]["figures"]
        assert (figures["dimensions"], figures["found"]) == (384, 12)
        assert figures["margin"] > 0.3
        assert min(figures[name] for name in ("first_seconds", "query_seconds", "texts_per_second")) > 0
        if "language model" in trials:
            assert trials["language model"]["figures"]["tokens_per_second"] > 0
        # A person asked: no cap of a day stops that, and it is counted as what it is.
        assert home.events("test") == len(server.posts) > 1
        assert home.events("query") == home.events("document") == home.events("extraction") == 0


def test_a_model_whose_vectors_mean_nothing_fails(home):
    result = home.run("models", "test", "fake")
    assert result.code == 1
    assert "do not distinguish texts" in result.out


@pytest.mark.parametrize(("manner", "code"), [("garbage", 1), ("down", 4)])
def test_a_language_model_that_is_of_no_use_fails(home, manner, code):
    result = home.run("models", "test", "--language", f"fake:{manner}", "--json")
    [trial] = result.document["trials"]
    assert (result.code, trial["status"]) == (code, {1: "failed", 4: "no answer"}[code])
    assert trial["problem"]
    assert trial["advice"]


def test_the_bundled_model_makes_sense(home):
    result = home.run("models", "test")
    assert (result.code, result.err) == (0, "")
    assert "12 of 12 found" in result.out


# --- doctor


def _checks(home, name, *options):
    return [one for one in home.run("doctor", "--json", *options).document["checks"] if one["name"] == name]


def test_doctor_says_what_still_works_without_the_provider(filled, ollama):
    assert use_ollama(filled, ollama, "--wait").code == 0
    ollama.close()
    [check] = _checks(filled, "embedder")
    assert check["status"] == "failed"
    assert "queries use only full text" in check["detail"]


def test_doctor_looks_at_the_language_model_and_asks_it_only_when_deep(home, monkeypatch):
    home.config.parent.mkdir(parents=True)
    home.config.write_text('[language_model]\nbackend = "openai"\nmodel = "chatter"\n')
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    [check] = _checks(home, "language model")
    assert (check["status"], "OPENAI_API_KEY" in check["detail"]) == ("failed", True)
    with serving(protocols.OpenAI()) as server:
        monkeypatch.setenv("OPENAI_API_KEY", getattr(server.protocol, "key", protocols.KEY))
        monkeypatch.setenv("RAGMEM_LANGUAGE_MODEL_URL", f"{server.root}/v1")
        assert _checks(home, "language model")[0]["status"] == "ok"
        assert server.posts == []
        [check] = _checks(home, "language model", "--deep")
        assert (check["status"], len(server.posts)) == ("ok", 1)
        assert protocols.KEY not in json.dumps(check)


def test_doctor_tells_of_a_model_that_is_too_large_for_a_processor(home, monkeypatch):
    folder = home.data / "models" / "team--large-embedding"
    folder.mkdir(parents=True)
    header = {"w": {"dtype": "U32", "shape": [75_000_000], "data_offsets": [0, 8]}}
    encoded = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(encoded).to_bytes(8, "little") + encoded + bytes(8))
    (folder / "config.json").write_text('{"model_type": "qwen3", "quantization": {"bits": 4}}')
    home.config.parent.mkdir(parents=True)
    home.config.write_text('[models]\nbackend = "mlx"\nmodel = "team/large-embedding"\n')
    from ragmem.services.doctor import models as doctor_models
    from ragmem.services.models import hardware

    monkeypatch.setattr(doctor_models, "detect_machine", lambda: hardware.Machine("", 2_000_000_000))
    details = [check["detail"] for check in _checks(home, "hardware")]
    assert details == [
        "team/large-embedding needs 2.4 GB of memory; there are 2.0",
        (
            "team/large-embedding has 600 million parameters; large MLX models are for Apple silicon or CUDA:"
            " a processor makes about 83 tokens a second of it"
        ),
    ]
    monkeypatch.setattr(doctor_models, "detect_machine", lambda: hardware.Machine("Metal", 16 * 10**9))
    assert _checks(home, "hardware") == []
