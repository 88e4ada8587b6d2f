"""Write the equations of a page as LaTeX, by the fonts, places and sizes of their signs."""

# ruff: noqa: RUF001 -- mathematical signs look like letters

import ctypes
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any

from ragmem.readers.documents.formats import latex
from ragmem.readers.documents.formats.pdf.pdf_words import Box, Word, union

_MATH_FONT = re.compile(r"cm(?:mi|sy|ex|bsy|mib)\d|ms[ab]m\d|math|symbol", re.IGNORECASE)
_EXTENSION_FONT = re.compile(r"cmex\d|mathextension", re.IGNORECASE)
_BLACKBOARD_FONT = re.compile(r"msbm\d", re.IGNORECASE)
_SLANTED_FONT = re.compile(r"italic|oblique", re.IGNORECASE)
# The codes of TeX's font of large signs, which have no Unicode: Knuth, The TeXbook, appendix F.
_EXTENSION = {
    **dict.fromkeys("PX", "∑"),
    **dict.fromkeys("QY", "∏"),
    **dict.fromkeys("RZ", "∫"),
    **dict.fromkeys("HI", "∮"),
    **dict.fromkeys("S[", "⋃"),
    **dict.fromkeys("T\\", "⋂"),
    **dict.fromkeys("V^", "⋀"),
    **dict.fromkeys("W_", "⋁"),
    **dict.fromkeys("pqrs", "√"),
    **dict.fromkeys("\x00\x10\x12\x20", "("),
    **dict.fromkeys("\x01\x11\x13\x21", ")"),
    **dict.fromkeys("\x02\x14\x68\x22", "["),
    **dict.fromkeys("\x03\x15\x69\x23", "]"),
    **dict.fromkeys("\x08\x1a\x6e\x28", "{"),
    **dict.fromkeys("\x09\x1b\x6f\x29", "}"),
}
_LARGE = frozenset("∑∏∫∮⋃⋂⋀⋁")
_UNDER = frozenset(("lim", "max", "min", "sup", "inf"))
_SIGNS = frozenset("∑∏∫∮√∂∇∞±∓≤≥≠≈≡∝∈∉⊂⊆∪∩⇒⇔∀∃−⋃⋂⋀⋁ℝℂℕℤℚ")
_STOPS = ".,;:"
_NO_BASES = frozenset(("=", "+", "-", "<", ">", r"\pm", r"\leq", r"\geq", r"\cdot", r"\times", ",", "("))
"""What has no scripts: one beside it belongs to something that was not understood."""
_STRUCTURE = re.compile(r"[\^_]\{|\\frac|\\sqrt")
_SMALL = 0.82  # size of a script, relative to its base
_RAISED, _LOWERED = 0.15, 0.05  # of the size, from the base line
_SHIFTED = 0.25  # of the size; signs that far from the base line are scripts, however large
_STRAY = 0.7  # of the size; signs farther from the base line stand in rows, as those of a matrix
_AXIS = 0.25  # height of a fraction's rule above the base line, relative to the size
_CLOSE = 0.2  # of the size; blanks between words are wider
_PRODUCT = 3
_BESIDE = 0.9  # of the size, between neighbours
_SHARED = 0.15  # of the size; lines of text below each other share less height
_STACKED = 0.4
_NEAR = 0.6  # of the size, between a rule and what stands above or below it
_ASCENT, _DESCENT = 0.75, 0.25  # of the size, of a line
_THIN = 1.5  # points of a rule
_FILLED = 0.5  # share of a fraction's rule that its longer part covers
_OBJECTS = 2_000  # drawn objects of a page to examine
_MOST_RULES = 300  # of a page with equations; more are a drawing
_MOST_WORDS = 600  # that may belong to equations; more are a table of numbers
_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class _Glyph:
    sign: str
    box: Box
    base: float
    """The height of its base line on the page."""
    size: float
    font: str
    word: int

    @property
    def floats(self) -> bool:
        """Whether its base line is meaningless: a large sign centred on the axis."""
        return self.sign in _LARGE or self.sign == "√" or bool(_EXTENSION_FONT.search(self.font))

    @property
    def is_math(self) -> bool:
        return (
            bool(_MATH_FONT.search(self.font))
            or self.sign in _SIGNS
            or "\U0001d400" <= self.sign <= "\U0001d7ff"
        )


@dataclass(frozen=True, slots=True)
class _Item:
    """A sign, a fraction or a root; `floats` if it has no base line of its own."""

    latex: str
    box: Box
    base: float
    size: float
    glyphs: tuple[_Glyph, ...]
    floats: bool = False
    takes_limits: bool = False


