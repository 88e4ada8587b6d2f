"""Fetching models from a hub: whole or not at all, only what is safe to read, and every refusal is told."""

import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest
from hub_server import HubServer, serving

from ragmem.config.hub import folder_of
from ragmem.errors import NotFoundError, RagmemError, StoreBusyError, UsageError
from ragmem.services.models.hub import DEFAULT_ENDPOINT, Hub, HubFile, HubModel
from ragmem.services.models.local_models import find_local_models
from ragmem.services.models.pull import (
    apply,
    apply_packaged,
    key_of,
    plan,
    plan_packaged,
    removable_folders,
    remove,
)
from ragmem.services.processes.progress import Silent

NAME = "team/tiny-embedding-4bit"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def write_weights(path, numbers=40_000):
    """Write a file of safetensors with as many float32 numbers."""
    header = {"w": {"dtype": "F32", "shape": [numbers], "data_offsets": [0, 4 * numbers]}}
    encoded = json.dumps(header).encode()
    body = bytes(number % 251 for number in range(4 * numbers))
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + body)


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "hub" / "tiny"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "onnx").mkdir()
    write_weights(folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}')
    (folder / "1_Pooling" / "config.json").write_text("{}")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text("{}")
    (folder / "LICENSE").write_text("Apache")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    for name in ("pytorch_model.bin", "modeling.py", "README.md", "onnx/model.onnx", "tokenizer.pkl"):
        (folder / name).write_bytes(b"nothing that we want")
    return folder


@pytest.fixture
def hub(model):
    with serving(HubServer({NAME: model})) as server:
        yield server


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


def opened(server, **options):
    return Hub(server.address, pause=0, **options)


def pulled(data, server, **options):
    to_fetch = plan(data, opened(server), NAME, **options)
    apply(opened(server), to_fetch, now=NOW, progress=Silent())
    return to_fetch


def names(data, tmp_path):
    return [(one.name, one.problem) for one in find_local_models(data, {}, home=tmp_path)]


