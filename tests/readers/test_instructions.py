"""Instruction files and their imports, as Claude Code follows them."""

from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.config.loader import load
from ragmem.config.settings import Settings
from ragmem.readers.discover import Discovery
from ragmem.readers.instructions import MAX_HOPS, imports_of
from ragmem.services.ingestion.source import find_files


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "code/tide/.git").mkdir(parents=True)
    return home


def write(home: Path, **files: str) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def settings_of(home: Path, **environ: str) -> Settings:
    return load(environ={"RAGMEM_HOME": str(home / ".ragmem")} | environ, home=home)


def found(home: Path, source: str) -> Discovery:
    settings = settings_of(home)
    return find_files(settings.sources[source], home=home, settings=settings)


def names(home: Path, source: str) -> list[str]:
    return [str(path.relative_to(home)) for path in found(home, source).files]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@AGENTS.md", ["AGENTS.md"]),
        ("See @docs/a.md and\n- @~/b.md\n- @./c.md @/d.md", ["docs/a.md", "~/b.md", "./c.md", "/d.md"]),
        ("@my\\ notes.md @a.md#part @a.md", ["my notes.md", "a.md"]),
        ("write to sam@example.org or (@a.md)", []),
        ("`@a.md` and ``@b ` @c.md`` @d.md", ["d.md"]),
        ("```\n@a.md\n```\n~~~sh\n```\n@b.md\n~~~\n@c.md", ["c.md"]),
        ("<!-- @a.md\n@b.md --> @c.md", ["c.md"]),
        ("a ` alone\n\n@a.md\n\nand ` another", ["a.md"]),
        ("@ @. @.. @~ @/ @#x", []),
        ("<!-- " * 50_000 + "@a.md", ["a.md"]),
        ("`a " * 50_001 + "@a.md", ["a.md"]),
    ],
)
def test_imports_are_paths_outside_of_code(text: str, paths: list[str]) -> None:
    assert imports_of(text) == paths


def test_a_file_that_only_imports_is_no_memory_and_what_it_imports_is_one(home: Path, tmp_path: Path) -> None:
    write(
        home,
        **{
            "code/tide/CLAUDE.md": "# CLAUDE.md\n\n- @AGENTS.md\n@docs/style.md\n",
            "code/tide/AGENTS.md": "Use pnpm, never npm.",
            "code/tide/docs/style.md": "Tabs, as @../AGENTS.md says, and @CLAUDE.md.",
        },
    )
    environ = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    environ["RAGMEM_HOME"] = str(tmp_path / "ragmem")
    with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
        report = memory.seed()
        stored = {(Path(one.uri).name, one.source) for one in memory.catalog.memories.each()}
        assert not memory.seed().would_change
    assert stored == {("AGENTS.md", "claudemds"), ("style.md", "claudemds")}
    assert (report.failed, report.problems) == (0, [])


def test_imports_in_circles_end_and_those_of_imports_are_followed_to_a_depth(home: Path) -> None:
    write(home, **{"code/tide/CLAUDE.md": "@0.md", f"code/tide/{MAX_HOPS}.md": "too far"})
    for number in range(MAX_HOPS):
        write(home, **{f"code/tide/{number}.md": f"@{number + 1}.md @CLAUDE.md @{number}.md"})
    read = [f"code/tide/{number}.md" for number in range(MAX_HOPS)]
    assert names(home, "claudemds") == [*read, "code/tide/CLAUDE.md"]


def test_an_import_never_leads_out_of_its_repository(home: Path, tmp_path: Path) -> None:
    write(tmp_path, **{"outside.md": "secret"})
    write(home, **{".ssh/config.md": "key", "code/other.md": "not yours", "notes/mine.md": "private"})
    leading = ["/etc/passwd", "../other.md", "~/.ssh/config.md", "~/notes/mine.md", "link.md"]
    write(home, **{"code/tide/CLAUDE.md": " ".join(f"@{path}" for path in leading)})
    (home / "code/tide/link.md").symlink_to(tmp_path / "outside.md")
    discovery = found(home, "claudemds")
    assert [path.name for path in discovery.files] == ["CLAUDE.md"]
    assert len(discovery.skipped) == len(leading)
    assert all(one.leads_out and "an import that leads out of" in one.reason for one in discovery.skipped)


def test_a_persons_own_instructions_import_from_the_home_but_no_keys(home: Path) -> None:
    write(
        home,
        **{
            ".claude/CLAUDE.md": "Run tests. @tools.md @~/notes/style.md @~/.ssh/id_rsa @/etc/passwd",
            ".claude/tools.md": "rtk",
            "notes/style.md": "short sentences; @more.md",
            "notes/more.md": "fewer words",
            ".ssh/id_rsa": "KEY",
        },
    )
    read = [".claude/CLAUDE.md", ".claude/tools.md", "notes/more.md", "notes/style.md"]
    assert names(home, "instructions") == read


def test_packages_addresses_missing_files_and_data_are_passed_over_in_silence(home: Path) -> None:
    text = "Use @scope/pkg, @types/node, @/components/Button, @sam, @package.json, @src and @gone.md."
    write(home, **{"code/tide/CLAUDE.md": text, "code/tide/package.json": "{}", "code/tide/src/a.md": "x"})
    discovery = found(home, "claudemds")
    assert ([path.name for path in discovery.files], discovery.skipped) == (["CLAUDE.md"], ())


