"""References between the files of a project's code, which decide what has to be linked again."""

import re
import zlib
from collections.abc import Iterable, Sequence

from ragmem.domain.code.code import EdgeKind
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.database import Database

_REFERRED = (
    "SELECT DISTINCT s.file FROM code_edges e"
    " JOIN code_symbols s ON s.root = e.root AND s.qualified = e.target WHERE e.internal = 1 AND e.file IN"
)
_REFERRING = (
    "SELECT DISTINCT e.file FROM code_symbols s"
    " JOIN code_edges e ON e.root = s.root AND e.target = s.qualified WHERE s.file IN"
)


class FileNeighbours:
    """The files of one project, by the number of its root, and the references between them."""

    def __init__(self, database: Database, root: int) -> None:
        self._database = database
        self._root = root

    def definitions(self, paths: Iterable[str]) -> set[tuple[str, str]]:
        """Return qualified name and kind of all that files define."""
        return {
            (name, kind)
            for name, kind in self._database.select_in(
                "SELECT s.qualified, s.kind FROM code_files f JOIN code_symbols s ON s.file = f.n"
                " WHERE f.root = ? AND f.path IN ({})",
                paths,
                self._root,
            )
        }

    def bases(self, paths: Iterable[str]) -> set[tuple[str, str]]:
        """Return the (class, base class) pairs of these files."""
        return {
            (source, target)
            for source, target in self._database.select_in(
                "SELECT e.source, e.target FROM code_files f JOIN code_edges e ON e.file = f.n"
                " WHERE f.root = ? AND e.kind = ? AND f.path IN ({})",
                paths,
                self._root,
                EdgeKind.INHERITS.value,
            )
        }

    def tests(self) -> dict[str, bool]:
        """Return all qualified names, and whether each is a test."""
        rows = self._database.select(
            "SELECT qualified, is_test FROM code_symbols WHERE root = ?", (self._root,)
        )
        return {name: bool(is_test) for name, is_test in rows}

    def files_referring(self, names: Iterable[str]) -> set[str]:
        """Return the files that refer to any of these names, defined or not."""
        return {
            path
            for (path,) in self._database.select_in(
                "SELECT DISTINCT f.path FROM code_edges e JOIN code_files f ON f.n = e.file"
                " WHERE e.root = ? AND e.target IN ({})",
                names,
                self._root,
            )
        }

    def files_with_words(self, paths: Iterable[str], words: Iterable[str]) -> set[str]:
        """Return those of the files whose facts have any of these words, alone or after a dot."""
        wanted = b"|".join(re.escape(word.encode()) for word in words)
        told = re.compile(b'[".](?:' + wanted + b')"')
        return {
            path
            for path, data in self._database.select_in(
                "SELECT f.path, d.data FROM code_files f JOIN code_facts d ON d.file = f.n"
                " WHERE f.root = ? AND f.path IN ({})",
                paths if wanted else (),
                self._root,
            )
            if told.search(zlib.decompress(data))
        }

    def files_defining(self, names: Iterable[str]) -> set[str]:
        """Return the files that define any of these names."""
        return {
            path
            for (path,) in self._database.select_in(
                "SELECT DISTINCT f.path FROM code_symbols s JOIN code_files f ON f.n = s.file"
                " WHERE s.root = ? AND s.qualified IN ({})",
                names,
                self._root,
            )
        }

    def around(self, paths: Sequence[str], *, most: int) -> list[str]:
        """Return files with their neighbours in both directions, up to `most`, and further references.

        From the second step on only referenced files are added: other users of a file matter little.
        """
        numbers = dict.fromkeys(self._numbers(paths))
        edge = list(numbers)
        statements: tuple[str, ...] = (_REFERRED, _REFERRING)
        while edge and len(numbers) < most:
            found: dict[int, None] = {}
            for batch in batches(edge):
                for statement in statements:
                    rows = self._database.select_in(f"{statement} ({{}})", batch)
                    found.update(dict.fromkeys(sorted(number for (number,) in rows)))
            edge = [number for number in found if number not in numbers][: most - len(numbers)]
            numbers.update(dict.fromkeys(edge))
            statements = (_REFERRED,)
        return [
            path
            for (path,) in self._database.select_in("SELECT path FROM code_files WHERE n IN ({})", numbers)
        ]

    def _numbers(self, paths: Iterable[str]) -> list[int]:
        return [
            number
            for (number,) in self._database.select_in(
                "SELECT n FROM code_files WHERE root = ? AND path IN ({}) ORDER BY n",
                paths,
                self._root,
            )
        ]
