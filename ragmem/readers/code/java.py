"""Java."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, path_namespace

_QUERY = """
[(line_comment) (block_comment)] @comment
(package_declaration [(identifier) (scoped_identifier)] @name) @package
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(field_declaration (modifiers) @_how declarator: (variable_declarator name: (identifier) @name)
  (#match? @_how "static[^;]*final|final[^;]*static")) @constant
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant
(lambda_expression) @scope

(superclass [(type_identifier) (scoped_type_identifier) (generic_type)] @base)
(super_interfaces (type_list [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(extends_interfaces (type_list [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @field))
(record_declaration
  parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @field)))

(formal_parameter type: (_) @type name: (identifier) @variable)
(spread_parameter (variable_declarator name: (identifier) @variable))
(catch_formal_parameter (catch_type (_) @type) name: (identifier) @variable)
(resource type: (_) @type name: (identifier) @variable value: (_) @value)
(enhanced_for_statement type: (_) @type name: (identifier) @variable)
(lambda_expression parameters: (identifier) @variable)
(inferred_parameters (identifier) @variable)
(instanceof_expression right: (_) @type name: (identifier) @variable)
(local_variable_declaration type: (_) @type
  declarator: (variable_declarator name: (identifier) @variable value: (_)? @value))

(method_invocation !object name: (identifier) @callee) @call
(method_invocation object: (_) @receiver name: (identifier) @callee) @call
(method_reference . (_) @receiver (identifier) @callee .) @call
(object_creation_expression type: [(type_identifier) (scoped_type_identifier) (generic_type)] @callee) @call
(method_declaration type: (_) @returns)
(import_declaration) @import
"""

_IMPORT = re.compile(r"import\s+(static\s+)?([\w.]+?)(?:\.(\*))?\s*;")
_TEST = re.compile(r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b")
_TEST_FILE = re.compile(r"(?:^|/)src/\w*[tT]est\w*/|(?:Tests?|IT|TestCase)\.java$")


def _imports(text: str) -> Iterator[Import]:
    if found := _IMPORT.match(text):
        if found[3]:
            yield Import(found[2], "*", "*")
        else:
            module, _, member = found[2].rpartition(".")
            yield Import(module, member, member)


def _is_test(_name: str, kind: SymbolKind, around: str) -> bool:
    return kind is SymbolKind.METHOD and bool(_TEST.search(around))


JAVA = Syntax(
    "tree_sitter_java",
    _QUERY,
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    is_test=_is_test,
    imports=_imports,
)
