"""Collect the facts of Python statements: the scopes of a module, and the flow between variables."""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, ClassVar

from ragmem.domain.python.annotations import last_name
from ragmem.domain.python.expressions import Expressions
from ragmem.domain.python.facts import CLASS, FUNCTION, MODULE, NOTHING, Facts
from ragmem.domain.python.overwritten_entries import overwritten_keys
from ragmem.domain.python.targets import Value

_CLASS_FIRST = frozenset(["__new__", "__init_subclass__", "__class_getitem__"])
"""Methods whose first parameter is the class, even without a decorator."""

_NOT_BOUND = frozenset(["setter", "deleter", "overload"])
"""Decorators after which a name does not stand for its definition."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_BRANCHES = (*_LOOPS, ast.If, ast.Match, ast.With, ast.AsyncWith, ast.Try, ast.TryStar)
"""Statements whose parts run never, once or often."""


def facts_of(tree: ast.Module) -> dict[str, Any]:
    """Return the facts of a module."""
    facts = Facts()
    statements = Statements(facts, facts.scope(MODULE, "", None, 1))
    statements.body(tree.body)
    statements.entries.drop()
    return facts.finish()


class Statements(Expressions):
    """Reads the statements of the current scope."""

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Read statements in order."""
        unread = self.scope.unread
        unread.clear()
        for one in statements:
            if isinstance(one, _BRANCHES):
                unread.clear()
            read = self.DO.get(type(one))
            if read is not None:
                read(self, one)
        unread.clear()

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            with self._track_overwrites(call.func.value, call):
                self.value(call)
        else:
            self.value(call)

    @contextmanager
    def _track_overwrites(self, holder: ast.expr, by: ast.Call | ast.AugAssign) -> Iterator[None]:
        """Record the elements that a container loses in a statement, unless the statement also reads them."""
        name = holder.id if isinstance(holder, ast.Name) else ""
        unread = self.scope.unread.get(name)
        yield
        if unread is not None:
            lost = overwritten_keys(by, unread)
            if lost and sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(by)) == 1:
                self.scope.unread[name] = unread
                self.entries.lose(self.scope, name, lost)

    def _shape(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in node.elts):
            return [self._shape(one) for one in node.elts]
        return self.value(node)

    def _assign(self, node: ast.Assign) -> None:
        apart = any(isinstance(one, ast.Tuple | ast.List) for one in node.targets)
        value = self._shape(node.value) if apart else self.value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "__all__":
                self._exports(node.value)
            self.assign(target, value)
        if len(node.targets) == 1 and isinstance(value, int):
            self._hold(node.targets[0], node.value, value)

    def _hold(self, target: ast.expr, display: ast.expr | None, made: int) -> None:
        if isinstance(target, ast.Name) and isinstance(display, ast.Dict | ast.List):
            rows = takewhile(lambda row: row[0] >= made, reversed(self.facts.lists.get("puts", [])))
            self.entries.hold(self.scope, target.id, display, [row for row in rows if row[0] == made][::-1])

    def _exports(self, node: ast.expr) -> None:
        if isinstance(node, ast.List | ast.Tuple) and self.scope.kind == MODULE:
            names = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            known = [one for one in names if isinstance(one, str)]
            self.facts.exports = [*(self.facts.exports or []), *known]

    def _annotated_assignment(self, node: ast.AnnAssign) -> None:
        value = NOTHING if node.value is None else self.value(node.value)
        self.assign(node.target, value)
        if isinstance(node.target, ast.Name):
            self.hint(node.annotation, self.facts.bind(self.scope, node.target.id))
            if self.scope.kind == CLASS and last_name(node.annotation) != "ClassVar":
                self.scope.fields.append(node.target.id)
            self._hold(node.target, node.value, value)
        elif isinstance(node.target, ast.Attribute):
            promised = self.facts.node()
            self.hint(node.annotation, promised)
            self.facts.add("stores", self.value(node.target.value), node.target.attr, promised)

    def _augmented_assignment(self, node: ast.AugAssign) -> None:
        added = self.value(node.value)
        if isinstance(node.target, ast.Name):
            if node.target.id == "__all__":
                self._exports(node.value)
            with self._track_overwrites(node.target, node):
                target = self.facts.bind(self.scope, node.target.id)
                found = self.flow_operands(node.op, target, added)
                self.facts.copy(found, target)
        else:
            self.scope.unread.clear()
            self.assign(node.target, self.flow_operands(node.op, NOTHING, added))

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.facts.copy(self.value(node.value), self.scope.result)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, facts = self.scope, self.facts
        decorators = [self.value(one) for one in node.decorator_list]
        names = [last_name(one) for one in node.decorator_list]
        made = facts.scope(FUNCTION, f"{outer.name}.{node.name}".lstrip("."), outer, node.lineno)
        if outer.kind == CLASS and "staticmethod" not in names:
            made.owner = outer
            made.of_class = "classmethod" in names or node.name in _CLASS_FIRST
        self.parameters(node.args, made)
        if node.returns is not None:
            self.hint(node.returns, made.result)
        self.scope = made
        self.body(node.body)
        self.scope = outer
        found = facts.node()
        facts.add("defs", found, made.index)
        found = self._decorator(found, decorators, node)
        target = facts.bind(outer, node.name)
        if not _NOT_BOUND.intersection(names):
            facts.copy(found, target)

    def _decorator(self, found: int, decorators: Sequence[int], node: ast.stmt) -> int:
        for one in reversed(decorators):
            if one != NOTHING:
                target = self.facts.node()
                self.facts.add("calls", one, target, node.lineno, self.scope.index, [found], [], 1)
                found = target
        return found

    def _class(self, node: ast.ClassDef) -> None:
        outer, facts = self.scope, self.facts
        decorators = [self.value(one) for one in node.decorator_list]
        made = facts.scope(CLASS, f"{outer.name}.{node.name}".lstrip("."), outer, node.lineno)
        for base in node.bases:
            of = base.value if isinstance(base, ast.Subscript) else base
            found = self.value(of)
            if of is not base and isinstance(base, ast.Subscript):
                self.value(base.slice)
            if found != NOTHING:
                made.bases.append(found)
        for keyword in node.keywords:
            self.value(keyword.value)
        made.definition = facts.node()
        facts.add("defs", made.definition, made.index)
        self.scope = made
        self.body(node.body)
        self.scope = outer
        facts.copy(self._decorator(made.definition, decorators, node), facts.bind(outer, node.name))

    def _import(self, node: ast.Import) -> None:
        for one in node.names:
            if one.asname:
                name, target = None, one.asname
            else:
                name, target = "", one.name.partition(".")[0]
            self._bind_import(node, 0, one.name, name, target)

    def _from(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            self._bind_import(node, node.level, node.module or "", one.name, one.asname or one.name)

    def _bind_import(self, node: ast.stmt, level: int, module: str, name: str | None, target: str) -> None:
        bound = NOTHING if name == "*" else self.facts.bind(self.scope, target)
        self.facts.add("imports", node.lineno, self.scope.index, level, module, name, bound)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.assign(node.target, self.elements(self.value(node.iter), node))
        self.body(node.body)
        self.body(node.orelse)

    def _while(self, node: ast.While | ast.If) -> None:
        self.value(node.test)
        self.body(node.body)
        self.body(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for one in node.items:
            found = self.row("enters", self.value(one.context_expr), at=node)
            if one.optional_vars is not None:
                self.assign(one.optional_vars, found)
        self.scope.guards += 1
        self.body(node.body)
        self.scope.guards -= 1

    def _try(self, node: ast.Try) -> None:
        self.scope.guards += 1
        self.body(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                found = [self.value(one) for one in kinds]
                if handler.name:
                    target = self.facts.bind(self.scope, handler.name)
                    for one in found:
                        if one != NOTHING:
                            self.facts.add("hints", one, target)
            self.body(handler.body)
        self.body(node.orelse)
        self.body(node.finalbody)
        self.scope.guards -= 1

    def _raise(self, node: ast.Raise) -> None:
        for one in (node.exc, node.cause):
            found = NOTHING if one is None else self.value(one)
            if found != NOTHING and not isinstance(one, ast.Call):
                self.facts.add("raises", found, node.lineno, self.scope.index)

    def _global(self, node: ast.Global) -> None:
        self.scope.globals.update(node.names)
        for name in node.names:
            self.facts.bind(self.scope, name)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals.update(node.names)

    def _values(self, node: ast.Assert | ast.Delete) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr) and not isinstance(child, ast.Name):
                self.value(child)

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        for case in node.cases:
            self._pattern(case.pattern, subject)
            if case.guard is not None:
                self.value(case.guard)
            self.body(case.body)

    def _pattern(self, pattern: ast.pattern, subject: int) -> None:
        if isinstance(pattern, ast.MatchAs):
            if isinstance(pattern.pattern, ast.MatchClass):
                found = self.facts.node()
                self.facts.add("hints", self.value(pattern.pattern.cls), found)
                self._pattern(pattern.pattern, found)
                subject = found
            elif pattern.pattern is not None:
                self._pattern(pattern.pattern, subject)
            if pattern.name is not None:
                self.facts.copy(subject, self.facts.bind(self.scope, pattern.name))
            return
        name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
        if isinstance(name, str):
            self.facts.bind(self.scope, name)
        for child in ast.iter_child_nodes(pattern):
            if isinstance(child, ast.pattern):
                self._pattern(child, subject if isinstance(pattern, ast.MatchOr) else NOTHING)
            elif isinstance(child, ast.expr):
                self.value(child)

    DO: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        ast.Expr: _expression,
        ast.Assign: _assign,
        ast.AnnAssign: _annotated_assignment,
        ast.AugAssign: _augmented_assignment,
        ast.Return: _return,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
        ast.Import: _import,
        ast.ImportFrom: _from,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.If: _while,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.Raise: _raise,
        ast.Global: _global,
        ast.Nonlocal: _nonlocal,
        ast.Assert: _values,
        ast.Delete: _values,
        ast.Match: _match,
    }
