"""Write completions/, the help, the plug-ins and the pages made from the code; or `--check` them."""

import hashlib
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from generating.bash import bash_completion
from generating.configuration import configuration_page
from generating.fish import fish_completion
from generating.help_lines import help_lines
from generating.manual import manual_page
from generating.measurements import marked, pages
from generating.operations import operations_page
from generating.pictures import ageing_picture, decay_picture, score_picture, weights_picture
from generating.plugins import plugin_files
from generating.reference import reference
from generating.tools import tools_page
from generating.tree import read_tree
from generating.zsh import zsh_completion

ROOT = Path(__file__).resolve().parents[1]
SECRETS = "ragmem/domain/secrets/__init__.py"


def _secret_rules(_: object) -> str:
    """Return the package of the rules for secrets with the hash of its modules."""
    hashed = hashlib.sha256()
    for path in sorted((ROOT / SECRETS).parent.iterdir()):
        if path.suffix in {".py", ".txt"} and path.name != "__init__.py":
            hashed.update(path.read_bytes())
    return re.sub(r'(?<=^RULES = ").*(?="$)', hashed.hexdigest()[:16], _on_disk(SECRETS), flags=re.MULTILINE)


WRITERS = {
    "completions/ragmem.bash": bash_completion,
    "completions/_ragmem": zsh_completion,
    "completions/ragmem.fish": fish_completion,
    "ragmem/cli/help.tsv": help_lines,
    "docs/cli.md": reference,
    "docs/ragmem.1": manual_page,
    "docs/mcp.md": tools_page,
    "docs/api.md": operations_page,
    "docs/images/decay.svg": decay_picture,
    "docs/images/score-over-age.svg": score_picture,
    "docs/images/score-over-weights.svg": weights_picture,
    "docs/images/ageing.svg": ageing_picture,
    "docs/configuration.md": configuration_page,
    SECRETS: _secret_rules,
    **{name: lambda _, text=text: text for name, text in plugin_files().items()},
}


def main(arguments: Sequence[str]) -> int:
    """Write the files that differ from what the command tree says; with `--check`, name them and return 1."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    tree = read_tree()
    stale = {name: text for name, write in WRITERS.items() if (text := write(tree)) != _on_disk(name)}
    if arguments:
        for name in stale:
            print(f"{name} is stale: run `make completions`", file=sys.stderr)
        return 1 if stale else 0
    # Not demanded by --check: a change of the code need not touch the tables that it makes old.
    stale |= {
        name: text
        for name in pages()
        if (text := marked(stale.get(name) or _on_disk(name))) != _on_disk(name)
    }
    for name, text in stale.items():
        write_whole(ROOT / name, text)
        print(name)
    return 0


def write_whole(path: Path, text: str) -> None:
    """Write a file that is at no moment empty or half there, even where two runs write it at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".generate-", dir=path.parent) as folder:
        beside = Path(folder, path.name)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)


def _on_disk(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