def test_what_another_source_names_or_an_exclusion_covers_is_not_imported(home: Path) -> None:
    write(
        home,
        **{
            "code/tide/CLAUDE.md": "Read @docs/adr/1.md and @private/a.md and @docs/b.md",
            "code/tide/docs/adr/1.md": "We chose SQLite.",
            "code/tide/private/a.md": "x",
            "code/tide/docs/b.md": "y",
            ".ragmem/config/sources.toml": 'exclude = ["private/"]\n',
        },
    )
    assert names(home, "claudemds") == ["code/tide/CLAUDE.md", "code/tide/docs/b.md"]
    assert names(home, "decisions") == ["code/tide/docs/adr/1.md"]


def test_one_file_under_two_names_is_one_memory(home: Path) -> None:
    write(home, **{"code/tide/AGENTS.md": "Use pnpm. @CLAUDE.md"})
    (home / "code/tide/CLAUDE.md").symlink_to("AGENTS.md")
    assert names(home, "claudemds") == ["code/tide/AGENTS.md"]


def test_rules_with_bare_patterns_are_read_without_a_complaint(home: Path, tmp_path: Path) -> None:
    rule = (
        "---\ndescription: Tests: how\nglobs: **/*.ts, *.tsx\nalwaysApply: false\n---\nName tests as facts.\n"
    )
    write(home, **{"code/tide/.cursor/rules/tests.mdc": rule})
    environ = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    environ["RAGMEM_HOME"] = str(tmp_path / "ragmem")
    with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
        report = memory.seed()
        (stored,) = memory.catalog.memories.each()
    assert report.problems == []
    assert (stored.title, stored.metadata["globs"]) == ("Tests: how", "**/*.ts, *.tsx")


FILES = {
    "claudemds": [
        "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "web/CLAUDE.md", "packages/api/AGENTS.md",
        ".claude/rules/a/b.md", ".cursor/rules/x.mdc", ".cursorrules", ".github/copilot-instructions.md",
        ".github/instructions/a.instructions.md", ".kiro/steering/product.md",
        ".windsurfrules", ".windsurf/rules/a.md", ".clinerules/b.md", ".roo/rules-code/c.md", ".roorules",
        ".kilocode/rules/d.md", ".junie/guidelines.md",
    ],
    "projectagents": [
        "memory-bank/brief.md", ".serena/memories/a.md", ".claude/agent-memory/a/MEMORY.md",
        "memory_bank/b.md", "cline_docs/c.md", "docs/memory-bank/d.md", ".cursor/memory-bank/e.md",
        ".kilocode/rules/memory-bank/f.md",
    ],
    "projectcommands": [".claude/agents/a.md", ".claude/skills/b/SKILL.md", ".claude/commands/c.md"],
    "decisions": [
        "docs/adr/1.md", "doc/adr/2.md", "docs/decisions/3.md", "adr/4.md", "adrs/5.md", "decisions/6.md",
        "architecture-decision-record/7.md", "docs/architecture-decisions/8.md",
        "architecture/decisions/9.md", "docs/development/adrs/10.md",
        "docs/architecture/decisions/11.md", "packages/api/docs/adr/12.md",
        "docs/architecture/adr-013-x.md", "docs/ADR-14.md",
        "DECISIONS.md", "docs/decisions.md",
    ],
    "specs": ["specs/1/spec.md", ".kiro/specs/x/design.md"],
    "handoffs": ["HANDOFF.md", ".claude/handoffs/a.md", "thoughts/shared/handoffs/b.md"],
    "specstory": [".specstory/history/2026-01-02.md"],
}  # fmt: skip
OWN = {
    "instructions": [".claude/CLAUDE.md", ".claude/rules/a.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"],
    "agents": [".claude/agents/a.md"],
    "agentmemory": [".claude/agent-memory/a/b.md", ".codex/memories/c.md"],
}


def test_each_file_of_a_home_is_found_by_one_source(home: Path) -> None:
    wanted = {source: [f"code/tide/{name}" for name in files] for source, files in FILES.items()} | OWN
    write(home, **{name: name for files in wanted.values() for name in files})
    settings = settings_of(home)
    every = {name: names(home, name) for name in (one.name for one in settings.enabled_sources())}
    assert {name: sorted(files) for name, files in every.items() if files} == {
        source: sorted(files) for source, files in wanted.items()
    }


def test_rules_of_cline_are_a_file_or_a_folder(home: Path) -> None:
    (home / "code" / "bay" / ".git").mkdir(parents=True)
    write(home, **{"code/tide/.clinerules": "Test first.\n", "code/bay/.clinerules/a.md": "Test last.\n"})
    environ = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    environ["RAGMEM_HOME"] = str(home / ".ragmem")
    with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
        report = memory.seed()
        stored = sorted(one.text for one in memory.catalog.memories.each())
    assert (stored, report.problems) == (["Test first.", "Test last."], [])


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ('"~/auto"', ["auto/sub/a.md"]),
        ('"~"', []),
        ('"/"', []),
        ('"auto"', []),
        ("7", []),
        ('"~/gone"', []),
    ],
)
def test_a_moved_memory_of_claude_code_is_read_where_its_settings_say(
    home: Path, told: str, read: list[str]
) -> None:
    write(
        home,
        **{
            "auto/sub/a.md": "note",
            ".claude/settings.json": f'{{"autoMemoryDirectory": {told}}}',
            "x.md": "x",
        },
    )
    assert names(home, "memory") == read


def test_a_moved_memory_follows_claude_codes_folder(home: Path, tmp_path: Path) -> None:
    write(tmp_path, **{"cc/settings.json": '{"autoMemoryDirectory": "/srv/[a]"}'})
    globs = settings_of(home, CLAUDE_CONFIG_DIR=str(tmp_path / "cc")).sources["memory"].globs
    assert globs[1:] == ("/srv/[[]a]/**/*.md",)
