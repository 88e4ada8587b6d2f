"""Answer from code: where the names of a question are defined, who refers to them, and where else to look."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragmem.domain.code.code import Edge, EdgeKind, SymbolKind
from ragmem.domain.retrieval.routing_frames import Frame
from ragmem.services.code.search import CodePlace, search_code
from ragmem.services.code.shapes import edge_shape, symbol_shape
from ragmem.services.code.targets import INGEST
from ragmem.services.retrieval.question import Fact
from ragmem.storage.code.code import SymbolPlace
from ragmem.storage.code.overview import ReferenceCount, count_references
from ragmem.storage.fulltext.terms import STOP_WORDS
from ragmem.storage.home.catalog import Catalog

MOST_DEFINITIONS = 5
MOST_REFERENCES = 20
"""Maximum references of a definition in JSON."""

SHOWN_REFERENCES = 6
"""Maximum references of a definition in the output for people."""

MOST_TRIED = 3
MOST_PLACES = 10
"""Maximum ranked places of a project."""

_NOWHERE = ReferenceCount(0, 0)

_WORD = re.compile(r"[^\W\d]\w{2,}")
_ASKING = frozenset(
    (
        "call calls called calling caller callers use uses used using usage import imports imported inherit"
        " inherits inherited extend extends subclass subclasses function functions method methods class"
        " classes module modules file files code symbol symbols define defines defined definition implemented"
        " implementation depend depends dependents test tests tested cover covers break breaks change changes"
        " find show list all any purpose"
    ).split()
)
"""Words of questions about code that are not names in it."""


def names_in_code(catalog: Catalog, frame: Frame, *, projects: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a short question that the code of these projects (None: all) has.

    The result is empty if it lacks one of them. Ambiguous words are names if they are written like a class,
    or if the question has no other names.
    """
    roots = _roots(catalog, projects)

    def is_known(name: str) -> bool:
        return any(catalog.code.find(project, name) is not None for project in roots)

    if not all(map(is_known, frame.names)):
        return ()
    doubtful = [word for word in frame.instead if (not frame.names or word[:1].isupper()) and is_known(word)]
    classes = [word for word in doubtful if word[:1].isupper()]
    return (*frame.names, *(classes or doubtful[-1:]))


def _roots(catalog: Catalog, projects: Sequence[str] | None) -> list[str]:
    return [root.project for root in catalog.code.roots() if projects is None or root.project in projects]


def code_answer(
    catalog: Catalog,
    question: str,
    named: Sequence[str],
    *,
    projects: Sequence[str] | None,
    heirs: bool = False,
) -> tuple[list[Mapping[str, Any]], str]:
    """Return the code of these projects (None: all) for the names, and a note or "".

    If a question has no name by its form and at most MOST_TRIED words that tell something, each of these is
    tried; a longer one is a sentence, whose words are names by chance. With `heirs`, subclasses come before
    callers.
    """
    roots = _roots(catalog, projects)
    if not roots:
        return [], f"no code is known here: {INGEST}"
    words = [word for word in _WORD.findall(question) if word.lower() not in _ASKING | STOP_WORDS]
    tried = list(dict.fromkeys(named or (words if len(words) <= MOST_TRIED else ())))
    answers = [
        answer
        for project in roots
        for name in tried
        if (answer := _answer(catalog, project, name, heirs=heirs)) is not None
    ]
    note = ""
    if not answers and named:
        note = f"the code has no {', '.join(named)}; if it is new: {INGEST}"
    return catalog.redactor.redact_document(answers), note


def code_places(
    catalog: Catalog, question: str, *, projects: Sequence[str] | None, limit: int
) -> list[Mapping[str, Any]]:
    """Return the places in the code of these projects (None: all) that fit a question, best first."""
    found = [
        (place, project)
        for project in _roots(catalog, projects)
        for place in search_code(catalog, project, question, limit=min(limit, MOST_PLACES))
    ]
    found.sort(key=lambda one: -one[0].score)
    shapes = [_place_shape(place, project) for place, project in found[: min(limit, MOST_PLACES)]]
    return list(catalog.redactor.redact_document(shapes))