@dataclass(frozen=True, slots=True)
class _Stack:
    """A word, or words above and below a rule."""

    box: Box
    size: float
    takes_limits: bool


def with_equations(page: Any, text_page: Any, words: Sequence[Word], place: Callable[..., Box]) -> list[Word]:
    """Return the words of an upright page with each equation of more than one level as one word of LaTeX.

    An equation is of signs and fonts of mathematics, in scripts, fractions, roots or limits. What is not
    understood for sure, such as a matrix, stays as it is; so does all prose.
    """
    if page.get_rotation() or not _has_equations(words):
        return list(words)
    glyphs = _glyphs(text_page, words, place)
    able = [number for run in _runs(words, glyphs) if _may_belong(run, glyphs) for number in run]
    if len(able) > _MOST_WORDS:
        return list(words)
    rules = _rules(page, place, glyphs, able)
    above = [some[0].base - word.box.top for some, word in zip(glyphs, words, strict=True)]
    below = [word.box.bottom - some[0].base for some, word in zip(glyphs, words, strict=True)]
    line = (statistics.median(above), statistics.median(below))
    written: dict[int, Word | None] = {}
    for numbers in _components(able, glyphs, rules):
        if equation := _equation(numbers, words, glyphs, rules, line):
            written |= dict.fromkeys(numbers)
            written[min(numbers)] = equation
    return [kept for number, word in enumerate(words) if (kept := written.get(number, word)) is not None]


def _has_equations(words: Sequence[Word]) -> bool:
    """Return cheaply whether a page may have some: by signs, or by small signs beside larger ones."""
    for before, word in pairwise(words):
        if any(char in _SIGNS or "α" <= char <= "ω" or char >= "\U0001d400" for char in word.text):
            return True
        if (
            word.box.height < _SMALL * before.box.height
            and word.box.left - before.box.right < before.box.height
        ):
            return True
    return False


