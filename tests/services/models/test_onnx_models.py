"""`onnx:` models from a hub to the vectors of a memory: what is fetched, listed, chosen, tried and packed."""

import io
import json
import shutil
import tarfile
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from hub_server import HubServer, serving

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.config.hub import folder_of
from ragmem.config.known_models import KNOWN, find_known
from ragmem.domain.model import Draft

if find_spec("onnxruntime") is None or find_spec("onnx") is None:
    pytest.skip("onnx and onnxruntime are not installed", allow_module_level=True)

from tiny_onnx import make_gliner, make_model, write_json

NAME = "team/tiny-encoder"
BESIDE = {"tokenizer.json", "config.json", "modules.json", "1_Pooling/config.json"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a repository with two graphs, one of them with its weights beside it, and what nobody wants."""
    folder = tmp_path_factory.mktemp("hub") / "tiny"
    make_model(folder, "bert", file="onnx/model.onnx", data=True)
    make_model(folder, "bert", file="onnx/model_quint8_avx2.onnx", int8=True)
    (folder / "onnx" / "Constant_7_attr__value").write_bytes(b"1234")
    for name in ("model.safetensors", "pytorch_model.bin", "modeling.py", "README.md", "onnx/notes.txt"):
        (folder / name).write_bytes(b"nothing that we want")
    return folder


@pytest.fixture
def hub(made, tmp_path):
    folder = tmp_path / "hub"
    shutil.copytree(made, folder)
    with serving(HubServer({NAME: folder})) as server:
        server.folder = folder
        yield server


@pytest.fixture
def home(capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "ragmem"))

    def answer(*arguments):
        capfd.readouterr()
        code = run(arguments)
        out, err = capfd.readouterr()
        document = json.loads(out) if "--json" in arguments and out else None
        return SimpleNamespace(code=code, out=out, err=err, document=document)

    return SimpleNamespace(run=answer, root=tmp_path / "ragmem", data=tmp_path / "ragmem" / "data")


def fetched(home, name=NAME):
    folder = folder_of(home.data, name)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {
        ".ragmem.json"
    }


def pull(home, hub, *arguments):
    return home.run("models", "pull", *arguments, "--from", hub.address)


def fill(home, notes=12):
    with Ragmem.open() as memory:
        memory.ingest(
            [
                Draft(
                    "notes",
                    f"/{n}",
                    f"# Note {n}\n\nWe decided to pin driver {n} because of leak {n}.",
                    title=f"Note {n}",
                )
                for n in range(notes)
            ]
        )


# --- fetching


def test_one_graph_is_fetched_with_its_weights_and_what_the_engine_reads(home, hub):
    full = pull(home, hub, f"onnx:{NAME}@fp32", "--json")
    assert (full.code, full.document["backend"]) == (0, "onnx")
    assert full.document["alternatives"] == ["onnx/model_quint8_avx2.onnx"]
    graph = {"onnx/model.onnx", "onnx/model.onnx_data", "onnx/Constant_7_attr__value"}
    assert fetched(home) == BESIDE | graph
    assert {Path(asked).name for asked, _, _ in hub.asked if "/resolve/" in asked} == {
        Path(name).name for name in BESIDE | graph
    }


def test_a_second_graph_is_added_and_nothing_is_fetched_twice(home, hub):
    assert pull(home, hub, f"onnx:{NAME}@int8").code == 0
    hub.asked.clear()
    told = pull(home, hub, f"onnx:{NAME}@onnx/model.onnx")
    assert (told.code, "onnx/model.onnx, for this processor; @FILE" in told.err) == (0, True)
    assert {"onnx/model.onnx", "onnx/model.onnx_data", "onnx/model_quint8_avx2.onnx"} <= fetched(home)
    assert not any("tokenizer.json" in asked or "quint8" in asked for asked, _, _ in hub.asked)
    assert pull(home, hub, f"onnx:{NAME}@int8").out.startswith(f"{NAME} already exists")


def test_what_an_interrupted_pull_of_another_graph_left_does_not_come_in(home, hub):
    hub.stall_after = hub.break_after = 0
    assert pull(home, hub, f"onnx:{NAME}@fp32").code == 3
    hub.stall_after = hub.break_after = -1
    assert pull(home, hub, f"onnx:{NAME}@int8").code == 0
    assert fetched(home) == BESIDE | {"onnx/model_quint8_avx2.onnx"}


def test_weights_of_another_revision_are_not_lost(home, hub):
    assert pull(home, hub, f"onnx:{NAME}@fp32").code == 0
    before, hub.revision = hub.revision, "b" * 40
    refused = pull(home, hub, f"onnx:{NAME}@int8")
    assert (refused.code, f"--revision {before}" in refused.err) == (2, True)
    assert '"model.onnx" of "team/tiny-encoder" is present in revision' in refused.err
    assert pull(home, hub, f"onnx:{NAME}@fp32").code == 0
    assert pull(home, hub, f"mlx:{NAME}").code == 0
    assert {"model.safetensors", "onnx/model.onnx", "onnx/model.onnx_data"} <= fetched(home)


def test_without_safetensors_the_onnx_file_is_taken_and_with_them_it_is_named(home, hub):
    both = pull(home, hub, NAME, "--dry-run")
    assert f"ragmem models pull onnx:{NAME}" in both.err
    assert both.code == 0
    (hub.folder / "model.safetensors").unlink()
    assert pull(home, hub, NAME, "--dry-run", "--json").document["backend"] == "onnx"
    refused = pull(home, hub, f"mlx:{NAME}")
    assert (refused.code, f"ragmem models pull onnx:{NAME}" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"onnx:{NAME}@q4", 'has no ONNX file "q4"'),
        (f"{NAME}@int8", "names a file of a model"),
        ("onnx:tiny", "is not the name of a model on a hub"),
        ("onnx:", "is not the name of a model on a hub"),
        ("onnx:@int8", "is not the name of a model on a hub"),
    ],
)
def test_a_wrong_name_is_refused_with_the_next_step(home, hub, name, said):
    refused = pull(home, hub, name)
    assert (refused.code, said in refused.err, "hint: " in refused.err) == (2, True, True)
    assert not (home.data / "models").exists()


def test_a_repository_without_a_graph_leads_to_the_one_that_has_it(home, hub, tmp_path):
    hub.models["Qwen/Qwen3-Embedding-0.6B"] = tmp_path / "bare"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "model.safetensors").write_bytes(b"x")
    refused = pull(home, hub, "onnx:Qwen/Qwen3-Embedding-0.6B")
    assert refused.code == 2
    assert "ragmem models pull onnx:onnx-community/Qwen3-Embedding-0.6B-ONNX" in refused.err


def test_a_gliner_model_is_fetched_for_named_entities_and_for_nothing_else(home, hub, tmp_path, monkeypatch):
    hub.models["team/tiny-gliner"] = make_gliner(tmp_path / "gliner")
    told = pull(home, hub, "team/tiny-gliner")
    assert (told.code, 'ner = "onnx:team/tiny-gliner" below [extraction]' in told.err) == (0, True)
    assert fetched(home, "team/tiny-gliner") == {"tokenizer.json", "gliner_config.json", "onnx/model.onnx"}
    assert "named entities" in home.run("models", "list").out
    for option in ((), ("--language",)):
        refused = home.run("models", "use", *option, "tiny-gliner")
        assert (refused.code, "below [extraction]" in refused.err) == (2, True)
    monkeypatch.setenv("RAGMEM_EXTRACTION_NER", "onnx:team/tiny-gliner@fp32")
    refused = home.run("models", "remove", "team/tiny-gliner", "--yes")
    assert (refused.code, "is the model of extraction.ner" in refused.err) == (2, True)
    (tmp_path / "sources.toml").write_text(f'[sources.notes]\nglob = "{tmp_path}/rome.md"\n')
    (tmp_path / "rome.md").write_text("We decided to pin the driver of the quay. Rome pays for it today.\n")
    with Ragmem.open(sources_file=tmp_path / "sources.toml") as memory:
        report = memory.seed()
        assert (report.recognition.read, report.recognition.note) == (1, "")
        assert [one.name for one, _ in memory.store.entities("Rome")] == ["Rome"]
    (_, trial) = home.run("models", "test", "--json").document["trials"]
    assert (trial["use"], trial["status"], trial["model"][:12]) == ("named entities", "ok", "tiny-gliner-")
    # The passages name hardly a word that the tiny model knows.
    assert abs(trial["figures"]["f1"] - trial["figures"]["rules_f1"]) < 0.02
    assert trial["figures"]["rules_f1"] > 0.5
    shutil.rmtree(folder_of(home.data, "team/tiny-gliner") / "onnx")
    broken = home.run("models", "test")
    assert (broken.code, "named entities  no answer" in broken.out) == (4, True)
    monkeypatch.delenv("RAGMEM_EXTRACTION_NER")
    assert home.run("models", "remove", "team/tiny-gliner", "--yes").code == 0


def test_a_graph_whose_weights_the_hub_lacks_is_told(home, hub):
    (hub.folder / "onnx" / "model.onnx_data").unlink()
    told = pull(home, hub, f"onnx:{NAME}@fp32")
    assert "warning: it cannot be used:" in told.err
    assert "model.onnx_data" in told.err


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "case", [("n\n", (), False), ("y\n", (), True), ("", ("--yes",), True)], ids=["no", "yes", "--yes"]
)
def test_on_a_terminal_the_size_is_told_and_asked_first(home, hub, monkeypatch, case):
    reply, options, there = case
    monkeypatch.setattr("sys.stdin", Terminal(reply))
    told = pull(home, hub, f"onnx:{NAME}@int8", *options)
    assert f"{NAME} aaaaaaaaaaaa: " in told.err
    assert ("download " in told.err + told.out) is (not options)
    assert (told.code, folder_of(home.data, NAME).exists()) == ((0, True) if there else (2, False))
    assert any("/resolve/" in asked for asked, _, _ in hub.asked) is there


# --- known models


def test_a_known_model_is_fetched_by_its_name_alone(home, hub):
    hub.models["intfloat/multilingual-e5-small"] = hub.folder
    document = pull(home, hub, "multilingual-e5-small", "--dry-run", "--json").document
    assert (document["model"], document["backend"]) == ("intfloat/multilingual-e5-small", "onnx")


def test_known_models_are_listed_with_their_facts(home):
    shown = home.run("models", "list", "--known")
    assert shown.code == 0
    assert all(f"onnx:{one.hub}" in shown.out for one in KNOWN)
    document = home.run("models", "list", "--known", "--json").document
    assert {one["name"] for one in document["known"]} >= {
        "bge-m3",
        "Qwen3-Embedding-0.6B",
        "embeddinggemma-300m",
    }


def test_the_facts_of_known_models_fit_together():
    assert len({one.name for one in KNOWN}) == len({one.hub for one in KNOWN}) == len(KNOWN)
    for one in KNOWN:
        assert list(one.shorter) == sorted(one.shorter, reverse=True)
        assert all(0 < size < one.dimensions for size in one.shorter)
        assert one.file.endswith(".onnx")
        assert set(one.unverified) <= set(one.__slots__)
        assert find_known(one.hub) == one == find_known(one.name)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("BAAI/bge-m3", "bge-m3"),
        ("Qdrant/bge-small-en-v1.5-onnx-Q", "bge-small-en-v1.5"),
        ("mlx-community/Qwen3-Embedding-0.6B-4bit-DWQ", "Qwen3-Embedding-0.6B"),
        ("google/EmbeddingGemma-300m", "embeddinggemma-300m"),
        ("BAAI/bge-m3-retromae", None),
        ("Qwen/Qwen3-Embedding-4B", None),
        ("", None),
    ],
)
def test_conversions_of_a_known_model_are_recognized_and_its_relatives_are_not(name, known):
    found = find_known(name)
    assert (found.name if found else None) == known


# --- choosing


def test_a_model_is_chosen_by_its_name_measured_first_and_answers(home, hub):
    pull(home, hub, f"onnx:{NAME}@fp32")
    fill(home)
    shown = home.run("models", "use", f"onnx:{NAME}", "--dry-run")
    assert "measured: " in shown.err
    assert "this memory's 12 vectors take " in shown.err
    assert not (home.root / "config" / "config.toml").exists()
    used = home.run("models", "use", "tiny-encoder", "--wait", "--json")
    assert (used.code, used.document["made"]) == (0, 12), used.err
    speed = used.document["speed"]
    assert speed["vectors"] == speed["texts"] == 12
    assert min(speed[key] for key in ("texts_per_second", "peak_bytes", "seconds")) > 0
    written = (home.root / "config" / "config.toml").read_text()
    assert written == f'[models]\nbackend = "onnx"\nmodel = "{NAME}"\n'
    assert home.run("query", "driver 7 leak", "--json").document["matches"][0]["title"] == "Note 7"
    listed = {one["name"]: one for one in home.run("models", "list", "--json").document["models"]}
    assert (listed[NAME]["configured"], listed[NAME]["backends"], listed[NAME]["problem"]) == (
        "embedder",
        ["onnx"],
        "",
    )
    refused = home.run("models", "remove", NAME, "--yes")
    assert (refused.code, "is in use" in refused.err) == (2, True)
    again = home.run("models", "use", f"onnx:{NAME}", "--json").document
    assert (again["speed"]["vectors"], again["vectors"]) == (0, "made")


def test_without_a_test_nothing_is_measured(home, hub):
    pull(home, hub, f"onnx:{NAME}@fp32")
    assert home.run("models", "use", f"onnx:{NAME}", "--no-test", "--json").document["speed"] is None


def test_a_model_that_is_not_here_says_how_to_fetch_it(home):
    for name, step in (
        ("onnx:team/none", "ragmem models pull onnx:team/none"),
        ("onnx:bge-m3@int8", "ragmem models pull onnx:Xenova/bge-m3@int8"),
        ("bge-m3", "ragmem models pull bge-m3"),
    ):
        refused = home.run("models", "use", name)
        assert (refused.code, step in refused.err) == (2, True), refused.err
    assert home.run("models", "test", "onnx:team/none").code == 2


def test_a_folder_is_used_as_it_is(home, made, tmp_path):
    used = home.run("models", "use", f"onnx:{made}@int8", "--json")
    assert (used.code, used.document["model"]) == (0, f"onnx:{made}@int8")
    alone = tmp_path / "me@work"
    shutil.copytree(made, alone)
    both = home.run("models", "use", str(alone), "--no-test", "--json")
    assert both.document["model"] == f"mlx:{alone}"
    (alone / "model.safetensors").unlink()
    used = home.run("models", "use", str(alone), "--json")
    assert (used.code, used.document["model"]) == (0, f"onnx:{alone}")
    assert home.run("models", "use", f"onnx:{alone}@fp32", "--dry-run").code == 0


def test_vectors_shorter_than_a_model_was_trained_for_are_doubted(home, hub):
    hub.models["BAAI/bge-m3"] = hub.folder
    pull(home, hub, "onnx:BAAI/bge-m3@fp32")
    told = home.run("models", "use", "onnx:BAAI/bge-m3", "--dimensions", "32")
    assert (told.code, "was not trained for vectors of 32 numbers" in told.err) == (0, True)


def test_a_known_model_gets_its_prefixes_and_pooling_where_its_files_are_silent(home, hub):
    for name in ("modules.json", "1_Pooling/config.json"):
        (hub.folder / name).unlink()
    hub.models["Xenova/bge-m3"], hub.models["Xenova/multilingual-e5-small"] = hub.folder, hub.folder
    about = {}
    for name in ("bge-m3", "multilingual-e5-small"):
        pull(home, hub, f"onnx:Xenova/{name}@fp32")
        with Ragmem.open(
            environ={
                "RAGMEM_HOME": str(home.root),
                "RAGMEM_MODELS_BACKEND": "onnx",
                "RAGMEM_MODELS_MODEL": f"Xenova/{name}",
            }
        ) as memory:
            about[name] = memory.models.wanted.embedder.description
    assert (about["bge-m3"].pooling, about["bge-m3"].query_prefix) == ("cls", "")
    e5 = about["multilingual-e5-small"]
    assert (e5.pooling, e5.query_prefix, e5.document_prefix) == ("mean", "query: ", "passage: ")


def test_the_prompts_of_a_repository_count_more_than_the_table(home, hub):
    hub.models["me/multilingual-e5-small"] = hub.folder
    write_json(
        hub.folder / "config_sentence_transformers.json", {"prompts": {"query": "Q> ", "document": "D> "}}
    )
    pull(home, hub, "onnx:me/multilingual-e5-small@fp32")
    with Ragmem.open(
        environ={
            "RAGMEM_HOME": str(home.root),
            "RAGMEM_MODELS_BACKEND": "onnx",
            "RAGMEM_MODELS_MODEL": "me/multilingual-e5-small",
        }
    ) as memory:
        about = memory.models.wanted.embedder.description
    assert (about.query_prefix, about.document_prefix) == ("Q> ", "D> ")


def test_the_floor_of_relevance_is_calibrated_with_the_chosen_model_also_in_a_small_memory(home, hub):
    pull(home, hub, f"onnx:{NAME}@fp32")
    fill(home, notes=30)
    assert home.run("models", "use", f"onnx:{NAME}", "--wait").code == 0
    with Ragmem.open() as memory:
        known = memory.retrieval.calibration()
        assert known is not None
        assert (known.model, known.chunks) == (memory.models.embedder.model_id, 30)
    fill(home, notes=60)
    assert home.run("models", "use", f"onnx:{NAME}", "--wait").code == 0
    with Ragmem.open() as memory:
        memory.retrieval.calibrate()
        assert memory.retrieval.calibration().chunks == 60


# --- packing


def test_a_bundle_takes_the_model_and_says_which_extra_it_needs(home, hub, tmp_path):
    pull(home, hub, f"onnx:{NAME}@fp32")
    assert home.run("models", "use", f"onnx:{NAME}", "--no-test").code == 0
    packed = home.run(
        "models", "bundle", str(tmp_path / "b.tar"), "--no-wheels", "--with", f"onnx:{NAME}", "--json"
    )
    assert packed.code == 0, packed.err
    with tarfile.open(tmp_path / "b.tar") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        f"models/team--tiny-encoder/{name}" for name in ("onnx/model.onnx", "onnx/model.onnx_data")
    } <= names
    planned = home.run("models", "bundle", str(tmp_path / "c.tar"), "--dry-run")
    assert (planned.code, "needs --extras onnx" in planned.err) == (0, True), planned.err
