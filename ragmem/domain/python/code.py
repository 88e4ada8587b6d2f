"""Parse Python source into symbols and facts; docs/code.md describes what is resolved."""

import warnings

from ragmem.domain.code.code import ParsedFile
from ragmem.domain.python.links import link_python
from ragmem.domain.python.modules import module_name
from ragmem.domain.python.statements import facts_of
from ragmem.domain.python.symbols import is_test_path, purpose, symbols
from ragmem.domain.text.python_syntax import module_tree

__all__ = ["link_python", "parse_python"]


def parse_python(path: str, text: str) -> ParsedFile:
    """Return the definitions of a Python file and its facts for linking; nothing is executed or imported.

    `path` is relative to the repository. Raises SyntaxError for a text that this interpreter cannot parse,
    ValueError for one that cannot be encoded or is nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            # Warnings about escapes and literals concern the author, not us.
            warnings.simplefilter("ignore")
            tree = module_tree(text)
        facts = facts_of(tree)
        module = module_name(path)
        found = symbols(tree, module, text, in_test=is_test_path(path))
    except (RecursionError, MemoryError):
        raise ValueError(f"{path!r} is nested too deeply to be read") from None
    return ParsedFile(path, "python", module, purpose(tree, text, found), tuple(found), facts)
