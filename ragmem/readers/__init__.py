"""Readers turn files on disk into drafts."""

# Empty on purpose: a question needs the project of a folder, but not the import of YAML and gitignore syntax.
