"""C#."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, path_namespace

_QUERY = """
(comment) @comment
(file_scoped_namespace_declaration name: (_) @name) @package
(namespace_declaration name: (_) @name) @namespace
(class_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(delegate_declaration name: (identifier) @name) @interface
(interface_declaration name: (identifier) @name) @interface
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name
  [(accessor_list (accessor_declaration body: (_))) (arrow_expression_clause)]) @method
(field_declaration (modifier) @_how (variable_declaration (variable_declarator name: (identifier) @name))
  (#eq? @_how "const")) @constant
(lambda_expression) @scope

(base_list [(identifier) (qualified_name) (generic_name)] @base)
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @field)))
(property_declaration type: (_) @type name: (identifier) @field)

(parameter type: (_) @type name: (identifier) @variable)
(parameter !type name: (identifier) @variable)
(lambda_expression parameters: (implicit_parameter) @variable)
(foreach_statement type: (_) @type left: (identifier) @variable)
(local_declaration_statement (variable_declaration type: (_) @type
  (variable_declarator name: (identifier) @variable (_)? @value)))
(using_statement (variable_declaration type: (_) @type
  (variable_declarator name: (identifier) @variable (_)? @value)))
(declaration_pattern type: (_) @type name: (identifier) @variable)
(catch_declaration type: (_) @type name: (identifier) @variable)

(invocation_expression function: [(identifier) (generic_name)] @callee) @call
(invocation_expression function: (member_access_expression expression: _ @receiver name: (_) @callee)) @call
(invocation_expression function: (conditional_access_expression
  condition: (_) @receiver (member_binding_expression name: (_) @callee))) @call
(object_creation_expression type: [(identifier) (qualified_name) (generic_name)] @callee) @call
(method_declaration returns: (_) @returns)
(using_directive) @import
"""

_USING = re.compile(r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)")
_TEST = re.compile(r"\[(?:\w+\.)*(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod|Property)\b")
_TEST_FILE = re.compile(r"Tests?\.cs$|(?:^|/)tests?/|\.(?:Unit|Integration)?Tests?/")


def _imports(text: str) -> Iterator[Import]:
    if found := _USING.match(text):
        if found[2]:
            module, _, member = found[3].rpartition(".")
            if module:
                yield Import(module, member, found[2])
        else:
            yield Import(found[3], "*", "*")


def _is_test(_name: str, kind: SymbolKind, around: str) -> bool:
    return kind is SymbolKind.METHOD and bool(_TEST.search(around))


CSHARP = Syntax(
    "tree_sitter_c_sharp",
    _QUERY,
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    is_test=_is_test,
    imports=_imports,
    supers=frozenset({"base"}),
)
