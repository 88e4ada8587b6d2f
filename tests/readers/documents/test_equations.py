"""Equations of Word become LaTeX."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from word_pieces import M, fraction, index, large, power, root, run

from ragmem.readers.documents.formats.equations import to_latex


def latex(omml: str) -> str:
    return to_latex(etree.fromstring(f'<m:oMath xmlns:m="{M}">{omml}</m:oMath>'))


def fenced(inner: str, begin: str = "(", end: str = ")") -> str:
    marks = f'<m:dPr><m:begChr m:val="{begin}"/><m:endChr m:val="{end}"/></m:dPr>'
    return f"<m:d>{marks}<m:e>{inner}</m:e></m:d>"


def matrix(*lines: list[str]) -> str:
    cells = ("".join(f"<m:e>{run(cell)}</m:e>" for cell in line) for line in lines)
    return "<m:m>" + "".join(f"<m:mr>{each}</m:mr>" for each in cells) + "</m:m>"


def accent(sign: str, base: str) -> str:
    return f'<m:acc><m:accPr><m:chr m:val="{sign}"/></m:accPr><m:e>{base}</m:e></m:acc>'


def function(name: str, argument: str) -> str:
    return f"<m:func><m:fName>{name}</m:fName><m:e>{argument}</m:e></m:func>"


TWO_ROWS = matrix(["a", "b"], ["c", "d"])
LIMIT = f"<m:limLow><m:e>{run('lim')}</m:e><m:lim>{run('x→0')}</m:lim></m:limLow>"
BRACE = f"<m:limLow><m:e><m:groupChr><m:e>{run('a+b')}</m:e></m:groupChr></m:e>"
UNDER = '<m:nary><m:naryPr><m:limLoc m:val="undOvr"/><m:supHide m:val="1"/></m:naryPr>'
CASES = (
    f"<m:eqArr><m:e>{run('x,&amp;x&gt;0')}</m:e><m:e>{run('0,&amp;x≤0')}</m:e></m:eqArr>",
    r"\begin{cases} x,&x > 0 \\ 0,&x \leq 0 \end{cases}",
)


@pytest.mark.parametrize(
    ("omml", "expected"),
    [
        (run("E=m") + power(run("c"), run("2")), "E = mc^{2}"),
        (fraction(run("1"), run("2")), r"\frac{1}{2}"),
        (
            run("x=") + fraction(run("−b±") + root(power(run("b"), run("2")) + run("−4ac")), run("2a")),
            r"x = \frac{-b\pm\sqrt{b^{2}-4ac}}{2a}",
        ),
        (
            '<m:f><m:fPr><m:type m:val="lin"/></m:fPr>' + fraction(run("a"), run("b"))[len("<m:f>") :],
            "{a}/{b}",
        ),
        (
            fenced(
                '<m:f><m:fPr><m:type m:val="noBar"/></m:fPr>' + fraction(run("n"), run("k"))[len("<m:f>") :]
            ),
            r"\binom{n}{k}",
        ),
        (f"<m:rad><m:deg>{run('3')}</m:deg><m:e>{run('x')}</m:e></m:rad>", r"\sqrt[3]{x}"),
        (index(run("v"), run("max")), r"v_{\max}"),
        (index(run("η"), run("total")), r"\eta_{total}"),
        (
            f"<m:sSubSup><m:e>{run('σ')}</m:e><m:sub>{run('i')}</m:sub><m:sup>{run('2')}</m:sup></m:sSubSup>",
            r"\sigma_{i}^{2}",
        ),
        (
            f"<m:sPre><m:sub>{run('6')}</m:sub><m:sup>{run('14')}</m:sup><m:e>{run('C')}</m:e></m:sPre>",
            "{}_{6}^{14}C",
        ),
        (power(run("10"), run("6")), "10^{6}"),
        (power(run("ab"), run("2")), "{ab}^{2}"),
        (power(fenced(run("a+b")), run("n")), r"\left( a+b \right)^{n}"),
        (large("∑", run("i=1"), run("n"), index(run("x"), run("i"))), r"\sum_{i = 1}^{n} x_{i}"),
        (large("∏", run("k"), "", run("k")), r"\prod_{k} k"),
        (
            f"<m:nary><m:sub>{run('0')}</m:sub><m:sup>{run('∞')}</m:sup><m:e>{run('f dx')}</m:e></m:nary>",
            r"\int_{0}^{\infty} f dx",
        ),
        (
            UNDER + f"<m:sub>{run('Ω')}</m:sub><m:sup/><m:e>{run('f')}</m:e></m:nary>",
            r"\int\limits_{\Omega} f",
        ),
        (TWO_ROWS, r"\begin{matrix} a & b \\ c & d \end{matrix}"),
        (fenced(TWO_ROWS), r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}"),
        (fenced(TWO_ROWS, "[", "]"), r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}"),
        (fenced(TWO_ROWS, "|", "|"), r"\begin{vmatrix} a & b \\ c & d \end{vmatrix}"),
        (fenced(CASES[0], "{", ""), CASES[1]),
        (fenced(run("x"), "⌊", "⌋"), r"\left\lfloor x \right\rfloor"),
        (fenced(run("x"), "{", "}"), r"\left\{ x \right\}"),
        (
            f"<m:d><m:dPr/><m:e>{run('A')}</m:e><m:e>{run('B')}</m:e></m:d>",
            r"\left( A \middle| B \right)",
        ),
        (accent("\u0302", run("x")), r"\hat{x}"),
        (accent("\u20d7", run("F")), r"\vec{F}"),
        (accent("\u0307", run("q")), r"\dot{q}"),
        (f'<m:bar><m:barPr><m:pos m:val="top"/></m:barPr><m:e>{run("AB")}</m:e></m:bar>', r"\overline{AB}"),
        (
            BRACE + f"<m:lim>{run('n')}</m:lim></m:limLow>",
            r"\underbrace{a+b}_{n}",
        ),
        (function(run("sin"), run("θ")), r"\sin \theta"),
        (function(power(run("cos"), run("2")), run("x")), r"\cos^{2} x"),
        (function(LIMIT, function(run("sin"), run("x"))), r"\lim_{x \to 0} \sin x"),
        (function(run("rank"), run("A")), r"\operatorname{rank} A"),
        (run("α≤β≠∞"), r"\alpha \leq \beta \neq \infty"),
        (run("a∈ℝ"), r"a \in \mathbb{R}"),
        (run("𝑥+𝒚"), "x+y"),
        ("<m:r><m:rPr><m:nor/></m:rPr><m:t>if 5% {net}</m:t></m:r>", r"\text{if 5\% \{net\}}"),
        ('<m:r><m:rPr><m:scr m:val="double-struck"/></m:rPr><m:t>E</m:t></m:r>', r"\mathbb{E}"),
        ('<m:r><m:rPr><m:sty m:val="b"/></m:rPr><m:t>F</m:t></m:r>', r"\mathbf{F}"),
        (f"<m:borderBox><m:e>{run('x=1')}</m:e></m:borderBox>", r"\boxed{x = 1}"),
        (
            f'<m:phant><m:phantPr><m:show m:val="0"/></m:phantPr><m:e>{run("x")}</m:e></m:phant>{run("y")}',
            "y",
        ),
        (run("50% of $9 {a}_b"), r"50\% of \$9 \{a\}\_b"),
        ("", ""),
    ],
)
def test_omml_becomes_this_latex(omml, expected):
    assert latex(omml) == expected


def test_the_equations_of_a_paragraph_are_lines():
    both = f"<m:oMath>{run('a=1')}</m:oMath><m:oMath>{run('b=2')}</m:oMath>"
    paragraph = etree.fromstring(f'<m:oMathPara xmlns:m="{M}">{both}</m:oMathPara>')
    assert to_latex(paragraph) == r"a = 1 \\ b = 2"


NAMES = (
    "r t f num den rad deg e sSup sSub sSubSup sPre sub sup nary naryPr chr d dPr begChr endChr m mr eqArr "
    "acc accPr bar groupChr limLow limUpp lim func fName borderBox phant oMath oMathPara box del unknown "
    "fPr type"
).split()


def nodes(children):
    return st.tuples(
        st.sampled_from(NAMES),
        st.text(st.characters(blacklist_categories=["Cs", "Cc"]) | st.sampled_from("{}\\$^_&|"), max_size=6),
        st.sampled_from(["", "∑", "{", "}", "\\", "|", "noBar", "undOvr", "1", "\u0302", "⏟", "top", "x{"]),
        children,
    )


TREES = st.recursive(nodes(st.just([])), lambda inner: nodes(st.lists(inner, max_size=4)), max_leaves=25)


def built(tree):
    name, text, setting, children = tree
    node = etree.Element(f"{{{M}}}{name}")
    node.text = "".join(each for each in text if each.isprintable())
    if setting:
        node.set(f"{{{M}}}val", setting)
    node.extend(built(child) for child in children)
    return node


def open_braces(found: str) -> int:
    bare = re.sub(r"\\[{}\\]", "", found)
    depth = 0
    for sign in bare:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0, found
    return depth


@given(TREES)
def test_any_tree_gives_latex_whose_braces_and_fences_are_balanced(tree):
    found = to_latex(built(tree))
    assert open_braces(found) == 0
    assert len(re.findall(r"\\left(?![A-Za-z])", found)) <= len(re.findall(r"\\right", found))
    assert found.count("\\begin{") == found.count("\\end{")


def test_a_tree_deeper_than_any_equation_is_read_as_its_text():
    top = node = etree.Element(f"{{{M}}}oMath")
    for _ in range(2_000):
        node = etree.SubElement(etree.SubElement(node, f"{{{M}}}sSup"), f"{{{M}}}e")
    etree.SubElement(etree.SubElement(node, f"{{{M}}}r"), f"{{{M}}}t").text = "{x"
    assert to_latex(top).endswith(r"\{x" + "}" * to_latex(top).count("}"))
