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
