"""Find the remote of a project: where members keep what they share."""

import re
from pathlib import Path

from ragmem.errors import UsageError
from ragmem.readers.git import output_of

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_HELPER = re.compile(r"[a-z0-9+.-]+::", re.IGNORECASE)
_SCP_FORM = re.compile(r"(?:[^/@:\s]+@)?[^/@:\s]+:(?!//)")
_SCHEMES = frozenset({"https", "ssh", "git", "file"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_USER = re.compile(r"(?<=://)[^/@]*@")


def remote_url(folder: Path, name: str = "origin", *, push: bool = False) -> str:
    """Return the URL or path of a remote of the repository at a folder; raises UsageError if it has none.

    With `push` it is the one to push to. Only the configuration of the repository is read.
    """
    for key in ("pushurl", "url") if push else ("url",):
        found = output_of(folder, "config", "--get", f"remote.{name}.{key}")
        url = (found or b"").decode("utf-8", "replace").strip("\n")
        if url:
            return check_url(url, folder)
    raise UsageError(
        f'the repository "{folder}" has no remote "{name}"',
        hint="add one with `git remote add`, or name another as remote below [share] of config.toml",
    )


def check_url(url: str, folder: Path | None = None) -> str:
    """Return the URL if git may reach it: by https, ssh, git, or as a path; raises UsageError otherwise.

    A path that is not absolute is one from the folder.
    """
    scheme = _SCHEME.match(url)
    helper = _HELPER.match(url)
    if _CONTROL.search(url) or url.startswith("-") or helper or not url:
        raise UsageError(f"{shown_url(url)!r} is not a remote", hint="use https, ssh, git or a path")
    if scheme:
        if scheme[1].lower() not in _SCHEMES:
            raise UsageError(
                f"a remote by {scheme[1].lower()} is not allowed", hint="use https, ssh, git or a path"
            )
        return url
    if _SCP_FORM.match(url):
        return url
    return str((folder or Path.cwd()) / url)


def shown_url(url: str) -> str:
    """Return a URL for messages: without user, password and control characters."""
    return _CONTROL.sub("?", _USER.sub("", url))
