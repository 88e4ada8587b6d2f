"""Read source code into symbols and their references."""

from ragmem.readers.code.languages import LANGUAGES, MANIFESTS, language_of
from ragmem.readers.code.reader import read_code

__all__ = ["LANGUAGES", "MANIFESTS", "language_of", "read_code"]
