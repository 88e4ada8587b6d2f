"""Which role a member needs for a route; a route that is not named here is for admins only."""

import re
from collections.abc import Mapping

from ragmem.ports.principal import MemberRole

UNMATCHED = "unmatched"
"""In the place of a route's path, for a path that no rule names."""

READERS = """
GET /
GET /.well-known/oauth-protected-resource
GET /.well-known/oauth-protected-resource/mcp
GET /agents
GET /agents/events
GET /api/ps
GET /api/tags
GET /api/version
GET /auth-status
GET /auth/verify
GET /documents
GET /documents/status_counts
GET /documents/supported_file_types
GET /documents/track_status/{track_id}
GET /events
GET /favicon.ico
GET /favicon.png
GET /favicon.svg
GET /graph/entity/exists
GET /graph/label/list
GET /graph/label/popular
GET /graph/label/search
GET /graphs
GET /health
GET /messages
GET /messages/pending
GET /openapi.json
GET /session
GET /shutdown-check
GET /ui/customization
GET /ui/customization/assets/{asset_hash}/{asset_id}
GET /v1/memory/archive
GET /v1/memory/communities
GET /v1/memory/decay
GET /v1/memory/entities
GET /v1/memory/entity
GET /v1/memory/entity/timeline
GET /v1/memory/graph
GET /v1/memory/impact
GET /v1/memory/lifecycle
GET /v1/memory/memories
GET /v1/memory/memories/{identifier}
GET /v1/memory/memories/{identifier}/connections
GET /v1/memory/memories/{identifier}/history
GET /v1/memory/path
GET /v1/memory/progress
GET /v1/memory/projects
GET /v1/memory/records
GET /v1/memory/stats
GET /v1/memory/timeline
GET /v1/models
GET /v1/models/{model:path}
GET /webui
GET /workspace
GET /assets/{name}
GET /webui/{name:path}
GET /workspace/{name:path}
POST /api/chat
POST /api/generate
POST /context
POST /documents/paginated
POST /login
POST /query
POST /query/data
POST /query/stream
POST /session
DELETE /session
POST /v1/chat/completions
POST /v1/embeddings
POST /v1/memory/context
POST /v1/memory/query
GET /mcp
POST /mcp
DELETE /mcp
"""
"""They change nothing; a tool over MCP that changes something asks for the role itself."""

WRITERS = """
POST /documents/text
POST /documents/texts
POST /documents/upload
DELETE /documents/delete_document
POST /events
POST /heartbeat
POST /messages/ack
POST /signal
POST /status
POST /v1/memory/archive/{identifier}/restore
POST /v1/memory/forget
POST /v1/memory/memories
POST /v1/memory/memories/{identifier}/feedback
PUT /v1/memory/memories/{identifier}/pin
"""
"""They change memories of the caller's scopes, or tell other agents something."""

ADMINS = """
DELETE /agents/{agent_id}
DELETE /documents
POST /documents/cancel_pipeline
POST /documents/clear_cache
GET /documents/pipeline_status
POST /documents/recovery/force_reset
POST /documents/reprocess_failed
POST /documents/scan
GET /documents/scan/status/{track_id}
GET /documents/source_conflicts
POST /documents/source_conflicts/repair
POST /graph/entities/merge
POST /graph/entity/create
DELETE /graph/entity/delete
POST /graph/entity/edit
POST /graph/relation/create
DELETE /graph/relation/delete
POST /graph/relation/edit
GET /metrics
GET /v1/memory/approvals
POST /v1/memory/approvals
POST /v1/memory/approvals/drafts
GET /v1/memory/approvals/{identifier}
POST /v1/memory/gc/apply
GET /v1/memory/gc/jobs/{job}
POST /v1/memory/gc/plan
GET /v1/memory/gc/runs
POST /v1/memory/gc/undo
GET /v1/memory/health
POST /v1/memory/hooks/{assistant}/{event}
GET /v1/memory/injections
GET /v1/memory/log
POST /v1/memory/projects
GET /v1/memory/shared
GET /v1/memory/shared/conflicts
GET /v1/memory/shared/records
POST /v1/memory/shared/records
GET /v1/memory/shared/records/{identifier}
PUT /v1/memory/shared/members/{member}
GET /v1/memory/sources
GET /v1/memory/unread
"""
"""They run jobs, change what belongs to everybody, or tell of files and sessions of the machine."""

_PARAMETER = re.compile(r"\{\w+(:path)?\}")


def _rules() -> tuple[dict[tuple[str, str], MemberRole], list[tuple[str, re.Pattern[str], str, MemberRole]]]:
    exact: dict[tuple[str, str], MemberRole] = {}
    patterns: list[tuple[str, re.Pattern[str], str, MemberRole]] = []
    by_role: Mapping[MemberRole, str] = {"reader": READERS, "writer": WRITERS, "admin": ADMINS}
    for role, lines in by_role.items():
        for line in lines.split("\n"):
            method, _, path = line.partition(" ")
            if "{" in path:
                # A parameter without :path ends at the next slash, as it does for the router.
                literal = _PARAMETER.split(path)[::2]
                wild = [".+" if match[1] else "[^/]+" for match in _PARAMETER.finditer(path)]
                parts = [re.escape(part) for part in literal]
                pattern = "".join(a + b for a, b in zip(parts, [*wild, ""], strict=True))
                patterns.append((method, re.compile(pattern, re.DOTALL), path, role))
            elif path:
                exact[method, path] = role
    return exact, patterns


_EXACT, _PATTERNS = _rules()


def role_for(method: str, path: str) -> tuple[MemberRole, str]:
    """Return the role that a request needs, and the route's path; of an unknown one "admin" and UNMATCHED."""
    method = "GET" if method == "HEAD" else method
    if (role := _EXACT.get((method, path))) is not None:
        return role, path
    for wanted, pattern, route, needed in _PATTERNS:
        if wanted == method and pattern.fullmatch(path):
            return needed, route
    return "admin", UNMATCHED
