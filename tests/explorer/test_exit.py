"""Leaving the explorer while a thread still reads."""

import asyncio
from threading import Event, Timer

from ragmem.cli.explorer.reader import SILENT, ClosingError, Reader


def left(home, work, began):
    """Leave the explorer while `work` is done."""

    async def ask(reader):
        task = asyncio.ensure_future(reader.run(work))
        await asyncio.to_thread(began.wait, 10)
        task.cancel()

    with home.open() as memory, Reader(memory) as reader:
        asyncio.run(ask(reader))


def test_who_leaves_is_told_when_something_must_end_first(empty_home, capsys):
    began, go_on, ended = Event(), Event(), Event()

    def work(_):
        began.set()
        go_on.wait(10)
        ended.set()

    timer = Timer(SILENT * 2, go_on.set)
    timer.start()
    left(empty_home, work, began)
    timer.join()
    assert ended.is_set()
    assert capsys.readouterr().err == "ending what was being read\n"


def test_a_long_work_that_asks_ends_as_soon_as_one_leaves(empty_home, capsys):
    began, told = Event(), []
    with empty_home.open() as memory:
        reader = Reader(memory)

        def work(_):
            began.set()
            try:
                while True:
                    reader.advance()
            except ClosingError:
                told.append("ended")

        async def ask():
            task = asyncio.ensure_future(reader.run(work))
            await asyncio.to_thread(began.wait, 10)
            task.cancel()

        asyncio.run(ask())
        reader.close()
    assert told == ["ended"]
    assert capsys.readouterr().err == ""
