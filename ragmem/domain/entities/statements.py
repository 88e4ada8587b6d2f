"""Split a text into statements, each with its position in the structure of the text."""

from collections.abc import Iterator
from itertools import zip_longest

from ragmem.domain.text.blocks import Block, BlockType, blocks, lines, statements
from ragmem.domain.text.data_lines import is_data, records
from ragmem.domain.text.token_types import COMMANDS
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_STATEMENT_CHARS = 2000
"""A longer statement is generated text; only its beginning is read."""

_LABEL_LINE = lazy(r"[ \t]*(?:\*\*[^*\n]{1,80}\*\*|\u2192|=>|[A-Z][\w ]{0,30}: |[a-z_]{2,20}: )")
_COMMAND_LINE = lazy(r"[a-z][\w.-]* [a-z][\w:.-]*(?: [\w:.@/=-]+){0,4}$")
_FENCE_OPEN = lazy(r"[ \t>*+-]*(?:`{3,}|~{3,})[ \t]*([\w+-]*)")
_KEY = lazy(r"[a-z][a-z0-9_]*$")
_CELL = lazy(r"`[^`]*`|(\\\|)|(\|)")
_SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "fish", "terminal"})
_PLAIN_FENCES = frozenset({"", "text", "txt"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, a line, or a row of a table, with white space folded.

    `depth` is the indentation of a list item. `begins`: the first statement of its block, or a labelled line.
    `shell`: a line of a fence that may be a command. A row has the spans of its `cells` and the texts of the
    `header`. `data`: JSON, whose keys are no names, or a heading that is the key of the following data.
    """

    form: BlockType
    text: str
    depth: int = 0
    begins: bool = True
    shell: bool = False
    cells: tuple[tuple[int, int], ...] = ()
    header: tuple[str, ...] = ()
    data: bool = False


def read_statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text in order, without delimiters of tables and fences, and rules."""
    found = list(blocks(text))
    for block, below in zip_longest(found, found[1:]):
        if block.form is BlockType.HEADING:
            key = below is not None and _is_data(text, below) and bool(_KEY.match(block.title))
            yield Statement(block.form, _fold(block.title), data=key)
        elif _is_data(text, block):
            yield from _records(text, block)
        elif block.form is BlockType.FENCE:
            yield from _fence(text, block)
        elif block.form is BlockType.TABLE:
            yield from _table(text, block)
        elif block.form is not BlockType.RULE:
            yield from _prose(text, block)


def _is_data(text: str, block: Block) -> bool:
    first = text[block.start : block.end].split("\n", 1)[0][:MAX_STATEMENT_CHARS]
    return block.form is BlockType.PARAGRAPH and is_data(first)


def _records(text: str, block: Block) -> Iterator[Statement]:
    """Yield the sentences of each record of a data block."""
    for begin, end in records(text, lines(text, block.start, block.end)):
        for start, stop in statements(text, begin, end):
            yield Statement(block.form, _fold(text[start:stop]), data=True)


def _fold(part: str) -> str:
    """Return the beginning of a part with each run of white space folded to one blank."""
    return " ".join(part[:MAX_STATEMENT_CHARS].split())


def _fence(text: str, block: Block) -> Iterator[Statement]:
    """Yield the lines of a fence; a command that a backslash continues is one line."""
    opened = _FENCE_OPEN.match(text, block.start)
    language = opened.group(1).lower() if opened is not None else ""
    shell = language in _SHELLS
    before = ""
    for start, end in lines(text, block.start, block.end):
        if text.startswith(("```", "~~~"), start):
            continue
        line = _fold(text[start:end])
        if shell and line.endswith("\\") and len(before) < MAX_STATEMENT_CHARS:
            before += line[:-1]
            continue
        known = language in _PLAIN_FENCES and line.removeprefix("$ ").split(" ", 1)[0] in COMMANDS
        data = line.startswith(('{"', '[{"'))
        yield Statement(block.form, _fold(before + line), shell=shell or known, data=data)
        before = ""
    if before:
        yield Statement(block.form, _fold(before), shell=shell)


def _table(text: str, block: Block) -> Iterator[Statement]:
    """Yield the rows of a table, each with its header; the header itself is skipped."""
    rows = [_fold(text[start:end]) for start, end in lines(text, block.start, block.end)]
    header: tuple[str, ...] = ()
    for at, row in enumerate(rows):
        if not row.strip("|-: "):
            continue
        cells = _cells(row)
        if at + 1 < len(rows) and not header and not rows[at + 1].strip("|-: "):
            header = tuple(row[start:end].strip(" *`_") for start, end in cells)
            continue
        yield Statement(block.form, row, cells=cells, header=header)


def _cells(row: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the cells of a row; a bar in code or after a backslash is text."""
    bars = [found.start() for found in _CELL.finditer(row) if found.group(2)]
    if not bars or bars[-1] < len(row) - 1:
        bars.append(len(row))
    starts = [bar + 1 for bar in bars[:-1]]
    return tuple(zip(starts, bars[1:], strict=True))


def _prose(text: str, block: Block) -> Iterator[Statement]:
    """Yield the sentences of a paragraph or an item; a labelled line begins a new one."""
    depth = _depth(text, block.start) if block.form is BlockType.ITEM else 0
    for begin, end, command in _parts(text, block):
        begins = True
        for start, stop in statements(text, begin, end):
            yield Statement(block.form, _fold(text[start:stop]), depth, begins, shell=command)
            begins = False


def _depth(text: str, start: int) -> int:
    """Return the indentation of a block in columns; a tab counts four."""
    line = text.rfind("\n", max(0, start - 64), start) + 1
    indent = text[line:start] + text[start : start + 64]
    return len((indent[: len(indent) - len(indent.lstrip())]).expandtabs(4))


def _parts(text: str, block: Block) -> Iterator[tuple[int, int, bool]]:
    """Split a block at labelled lines; yield each part, and whether it is a command."""
    begin = block.start
    last = block.start
    for start, end in lines(text, block.start, block.end):
        line = text[start : min(end, start + MAX_STATEMENT_CHARS)]
        if start > begin and _LABEL_LINE.match(line):
            yield begin, last, False
            begin = start
        last = end
    yield begin, last, block.form is BlockType.PARAGRAPH and _is_command(text[begin : min(last, begin + 200)])


def _is_command(line: str) -> bool:
    """Return whether a paragraph is a single command line: a known program, a flag or a task with a colon."""
    return bool(_COMMAND_LINE.match(line)) and (
        line.split(" ", 1)[0] in COMMANDS or ":" in line or " -" in line
    )
