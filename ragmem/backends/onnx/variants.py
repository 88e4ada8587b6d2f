"""Which ONNX file of a model is taken: by names, sizes and the processor; opens no file.

Repositories have one model in several precisions. Unless a person chooses, ragmem takes

1. where int8 arithmetic is fast and exact (x86 with VNNI, ARM): int8, first the file made for this processor;
2. else float32, if it has at most LARGE_BYTES: without VNNI an int8 product may saturate;
3. else int8, first a file made for AVX2 or with unsigned weights, which cannot saturate: float32 of a large
   model leaves a usual laptop too little memory;
4. else what there is: float32, float16, 4 bits.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from ragmem.backends.minilm.engines import has_fast_int8, machine_type, read_cpu_info
from ragmem.errors import BackendError
from ragmem.frozen import dataclass

Precision = Literal["fp32", "fp16", "int8", "4 bits"]

LARGE_BYTES = 1_000_000_000
"""Bytes of a float32 graph above which int8 is taken on every processor: 250 million parameters."""

_GRAPH = re.compile(r"(?:onnx/)?[\w.+-]+\.onnx", re.ASCII)
_DATA = re.compile(r"[._]data(?:_\d+)?")
"""What follows the name of a graph in the names of the files with its weights, beyond 2 GB in one file."""

_PART = re.compile(r"(?:^|[/_-])(?:tokenizer|decoder|vision|audio)", re.IGNORECASE)
"""Graphs that are a part of something else."""

_PRECISIONS: tuple[tuple[Precision, re.Pattern[str]], ...] = (
    ("4 bits", re.compile(r"q4|bnb4|int4|4bit")),
    ("fp16", re.compile(r"fp16|float16|bf16|_o4\b")),  # the fourth level of Optimum is float16
    ("int8", re.compile(r"int8|q8|quant")),
)
_NAMES: Mapping[str, Precision] = {
    "fp32": "fp32",
    "fp16": "fp16",
    "int8": "int8",
    "q8": "int8",
    "q4": "4 bits",
}
_FLAGS = {"avx512_vnni": "avx512_vnni", "avx512": "avx512f", "avx2": "avx2"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A graph of a model: its path in the repository, and what its name says of it."""

    path: str
    precision: Precision
    made_for: str = ""
    """The processor that it was quantised for: "arm64", "avx512_vnni", "avx512", "avx2", or "" for any."""


@dataclass(frozen=True, slots=True)
class Processor:
    """What decides between variants."""

    arm: bool = False
    flags: frozenset[str] = frozenset()
    """The flags of an x86 processor, as /proc/cpuinfo has them."""
    fast_int8: bool = False
    """Whether int8 arithmetic is fast and exact."""


def local_processor() -> Processor:
    """Return this machine's processor."""
    machine, information = machine_type(), read_cpu_info()
    lines = (line for line in information.splitlines() if line.startswith("flags"))
    return Processor(
        arm=machine.lower() in {"arm64", "aarch64"},
        flags=frozenset(word for line in lines for word in line.split()),
        fast_int8=has_fast_int8(machine=machine, cpu_info=information),
    )


def split_model(model: str) -> tuple[str, str]:
    """Return the name or folder of a model, and the variant behind its last "@", or ""."""
    name, at, wanted = model.rpartition("@")
    if not (at and name) or Path(model).is_dir():
        return model, ""
    return name, wanted


def list_variants(paths: Iterable[str]) -> list[Variant]:
    """Return the graphs among the paths of a repository, by path; parts of other models are left out."""
    graphs = [path for path in sorted(paths) if _GRAPH.fullmatch(path)]
    return [_read_name(path) for path in [path for path in graphs if not _PART.search(path)] or graphs]


def files_of(graph: str, paths: Iterable[str]) -> list[str]:
    """Return the path of a graph and, by their usual names, those of the files with its weights."""
    return [
        graph,
        *sorted(path for path in paths if path.startswith(graph) and _DATA.fullmatch(path, len(graph))),
    ]


def choose_variant(sizes: Mapping[str, int], wanted: str, processor: Processor, *, model: str) -> Variant:
    """Return the graph to take, by the rule above.

    `sizes` maps each path of the repository to its bytes. `wanted` is the path of a graph, the end of one, a
    precision (fp32, fp16, int8, q4) or "". Raises BackendError where there is no such graph: the message
    names `model`, the hint lists the graphs.
    """
    variants = list_variants(sizes)
    if not variants:
        raise BackendError(
            f'"{model}" has no ONNX file',
            hint="choose a repository with onnx/model.onnx, or export one: `optimum-cli export onnx`",
        )
    if wanted:
        offered = ", ".join(each.path for each in variants)
        named = [each for each in variants if each.path == wanted or each.path.endswith(f"/{wanted}")]
        variants = named or [each for each in variants if each.precision == _NAMES.get(wanted.lower())]
        if not variants:
            raise BackendError(f'"{model}" has no ONNX file "{wanted}"', hint=f"it has {offered}")

    def rank(variant: Variant) -> tuple[bool, int, int, bool, int, str]:
        large = sum(sizes[path] for path in files_of(variant.path, sizes)) > LARGE_BYTES
        order = {
            "int8": 0 if processor.fast_int8 else 2,
            "fp32": 3 if large else 1,
            "fp16": 4,
            "4 bits": 5,
        }
        return (
            not _can_run(variant, processor),
            order[variant.precision],
            _preference(variant, processor),
            # Signed weights of 8 bits are those whose products saturate.
            ("uint" in variant.path) == processor.fast_int8,
            len(variant.path),
            variant.path,
        )

    return min(variants, key=rank)


def _preference(variant: Variant, processor: Processor) -> int:
    """Return 0 for the files made for this processor, then 1 for all processors, then 2."""
    # A file for AVX2 has 7 bits so that its products cannot saturate; with VNNI 8 bits are exact.
    order = ["avx512_vnni", "avx512", "arm64", "", "avx2"] if processor.fast_int8 else ["avx2", "", "avx512"]
    return order.index(variant.made_for) if variant.made_for in order else len(order)


def _can_run(variant: Variant, processor: Processor) -> bool:
    if variant.made_for == "arm64":
        return processor.arm
    return not variant.made_for or _FLAGS[variant.made_for] in processor.flags


def _read_name(path: str) -> Variant:
    name = path.rpartition("/")[2].lower()
    precision: Precision = next((found for found, pattern in _PRECISIONS if pattern.search(name)), "fp32")
    made_for = next((each for each in ("arm64", *_FLAGS) if each in name), "")
    return Variant(path, precision, made_for)
