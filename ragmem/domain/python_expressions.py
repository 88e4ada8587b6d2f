"""Facts of Python expressions: which node the value of an expression is."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ragmem.domain.python_facts import FUNCTION, LAMBDA, NOTHING, Facts, Scope, is_key

MANY = 32
"""A display of more elements is a table, whose elements are not told apart."""

Value = int | list[Any]
"""The node of a value; a list of values for a tuple that is taken apart at once."""

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
    """Return the last part of a dotted name, that of what is called or subscripted included."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Expressions:
    """Reads expressions within the current scope."""

    def __init__(self, facts: Facts, scope: Scope) -> None:
        self.facts = facts
        self.scope = scope

    def value(self, node: ast.expr) -> int:
        """Return the node of an expression's value, NOTHING where nothing of interest flows."""
        read = self.READ.get(type(node))
        if read is not None:
            return read(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return NOTHING

    def _row(self, relation: str, node: int, *rest: Any, at: ast.expr | ast.stmt) -> int:
        """Say that something flows from a node at a line of the current scope; return where it ends."""
        if node == NOTHING:
            return NOTHING
        target = self.facts.node()
        self.facts.add(relation, node, *rest, target, at.lineno, self.scope.index)
        return target

    def joined(self, values: Sequence[int]) -> int:
        """Return a node that all the values reach."""
        known = [one for one in values if one != NOTHING]
        if len(known) < 2:
            return known[0] if known else NOTHING
        target = self.facts.node()
        for one in known:
            self.facts.copy(one, target)
        return target

    def elements(self, node: int, at: ast.expr | ast.stmt) -> int:
        """Return the node of what comes out of iterating over a value."""
        return self._row("iters", node, at=at)

    def key(self, node: ast.expr) -> int | list[Any] | None:
        """Return a subscript's key: a constant in a list, a node, or None where it is not known."""
        if isinstance(node, ast.Constant):
            return [node.value] if is_key(node.value) else None
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
            and isinstance(node.operand.value, int)
        ):
            return [-node.operand.value]
        found = self.value(node)
        return None if found == NOTHING else found

    def _name(self, node: ast.Name) -> int:
        return self.facts.name(self.scope, node.id)

    def _constant(self, node: ast.Constant) -> int:
        return self.facts.constant(node.value)

    def _attribute(self, node: ast.Attribute) -> int:
        return self._row("loads", self.value(node.value), node.attr, at=node)

    def _subscript(self, node: ast.Subscript) -> int:
        base = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            lower, upper = (
                one.value if isinstance(one, ast.Constant) and isinstance(one.value, int) else None
                for one in (node.slice.lower, node.slice.upper)
            )
            plain = node.slice.step is None
            for one in (node.slice.lower, node.slice.upper, node.slice.step):
                if one is not None:
                    plain = plain and isinstance(one, ast.Constant)
                    self.value(one)
            return self.slice(base, lower or 0, upper, plain=plain)
        return self._row("items", base, self.key(node.slice), at=node)

    def slice(self, base: int, lower: int, upper: int | None, *, plain: bool = True) -> int:
        """Return the node of a part of a list."""
        if base == NOTHING:
            return NOTHING
        target = self.facts.node()
        self.facts.add("slices", base, lower, upper, int(plain), target)
        return target

    def _call(self, node: ast.Call) -> int:
        facts = self.facts
        callee = self.value(node.func)
        arguments: list[Any] = [
            [self.value(one.value)] if isinstance(one, ast.Starred) else self.value(one) for one in node.args
        ]
        keywords: list[Any] = []
        for one in node.keywords:
            keywords += [one.arg, self.value(one.value)]
        while arguments and arguments[-1] == NOTHING:
            arguments.pop()
        if callee == NOTHING:
            return NOTHING
        target = facts.node()
        facts.add("calls", callee, target, node.lineno, self.scope.index, arguments, keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            self._super(target)
        elif isinstance(node.func, ast.Name) and node.func.id == "eval" and node.args:
            self._evaluated(node.args[0], target)
        return target

    def _evaluated(self, node: ast.expr, target: int) -> None:
        """Read an expression that is written out for eval()."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                read = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                return
            for one in ast.walk(read):
                ast.copy_location(one, node)
            self.facts.copy(self.value(read), target)

    def _super(self, target: int) -> None:
        method: Scope | None = self.scope
        while method is not None and method.owner is None:
            method = method.parent
        if method is not None and method.owner is not None and method.parameters.get("args"):
            self.facts.add("supers", method.owner.definition, method.parameters["args"][0], target)

    def _lambda(self, node: ast.Lambda) -> int:
        outer = self.scope
        outer.lambdas += 1
        name = f"<lambda{outer.lambdas}>"
        made = self.facts.scope(LAMBDA, f"{outer.name}.{name}".lstrip("."), outer, node.lineno)
        self.parameters(node.args, made)
        self.scope = made
        self.facts.copy(self.value(node.body), made.result)
        self.scope = outer
        target = self.facts.node()
        self.facts.add("defs", target, made.index)
        return target

    def parameters(self, arguments: ast.arguments, made: Scope) -> None:
        """Give a function its parameters; defaults and annotations belong to the scope around it."""
        facts, plain = self.facts, [*arguments.posonlyargs, *arguments.args]
        found: dict[str, Any] = {}
        for one, default in (
            *zip(reversed(plain), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ):
            if default is not None:
                facts.copy(self.value(default), facts.bind(made, one.arg))
        if plain:
            found["args"] = [facts.bind(made, one.arg) for one in plain]
            found["argnames"] = [one.arg for one in plain]
        if arguments.kwonlyargs:
            found["only"] = {one.arg: facts.bind(made, one.arg) for one in arguments.kwonlyargs}
        for key, several in (("vararg", arguments.vararg), ("kwarg", arguments.kwarg)):
            if several is not None:
                found[key] = facts.bind(made, several.arg)
        for one in (*plain, *arguments.kwonlyargs):
            if one.annotation is not None:
                self.hint(one.annotation, facts.bind(made, one.arg))
        made.parameters = found

    def hint(self, annotation: ast.expr | None, target: int) -> None:
        """Let the values that an annotation promises reach a node."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value.strip(), mode="eval").body
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

    def box(self, kind: str, elements: Sequence[int]) -> int:
        """Return the node of a new list, tuple, set or dict with the elements."""
        target = self.facts.node()
        self.facts.add("boxes", target, kind, list(elements))
        return target

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> int:
        kind = type(node).__name__.lower()
        if len(node.elts) > MANY or any(isinstance(one, ast.Starred) for one in node.elts):
            target = self.box(kind, [])
            for one in node.elts:
                found = (
                    self.elements(self.value(one.value), one)
                    if isinstance(one, ast.Starred)
                    else self.value(one)
                )
                if found != NOTHING and not (len(node.elts) > MANY and isinstance(one, ast.Constant)):
                    self.facts.add("puts", target, None, found)
            return target
        return self.box(kind, [self.value(one) for one in node.elts])

    def _dict(self, node: ast.Dict) -> int:
        target = self.box("dict", [])
        for key, value in zip(node.keys, node.values, strict=True):
            at = self.key(key) if key is not None else None
            found = self.value(value)
            if key is None:
                self.facts.add("merges", found, target)
            elif found != NOTHING and not (len(node.keys) > MANY and isinstance(value, ast.Constant)):
                self.facts.add("puts", target, at, found)
        return target

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> int:
        scope = self.scope
        hidden: dict[str, int] = {}
        for number, part in enumerate(node.generators):
            # Only the first iterable is read outside of the comprehension.
            if number:
                found = self.elements(self.value(part.iter), part.iter)
            else:
                found = self.elements(self.value(part.iter), part.iter)
                scope.hidden.append(hidden)
            for one in ast.walk(part.target):
                if isinstance(one, ast.Name):
                    hidden.setdefault(one.id, self.facts.node())
            self.assign(part.target, found)
            for test in part.ifs:
                self.value(test)
        if isinstance(node, ast.DictComp):
            target = self.box("dict", [])
            at: Any = self.key(node.key)
            element = self.value(node.value)
        else:
            target = self.box("list" if isinstance(node, ast.ListComp) else "set", [])
            at, element = None, self.value(node.elt)
        if element != NOTHING:
            self.facts.add("puts", target, at, element)
        scope.hidden.pop()
        return target

    def _either(self, node: ast.IfExp) -> int:
        self.value(node.test)
        return self.joined([self.value(node.body), self.value(node.orelse)])

    def _choice(self, node: ast.BoolOp) -> int:
        return self.joined([self.value(one) for one in node.values])

    def _walrus(self, node: ast.NamedExpr) -> int:
        found = self.value(node.value)
        hidden, self.scope.hidden = self.scope.hidden, []
        self.assign(node.target, found)
        self.scope.hidden = hidden
        return found

    def _operation(self, node: ast.BinOp) -> int:
        return self.mixed(node.op, self.value(node.left), self.value(node.right))

    def mixed(self, operator: ast.operator, left: int, right: int) -> int:
        """Return the node of the result of an operator, which is of interest where it joins containers."""
        if not isinstance(operator, ast.Add | ast.BitOr | ast.Mult) or (left == right == NOTHING):
            return NOTHING
        target = self.facts.node()
        for one in (left, right):
            if one != NOTHING:
                self.facts.add("mixes", one, target)
        return target

    def _text(self, node: ast.JoinedStr) -> int:
        for one in node.values:
            self.value(one)
        return self.facts.type("str")

    def _await(self, node: ast.Await) -> int:
        return self.value(node.value)

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> int:
        found = NOTHING if node.value is None else self.value(node.value)
        if isinstance(node, ast.YieldFrom):
            found = self.elements(found, node)
        scope = self.scope
        if scope.kind in {FUNCTION, LAMBDA}:
            if scope.yields == NOTHING:
                scope.yields = self.facts.node()
            self.facts.copy(found, scope.yields)
        return NOTHING

    def _starred(self, node: ast.Starred) -> int:
        return self.elements(self.value(node.value), node)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Let a value reach the target of an assignment."""
        if isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
            return
        if isinstance(value, list):
            value = self.packed(value)
        if isinstance(target, ast.Name):
            self.facts.copy(value, self.facts.bind(self.scope, target.id))
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            if NOTHING not in {base, value}:
                self.facts.add("stores", base, target.attr, value)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            at = None if isinstance(target.slice, ast.Slice) else self.key(target.slice)
            if isinstance(target.slice, ast.Slice):
                value = self.elements(value, target)
            if NOTHING not in {base, value}:
                self.facts.add("puts", base, at, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)

    def packed(self, value: list[Any]) -> int:
        """Return the node of a tuple that was to be taken apart."""
        return self.box("tuple", [self.packed(one) if isinstance(one, list) else one for one in value])

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        count = len(target.elts)
        star = next((at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)), None)
        if isinstance(value, list) and (len(value) == count if star is None else len(value) >= count - 1):
            taken: list[Value] = list(value)
            if star is not None:
                after = star + len(value) - count + 1
                taken = [*value[:star], value[star:after], *value[after:]]
            for one, part in zip(target.elts, taken, strict=True):
                self.assign(one, part)
            return
        whole = self.packed(value) if isinstance(value, list) else value
        for at, one in enumerate(target.elts):
            if star is None or at < star:
                self.assign(one, self._row("parts", whole, at, at=one))
            elif at == star:
                rest = count - star - 1
                self.assign(one, self.slice(whole, star, -rest if rest else None))
            else:
                self.assign(one, self._row("parts", whole, at - count, at=one))

    READ: ClassVar[dict[type, Callable[[Any, Any], int]]] = {
        ast.Name: _name,
        ast.Constant: _constant,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Call: _call,
        ast.Lambda: _lambda,
        ast.List: _display,
        ast.Tuple: _display,
        ast.Set: _display,
        ast.Dict: _dict,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.DictComp: _comprehension,
        ast.IfExp: _either,
        ast.BoolOp: _choice,
        ast.NamedExpr: _walrus,
        ast.BinOp: _operation,
        ast.JoinedStr: _text,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield,
        ast.Starred: _starred,
    }
