(comment) @comment
(package_clause (package_identifier) @name) @package
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name type: (_)) @class
(type_alias name: (type_identifier) @name) @class
(interface_type (method_elem name: (field_identifier) @name) @method)
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (field_identifier) @name) @method
(source_file (const_declaration (const_spec name: (identifier) @name (#match? @name "^[A-Z]")) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name (#match? @name "^[A-Z]")) @constant))
(func_literal) @scope

(struct_type (field_declaration_list (field_declaration !name type: (_) @base)))
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(field_declaration name: (field_identifier) @field type: (_) @type)

(parameter_declaration name: (identifier) @variable type: (_) @type)
(variadic_parameter_declaration name: (identifier) @variable)
(var_spec name: (identifier) @variable type: (_) @type)
(var_spec . name: (identifier) @variable value: (expression_list . (_) @value))
(short_var_declaration
  left: (expression_list . (identifier) @variable)
  right: (expression_list . [(composite_literal type: (_) @type)
                             (unary_expression operand: (composite_literal type: (_) @type))
                             (call_expression) @value
                             (type_conversion_expression) @value
                             (_)]))
(range_clause left: (expression_list (identifier) @variable))

(call_expression function: (identifier) @callee) @call
(call_expression
  function: (selector_expression operand: (_) @receiver field: (field_identifier) @callee)) @call
(type_conversion_expression type: (generic_type type: [(type_identifier) (qualified_type)] @callee)) @call
(composite_literal type: [(type_identifier) (qualified_type)] @callee) @call
(composite_literal type: (generic_type type: [(type_identifier) (qualified_type)] @callee)) @call
(argument_list (identifier) @callee @passed)
(argument_list
  (selector_expression operand: (identifier) @receiver field: (field_identifier) @callee) @passed)
(keyed_element value: (literal_element (identifier) @callee @passed))
(keyed_element value: (literal_element
  (selector_expression operand: (identifier) @receiver field: (field_identifier) @callee) @passed))
(function_declaration result: [(type_identifier) (pointer_type) (qualified_type) (generic_type)] @returns)
(function_declaration result: (parameter_list . (parameter_declaration type: (_) @returns)))
(method_declaration result: [(type_identifier) (pointer_type) (qualified_type) (generic_type)] @returns)
(method_declaration result: (parameter_list . (parameter_declaration type: (_) @returns)))
(method_elem result: [(type_identifier) (pointer_type) (qualified_type) (generic_type)] @returns)
(import_spec) @import
