"""Follow type annotations: instances of the classes that they name, and containers of those."""

import ast
from collections.abc import Sequence

from ragmem.domain.python.targets import Targets
from ragmem.domain.text.python_syntax import expression_tree

_CONTAINERS = frozenset(
    "list List set Set frozenset FrozenSet Sequence MutableSequence Iterable Iterator Collection AbstractSet "
    "MutableSet deque Deque Generator AsyncIterator AsyncIterable AsyncGenerator KeysView ValuesView".split()
)
_MAPPINGS = frozenset("dict Dict Mapping MutableMapping defaultdict DefaultDict OrderedDict".split())
_WRAPPERS = frozenset(
    "Optional Union Annotated Final ClassVar Awaitable Coroutine Required NotRequired ReadOnly".split()
)
_FIRST_ONLY = frozenset(["Annotated"])
_LAST_ONLY = frozenset(["Coroutine"])
_PLAIN = frozenset("str int float bool bytes None Any object complex Self".split())


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, also under a call or subscript."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Annotations(Targets):
    """Adds the values of annotations to nodes."""

    def hint(self, annotation: ast.expr | None, target: int) -> None:
        """Add the values of an annotation to a node."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = expression_tree(annotation.value.strip())
            except (SyntaxError, ValueError):
                return
        if isinstance(annotation, ast.BinOp):
            self.hint(annotation.left, target)
            self.hint(annotation.right, target)
        elif isinstance(annotation, ast.Name | ast.Attribute):
            if not (isinstance(annotation, ast.Name) and annotation.id in _PLAIN):
                self.facts.add("hints", self.value(annotation), target)
        elif isinstance(annotation, ast.Subscript):
            self._generic(annotation, target)

    def _generic(self, annotation: ast.Subscript, target: int) -> None:
        name, inner = last_name(annotation.value), annotation.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name in _WRAPPERS:
            chosen = parts[:1] if name in _FIRST_ONLY else parts[-1:] if name in _LAST_ONLY else parts
            for one in chosen:
                self.hint(one, target)
        elif name in _CONTAINERS or name in _MAPPINGS:
            of = parts[-1] if name in _MAPPINGS else parts[0] if parts else None
            element = self.facts.node()
            self.hint(of, element)
            box = self.box("dict" if name in _MAPPINGS else "list", [])
            self.facts.add("puts", box, None, element)
            self.facts.copy(box, target)
        elif name in {"tuple", "Tuple"}:
            self._tuple_hint(parts, target)
        elif name in {"type", "Type"} and isinstance(inner, ast.Name | ast.Attribute):
            self.facts.copy(self.value(inner), target)
        elif name not in {"Literal", "Callable", "TypeGuard", "TypeIs"}:
            self.hint(annotation.value, target)

    def _tuple_hint(self, parts: Sequence[ast.expr], target: int) -> None:
        same = len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis
        elements = [self.facts.node() for _ in (parts[:1] if same else parts)]
        for one, node in zip(parts, elements, strict=False):
            self.hint(one, node)
        box = self.box("tuple", [] if same else elements)
        if same:
            self.facts.add("puts", box, None, elements[0])
        self.facts.copy(box, target)
