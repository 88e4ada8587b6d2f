"""Chat models on MLX: real generation with tiny models, whose answers make no sense and follow every rule."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec

import numpy as np
import pytest

from ragmem.backends import mlx
from ragmem.errors import BackendError, ConfigError
from ragmem.testing import LanguageModelContract, RecordingMeter

# Not importorskip: mlx-lm takes seconds, and mlx is slow where it is imported before ragmem chose its BLAS.
if find_spec("mlx") is None or find_spec("mlx_lm") is None:
    pytest.skip("mlx and mlx-lm are not installed", allow_module_level=True)

SYSTEM = "Find the entities of the text and answer with JSON."
TEXT = {"type": "string", "maxLength": 8}
EXTRACTION = {
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {"name": TEXT, "type": {"enum": ["tool", "person"]}},
                "required": ["name", "type"],
                "additionalProperties": False,
            },
        },
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["entities", "count"],
    "additionalProperties": False,
}
UNEVEN = [
    "Redis.",
    "The nightly deployment failed because the disk was full. " * 6,
    "",
    "Alice decided that the server should use the Rust parser.",
    "naïve café: déjà vu 東京 🙂",
    "Bread needs flour. " * 12,
]
ROOMS = (160, 161, 200, 333)
THINKING = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}[{{ message.content }}]{% endfor %}>"
)


@pytest.fixture(scope="module")
def chatty(tiny_models):
    return tiny_models.chatty


@pytest.fixture(scope="module")
def talker(chatty):
    model = _open(chatty)
    yield model
    model.unload()


def _open(folder, **options):
    return mlx.open_models({"language_model": str(folder), **options}).language_model


def _configure(folder, name, **changes):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _make_gemma3(folder, tokenizer_from):
    """Write a Gemma 3: layers that see only the last 32 tokens, whose cache cannot be taken back."""
    import mlx.core as mx
    from mlx.utils import tree_flatten
    from mlx_lm.models import gemma3_text

    shutil.copytree(tokenizer_from, folder)
    _configure(
        folder,
        "config.json",
        model_type="gemma3_text",
        num_hidden_layers=4,
        sliding_window=32,
        sliding_window_pattern=2,
        query_pre_attn_scalar=32,
        rope_local_base_freq=1e4,
        rope_global_base_freq=1e6,
    )
    config = json.loads((folder / "config.json").read_text())
    model = gemma3_text.Model(gemma3_text.ModelArgs.from_dict(config))
    random = np.random.default_rng(1)
    weights = dict(tree_flatten(model.parameters()))
    for name, value in weights.items():
        if value.ndim == 2:
            weights[name] = mx.array(random.normal(0, 1.5 / value.shape[1] ** 0.5, value.shape), mx.float32)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    return folder


def _copy(folder, tmp_path, **tokenizer):
    copied = tmp_path / "copy"
    shutil.copytree(folder, copied)
    _configure(copied, "tokenizer_config.json", **tokenizer)
    return copied


class TestChat(LanguageModelContract):
    MAX_TOKENS = 40

    @pytest.fixture(autouse=True)
    def _folder(self, chatty):
        self.folder = chatty

    def open_models(self, options):
        return mlx.open_models({"language_model": str(self.folder), **options})


def test_a_model_in_4_bits_answers_too(tiny_models):
    model = _open(tiny_models.chat_4bit)
    schema = LanguageModelContract.SCHEMA
    singly = [model.complete(prompt, max_tokens=40, json_schema=schema) for prompt in UNEVEN[:3]]
    assert model.complete_many(UNEVEN[:3], max_tokens=40, json_schema=schema) == singly
    model.unload()
    assert all("colour" in json.loads(answer) for answer in singly)


def test_two_openings_of_a_model_give_one_answer(chatty, talker):
    again = _open(chatty)
    answers = [again.complete(prompt, system=SYSTEM, max_tokens=8) for prompt in UNEVEN]
    again.unload()
    assert answers == [talker.complete(prompt, system=SYSTEM, max_tokens=8) for prompt in UNEVEN]
    assert len(set(answers)) == len(UNEVEN)


@pytest.mark.parametrize("schema", [None, EXTRACTION])
def test_prompts_side_by_side_are_answered_as_alone(talker, schema):
    singly = [talker.complete(prompt, system=SYSTEM, max_tokens=24, json_schema=schema) for prompt in UNEVEN]
    assert talker.complete_many(UNEVEN, system=SYSTEM, max_tokens=24, json_schema=schema) == singly


def test_random_weights_are_held_to_a_nested_schema(talker):
    for answer in talker.complete_many(UNEVEN, max_tokens=200, json_schema=EXTRACTION):
        found = json.loads(answer)
        assert set(found) == {"entities", "count"}
        assert found["count"] in range(10)
        assert len(found["entities"]) <= 2
        for entity in found["entities"]:
            assert set(entity) == {"name", "type"}
            assert entity["type"] in {"tool", "person"}
            assert len(entity["name"]) <= 8


def test_json_for_which_there_is_no_room_is_cut_and_counted_as_such(chatty):
    meter = RecordingMeter()
    model = _open(chatty, meter=meter)
    answer = model.complete("Redis.", max_tokens=5, json_schema=EXTRACTION)
    model.unload()
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(answer)
    assert [(call.tokens_out, call.error) for call in meter.calls] == [(5, "cut")]


def test_instructions_that_are_kept_change_no_answer(chatty, talker):
    fresh = _open(chatty, prompt_cache=False)
    prompts = [*UNEVEN, "\n\nbegins with what may join the tokens before it"]
    expected = [fresh.complete(prompt, system=SYSTEM, max_tokens=8) for prompt in prompts]
    fresh.unload()
    for _ in range(2):
        assert [talker.complete(prompt, system=SYSTEM, max_tokens=8) for prompt in prompts] == expected


def test_layers_with_a_sliding_window_answer_the_same_in_every_way(chatty, tmp_path):
    from ragmem.backends.mlx import device

    folder = device.run(_make_gemma3, tmp_path / "gemma", chatty)
    keeping, fresh = _open(folder), _open(folder, prompt_cache=False)
    prompts = [*UNEVEN[:4], "\n\nbegins with what may join the tokens before it"]
    expected = [fresh.complete(prompt, system=SYSTEM, max_tokens=8) for prompt in prompts]
    assert [keeping.complete(prompt, system=SYSTEM, max_tokens=8) for prompt in prompts] == expected
    assert keeping.complete_many(prompts, system=SYSTEM, max_tokens=8) == expected
    assert len(set(expected)) == len(prompts)
    keeping.unload()
    fresh.unload()


def test_instructions_are_computed_once(chatty):
    from ragmem.backends.mlx import chat, checkpoint, device, generation

    def work():
        loaded = checkpoint.load(chatty)
        prefixes = generation.PrefixCache(loaded)
        patience = generation.Deadline(60)

        def render(prompt):
            return chat.render(loaded.tokenizer, SYSTEM, prompt)

        counts = []
        for prompt in ("Redis.", "Kafka.", "Redis."):
            tokens = render(prompt)
            cache, known = prefixes.cache_for(SYSTEM, render, tokens, patience)
            counts.append((len(tokens), known, cache[0].offset))
        return counts, len(render("")) - len(loaded.tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n"))

    counts, instructions = device.run(work)
    assert all(known == offset == instructions < length for length, known, offset in counts)


def test_an_interrupted_answer_leaves_the_device_to_the_next_one(chatty, talker):
    expected = talker.complete("Redis.", max_tokens=8)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT])
    try:
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            talker.complete_many(UNEVEN, max_tokens=2000)
        assert talker.complete("Redis.", max_tokens=8) == expected
        assert time.monotonic() - began < 3
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("many", [False, True])
def test_an_answer_that_takes_too_long_is_given_up_and_counted(chatty, many):
    meter = RecordingMeter()
    model = _open(chatty, meter=meter, timeout_s=0.2)
    with pytest.raises(BackendError, match=r"within 0\.2 seconds"):
        model.complete_many(UNEVEN[:2], max_tokens=2000) if many else model.complete("Go.", max_tokens=2000)
    assert {call.error for call in meter.calls} == {"timeout"}
    assert len(meter.calls) == (2 if many else 1)
    model.unload()


def test_an_idle_model_is_freed_and_comes_back(chatty):
    models = mlx.open_models({"language_model": str(chatty), "idle_s": 0.2})
    model = models.language_model
    before = model.complete("Redis.", max_tokens=8)
    assert model.is_loaded
    deadline = time.monotonic() + 10
    while model.is_loaded and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not model.is_loaded
    assert model.complete("Redis.", max_tokens=8) == before
    models.close()
    assert not model.is_loaded


def test_the_middle_of_a_prompt_beyond_the_window_is_left_out(chatty):
    from ragmem.backends.mlx import chat, checkpoint, device

    text = "Alice said: " + "naïve café 東京 🙂 " * 400 + "Redis."

    def work():
        tokenizer = checkpoint.load(chatty).tokenizer
        whole = chat.render(tokenizer, SYSTEM, text)
        return tokenizer, whole, [chat.fit(tokenizer, SYSTEM, text, room=room) for room in ROOMS]

    tokenizer, whole, fitted = device.run(work)
    for room, tokens in zip(ROOMS, fitted, strict=True):
        assert room - 16 <= len(tokens) <= room
        shown = tokenizer.decode(tokens)
        assert SYSTEM in shown
        assert "user\nAlice said: " in shown
        assert chat.CUT in shown
        assert "Redis.<|im_end|>" in shown
    assert device.run(lambda: chat.fit(tokenizer, SYSTEM, text, room=len(whole))) == whole


def test_half_a_surrogate_pair_gets_an_answer_like_a_question_mark(talker):
    expected = talker.complete("Redis ? fails.", system="Be ?", max_tokens=8)
    assert talker.complete("Redis \ud83d fails.", system="Be \ud83d", max_tokens=8) == expected


def test_instructions_beyond_the_window_are_refused(chatty):
    model = _open(chatty, window=300)
    with pytest.raises(BackendError, match="instructions alone"):
        model.complete("Redis.", system="Kafka carries events. " * 200, max_tokens=20)
    model.unload()


def test_an_answer_leaves_half_of_the_window_to_the_question(chatty):
    meter = RecordingMeter()
    model = _open(chatty, meter=meter, window=128)
    model.complete("word " * 500, max_tokens=100_000)
    [call] = meter.calls
    assert call.tokens_out == 64
    assert 56 <= call.tokens_in <= 64
    model.unload()


def test_a_model_that_can_think_is_told_not_to(chatty, tmp_path):
    from ragmem.backends.mlx import chat, checkpoint, device

    folder = _copy(chatty, tmp_path, chat_template=THINKING)

    def work():
        tokenizer = checkpoint.load(folder).tokenizer
        return tokenizer.decode(chat.render(tokenizer, "Be brief.", "Redis?"))

    assert device.run(work).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("Redis.", "Redis."),
        ("<think>It asks.</think>\n\nRedis.", "Redis."),
        ("It asks.</think>Redis.", "Redis."),
        ("<think>It asks and asks", ""),
        ("<think>a</think>Redis<think>b</think>.", "Redis."),
    ],
)
def test_thoughts_are_no_part_of_the_answer(answer, left):
    from ragmem.backends.mlx.chat import strip_thoughts

    assert strip_thoughts(answer) == left


def test_a_template_without_a_system_role_gets_the_instructions_with_the_prompt(chatty, tmp_path):
    from ragmem.backends.mlx import chat, checkpoint, device

    folder = _copy(chatty, tmp_path, chat_template=NO_SYSTEM)

    def work():
        tokenizer = checkpoint.load(folder).tokenizer
        return tokenizer.decode(chat.render(tokenizer, "Be brief.", "Redis?"))

    assert device.run(work) == "[Be brief.\n\nRedis?]>"
    model = _open(folder)
    answers = {model.complete("Redis?", system=system, max_tokens=8) for system in ("Be brief.", "Be long.")}
    model.unload()
    assert len(answers) == 2


def test_a_schema_can_be_left_unenforced(chatty):
    model = _open(chatty, constrained=False)
    plain = model.complete("Redis.", max_tokens=12)
    assert model.complete("Redis.", max_tokens=12, json_schema=EXTRACTION) == plain
    model.unload()


@pytest.mark.parametrize("option", ["constrained", "prompt_cache"])
def test_a_switch_that_is_no_switch_is_a_configuration_error(chatty, option):
    with pytest.raises(ConfigError, match=option) as caught:
        _open(chatty, **{option: "false"})
    assert "true or false" in caught.value.hint


def test_the_id_is_the_models_name_also_where_its_folder_in_the_hubs_cache_is_given(tmp_path):
    folder = tmp_path / "models--someone--tiny" / "snapshots" / "0123"
    folder.mkdir(parents=True)
    assert _open(folder).model_id == "someone/tiny"


def test_a_schema_that_no_grammar_can_hold_is_refused(talker):
    with pytest.raises(BackendError, match="propertyNames"):
        talker.complete("Redis.", json_schema={"type": "object", "propertyNames": {"pattern": "a"}})
    assert talker.complete("Redis.", max_tokens=4)


def test_without_llguidance_the_error_says_how_to_get_it(chatty, monkeypatch):
    monkeypatch.setitem(sys.modules, "llguidance", None)
    model = _open(chatty)
    with pytest.raises(BackendError, match="llguidance") as caught:
        model.complete("Redis.", json_schema=EXTRACTION)
    assert "pip install" in caught.value.hint
    assert ["llguidance" in problem for problem in model.check()] == [True]
    model.unload()


def _remove_weights(folder):
    (folder / "model.safetensors").unlink()


def _tear_weights(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def _remove_config(folder):
    (folder / "config.json").unlink()


def _garble_config(folder):
    (folder / "config.json").write_text("{")


def _remove_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def _remove_template(folder):
    _configure(folder, "tokenizer_config.json", chat_template=None)


def _name_a_missing_part(folder):
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-2.safetensors"}}')


def _want_code_of_its_own(folder):
    (folder / "evil.py").write_text("raise SystemExit")
    _configure(folder, "config.json", model_file="evil.py")


def _say_nothing_but_brackets(folder):
    (folder / "config.json").write_text("[" * 200_000)


def _have_a_token_too_many(folder):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["R"] = 2_000_000_000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def _be_of_an_unknown_type(folder):
    _configure(folder, "config.json", model_type="tomorrow", architectures=["Tomorrow"])


def _have_other_shapes(folder):
    _configure(folder, "config.json", hidden_size=32)


@pytest.mark.parametrize(
    ("spoil", "seen_before_loading"),
    [
        (_remove_weights, True),
        (_tear_weights, True),
        (_remove_config, True),
        (_garble_config, True),
        (_remove_template, True),
        (_say_nothing_but_brackets, True),
        (_have_a_token_too_many, False),
        (_name_a_missing_part, True),
        (_remove_tokenizer, False),
        (_want_code_of_its_own, False),
        (_be_of_an_unknown_type, False),
        (_have_other_shapes, False),
    ],
)
def test_a_spoilt_model_is_named_and_nothing_crashes(chatty, tmp_path, spoil, seen_before_loading):
    folder = tmp_path / "spoilt"
    shutil.copytree(chatty, folder)
    spoil(folder)
    meter = RecordingMeter()
    model = _open(folder, meter=meter)
    assert bool(model.check()) == seen_before_loading
    with pytest.raises(BackendError, match="spoilt") as caught:
        model.complete("RRR")
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    assert [call.error for call in meter.calls] == ["failed"]


def test_an_embedding_model_is_no_chat_model(tiny_models):
    model = _open(tiny_models.bert)
    assert model.check()
    with pytest.raises(BackendError, match="bert"):
        model.complete("Redis.")


def test_a_process_that_asked_ends_cleanly_and_printed_nothing(chatty):
    code = (
        "import resource, sys; from ragmem.backends import mlx\n"
        "files = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "model = mlx.open_models({'language_model': sys.argv[1]}).language_model\n"
        "print(len(model.complete_many(['Redis.', 'Kafka is older.'], system='Be brief.', max_tokens=8)))\n"
        "assert resource.getrlimit(resource.RLIMIT_NOFILE) == files"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(chatty)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2\n", "")


def test_a_stream_that_nobody_reads_on_frees_the_device_and_is_counted_as_dropped(chatty):
    meter = RecordingMeter()
    model = _open(chatty, meter=meter, timeout_s=60.0)
    parts = model.stream("Tell me all.", max_tokens=100_000)
    next(parts)
    parts.close()
    assert isinstance(model.complete("Name a colour.", max_tokens=4), str)
    assert meter.calls[0].error == "dropped"
    model.unload()
