"""The sources: their memories by tier, their files, and the files without a memory."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.common import shorten_home
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import Tier
from ragmem.services.seeding.source_files import files_of
from ragmem.storage.memories.memory_list import Filter, cross_count

FILES = 200
"""Maximum number of files in the details of a source."""


class Sources(ListPane):
    """The configured sources and those that have memories; Enter shows the memories of one."""

    COLUMNS = (
        Column("source", 14),
        Column("memories", 8, right=True),
        Column("ingest", 7, least=50, right=True),
        Column("summarize", 9, least=60, right=True),
        Column("discard", 7, least=60, right=True),
        Column("files", 6, right=True),
        Column("newest", 10, least=80),
        Column("state", 10),
        Column("glob", least=100),
    )
    EMPTY = "No source is configured. sources.toml names them: ragmem inspect config"
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return all sources."""
        catalog, specs = memory.catalog, memory.settings.sources
        stored: dict[str, dict[str, Any]] = {}
        tiers: dict[str, dict[str, int]] = {}
        if catalog.exists():
            stored = {str(row["source"]): row for row in catalog.overview.source_rows()}
            tiers = cross_count(catalog.database, "source", "tier", Filter())
        return Page(
            [
                _row(memory, name, stored.get(name, {}), tiers.get(name, {}))
                for name in (*specs, *(name for name in stored if name not in specs))
            ]
        )


def _row(memory: Ragmem, name: str, stored: dict[str, Any], tiers: dict[str, int]) -> Row:
    spec = memory.settings.sources.get(name)
    state = "not listed" if spec is None else "on" if spec.enabled else "off"
    globs = ", ".join(spec.globs) if spec else "handed in by `ingest`, hooks or an assistant"
    files = files_of(memory.catalog, name)
    newest = stored.get("newest")
    lines = [f"{name}: {state}", globs]
    if spec:
        lines.append(f"reader {spec.reader}, scope {spec.scope}, signal {spec.signal}")
    if files.paths:
        counts = ", ".join(f"{count:,} {what}" for what, count in files.tally.items())
        lines.append(f"{len(files.paths):,} files when seed last looked: {counts or 'nothing in them'}")
    if not stored and spec and spec.enabled:
        lines.append(f"nothing stored yet: ragmem seed --source {name}")
    if files.without:
        lines.append(f"{len(files.without):,} files gave no memory:")
        lines += map(shorten_home, files.without[:FILES])
    lines += ["", *map(shorten_home, files.paths[:FILES])]
    if len(files.paths) > FILES:
        lines.append(f"and {len(files.paths) - FILES:,} more")
    return Row(
        (
            name,
            f"{stored.get('memories', 0):,}",
            *(f"{tiers.get(tier.value, 0):,}" for tier in Tier),
            f"{len(files.paths):,}",
            newest.strftime("%Y-%m-%d") if newest else "",
            state,
            globs,
        ),
        key=name,
        opens=("source", name),
        detail="\n".join(lines),
    )
