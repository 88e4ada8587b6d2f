"""The requests and answers of LightRAG's routes that change the graph."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ragmem.domain.entities.user_statements import LONGEST
from ragmem.domain.text.token_types import MAX_NAME_CHARS, MIN_NAME_CHARS
from ragmem.server.http.models import Label

EntityName = Annotated[Label, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_024)]
"""The name of an entity that is there; new ones have 2 to 80 characters."""

_Description = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST)]
_Type = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=40, pattern=r"^[^'\"()<>|/\\\x00-\x1f\x7f]*$"),
]
"""The name of a sort of thing; LightRAG's own punctuation may not stand in it."""
_Project = Annotated[
    Label, Field(description="Ours: the project whose graph is meant, where several have the name.")
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EntityChanges(_Strict):
    """What an entity shall be; fields that are left out stay."""

    entity_name: EntityName | None = Field(default=None, description="Another name: see `allow_rename`.")
    entity_type: _Type | None = None
    description: _Description | None = None


class EntityEditRequest(_Strict):
    """How to change an entity."""

    entity_name: EntityName
    updated_data: EntityChanges
    allow_rename: bool = False
    allow_merge: bool = Field(default=False, description="Also where another entity has the new name.")
    project: _Project = ""


class EntityData(_Strict):
    """What a new entity is."""

    entity_type: _Type = "concept"
    description: _Description = ""


class EntityCreateRequest(_Strict):
    """A new entity."""

    entity_name: Annotated[
        EntityName, StringConstraints(min_length=MIN_NAME_CHARS, max_length=MAX_NAME_CHARS)
    ]
    entity_data: EntityData
    project: Annotated[Label, Field(description="Ours: the project; else `user`.")] = ""


class RelationChanges(_Strict):
    """What a relation shall be; fields that are left out stay."""

    description: _Description | None = None
    keywords: _Description | None = None


class RelationEditRequest(_Strict):
    """How to change a relation, which has no direction."""

    source_id: EntityName
    target_id: EntityName
    updated_data: RelationChanges
    project: _Project = ""


class RelationData(_Strict):
    """What a new relation is."""

    description: _Description = ""
    keywords: _Description = ""
    weight: Annotated[float, Field(ge=0, le=1_000, description="How much it counts beside others.")] = 1.0


class RelationCreateRequest(_Strict):
    """A new relation between two entities that are there."""

    source_entity: EntityName
    target_entity: EntityName
    relation_data: RelationData
    project: _Project = ""


class EntityMergeRequest(_Strict):
    """Which entities are one."""

    entities_to_change: list[EntityName] = Field(min_length=1, max_length=100)
    entity_to_change_into: EntityName
    project: _Project = ""


class EntityDeleteRequest(_Strict):
    """Which entity to delete."""

    entity_name: EntityName
    project: _Project = ""


class RelationDeleteRequest(_Strict):
    """Which relation to delete."""

    source_entity: EntityName
    target_entity: EntityName
    project: _Project = ""


class EditSummary(BaseModel):
    """What an edit of an entity came to."""

    merged: bool = Field(description="Whether it is one with an entity that was there.")
    merge_status: Literal["success", "not_attempted"]
    merge_error: None = None
    operation_status: Literal["success"] = "success"
    target_entity: str | None
    final_entity: str
    renamed: bool


class GraphChangeResponse(BaseModel):
    """What was changed, and the entity or relation as it is shown now."""

    status: Literal["success"] = "success"
    message: str
    data: dict[str, Any]
    operation_summary: EditSummary | None = None


class GraphDeleteResponse(BaseModel):
    """That what was stated is in the archive."""

    status: Literal["success"] = "success"
    doc_id: str = ""
    message: str
    status_code: Literal[200] = 200
    file_path: None = None
