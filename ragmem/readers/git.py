"""Run git for facts about a folder, with a deadline; it may not answer."""

import os
import re
from pathlib import Path

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

TIMEOUT = 2.0
"""Seconds: a healthy repository answers in milliseconds, one on a dead network share never does."""

SETTINGS = (
    # The variable below says the same, and a wrapper around git may drop variables.
    "protocol.allow=never",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.askPass=",
    "credential.helper=",
    "diff.external=",
    "log.showSignature=false",
    "submodule.recurse=false",
    # A folder among the files that looks like a bare repository is not one.
    "safe.bareRepository=explicit",
)
"""Overrides of a repository's own configuration: most of these keys name a program for git to run."""

_ENVIRONMENT = {
    # No protocol has this name. Otherwise a partial clone fetches missing objects from its remote, with the
    # program that its configuration names.
    "GIT_ALLOW_PROTOCOL": "/",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}

_CREDENTIALS = lazy(r"^[^/@]*@")
_SCHEME = lazy(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SCP_FORM = lazy(r"^(?:[^/@:]+@)?([^/:]+):(?!//)(.+)$")
_DEFAULT_PORT = lazy(r"^([^/:]+):(?:22|80|443)/")


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository: `root` is the main working folder, the same for all its worktrees.

    `root_commit` is empty for a repository without commits, a shallow clone, or no answer in time. `remote`
    may be empty, and has no credentials.
    """

    root: Path
    root_commit: str = ""
    remote: str = ""


def repository_at(folder: Path) -> Repository | None:
    """Return the repository of a working folder; None where git does not answer. Never raises."""
    question = ("--path-format=absolute", "--git-common-dir", "--is-shallow-repository")
    answer = _ask(folder, "rev-parse", *question)
    if len(answer) != 2:
        return None
    common, shallow = Path(answer[0]), answer[1] == "true"
    # The parent of a main checkout's .git is its working folder; bare repositories and submodules differ.
    root = common.parent if common.name == ".git" else folder
    # The first commit of a shallow clone is where it was cut, not the beginning of the project.
    commits = [] if shallow else _ask(folder, "rev-list", "--max-parents=0", "HEAD", "--")
    return Repository(root, commits[-1] if commits else "", remote_of(folder))


def remote_of(folder: Path) -> str:
    """Return the remote `origin` of a repository, else its first one, normalized; empty without one."""
    lines = _ask(folder, "config", "--get-regexp", r"^remote\..*\.url$")
    urls = dict(line.split(" ", 1) for line in lines if " " in line)
    url = urls.get("remote.origin.url") or next((urls[name] for name in sorted(urls)), "")
    return normalize_remote(url)


def normalize_remote(url: str) -> str:
    """Return a remote as host/owner/name, the same for https and ssh, without user, password and `.git`."""
    url = url.strip()
    scheme = _SCHEME.match(url)
    if scheme:
        url = _CREDENTIALS.sub("", url[scheme.end() :])
        url = _DEFAULT_PORT.sub(r"\1/", url)
    elif found := _SCP_FORM.match(url):
        url = f"{found[1]}/{found[2].lstrip('/')}"
    url = url.split("?")[0].rstrip("/").removesuffix(".git").rstrip("/")
    host, slash, rest = url.partition("/")
    return f"{host.lower()}{slash}{rest}"


def _ask(folder: Path, *arguments: str) -> list[str]:
    return (output_of(folder, *arguments) or b"").decode("utf-8", "replace").splitlines()


def output_of(
    folder: Path, *arguments: str, timeout: float = TIMEOUT, given: bytes | None = None
) -> bytes | None:
    """Return the output of a git command with `given` as its input; None where it fails. Never raises.

    Only this module and services/sharing/git_commands.py run git. The folder may belong to others, so no
    program in its configuration is run and no remote is reached. This holds for commands that neither write
    nor compare files of the working folder: comparing runs the filters of .gitattributes, which no switch of
    git turns off. So `status`, `diff-files` and `ls-files -m` must not be used here.
    """
    # Most commands run no git, and this import is a fiftieth of the time of a cold question.
    import subprocess  # noqa: PLC0415

    overrides = [word for setting in SETTINGS for word in ("-c", setting)]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the arguments are ours
            ["git", "--no-pager", *overrides, "-C", str(folder), *arguments],  # noqa: S607 - git is found by PATH
            env=environment(),
            stdin=subprocess.DEVNULL if given is None else None,
            input=given,
            capture_output=True,
            timeout=timeout,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout


def environment() -> dict[str, str]:
    """Return the variables for git: no program of a repository is run, and no remote is reached."""
    # GIT_DIR and the like, which git sets for hooks, would select another repository.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # A relative folder of PATH could be in the repository.
    path = environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [folder for folder in path if Path(folder).is_absolute()]
    return {**environ, "PATH": os.pathsep.join(folders), **_ENVIRONMENT}
