"""Read the mentions of one project's code in the texts of memories."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from ragmem.domain.code.code import Symbol, SymbolKind
from ragmem.domain.code.mentions import Mention, candidate_lines, is_distinctive, line_mentions, mentions
from ragmem.domain.code.names import (
    NEAR,
    MentionTargets,
    Names,
    ProjectSymbol,
    candidates_of,
    needs_context,
    resolve_mentions,
)
from ragmem.domain.code.qualified_names import parts_of
from ragmem.storage.code.overview import test_code
from ragmem.storage.home.catalog import Catalog

NOTHING = MentionTargets({}, {})

FEW = 20
"""Maximum symbols that are also searched by names that are words; beyond it, with a qualifier only."""

MOST = 300
"""Maximum symbols per search; a file with more is generated."""


class MentionReader:
    """Reads texts; the project's names are looked up as they occur."""

    def __init__(self, catalog: Catalog, project: str) -> None:
        self._database, self._code, self._project = catalog.database, catalog.code, project
        self._met: set[str] = set()
        self._symbols: dict[str, list[ProjectSymbol]] = {}
        self._files: dict[str, list[str]] = {}
        self._former: dict[str, str] = {}
        self._roots = [root.root for root in self._code.roots() if root.project == project]
        self._renamed: dict[str, list[str]] = {}
        for rename in self._code.renames(project):
            self._renamed.setdefault(rename.old.rpartition("/")[2], []).append(rename.old)

    @property
    def names(self) -> Names:
        """The known names of the project's code."""
        return Names(self._symbols, self._files, self._former, self._roots)

    def meet(self, names: Iterable[str]) -> None:
        """Look up the symbols and files with these names, and the files that had them."""
        new = [name for name in dict.fromkeys(names) if name not in self._met]
        self._met.update(new)
        symbols = self._code.symbols_called(self._project, new)
        tests = test_code(self._database, self._project, (one.path for one in symbols))
        for one in symbols:
            symbol = one.symbol
            known = ProjectSymbol(
                symbol.qualified,
                one.path,
                is_module=symbol.kind is SymbolKind.MODULE,
                is_test=symbol.is_test or any(symbol.line in lines for lines in tests.get(one.path, ())),
                is_method=symbol.kind is SymbolKind.METHOD,
            )
            self._symbols.setdefault(symbol.name, []).append(known)
        for path in self._code.paths_called(self._project, new):
            self._files.setdefault(path.rpartition("/")[2], []).append(path)
        for old in (old for name in new for old in self._renamed.get(name, ())):
            if current := self._code.current(self._project, old):
                self._former[old] = current

    def read(self, title: str, text: str, *, own: bool) -> MentionTargets:
        """Return all mentions in a text; its title is line 0."""
        found = list(mentions(f"{_one_line(title)}\n{text}"))
        self.meet(one.last for one in found)
        return _from_title(resolve_mentions(found, self.names, own=own))

    def read_for(
        self, title: str, text: str, sought: "SearchTargets", names: Iterable[str], *, own: bool
    ) -> MentionTargets:
        """Return the mentions in `read` of the targets, if the text may have these of its names.

        Only the lines with these names are looked at, and those around a name that several symbols have.
        """
        whole = f"{_one_line(title)}\n{text}"
        numbers = set().union(*(candidate_lines(whole, name) for name in names))
        if not numbers:
            return NOTHING
        lines = whole.split("\n")
        found = [
            mention
            for number in sorted(numbers)
            for mention in line_mentions(lines[number - 1], number)
            if mention.last in sought.lasts
        ]
        if not found:
            return NOTHING
        around = {
            number
            for one in found
            if not one.is_path and self._is_open(one, sought, own=own)
            for number in range(max(1, one.line - NEAR), min(len(lines), one.line + NEAR) + 1)
        }
        if around:
            found = [one for one in found if one.line not in around]
            found += [one for number in around for one in line_mentions(lines[number - 1], number)]
            self.meet(one.last for one in found)
        return sought.of(_from_title(resolve_mentions(found, self.names, own=own)))

    def _is_open(self, mention: Mention, sought: "SearchTargets", *, own: bool) -> bool:
        may_be = candidates_of(mention, self.names, own=own)
        return needs_context(mention, may_be) and any(
            one.qualified in sought.symbols or one.path in sought.files for one in may_be
        )


class SearchTargets:
    """The symbols and files to search for, and the strings to search by: names, or suffixes of them."""

    def __init__(self, symbols: Iterable[Symbol], files: AbstractSet[str], file_names: Iterable[str]) -> None:
        every = list(symbols)
        few = len(every) <= FEW
        self.symbols = {one.qualified for one in every}
        self.files = files
        self.texts = {*file_names, *(text for one in every[:MOST] for text in _texts_of(one, few=few))}
        self.lasts = {*file_names, *(one.name for one in every)}

    def of(self, found: MentionTargets) -> MentionTargets:
        """Return the mentions of the targets only."""
        return MentionTargets(
            {path: lines for path, lines in found.files.items() if path in self.files},
            {name: lines for name, lines in found.symbols.items() if name in self.symbols},
        )


def _texts_of(symbol: Symbol, *, few: bool) -> list[str]:
    """Return the strings that mention a symbol; with a qualifier if its name is only a word."""
    if is_distinctive(symbol.name):
        return [symbol.name]
    if few and symbol.kind is not SymbolKind.MODULE:
        return [symbol.name]
    around = parts_of(symbol.qualified)[-2:]
    # In the syntax of its language, or with a dot.
    return [mark.join(around) for mark in {".", *re.findall(r"::|#", symbol.qualified)}]


def _one_line(title: str) -> str:
    return title.replace("\n", " ")


def _from_title(found: MentionTargets) -> MentionTargets:
    """Return line numbers that count the title as 0."""
    return MentionTargets(
        {path: [line - 1 for line in lines] for path, lines in found.files.items()},
        {name: [line - 1 for line in lines] for name, lines in found.symbols.items()},
    )
