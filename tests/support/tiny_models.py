"""Models of some hundred kilobytes that MLX, mlx-lm and mlx-embeddings load for real, made in a moment.

Their weights are random but for one thing: what a text's tokens mean flows to its end almost unchanged, so
that texts which share words have near vectors.
"""

import functools
import json
import re
import shutil
from pathlib import Path

import numpy as np

WIDTH = 64
LAYERS = 2
HEADS = 4
KEY_HEADS = 2
HEAD_WIDTH = 32
HIDDEN = 128
WINDOW = 512
PIECES = 384
BITS = {"group_size": 64, "bits": 4}

CORPUS = [
    "deployment failed because a disk was full; the nightly deployment fails when the disk is full again.",
    "A server may fail, a disk may fail, a deployment may fail: they fail when the deployment was too full.",
    "Bread needs flour, water, salt and sourdough: a recipe for bread that rises slowly.",
    "Redis keeps the sessions of the billing service, Kafka carries its events, PostgreSQL its invoices.",
    "Alice decided that the server should use the Rust parser, because the old one was slow.",
    'Answer with JSON: {"entities": [{"name": "x", "type": "tool"}], "relationships": []}',
]

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


SEEING_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class TinyModels:
    """Folders of tiny models, each made when it is first asked for, under one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @functools.cached_property
    def chat(self) -> Path:
        """A Qwen3 language model with a chat template."""
        return make_qwen3(self._folder / "chat")

    @functools.cached_property
    def chatty(self) -> Path:
        """A chat model that goes on for ever, saying something else to everyone."""
        return make_chatty(self._folder / "chatty", self.chat)

    @functools.cached_property
    def seeing(self) -> Path:
        """A Qwen2-VL of random weights as mlx-vlm reads it, which ends its answers after some words."""
        return make_qwen2_vl(self._folder / "seeing")

    @functools.cached_property
    def chat_4bit(self) -> Path:
        """The same, in 4 bits."""
        return make_qwen3(self._folder / "chat-4bit", quantization=BITS)

    @functools.cached_property
    def embedding(self) -> Path:
        """A model of Qwen3-Embedding's shape: its tokenizer ends each text with <|endoftext|>."""
        return make_qwen3(self._folder / "embedding", embedding=True)

    @functools.cached_property
    def embedding_4bit(self) -> Path:
        """The same, in 4 bits."""
        return make_qwen3(self._folder / "embedding-4bit", embedding=True, quantization=BITS)

    @functools.cached_property
    def bert(self) -> Path:
        """A BERT in the layout of sentence-transformers, with mean pooling."""
        return make_bert(self._folder / "bert")


def make_qwen3(folder: Path, *, embedding: bool = False, quantization: dict | None = None) -> Path:
    """Write a Qwen3 as mlx-lm reads it and return its folder."""
    folder.mkdir(parents=True)
    tokenizer = _train_byte_pairs()
    if embedding:
        _end_texts_with(tokenizer, "<|endoftext|>")
    tokenizer.save(str(folder / "tokenizer.json"))
    end = "<|endoftext|>" if embedding else "<|im_end|>"
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": end,
            "pad_token": "<|endoftext|>",
            "padding_side": "left",
            "model_max_length": WINDOW,
            "chat_template": CHAT_TEMPLATE,
        },
    )
    config = {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "intermediate_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "head_dim": HEAD_WIDTH,
        "rms_norm_eps": 1e-6,
        "vocab_size": PIECES,
        "max_position_embeddings": WINDOW,
        "rope_theta": 1e6,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.token_to_id(end),
        "torch_dtype": "float32",
    }
    weights = _qwen3_weights()
    if quantization:
        config["quantization"] = quantization
        weights = quantized(weights, **quantization)
    _write_json(folder / "config.json", config)
    _save(folder, weights)
    return folder


def make_chatty(folder: Path, chat: Path) -> Path:
    """Write a copy of a chat model with strong random weights and return its folder."""
    from safetensors.numpy import load_file

    shutil.copytree(chat, folder)
    config = json.loads((folder / "config.json").read_text())
    _write_json(
        folder / "config.json", config | {"tie_word_embeddings": False, "max_position_embeddings": 1024}
    )
    random = np.random.default_rng(1)
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = np.ones_like(weights["model.embed_tokens.weight"])
    for name, value in weights.items():
        if value.ndim == 2:  # strong enough that each token of the prompt changes the answer
            weights[name] = random.normal(0, 2 / value.shape[1] ** 0.5, value.shape).astype(np.float32)
        else:
            weights[name] = np.ones_like(value)
    weights["lm_head.weight"][:3] = 0  # the special tokens, of which one would end the answer
    _save(folder, weights)
    return folder


