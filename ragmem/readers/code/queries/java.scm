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
