"""Find the passwords that commands take at a certain place, without a name that tells what they are."""

import re
from collections.abc import Callable, Iterator, Sequence

from ragmem.domain.secret_values import Secret, is_mixed, is_ordinary

_CLIENT = re.compile(
    r"(?:(?:mysql|mariadb|redis-cli)\w{0,8}[ \t][^\n|;]{0,160}?(?<=[ \t])(?:-p|-a[ \t]{1,3})"
    r"|(?:docker|podman) login[ \t][^\n|;]{0,160}?(?<=[ \t])-p[ \t]{1,3})"
    r"[\"']?(?P<value>[^\s\"'`\\]{6,128}+)"
)
_PIPED = re.compile(
    r"(?:echo|printf)[ \t]{1,3}(?:-\w{1,3}[ \t]{1,3})?[\"']?(?:[\w.-]{1,32}:)?"
    r"(?P<value>[^\s\"'`\\:|]{6,128}+)[\"']?[ \t]{0,3}\|[ \t]{0,3}"
    r"(?:sudo[ \t][^\n|;]{0,40}?-S\b|(?:sudo[ \t]{1,3})?chpasswd|[^\n|;]{0,160}?-stdin\b)"
)
_COMMANDS = {
    b"mysql": _CLIENT,
    b"mariadb": _CLIENT,
    b"redis-cli": _CLIENT,
    b"docker login": _CLIENT,
    b"podman login": _CLIENT,
    b"echo ": _PIPED,
    b"printf ": _PIPED,
}


MIN_ARGUMENT = 6
"""Characters of a password at the place where a command takes one."""

MOST_ARGUMENTS = 12
_ARGUMENT = re.compile(
    r"[ \t]{1,8}(?:\\{0,3}(?P<mark>[\"'])(?P<quoted>[^\"'\n]{1,256}?)\\{0,3}(?P=mark)"
    r"|(?P<bare>[^\s\"'`|;&<>]{1,256}+))"
)
_OF_SHARE = re.compile(r"[A-Za-z]:\Z|\*\Z|[/$%]|\\\\")
"""A drive, an option, a variable or a share: what `net use` takes besides a password."""

_FLAGS = re.compile(r"-[A-Za-z0-9]{1,8}\Z")


def in_clients(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords that commands take without a name, as an argument or through a pipe.

    `raw` is the text in ASCII, `small` that in small letters.
    """
    yield from _judged(text, small, b"net use", _of_share)
    yield from _judged(text, small, b"htpasswd", _of_password_file)
    for sought, pattern in _COMMANDS.items():
        at = raw.find(sought)
        while at >= 0:
            found = pattern.match(text, at)
            if found and is_mixed(found["value"]) and not is_ordinary(found["value"]):
                yield Secret(*found.span("value"), "password")
            at = raw.find(sought, at + 1)


_Argument = tuple[int, str]
"""Where an argument of a command begins, and what it is."""


def _judged(
    text: str, small: bytes, command: bytes, password: Callable[[Sequence[_Argument]], _Argument | None]
) -> Iterator[Secret]:
    """Yield what stands where this command takes a password, unless it is a word or shows where one goes."""
    at = small.find(command)
    while at >= 0:
        at += len(command)
        if found := password(_arguments(text, at)):
            start, value = found[0], found[1].partition("\\")[0]
            if len(value) >= MIN_ARGUMENT and is_mixed(value) and not is_ordinary(value):
                yield Secret(start, start + len(value), "password")
        at = small.find(command, at)


def _arguments(text: str, at: int) -> list[_Argument]:
    """Return what follows a command in its line, without quotes."""
    found: list[_Argument] = []
    while len(found) < MOST_ARGUMENTS and (one := _ARGUMENT.match(text, at)):
        group = "quoted" if one["mark"] else "bare"
        found.append((one.start(group), one[group]))
        at = one.end()
    return found


def _of_share(arguments: Sequence[_Argument]) -> _Argument | None:
    """Return the first that is no part of `net use DRIVE SHARE PASSWORD /user:NAME`, in any order."""
    if not any(value.lower().startswith(("/user:", "/u:")) for _, value in arguments):
        return None
    return next((one for one in arguments if not _OF_SHARE.match(one[1])), None)


def _of_password_file(arguments: Sequence[_Argument]) -> _Argument | None:
    """Return the last of `htpasswd -b FILE NAME PASSWORD`; with -n there is no file."""
    # An image may stand before the options, where a container is told to run it.
    first = next((number for number, (_, value) in enumerate(arguments[:2]) if value[:1] == "-"), None)
    if first is None:
        return None
    flags, given = "", list(arguments[first:])
    while given and _FLAGS.match(given[0][1]):
        flag = given.pop(0)[1]
        flags += flag[1:]
        # The rounds of a hash are a number of their own.
        if flag[-1] in "Cr" and given:
            given.pop(0)
    place = 1 if "n" in flags else 2
    return given[place] if "b" in flags and len(given) > place else None
