"""The routes that edit the graph, by statements of the user.

A statement is a memory (see domain/entities/user_statements.py): it is durable, can be restored from the
archive, and applies again whenever the graph is rebuilt.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ragmem.api.memory import Ragmem, now
from ragmem.domain.entities.aliases import USER_CHOICE
from ragmem.domain.entities.resolution import WEAK
from ragmem.domain.entities.user_statements import (
    LONGEST,
    UserEntity,
    UserMerge,
    UserRelation,
    UserStatement,
    draft_of,
    entity_uri,
    relation_uri,
)
from ragmem.domain.model import USER
from ragmem.domain.secrets.redaction import refuse_secret
from ragmem.domain.text.token_types import ENTITY_TYPES, MAX_NAME_CHARS, MIN_NAME_CHARS
from ragmem.errors import ConflictError, NotFoundError, UsageError
from ragmem.ports.graph_document import graph_document
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.models import Label
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.lightrag.graph_parts import (
    Place,
    find,
    present_id,
    relation_of,
    relations_of,
    statement_properties,
    supporting_memories,
    user_statement,
)
from ragmem.services.ingestion.drafts import find_or_create_project
from ragmem.services.ingestion.index import deferred_ids, index_pending
from ragmem.storage.sql.rows import to_stamp

EntityName = Annotated[Label, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_024)]
"""The name of an existing entity; new ones have 2 to 80 characters."""

_Description = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST)]
_Type = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=40, pattern=r"^[^'\"()<>|/\\\x00-\x1f\x7f]*$"),
]
"""A type of entities; it must not contain LightRAG's own punctuation."""
_Project = Annotated[Label, Field(description="Extension: the project, if several have the name.")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EntityChanges(_Strict):
    """The changes of an entity; omitted fields stay."""

    entity_name: EntityName | None = Field(default=None, description="Another name: see `allow_rename`.")
    entity_type: _Type | None = None
    description: _Description | None = None


class EntityEditRequest(_Strict):
    """How to change an entity."""

    entity_name: EntityName
    updated_data: EntityChanges
    allow_rename: bool = False
    allow_merge: bool = Field(default=False, description="Also if another entity has the new name.")
    project: _Project = ""


class EntityData(_Strict):
    """The properties of a new entity."""

    entity_type: _Type = "concept"
    description: _Description = ""


class EntityCreateRequest(_Strict):
    """A new entity."""

    entity_name: Annotated[
        EntityName, StringConstraints(min_length=MIN_NAME_CHARS, max_length=MAX_NAME_CHARS)
    ]
    entity_data: EntityData
    project: Annotated[Label, Field(description="Extension: the project; default: `user`.")] = ""


class RelationChanges(_Strict):
    """The changes of a relation; omitted fields stay."""

    description: _Description | None = None
    keywords: _Description | None = None


class RelationEditRequest(_Strict):
    """How to change a relation, which has no direction."""

    source_id: EntityName
    target_id: EntityName
    updated_data: RelationChanges
    project: _Project = ""


class RelationData(_Strict):
    """The properties of a new relation."""

    description: _Description = ""
    keywords: _Description = ""
    weight: Annotated[float, Field(ge=0, le=1_000, description="Its weight relative to others.")] = 1.0


class RelationCreateRequest(_Strict):
    """A new relation between two existing entities."""

    source_entity: EntityName
    target_entity: EntityName
    relation_data: RelationData
    project: _Project = ""


class EntityMergeRequest(_Strict):
    """The entities to merge."""

    entities_to_change: list[EntityName] = Field(min_length=1, max_length=100)
    entity_to_change_into: EntityName
    project: _Project = ""


class EntityDeleteRequest(_Strict):
    """The entity to delete."""

    entity_name: EntityName
    project: _Project = ""


class RelationDeleteRequest(_Strict):
    """The relation to delete."""

    source_entity: EntityName
    target_entity: EntityName
    project: _Project = ""


class EditSummary(BaseModel):
    """The result of an edit of an entity."""

    merged: bool = Field(description="Whether it was merged with an existing entity.")
    merge_status: Literal["success", "not_attempted"]
    merge_error: None = None
    operation_status: Literal["success"] = "success"
    target_entity: str | None
    final_entity: str
    renamed: bool


class GraphChangeResponse(BaseModel):
    """The result of a change, and the current entity or relation."""

    status: Literal["success"] = "success"
    message: str
    data: dict[str, Any]
    operation_summary: EditSummary | None = None


class GraphDeleteResponse(BaseModel):
    """The statement was moved into the archive."""

    status: Literal["success"] = "success"
    doc_id: str = ""
    message: str
    status_code: Literal[200] = 200
    file_path: None = None


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory."""
    responses = EVERYWHERE | failure_responses(404, 409)
    router = worker_router(workers, memory, prefix="/graph", tags=["graph"], responses=responses)
    router.post("/entity/edit")(edit_entity)
    router.post("/entity/create")(create_entity)
    router.delete("/entity/delete")(delete_entity)
    router.post("/entities/merge")(merge_entities)
    router.post("/relation/edit")(edit_relation)
    router.post("/relation/create")(create_relation)
    router.delete("/relation/delete")(delete_relation)
    return router


def edit_entity(memory: Ragmem, request: EntityEditRequest) -> GraphChangeResponse:
    """Give an entity another type, description or name.

    This permanently replaces what texts say about it; another name is a merge, which `ragmem inspect merges`
    lists and undoes. 409 if the name belongs to code, a file, or an entity of another sort.
    """
    place = find(memory, request.entity_name, request.project)
    changes = request.updated_data
    name = changes.entity_name or place.name
    if name != place.name and not request.allow_rename:
        raise UsageError(f'"{place.name}" would get the name "{name}"', hint="send allow_rename: true")
    merged = name != place.name and _exists(memory, place.project, name)
    if merged and not request.allow_merge:
        raise UsageError(
            f'the entity "{name}" already exists', hint="send allow_merge: true to make them one"
        )
    if name != place.name:
        # This comes first, because it may be refused before any change.
        _merge(memory, place, name)
    if changes.entity_type or changes.description:
        _describe(
            memory,
            find(memory, name, place.project),
            entity_type=changes.entity_type,
            description=changes.description,
        )
    return GraphChangeResponse(
        message=f"Entity merged successfully into '{name}'" if merged else "Entity updated successfully",
        data=_entity(memory, name, place.project),
        operation_summary=EditSummary(
            merged=merged,
            merge_status="success" if merged else "not_attempted",
            target_entity=name if name != place.name else None,
            final_entity=name,
            renamed=name != place.name,
        ),
    )


def create_entity(memory: Ragmem, request: EntityCreateRequest) -> GraphChangeResponse:
    """Add an entity; it is stored as a memory of the source `graph`."""
    project = find_or_create_project(memory.catalog, request.project) if request.project else USER
    name, data = request.entity_name, request.entity_data
    refuse_secret(name, "name of the entity", redactor=memory.redactor)
    if _exists(memory, project, name):
        raise UsageError(f'the entity "{name}" already exists', hint="POST /graph/entity/edit changes it")
    stated = UserEntity(name, data.entity_type, data.description, _known_type(data.entity_type))
    _store_statement(memory, stated, project)
    return GraphChangeResponse(
        message=f"Entity '{name}' created successfully", data=_entity(memory, name, project)
    )


def merge_entities(memory: Ragmem, request: EntityMergeRequest) -> GraphChangeResponse:
    """Merge entities, now and in later texts; `ragmem inspect merges` undoes it."""
    into = request.entity_to_change_into
    names = [name for name in dict.fromkeys(request.entities_to_change) if name != into]
    places = [find(memory, name, request.project) for name in names]
    if not places:
        raise UsageError("an entity cannot be merged into itself", hint="name another one")
    if len({place.project for place in places}) > 1:
        raise ConflictError(
            "the entities belong to several projects, which never share an entity", hint="name one: `project`"
        )
    for place in places:
        _merge(memory, place, into)
    return GraphChangeResponse(
        message=f"Successfully merged {len(places)} entities into '{into}'",
        data=_entity(memory, into, places[0].project)
        | {"merged_entity": into, "deleted_entities": [place.name for place in places]},
    )


def delete_entity(memory: Ragmem, request: EntityDeleteRequest) -> GraphDeleteResponse:
    """Delete an entity that exists only by a statement; 409 if texts name it, as they would restore it."""
    place = find(memory, request.entity_name, request.project)
    # The ends of a relation exist as long as the relation does.
    parts = [place.properties, *(edge["properties"] for edge in relations_of(memory, place))]
    return _delete(memory, parts, f'entity "{place.name}"')


def create_relation(memory: Ragmem, request: RelationCreateRequest) -> GraphChangeResponse:
    """Relate two entities of one project; it is stored as a memory of the source `graph`."""
    ends = _find_ends(memory, request.source_entity, request.target_entity, request.project)
    if relation_of(memory, *ends) is not None:
        raise UsageError(
            f'"{ends[0].name}" and "{ends[1].name}" already have a relation',
            hint="POST /graph/relation/edit changes it",
        )
    data = request.relation_data
    said = data.description or f"{ends[0].name} and {ends[1].name} are related."
    stated = UserRelation(ends[0].name, ends[1].name, data.keywords or "stated", said, data.weight)
    _store_statement(memory, stated, ends[0].project)
    return GraphChangeResponse(
        message=f"Relation created successfully between '{ends[0].name}' and '{ends[1].name}'",
        data=_relation(memory, *ends),
    )


def edit_relation(memory: Ragmem, request: RelationEditRequest) -> GraphChangeResponse:
    """Give a relation another description or other keywords; its weight follows from the texts."""
    ends = _find_ends(memory, request.source_id, request.target_id, request.project)
    before = _relation(memory, *ends)
    stated = UserRelation(
        ends[0].name,
        ends[1].name,
        request.updated_data.keywords or str(before.get("keywords", "")) or "stated",
        request.updated_data.description or str(before.get("description", "")),
        0.0,
    )
    _store_statement(memory, stated, ends[0].project)
    return GraphChangeResponse(message="Relation updated successfully", data=_relation(memory, *ends))


def delete_relation(memory: Ragmem, request: RelationDeleteRequest) -> GraphDeleteResponse:
    """Delete a relation that exists only by a statement; 409 if texts state it, as they would restore it."""
    ends = _find_ends(memory, request.source_entity, request.target_entity, request.project)
    return _delete(
        memory, [_require_relation(memory, *ends)], f'relation of "{ends[0].name}" and "{ends[1].name}"'
    )


def _delete(memory: Ragmem, parts: Sequence[Mapping[str, Any]], what: str) -> GraphDeleteResponse:
    stated, texts = supporting_memories(memory, parts)
    if texts or not stated:
        raise ConflictError(
            f"the {what} follows from {texts or 'some'} texts, which would recreate it",
            hint="delete these documents, or merge the entity into another one",
        )
    run = memory.forget(stated)
    return GraphDeleteResponse(message=f"the {what} is deleted; `ragmem forget --undo {run}` restores it")


def _describe(memory: Ragmem, place: Place, *, entity_type: str | None, description: str | None) -> None:
    before = user_statement(memory, place.project, entity_uri(place.name))
    known = before if isinstance(before, UserEntity) else UserEntity(place.name)
    known_type = known.known_type if before else _known_type(place.type)
    stated = UserEntity(place.name, entity_type or known.type, description or known.description, known_type)
    _store_statement(memory, stated, place.project)


def _known_type(entity_type: str) -> str:
    return entity_type.lower() if entity_type.lower() in ENTITY_TYPES else WEAK


def _merge(memory: Ragmem, place: Place, into: str) -> None:
    """Store that a name means another one; raises ConflictError, without any change, if it cannot."""
    refuse_secret(into, "name of the entity", redactor=memory.redactor)
    if not MIN_NAME_CHARS <= len(into) <= MAX_NAME_CHARS:
        raise UsageError(
            f'"{into}" is not a name of an entity', hint=f"{MIN_NAME_CHARS} to {MAX_NAME_CHARS} characters"
        )
    stated = UserMerge(place.name, into, _known_type(place.type))
    catalog = memory.catalog
    leaving = deferred_ids(catalog)
    # The user may have undone this merge before.
    catalog.names.rejoin(place.project, place.name, USER_CHOICE, at=to_stamp(now()))
    _store_statement(memory, stated, place.project)
    if catalog.names.canonical(place.project, [place.name]).get(place.name) != into:
        memory.forget([present_id(memory, place.project, f"graph:same/{place.name}")])
        raise ConflictError(
            f'"{place.name}" cannot be renamed to "{into}"',
            hint=(
                "both must be names of the same type, not code or files; the rules choose between two "
                "spellings"
            ),
        )
    before = user_statement(memory, place.project, entity_uri(place.name))
    if isinstance(before, UserEntity) and user_statement(memory, place.project, entity_uri(into)) is None:
        _store_statement(
            memory, UserEntity(into, before.type, before.description, before.known_type), place.project
        )
    index_pending(catalog, memory.store, leaving=leaving)


def _store_statement(memory: Ragmem, stated: UserStatement, project: str) -> None:
    (stored,) = memory.ingest([draft_of(stated, project)], rule="off", by_agent=True)
    if stored.note:
        raise ConflictError(f"it is stored, and applies once a model is available: {stored.note}")


def _find_ends(memory: Ragmem, source: str, target: str, project: str) -> tuple[Place, Place]:
    one = find(memory, source, project)
    other = find(memory, target, project or one.project)
    if one.name == other.name:
        raise UsageError(f'"{one.name}" cannot be related to itself', hint="name another entity")
    return one, other


def _exists(memory: Ragmem, project: str, name: str) -> bool:
    return is_stored(memory) and bool(
        graph_document(memory.store, name, depth=0, limit=1, project=project)["nodes"]
    )


def _entity(memory: Ragmem, name: str, project: str) -> dict[str, Any]:
    place = find(memory, name, project)
    stated = user_statement(memory, project, entity_uri(name))
    return _edit_data({**place.properties, **statement_properties(stated), "entity_name": name}, project)


def _relation(memory: Ragmem, source: Place, target: Place) -> dict[str, Any]:
    properties = _require_relation(memory, source, target)
    stated = user_statement(memory, source.project, relation_uri(source.name, target.name))
    ends = {"src_id": source.name, "tgt_id": target.name}
    return _edit_data({**properties, **statement_properties(stated), **ends}, source.project)


def _require_relation(memory: Ragmem, source: Place, target: Place) -> Any:
    found = relation_of(memory, source, target)
    if found is None:
        raise NotFoundError(
            f'there is no relation between "{source.name}" and "{target.name}"',
            hint="POST /graph/relation/create creates one",
        )
    return found


def _edit_data(properties: dict[str, Any], project: str) -> dict[str, Any]:
    kept = ("entity_name", "entity_type", "src_id", "tgt_id", "description", "keywords", "weight")
    return {**{key: properties[key] for key in kept if key in properties}, "project": project}
