"""Readers: files on disk become drafts."""

# Empty on purpose: a question asks for the project of a folder, without paying for YAML and gitignore syntax.
