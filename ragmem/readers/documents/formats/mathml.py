"""Equations of web pages and e-books (MathML) as LaTeX."""

# ruff: noqa: RUF001 -- mathematical signs look like letters

from collections.abc import Callable
from typing import Any

from ragmem.readers.documents.formats import latex

_DEEPEST = 80
_VARIANTS = {
    "bold": "mathbf",
    "double-struck": "mathbb",
    "script": "mathcal",
    "fraktur": "mathfrak",
    "sans-serif": "mathsf",
}
_LARGE = frozenset("∑∏∐∫∬∭∮⋂⋃⋁⋀⨁⨂")
_FENCES = {"(": ")", "[": "]", "{": "}", "|": "|", "‖": "‖", "⟨": "⟩", "⌈": "⌉", "⌊": "⌋"}


def to_latex(node: Any) -> str:
    """Return the LaTeX of a `math` element: the author's own if it is included, else converted.

    Never raises for any tree. Braces of converted LaTeX are balanced.
    """
    for each in node.iter():
        if name(each) == "annotation" and "tex" in (each.get("encoding") or "").lower():
            return latex.tidy("".join(each.itertext()))
    return latex.tidy(_row(list(node), 0))


def name(node: Any) -> str:
    """Return the name of an element without namespace or prefix; empty for comments."""
    tag = node.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def _row(nodes: list[Any], depth: int) -> str:
    whole = _between_fences(nodes, depth) if depth <= _DEEPEST else None
    return whole if whole is not None else latex.join_tokens(_one(each, depth + 1) for each in nodes)


def _between_fences(nodes: list[Any], depth: int) -> str | None:
    """Return a row that is a table between fences: a matrix or cases; None for any other row."""
    kept = [each for each in nodes if name(each)]
    if not 2 <= len(kept) <= 3 or name(kept[0]) != "mo" or name(kept[1]) != "mtable":
        return None
    begin, end = _text(kept[0]), _text(kept[2]) if len(kept) == 3 else ""
    if begin not in _FENCES or end not in {"", _FENCES[begin]}:
        return None
    return latex.add_fence(begin, [_one(kept[1], depth + 1)], end)


def _text(node: Any) -> str:
    return " ".join("".join(each for each in node.itertext() if isinstance(each, str)).split())


def _one(node: Any, depth: int) -> str:
    if depth > _DEEPEST:
        return latex.characters(_text(node))
    reading = _READERS.get(name(node))
    if reading is not None:
        return reading(node, depth)
    return "" if name(node) in _LEFT_OUT else _row(list(node), depth)


def _parts(node: Any, depth: int, count: int) -> list[str]:
    found = [latex.tidy(_one(each, depth + 1)) for each in node if name(each)]
    return (found + [""] * count)[:count]


def _sign(node: Any, depth: int) -> str:
    del depth
    text = _text(node)
    if len(text) > 1 and text.isalpha() and text not in latex.FUNCTIONS and name(node) == "mi":
        return f"\\mathrm{latex.group(latex.characters(text))}"
    return latex.add_style(latex.characters(text), _VARIANTS.get(node.get("mathvariant") or "", ""))


def _words(node: Any, depth: int) -> str:
    del depth
    text = "".join(each for each in node.itertext() if isinstance(each, str)).replace("\xa0", " ")
    return latex.words(" " if not text.strip() and text else text)


def _fraction(node: Any, depth: int) -> str:
    above, below = _parts(node, depth, 2)
    if (node.get("linethickness") or "").strip() in {"0", "0px", "0pt"}:
        return f"\\binom{latex.group(above)}{latex.group(below)}"
    return latex.fraction(above, below)


def _root(node: Any, depth: int) -> str:
    return latex.root(_row(list(node), depth))


def _subscript(node: Any, depth: int) -> str:
    base, sub = _parts(node, depth, 2)
    return latex.add_script(base, sub, "")


def _superscript(node: Any, depth: int) -> str:
    base, sup = _parts(node, depth, 2)
    return latex.add_script(base, "", sup)


def _is_large(node: Any) -> bool:
    first = next((each for each in node if name(each)), None)
    return first is not None and _text(first) in _LARGE


def _under(node: Any, depth: int) -> str:
    base, sub = _parts(node, depth, 2)
    return base + f"_{latex.group(sub)}" if _is_large(node) else _accent(node, base, sub, below=True)


def _over(node: Any, depth: int) -> str:
    base, sup = _parts(node, depth, 2)
    return base + f"^{latex.group(sup)}" if _is_large(node) else _accent(node, base, sup, below=False)


def _accent(node: Any, base: str, other: str, *, below: bool) -> str:
    parts = [each for each in node if name(each)]
    sign = _text(parts[1]) if len(parts) > 1 and name(parts[1]) == "mo" else ""
    return (
        latex.add_accent(sign, base, below=below) if len(sign) == 1 else latex.stack(base, other, below=below)
    )


def _under_and_over(node: Any, depth: int) -> str:
    base, sub, sup = _parts(node, depth, 3)
    if _is_large(node):
        return f"{base}_{latex.group(sub)}^{latex.group(sup)}"
    return latex.stack(latex.stack(base, sub, below=True), sup, below=False)


def _table(node: Any, depth: int) -> str:
    rows = [each for each in node if name(each) in {"mtr", "mlabeledtr"}]
    return latex.table([_row(list(cell), depth + 1) for cell in row if name(cell) == "mtd"] for row in rows)


def _fence(node: Any, depth: int) -> str:
    parts = [_one(each, depth + 1) for each in node if name(each)]
    begin, end = node.get("open", "(").strip(), node.get("close", ")").strip()
    return latex.add_fence(
        begin[:1], parts, end[:1], separator=(node.get("separators", ",").strip() or ",")[0]
    )


def _enclose(node: Any, depth: int) -> str:
    inner = _row(list(node), depth)
    return f"\\boxed{latex.group(inner)}" if "box" in (node.get("notation") or "") else inner


def _semantics(node: Any, depth: int) -> str:
    # The first child is the visible one; the others are the same in other notations.
    first = next((each for each in node if name(each)), None)
    return "" if first is None else _one(first, depth)


_LEFT_OUT = frozenset({"", "mphantom", "mspace", "annotation", "annotation-xml", "none", "mprescripts"})
_READERS: dict[str, Callable[[Any, int], str]] = {
    "mi": _sign,
    "mn": _sign,
    "mo": _sign,
    "mtext": _words,
    "ms": _words,
    "mfrac": _fraction,
    "msqrt": _root,
    "mroot": lambda node, depth: latex.root(*_parts(node, depth, 2)),
    "msub": _subscript,
    "msup": _superscript,
    "msubsup": lambda node, depth: latex.add_script(*_parts(node, depth, 3)),
    "munder": _under,
    "mover": _over,
    "munderover": _under_and_over,
    "mtable": _table,
    "mfenced": _fence,
    "menclose": _enclose,
    "semantics": _semantics,
}
