"""A user's rules for an assistant: rules with patterns, and rules for a language model."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragmem.domain.text.blocks import BlockType, blocks
from ragmem.errors import ConfigError

MAX_RULES = 200
MAX_STATEMENT = 300
"""Maximum characters of a rule's statement, because it is injected and listed."""

MAX_EXCERPT = 200
"""Maximum characters of an excerpt with a violation."""

_PATTERN = re.compile(r"`(?P<literal>[^`\n]+)`|/(?P<regex>(?:\\.|[^/\\\n])+)/")
_ITEM = re.compile(r"^[ \t]{0,8}(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<said>\S.*)$", re.MULTILINE)
_NAME_PREFIX = re.compile(
    r"^(?:\*\*(?P<bold>[^*\n]{1,60}?):?\*\*:?|(?!judge:)(?P<plain>[a-z0-9][a-z0-9-]{0,40}):)[ \t]+(?=\S)"
)
_KEYWORD = re.compile(
    r"(?P<verb>judge:|(?:never|always|do not|don't|don\u2019t|must not|must|avoid)\b):?[ \t]*", re.IGNORECASE
)
_EMPHASIS = re.compile(r"^(?P<mark>\*\*|__|\*|_)(?P<said>\S.*?)(?P=mark)")
_NEVER = frozenset({"never", "do not", "don't", "don\u2019t", "must not", "avoid"})
_WHEN = re.compile(r"\b(when|if|unless)\b", re.IGNORECASE)
# Words that may be between the patterns of a rule.
_FILLING = frozenset(
    "say says saying write writes use uses mention mentions contain contains name names the text it and or a"
    " an".split()
)
_SENTENCE_END = re.compile(r"[.!?]+(?=\s)|\n")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Without patterns a language model must judge it.

    A match of any `never` breaks the rule, and so does the absence of all `always`. The rule applies if one
    of `when` matches (if there are any) and none of `unless` does.
    """

    name: str
    statement: str
    never: tuple[re.Pattern[str], ...] = ()
    always: tuple[re.Pattern[str], ...] = ()
    when: tuple[re.Pattern[str], ...] = ()
    unless: tuple[re.Pattern[str], ...] = ()
    in_code: bool = False
    """Whether fenced code is checked as well."""

    @property
    def by_text(self) -> bool:
        """Return whether patterns alone decide."""
        return bool(self.never or self.always)


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule; the excerpt is a part of the text, perhaps truncated."""

    rule: str
    statement: str
    excerpt: str


def read_markdown(text: str) -> list[Rule]:
    """Return the rules in the lists of a Markdown text: items that begin with never, always or judge.

    Sentences of `never` or `always` with only patterns (`literal` in backticks, /regular expression/), "or",
    "when" and "unless" are checked by pattern, any other by a language model. Other items, code and prose are
    not rules. Raises ConfigError for an invalid pattern, and for too many rules.
    """
    found: dict[str, Rule] = {}
    for item in _ITEM.finditer(_prose(text)):
        said = item["said"].strip()
        named = _NAME_PREFIX.match(said)
        if named and (rule := _of_sentence((named["bold"] or named["plain"]).strip(), said[named.end() :])):
            _add(found, rule, named=True)
        # Emphasis at the beginning may mark the keyword: `**Never** push`.
        elif rule := _of_sentence("", _EMPHASIS.sub(r"\g<said>", said)):
            _add(found, rule)
    return list(found.values())


def read_tables(document: Mapping[str, Any]) -> list[Rule]:
    """Return the rules of a TOML document: its [[rule]] tables.

    Keys: name, statement, never, always, when, unless (a literal, a /regular expression/, or a list of them),
    judge (a sentence), in_code. Raises ConfigError for anything else.
    """
    found: dict[str, Rule] = {}
    tables = document.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError('"rule" must be a list of tables', hint="begin each rule with [[rule]]")
    for number, table in enumerate(tables, start=1):
        _add(found, _of_table(table, number), named=bool(str(table.get("name", "")).strip()))
    return list(found.values())


def violations(text: str, rules: Sequence[Rule]) -> list[Violation]:
    """Return the violations of the rules with patterns in a text, in the order of the rules, each once."""
    prose = _prose(text)
    found = []
    for rule in rules:
        checked = text if rule.in_code else prose
        if rule.by_text and checked.strip() and (at := _find_violation(rule, checked)) is not None:
            found.append(Violation(rule.name, rule.statement, excerpt(checked, at)))
    return found


