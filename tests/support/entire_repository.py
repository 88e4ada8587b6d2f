"""A repository with checkpoints as Entire writes them, built by git's plumbing."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

V1 = "refs/heads/entire/checkpoints/v1"
Tree = dict[str, Any]
"""Names -> bytes of a file, a further tree, or (mode, hash)."""


class EntireRepository:
    """A repository of one commit; the checkpoints are added by a test."""

    def __init__(self, folder: Path, *, hash_name: str = "sha1") -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", f"--object-format={hash_name}")
        (folder / "app.py").write_text("x = 1\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.tree: Tree = {}
        self.tip = ""

    def git(self, *arguments: str, given: bytes | None = None, author: str = "Sam Reed") -> str:
        """Run git and return what it printed."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": author,
            "GIT_AUTHOR_EMAIL": "dev@example.org",
            "GIT_COMMITTER_NAME": author,
            "GIT_COMMITTER_EMAIL": "dev@example.org",
        }
        words = ["git", "-C", str(self.folder), "-c", "init.defaultBranch=main", *arguments]
        done = subprocess.run(words, env=environ, input=given, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def write(self, tree: Tree) -> str:
        """Write a tree and what is in it; return its hash."""
        lines = []
        for name, what in tree.items():
            if isinstance(what, dict):
                lines.append(f"040000 tree {self.write(what)}\t{name}")
            elif isinstance(what, bytes):
                lines.append(f"100644 blob {self.blob(what)}\t{name}")
            else:
                mode, identifier = what
                kind = {"160000": "commit", "040000": "tree"}.get(mode, "blob")
                lines.append(f"{mode} {kind} {identifier}\t{name}")
        return self.git("mktree", "--missing", "-z", given="\0".join((*lines, "")).encode())

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=content)

    def point(self, ref: str, tree: Tree, message: str, *, parent: str = "", author: str = "Ana Ruiz") -> str:
        """Let a ref point at a new commit of a tree; return the commit."""
        parents = ("-p", parent) if parent else ()
        commit = self.git("commit-tree", self.write(tree), *parents, "-m", message, author=author)
        self.git("update-ref", ref, commit)
        return commit

    def add(
        self, checkpoint: str, *copies: Tree, ref: str = V1, author: str = "Ana Ruiz", folders: bool = True
    ) -> None:
        """Add a checkpoint with copies of sessions to a branch, as its next commit."""
        inner: Tree = {"metadata.json": json.dumps({"checkpoint_id": checkpoint}).encode()}
        if folders:
            inner |= {str(number): copy for number, copy in enumerate(copies)}
        else:
            inner = copies[0]
        shard = self.tree.setdefault(checkpoint[:2], {})
        shard[checkpoint[2:]] = inner
        message = f"Checkpoint: {checkpoint}\n\nEntire-Strategy: manual-commit"
        self.tip = self.point(ref, self.tree, message, parent=self.tip, author=author)

    def code(self, message: str, *, author: str = "Ana Ruiz") -> str:
        """Make a commit of the code; return its hash."""
        self.git("commit", "-q", "--allow-empty", "-m", message, author=author)
        return self.git("rev-parse", "HEAD")


def copy_of(transcript: bytes, session: str, *, created: str = "2026-05-30T01:00:00Z", **more: Any) -> Tree:
    """Return the folder of a session in a checkpoint."""
    told = {"session_id": session, "created_at": created, "agent": "Claude Code", "branch": "main", **more}
    return {
        "metadata.json": json.dumps(told).encode(),
        "full.jsonl": transcript,
        "prompt.txt": b"why\n",
        "content_hash.txt": b"sha256:0\n",
    }
