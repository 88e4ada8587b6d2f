"""`ragmem inspect sources`: the configured sources, their memories, and the outcome of their files."""

from typing import Any

from ragmem.cli.common import moment, open_memory, prepare_stored, say_json, shown_globs, table
from ragmem.cli.options import JsonOption, SourcesFileOption
from ragmem.domain.model import Tier
from ragmem.errors import EXIT_OK


def sources(as_json: JsonOption = False, sources_file: SourcesFileOption = None) -> int:
    """Show the configured sources, their globs, and how much of each is stored."""
    from ragmem.services.seeding.files import files_of
    from ragmem.storage.memories.memory_list import Filter, cross_count

    with open_memory(sources_file=sources_file) as memory:
        catalog, specs = memory.catalog, memory.settings.sources
        stored: dict[str, dict[str, Any]] = {}
        tiers: dict[str, dict[str, int]] = {}
        if prepare_stored(memory):
            stored = {str(row["source"]): row for row in catalog.overview.source_rows()}
            tiers = cross_count(catalog.database, "source", "tier", Filter())
        files = {name: files_of(catalog, name) for name in {*specs, *stored}}
    rows: list[dict[str, Any]] = []
    for name in (*specs, *(name for name in stored if name not in specs)):
        spec, row = specs.get(name), stored.get(name, {})
        newest: Any = row.get("newest")
        rows.append(
            {
                "source": name,
                "description": spec.description if spec else "",
                "memories": row.get("memories", 0),
                "tiers": tiers.get(name, {}),
                "files": len(files[name].paths),
                "files_without_memory": len(files[name].without),
                "files_gave": dict(files[name].tally),
                "newest": moment(newest) if newest else None,
                "reader": spec.reader if spec else None,
                "scope": spec.scope if spec else None,
                "signal": spec.signal if spec else None,
                "enabled": spec.enabled if spec else None,
                "globs": list(spec.globs) if spec else [],
            }
        )
    if as_json:
        say_json({"schema": 1, "sources": rows})
        return EXIT_OK
    table(
        (
            *("source", "memories", *(tier.value for tier in Tier), "files", "newest", "reader", "scope"),
            *("signal", "description", "glob"),
        ),
        [
            (
                row["source"],
                row["memories"],
                *(row["tiers"].get(tier.value, 0) for tier in Tier),
                row["files"],
                (row["newest"] or "")[:10],
                row["reader"] or "-",
                row["scope"] or "-",
                (row["signal"] or "-") if row["enabled"] is not False else "disabled",
                row["description"],
                shown_globs(row["globs"]),
            )
            for row in rows
        ],
    )
    return EXIT_OK
