(comment) @comment
(module name: (_) @name body: (body_statement [(method) (singleton_method)])) @interface
(module name: (_) @name) @namespace
(class name: (_) @name) @class
(assignment left: (constant) @name right: (call receiver: (constant) @_made method: (identifier) @_new)
  (#match? @_made "^(Struct|Class|Data)$") (#match? @_new "^(new|define)$")) @class
(method name: (_) @name) @method
(singleton_class (body_statement (method name: (_) @name @static) @method))
(singleton_method object: (_) @static name: (_) @name) @method
(assignment left: (constant) @name) @constant
(call method: (identifier) @_kind
  arguments: (argument_list . [(string) (constant) (scope_resolution)] @name) block: (_)
  (#match? @_kind "^(describe|context|it|specify|feature|scenario|test|should)$")) @test
[(do_block) (block) (lambda)] @scope

(superclass [(constant) (scope_resolution)] @base)
(call !receiver method: (identifier) @_mix arguments: (argument_list [(constant) (scope_resolution)] @base)
  (#match? @_mix "^(include|extend|prepend)$"))
(assignment left: (instance_variable) @field right: (call) @value)

(method_parameters (identifier) @variable)
(method_parameters (_ name: (identifier) @variable))
(block_parameters (identifier) @variable)
(lambda_parameters (identifier) @variable)
(assignment left: (identifier) @variable right: (_) @value)
(left_assignment_list (identifier) @variable)
(exception_variable (identifier) @variable)

(call !receiver method: (identifier) @callee) @call
(call receiver: (_) @receiver method: [(identifier) (constant)] @callee) @call
(body_statement (identifier) @callee @call)
(argument_list (identifier) @callee @call)
(assignment right: (identifier) @callee @call)
(call receiver: (identifier) @callee @call)
(binary (identifier) @callee @call)
(return (argument_list (identifier) @callee @call))
(interpolation (identifier) @callee @call)
(then (identifier) @callee @call)
(if condition: (identifier) @callee @call)
(unless condition: (identifier) @callee @call)
(call !receiver method: (identifier) @_load (#match? @_load "^(require|require_relative|load)$")
  arguments: (argument_list . (string))) @import
