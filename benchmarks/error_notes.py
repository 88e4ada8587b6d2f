"""Collect the notes for `cues.py --errors` from the public repositories of error_notes.txt.

Each line there is a repository of GitHub and a commit. Of each the first Markdown files that quote an error
are taken, in the order of their paths. None is committed here: each keeps the licence of its repository.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

REPOSITORIES = Path(__file__).with_name("error_notes.txt")

BYTES = range(300, 60_000)
LOOKED_AT = 700
"""Files of a repository that are read at most."""

MOST = 25
"""Files of a repository that are taken at most, so that none makes up the set."""

_ERROR = re.compile(rb"(?:Error|Exception|error|fatal|panic)(?:\[\w+\])?: ")


def git(folder: Path, *arguments: str) -> bytes:
    """Return what git prints; raises CalledProcessError."""
    return subprocess.run(["git", *arguments], cwd=folder, check=True, stdout=subprocess.PIPE).stdout


def notes_of(repository: str, commit: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and text of each file of a commit that is taken."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        git(folder, "init", "-q", "--bare")
        git(folder, "fetch", "-q", "--depth", "1", f"https://github.com/{repository}", commit)
        found = []
        for line in (
            git(folder, "ls-tree", "-r", "-l", "-z", "FETCH_HEAD").decode(errors="replace").split("\0")
        ):
            about, _, path = line.partition("\t")
            size = about.split()[-1] if about else "-"
            is_note = (
                path.endswith(".md") and "CHANGELOG" not in path.upper() and "/node_modules/" not in path
            )
            if is_note and size.isdigit() and int(size) in BYTES:
                found.append((path, about.split()[2]))
        taken = 0
        for path, blob in found[:LOOKED_AT]:
            text = git(folder, "cat-file", "blob", blob)
            if _ERROR.search(text):
                yield path, text
                taken += 1
                if taken == MOST:
                    return


def main() -> None:
    """Write the notes into a folder; tell which repository could not be fetched, and exit 3 then."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the notes go")
    target = parser.parse_args().folder / "memory"
    target.mkdir(parents=True, exist_ok=True)
    missing = []
    for line in REPOSITORIES.read_text(encoding="utf-8").splitlines():
        repository, commit = line.split()
        try:
            for order, (path, text) in enumerate(notes_of(repository, commit)):
                name = f"{repository.replace('/', '__')}__{order:03d}__{path.replace('/', '-')[-80:]}"
                (target / name).write_bytes(text)
        except subprocess.CalledProcessError:
            missing.append(repository)
    count = len(list(target.iterdir()))
    print(f"{count} notes of {len({path.name.rsplit('__', 2)[0] for path in target.iterdir()})} repositories")
    if missing:
        print(f"not fetched: {', '.join(missing)}", file=sys.stderr)
        raise SystemExit(3)


if __name__ == "__main__":
    main()
