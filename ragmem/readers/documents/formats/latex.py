"""Write the elements of equations as LaTeX: characters, scripts, fences, tables."""

# ruff: noqa: RUF001 -- mathematical signs look like letters

import re
import unicodedata
from collections.abc import Iterable, Sequence

FUNCTIONS = frozenset(
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup "
    "ln log max min Pr sec sin sinh sup tan tanh".split()
)

_LETTERS = dict(
    zip(
        "αβγδϵζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩεϑϖϱςϕϰ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon "
        "varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
        "varepsilon vartheta varpi "
        "varrho varsigma phi varkappa".split(),
        strict=True,
    )
)

_RELATIONS = dict(
    zip(
        "≤≥≠≈≡∼≃≅∝≪≫∈∉∋⊂⊃⊆⊇→←↔⇒⇐⇔↦⟶⟹⊢⊨⊥∥≺≻≔≜",
        "leq geq neq approx equiv sim simeq cong propto ll gg in notin ni subset supset subseteq supseteq to "
        "leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow mapsto longrightarrow Longrightarrow "
        "vdash models perp parallel prec succ coloneqq triangleq".split(),
        strict=True,
    )
)

_SIGNS = dict(
    zip(
        "±∓×÷⋅·∗∘∙⊕⊖⊗⊙∩∪∧∨¬∀∃∄∅∞∂∇∫∬∭∮∑∏∐⋂⋃⋁⋀⨁⨂√′″…⋯⋮⋱ℏℓ℘ℜℑℵ∠△†‡⟨⟩⌈⌉⌊⌋‖∣∖↑↓°",
        "pm mp times div cdot cdot ast circ bullet oplus ominus otimes odot cap cup wedge vee neg forall "
        "exists nexists emptyset infty partial nabla int iint iiint oint sum prod coprod bigcap "
        "bigcup bigvee "
        "bigwedge bigoplus bigotimes surd prime prime\\prime ldots cdots vdots ddots hbar ell wp "
        "Re Im aleph angle "
        "triangle dagger ddagger langle rangle lceil rceil lfloor rfloor Vert mid setminus uparrow downarrow "
        "degree".split(),
        strict=True,
    )
)

_PLAIN = {
    "−": "-",
    "\u2044": "/",
    "{": r"\{",
    "}": r"\}",
    "\\": r"\backslash",
    "$": r"\$",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "&": r"\&",
    "^": r"\wedge",
    "~": r"\sim",
    "ℝ": r"\mathbb{R}",
    "ℂ": r"\mathbb{C}",
    "ℕ": r"\mathbb{N}",
    "ℚ": r"\mathbb{Q}",
    "ℤ": r"\mathbb{Z}",
    "=": " = ",
    "<": " < ",
    ">": " > ",
}

_ACCENTS = dict(
    zip(
        "\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u030c\u20d6\u20d7\u20db^ˆ~˜¯‾_→˙¨ˇ˘´`⏞⏟︷︸",
        "grave acute hat tilde bar overline breve dot ddot check overleftarrow vec dddot hat hat tilde "
        "tilde bar overline underline vec dot ddot check breve acute grave overbrace underbrace overbrace "
        "underbrace".split(),
        strict=True,
    )
)

