(comment) @comment
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(type_definition type: (_ !name body: (_)) declarator: (type_identifier) @name) @class
(preproc_def name: (identifier) @name value: (_)) @constant
(preproc_function_def name: (identifier) @name) @function
(declaration (storage_class_specifier)? @storage (type_qualifier) @_how
  declarator: (init_declarator declarator: (identifier) @name)
  (#match? @_how "const")) @constant

(field_declaration type: (_) @type declarator: [(field_identifier) @field
  (pointer_declarator declarator: (field_identifier) @field)])
(parameter_declaration type: (_) @type declarator: [(identifier) @variable
  (pointer_declarator declarator: (identifier) @variable)])
(declaration type: (_) @type declarator: [(identifier) @variable
  (pointer_declarator declarator: (identifier) @variable)])
(declaration type: (_) @type declarator: (init_declarator declarator: [(identifier) @variable
  (pointer_declarator declarator: (identifier) @variable)] value: (_) @value))

(call_expression function: (identifier) @callee) @call
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @callee)) @call
(preproc_include) @import
