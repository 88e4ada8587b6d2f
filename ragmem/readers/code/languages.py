"""The language of a file by its name."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

LANGUAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "python": (".py", ".pyi", ".pyw"),
        "javascript": (".js", ".jsx", ".mjs", ".cjs"),
        "typescript": (".ts", ".tsx", ".mts", ".cts"),
        "go": (".go",),
        "rust": (".rs",),
        "java": (".java",),
        "kotlin": (".kt", ".kts"),
        "c": (".c", ".h"),
        "cpp": (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".tpp", ".inl"),
        "ruby": (".rb", ".rake", ".gemspec"),
        "csharp": (".cs",),
        "php": (".php",),
        "swift": (".swift",),
    }
)
"""Languages and the suffixes of their files. A `.h` is C, unless its text is C++."""

OTHER_LANGUAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bash": (".sh", ".bash", ".bats", ".zsh", ".ksh"),
        "clojure": (".clj", ".cljs", ".cljc"),
        "crystal": (".cr",),
        "dart": (".dart",),
        "elixir": (".ex", ".exs"),
        "elm": (".elm",),
        "erlang": (".erl", ".hrl"),
        "fsharp": (".fs", ".fsi", ".fsx"),
        "gleam": (".gleam",),
        "groovy": (".groovy", ".gradle"),
        "haskell": (".hs", ".lhs"),
        "julia": (".jl",),
        "lua": (".lua",),
        "nim": (".nim",),
        "objective-c": (".m", ".mm"),
        "ocaml": (".ml", ".mli"),
        "perl": (".pl", ".pm"),
        "powershell": (".ps1", ".psm1"),
        "protobuf": (".proto",),
        "scala": (".scala", ".sc"),
        "solidity": (".sol",),
        "sql": (".sql",),
        "svelte": (".svelte",),
        "terraform": (".tf",),
        "vim": (".vim",),
        "vue": (".vue",),
        "zig": (".zig",),
    }
)
"""Languages without a grammar here: their definitions are read line by line, and their references are not."""

MANIFESTS: Mapping[str, str] = MappingProxyType(
    {
        "go.mod": "go",
        "package.json": "javascript",
        "tsconfig.json": "typescript",
        "jsconfig.json": "javascript",
        "Cargo.toml": "rust",
    }
)
"""Files that tell how to resolve the imports of a repository."""

_BY_ENDING = {
    ending: language
    for language, endings in (*LANGUAGES.items(), *OTHER_LANGUAGES.items())
    for ending in endings
}
_BY_NAME = {"Rakefile": "ruby", "Gemfile": "ruby"}


def language_of(path: str) -> str | None:
    """Return the language of a file by its name; None for a file that is not code.

    Manifests count as code of their language, because imports cannot be resolved without them.
    """
    name = PurePosixPath(path).name
    known = MANIFESTS.get(name) or _BY_NAME.get(name)
    return known or _BY_ENDING.get(PurePosixPath(name).suffix.lower())