_FENCES = {
    "{": r"\{",
    "}": r"\}",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "〈": r"\langle",
    "〉": r"\rangle",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "‖": r"\Vert",
    "∥": r"\Vert",
    "∣": "|",
    "": ".",
}
_BARE_FENCES = frozenset("()[]|/")
_MATRICES = {("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("{", "}"): "Bmatrix", ("|", "|"): "vmatrix"}
_MATRICES |= {("‖", "‖"): "Vmatrix", ("∥", "∥"): "Vmatrix", ("{", ""): "cases"}

_WORDS = re.compile(r"[A-Za-z]{2,}")
_ENDS_IN_COMMAND = re.compile(r"\\[A-Za-z]+$")
_LONGEST_COMMAND = 30
_SPACES = re.compile(r"\s+")
_INVISIBLE = frozenset("\u2061\u2062\u2063\u2064\u200b\u200c\u200d\u2060\ufeff")


def characters(text: str) -> str:
    """Return a run of mathematical characters, with commands for Greek letters, operators and functions."""
    pieces = []
    at = 0
    for found in _WORDS.finditer(text):
        if found[0] in FUNCTIONS:
            pieces += [_character(each) for each in text[at : found.start()]]
            pieces.append(f"\\{found[0]}")
            at = found.end()
    return join_tokens([*pieces, *(_character(each) for each in text[at:])])


def _character(char: str) -> str:
    if char in _PLAIN:
        return _PLAIN[char]
    if char in _RELATIONS:
        return f" \\{_RELATIONS[char]} "
    if name := _LETTERS.get(char) or _SIGNS.get(char):
        return f"\\{name}"
    if char in _INVISIBLE or not (char.isprintable() or char.isspace()):
        return ""
    if "\U0001d400" <= char <= "\U0001d7ff" or char == "ℎ":
        # An italic or bold letter of the mathematical alphabets; LaTeX sets letters in italics itself.
        plain = unicodedata.normalize("NFKC", char)
        return _character(plain) if plain != char else plain
    return char


def join_tokens(pieces: Iterable[str]) -> str:
    """Join pieces, with a blank where a letter would extend the name of a command."""
    whole = ""
    for piece in pieces:
        if piece and piece[0].isalpha() and _ENDS_IN_COMMAND.search(whole[-_LONGEST_COMMAND:]):
            whole += " "
        whole += piece
    return whole


def tidy(latex: str) -> str:
    """Return LaTeX with single blanks, and none at the ends."""
    return _SPACES.sub(" ", latex).strip()


def words(text: str) -> str:
    """Return ordinary text within an equation."""
    safe = "".join(r"\backslash " if each == "\\" else _escape(each) for each in text if each.isprintable())
    return f"\\text{{{safe}}}" if safe else ""


def _escape(char: str) -> str:
    return f"\\{char}" if char in "{}$%#_&" else char


def group(latex: str) -> str:
    """Return LaTeX in braces."""
    return f"{{{tidy(latex)}}}"


def add_script(base: str, sub: str, sup: str) -> str:
    """Return a base with its scripts; a base of more than a sign or a command is put in braces."""
    base = tidy(base)
    whole = (
        base
        if re.fullmatch(r".?|\\[A-Za-z]+|\\math\w+\{\w*\}|\w*", base) or _is_fenced(base)
        else group(base)
    )
    if len(base) > 1 and base.isalpha():
        whole = group(base)
    return join_tokens(
        [whole or "{}", f"_{group(sub)}" if tidy(sub) else "", f"^{group(sup)}" if tidy(sup) else ""]
    )


def _is_fenced(latex: str) -> bool:
    return (
        latex.startswith(r"\left") and latex.count(r"\left") == 1 and bool(re.search(r"\\right\S+$", latex))
    )


def root(radicand: str, degree: str = "") -> str:
    """Return a square root, or a root of a degree."""
    # A bracket would end the degree.
    degree = tidy(degree)
    of = f"[{group(degree) if ']' in degree else degree}]" if degree else ""
    return f"\\sqrt{of}{group(radicand)}"


def fraction(above: str, below: str) -> str:
    """Return a fraction with a bar."""
    return f"\\frac{group(above)}{group(below)}"


def add_accent(sign: str, base: str, *, below: bool = False) -> str:
    """Return a base with an accent, a brace or another sign above or below it."""
    if below and sign in {"_", "¯", "‾", "\u0332"}:
        return f"\\underline{group(base)}"
    name = _ACCENTS.get(sign, "")
    if name and below == name.startswith("under"):
        return f"\\{name}{group(base)}"
    return stack(base, characters(sign), below=below)


def stack(base: str, other: str, *, below: bool) -> str:
    """Return a base with something above or below: as limits if the base takes them, else stacked."""
    base = tidy(base)
    if not tidy(other):
        return base
    limits = base.lstrip("\\") in FUNCTIONS or re.match(r"\\(under|over)brace\{", base)
    if limits or re.fullmatch(r"\\(i*int|oint|sum|(co)?prod|big\w+)", base):
        return f"{base}{'_' if below else '^'}{group(other)}"
    return f"\\{'underset' if below else 'overset'}{group(other)}{group(base)}"


def add_fence(begin: str, parts: Sequence[str], end: str, *, separator: str = "|") -> str:
    """Return parts between scaling fences; a matrix between fences becomes an environment of its kind."""
    if len(parts) == 1:
        inner = tidy(parts[0])
        plain = re.fullmatch(r"\\begin\{(?:matrix|aligned)\}(.*)\\end\{(?:matrix|aligned)\}", inner)
        if plain and "\\begin" not in plain[1] and (kind := _MATRICES.get((begin, end))):
            return f"\\begin{{{kind}}}{plain[1]}\\end{{{kind}}}"
        if (begin, end) == ("(", ")") and re.fullmatch(r"\\binom\{.*\}", inner):
            return inner
    middle = f" \\middle{_fence(separator)} " if separator in {"|", "∣", "‖"} else f"{characters(separator)} "
    body = middle.join(tidy(part) for part in parts)
    return f"\\left{_fence(begin)} {body} \\right{_fence(end)}"


def _fence(sign: str) -> str:
    # A sign that LaTeX cannot scale is an error after \left.
    return _FENCES.get(sign, sign if sign in _BARE_FENCES else ".")


def table(rows: Iterable[Iterable[str]], *, kind: str = "matrix") -> str:
    r"""Return rows of cells as an environment: `matrix`, `aligned`, `cases`."""
    body = r" \\ ".join(" & ".join(tidy(cell) for cell in row) for row in rows)
    return f"\\begin{{{kind}}} {body} \\end{{{kind}}}"


def add_style(latex: str, style: str) -> str:
    r"""Return LaTeX in a style such as `mathbb`; unchanged without one."""
    return f"\\{style}{group(latex)}" if style and tidy(latex) else latex
