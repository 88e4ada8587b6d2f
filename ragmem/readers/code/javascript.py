"""JavaScript and TypeScript."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ragmem.readers.code.syntax import Import, Namespace, Syntax

_COMMON = """
(comment) @comment
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression
  left: (member_expression object: (_) @_object property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]
  (#match? @_object "^(module\\\\.)?exports$")) @function
(assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @owner property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]
  (#eq? @_prototype "prototype")) @method
(class_body (method_definition name: [(property_identifier) (private_property_identifier)] @name) @method)
(object (method_definition) @scope)
(export_statement declaration: (lexical_declaration (variable_declarator
  name: (identifier) @name
  value: [(string) (number) (template_string) (true) (false) (object) (array) (new_expression)
          (call_expression) (unary_expression) (binary_expression)]) @constant))
(arrow_function) @scope
(function_expression) @scope
(call_expression
  function: [(identifier) @_kind (member_expression object: (identifier) @_kind)]
  arguments: (arguments . [(string) (template_string)] @name . [(arrow_function) (function_expression)])
  (#match? @_kind "^(describe|it|test|suite|context|specify|bench)$")) @test

(call_expression function: (identifier) @callee) @call
(call_expression function: (member_expression object: (_) @receiver
  property: [(property_identifier) (private_property_identifier)] @callee)) @call
(new_expression constructor: [(identifier) (member_expression)] @callee) @call
(arguments (identifier) @callee @passed)
(arguments (member_expression object: (this) @receiver property: (property_identifier) @callee) @passed)
(pair value: (identifier) @callee @passed)

(variable_declarator name: (identifier) @variable value: (_)? @value)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (new_expression) @value)

(import_statement) @import
(export_statement source: (string)) @import
(export_statement (export_clause) !source) @import
(export_statement "default") @import
(assignment_expression left: (member_expression) @_exports right: [(identifier) (class) (function_expression)]
  (#eq? @_exports "module.exports")) @import
(variable_declarator name: [(identifier) (object_pattern)]
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string)))
  (#eq? @_require "require")) @import
(variable_declarator name: [(identifier) (object_pattern)]
  value: (member_expression
    object: (call_expression function: (identifier) @_require arguments: (arguments . (string))))
  (#eq? @_require "require")) @import
(call_expression function: (identifier) @_require arguments: (arguments . (string))
  (#eq? @_require "require")) @import
(call_expression function: (import) arguments: (arguments . (string))) @import
"""

_JSX = """
([(jsx_opening_element name: [(identifier) (member_expression)] @callee)
  (jsx_self_closing_element name: [(identifier) (member_expression)] @callee)] @call
  (#match? @callee "^[A-Z]|[.]"))
(jsx_attribute (jsx_expression (identifier) @callee @passed))
"""

_JAVASCRIPT = (
    _COMMON
    + _JSX
    + """
(class_declaration name: (identifier) @name) @class
(class name: (identifier) @name) @class
(class_heritage [(identifier) (member_expression)] @base)
(field_definition
  property: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(field_definition property: (property_identifier) @field value: (new_expression) @value)
(formal_parameters [(identifier) @variable (assignment_pattern left: (identifier) @variable)])
(arrow_function parameter: (identifier) @variable)
"""
)

_TYPESCRIPT = (
    _COMMON
    + """
(class_declaration name: (type_identifier) @name) @class
(class name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(enum_declaration name: (identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @interface
(function_signature name: (identifier) @name) @function
(interface_body (method_signature name: (property_identifier) @name) @method)
(abstract_method_signature name: (property_identifier) @name) @method
(internal_module name: [(identifier) (nested_identifier)] @name) @module
(public_field_definition
  name: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause [(type_identifier) (nested_type_identifier) (generic_type)] @base)
(extends_type_clause type: [(type_identifier) (nested_type_identifier) (generic_type)] @base)
(public_field_definition name: (property_identifier) @field type: (type_annotation (_) @type))
(public_field_definition name: (property_identifier) @field !type value: (new_expression) @value)
(required_parameter pattern: (identifier) @variable !type)
(required_parameter pattern: (identifier) @variable type: (type_annotation (_) @type))
(optional_parameter pattern: (identifier) @variable type: (type_annotation (_) @type))
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (type_annotation (_) @type))
(variable_declarator name: (identifier) @variable type: (type_annotation (_) @type))
(arrow_function parameter: (identifier) @variable)
(function_declaration return_type: (type_annotation (_) @returns))
(method_definition return_type: (type_annotation (_) @returns))
(arrow_function return_type: (type_annotation (_) @returns))
"""
)

_SOURCE = re.compile(r"""(?:\bfrom|\brequire\s*\(|\bimport\s*\(?)\s*["']([^"']+)["']""")
_DEFAULT = re.compile(r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from|=)")
_ALL = re.compile(r"\*\s*as\s+([\w$]+)")
_NAMED = re.compile(r"\{([^}]*)\}")
_REQUIRED = re.compile(r"\s*([\w$]+)\s*=\s*require")
_PART = re.compile(r"""\s*\)\s*\??\.\s*([\w$]+)\s*$""")
_ITEM = re.compile(r"(?:type\s+)?([\w$]+)(?:\s*(?:as|:)\s*([\w$]+))?")
_EXPORTED = re.compile(
    r"(?:export\s+default\s+(?:(?:async|abstract)\s+)*(?:function\b\s*\*?|class\b)?"
    r"|module\.exports\s*=\s*(?:class\b|function\b\s*\*?)?)\s*([\w$]+)"
)
_NAMELESS = {"extends", "new", "await", "async"}
_ENDING = re.compile(r"(?:\.d)?\.(?:[cm]?[jt]s|[jt]sx)$")
_TESTING = re.compile(r"(?:[._-](?:test|spec|e2e|cy)\.[cm]?[jt]sx?$)|(?:^|/)(?:__tests__|__mocks__|cypress)/")
_TEST_FOLDER = re.compile(r"(?:^|/)(?:tests?|spec|e2e)/")


def _imports(text: str) -> Iterator[Import]:
    if default := _EXPORTED.match(text):
        if default[1] not in _NAMELESS:
            yield Import("", default[1], "default", exported=True)
        return
    source = _SOURCE.search(text)
    exported = text.startswith("export")
    if source is None:
        if exported:  # export { a as b }: names of the file's own
            yield from (Import("", name, local, exported=True) for name, local in _items(text))
        return
    module = source[1]
    yield Import(module, "", "")
    head = text[: source.start()]
    if exported and "{" not in head:
        named = _ALL.search(head)
        yield Import(module, "" if named else "*", named[1] if named else "*", exported=True)
    part = _PART.match(text, source.end())
    # After a part of the module, the names are those of that part.
    for name, local in () if part else _items(head):
        yield Import(module, name, local, exported=exported)
    if not exported and (default := _DEFAULT.match(text)):
        yield Import(module, "" if "require" in text else "default", default[1])
    if not exported and (named := _ALL.search(head)):
        yield Import(module, "", named[1])
    if required := _REQUIRED.match(text):
        yield Import(module, part[1] if part else "", required[1])


def _items(text: str) -> Iterator[tuple[str, str]]:
    if braces := _NAMED.search(text):
        for part in braces[1].split(","):
            if item := _ITEM.match(part.strip()):
                yield item[1], item[2] or item[1]


def _namespace(path: str) -> Namespace:
    module = _ENDING.sub("", path)
    return Namespace(module, module)


def _is_test_file(path: str) -> bool:
    return bool(_TESTING.search(path) or _TEST_FOLDER.search(str(PurePosixPath(path).parent) + "/"))


def _syntax(package: str, entry: str, query: str) -> Syntax:
    return Syntax(
        package,
        query,
        namespace=_namespace,
        is_test_file=_is_test_file,
        entry=entry,
        imports=_imports,
        loaders=frozenset({"require()", "import()"}),
    )


JAVASCRIPT = _syntax("tree_sitter_javascript", "language", _JAVASCRIPT)
TYPESCRIPT = _syntax("tree_sitter_typescript", "language_typescript", _TYPESCRIPT)
TSX = _syntax("tree_sitter_typescript", "language_tsx", _TYPESCRIPT + _JSX)
