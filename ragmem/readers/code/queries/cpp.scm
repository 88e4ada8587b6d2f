(class_specifier name: [(type_identifier) (template_type)] @name body: (_)) @class
(struct_specifier name: (template_type) @name body: (_)) @class
(alias_declaration name: (type_identifier) @name) @class
(concept_definition name: (identifier) @name) @interface
(namespace_definition name: (_) @name) @namespace
(namespace_definition !name) @namespace
(lambda_expression) @scope
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)
  default_value: (number_literal)) @method
(function_definition
  declarator: (function_declarator declarator: (identifier) @_macro
    parameters: (parameter_list . (parameter_declaration) . (parameter_declaration type: (_) @name) .))
  (#match? @_macro "^(TEST|TEST_F|TEST_P|TYPED_TEST)$")) @test

(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(field_declaration type: (_) @type declarator: (reference_declarator (field_identifier) @field))
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @variable))
(optional_parameter_declaration type: (_) @type declarator: [(identifier) @variable
  (pointer_declarator declarator: (identifier) @variable) (reference_declarator (identifier) @variable)])
(declaration type: (_) @type
  declarator: (init_declarator declarator: (reference_declarator (identifier) @variable) value: (_) @value))
(for_range_loop type: (_) @type
  declarator: [(identifier) @variable (reference_declarator (identifier) @variable)])

(call_expression function: (qualified_identifier) @callee) @call
(call_expression function: (template_function name: (identifier) @callee)) @call
(call_expression function: (field_expression argument: (_) @receiver
  field: (template_method name: (field_identifier) @callee))) @call
(new_expression type: [(type_identifier) (qualified_identifier) (template_type)] @callee) @call
(using_declaration) @import
