"""Find code-like tokens in a text, and split them into words."""

from collections.abc import Sequence

from ragmem.heap import word_cache
from ragmem.patterns import lazy

MAX_CHARS = 200
"""A longer token is data (base64, minified code), whose parts are not search terms."""

_RUN = lazy(
    r"`[^`]+`"
    r"|[A-Za-z][a-z+]{1,11}://[^\"'<>`()]*[\w/]"
    r"|[\w$~./@#:+-]+(?:\(\))?"
)
_PLAIN = lazy(r"[(\"]*[A-Za-z]?[a-z]*(?:['\u2019][a-z]+)?[.,;:!?)\"]*")
_AROUND_STARTS = ",:;+@"
_AROUND_ENDS = ".:+@~$#-"
_CODE = lazy(r"[A-Z]{1,5}\d{3,5}|0x[0-9A-Fa-f]{2,16}")
_HASH = lazy(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_PRIVATE = lazy(r"_{1,2}[A-Za-z][A-Za-z0-9]+_{0,2}")
_PIECE = lazy(r"[^\W_]+")
_VERSION_MARK = lazy(r"v(?=\d+\.\d)")
_CAPITAL = lazy(r"[A-Z]")
_HUMP = lazy(
    r"[A-Z]{2,}s(?![^\W\d_A-Z])\d*"  # the URLs in openURLs
    r"|[A-Z]+(?![^\W\d_A-Z])\d*"  # the HTTP in HTTPServer
    r"|[A-Z]?[^\W\d_A-Z]+\d*"
    r"|\d+[^\W\d_A-Z]*"
)


def parts(token: str) -> list[str]:
    """Return the words of a code-like token, in lower case and in order.

    Capitals and marks divide: `HTTPServer.sendAll` is http, server, send and all. Digits stay with their
    letters, so that a hash stays whole. A plain word, also with an apostrophe, has no parts; nor has a token
    of more than 200 characters.
    """
    if len(token) > MAX_CHARS or (
        token.isalpha() and (token.islower() or token.istitle() or token.isupper())
    ):
        return []
    return list(_parts(token))


def identifiers(text: str) -> list[str]:
    """Return the code-like tokens of a text, each once, in order of appearance.

    These are paths, dotted names, camelCase, snake_case, flags, environment variables, error codes, versions,
    hashes, addresses and inline code, as `domain.text.token_types` classifies them. The line number after a
    path and the parentheses of a call are removed. Well-known names (Python, GitHub) count as words.
    """
    found: dict[str, None] = {}
    for word in dict.fromkeys(text.split()):
        names = _in_word(word) if len(word) <= MAX_CHARS else _in_long_word(word)
        if names:
            found.update(dict.fromkeys(names))
    return list(found)


def paths(names: Sequence[str]) -> list[str]:
    """Return the identifiers that are paths or file names."""
    if not names:
        return []
    from ragmem.domain.text.token_types import classify_token  # noqa: PLC0415 - see `_identifier`

    return [name for name in names if (found := classify_token(name)) and found[1] == "file"]


@word_cache(32768)
def _in_word(word: str) -> tuple[str, ...]:
    """Return the identifiers between two blanks; cached, because most words repeat."""
    return () if _PLAIN.fullmatch(word) else _in_long_word(word)


def _in_long_word(word: str) -> tuple[str, ...]:
    return tuple(name for run in _RUN.findall(word) if (name := _identifier(run)))


def _parts(token: str) -> tuple[str, ...]:
    if "'" in token or "\u2019" in token:
        return ()
    words = []
    for piece in _PIECE.findall(_VERSION_MARK.sub("", token, count=1)):
        humps = _HUMP.findall(piece) if _CAPITAL.search(piece, 1) else [piece]
        words += [hump.lower() for hump in humps]
    return () if words == [token.lower()] else tuple(words)


def _identifier(run: str) -> str:
    """Return the identifier in a run of letters and marks, or ""."""
    token = run.lstrip(_AROUND_STARTS).rstrip(_AROUND_ENDS)
    if run[0] != "`":
        if not 1 < len(token) <= MAX_CHARS or token.isdigit() or (token.isalpha() and token.islower()):
            return ""
        if _CODE.fullmatch(token) or _HASH.fullmatch(token) or _PRIVATE.fullmatch(token):
            return token
    # Most questions hold only plain words and numbers and need none of the patterns.
    from ragmem.domain.text.code_spans import classify_code  # noqa: PLC0415
    from ragmem.domain.text.token_types import KNOWN_WEIGHT, classify_token  # noqa: PLC0415

    if run[0] == "`":
        found = classify_code(run.strip("`"))
        return found[0] if found is not None else ""
    found = classify_token(token)
    return found[0] if found is not None and found[2] != KNOWN_WEIGHT else ""
