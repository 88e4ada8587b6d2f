"""Infer the type of a name from the words around it, if its form does not show it."""

import re

from ragmem.domain.text.known_names import KIND_NOUNS
from ragmem.patterns import lazy

_UNSURE = frozenset({"concept", "symbol", "tool", "organization", "service", "config", "file"})
_NEXT = lazy(r"[`*_\"')]*\s+(?:[a-z]+-)?([A-Za-z]+)")
_HUMPS = lazy(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*[A-Z]?){1}$|[a-z][A-Z][A-Za-z]+$")
_CLASSLIKE = lazy(
    r"(?:Factory|Config|Manager|Parser|Builder|Handler|Spec|Driver|Processor|Renderer|Provider|Adapter|Store|"
    r"Controller|Node|Schema|Service|Client|Server|Type|State|Model|View|Context|Component|Listener|Logger|"
    r"Selector|Request|Response|Result|Options|Params|Props|Info|Data|Item|List|Map|Set|Id|Name|Key|Error|"
    r"Mode|Router|Registry|Scheduler|Engine|Test|Tests|Loader|Writer|Reader|Table|Index|Cache|Queue)$"
)
_MOMENT = lazy(r"(?:Start|Stop|End|Submit|ToolUse|Compact|Created|Updated|Deleted|Changed|Notification)$")
_COLLECTION = lazy(r"_(?:\w*[A-RT-Z]S|MATRIX|MAP|LIST|SET|TABLE|REGISTRY|SCHEMA|PATTERN|REGEX|RE)$")
_DEFINED = lazy(
    r"[`*_\"')]*\s*(?:\u2014|\u2013|-|:|is|are)\s+(?:an?\s+|the\s+)?"
    r"((?:[A-Za-z][\w-]*[ /]){0,4}[A-Za-z][\w-]*)"
)


def type_of(text: str, start: int, end: int, kind: str) -> str:
    """Return the type of the mention: by its form, unless the words around it are more specific."""
    if kind not in _UNSURE:
        return kind
    name = text[start:end]
    code = name.startswith("`")
    bare = name.strip("`")
    follows = _NEXT.match(text, end)
    noun = KIND_NOUNS.get(follows.group(1).lower()) if follows else None
    if kind == "symbol":
        return _symbol(bare, noun, code=code)
    if kind == "config":
        return "symbol" if _COLLECTION.search(bare) else kind
    if kind == "file":
        return _folder(text, end, bare) or kind
    if kind == "concept":
        return _concept(bare, noun)
    return _compound(bare) or kind


def _symbol(bare: str, noun: str | None, *, code: bool) -> str:
    """Return the type of an identifier."""
    if bare.isupper() or "_" in bare:
        return noun if noun in {"config", "library"} else "symbol"
    if _MOMENT.search(bare) and bare[0].isupper():
        return "event"
    if noun in {"tool", "library", "service", "config", "model", "event", "protocol", "dataset", "project"}:
        return noun
    if not code and _HUMPS.match(bare) and not _CLASSLIKE.search(bare):
        return "tool"
    return "symbol"


def _folder(text: str, end: int, bare: str) -> str | None:
    """Return the type of a folder that is defined as a program: "sync/ - daemon that ..."."""
    if not bare.endswith("/"):
        return None
    defined = _DEFINED.match(text, end)
    if defined is None:
        return None
    for word in re.split(r"[ /]", defined.group(1)):
        kind = KIND_NOUNS.get(word.lower())
        if kind in {"library", "service", "tool"}:
            return kind
    return None


def _concept(bare: str, noun: str | None) -> str:
    """Return the type of a proper name."""
    kind = _compound(bare) or noun
    if kind is not None:
        return kind
    single = " " not in bare and not bare.isupper()
    return "tool" if single else "concept"


def _compound(bare: str) -> str | None:
    """Return the type that the last word of a compound name implies."""
    words = bare.split()
    return KIND_NOUNS.get(words[-1].lower()) if len(words) > 1 else None
