"""A state of shared records in one form, so that two of them can be compared."""

import json

from ragmem.domain.sharing.state import State


def canonical_bytes(state: State) -> bytes:
    """Return the state as JSON in one form, without the verdicts, which depend on the keys that one knows."""
    return json.dumps(
        {
            "visible": sorted(state.visible),
            "withdrawn": state.withdrawn,
            "superseded": state.superseded,
            "conflicts": [[item.reason, item.memories, item.authors] for item in state.conflicts],
            "pending": state.pending,
        },
        separators=(",", ":"),
        sort_keys=True,
    ).encode()
