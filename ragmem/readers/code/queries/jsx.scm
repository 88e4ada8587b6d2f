([(jsx_opening_element name: [(identifier) (member_expression)] @callee)
  (jsx_self_closing_element name: [(identifier) (member_expression)] @callee)] @call
  (#match? @callee "^[A-Z]|[.]"))
(jsx_attribute (jsx_expression (identifier) @callee @passed))
