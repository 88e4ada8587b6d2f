(class_declaration name: (identifier) @name) @class
(class name: (identifier) @name) @class
(class_heritage [(identifier) (member_expression)] @base)
(field_definition
  property: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(field_definition property: (property_identifier) @field value: (new_expression) @value)
(formal_parameters [(identifier) @variable (assignment_pattern left: (identifier) @variable)])
(arrow_function parameter: (identifier) @variable)
