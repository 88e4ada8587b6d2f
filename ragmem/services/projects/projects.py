"""The projects of a memory: list them, join two, split one, name one anew, and tell what lies where."""

import os.path
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragmem.config import Settings
from ragmem.domain.model import NO_PROJECTS, UNASSIGNED, USER, Memory
from ragmem.errors import NotFoundError, UsageError
from ragmem.ports import Store
from ragmem.readers.fields import clean
from ragmem.readers.files import show
from ragmem.readers.git import normalize_remote
from ragmem.readers.scope import MAX_NAME_CHARS, new_id
from ragmem.readers.slugs import slug_of
from ragmem.services.ingestion.scope import finder, named_project, remember_projects
from ragmem.services.processes.progress import Progress
from ragmem.services.projects.moves import MoveResult, doubles_of, move_archived, move_memories, reindex
from ragmem.services.projects.named import find_misplaced
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories import project_joins
from ragmem.storage.memories.projects import ProjectPlace
from ragmem.storage.sql.batches import batches


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project with all that leads to it; `last_write` is None where it has no memory."""

    id: str
    name: str
    folders: tuple[str, ...]
    remotes: tuple[str, ...]
    aliases: tuple[str, ...]
    root_commit: str
    memories: int
    last_write: datetime | None


@dataclass(frozen=True, slots=True)
class Change:
    """What a join, a split or a move would do, or has done, to which project and with which memories."""

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
    """What a change needs; with `dry_run` nothing is written."""

    catalog: Catalog
    open_store: Callable[[], Store]
    home: Path
    now: datetime
    dry_run: bool
    progress: Progress


def list_projects(catalog: Catalog) -> list[ProjectLine]:
    """Return the projects by name, what belongs to the user and to none last."""
    sizes = catalog.overview.count_by("project")
    latest = catalog.overview.latest_by_project()
    remotes = catalog.projects.remotes()
    aliases: dict[str, list[str]] = {}
    for alias, project in catalog.projects.aliases().items():
        aliases.setdefault(project, []).append(alias)
    standing = {one.id: one for one in catalog.projects.standing()}
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


def join(wish: ProjectContext, one: str, other: str) -> Change:
    """Let all that belongs to one project belong to another; the former id stays an alias.

    May be interrupted, and is finished by joining again. `split` takes it back. Raises NotFoundError for an
    unknown project, and UsageError for a project with itself or a scope that is none.
    """
    catalog = wish.catalog
    aliases = catalog.projects.aliases()
    former = one if one in aliases else _project(catalog, one)
    project = _project(catalog, other)
    if former == project or aliases.get(former, project) != project:
        raise UsageError(f'"{one}" is the project "{other}"', hint="`ragmem projects list` shows all")
    ids = catalog.overview.ids_of_project(former)
    if former in aliases and not ids:
        raise UsageError(
            f'"{one}" was joined with "{other}" already', hint="`ragmem projects list` shows all"
        )
    folders = tuple(catalog.projects.paths(former))
    remotes = tuple(catalog.projects.remotes().get(former, ()))
    if wish.dry_run:
        doubles = len(doubles_of(catalog, ids, project).pairs)
        archived = sum(item.memory.scope.project == former for item in catalog.archive.each())
        moved = MoveResult(len(ids) - doubles, archived, doubles)
    else:
        # From here on every write and every question knows one project; memories follow.
        project_joins.adopt(catalog.database, former, project)
        moved = _moved(wish, ids, former, project)
        _log(wish, "join", former, project, moved)
    return _change("join", catalog, project, former, moved, folders=folders, remotes=remotes)


def split(wish: ProjectContext, name: str, what: str, *, called: str = "") -> Change:
    """Take the memories of a former project, a folder or a remote out into a project of their own.

    A former id gets back what was joined; a folder, and each folder with the remote, leads to the new project
    from now on, whatever its first commit is. Raises NotFoundError where nothing is to be split off.
    """
    catalog = wish.catalog
    project = _project(catalog, name)
    alias = _alias(catalog, project, what)
    if alias:
        return _released(wish, project, alias)
    places, remotes = _places(wish, project, what)
    folders = tuple(place.path for place in places)
    new = new_id(called or Path(folders[0]).name, "split", project, *folders)
    if catalog.projects.paths(new):
        raise UsageError(f'"{what}" was split off already', hint="`ragmem projects list` shows all")
    ids = {
        key
        for batch in batches(catalog.overview.ids_of_project(project))
        for key, memory in catalog.memories.get(batch).items()
        if _lies_in(memory, folders)
    }
    if wish.dry_run:
        moved = MoveResult(len(ids))
    else:
        title = called or clean(Path(folders[0]).name) or new
        project_joins.part(
            catalog.database, project, new, name=title, root=folders[0], paths=folders, pinned=remotes
        )
        # So that the places are known as they are now, with their first commit.
        projects = finder(catalog, home=wish.home)
        for folder in folders:
            projects.known_project_of(Path(folder))
        remember_projects(catalog, projects)
        moved = _moved(wish, ids, project, new, some=True)
        _log(wish, "split", project, new, moved)
    return Change(
        "split",
        new,
        called or clean(Path(folders[0]).name),
        project,
        moved.memories,
        moved.archived,
        moved.doubles,
        folders,
        remotes,
        moved.run,
        moved.note,
    )


def rename(wish: ProjectContext, name: str, called: str) -> Change:
    """Give a project another name; its id stays. Raises UsageError for a name that none can have."""
    catalog = wish.catalog
    project = _project(catalog, name)
    wanted = clean(called)
    if not wanted or len(wanted) > MAX_NAME_CHARS or "/" in wanted or wanted in NO_PROJECTS:
        raise UsageError(
            f'"{called}" cannot be the name of a project',
            hint=f"{MAX_NAME_CHARS} characters at most, no slash",
        )
    if not wish.dry_run:
        project_joins.rename(catalog.database, project, wanted)
        catalog.log.write("projects", {"rename": project, "name": wanted}, now=wish.now)
    return Change("rename", project, wanted, project, 0)


def move(wish: ProjectContext, old: str, new: str) -> Change:
    """Let a folder that was moved without git, and what is known below it, be known where it lies now.

    Raises NotFoundError where nothing is known of the old folder or the new one is not there, UsageError
    where the new one is another project already.
    """
    catalog = wish.catalog
    before, after = (show(_absolute(one)) for one in (old, new))
    if not Path(after).is_dir():
        raise NotFoundError(f'there is no folder "{new}"', hint="give the folder where it lies now")
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
                f'"{place}" is another project already', hint=f"ragmem projects join {other} {project}"
            )
    if not wish.dry_run:
        project_joins.move_paths(catalog.database, moves)
        catalog.log.write("projects", {"move": project, "folders": len(moves)}, now=wish.now)
    return Change(
        "move",
        project,
        catalog.projects.names().get(project, project),
        project,
        catalog.overview.count_by("project").get(project, 0),
        folders=tuple(moves.values()),
    )


def assign(wish: ProjectContext, ids: Collection[str], name: str) -> Change:
    """Let memories, by their full ids, belong to a project, to the user or to none."""
    catalog = wish.catalog
    project = named_project(catalog, name)
    outlines = catalog.memories.outlines(ids)
    wanted = {key for key, one in outlines.items() if one.project != project}
    if wish.dry_run:
        doubles = len(doubles_of(catalog, wanted, project).pairs)
        moved = MoveResult(len(wanted) - doubles, doubles=doubles)
    else:
        moved = move_memories(
            catalog, wish.open_store, wanted, project, now=wish.now, chosen=True, progress=wish.progress
        )
        moved.note = reindex(catalog, wish.open_store, progress=wish.progress)
        _log(wish, "assign", "", project, moved)
    return _change("assign", catalog, project, "", moved)


def assign_named(wish: ProjectContext, settings: Settings) -> list[Change]:
    """Let the memories of sources whose texts name their projects belong to these, as a seed does.

    For those as well whose files are gone. What a person has assigned stays where it is.
    """
    catalog = wish.catalog
    projects = finder(catalog, home=wish.home)
    done = []
    for project, ids in sorted(find_misplaced(catalog, settings, projects).items()):
        moved = MoveResult(len(ids))
        if not wish.dry_run:
            moved = move_memories(
                catalog, wish.open_store, ids, project, now=wish.now, progress=wish.progress
            )
            moved.note = reindex(catalog, wish.open_store, progress=wish.progress)
            _log(wish, "assign", "", project, moved)
        done.append(_change("assign", catalog, project, "", moved))
    if not wish.dry_run:
        remember_projects(catalog, projects)
    return done


def _released(wish: ProjectContext, project: str, alias: str) -> Change:
    """Take a join back."""
    catalog = wish.catalog
    former = catalog.projects.former(project)
    ids = {key for key, before in former.items() if before == alias}
    archived = {
        item.memory.id
        for item in catalog.archive.each()
        if item.memory.scope.project == project and catalog.projects.former_of(item.memory.id) == alias
    }
    if wish.dry_run:
        moved = MoveResult(len(ids), len(archived))
    else:
        project_joins.release(catalog.database, alias)
        moved = move_memories(catalog, wish.open_store, ids, alias, now=wish.now, progress=wish.progress)
        moved.archived = move_archived(catalog, project, alias, ids=archived)
        moved.note = reindex(catalog, wish.open_store, progress=wish.progress)
        _log(wish, "split", project, alias, moved)
    return _change("split", catalog, alias, project, moved, folders=tuple(catalog.projects.paths(alias)))


def _moved(
    wish: ProjectContext, ids: Collection[str], former: str, project: str, *, some: bool = False
) -> MoveResult:
    moved = move_memories(wish.catalog, wish.open_store, ids, project, now=wish.now, progress=wish.progress)
    if not some:
        moved.archived = move_archived(wish.catalog, former, project)
    moved.note = reindex(wish.catalog, wish.open_store, progress=wish.progress)
    return moved


def _project(catalog: Catalog, name: str) -> str:
    project = named_project(catalog, name)
    if project in NO_PROJECTS:
        raise UsageError(f'"{name}" is no project', hint="`ragmem projects list` shows the projects")
    return project


def _alias(catalog: Catalog, project: str, what: str) -> str:
    """Return the former id that is meant, by id or name; empty where what is meant is none."""
    named = catalog.projects.alias_names(project)
    if what in named:
        return what
    found = [alias for alias, name in named.items() if name.lower() == what.lower()]
    return found[0] if len(found) == 1 else ""


def _places(wish: ProjectContext, project: str, what: str) -> tuple[list[ProjectPlace], tuple[str, ...]]:
    """Return the places that are meant, and the remotes that only they have."""
    catalog = wish.catalog
    known = catalog.projects.places_of(project)
    remote = normalize_remote(what)
    if any(remote == place.remote for place in known):
        some = [place for place in known if place.remote == remote]
    else:
        folder = show(_absolute(what))
        below = folder.rstrip("/") + "/"
        some = [place for place in known if place.path == folder or place.path.startswith(below)]
        inside = any(folder.startswith(place.path.rstrip("/") + "/") for place in known)
        if not some and inside and Path(folder).is_dir():
            some = [ProjectPlace(folder, project)]
        some.sort(key=lambda place: place.path)
    rest = [place for place in known if place not in some]
    if not some:
        raise NotFoundError(
            f'"{what}" is no folder, remote or former id of "{project}"',
            hint="`ragmem projects list --json` shows all of them",
        )
    if len(some) == len(known) and some[0] in known:
        raise UsageError(
            f'"{what}" is all that is known of "{project}"',
            hint="`ragmem projects rename` gives it another name",
        )
    elsewhere = {place.remote for place in rest}
    return some, tuple(
        dict.fromkeys(place.remote for place in some if place.remote and place.remote not in elsewhere)
    )


def _lies_in(memory: Memory, folders: Collection[str]) -> bool:
    """Tell whether a memory was written in one of the folders, or in a session that was held there."""
    places = [memory.uri, memory.metadata.get("cwd", "")]
    for folder in folders:
        below = folder.rstrip("/") + "/"
        if any(place == folder or place.startswith(below) for place in places):
            return True
        slug = f"/projects/{slug_of(folder)}"
        if f"{slug}/" in memory.uri or f"{slug}-" in memory.uri:
            return True
    return False


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - a link stays a link


def _change(
    operation: str,
    catalog: Catalog,
    project: str,
    former: str,
    moved: MoveResult,
    *,
    folders: tuple[str, ...] = (),
    remotes: tuple[str, ...] = (),
) -> Change:
    return Change(
        operation,
        project,
        catalog.projects.names().get(project, project),
        former,
        moved.memories,
        moved.archived,
        moved.doubles,
        folders,
        remotes,
        moved.run,
        moved.note,
    )


def _log(wish: ProjectContext, word: str, former: str, project: str, moved: MoveResult) -> None:
    detail: Mapping[str, object] = {
        word: former or project,
        "into": project,
        "memories": moved.memories,
        "archived": moved.archived,
        "doubles": moved.doubles,
    }
    wish.catalog.log.write("projects", detail, now=wish.now)
