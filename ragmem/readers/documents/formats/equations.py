"""Equations of Word and PowerPoint (OMML) as LaTeX."""

import re
from collections.abc import Callable
from typing import Any

from ragmem.readers.documents.formats import latex
from ragmem.readers.documents.formats.package import local

_DEEPEST = 80
"""Maximum nesting that is read as structure; deeper levels, which no person writes, become plain text."""

_SCRIPTS = {"double-struck": "mathbb", "script": "mathcal", "fraktur": "mathfrak", "sans-serif": "mathsf"}
_STYLES = {"b": "mathbf", "bi": "boldsymbol"}


def to_latex(node: Any) -> str:
    """Return the LaTeX of an `m:oMath` or `m:oMathPara`, without dollar signs; empty without content.

    Never raises for any tree: of an unknown element the content is used. Braces are balanced.
    """
    return latex.tidy(_paragraph(node, 0) if local(node) == "oMathPara" else _within(node, 0))


def _within(node: Any, depth: int) -> str:
    if depth > _DEEPEST:
        return latex.characters("".join(each for each in node.itertext() if isinstance(each, str)))
    return latex.join_tokens(_one(child, depth + 1) for child in node)


def _one(node: Any, depth: int) -> str:
    name = local(node)
    if name in _LEFT_OUT or name.endswith("Pr"):
        return ""
    reading = _READERS.get(name)
    return reading(node, depth) if reading else _within(node, depth)


def _child(node: Any, name: str, depth: int) -> str:
    """Return the LaTeX of the first child with this name; empty without one."""
    found = next((each for each in node if local(each) == name), None)
    return "" if found is None else latex.tidy(_within(found, depth + 1))


def _setting(node: Any, name: str, default: str = "") -> str:
    """Return the value of a property (`<m:fPr><m:type m:val="bar"/>`), or the default if it is not set."""
    for properties in node:
        if not local(properties).endswith("Pr"):
            continue
        for each in properties:
            if local(each) == name:
                # A switch without a value is on.
                return next((v for k, v in each.attrib.items() if str(k).rpartition("}")[2] == "val"), "1")
    return default


def _on(node: Any, name: str) -> bool:
    return _setting(node, name, "0") in {"1", "on", "true"}


def _run(node: Any, depth: int) -> str:
    del depth
    text = "".join(each.text or "" for each in node if local(each) == "t")
    if _on(node, "nor"):
        return latex.words(text)
    style = _SCRIPTS.get(_setting(node, "scr")) or _STYLES.get(_setting(node, "sty"), "")
    if _setting(node, "sty") == "p" and re.fullmatch(r"[A-Za-z]{2,}", text) and text not in latex.FUNCTIONS:
        style = "mathrm"
    return latex.add_style(latex.characters(text), style)


def _fraction(node: Any, depth: int) -> str:
    above, below = _child(node, "num", depth), _child(node, "den", depth)
    kind = _setting(node, "type", "bar")
    if kind == "noBar":
        return f"\\binom{latex.group(above)}{latex.group(below)}"
    if kind in {"lin", "skw"}:
        return f"{latex.group(above)}/{latex.group(below)}"
    return latex.fraction(above, below)


def _radical(node: Any, depth: int) -> str:
    degree = "" if _on(node, "degHide") else _child(node, "deg", depth)
    return latex.root(_child(node, "e", depth), degree)


def _scripts(node: Any, depth: int) -> str:
    return latex.add_script(*(_child(node, name, depth) for name in ("e", "sub", "sup")))


def _scripts_before(node: Any, depth: int) -> str:
    scripts = latex.add_script("", _child(node, "sub", depth), _child(node, "sup", depth))
    return latex.join_tokens([scripts, _child(node, "e", depth)])


