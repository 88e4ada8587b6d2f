"""Sessions of an assistant: transcripts, phases, rules, agents."""