def _place_shape(place: CodePlace, project: str) -> dict[str, Any]:
    symbol = place.symbol.symbol if place.symbol else None
    return {
        "project": project,
        "file": place.path,
        "line": place.line,
        "end_line": place.end_line,
        "symbol": symbol.qualified if symbol else None,
        "kind": symbol.kind.value if symbol else None,
        "doc": symbol.doc if symbol else "",
        "purpose": place.purpose,
        "score": round(place.score, 4),
        "terms": dict(place.terms),
    }


def place_facts(places: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return the places as lines for people."""
    facts = []
    for one in places:
        said = one["doc"].partition("\n")[0] or (one["purpose"] and f"its file: {one['purpose']}")
        facts.append(Fact(f"{one['file']}:{one['line']}", f"{one['symbol'] or ''}  {said}".strip()))
    return tuple(facts)


def _answer(catalog: Catalog, project: str, name: str, *, heirs: bool) -> Mapping[str, Any] | None:
    found = catalog.code.find(project, name)
    if found is None:
        return None
    definitions = [one for one in found.symbols if not one.symbol.is_test] or list(found.symbols)
    if len(definitions) > 1:
        often = count_references(catalog.database, project, (one.symbol.qualified for one in definitions))
        definitions.sort(key=lambda one: -often.get(one.symbol.qualified, _NOWHERE).references)
    purposes = {file.path: file.purpose for file in catalog.code.files(project) if file.path in found.paths}
    return {
        "name": name,
        "project": project,
        "definitions": [
            _definition(catalog, project, one, heirs=heirs) | {"purpose": purposes.get(one.path, "")}
            for one in definitions[:MOST_DEFINITIONS]
        ],
        "definitions_total": len(definitions),
    }


def _definition(catalog: Catalog, project: str, located: SymbolPlace, *, heirs: bool) -> dict[str, Any]:
    name = located.symbol.qualified
    names = [name]
    if located.symbol.kind is SymbolKind.MODULE:
        names = [one.symbol.qualified for one in catalog.code.symbols(project, [located.path])]
    to = [edge for edge in catalog.code.edges_to(project, names) if _is_shown(edge, located)]
    away = [edge for edge in catalog.code.edges_from(project, [name]) if edge.kind is not EdgeKind.TESTS]
    to.sort(key=lambda edge: _place(edge, heirs=heirs))
    away.sort(key=lambda edge: (not edge.internal, _place(edge, heirs=heirs)))
    return symbol_shape(located) | {
        "referred_by": [edge_shape(edge) for edge in to[:MOST_REFERENCES]],
        "referred_by_total": len(to),
        "refers_to": [edge_shape(edge) for edge in away[:MOST_REFERENCES]],
        "refers_to_total": len(away),
    }


def _place(edge: Edge, *, heirs: bool) -> int:
    if heirs and edge.kind is EdgeKind.INHERITS:
        return 0
    return 2 if edge.kind is EdgeKind.IMPORTS else 1


def _is_shown(edge: Edge, located: SymbolPlace) -> bool:
    if edge.kind is EdgeKind.TESTS:
        return False
    return located.symbol.kind is not SymbolKind.MODULE or edge.path != located.path


def code_facts(answers: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return the answers as lines for people."""
    facts: list[Fact] = []
    for answer in answers:
        for one in answer["definitions"]:
            said = one["doc"].partition("\n")[0] or (one["purpose"] and f"its file: {one['purpose']}")
            place = f"{one['kind']}  {one['file']}:{one['line']}"
            facts.append(Fact(one["symbol"], f"{place}  {said}".rstrip()))
            for field, end, name in (
                ("referred_by", "source", "referred to by"),
                ("refers_to", "target", "refers to"),
            ):
                if one[field]:
                    facts.append(Fact(f"  {name}", _format_edges(one[field], end, one[f"{field}_total"])))
        more = answer["definitions_total"] - len(answer["definitions"])
        if more:
            facts.append(Fact(f"  {answer['name']}", f"{more} more of this name"))
    return tuple(facts)


def _format_edges(edges: Sequence[Mapping[str, Any]], end: str, total: int) -> str:
    places: dict[str, str] = {}
    for edge in edges:
        places.setdefault(edge[end], f"{edge[end]} ({edge['kind']}, {edge['file']}:{edge['line']})")
    listed = "; ".join(list(places.values())[:SHOWN_REFERENCES])
    return f"{listed}; {total:,} in all" if len(places) > SHOWN_REFERENCES else listed
