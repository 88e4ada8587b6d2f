"""Collect the facts of Python expressions: the node of each value."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ragmem.domain.python.annotations import Annotations
from ragmem.domain.python.facts import FUNCTION, LAMBDA, NOTHING, Facts, Scope, is_key
from ragmem.domain.python.overwritten_entries import EntryTracker
from ragmem.domain.text.python_syntax import expression_tree

MAX_DISTINCT = 32
"""A larger display is a table; its elements share one node."""


class Expressions(Annotations):
    """Reads the expressions of the current scope."""

    def __init__(self, facts: Facts, scope: Scope) -> None:
        self.facts = facts
        self.scope = scope
        self.entries = EntryTracker(facts)

    def value(self, node: ast.expr) -> int:
        """Return the node of an expression's value; NOTHING if no relevant value flows."""
        read = self.READ.get(type(node))
        if read is not None:
            return read(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return NOTHING

    def join_nodes(self, values: Sequence[int]) -> int:
        """Return a node that receives all the values."""
        known = [one for one in values if one != NOTHING]
        if len(known) < 2:
            return known[0] if known else NOTHING
        target = self.facts.node()
        for one in known:
            self.facts.copy(one, target)
        return target

    def key(self, node: ast.expr) -> int | list[Any] | None:
        """Return a subscript's key: a constant in a list, a node, or None if it is unknown."""
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
        return self.row("loads", self.value(node.value), node.attr, at=node)

    def _subscript(self, node: ast.Subscript) -> int:
        base, key = self.entry(node)
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
        return self.row("items", base, key, at=node)

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
            self._eval_string(node.args[0], target)
        return target

    def _eval_string(self, node: ast.expr, target: int) -> None:
        """Read an expression in the string argument of eval()."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                read = expression_tree(node.value.strip())
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
        """Declare the parameters of a function; defaults and annotations belong to the enclosing scope."""
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

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> int:
        kind = type(node).__name__.lower()
        if len(node.elts) > MAX_DISTINCT or any(isinstance(one, ast.Starred) for one in node.elts):
            target = self.box(kind, [])
            for one in node.elts:
                found = (
                    self.elements(self.value(one.value), one)
                    if isinstance(one, ast.Starred)
                    else self.value(one)
                )
                if found != NOTHING and not (len(node.elts) > MAX_DISTINCT and isinstance(one, ast.Constant)):
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
            elif found != NOTHING and not (len(node.keys) > MAX_DISTINCT and isinstance(value, ast.Constant)):
                self.facts.add("puts", target, at, found)
        return target

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> int:
        scope = self.scope
        hidden: dict[str, int] = {}
        for number, part in enumerate(node.generators):
            # Only the first iterable is evaluated outside of the comprehension.
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

    def _conditional(self, node: ast.IfExp) -> int:
        self.value(node.test)
        return self.join_nodes([self.value(node.body), self.value(node.orelse)])

    def _boolean_operation(self, node: ast.BoolOp) -> int:
        return self.join_nodes([self.value(one) for one in node.values])

    def _walrus(self, node: ast.NamedExpr) -> int:
        found = self.value(node.value)
        hidden, self.scope.hidden = self.scope.hidden, []
        self.assign(node.target, found)
        self.scope.hidden = hidden
        return found

    def _operation(self, node: ast.BinOp) -> int:
        return self.flow_operands(node.op, self.value(node.left), self.value(node.right))

    def flow_operands(self, operator: ast.operator, left: int, right: int) -> int:
        """Return the node of the result of an operator, relevant if it joins containers."""
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

    def _star_expression(self, node: ast.Starred) -> int:
        return self.elements(self.value(node.value), node)

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
        ast.IfExp: _conditional,
        ast.BoolOp: _boolean_operation,
        ast.NamedExpr: _walrus,
        ast.BinOp: _operation,
        ast.JoinedStr: _text,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield,
        ast.Starred: _star_expression,
    }
