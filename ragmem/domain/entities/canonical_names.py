"""Choose the node of each name: its own, that of its head, or that of an alias."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from ragmem.domain.entities.aliases import ACRONYM, ALIAS, USER_CHOICE
from ragmem.domain.entities.resolution import CODE, Name, compatible, heads, rule_of
from ragmem.frozen import dataclass

STATEMENTS = frozenset((ACRONYM, ALIAS, USER_CHOICE))
"""Rules by which a text or a user states that two names are one."""


@dataclass(frozen=True, slots=True)
class CatalogName:
    """A name of the catalog; the rules in `apart` must not join it; `order` is its number."""

    name: str
    types: frozenset[str]
    order: int
    apart: AbstractSet[str]
    form: str
    canonical: str


@dataclass(frozen=True, slots=True)
class AliasForm:
    """A statement that names with these two forms are one."""

    short: str
    long: str
    rule: str


@dataclass(frozen=True, slots=True)
class Node:
    """The name of a node, its head form, and the rule by which this name differs from it."""

    head: str
    canonical: str
    rule: str


def choose_nodes(
    known: Sequence[CatalogName], statements: Sequence[AliasForm], mentions: Callable[[int], int]
) -> dict[str, Node]:
    """Return the node of each name, given all names of these forms and all alias statements about them.

    An acronym with two meanings joins neither, and things of different type families are never joined. If
    several names share a node, its name is the one that a user chose, else its current one, else the one with
    the most `mentions` (by number), else the first.
    """
    groups: dict[str, list[list[Name]]] = {}
    head_of: dict[str, str] = {}
    for form in dict.fromkeys(one.form for one in known):
        names = [_name(one) for one in known if one.form == form]
        found = heads(names)
        head_of |= found
        gathered: dict[str, list[Name]] = {}
        for name in sorted(names, key=lambda name: name.order):
            gathered.setdefault(found[name.name], []).append(name)
        groups[form] = [
            group for group in gathered.values() if any(name.family not in {CODE, "file"} for name in group)
        ]
    apart = {head_of[one.name] for one in known if not STATEMENTS.isdisjoint(one.apart)}
    joined, rule_for = _statement_groups(groups, head_of, apart, statements)
    preferred = _preferred_heads(groups, head_of, statements)
    orders = {one.name: one.order for one in known}
    canonical_of = {one.name: one.canonical for one in known}
    node_of = {}
    for head, together in joined.items():
        if compatible(together):
            members = sorted({head_of[name.name] for name in together}, key=lambda name: orders[name])
            node_of[head] = next(
                (member for member in members if member in preferred),
                _preferred_name(members, canonical_of, orders, mentions),
            )
    nodes = {}
    for one in known:
        head = head_of[one.name]
        canonical = node_of.get(head, head)
        rule = rule_of(one.name, head) if one.name != head else rule_for.get(head, "")
        nodes[one.name] = Node(head, canonical, rule if canonical != one.name else "")
    return nodes


def _name(one: CatalogName) -> Name:
    return Name(one.name, one.types, one.order, apart=not STATEMENTS.issuperset(one.apart))


def _statement_groups(
    groups: Mapping[str, Sequence[Sequence[Name]]],
    head_of: Mapping[str, str],
    apart: AbstractSet[str],
    statements: Sequence[AliasForm],
) -> tuple[dict[str, list[Name]], dict[str, str]]:
    """Return head -> all names that alias statements join with it, and head -> the rule of the statement."""
    longs: dict[str, set[str]] = {}
    for one in statements:
        if one.rule == ACRONYM:
            longs.setdefault(one.short, set()).add(one.long)
    joined: dict[str, list[Name]] = {}
    rules: dict[str, str] = {}
    for one in statements:
        short, long = groups.get(one.short, ()), groups.get(one.long, ())
        if len(longs.get(one.short, ())) > 1 or len(short) != 1 or len(long) != 1:
            continue
        ends = [head_of[group[0].name] for group in (short[0], long[0])]
        if apart.isdisjoint(ends):
            together = [*joined.get(ends[0], short[0]), *joined.get(ends[1], long[0])]
            for name in together:
                joined[head_of[name.name]] = together
            for end in ends:
                rules.setdefault(end, one.rule)
    return joined, rules


def _preferred_heads(
    groups: Mapping[str, Sequence[Sequence[Name]]],
    head_of: Mapping[str, str],
    statements: Sequence[AliasForm],
) -> set[str]:
    """Return the heads that alias statements prefer, except those that are replaced themselves."""
    choices = [one for one in statements if one.rule == USER_CHOICE]
    left = {one.short for one in choices}
    return {
        head_of[name.name]
        for one in choices
        if one.long not in left
        for group in groups.get(one.long, ())
        for name in group
    }


def _preferred_name(
    members: Sequence[str],
    canonical_of: Mapping[str, str],
    orders: Mapping[str, int],
    mentions: Callable[[int], int],
) -> str:
    for one in members:
        if canonical_of[one] == one and any(canonical_of[other] == one for other in members if other != one):
            return one
    return max(members, key=lambda name: (mentions(orders[name]), -orders[name]))