def _glyphs(text_page: Any, words: Sequence[Word], place: Callable[..., Box]) -> list[list[_Glyph]]:
    """Return the glyphs of each word."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    sides = [ctypes.c_double() for _ in range(4)]
    x, y = ctypes.c_double(), ctypes.c_double()
    every: list[list[_Glyph]] = []
    for number, word in enumerate(words):
        some: list[_Glyph] = []
        for offset in range(len(word.text)):
            index = word.first + offset
            pdfium.FPDFText_GetFontInfo(text_page, index, name, _NAME_BYTES, ctypes.byref(flags))
            pdfium.FPDFText_GetCharBox(text_page, index, *sides)
            pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
            left, right, bottom, top = (side.value for side in sides)
            font = name.value.decode("latin-1")
            size = pdfium.FPDFText_GetFontSize(text_page, index)
            sign = word.text[offset].replace("\u00b5", "μ")  # the sign of a millionth, as some fonts name it
            if _EXTENSION_FONT.search(font):
                sign = _EXTENSION.get(chr(pdfium.FPDFText_GetUnicode(text_page, index)), sign)
            box = place(left, bottom, right, top)
            some.append(_Glyph(sign, box, place(x.value, y.value, x.value, y.value).top, size, font, number))
        every.append(some)
    return every


def _may_belong(run: Sequence[int], glyphs: Sequence[Sequence[_Glyph]]) -> bool:
    """Return whether a run of words may belong to an equation: all but letters in an upright font."""
    some = [glyph for number in run for glyph in glyphs[number]]
    text = "".join(glyph.sign for glyph in some)
    letters = "".join(filter(str.isalpha, text))
    if len(letters) < 2 or letters in latex.FUNCTIONS or any(glyph.is_math for glyph in some):
        return True
    before, after = (glyphs[place] if 0 <= place < len(glyphs) else () for place in (run[0] - 1, run[-1] + 1))
    near = [(one, some[0]) for one in before[-1:]] + [(some[-1], one) for one in after[:1]]
    is_close = any(abs(two.box.left - one.box.right) < _CLOSE * one.size for one, two in near)
    if all(_SLANTED_FONT.search(glyph.font) for glyph in some if glyph.sign.isalpha()):
        # A product of letters, and no word in italics: in capitals, with a number, or right beside a sign.
        return len(letters) <= _PRODUCT and (letters.isupper() or len(text) > len(letters) or is_close)
    # A word that is a script: the "max" of a largest speed.
    return bool(before) and is_close and some[0].size < _SMALL * before[-1].size


def _runs(words: Sequence[Word], glyphs: Sequence[Sequence[_Glyph]]) -> list[list[int]]:
    """Return the words in runs that continue one another: some programs place each letter alone."""
    runs: list[list[int]] = []
    for number, word in enumerate(words):
        if number:
            one, other = glyphs[number - 1][-1], glyphs[number][0]
            is_alike = (one.font, one.size) == (other.font, other.size) and abs(one.base - other.base) < 0.1
            if is_alike and abs(word.box.left - words[number - 1].box.right) < _CLOSE * one.size:
                runs[-1].append(number)
                continue
        runs.append([number])
    return runs


def _rules(
    page: Any, place: Callable[..., Box], glyphs: Sequence[Sequence[_Glyph]], able: Sequence[int]
) -> list[Box]:
    """Return the horizontal rules between or above signs that may belong to equations."""
    import pypdfium2.raw as pdfium

    signs = [glyph for number in able for glyph in glyphs[number]]
    others = set(range(len(glyphs))).difference(able)
    prose = [union(glyph.box for glyph in glyphs[number]) for number in others]
    thin = []
    for item in islice(page.get_objects(max_depth=3), _OBJECTS):
        if item.type == pdfium.FPDF_PAGEOBJ_PATH:
            left, bottom, right, top = item.get_bounds()
            rule = place(left, bottom, right, top)
            if rule.height <= _THIN < rule.width:
                thin.append(rule)
    if len(thin) > _MOST_RULES:
        return []
    found = []
    for rule in thin:
        near = [glyph for glyph in signs if _touches(rule, glyph.box, within=glyph.size)]
        is_of_root = any(_is_root_of(glyph, rule) for glyph in signs)
        covered = max(_covered(near, rule, above=side) for side in (True, False))
        if (is_of_root or covered >= _FILLED) and not any(_touches(rule, box) for box in prose):
            found.append(rule)
    return found


def _touches(rule: Box, box: Box, *, within: float = 4.0) -> bool:
    """Return whether a box is right above or below a rule."""
    beside = rule.left - 1 <= box.middle <= rule.right + 1
    return beside and (
        abs(box.bottom - rule.top) < within
        or abs(box.top - rule.bottom) < within
        or box.top < rule.top < box.bottom
    )


def _covered(glyphs: Sequence[_Glyph], rule: Box, *, above: bool) -> float:
    some = [glyph.box for glyph in glyphs if (_height(glyph.box) < rule.top) == above]
    return union(some).width / rule.width if some else 0.0


def _height(box: Box) -> float:
    """Return the vertical position of the middle."""
    return (box.top + box.bottom) / 2


def _components(
    able: Sequence[int], glyphs: Sequence[Sequence[_Glyph]], rules: Sequence[Box]
) -> Iterator[list[int]]:
    """Yield the numbers of words that belong together: first those around a rule, then neighbours."""
    numbers = [number for number in able if glyphs[number]]
    boxes = {number: _em_box(glyphs[number]) for number in numbers}
    sizes = {number: max(glyph.size for glyph in glyphs[number]) for number in numbers}
    group = {number: number for number in numbers}

    def root(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    for rule in rules:
        near = [
            number
            for number in numbers
            if _touches(rule, boxes[number], within=_NEAR * sizes[number])
            or any(_is_root_of(glyph, rule) for glyph in glyphs[number])
        ]
        for number in near[1:]:
            group[root(number)] = root(near[0])
    stacks: dict[int, list[int]] = {}
    for number in numbers:
        stacks.setdefault(root(number), []).append(number)
    shapes = {
        first: _Stack(
            union(boxes[number] for number in some),
            max(sizes[number] for number in some),
            any(_takes_limits(glyphs[number]) for number in some),
        )
        for first, some in stacks.items()
    }
    firsts = list(shapes)
    for place, one in enumerate(firsts):
        for other in firsts[place + 1 :]:
            if _is_neighbour(shapes[one], shapes[other]):
                group[root(one)] = root(other)
    found: dict[int, list[int]] = {}
    for number in numbers:
        found.setdefault(root(number), []).append(number)
    yield from found.values()


def _em_box(glyphs: Sequence[_Glyph]) -> Box:
    """Return a box that is as high as a line, because a minus alone is too thin to be beside anything."""
    box = union(glyph.box for glyph in glyphs)
    if any(glyph.floats for glyph in glyphs):
        return box
    first = glyphs[0]
    top, bottom = first.base - _ASCENT * first.size, first.base + _DESCENT * first.size
    return Box(box.left, min(top, box.top), box.right, max(bottom, box.bottom))


def _takes_limits(glyphs: Sequence[_Glyph]) -> bool:
    text = "".join(glyph.sign for glyph in glyphs)
    return text in _UNDER or not _LARGE.isdisjoint(text)


def _is_neighbour(one: _Stack, other: _Stack) -> bool:
    across = max(one.box.left, other.box.left) - min(one.box.right, other.box.right)
    down = max(one.box.top, other.box.top) - min(one.box.bottom, other.box.bottom)
    small, large = sorted((one, other), key=lambda stack: stack.size)
    if -_STACKED * large.size < across <= _BESIDE * large.size and down < -_SHARED * small.size:
        return True
    is_limit = large.takes_limits and small.size < _SMALL * large.size
    return is_limit and across < 0 and down <= _STACKED * large.size


def _equation(
    numbers: Sequence[int],
    words: Sequence[Word],
    glyphs: Sequence[Sequence[_Glyph]],
    rules: Sequence[Box],
    line: tuple[float, float],
) -> Word | None:
    """Return an equation as a word; None without mathematics, or with nothing above another.

    The word is as high as a `line` above and below its base line.
    """
    every = _negated([glyph for number in numbers for glyph in glyphs[number]])
    if not every or not any(glyph.is_math or glyph.sign == "=" for glyph in every):
        return None
    stops = ""
    last = max(every, key=lambda glyph: glyph.box.right)
    if last.sign in _STOPS and len(every) > 1:
        stops = last.sign
        every = [glyph for glyph in every if glyph is not last]
    whole = union(glyph.box for glyph in every)
    inside = [rule for rule in rules if whole.left - 1 <= rule.middle <= whole.right + 1]
    inside = [rule for rule in inside if whole.top - line[0] < rule.top < whole.bottom]
    written = _write(every, inside)
    if written is None or "\\surd" in written.latex or not _STRUCTURE.search(written.latex):
        return None
    box = Box(whole.left, written.base - line[0], last.box.right, written.base + line[1])
    first = min(numbers)
    return replace(words[first], text=f"${written.latex}${stops}", box=box, glued=False, is_equation=True)


def _negated(glyphs: Sequence[_Glyph]) -> list[_Glyph]:
    """Return the glyphs with a stroke and an equals sign as one sign."""
    done: list[_Glyph] = []
    for glyph in glyphs:
        if done and done[-1].sign == "\u0338" and glyph.sign == "=":
            done[-1] = replace(glyph, sign="≠")
        else:
            done.append(glyph)
    return done


def _write(glyphs: Sequence[_Glyph], rules: Sequence[Box]) -> _Item | None:
    """Return glyphs as one item; None if they are not all on a base line, in scripts, fractions and roots."""
    rest = list(glyphs)
    items: list[_Item] = []
    for rule in sorted(rules, key=lambda rule: -rule.width):
        inside = [glyph for glyph in rest if rule.left - 1 <= glyph.box.middle <= rule.right + 1]
        inner = [one for one in rules if one is not rule and one.width < rule.width]
        root = next((glyph for glyph in rest if _is_root_of(glyph, rule)), None)
        item = _root(root, inside, rest, inner, rule) if root else _fraction(inside, inner, rule)
        if item is not None:
            items.append(item)
            rest = [glyph for glyph in rest if glyph not in item.glyphs]
    items += _signs(rest)
    return _join(items, rules)


def _is_root_of(glyph: _Glyph, rule: Box) -> bool:
    near = 0.35 * glyph.size
    return (
        glyph.sign == "√" and abs(glyph.box.right - rule.left) < near and abs(glyph.box.top - rule.top) < near
    )


def _root(
    root: _Glyph, inside: Sequence[_Glyph], every: Sequence[_Glyph], rules: Sequence[Box], rule: Box
) -> _Item | None:
    end = root.box.bottom + _STRAY * root.size
    under = [glyph for glyph in inside if glyph is not root and rule.top < _height(glyph.box) < end]
    body = _write(under, [one for one in rules if rule.top < one.top < end]) if under else None
    if body is None:
        return None
    # A degree stands over the hook; the script of what is before the root ends left of it.
    over = [
        glyph
        for glyph in every
        if glyph.size < root.size
        and root.box.left + 1 < glyph.box.right < rule.left + 1
        and glyph.box.bottom < root.box.bottom
        and glyph is not root
    ]
    degree = _write(over, ()) if over else None
    box = union((root.box, rule, body.box))
    told = latex.root(body.latex, degree.latex if degree else "")
    return _Item(told, box, body.base, body.size, (root, *under, *(over if degree else ())))


def _fraction(inside: Sequence[_Glyph], rules: Sequence[Box], rule: Box) -> _Item | None:
    above = [glyph for glyph in inside if _height(glyph.box) < rule.top]
    below = [glyph for glyph in inside if _height(glyph.box) >= rule.top]
    if not above or not below:
        return None
    over = _write(above, [one for one in rules if one.top < rule.top])
    under = _write(below, [one for one in rules if one.top > rule.top])
    if over is None or under is None:
        return None
    size = max(over.size, under.size)
    box = union((over.box, under.box, rule))
    return _Item(
        latex.fraction(over.latex, under.latex), box, rule.top + _AXIS * size, size, (*above, *below)
    )


def _signs(glyphs: Sequence[_Glyph]) -> Iterator[_Item]:
    """Yield signs, and names of functions and other upright words as one item each."""
    rest = list(glyphs)
    while rest:
        first = rest.pop(0)
        some = [first]
        while rest and _continues_word(some[-1], rest[0]):
            some.append(rest.pop(0))
        text = "".join(glyph.sign for glyph in some)
        if len(some) > 1 and text in latex.FUNCTIONS:
            told = f"\\{text}"
        elif len(some) > 1:
            told = f"\\mathrm{{{text}}}"
        elif _BLACKBOARD_FONT.search(first.font) and text.isalpha():
            told = f"\\mathbb{{{text}}}"
        else:
            told = latex.characters(text)
        box = union(glyph.box for glyph in some)
        base = _height(box) + _AXIS * first.size if first.floats else first.base
        limits = text in _LARGE or text in _UNDER
        yield _Item(told, box, base, first.size, tuple(some), first.floats, limits)


def _continues_word(before: _Glyph, glyph: _Glyph) -> bool:
    upright = not _MATH_FONT.search(glyph.font) and not _SLANTED_FONT.search(glyph.font)
    same = glyph.word == before.word and glyph.font == before.font and glyph.base == before.base
    return upright and same and glyph.sign.isascii() and glyph.sign.isalpha() and before.sign.isalpha()


def _join(items: Sequence[_Item], rules: Sequence[Box]) -> _Item | None:
    """Return items from left to right as one, each with its scripts and limits."""
    items = sorted(items, key=lambda item: item.box.left)
    size = max(item.size for item in items)
    full = [item for item in items if item.size >= _SMALL * size]
    standing = [item for item in full if not item.floats]
    base = statistics.mode(round(item.base, 1) for item in standing or full)
    if any(abs(item.base - base) > _STRAY * size for item in standing):
        return None
    pieces: list[tuple[_Item, list[_Item], list[_Item]]] = []
    small: list[_Item] = []
    for item in items:
        # The scripts of the smallest size have no smaller ones.
        is_small = item.size < _SMALL * size or abs(item.base - base) > _SHIFTED * size
        if is_small and not item.floats and not -_RAISED * size < item.base - base < _LOWERED * size:
            small.append(item)
        else:
            pieces.append((item, [], []))
    for item in small:
        over = [piece for piece in pieces if piece[0].takes_limits and _is_limit(item, piece[0])]
        left = [piece for piece in pieces if piece[0].box.left <= item.box.left]
        owner = over[0] if over else left[-1] if left else None
        if owner is None or owner[0].latex.strip() in _NO_BASES or owner[0].latex.startswith(r"\frac"):
            return None
        is_above = (
            _height(item.box) < _height(owner[0].box) if over or owner[0].takes_limits else item.base < base
        )
        (owner[2] if is_above else owner[1]).append(item)
    tokens: list[str] = []
    end = 0.0
    for item, below, above in pieces:
        if tokens and item.box.left - end > _CLOSE * size:
            tokens.append(" ")
        end = max(one.box.right for one in (item, *below, *above))
        scripts = [_script(some, rules) if some else "" for some in (below, above)]
        if None in scripts:
            return None
        tokens.append(
            latex.add_script(item.latex, scripts[0] or "", scripts[1] or "") if any(scripts) else item.latex
        )
    told = latex.tidy(latex.join_tokens(tokens))
    glyphs = tuple(glyph for item in items for glyph in item.glyphs)
    return _Item(told, union(item.box for item in items), base, size, glyphs)


def _is_limit(item: _Item, owner: _Item) -> bool:
    """Return whether a small item is above or below a large one, not beside it."""
    beyond = 0.6 * owner.size
    outside = item.box.bottom <= owner.box.top + 1 or item.box.top >= owner.box.bottom - 1
    return outside and owner.box.left - beyond <= item.box.middle <= owner.box.right + beyond


def _script(items: Sequence[_Item], rules: Sequence[Box]) -> str | None:
    glyphs = [glyph for item in items for glyph in item.glyphs]
    whole = union(item.box for item in items)
    written = _write(glyphs, [rule for rule in rules if whole.holds(rule)])
    return written.latex if written else None
