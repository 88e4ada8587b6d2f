"""Check for duplicate projects, and for memories in another project than the one in their text."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from ragmem.domain.model import UNASSIGNED
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.projects.placement import find_misplaced
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.migrations import table_exists

_NAME = "projects"

MOST_ENTRIES = 1_000_000
"""Maximum entries of the log that are searched for the user's splits."""

MOST = 5
"""Maximum pairs that are listed."""


def check_projects(patient: DoctorContext) -> Iterator[Check]:
    """Report projects that seem to be the same, misplaced memories, and memories without a project."""
    catalog = patient.catalog
    with catalog.database.read() as connection:
        if not table_exists(catalog.database, connection, "project_moves"):
            # The memory is read-only, so the schema was not migrated.
            return
    twins = twins_of(catalog)
    names = catalog.projects.names()
    for one, other, why in twins[:MOST]:
        detail = f"{names.get(one, one)} ({one}) and {names.get(other, other)} ({other}) have {why}"
        yield Check(_NAME, "warning", detail, f"ragmem projects join {other} {one}")
    if len(twins) > MOST:
        detail = f"{len(twins) - MOST} more pairs may be the same project"
        yield Check(_NAME, "warning", detail, "ragmem projects list")
    moves = find_misplaced(catalog, patient.settings, project_finder(catalog, home=Path.home()))
    if count := sum(map(len, moves.values())):
        told = "1 memory lies" if count == 1 else f"{count:,} memories lie"
        detail = f"{told} in another project than their text names"
        yield Check(_NAME, "warning", detail, "ragmem projects assign --named")
    sizes = catalog.overview.count_by("project")
    none = sizes.get(UNASSIGNED, 0)
    if not twins and not count:
        told = "1 memory belongs" if none == 1 else f"{none:,} memories belong"
        yield Check(_NAME, "ok", f"{len(names):,} known; {told} to none (unassigned)")


def twins_of(catalog: Catalog) -> list[tuple[str, str, str]]:
    """Return pairs of projects with the same first commit, remote or folder that the user has not split."""
    commits: dict[str, set[str]] = {}
    remotes: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = {}
    standing = {one.id: one for one in catalog.projects.current_projects()}
    for one in standing.values():
        commits.setdefault(one.root_commit, set()).add(one.id)
        folders.setdefault(one.root, set()).add(one.id)
        for place in catalog.projects.places_of(one.id):
            commits.setdefault(place.root_commit, set()).add(one.id)
    for project, seen in catalog.projects.remotes(pinned=False).items():
        for remote in seen:
            remotes.setdefault(remote, set()).add(project)
    found: dict[tuple[str, str], str] = {}
    for why, known in (("one first commit", commits), ("one remote", remotes), ("one folder", folders)):
        for key, group in known.items():
            for pair in combinations(sorted(group & standing.keys()), 2) if key else ():
                one, other = (standing[project] for project in pair)
                # A folder may have another repository by now, with the same remote.
                apart = one.root_commit and other.root_commit and one.root_commit != other.root_commit
                if not apart or why == "one first commit":
                    found.setdefault(pair, f"{why}: {key[:60]}")
    parted = set(_splits(catalog))
    return [(*pair, why) for pair, why in sorted(found.items()) if frozenset(pair) not in parted]


def _splits(catalog: Catalog) -> Iterable[frozenset[str]]:
    for entry in catalog.log.entries(limit=MOST_ENTRIES):
        detail = entry["detail"]
        if entry["operation"] == "projects" and "split" in detail:
            yield frozenset((str(detail["split"]), str(detail["into"])))
