[(line_comment) (block_comment)] @comment
(package_header (qualified_identifier) @name) @package
(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(type_alias type: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(function_declaration [(user_type) (nullable_type)] @extended . name: (identifier) @name) @method
(property_declaration (variable_declaration . (identifier) @name) (getter (function_body))) @method
(source_file (property_declaration (variable_declaration . (identifier) @name)) @constant)
(property_declaration (modifiers (property_modifier) @_const) (variable_declaration . (identifier) @name)
  (#eq? @_const "const")) @constant
(source_file (property_declaration (object_literal) @namespace))
[(lambda_literal) (anonymous_function)] @scope

(class_declaration (delegation_specifiers (delegation_specifier [(user_type) @base
  (constructor_invocation (user_type) @base) (explicit_delegation . (user_type) @base)])))
(object_declaration (delegation_specifiers (delegation_specifier [(user_type) @base
  (constructor_invocation (user_type) @base) (explicit_delegation . (user_type) @base)])))
(class_parameter (identifier) @field . [(user_type) (nullable_type)] @type)
(class_body (property_declaration (variable_declaration . (identifier) @field (_) @type)))
(class_body (property_declaration (variable_declaration . (identifier) @field .) (call_expression) @value))
(class_body (property_declaration (variable_declaration . (identifier) @field .)
  (property_delegate (call_expression (annotated_lambda (lambda_literal (call_expression) @value .))))))

(parameter . (identifier) @variable (_) @type)
(variable_declaration . (identifier) @variable (_)? @type)
(property_declaration (variable_declaration . (identifier) @variable .)
  [(call_expression) @value (binary_expression left: (call_expression) @value operator: "?:")
   (as_expression right: (_) @type)])

(call_expression . (identifier) @callee) @call
(call_expression . (navigation_expression (_) @receiver . (identifier) @callee .)) @call
((navigation_expression (_) @receiver "::" (identifier) @callee) @call (#not-eq? @callee "class"))
(object_literal (delegation_specifiers (delegation_specifier
  [(user_type) @callee (constructor_invocation (user_type) @callee)]))) @call
(callable_reference (identifier) @callee) @call
(infix_expression . (_) @receiver . (identifier) @callee) @call
(function_declaration (function_value_parameters) . [(user_type) (nullable_type)] @returns)
(user_type) @mention
(navigation_expression . (identifier) @mention (#match? @mention "^[A-Z]"))
(import) @import
