"""Repositories whose own configuration names programs, so that a test can tell whether git ran one."""

import os
import subprocess
from pathlib import Path

NOTE = "# Harbour\n\nWe decided to bound the harbour queue at 700 entries, because it exhausted the memory.\n"


def git(folder, *arguments, home=None):
    """Run git as the person whose repository it is; return what it printed."""
    people = {f"GIT_{who}_{what}": "sam" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home or folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **people,
        **{name: value for name, value in os.environ.items() if name.endswith("_DATE")},
    }
    asked = ["git", "-C", str(folder), "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(asked, env=environ, capture_output=True, text=True, check=True).stdout


def repository(folder, files):
    """Make a repository of one commit with files, given as path and text."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


class HostileRepository:
    """A repository that was unpacked from an archive, with its `.git`; `ran` tells what git ran of it."""

    def __init__(self, folder):
        self.folder = repository(
            folder,
            {"CLAUDE.md": NOTE, "notes.md": NOTE, "pay.py": "def charge(amount):\n    return amount\n"},
        )
        # Beside the repository, as a program's own name says who ran it.
        self._programs = folder.parent / f"{folder.name}-programs"
        self._programs.mkdir()
        self._marks = self._programs / "marks"
        self._marks.mkdir()

    def program(self, name):
        """Return the path of a program that leaves a mark of its name, and fails."""
        path = self._programs / name
        path.write_text(f"#!/bin/sh\necho ran > '{self._marks}/{name}'\nexit 1\n")
        path.chmod(0o755)
        return str(path)

    @property
    def ran(self):
        return sorted(path.name for path in self._marks.iterdir())

    def forget_what_ran(self):
        for mark in self._marks.iterdir():
            mark.unlink()

    def configure(self, **values):
        """Set keys of the repository's own configuration; two underscores stand for a dot."""
        for key, value in values.items():
            git(self.folder, "config", key.replace("__", "."), value)

    def forget_its_first_commit(self):
        """Lose the first commit, so that git would ask the remote that promised to have it."""
        (self.folder / "CLAUDE.md").write_text(NOTE + "Later.\n")
        (first,) = git(self.folder, "rev-list", "HEAD").split()
        git(self.folder, "commit", "-qam", "second")
        (self.folder / ".git" / "objects" / first[:2] / first[2:]).unlink()

    def be_partial(self, url, **remote):
        """Be a partial clone of a remote that only its own configuration knows how to reach."""
        self.forget_its_first_commit()
        self.configure(
            core__repositoryFormatVersion="1",
            extensions__partialClone="origin",
            remote__origin__promisor="true",
            remote__origin__url=url,
            **{f"remote__origin__{key}": value for key, value in remote.items()},
        )

    def name_programs_everywhere(self):
        """Name a program at each key whose program git runs in the course of some command."""
        self.configure(
            core__fsmonitor=self.program("fsmonitor"),
            core__hooksPath=str(Path(self.program("post-index-change")).parent),
            core__pager=self.program("pager"),
            core__editor=self.program("editor"),
            core__askPass=self.program("askpass"),
            core__alternateRefsCommand=self.program("alternate-refs"),
            credential__helper=f"!{self.program('credential')}",
            diff__external=self.program("external-diff"),
            diff__evil__command=self.program("diff-command"),
            diff__evil__textconv=self.program("textconv"),
            filter__evil__clean=self.program("clean"),
            filter__evil__smudge=self.program("smudge"),
            filter__evil__required="true",
            filter__eviler__process=self.program("process"),
            merge__evil__driver=self.program("merge-driver"),
            log__showSignature="true",
            gpg__program=self.program("gpg"),
            pager__log="true",
            alias__ls=f"!{self.program('alias')}",
            submodule__recurse="true",
            uploadpack__packObjectsHook=self.program("pack-objects"),
        )
        for key in ("rev-list", "rev-parse", "diff-tree", "ls-files"):
            self.configure(**{f"pager__{key}": self.program(f"pager-{key}"), f"alias__{key}": "!false"})
        (self.folder / ".gitattributes").write_text("*.md filter=evil diff=evil\n*.py filter=eviler\n")
        (self.folder / ".git" / "info" / "attributes").write_text("* diff=evil merge=evil filter=evil\n")
        for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"):
            Path(self.folder, ".git", "hooks", hook).symlink_to(self.program(hook))
        # Files that were touched make git compare their contents, which is when filters run.
        for path in self.folder.glob("*.*"):
            if path.is_file():
                path.write_text(path.read_text() + "\n# touched\n")
