"""Remotes for sharing, and histories that a hostile member has put there."""

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from datetime import UTC, datetime

from ragmem.domain.sharing.record import SharedMemory, encode, record_id

AT = datetime(2026, 3, 1, tzinfo=UTC)
PERSON = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def records(author, first, end, *, size=40):
    """Return records of a member by id, with texts that are numbered from one to before another number."""
    texts = [f"{author} says {number}. ".ljust(size, "x") for number in range(first, end)]
    found = (encode(SharedMemory(author, AT, AT, "A title", text)) for text in texts)
    return {record_id(encoded): encoded for encoded in found}


def git(folder, *arguments, given=None):
    """Run git on a bare repository and return what it printed."""
    command = ["git", f"--git-dir={folder}", *arguments]
    environ = {**os.environ, **PERSON}
    return subprocess.run(command, input=given, env=environ, capture_output=True, check=True).stdout.decode()


def make_remote(folder):
    """Make an empty bare repository and return its path as a URL."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    return str(folder)


def write_blob(remote, content):
    """Write a blob and return its id."""
    return git(remote, "hash-object", "-w", "--stdin", given=content).strip()


def write_tree(remote, entries):
    """Write a tree of (mode, name, object id) without any check of git; return its id."""
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(key) for mode, name, key in entries)
    return git(remote, "hash-object", "-w", "--stdin", "-t", "tree", "--literally", given=raw).strip()


def write_history(remote, member, tree):
    """Set a member's ref to a new commit of a tree, whatever was there before."""
    commit = git(remote, "commit-tree", tree, "-m", "x").strip()
    git(remote, "update-ref", f"refs/ragmem/{member}", commit)
    return commit


@contextmanager
def git_daemon(folder):
    """Serve the repositories below a folder by git's own protocol, for reading and writing."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--export-all", "--enable=receive-pack", "--listen=127.0.0.1", "--reuseaddr", f"--port={port}"]
    command = ["git", "daemon", *options, f"--base-path={folder}", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"git://127.0.0.1:{port}/"
    finally:
        os.killpg(process.pid, 9)
        process.wait()