def _large_operator(node: Any, depth: int) -> str:
    sign = latex.characters(_setting(node, "chr", "∫")[:1]) or r"\int"
    sub = "" if _on(node, "subHide") else _child(node, "sub", depth)
    sup = "" if _on(node, "supHide") else _child(node, "sup", depth)
    # The limits of sums are above and below by default, those of integrals only if set.
    limits = r"\limits" if _setting(node, "limLoc") == "undOvr" and sign.endswith("int") else ""
    operator = f"{sign}{limits}"
    operator += (f"_{latex.group(sub)}" if sub else "") + (f"^{latex.group(sup)}" if sup else "")
    return f"{operator} {_child(node, 'e', depth)}"


def _delimiter(node: Any, depth: int) -> str:
    parts = [latex.tidy(_within(each, depth + 1)) for each in node if local(each) == "e"]
    begin, end = _setting(node, "begChr", "("), _setting(node, "endChr", ")")
    return latex.add_fence(begin[:1], parts, end[:1], separator=_setting(node, "sepChr", "|")[:1])


def _matrix(node: Any, depth: int) -> str:
    rows = [each for each in node if local(each) == "mr"]
    return latex.table(
        [latex.tidy(_within(cell, depth + 1)) for cell in row if local(cell) == "e"] for row in rows
    )


def _equations(node: Any, depth: int) -> str:
    lines = (latex.tidy(_within(each, depth + 1)) for each in node if local(each) == "e")
    # Word marks the alignment with an ampersand in the text.
    return latex.table(([line.replace(r"\&", "&")] for line in lines), kind="aligned")


def _accent(node: Any, depth: int) -> str:
    return latex.add_accent(_setting(node, "chr", "\u0302")[:1], _child(node, "e", depth))


def _bar(node: Any, depth: int) -> str:
    name = "overline" if _setting(node, "pos", "bot") == "top" else "underline"
    return f"\\{name}{latex.group(_child(node, 'e', depth))}"


def _group(node: Any, depth: int) -> str:
    below = _setting(node, "pos", "bot") == "bot"
    return latex.add_accent(_setting(node, "chr", "⏟")[:1], _child(node, "e", depth), below=below)


def _limit(node: Any, depth: int) -> str:
    below = local(node) == "limLow"
    return latex.stack(_child(node, "e", depth), _child(node, "lim", depth), below=below)


def _function(node: Any, depth: int) -> str:
    name = _child(node, "fName", depth)
    if re.fullmatch(r"[A-Za-z]{2,}", name):
        name = f"\\operatorname{{{name}}}"
    name = re.sub(r"^\\mathrm\{([A-Za-z]+)\}", r"\\operatorname{\1}", name)
    return f"{name} {_child(node, 'e', depth)}"


def _box(node: Any, depth: int) -> str:
    return f"\\boxed{latex.group(_child(node, 'e', depth))}"


def _phantom(node: Any, depth: int) -> str:
    # A phantom only takes up space, unless it is set to be visible.
    return "" if _setting(node, "show", "1") in {"0", "off", "false"} else _child(node, "e", depth)


def _paragraph(node: Any, depth: int) -> str:
    lines = [latex.tidy(_within(each, depth + 1)) for each in node if local(each) == "oMath"]
    return r" \\ ".join(line for line in lines if line)


def _text(node: Any, depth: int) -> str:
    del depth
    return latex.characters(node.text or "")


_LEFT_OUT = frozenset({"del", "moveFrom", "instrText", "delText", "annotationRef", ""})
_READERS: dict[str, Callable[[Any, int], str]] = {
    "r": _run,
    "t": _text,
    "f": _fraction,
    "rad": _radical,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _scripts_before,
    "nary": _large_operator,
    "d": _delimiter,
    "m": _matrix,
    "eqArr": _equations,
    "acc": _accent,
    "bar": _bar,
    "groupChr": _group,
    "limLow": _limit,
    "limUpp": _limit,
    "func": _function,
    "borderBox": _box,
    "phant": _phantom,
    "oMathPara": _paragraph,
}
