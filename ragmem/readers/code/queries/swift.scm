[(comment) (multiline_comment)] @comment
(class_declaration name: (type_identifier) @name) @class
(class_declaration name: (user_type) @owner) @implementation
(protocol_declaration name: (type_identifier) @name) @interface
(typealias_declaration name: (type_identifier) @name) @class
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) computed_value: (_)) @method
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @constant)
[(lambda_literal) (init_declaration) (deinit_declaration) (subscript_declaration)] @scope

(inheritance_specifier inherits_from: (user_type) @base)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)
  (type_annotation (_) @type)))
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)
  . value: (call_expression) @value))
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @field)
  (type_annotation (_) @type))

(parameter name: (simple_identifier) @variable)
(parameter name: (simple_identifier) @variable
  [(user_type) (optional_type) (existential_type) (opaque_type)] @type)
(lambda_parameter name: (simple_identifier) @variable)
(lambda_parameter name: (simple_identifier) @variable [(user_type) (optional_type)] @type)
(for_statement item: (pattern (simple_identifier) @variable))
(property_declaration name: (pattern (pattern (simple_identifier) @variable)))
(property_declaration name: (pattern bound_identifier: (simple_identifier) @variable)
  (type_annotation [(user_type) (optional_type) (existential_type) (opaque_type)] @type)?)
(property_declaration name: (pattern bound_identifier: (simple_identifier) @variable)
  . value: [(call_expression) @value (await_expression expr: (call_expression) @value)
    (try_expression expr: (call_expression) @value)
    (try_expression expr: (await_expression expr: (call_expression) @value))
    (as_expression [(user_type) (optional_type)] @type)])
(_ bound_identifier: (simple_identifier) @variable
  . [(call_expression) @value (await_expression expr: (call_expression) @value)
    (try_expression expr: (call_expression) @value)
    (try_expression expr: (await_expression expr: (call_expression) @value))
    (as_expression [(user_type) (optional_type)] @type)])

(call_expression . (simple_identifier) @callee) @call
(call_expression . (navigation_expression
  target: [(simple_identifier) (navigation_expression) (call_expression) (constructor_expression)
    (self_expression) (super_expression) (tuple_expression) (prefix_expression) (line_string_literal)
    (array_literal)] @receiver
  suffix: (navigation_suffix suffix: (simple_identifier) @callee))) @call
(call_expression . (navigation_expression
  target: [(postfix_expression target: (_) @receiver) (await_expression expr: (_) @receiver)
    (try_expression expr: [(call_expression) (navigation_expression) (simple_identifier)] @receiver)
    (try_expression expr: (await_expression expr: (_) @receiver))]
  suffix: (navigation_suffix suffix: (simple_identifier) @callee))) @call
(constructor_expression constructed_type: (user_type) @callee) @call
(value_argument value: (simple_identifier) @callee @passed)
(value_argument value: (navigation_expression target: (self_expression) @receiver
  suffix: (navigation_suffix suffix: (simple_identifier) @callee)) @passed)
(selector_expression (simple_identifier) @callee) @call
(function_declaration [(user_type) (optional_type) (existential_type) (opaque_type)] @returns)
(protocol_function_declaration [(user_type) (optional_type) (existential_type) (opaque_type)] @returns)
(user_type) @mention
(navigation_expression target: (simple_identifier) @mention (#match? @mention "^[A-Z]"))
(import_declaration) @import
