"""What a text is worth: tier, kind, evidence, protection."""
