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
