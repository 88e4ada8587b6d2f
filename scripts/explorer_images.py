"""Draw docs/images/explorer-*.svg, the explorer on a copy of the example home. Takes a minute."""

import asyncio
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE, WIDE = (110, 32), (160, 40)

SESSION = "0f6a2c1e-tideline"
PROMPTS = (
    "the deploy of Tideline answered 502 again, was uvicorn stopped by SIGTERM",
    "which port does PostgreSQL of Tideline listen on, and why did we leave SQLite",
)

# Name of the picture -> dark, light, or dark and wide, and the keys that lead to it; longer ones are typed.
PICTURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "overview": ("dark", ("1",)),
    "memories": ("dark", ("3", "slash", "kind:architecture", "enter", "down", "d")),
    "memory": ("dark", ("escape", "slash", "SQLite", "enter", "enter")),
    "facts": ("dark", ("2",)),
    "search": ("dark", ("escape", "escape", "4", "why did the deploy answer 502", "enter")),
    "score": ("dark", ("enter", "3")),
    "connections": ("dark", ("escape", "6", "enter")),
    "entity": ("dark", ("escape", "5", "slash", "Postgre", "enter", "enter")),
    "lifecycle": ("dark", ("escape", "7")),
    "injections": ("dark", ("9", "d")),
    "light": ("light", ("1",)),
    "wide": ("wide", ("3", "down", "down")),
}

FONTS = "ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def main() -> int:
    """Make the home, walk through it, and write the pictures."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent).resolve() / "tideline"
        shutil.copytree(ROOT / "examples" / "home", folder)
        os.environ["HOME"], os.environ["RAGMEM_HOME"] = str(folder), str(folder / ".ragmem")
        os.chdir(folder)
        fill(folder)
        asyncio.run(_walk(folder))
        os.chdir(ROOT)
    return 0


def fill(folder: Path) -> None:
    """Seed the home, and let an assistant be given something."""
    from ragmem import Ragmem

    with Ragmem.open(home=folder, cwd=folder / "repos" / "tideline") as memory:
        memory.seed()
        memory.records.add_gotcha("the tide tables are in UTC", trigger="the clock changes", project="user")
        memory.gc.plan()
        memory.injections.anticipate(SESSION, event="start", assistant="claude-code", everywhere=True)
        for prompt in PROMPTS:
            memory.injections.anticipate(SESSION, prompt, assistant="claude-code", everywhere=True)


async def _walk(folder: Path) -> None:
    from ragmem import Ragmem
    from ragmem.cli.explorer.app import Explorer
    from ragmem.cli.explorer.reader import Reader

    for theme in ("dark", "light", "wide"):
        with Ragmem.open(home=folder, cwd=folder) as memory, Reader(memory) as reader:
            memory.require()
            app = Explorer(reader, light=theme == "light")
            async with app.run_test(size=WIDE if theme == "wide" else SIZE) as pilot:
                for name, (wanted, keys) in PICTURES.items():
                    if wanted != theme:
                        continue
                    for key in ("wait", *keys, "wait"):
                        if key == "wait":
                            await app.workers.wait_for_complete()
                        elif key in {"slash", "enter", "escape", "down"} or len(key) == 1:
                            await pilot.press(key)
                        else:
                            app.focused.insert_text_at_cursor(key)  # type: ignore[union-attr]
                        await pilot.pause()
                        await app.workers.wait_for_complete()
                        await pilot.pause()
                    path = IMAGES / f"explorer-{name}.svg"
                    path.write_text(
                        drop_fonts(app.export_screenshot(title="ragmem inspect")), encoding="utf-8"
                    )
                    print(path.relative_to(ROOT))


def drop_fonts(picture: str) -> str:
    """Return a picture that fetches no font."""
    without = re.sub(r"\s*@font-face\s*\{.*?\}", "", picture, flags=re.DOTALL)
    return re.sub(r"font-family:[^;]*;", f"font-family: {FONTS};", without).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
