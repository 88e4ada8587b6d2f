"""The requests and answers of LightRAG's routes that change the graph."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ragmem.domain.entities.user_statements import LONGEST
from ragmem.domain.text.token_types import MAX_NAME_CHARS, MIN_NAME_CHARS
from ragmem.server.http.models import Label

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
