"""Link the files of a project's code: all of them, or those that a change can affect."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile
from ragmem.domain.code.edges import edges_by_file
from ragmem.domain.code.linker import link
from ragmem.domain.python.code import link_python
from ragmem.readers.code import language_of
from ragmem.services.code.on_disk import CodeOnDisk
from ragmem.storage.code.code_writer import CodeWriter, FileState, RootState

PYTHON = "python"

WHOLE_BYTES = 500_000
"""Limit of Python code that is always linked as a whole: about a second of one core."""

NEIGHBOURS = 150
"""Limit of files that are linked together after a change in a larger project, about a second."""


@dataclass(frozen=True, slots=True)
class LinkedEdges:
    """Path -> edges, for all files whose edges may differ; `files` are all of the project, or none."""

    edges: Mapping[str, list[Edge]]
    files: Sequence[ParsedFile] = ()


def relink(
    writing: CodeWriter,
    standing: RootState,
    known: Mapping[str, FileState],
    disk: CodeOnDisk,
    gone: Sequence[str],
    *,
    whole: bool,
) -> LinkedEdges:
    """Return the edges after a change: of the changed files, and of those that refer to them.

    In a large Python project values are followed only to the neighbours of the changes, so that some calls
    through values from distant files are missed. Other languages, whose linking is fast, are linked as a
    whole if any of their files changed.
    """
    changed = {*disk.parsed, *gone}
    size = sum(seen.size for path, seen in known.items() if language_of(path) == PYTHON)
    if whole or size <= WHOLE_BYTES:
        return _relink_all(writing, standing, disk, changed)
    near = _Neighbourhood(writing, standing, disk, gone)
    core = near.core()
    if len(core) > NEIGHBOURS:
        return _relink_all(writing, standing, disk, changed)
    edges = near.python(core)
    if any(language_of(path) != PYTHON for path in changed):
        edges |= near.others()
    return LinkedEdges(edges)


def link_files(files: Sequence[ParsedFile]) -> list[Edge]:
    """Return the edges of all files of a project, each language linked by its own rules."""
    python = [file for file in files if file.language == PYTHON]
    return [*link_python(python), *link([file for file in files if file.language != PYTHON])]


def _relink_all(writing: CodeWriter, standing: RootState, disk: CodeOnDisk, changed: set[str]) -> LinkedEdges:
    stored = (
        writing.parsed_files(standing, wanted=lambda path: path not in changed) if standing.number else ()
    )
    files = sorted([*stored, *disk.parsed.values()], key=lambda file: file.path)
    return LinkedEdges(edges_by_file(files, link_files(files)), files)


class _Neighbourhood:
    """The changed files of a large project, and the stored files near them."""

    def __init__(
        self, writing: CodeWriter, standing: RootState, disk: CodeOnDisk, gone: Sequence[str]
    ) -> None:
        self.writing, self.standing = writing, standing
        self.stored = writing.neighbours(standing)
        self.changed = {*disk.parsed, *gone}
        self.parsed = disk.parsed
        self.fresh = [file for path, file in disk.parsed.items() if language_of(path) == PYTHON]
        self.python_changed = {path for path in self.changed if language_of(path) == PYTHON}
        self.before = self.stored.definitions(self.python_changed)
        self.tests = self._tests()

    def core(self) -> set[str]:
        """Return the changed Python files, and those that refer to new or deleted symbols."""
        after = {(symbol.qualified, symbol.kind.value) for file in self.fresh for symbol in file.symbols}
        differing = {name for name, _ in self.before ^ after}
        if not differing:
            return self._with_references(())
        # An import of a missing name refers to the module only, and names it.
        importing = self._with_references(file.module for file in self.fresh)
        words = {name.rpartition(".")[2] for name in differing}
        return self._with_references(differing) | self.stored.files_with_words(
            importing - self.changed, words
        )

    def python(self, core: set[str]) -> dict[str, list[Edge]]:
        """Return the edges of these files, and of files that refer to changed ones with changed bases."""
        if not core:
            return {}
        edges = self._link(core)
        inherits = {
            (edge.source, edge.target)
            for path in self.python_changed
            for edge in edges.get(path, ())
            if edge.kind is EdgeKind.INHERITS
        }
        if inherits != self.stored.bases(self.python_changed):
            core = self._with_references({name for name, _ in self.before})
            edges = self._link(core)
        return edges

    def others(self) -> dict[str, list[Edge]]:
        """Return the edges of all files in other languages."""
        files = self._files(lambda path: language_of(path) != PYTHON)
        return dict(edges_by_file(files, link(files)))

    def _with_references(self, names: Iterable[str]) -> set[str]:
        referring = {path for path in self.stored.files_referring(names) if language_of(path) == PYTHON}
        return {file.path for file in self.fresh} | (referring - self.changed)

    def _link(self, core: set[str]) -> dict[str, list[Edge]]:
        # The changed files may have new imports.
        names = {edge.target for edge in link_python(self.fresh)}
        names |= {name.rpartition(".")[0] for name in names}
        seeds = [*sorted(core), *sorted(self.stored.files_defining(names) - core)]
        around = set(self.stored.around(seeds, most=NEIGHBOURS))
        around |= self.python_changed
        files = self._files(lambda path: path in around and language_of(path) == PYTHON)
        edges = edges_by_file(files, link_python(files, of=core), tests=self.tests)
        return {path: edges[path] for path in core}

    def _files(self, wanted: Callable[[str], bool]) -> list[ParsedFile]:
        """Return the stored files, and the current state of the changed ones."""
        stored = self.writing.parsed_files(
            self.standing, wanted=lambda path: path not in self.changed and wanted(path)
        )
        fresh = [file for path, file in self.parsed.items() if wanted(path)]
        return sorted([*stored, *fresh], key=lambda file: file.path)

    def _tests(self) -> dict[str, bool]:
        """Return all current qualified names of the project, and whether each is a test."""
        gone = {name for name, _ in self.stored.definitions(self.changed)}
        tests = {name: test for name, test in self.stored.tests().items() if name not in gone}
        fresh = {symbol.qualified: symbol.is_test for file in self.parsed.values() for symbol in file.symbols}
        return tests | fresh