def make_qwen2_vl(folder: Path) -> Path:
    """Write a Qwen2-VL with one layer of vision and return its folder."""
    import mlx.core as mx
    from mlx.utils import tree_flatten
    from mlx_vlm.models.qwen2_vl import Model, ModelConfig, TextConfig, VisionConfig

    folder.mkdir(parents=True)
    tokenizer = _train_byte_pairs()
    tokenizer.add_special_tokens(["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
        },
    )
    (folder / "chat_template.jinja").write_text(SEEING_TEMPLATE)
    size = tokenizer.get_vocab_size()
    vision = {
        "model_type": "qwen2_vl",
        "depth": 1,
        "embed_dim": 32,
        "hidden_size": WIDTH,
        "num_heads": 2,
        "mlp_ratio": 2,
    }
    config = {
        "model_type": "qwen2_vl",
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "intermediate_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "rms_norm_eps": 1e-6,
        "vocab_size": size,
        "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
        "image_token_id": tokenizer.token_to_id("<|image_pad|>"),
        "video_token_id": tokenizer.token_to_id("<|video_pad|>"),
        "vision_start_token_id": tokenizer.token_to_id("<|vision_start|>"),
        "eos_token_id": list(range(1, size, 8)),
        "vision_config": vision,
    }
    _write_json(folder / "config.json", config)
    _write_json(
        folder / "preprocessor_config.json",
        {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2VLProcessor"}
        | {"patch_size": 14, "min_pixels": 784, "max_pixels": 12544},
    )
    described = ModelConfig.from_dict(dict(config))
    described.vision_config = VisionConfig.from_dict(vision)
    described.text_config = TextConfig.from_dict(config)
    matrix = _random(3)
    weights = {
        name: matrix(*value.shape, scale=2 / max(1, np.prod(value.shape[1:])) ** 0.5)
        if value.ndim > 1
        else np.array(value, np.float32)
        for name, value in tree_flatten(Model(described).parameters())
    }
    mx.save_safetensors(
        str(folder / "model.safetensors"),
        {name: mx.array(value) for name, value in weights.items()},
        metadata={"format": "mlx"},
    )
    return folder


def make_bert(folder: Path, *, pooling: str = "mean") -> Path:
    """Write a BERT with PyTorch's names, as sentence-transformers does, and return its folder."""
    folder.mkdir(parents=True)
    tokenizer = _word_pieces()
    tokenizer.save(str(folder / "tokenizer.json"))
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda piece: piece[1])
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), encoding="utf-8")
    _write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True})
    _write_json(
        folder / "config.json",
        {
            "model_type": "bert",
            "architectures": ["BertModel"],
            "hidden_size": WIDTH,
            "num_hidden_layers": LAYERS,
            "intermediate_size": HIDDEN,
            "num_attention_heads": HEADS,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-12,
            "vocab_size": PIECES,
            "type_vocab_size": 2,
            "max_position_embeddings": WINDOW,
            "pad_token_id": 0,
        },
    )
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    modules = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    _write_json(
        folder / "modules.json",
        [
            {
                "idx": number,
                "name": str(number),
                "path": path,
                "type": f"sentence_transformers.models.{name}",
            }
            for number, (path, name) in enumerate(modules)
        ],
    )
    (folder / "1_Pooling").mkdir()
    _write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": WIDTH,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
            "pooling_mode_max_tokens": pooling == "max",
            "pooling_mode_mean_sqrt_len_tokens": False,
        },
    )
    _save(folder, _bert_weights())
    return folder


def _train_byte_pairs():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def _end_texts_with(tokenizer, end):
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, tokenizer.token_to_id(end))]
    )


