"""Kotlin."""

import re
from collections.abc import Iterator

from ragmem.readers.code.java import JAVA
from ragmem.readers.code.syntax import Import, Syntax, path_namespace, read_query

_IMPORT = re.compile(r"import\s+([\w.`]+?)(?:\.Companion)?\.(\w+|`[^`]+`|\*)(?:\s+as\s+(\w+))?\s*;?\s*$")
_TEST_FILE = re.compile(r"(?:^|/)src/\w*[tT]est\w*/|(?:Tests?|IT|Spec)\.kts?$")
_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_ANNOTATION = re.compile(
    rf"(?m)^()([ \t]*@[\w.]+\((?:[^()\"]|{_STRING}|\((?:[^()\"]|{_STRING}|\([^()\"]*\))*+\))*+\))"
)
_CONSTRUCTOR = re.compile(
    r"(\bclass\s+\w+(?:\s*<[^<>(){}]*>)?)"
    r"((?:[ \t]+(?:@[\w.]+(?:\([^()\n]*\))?|[a-z]+)){0,8}[ \t]+constructor)(?=[ \t]*\()"
)
_GUARD = re.compile(r"(?m)^([ \t]*(?:is|in)\s[\w.<>*?, \t]+?\s)if(?=\s[^\n]*->)")
_VISIBLE = re.compile(r"\S")


def _preprocess(text: str) -> str:
    """Blank what makes a definition look like a call: annotations with arguments, `constructor` in a head."""

    def blank(found: re.Match[str]) -> str:
        return found[1] + _VISIBLE.sub(" ", found[2])

    # A guard of Kotlin 2.2 is read as one more condition.
    return _GUARD.sub(r"\1, ", _CONSTRUCTOR.sub(blank, _ANNOTATION.sub(blank, text)))


def _imports(text: str) -> Iterator[Import]:
    if found := _IMPORT.match(text):
        member = found[2].strip("`")
        yield Import(found[1].replace("`", ""), member, found[3] or member)


KOTLIN = Syntax(
    "tree_sitter_kotlin",
    read_query("kotlin"),
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    is_test=JAVA.is_test,
    imports=_imports,
    preprocess=_preprocess,
)
