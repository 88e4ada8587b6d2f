(comment) @comment
(namespace_definition name: (_) @name !body) @package
(namespace_definition name: (_) @name body: (_)) @namespace
(class_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @interface
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(const_declaration (const_element . (name) @name) @constant)
(function_call_expression function: (name) @_kind
  arguments: (arguments . (argument [(string) (encapsed_string)] @name)
    . (argument [(anonymous_function) (arrow_function)]))
  (#match? @_kind "^(describe|it|test)$")) @test
(anonymous_class) @namespace
[(anonymous_function) (arrow_function)] @scope

(class_declaration (base_clause [(name) (qualified_name)] @base))
(class_declaration (class_interface_clause [(name) (qualified_name)] @base))
(enum_declaration (class_interface_clause [(name) (qualified_name)] @base))
(interface_declaration (base_clause [(name) (qualified_name)] @base))
(class_declaration body: (declaration_list (use_declaration [(name) (qualified_name)] @base)))
(trait_declaration body: (declaration_list (use_declaration [(name) (qualified_name)] @base)))
(enum_declaration body: (enum_declaration_list (use_declaration [(name) (qualified_name)] @base)))
(property_declaration type: (_) @type (property_element name: (variable_name (name) @field)))
(property_promotion_parameter type: (_) @type name: (variable_name (name) @field))
(assignment_expression left: (member_access_expression object: (variable_name) @_this name: (name) @field)
  right: [(object_creation_expression) (variable_name)] @value (#eq? @_this "$this"))

(simple_parameter type: (_)? @type name: (variable_name) @variable)
(property_promotion_parameter type: (_)? @type name: (variable_name) @variable)
(variadic_parameter name: (variable_name) @variable)
(catch_clause type: (_) @type name: (variable_name) @variable)
(foreach_statement [(variable_name) @variable (pair (variable_name) @variable)] .)
(assignment_expression left: (variable_name) @variable right: (_) @value)

(function_call_expression function: [(name) (qualified_name)] @callee) @call
(member_call_expression object: (_) @receiver name: (name) @callee) @call
(nullsafe_member_call_expression object: (_) @receiver name: (name) @callee) @call
(scoped_call_expression scope: (_) @receiver name: (name) @callee) @call
(object_creation_expression [(name) (qualified_name)] @callee) @call
(array_creation_expression
  . (array_element_initializer [(variable_name) @receiver (class_constant_access_expression . (_) @receiver)])
  . (array_element_initializer (string (string_content) @callee)) .) @passed
(function_definition return_type: (_) @returns)
(method_declaration return_type: (_) @returns)
(named_type) @mention
(class_constant_access_expression . [(name) (qualified_name)] @mention)
(scoped_property_access_expression scope: [(name) (qualified_name)] @mention)
(namespace_use_declaration) @import
[(require_expression) (require_once_expression) (include_expression) (include_once_expression)] @import