def _word_pieces():
    """Return a tokenizer of the corpus's words and of letters; trained ones differ from run to run."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    words = {word for line in CORPUS for word in re.findall("[a-z]+", line.lower())}
    endings = ("s", "ed")
    inflected = {word for word in words for end in endings if word.removesuffix(end) in words - {word}}
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += [*letters, *sorted(words - inflected - set(letters))]
    pieces += [f"##{piece}" for piece in (*letters, *(end for end in endings if len(end) > 1))]
    tokenizer = Tokenizer(
        models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", tokenizer.token_to_id("[SEP]")), ("[CLS]", tokenizer.token_to_id("[CLS]"))
    )
    return tokenizer


def _random(seed):
    generator = np.random.default_rng(seed)

    def matrix(*shape, scale=0.02):
        return generator.normal(0, scale, shape).astype(np.float32)

    return matrix


def _qwen3_weights():
    matrix = _random(4)
    ones = np.ones
    weights = {
        "model.embed_tokens.weight": matrix(PIECES, WIDTH, scale=0.1),
        "model.norm.weight": ones(WIDTH, np.float32),
    }
    for layer in range(LAYERS):
        attention, feed = f"model.layers.{layer}.self_attn", f"model.layers.{layer}.mlp"
        # What is attended to comes back as it was, and four times as strong as the last token itself.
        value = np.linalg.qr(matrix(WIDTH, KEY_HEADS * HEAD_WIDTH))[0].T
        per_head = np.repeat(value.reshape(KEY_HEADS, HEAD_WIDTH, WIDTH), HEADS // KEY_HEADS, axis=0)
        weights |= {
            f"{attention}.q_proj.weight": matrix(HEADS * HEAD_WIDTH, WIDTH),
            f"{attention}.k_proj.weight": matrix(KEY_HEADS * HEAD_WIDTH, WIDTH),
            f"{attention}.v_proj.weight": np.ascontiguousarray(value),
            f"{attention}.o_proj.weight": np.ascontiguousarray(2 * per_head.reshape(-1, WIDTH).T),
            # Small queries and keys attend evenly.
            f"{attention}.q_norm.weight": np.full(HEAD_WIDTH, 0.1, np.float32),
            f"{attention}.k_norm.weight": np.full(HEAD_WIDTH, 0.1, np.float32),
            f"{feed}.gate_proj.weight": matrix(HIDDEN, WIDTH),
            f"{feed}.up_proj.weight": matrix(HIDDEN, WIDTH),
            f"{feed}.down_proj.weight": matrix(WIDTH, HIDDEN),
            f"model.layers.{layer}.input_layernorm.weight": ones(WIDTH, np.float32),
            f"model.layers.{layer}.post_attention_layernorm.weight": ones(WIDTH, np.float32),
        }
    return weights


def _bert_weights():
    matrix = _random(5)
    weights = {
        "embeddings.word_embeddings.weight": matrix(PIECES, WIDTH, scale=1),
        "embeddings.position_embeddings.weight": matrix(WINDOW, WIDTH, scale=0.1),
        "embeddings.token_type_embeddings.weight": matrix(2, WIDTH, scale=0.1),
        "embeddings.position_ids": np.arange(WINDOW, dtype=np.int64)[None],
        "pooler.dense.weight": matrix(WIDTH, WIDTH),
        "pooler.dense.bias": matrix(WIDTH),
    } | _norm("embeddings.LayerNorm", matrix)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for name, width_in, width_out in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", WIDTH, HIDDEN),
            ("output.dense", HIDDEN, WIDTH),
        ):
            weights[f"{layer}.{name}.weight"] = matrix(width_out, width_in, scale=0.1)
            weights[f"{layer}.{name}.bias"] = matrix(width_out, scale=0.1)
        weights |= _norm(f"{layer}.attention.output.LayerNorm", matrix)
        weights |= _norm(f"{layer}.output.LayerNorm", matrix)
    return weights


def _norm(name, matrix):
    return {f"{name}.weight": 1 + matrix(WIDTH, scale=0.1), f"{name}.bias": matrix(WIDTH, scale=0.1)}


def quantized(weights, *, group_size, bits):
    """Return the weights with their matrices packed as MLX packs them."""
    import mlx.core as mx

    found = {}
    for name, value in weights.items():
        if value.ndim == 1:
            found[name] = value
            continue
        parts = mx.quantize(mx.array(value), group_size=group_size, bits=bits)
        stem = name.removesuffix(".weight")
        for part, values in zip(("weight", "scales", "biases"), parts, strict=True):
            found[f"{stem}.{part}"] = np.array(values)
    return found


def _save(folder, weights):
    from safetensors.numpy import save_file

    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})


def _write_json(path, document):
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
