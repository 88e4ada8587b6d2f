"""The answers about the server itself, with LightRAG's names."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from ragmem.server.security.guest_auth import GUEST

TITLE = "ragmem"
DESCRIPTION = "Memory for AI coding assistants, on this machine"


class AuthStatusResponse(BaseModel):
    """How to log in: as LightRAG's guest, who is then asked for the API key."""

    auth_configured: Literal[False] = False
    access_token: str = Field(default=GUEST, description="Gives no access: it identifies LightRAG's page.")
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - the name of a kind of token
    auth_mode: Literal["disabled"] = "disabled"
    message: str = "No login by name: send the token as X-API-Key."
    core_version: str
    api_version: str
    webui_title: str = TITLE
    webui_description: str = DESCRIPTION
    ai_content_notice_enabled: bool = False


class LoginResponse(BaseModel):
    """The token that LightRAG's clients then send as `Authorization: Bearer`."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - the name of a kind of token
    auth_mode: Literal["enabled", "disabled"]
    message: str
    core_version: str
    api_version: str
    webui_title: str = TITLE
    webui_description: str = DESCRIPTION
    ai_content_notice_enabled: bool = False


class VerifyResponse(BaseModel):
    """The credentials are right."""

    status: Literal["ok"] = "ok"


class CustomizationResponse(BaseModel):
    """LightRAG's page is not customized."""

    customized: Literal[False] = False
    brand: dict[str, str | None]


class HealthResponse(BaseModel):
    """The server is up; its content and its backends need the token."""

    status: Literal["healthy"] = "healthy"
    version: str
    core_version: str = Field(description="LightRAG's version, empty if it is not installed.")
    api_version: str = Field(description="ragmem's version.")
    auth_mode: Literal["disabled"] = Field(
        default="disabled", description="No login by name, in LightRAG's word."
    )
    webui_available: bool
    workspace_available: bool
    api_docs_available: Literal[False] = False
    webui_title: str = TITLE
    webui_description: str = DESCRIPTION
    ai_content_notice_enabled: bool = False
    pipeline_busy: bool
    pipeline_active: bool
    counts: dict[str, int] | None = None
    states: dict[str, int] | None = None
    projects: int | None = None
    backends: dict[str, str] | None = None
    working_directory: str | None = None
    input_directory: str | None = None
    configuration: dict[str, Any] | None = None
    pipeline_scanning: bool | None = None
    pipeline_destructive_busy: bool | None = None
    pipeline_pending_enqueues: int | None = None
    server_mode: str | None = None
    workers: int | None = None
    keyed_locks: dict[str, Any] | None = None
