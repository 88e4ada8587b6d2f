"""The styles of an OpenDocument file: names and properties of paragraphs, and the labels of lists."""

import re
from dataclasses import dataclass, field
from typing import Any

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.package import every, local, value, whole
from ragmem.readers.documents.formats.word.word_styles import numeral

_HEADING = re.compile(r"heading ([1-9])")
_SPACE = re.compile(r"_20_")
_LONGEST_CHAIN = 20
_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MOST_LEVELS = 10


@dataclass(slots=True)
class Styles:
    """The styles by family and name, those of lists by name; `root` is the file of the styles."""

    root: Any
    _styles: dict[tuple[str, str], Any] = field(default_factory=dict)
    _lists: dict[str, dict[int, Any]] = field(default_factory=dict)
    _settings: dict[tuple[str, str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Any, content: Any) -> "Styles":
        """Return the styles of a file; those in its content replace common ones of the same name."""
        found = cls(root)
        for holder in (root, content):
            for style in every(holder, "style"):
                found._styles[value(style, "family"), value(style, "name")] = style
            for style in every(holder, "list-style", "outline-style"):
                name = value(style, "name") if local(style) == "list-style" else ""
                found._lists[name] = {whole(value(each, "level"), 1): each for each in style}
        return found

    def chain(self, family: str, name: str) -> list[Any]:
        """Return a style and those from which it inherits."""
        found: list[Any] = []
        while (style := self._styles.get((family, name))) is not None and len(found) < _LONGEST_CHAIN:
            found.append(style)
            name = value(style, "parent-style-name")
        return found

    def names(self, name: str) -> list[str]:
        """Return the names of a paragraph style and of those from which it inherits, in lower case."""
        chain = self.chain("paragraph", name)
        # The last one may be built into the program.
        found = [value(each, "name") for each in chain]
        found.append(value(chain[-1], "parent-style-name") if chain else name)
        return [_SPACE.sub(" ", each).lower() for each in found]

    def setting(self, family: str, name: str, key: str) -> str:
        """Return a property of the text in a style, such as its font; empty if it is not set."""
        asked = family, name, key
        if asked not in self._settings:
            held = (each for style in self.chain(family, name) for each in every(style, "text-properties"))
            self._settings[asked] = next(filter(None, (value(each, key) for each in held)), "")
        return self._settings[asked]

    def is_monospaced(self, family: str, name: str) -> bool | None:
        """Return whether a style has a monospaced font; None if it sets no font."""
        font = self.setting(family, name, "font-name") or self.setting(family, name, "font-family")
        return bool(marks.MONOSPACED.search(font)) if font else None

    def outline(self, name: str) -> int:
        """Return the level of a heading's style; 0 for the style of a paragraph."""
        for style in self.chain("paragraph", name):
            if level := whole(value(style, "default-outline-level"), 0):
                return level
        return next((int(found[1]) for each in self.names(name) if (found := _HEADING.fullmatch(each))), 0)

    def is_in_outline(self, name: str) -> bool:
        """Return whether a heading of this style is numbered with the outline."""
        for style in self.chain("paragraph", name):
            if (found := value(style, "list-style-name", "-")) != "-":
                return bool(found)
        return True

    def level(self, name: str, level: int) -> Any:
        """Return a level of a list style, or of the outline for an empty name; None for an unknown one."""
        return self._lists.get(name, {}).get(level)


@dataclass(slots=True)
class Counter:
    """The numbers of a list so far, by its levels from 1."""

    counts: dict[int, int] = field(default_factory=dict)

    def next(self, styles: Styles, name: str, level: int, start: str = "") -> str:
        """Return the label of the next item on a level: "2.1", empty for a bullet."""
        for deeper in [each for each in self.counts if each > level]:
            del self.counts[deeper]
        rule = styles.level(name, level)
        first = whole(start or (value(rule, "start-value") if rule is not None else ""), 1)
        self.counts[level] = first if start or level not in self.counts else self.counts[level] + 1
        form = value(rule, "num-format") if rule is not None else ""
        if not form:
            return ""
        depth = min(max(whole(value(rule, "display-levels"), 1), 1), _MOST_LEVELS)
        numbers = []
        for each in range(max(level - depth + 1, 1), level + 1):
            above = styles.level(name, each)
            shape = value(above, "num-format") if above is not None else ""
            if shape:
                numbers.append(numeral(self.counts.get(each, 1), _FORMS.get(shape, "")))
        return f"{value(rule, 'num-prefix')}{'.'.join(numbers)}{value(rule, 'num-suffix')}".strip()
