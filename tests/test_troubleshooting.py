"""docs/troubleshooting.md has every finding that the doctor can tell; the code is asked which those are."""

import ast
import re
from pathlib import Path

import pytest

from ragmem.backends.lightrag import invariants as of_the_store
from ragmem.storage.maintenance import invariants as of_the_catalog

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
FINDINGS = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))
GAP = "…"

MODULES = sorted((ROOT / "ragmem" / "services" / "doctor").glob("*.py"))


def shapes(node, names):
    """Yield the texts that an expression can give, with a gap for each part that is not fixed."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else GAP for part in node.values)
    elif isinstance(node, ast.Name) and node.id in names:
        for value in names[node.id]:
            yield from shapes(value, {})
    else:
        yield GAP


def findings(path):
    """Yield (check, shape of its detail) of each check of a module that can warn or fail."""
    module = ast.parse(path.read_text())
    constants = {
        node.targets[0].id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                names.setdefault(node.targets[0].id, []).append(node)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check":
                name, status, detail = node.args[:3]
                if ast.unparse(status) != "'ok'":
                    before = {
                        known: [one.value for one in found if one.lineno < node.lineno]
                        for known, found in names.items()
                    }
                    for shape in shapes(detail, before):
                        told = ast.unparse(name)
                        yield constants.get(told, told.strip("'")), shape


TOLD = sorted({(path.stem, *found) for path in MODULES for found in findings(path)})


def fixed(shape):
    return re.sub(r"[…\W\d_]+", "", shape)


def test_the_code_is_understood():
    assert len(TOLD) > 50
    assert len([shape for *_, shape in TOLD if fixed(shape)]) > 40


@pytest.mark.parametrize(("module", "name", "shape"), TOLD)
def test_every_finding_of_the_doctor_is_on_the_page(module, name, shape):
    if not fixed(shape):
        # Its words come from elsewhere: SQLite, a provider, the lists below. The page names the check.
        assert name == "name" or name in PAGE
        return
    # Where one text is made of others, the page may show it with what fills a gap.
    pattern = re.compile(
        "".join(".*" if part == GAP else re.escape(part) for part in re.split(f"({GAP})", shape))
    )
    assert any(pattern.fullmatch(finding) for finding in FINDINGS), shape


RULES = [
    *of_the_catalog._RULES.items(),
    *of_the_catalog._SQLITE_RULES.items(),
    *of_the_catalog._NAME_RULES.items(),
    *of_the_catalog._CONNECTION_RULES.items(),
    *of_the_catalog.CODE_RULES.items(),
    *of_the_store._RULES,
]


def test_every_rule_of_catalog_and_store_is_on_the_page():
    assert {what for what, _ in RULES} - FINDINGS == set()


def test_no_check_is_unknown_to_the_page():
    names = {name for _, name, _ in TOLD} - {"name"}
    assert {name for name in names if name not in PAGE} == set()
