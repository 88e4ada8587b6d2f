"""Ruby."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, path_namespace

_QUERY = """
(comment) @comment
(module name: (_) @name body: (body_statement [(method) (singleton_method)])) @interface
(module name: (_) @name) @namespace
(class name: (_) @name) @class
(assignment left: (constant) @name right: (call receiver: (constant) @_made method: (identifier) @_new)
  (#match? @_made "^(Struct|Class|Data)$") (#match? @_new "^(new|define)$")) @class
(method name: (_) @name) @method
(singleton_class (body_statement (method name: (_) @name @static) @method))
(singleton_method object: (_) @static name: (_) @name) @method
(assignment left: (constant) @name) @constant
(call method: (identifier) @_kind
  arguments: (argument_list . [(string) (constant) (scope_resolution)] @name) block: (_)
  (#match? @_kind "^(describe|context|it|specify|feature|scenario|test|should)$")) @test
[(do_block) (block) (lambda)] @scope

(superclass [(constant) (scope_resolution)] @base)
(call !receiver method: (identifier) @_mix arguments: (argument_list [(constant) (scope_resolution)] @base)
  (#match? @_mix "^(include|extend|prepend)$"))
(assignment left: (instance_variable) @field right: (call) @value)

(method_parameters (identifier) @variable)
(method_parameters (_ name: (identifier) @variable))
(block_parameters (identifier) @variable)
(lambda_parameters (identifier) @variable)
(assignment left: (identifier) @variable right: (_) @value)
(left_assignment_list (identifier) @variable)
(exception_variable (identifier) @variable)

(call !receiver method: (identifier) @callee) @call
(call receiver: (_) @receiver method: [(identifier) (constant)] @callee) @call
(body_statement (identifier) @callee @call)
(argument_list (identifier) @callee @call)
(assignment right: (identifier) @callee @call)
(call receiver: (identifier) @callee @call)
(binary (identifier) @callee @call)
(return (argument_list (identifier) @callee @call))
(interpolation (identifier) @callee @call)
(then (identifier) @callee @call)
(if condition: (identifier) @callee @call)
(unless condition: (identifier) @callee @call)
(call !receiver method: (identifier) @_load (#match? @_load "^(require|require_relative|load)$")
  arguments: (argument_list . (string))) @import
"""

_LOADING = re.compile(r"""(require|require_relative|load)\s*\(?\s*["']([^"'#]+)["']""")
_TEST_FILE = re.compile(r"_(?:spec|test)\.rb$|(?:^|/)test_\w+\.rb$|(?:^|/)(?:spec|test)/")


def _imports(text: str) -> Iterator[Import]:
    if found := _LOADING.match(text):
        relative = found[1] == "require_relative" and not found[2].startswith(".")
        yield Import(f"./{found[2]}" if relative else found[2], "", "")


def _is_test(name: str, kind: SymbolKind, _around: str) -> bool:
    return kind is SymbolKind.METHOD and name.startswith("test_")


RUBY = Syntax(
    "tree_sitter_ruby",
    _QUERY,
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    separator="::",
    member_separator="#",
    is_test=_is_test,
    imports=_imports,
    selves=frozenset({"self"}),
    constructors=frozenset({"new"}),
)