def excerpt(text: str, at: int) -> str:
    """Return the sentence around a position of a text, in one line."""
    least = max(0, at - MAX_EXCERPT // 2)
    start = max((match.end() for match in _SENTENCE_END.finditer(text, least, at)), default=least)
    end = _SENTENCE_END.search(text, at, at + 2 * MAX_EXCERPT)
    line = " ".join(text[start : end.end() if end else at + 2 * MAX_EXCERPT].split())
    return line if len(line) <= MAX_EXCERPT else f"{line[: MAX_EXCERPT - 1].rstrip()}\u2026"


def _prose(text: str) -> str:
    """Return a text without its fenced code."""
    return "\n".join(
        text[block.start : block.end] for block in blocks(text) if block.form is not BlockType.FENCE
    )


def _find_violation(rule: Rule, text: str) -> int | None:
    """Return where a text breaks a rule, None if it does not."""
    if any(pattern.search(text) for pattern in rule.unless):
        return None
    occasions = [match.start() for pattern in rule.when if (match := pattern.search(text))]
    if rule.when and not occasions:
        return None
    for pattern in rule.never:
        if match := pattern.search(text):
            return match.start()
    if rule.always and not any(pattern.search(text) for pattern in rule.always):
        return min(occasions, default=len(text) - len(text.lstrip()))
    return None


def _of_sentence(name: str, said: str) -> Rule | None:
    keyword = _KEYWORD.match(said)
    if keyword is None:
        return None
    verb = keyword["verb"].lower().rstrip(":")
    rest = said[keyword.end() :]
    statement = _shorten(rest if verb == "judge" else said)
    name = name or _name_of(statement)
    if verb != "judge" and _PATTERN.search(rest) and _has_only_patterns(rest):
        sides: dict[str, list[re.Pattern[str]]] = {"": [], "when": [], "unless": []}
        side = ""
        at = 0
        for match in _PATTERN.finditer(rest):
            for word in _WHEN.findall(rest[at : match.start()]):
                side = "unless" if word.lower() == "unless" else "when"
            sides[side].append(_compile(match["literal"], match["regex"], name))
            at = match.end()
        own = tuple(sides[""])
        if own:
            return Rule(
                name,
                statement,
                never=own if verb in _NEVER else (),
                always=() if verb in _NEVER else own,
                when=tuple(sides["when"]),
                unless=tuple(sides["unless"]),
            )
    return Rule(name, statement)


def _has_only_patterns(rest: str) -> bool:
    """Return whether the rule consists of patterns and the words between them only."""
    words = _WHEN.sub(" ", _PATTERN.sub(" ", rest)).replace(",", " ").replace(".", " ").split()
    return all(word.lower() in _FILLING for word in words)


_KEYS = frozenset({"name", "statement", "never", "always", "when", "unless", "judge", "in_code"})


def _of_table(table: Mapping[str, Any], number: int) -> Rule:
    name = str(table.get("name", "")).strip()
    what = f'rule "{name}"' if name else f"rule {number}"
    if unknown := sorted(set(table) - _KEYS):
        raise ConfigError(
            f'{what} has an unknown key "{unknown[0]}"', hint=f"keys: {', '.join(sorted(_KEYS))}"
        )
    sides = {
        key: tuple(_patterns(table.get(key, ()), what, key)) for key in ("never", "always", "when", "unless")
    }
    judged = table.get("judge", "")
    if not isinstance(judged, str) or not isinstance(table.get("in_code", False), bool):
        raise ConfigError(
            f"{what}: judge must be a sentence, and in_code true or false", hint='judge = "..."'
        )
    if bool(judged.strip()) == bool(sides["never"] or sides["always"]):
        raise ConfigError(f"{what} must have exactly one of never, always and judge", hint='never = "..."')
    statement = _shorten(str(table.get("statement", "")) or judged or _rule_text(table))
    return Rule(name or _name_of(statement), statement, **sides, in_code=table.get("in_code", False))


def _rule_text(table: Mapping[str, Any]) -> str:
    parts = []
    for key in ("never", "always", "when", "unless"):
        value = table.get(key)
        if value:
            listed = [value] if isinstance(value, str) else value
            parts.append(f"{key} " + " or ".join(f"`{one}`" for one in listed))
    return " ".join(parts)


def _patterns(value: Any, what: str, key: str) -> Iterator[re.Pattern[str]]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) and one for one in listed):
        raise ConfigError(f"{what}: {key} must be a text or a list of texts", hint=f'{key} = ["..."]')
    for one in listed:
        is_regex = len(one) > 2 and one.startswith("/") and one.endswith("/")
        yield _compile(None, one[1:-1], what) if is_regex else _compile(one, None, what)


def _compile(literal: str | None, regex: str | None, what: str) -> re.Pattern[str]:
    if literal is not None:
        if not literal.strip():
            raise ConfigError(f"{what}: a pattern is blank", hint="write the text to find")
        # Match whole words only, if the literal begins and ends with a letter.
        before = r"(?<!\w)" if literal[0].isalnum() else ""
        after = r"(?!\w)" if literal[-1].isalnum() else ""
        return re.compile(before + r"\s+".join(map(re.escape, literal.split())) + after, re.IGNORECASE)
    try:
        return re.compile(regex or "", re.IGNORECASE)
    except re.error as error:
        raise ConfigError(
            f"{what}: /{regex}/ is not a regular expression: {error}",
            hint="write a `literal` in backticks instead",
        ) from error


def _add(found: dict[str, Rule], rule: Rule, *, named: bool = False) -> None:
    if rule.name in found and named:
        raise ConfigError(f'two rules are named "{rule.name}"', hint="name each: `- **name**: never ...`")
    name, number = rule.name, 1
    while rule.name in found:
        number += 1
        rule = replace(rule, name=f"{name}-{number}")
    found[rule.name] = rule
    if len(found) > MAX_RULES:
        raise ConfigError(f"more than {MAX_RULES} rules", hint="keep those that matter")


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_STATEMENT else f"{line[: MAX_STATEMENT - 1].rstrip()}\u2026"


def _name_of(statement: str) -> str:
    words = re.findall(r"[^\W_]+", statement.lower())
    return "-".join(words[:8])[:60] or "rule"