def test_a_model_is_fetched_with_what_is_safe_to_read_and_nothing_else(hub, data, model, tmp_path):
    to_fetch = plan(data, opened(hub), NAME)
    assert (to_fetch.model.licence, to_fetch.missing_bytes, to_fetch.is_complete) == (
        "apache-2.0",
        to_fetch.model.bytes,
        False,
    )
    assert not data.exists()
    apply(opened(hub), to_fetch, now=NOW, progress=Silent())

    folder = folder_of(data, NAME)
    fetched = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert fetched == {
        ".ragmem.json",
        "1_Pooling/config.json",
        "LICENSE",
        "chat_template.jinja",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert (folder / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    assert json.loads((folder / ".ragmem.json").read_text())["revision"] == hub.revision
    [one] = find_local_models(data, {}, home=tmp_path)
    assert (one.name, one.place, one.use, one.parameters, one.problem) == (
        NAME,
        "ragmem",
        "embedding",
        40_000,
        "",
    )
    assert [path for path in (data / "models").iterdir() if path != folder] == []


def test_what_is_there_already_is_not_fetched_again_and_a_new_revision_is(hub, data, model):
    pulled(data, hub)
    assert plan(data, opened(hub), NAME).is_complete
    hub.revision = "b" * 40
    (model / "config.json").write_text('{"model_type": "bert"}')
    assert not plan(data, opened(hub), NAME).is_complete
    pulled(data, hub)
    assert "bert" in (folder_of(data, NAME) / "config.json").read_text()
    assert plan(data, opened(hub), NAME).is_complete


def test_a_connection_that_breaks_off_is_taken_up_where_it_broke(hub, data, model, tmp_path):
    hub.break_after = 50_000
    pulled(data, hub)
    ranges = [asked for path, asked, _ in hub.asked if path.endswith("model.safetensors")]
    assert ranges == ["", "bytes=50000-", "bytes=100000-", "bytes=150000-"]
    fetched = (folder_of(data, NAME) / "model.safetensors").read_bytes()
    assert fetched == (model / "model.safetensors").read_bytes()


def test_a_hub_that_breaks_off_again_and_again_leaves_what_came_for_the_next_time(hub, data, tmp_path):
    hub.stall_after = hub.break_after = 0
    with pytest.raises(RagmemError, match="was interrupted repeatedly") as caught:
        pulled(data, hub)
    assert (caught.value.exit_code, names(data, tmp_path)) == (3, [])
    hub.break_after = -1
    hub.stall_after = -1
    small = plan(data, opened(hub), NAME)
    apply(opened(hub), small, now=NOW, progress=Silent())
    assert names(data, tmp_path) == [(NAME, "")]


def test_a_pull_that_was_killed_is_not_listed_and_goes_on(hub, data, tmp_path):
    hub.stall_after = 60_000
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "RAGMEM_HOME": str(tmp_path),
        "HF_ENDPOINT": hub.address,
    }
    command = [sys.executable, "-m", "ragmem", "models"]
    begun = folder_of(data, NAME).parent / f".partial-{NAME.replace('/', '--')}" / "model.safetensors.begun"
    with subprocess.Popen([*command, "pull", NAME], env=environ, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while not (begun.exists() and begun.stat().st_size == 60_000) and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        with pytest.raises(StoreBusyError, match="another process is downloading"):
            apply(opened(hub), plan(data, opened(hub), NAME), now=NOW, progress=Silent())
        process.send_signal(signal.SIGKILL)
    assert names(data, tmp_path) == []
    hub.released.set()
    hub.stall_after = -1
    assert plan(data, opened(hub), NAME).missing_bytes <= 160_100 - 60_000
    done = subprocess.run(
        [*command, "pull", NAME, "--json"], env=environ, capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["revision"] == hub.revision
    assert "bytes=60000-" in [asked for _, asked, _ in hub.asked]
    assert names(data, tmp_path) == [(NAME, "")]


def test_a_file_that_arrives_damaged_is_refused_and_fetched_anew_the_next_time(hub, data, tmp_path):
    hub.damage = True
    with pytest.raises(RagmemError, match="arrived damaged") as caught:
        pulled(data, hub)
    assert (caught.value.exit_code, names(data, tmp_path)) == (3, [])
    hub.damage = False
    pulled(data, hub)
    assert names(data, tmp_path) == [(NAME, "")]


def test_the_key_goes_to_the_hub_and_not_to_where_it_sends_us(hub, data, model, tmp_path):
    hub.token = "s3cret"
    with serving(HubServer({NAME: model})) as store:
        hub.elsewhere = store.address
        to_fetch = plan(data, opened(hub, key="s3cret"), NAME)
        apply(opened(hub, key="s3cret"), to_fetch, now=NOW, progress=Silent())
        assert {given for _, _, given in store.asked} == {""}
    assert {given for _, _, given in hub.asked} == {"Bearer s3cret"}
    assert names(data, tmp_path) == [(NAME, "")]
    assert "s3cret" not in (folder_of(data, NAME) / ".ragmem.json").read_text()


def test_a_busy_hub_is_asked_again(hub, data):
    hub.busy = 3
    assert plan(data, opened(hub), NAME).missing_bytes
    hub.busy = 4
    with pytest.raises(RagmemError, match="answers 503"):
        plan(data, opened(hub), NAME)


def refusals():
    yield "no/such", "main", {}, NotFoundError, 'there is no model "no/such"'
    yield NAME, "v9", {}, NotFoundError, 'has no revision "v9"'
    yield NAME, "main", {"gated": True}, RagmemError, "requires you to accept"
    yield NAME, "main", {"token": "x"}, RagmemError, "denies access to .*: 401"
    yield "../../etc", "main", {}, UsageError, "is not the name of a model"
    yield "tiny", "main", {}, UsageError, "is not the name of a model"
    yield "a/b--c", "main", {}, UsageError, "is not the name of a model"


@pytest.mark.parametrize("refusal", list(refusals()), ids=str)
def test_a_refusal_says_what_to_do_and_writes_nothing(hub, data, refusal):
    name, revision, knobs, kind, said = refusal
    for knob, value in knobs.items():
        setattr(hub, knob, value)
    with pytest.raises(kind, match=said) as caught:
        plan(data, opened(hub), name, revision=revision)
    assert caught.value.hint
    assert not data.exists()


def test_a_model_without_safe_weights_is_refused(hub, data, model):
    (model / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="has no weights in the format safetensors"):
        plan(data, opened(hub), NAME)


def test_a_model_that_has_no_room_is_refused_before_anything_is_fetched(hub, data):
    hub.more_files = [{"rfilename": "model-2.safetensors", "size": 10**18}]
    with pytest.raises(UsageError, match=r"needs 1,000,000,000,\d+ MB"):
        plan(data, opened(hub), NAME)
    assert not data.exists()


def test_names_of_files_that_lead_out_of_the_folder_are_left_out(hub, data, tmp_path):
    hub.more_files = [
        {"rfilename": name, "size": 1}
        for name in (
            "../evil.json",
            "/etc/evil.json",
            "a/../../evil.json",
            "..\\evil.json",
            "..json",
            "0_/x.json",
        )
    ]
    listed = {file.path for file in plan(data, opened(hub), NAME).model.files}
    assert not any("evil" in path or ".." in path for path in listed)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"siblings": []}', b'{"sha": "x", "siblings": [{}]}'])
def test_what_is_no_hub_is_told(hub, data, body, monkeypatch):
    monkeypatch.setattr(hub, "describe", lambda _: json.loads(body) if body[:1] in b"{[" else "page")
    with pytest.raises(RagmemError, match="is not a hub"):
        plan(data, opened(hub), NAME)


def test_a_hub_that_cannot_be_reached_is_told(data):
    with pytest.raises(
        RagmemError, match=r'cannot reach "http://127\.0\.0\.1:9": connection refused'
    ) as caught:
        plan(data, Hub("http://127.0.0.1:9", pause=0), NAME)
    assert "bundle" in caught.value.hint


def test_what_was_fetched_can_be_removed_with_its_remains(hub, data, tmp_path):
    pulled(data, hub)
    shutil.copytree(
        folder_of(data, NAME), folder_of(data, NAME).with_name(".partial-team--tiny-embedding-4bit")
    )
    remove(removable_folders(data, NAME))
    assert list((data / "models").iterdir()) == []
    with pytest.raises(NotFoundError, match="was not downloaded by ragmem"):
        removable_folders(data, NAME)


def test_the_token_of_a_file_is_for_the_public_hub_alone(tmp_path):
    (tmp_path / ".cache" / "huggingface").mkdir(parents=True)
    (tmp_path / ".cache" / "huggingface" / "token").write_text("mine\n")
    assert key_of({}, DEFAULT_ENDPOINT, home=tmp_path) == "mine"
    assert key_of({}, "http://127.0.0.1:1", home=tmp_path) == ""
    assert key_of({"HF_TOKEN": "given"}, "http://127.0.0.1:1", home=tmp_path) == "given"


def test_a_token_that_cannot_be_sent_is_refused_and_not_repeated(tmp_path):
    assert key_of({"HF_TOKEN": "given\r\n"}, DEFAULT_ENDPOINT, home=tmp_path) == "given"
    for token in ("s3cret\r\nX-Evil: 1", "s3cret\u2019"):
        with pytest.raises(UsageError) as caught:
            key_of({"HF_TOKEN": token}, DEFAULT_ENDPOINT, home=tmp_path)
        assert "s3cret" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("address", ["http://[::1", "http://me:s3cret@127.0.0.1:9", "hub.example"])
def test_what_is_no_address_of_a_hub_is_refused_without_its_password(inside, address):
    refused = inside("models", "pull", NAME, "--from", address)
    assert refused.returncode == 2
    assert "s3cret" not in refused.stdout + refused.stderr


def test_an_answer_that_breaks_off_is_told(hub, data):
    hub.broken_answer = True
    with pytest.raises(RagmemError, match="was interrupted"):
        plan(data, opened(hub), NAME)


def test_a_model_whose_files_went_is_fetched_once_more(hub, data, tmp_path):
    folder = pulled(data, hub).folder
    (folder / "model.safetensors").unlink()
    (folder / "config.json").write_bytes(b"")
    assert not pulled(data, hub).is_complete
    assert names(data, tmp_path) == [(NAME, "")]
    assert pulled(data, hub).is_complete


def test_a_lock_that_a_process_left_behind_holds_nobody_up(hub, data, tmp_path):
    lock = folder_of(data, NAME).parent / ".partial-team--tiny-embedding-4bit.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
    pulled(data, hub)
    assert names(data, tmp_path) == [(NAME, "")]


PACKAGED = HubModel("team/e5", "package-1.0", "mit", (HubFile("model.onnx", 3),))


def write_packaged(folder):
    (folder / "model.onnx").write_bytes(b"one")
    (folder / "tokenizer.json").write_text("{}")


def test_a_model_of_a_package_is_installed_as_one_of_a_hub(tmp_path):
    found = plan_packaged(tmp_path, PACKAGED)
    assert (found.missing_bytes, found.is_complete, found.backend) == (3, False, "onnx")
    apply_packaged(found, write_packaged, package="the-package", now=NOW)
    assert sorted(path.name for path in found.folder.iterdir()) == [
        ".ragmem.json",
        "model.onnx",
        "tokenizer.json",
    ]
    assert json.loads((found.folder / ".ragmem.json").read_text())["from"] == "the-package"
    assert [model.name for model in find_local_models(tmp_path, {}, home=tmp_path)] == ["team/e5"]
    assert plan_packaged(tmp_path, PACKAGED).is_complete


def test_a_package_that_fails_installs_nothing_and_takes_nothing_away(tmp_path):
    def fail(folder):
        write_packaged(folder)
        raise RagmemError("no")

    found = plan_packaged(tmp_path, PACKAGED)
    with pytest.raises(RagmemError, match="no"):
        apply_packaged(found, fail, package="the-package", now=NOW)
    assert not found.folder.exists()
    apply_packaged(found, write_packaged, package="the-package", now=NOW)
    newer = HubModel("team/e5", "package-2.0", "mit", (HubFile("model.onnx", 3),))
    with pytest.raises(RagmemError, match="no"):
        apply_packaged(plan_packaged(tmp_path, newer), fail, package="the-package", now=NOW)
    assert plan_packaged(tmp_path, PACKAGED).is_complete


def test_a_disk_without_room_is_told_before_anything_is_written(tmp_path):
    large = HubModel("team/e5", "package-1.0", "mit", (HubFile("model.onnx", 10**18),))
    with pytest.raises(UsageError, match=r"and .* MB are free"):
        plan_packaged(tmp_path, large)
    assert not list(tmp_path.iterdir())
