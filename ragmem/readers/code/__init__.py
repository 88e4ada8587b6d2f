"""Source code, read into symbols and what they refer to."""

from ragmem.readers.code.languages import LANGUAGES, MANIFESTS, language_of
from ragmem.readers.code.reading import read_code

__all__ = ["LANGUAGES", "MANIFESTS", "language_of", "read_code"]
