(comment) @comment
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression
  left: (member_expression object: (_) @_object property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]
  (#match? @_object "^(module\\.)?exports$")) @function
(assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @owner property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]
  (#eq? @_prototype "prototype")) @method
(program (expression_statement (assignment_expression
  left: (member_expression object: (identifier) @owner property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)
          (assignment_expression right: [(arrow_function) (function_expression)])]
  (#not-match? @owner "^(module|exports)$")) @method))
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
(call_expression function: (call_expression function: (identifier) @_require arguments: (arguments . (string)))
  @callee (#eq? @_require "require")) @call
(new_expression constructor: [(identifier) (member_expression)] @callee) @call
(arguments (identifier) @callee @passed)
(arguments (member_expression object: (this) @receiver property: (property_identifier) @callee) @passed)
(pair value: (identifier) @callee @passed)

(variable_declarator name: (identifier) @variable value: (_)? @value)
(call_expression
  function: (member_expression
    object: (call_expression function: (import) arguments: (arguments . (string))) @loaded
    property: (property_identifier) @_then)
  arguments: (arguments . [
    (arrow_function parameter: (_) @variable)
    (_ parameters: (formal_parameters . [
      (_) @variable
      (object_pattern [
        (shorthand_property_identifier_pattern) @variable @member
        (pair_pattern key: (property_identifier) @member value: (identifier) @variable)])
      (_ (object_pattern [
        (shorthand_property_identifier_pattern) @variable @member
        (pair_pattern key: (property_identifier) @member value: (identifier) @variable)]))]))])
  (#eq? @_then "then")
  (#match? @variable "^[$_A-Za-z][$\\w]*$"))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (new_expression) @value)

(program (expression_statement (assignment_expression left: (member_expression) @_exports
  right: (object [
    (pair key: (property_identifier) @name value: [(arrow_function) (function_expression)])
    (method_definition name: (property_identifier) @name)] @function))
  (#eq? @_exports "module.exports")))

(import_statement) @import
(export_statement source: (string)) @import
(export_statement (export_clause) !source) @import
(export_statement "default") @import
(assignment_expression left: (member_expression) @_exports right: [(identifier) (class) (function_expression)]
  (#eq? @_exports "module.exports")) @import
(assignment_expression left: (member_expression) @_exports
  right: (object [
    (shorthand_property_identifier)
    (spread_element (call_expression))
    (pair key: (property_identifier) value: [(identifier) (call_expression) (member_expression)])] @import)
  (#eq? @_exports "module.exports"))
(assignment_expression left: (member_expression) @_exports
  right: [(call_expression function: (identifier) @_require)
          (member_expression object: (call_expression function: (identifier) @_require))]
  (#match? @_exports "^(module\\.)?exports\\b")
  (#eq? @_require "require")) @import
(assignment_expression left: (member_expression) @_exports right: (identifier)
  (#match? @_exports "^(module\\.exports|exports)\\.[^.]+$")) @import
(variable_declarator name: [(identifier) (object_pattern)]
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string)))
  (#eq? @_require "require")) @import
(variable_declarator name: [(identifier) (object_pattern)]
  value: (await_expression (call_expression function: (import) arguments: (arguments . (string))))) @import
(variable_declarator name: [(identifier) (object_pattern)]
  value: (member_expression
    object: (call_expression function: (identifier) @_require arguments: (arguments . (string))))
  (#eq? @_require "require")) @import
(call_expression function: (identifier) @_require arguments: (arguments . (string))
  (#eq? @_require "require")) @import
(call_expression function: (import) arguments: (arguments . (string))) @import
