"""Readers: files on disk become drafts."""

from ragmem.readers.discover import Discovery, Skipped, discover
from ragmem.readers.files import ReadError, Reason, read_text
from ragmem.readers.reading import Reading
from ragmem.readers.scope import ProjectFinder, ProjectIdentity
from ragmem.readers.slugs import resolve_slug, slug_of
from ragmem.readers.source import READERS, find_files, read_file, read_source

__all__ = [
    "READERS",
    "Discovery",
    "ProjectFinder",
    "ProjectIdentity",
    "ReadError",
    "Reading",
    "Reason",
    "Skipped",
    "discover",
    "find_files",
    "read_file",
    "read_source",
    "read_text",
    "resolve_slug",
    "slug_of",
]
