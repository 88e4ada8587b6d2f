"""The explorer driven by keys, without a terminal, as a person drives it."""

import asyncio

import pytest
from textual._compositor import Compositor

from ragmem.cli.explorer.app import Explorer
from ragmem.cli.explorer.reader import Reader


class Walk:
    """A person at the explorer: presses keys, and reads what stands there."""

    def __init__(self, app, pilot):
        self.app = app
        self.pilot = pilot

    async def settle(self):
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()
        assert self.screen

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text):
        """Write a text at once into the line that has the keys: each key takes a while."""
        self.app.focused.insert_text_at_cursor(text)
        await self.settle()

    @property
    def screen(self):
        """What stands on the screen, line by line."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    def __contains__(self, text):
        return text in self.screen


def walk(home, steps, *, size=(80, 24), light=False, before=None):
    """Run the explorer on a home and take steps (an async function of a Walk); return the app."""

    async def main():
        with home.open() as memory, Reader(memory) as reader:
            if memory.is_stored():
                memory.prepare()
            app = Explorer(reader, light=light)
            app.animation_level = "none"
            if before is not None:
                before(app)
            async with app.run_test(size=size, notifications=True) as pilot:
                taken = Walk(app, pilot)
                await taken.settle()
                await steps(taken)
            return app

    with pytest.MonkeyPatch.context() as patch:
        # Without a terminal each update would be drawn for nobody; a walk draws what it comes to.
        for name in ("render_full_update", "render_partial_update"):
            patch.setattr(Compositor, name, lambda compositor, **_: compositor._dirty_regions.clear())
        return asyncio.run(main())
