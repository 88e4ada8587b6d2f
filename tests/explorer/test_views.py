"""The explorer driven as a person drives it: each view, at the smallest and at a large terminal."""

import pytest
from explorer_walk import walk

SMALL, LARGE = (80, 24), (200, 60)

# Key (or name) of a view -> what must stand there.
SHOWN = {
    "1": ["memories", "Tiers per source", "ingest", "notes"],
    "2": ["agentmemory", "135", "on"],
    "3": ["Ferry 129", "100 of 135"],
    "4": ["type a question"],
    "5": ["PostgreSQL", "relations"],
    "6": ["links", "Ferry"],
    "7": ["The lifecycle of all projects", "135 memories"],
    "8": ["rejected", "it is not a write of ragmem"],
    "9": ["session-1", "Driver"],
    "0": ["gotcha", "the tide table is in UTC"],
    "approvals": ["Nothing waits for your review"],
    "shared": ["No shared memories wait"],
    "transcripts": ["No transcripts were found"],
    "agents": ["builder", "working", "build main"],
    "log": ["seed"],
}


@pytest.mark.parametrize(
    ("size", "keys"), [(SMALL, tuple(SHOWN)), (LARGE, ("1", "3", "9"))], ids=["80x24", "200x60"]
)
def test_every_view_shows_what_is_there(home, size, keys):
    async def steps(at):
        for key in keys:
            wanted = SHOWN[key]
            if key.isdigit():
                await at.press(key)
            else:
                await at.app.show(key)
                await at.settle()
            for text in wanted:
                assert text in at, f"{text!r} is missing under {key}:\n{at.screen}"
            if key == "4":
                await at.press("escape")

    walk(home, steps, size=size)
