"""Reads what the texts of memories mention of one project's code."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from ragmem.catalog.catalog import Catalog
from ragmem.domain.code import SymbolKind
from ragmem.domain.code_mentions import Mention, in_line, mentions
from ragmem.domain.code_names import Known, Meant, Names, meant

NOTHING = Meant({}, {})


class Reader:
    """Reads texts; the project's names are looked up as they are met."""

    def __init__(self, catalog: Catalog, project: str) -> None:
        self._code, self._project = catalog.code, project
        self._met: set[str] = set()
        self._symbols: dict[str, list[Known]] = {}
        self._files: dict[str, list[str]] = {}
        self._former: dict[str, str] = {}
        self._roots = [root.root for root in self._code.roots() if root.project == project]
        self._renamed: dict[str, list[str]] = {}
        for rename in self._code.renames(project):
            self._renamed.setdefault(rename.old.rpartition("/")[2], []).append(rename.old)

    @property
    def names(self) -> Names:
        """What the project calls its code, as far as it was looked up."""
        return Names(self._symbols, self._files, self._former, self._roots)

    def meet(self, names: Iterable[str]) -> None:
        """Look up which symbols and files have these names, and which files had them."""
        new = [name for name in dict.fromkeys(names) if name not in self._met]
        self._met.update(new)
        for one in self._code.symbols_called(self._project, new):
            symbol = one.symbol
            known = Known(symbol.qualified, one.path, symbol.kind is SymbolKind.MODULE, symbol.is_test)
            self._symbols.setdefault(symbol.name, []).append(known)
        for path in self._code.paths_called(self._project, new):
            self._files.setdefault(path.rpartition("/")[2], []).append(path)
        for old in (old for name in new for old in self._renamed.get(name, ())):
            if current := self._code.current(self._project, old):
                self._former[old] = current

    def read(self, title: str, text: str, *, own: bool) -> Meant:
        """Return all that a text mentions; its title is line 0."""
        found = [Mention(one.text, one.line - 1, is_path=one.is_path) for one in mentions(f"{title}\n{text}")]
        self.meet(one.last for one in found)
        return meant(found, self.names, own=own)

    def read_for(self, title: str, text: str, sought: "Sought", *, own: bool) -> Meant:
        """Return what `read` does of what is sought, quickly: only lines with its names are looked at."""
        if not sought.pattern.search(title) and not sought.pattern.search(text):
            return NOTHING
        found = [
            mention
            for number, line in enumerate(f"{title}\n{text}".splitlines())
            if sought.pattern.search(line)
            for mention in in_line(line, number)
            if mention.last in sought.names
        ]
        if not found:
            return NOTHING
        # Which of several symbols of one name is meant, the rest of the text tells.
        if any(self._is_one_of_several(one.last, sought) for one in found if not one.is_path):
            return sought.of(self.read(title, text, own=own))
        self.meet(sought.names)
        return sought.of(meant(found, self.names, own=own))

    def _is_one_of_several(self, name: str, sought: "Sought") -> bool:
        known = self._symbols.get(name, ())
        return len(known) > 1 and any(
            one.qualified in sought.symbols or one.path in sought.files for one in known
        )


class Sought:
    """The symbols (qualified names) and files (paths) that are looked for, by the names they go by."""

    def __init__(self, names: Iterable[str], symbols: AbstractSet[str], files: AbstractSet[str]) -> None:
        self.names, self.symbols, self.files = frozenset(names), symbols, files
        longest_first: Sequence[str] = sorted(self.names, key=lambda name: (-len(name), name))
        self.pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def of(self, found: Meant) -> Meant:
        """Return what is sought of what was found."""
        return Meant(
            {path: lines for path, lines in found.files.items() if path in self.files},
            {name: lines for name, lines in found.symbols.items() if name in self.symbols},
        )
