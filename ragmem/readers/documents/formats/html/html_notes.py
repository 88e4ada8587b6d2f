"""Find the notes of a web page or e-book, by their roles and by the links that lead to them."""

import re
from collections.abc import Iterable
from typing import Any

from ragmem.readers.documents.formats.html.html_inline import place
from ragmem.readers.documents.formats.html.html_tree import elements, local, roles, tokens

_NOTE_ROLES = frozenset({"footnote", "endnote", "rearnote", "note", "doc-footnote", "doc-endnote"})
_PLACES = re.compile(r"foot-?notes?|end-?notes?|rearnotes?|^references$|^notes$|^reflist$")
_HOLDERS = frozenset({"li", "p", "div", "dd", "aside", "td", "section"})
_MARK = re.compile(r"[\[(]?(?:\d{1,4}|[a-z]{1,2}|[*†‡§]{1,3})[\])]?")


def find_notes(roots: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the elements of the notes that are referenced, by their addresses (`file#id`).

    `roots` are the files of a book with their paths, or one page with an empty path.
    """
    roots = list(roots)
    found: dict[str, Any] = {}
    for here, root in roots:
        for node in root.iter():
            identity = (
                node.get("id") or (node.get("name") if local(node) == "a" else None) if local(node) else None
            )
            if identity and (holder := _holder(node)) is not None:
                found[f"{here}#{identity}"] = holder
    wanted = {each for here, root in roots for each in _referenced_notes(here, root, found)}
    return {each: node for each, node in found.items() if each in wanted}


def _holder(node: Any) -> Any:
    """Return the element of the note with an id; None if it is not a note."""
    if _NOTE_ROLES & roles(node):
        return node
    for each in (node, *node.iterancestors()):
        if local(each) in _HOLDERS:
            return each if _is_among_notes(each) else None
        if local(each) in {"body", "main", "article", "table", "sup"}:
            return None
    return None


def _is_among_notes(node: Any) -> bool:
    return any(
        _PLACES.search(name)
        for each in (node, *node.iterancestors())
        for name in (*tokens(each), *roles(each), (each.get("id") or "").lower())
        if local(each) not in {"body", "html"}
    )


def _referenced_notes(here: str, root: Any, found: dict[str, Any]) -> Iterable[str]:
    notes = {id(each) for each in found.values()}
    for link in elements(root, "a"):
        address = link.get("href") or ""
        leads_to = place(address, here) if "#" in address else ""
        if leads_to not in found or any(id(each) in notes for each in link.iterancestors()):
            continue
        text = "".join(link.itertext()).strip()
        if {"noteref", "doc-noteref"} & roles(link) or _MARK.fullmatch(text):
            yield leads_to
