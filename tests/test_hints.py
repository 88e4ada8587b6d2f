"""No hint names a switch that destroys as the next step: who follows it looks first."""

import ast
import re
from pathlib import Path

import ragmem

PACKAGE = Path(ragmem.__file__).parent
DESTRUCTIVE = re.compile(r"(?<![\w-])(?:--(?:yes|purge|force|allow-large|delete)\b|rm\s|reset\b)")


def hints():
    """Yield the place and text of each hint in the source."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "hint=" in text else ():
            if isinstance(node, ast.keyword) and node.arg == "hint":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield f"{path.relative_to(PACKAGE)}:{part.lineno}", part.value


def test_no_hint_names_a_destructive_switch():
    found = list(hints())
    assert len(found) > 100
    assert [(place, text) for place, text in found if DESTRUCTIVE.search(text)] == []
