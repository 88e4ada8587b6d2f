[(line_comment) (block_comment)] @comment
(struct_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(type_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @interface
(impl_item type: (_) @owner) @implementation
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(macro_definition name: (identifier) @name) @function
(mod_item name: (identifier) @name body: (_)) @module
(closure_expression) @scope

(impl_item trait: [(type_identifier) (scoped_type_identifier) (generic_type)] @base)
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(field_declaration name: (field_identifier) @field type: (_) @type)

(parameter pattern: (identifier) @variable type: (_) @type)
(closure_parameters (identifier) @variable)
(closure_parameters (parameter pattern: (identifier) @variable type: (_) @type))
(let_declaration pattern: (identifier) @variable type: (_) @type)
(let_declaration pattern: (identifier) @variable !type value: (struct_expression name: (_) @type))
(let_declaration pattern: (identifier) @variable !type value: (_) @value)
(for_expression pattern: (identifier) @variable)

(call_expression function: [(identifier) (scoped_identifier)] @callee) @call
(call_expression function: (generic_function function: [(identifier) (scoped_identifier)] @callee)) @call
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @callee)) @call
(struct_expression name: [(type_identifier) (scoped_type_identifier)] @callee) @call
(arguments (scoped_identifier) @callee @passed)
(field_initializer value: (scoped_identifier) @callee @passed)
(macro_invocation macro: [(identifier) (scoped_identifier)] @callee) @call
(macro_invocation (token_tree) @tokens)
(function_item return_type: (_) @returns)
(function_signature_item return_type: (_) @returns)
(use_declaration) @import
(mod_item name: (identifier) !body) @import
(extern_crate_declaration) @import
