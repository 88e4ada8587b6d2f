"""Split the YAML block off a Markdown file without losing text."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

if TYPE_CHECKING:
    from frontmatter.default_handlers import yaml

# PyYAML is imported inside functions: most texts have no block.

_BOUNDARY = "---"
_PLAIN_LINE = lazy(r"([A-Za-z][\w -]{0,60}):[ \t](.*)")

MAX_PROBLEM_CHARS = 80
MAX_DEPTH = 20
"""Frontmatter nests two or three levels; the parser's own stack ends at some thousands."""

MAX_CHARS = 64 * 1024
"""A longer block is not frontmatter: PyYAML needs seconds for it, so the text is kept as body."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The two parts of a text: the values of its block, and the body; `warning` describes a problem."""

    values: Mapping[Any, Any] = field(default_factory=dict)
    body: str = ""
    warning: str = ""


def split(text: str) -> Frontmatter:
    """Return the parts of a text; without a block that is a mapping, the text is all body.

    A block that is not valid YAML (an unquoted colon is enough) is read line by line as `key: value`, with a
    warning. A text that is only a block is its own body, so that nothing is lost. Never raises.
    """
    if not text.startswith(_BOUNDARY):
        return Frontmatter(body=text)
    from frontmatter.default_handlers import YAMLHandler  # noqa: PLC0415

    handler = YAMLHandler()
    if not handler.detect(text):
        return Frontmatter(body=text)
    try:
        block, body = handler.split(text)
    except ValueError:
        return Frontmatter(body=text)
    if len(block) > MAX_CHARS:
        return Frontmatter(body=text, warning=f"the frontmatter is longer than {MAX_CHARS:,} characters")
    warning = ""
    try:
        _refuse_bombs(block)
        values = handler.load(block)
    except Exception as error:  # noqa: BLE001 - PyYAML leaks IndexError, KeyError and more for odd scalars
        values = _line_by_line(block)
        warning = (
            f"the frontmatter was read line by line, because it is not valid YAML: {_first_problem(error)}"
        )
    if not isinstance(values, dict):
        # Two horizontal rules with text between them look like a block.
        return Frontmatter(body=text, warning=warning)
    return Frontmatter(values, body if body.strip() else text, warning)


def _refuse_bombs(block: str) -> None:
    """Raise ValueError for a small block that would expand: merged aliases double at each step."""
    from frontmatter.default_handlers import yaml  # noqa: PLC0415

    depth = 0
    for event in _events(block):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it has aliases")  # noqa: TRY004 - the value is refused, not its type
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")


def _events(block: str) -> "Iterator[yaml.Event]":
    from frontmatter.default_handlers import SafeLoader, yaml  # noqa: PLC0415

    try:
        yield from yaml.parse(block, Loader=SafeLoader)
    except yaml.YAMLError as error:
        if "nesting depth" in str(error):  # PyYAML has a limit of its own since 6.0.4
            raise ValueError("it is nested too deeply") from error
        raise


def _line_by_line(block: str) -> dict[str, str]:
    found = (_PLAIN_LINE.match(line) for line in block.splitlines())
    return {line[1].strip(): line[2].strip().strip("\"'") for line in found if line}


def _first_problem(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__
    mark = getattr(error, "problem_mark", None)
    # The block begins on the second line of the file; YAML counts from 0.
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)[:MAX_PROBLEM_CHARS]
