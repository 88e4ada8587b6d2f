"""Little repositories as text, read and linked."""

import textwrap

from ragmem.domain.code.linker import link
from ragmem.readers.code import read_code


class CodeProject:
    """A repository of which each file is given as text."""

    def __init__(self, files):
        self.files = {path: read_code(path, textwrap.dedent(text)) for path, text in files.items()}
        self.edges = link(list(self.files.values()))

    def symbols(self, path):
        """Return the symbols of a file below its module: (kind, qualified)."""
        return [(symbol.kind.value, symbol.qualified) for symbol in self.files[path].symbols[1:]]

    def symbol(self, qualified):
        return next(
            symbol for file in self.files.values() for symbol in file.symbols if symbol.qualified == qualified
        )

    def tests(self, path):
        return [symbol.qualified for symbol in self.files[path].symbols if symbol.is_test]

    def references(self, kind, *, internal=True, path=""):
        """Return the edges of a kind: (source, target)."""
        return {
            (edge.source, edge.target)
            for edge in self.edges
            if edge.kind == kind and edge.internal == internal and (not path or edge.path == path)
        }
