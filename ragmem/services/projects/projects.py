"""The projects of a memory: list, join, split, rename, move, and assign memories to them."""

import os.path
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.domain.model import NO_PROJECTS, UNASSIGNED, USER, Memory
from ragmem.errors import NotFoundError, UsageError
from ragmem.ports import Store
from ragmem.readers.fields import clean
from ragmem.readers.files import show
from ragmem.readers.git import normalize_remote
from ragmem.readers.scope import MAX_NAME_CHARS, new_id
from ragmem.readers.slugs import slug_of
from ragmem.services.ingestion.scope import project_finder, remember_projects, resolve_project
from ragmem.services.processes.progress import Progress
from ragmem.services.projects.moves import MoveResult, find_duplicates, move_archived, move_memories, reindex
from ragmem.services.projects.placement import find_misplaced
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories import project_joins
from ragmem.storage.memories.projects import ProjectPlace
from ragmem.storage.sql.batches import batches


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project with its folders, remotes and aliases; `last_write` is None if it has no memory."""

    id: str
    name: str
    folders: tuple[str, ...]
    remotes: tuple[str, ...]
    aliases: tuple[str, ...]
    root_commit: str
    memories: int
    last_write: datetime | None


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """The result of a join, split, rename, move or assignment, done or planned: the project, and counts."""

    operation: str
    project: str
    name: str
    former: str
    memories: int
    archived: int = 0
    doubles: int = 0
    folders: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()
    run: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """The dependencies of a change; with `dry_run` nothing is written."""

    catalog: Catalog
    open_store: Callable[[], Store]
    home: Path
    now: datetime
    dry_run: bool
    progress: Progress


def list_projects(catalog: Catalog) -> list[ProjectLine]:
    """Return the projects by name; memories of the user and unassigned ones come last."""
    sizes = catalog.overview.count_by("project")
    latest = catalog.overview.latest_by_project()
    remotes = catalog.projects.remotes()
    aliases: dict[str, list[str]] = {}
    for alias, project in catalog.projects.aliases().items():
        aliases.setdefault(project, []).append(alias)
    standing = {one.id: one for one in catalog.projects.current_projects()}
    unnamed = sorted(key for key in sizes if key not in standing and key not in NO_PROJECTS)
    scopes = [key for key in (USER, UNASSIGNED) if key in sizes]
    lines = []
    for key in (*standing, *unnamed, *scopes):
        one = standing.get(key)
        lines.append(
            ProjectLine(
                key,
                one.name if one else key,
                tuple(catalog.projects.paths(key)),
                tuple(remotes.get(key, ())),
                tuple(aliases.get(key, ())),
                one.root_commit if one else "",
                sizes.get(key, 0),
                latest.get(key),
            )
        )
    return lines


def join(context: ProjectContext, one: str, other: str) -> ProjectChange:
    """Move everything of one project to another; the former id stays an alias.

    An interrupted join is finished by calling it again; `split` undoes it. Raises NotFoundError for an
    unknown project, UsageError for the same project twice or a name that is not a project.
    """
    catalog = context.catalog
    aliases = catalog.projects.aliases()
    former = one if one in aliases else _project(catalog, one)
    project = _project(catalog, other)
    if former == project or aliases.get(former, project) != project:
        raise UsageError(f'"{one}" is the project "{other}"', hint="`ragmem projects list` shows all")
    ids = catalog.overview.ids_of_project(former)
    if former in aliases and not ids:
        raise UsageError(f'"{one}" is already joined with "{other}"', hint="`ragmem projects list` shows all")
    folders = tuple(catalog.projects.paths(former))
    remotes = tuple(catalog.projects.remotes().get(former, ()))
    if context.dry_run:
        doubles = len(find_duplicates(catalog, ids, project))
        archived = sum(item.memory.scope.project == former for item in catalog.archive.each())
        moved = MoveResult(len(ids) - doubles, archived, doubles)
    else:
        # From here on writes and questions know one project only; memories follow.
        project_joins.adopt(catalog.database, former, project)
        moved = _move_and_reindex(context, "join", ids, former, project, archived=None)
    return _change("join", catalog, project, former, moved, folders=folders, remotes=remotes)


def split(context: ProjectContext, name: str, what: str, *, called: str = "") -> ProjectChange:
    """Split the memories of a former project, a folder or a remote off into a project of their own.

    A former id gets back what was joined; a folder, or each folder with the remote, belongs to the new
    project from now on, whatever its first commit is. Raises NotFoundError if there is nothing to split off.
    """
    catalog = context.catalog
    project = _project(catalog, name)
    alias = _find_alias(catalog, project, what)
    if alias:
        return _undo_join(context, project, alias)
    places, remotes = _find_places(context, project, what)
    folders = tuple(place.path for place in places)
    new = new_id(called or Path(folders[0]).name, "split", project, *folders)
    if catalog.projects.paths(new):
        raise UsageError(f'"{what}" is already split off', hint="`ragmem projects list` shows all")
    ids = {
        key
        for batch in batches(catalog.overview.ids_of_project(project))
        for key, memory in catalog.memories.get(batch).items()
        if _lies_in(memory, folders)
    }
    title = called or clean(Path(folders[0]).name)
    if context.dry_run:
        moved = MoveResult(len(ids))
    else:
        project_joins.part(
            catalog.database, project, new, name=title or new, root=folders[0], paths=folders, pinned=remotes
        )
        # The places are stored in their current state, with their first commit.
        projects = project_finder(catalog, home=context.home)
        for folder in folders:
            projects.find_known_project(Path(folder))
        remember_projects(catalog, projects)
        moved = _move_and_reindex(context, "split", ids, project, new)
    return _change("split", catalog, new, project, moved, name=title, folders=folders, remotes=remotes)


def rename(context: ProjectContext, name: str, called: str) -> ProjectChange:
    """Give a project another name; its id stays. Raises UsageError for an invalid name."""
    catalog = context.catalog
    project = _project(catalog, name)
    wanted = clean(called)
    if not wanted or len(wanted) > MAX_NAME_CHARS or "/" in wanted or wanted in NO_PROJECTS:
        raise UsageError(
            f'"{called}" cannot be the name of a project',
            hint=f"{MAX_NAME_CHARS} characters at most, no slash",
        )
    if not context.dry_run:
        project_joins.rename(catalog.database, project, wanted)
        catalog.log.write("projects", {"rename": project, "name": wanted}, now=context.now)
    return ProjectChange("rename", project, wanted, project, 0)


def move(context: ProjectContext, old: str, new: str) -> ProjectChange:
    """Update the path of a folder that was moved without git, and of the known folders below it.

    Raises NotFoundError if the old folder is unknown or the new one does not exist, UsageError if the new one
    belongs to another project.
    """
    catalog = context.catalog
    before, after = (show(_absolute_path(one)) for one in (old, new))
    if not Path(after).is_dir():
        raise NotFoundError(f'there is no folder "{new}"', hint="give its current folder")
    moves = {
        path: after + path.removeprefix(before)
        for path in catalog.projects.folders()
        if path == before or path.startswith(before.rstrip("/") + "/")
    }
    if before not in moves:
        raise NotFoundError(
            f'no project is known at "{old}"', hint="`ragmem projects list` shows the folders"
        )
    project = catalog.projects.at([before]) or ""
    for path, place in moves.items():
        other = catalog.projects.at([place])
        if place not in moves and other and other != catalog.projects.at([path]):
            raise UsageError(
                f'"{place}" already is another project', hint=f"ragmem projects join {other} {project}"
            )
    if not context.dry_run:
        project_joins.move_paths(catalog.database, moves)
        catalog.log.write("projects", {"move": project, "folders": len(moves)}, now=context.now)
    size = MoveResult(catalog.overview.count_by("project").get(project, 0))
    return _change("move", catalog, project, project, size, folders=tuple(moves.values()))


def assign(context: ProjectContext, ids: Collection[str], name: str) -> ProjectChange:
    """Assign memories, by their full ids, to a project, to the user or to none."""
    catalog = context.catalog
    project = resolve_project(catalog, name)
    outlines = catalog.memories.outlines(ids)
    wanted = {key for key, one in outlines.items() if one.project != project}
    if context.dry_run:
        doubles = len(find_duplicates(catalog, wanted, project))
        moved = MoveResult(len(wanted) - doubles, doubles=doubles)
    else:
        moved = _move_and_reindex(context, "assign", wanted, "", project, chosen=True)
    return _change("assign", catalog, project, "", moved)


def assign_named(context: ProjectContext, settings: Settings) -> list[ProjectChange]:
    """Move the memories of sources whose texts name their projects to these, as a seed does.

    This includes memories whose files are gone. Memories that a person has assigned stay where they are.
    """
    catalog = context.catalog
    projects = project_finder(catalog, home=context.home)
    done = []
    for project, ids in sorted(find_misplaced(catalog, settings, projects).items()):
        moved = MoveResult(len(ids))
        if not context.dry_run:
            moved = _move_and_reindex(context, "assign", ids, "", project)
        done.append(_change("assign", catalog, project, "", moved))
    if not context.dry_run:
        remember_projects(catalog, projects)
    return done


def _undo_join(context: ProjectContext, project: str, alias: str) -> ProjectChange:
    """Undo a join."""
    catalog = context.catalog
    former = catalog.projects.former(project)
    ids = {key for key, before in former.items() if before == alias}
    archived = {
        item.memory.id
        for item in catalog.archive.each()
        if item.memory.scope.project == project and catalog.projects.former_of(item.memory.id) == alias
    }
    if context.dry_run:
        moved = MoveResult(len(ids), len(archived))
    else:
        project_joins.release(catalog.database, alias)
        moved = _move_and_reindex(context, "split", ids, project, alias, archived=archived)
    return _change("split", catalog, alias, project, moved, folders=tuple(catalog.projects.paths(alias)))


def _move_and_reindex(
    context: ProjectContext,
    word: str,
    ids: Collection[str],
    former: str,
    project: str,
    *,
    archived: Collection[str] | None = (),
    chosen: bool = False,
) -> MoveResult:
    """Move memories and these archived ones (None: all of the former project), and log it under a word."""
    catalog, open_store, now, progress = context.catalog, context.open_store, context.now, context.progress
    moved = move_memories(catalog, open_store, ids, project, now=now, chosen=chosen, progress=progress)
    if archived is None or archived:
        moved.archived = move_archived(catalog, former, project, ids=archived)
    moved.note = reindex(catalog, open_store, progress=progress)
    counts = {"memories": moved.memories, "archived": moved.archived, "doubles": moved.doubles}
    catalog.log.write("projects", {word: former or project, "into": project, **counts}, now=now)
    return moved


def _project(catalog: Catalog, name: str) -> str:
    project = resolve_project(catalog, name)
    if project in NO_PROJECTS:
        raise UsageError(f'"{name}" is not a project', hint="`ragmem projects list` shows the projects")
    return project


def _find_alias(catalog: Catalog, project: str, what: str) -> str:
    """Return a former id, given by id or by name; "" if it is neither."""
    named = catalog.projects.alias_names(project)
    if what in named:
        return what
    found = [alias for alias, name in named.items() if name.lower() == what.lower()]
    return found[0] if len(found) == 1 else ""


def _find_places(
    context: ProjectContext, project: str, what: str
) -> tuple[list[ProjectPlace], tuple[str, ...]]:
    """Return the places of a folder or remote, and the remotes that only they have."""
    catalog = context.catalog
    known = catalog.projects.places_of(project)
    remote = normalize_remote(what)
    if any(remote == place.remote for place in known):
        some = [place for place in known if place.remote == remote]
    else:
        folder = show(_absolute_path(what))
        below = folder.rstrip("/") + "/"
        some = [place for place in known if place.path == folder or place.path.startswith(below)]
        inside = any(folder.startswith(place.path.rstrip("/") + "/") for place in known)
        if not some and inside and Path(folder).is_dir():
            some = [ProjectPlace(folder, project)]
        some.sort(key=lambda place: place.path)
    rest = [place for place in known if place not in some]
    if not some:
        raise NotFoundError(
            f'"{what}" is not a folder, remote or former id of "{project}"',
            hint="`ragmem projects list --json` shows all of them",
        )
    if len(some) == len(known) and some[0] in known:
        raise UsageError(
            f'"{what}" is the only folder or remote of "{project}"',
            hint="`ragmem projects rename` gives it another name",
        )
    elsewhere = {place.remote for place in rest}
    return some, tuple(
        dict.fromkeys(place.remote for place in some if place.remote and place.remote not in elsewhere)
    )


def _lies_in(memory: Memory, folders: Collection[str]) -> bool:
    """Return whether a memory was written in one of the folders, or in a session that was held there."""
    places = [memory.uri, memory.metadata.get("cwd", "")]
    for folder in folders:
        below = folder.rstrip("/") + "/"
        if any(place == folder or place.startswith(below) for place in places):
            return True
        slug = f"/projects/{slug_of(folder)}"
        if f"{slug}/" in memory.uri or f"{slug}-" in memory.uri:
            return True
    return False


def _absolute_path(path: str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - a link stays a link


def _change(
    operation: str,
    catalog: Catalog,
    project: str,
    former: str,
    moved: MoveResult,
    *,
    name: str = "",
    folders: tuple[str, ...] = (),
    remotes: tuple[str, ...] = (),
) -> ProjectChange:
    return ProjectChange(
        operation,
        project,
        name or catalog.projects.names().get(project, project),
        former,
        moved.memories,
        moved.archived,
        moved.doubles,
        folders,
        remotes,
        moved.run,
        moved.note,
    )
