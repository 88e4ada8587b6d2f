"""Impact and the links between memories and code, on a small git repository of the test's own."""

import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.code.code import SymbolKind
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.errors import NotFoundError
from ragmem.services.code.impact import picture
from ragmem.services.code.links import code_of, memories_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)

SOURCES = {
    "app/__init__.py": "",
    "app/config.py": '''"""Reads the settings."""

LIMIT_SECONDS = 3


def parse_config(text):
    """Return the settings in a text."""
    return dict(line.split("=") for line in text.splitlines())


def load(path):
    return parse_config(open(path).read())


class Settings:
    """What was set."""

    def run(self):
        return parse_config("")
''',
    "app/server.py": '''"""Serves."""

from app.config import Settings, load, parse_config


class Server(Settings):
    def start(self):
        return load("x")


def main():
    return Server().start(), parse_config("")


def run():
    return sorted([], key=lambda one: main())
''',
    "tests/test_config.py": '''"""Tests."""

from app.config import load, parse_config


def test_it_parses():
    assert parse_config("a=b") == {"a": "b"}


def test_it_loads():
    assert load("x")
''',
}

NOTES = (
    ("gotcha", Kind.ERROR, "The error was in parse_config: it fails on an empty line, a known bug."),
    ("chat", Kind.GENERAL, "We run the load tests and get the plan of the settings for the deploy."),
    ("file", Kind.ARCHITECTURE, "We decided to keep app/config.py free of imports for the deploy."),
    ("method", Kind.GENERAL, "In `Settings` the call of run() is slow because of the deploy."),
    ("several", Kind.GENERAL, "Calling run() is slow because of the deploy."),
    ("module", Kind.GENERAL, "See app.config.load for the reason of the deploy."),
    ("elsewhere", Kind.ERROR, "Another project has an error in its own lib/parse_conf.py, fixed."),
)


def git(folder: Path, *arguments: str) -> None:
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ana"), ("EMAIL", "ana@example.org"))
    }
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **identity}
    subprocess.run(["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "kiln"
    for name, text in SOURCES.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def memory(tmp_path: Path, repository: Path):
    """A memory, asked from within the repository, whose code it knows."""
    fake = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **fake}, home=tmp_path / "home", cwd=repository
    ) as opened:
        opened.code.ingest(repository)
        yield opened


@pytest.fixture
def filled(memory: Ragmem) -> Ragmem:
    project = project_of(memory)
    memory.ingest(
        [
            Draft("notes", name, text, name, event_time=NOW, kind=kind, scope=Scope(project))
            for name, kind, text in NOTES
        ]
    )
    return memory


@pytest.fixture
def command(memory: Ragmem, repository: Path, inside, monkeypatch):
    """Run a command line in the repository, on the home of the memory."""

    def run(*arguments: str):
        monkeypatch.chdir(repository)
        monkeypatch.setenv("HOME", str(repository.parent))
        return inside(*arguments, RAGMEM_HOME=str(memory.home.parent / "ragmem"))

    return run


def project_of(memory: Ragmem) -> str:
    (root,) = memory.catalog.code.roots()
    return root.project


def reached(found):
    return {one.located.symbol.qualified: (one.depth, one.score) for one in found}


def titles(memories):
    return [one.title for one in memories.shown]


def test_what_calls_a_function_is_reached_by_depth_and_score(memory):
    found = memory.code.impact("parse_config")
    by_name = reached(found.reached)
    assert {name: by_name[name] for name in ("app.config.load", "app.server.main")} == {
        "app.config.load": (1, 1.0),
        "app.server.main": (1, 1.0),
    }
    assert by_name["app.server.Server.start"] == (2, 0.5)
    # A lambda belongs to the function that it is written in.
    assert by_name["app.server.run"] == (2, 0.5 + 0.125)
    assert sum(found.depths.values()) == len(found.reached)


def test_depth_bounds_what_is_shown_and_not_what_is_counted(memory):
    found = memory.code.impact("parse_config", depth=1)
    assert {one.depth for one in found.reached} == {1}
    assert found.beyond == sum(memory.code.impact("parse_config").depths.values()) - len(found.reached) > 0


def test_the_tests_of_a_symbol_come_nearest_first_and_stand_apart(memory):
    found = memory.code.impact("parse_config")
    assert [one.located.symbol.name for one in found.tests] == ["test_it_parses", "test_it_loads"]
    assert [one.depth for one in found.tests] == [1, 2]
    assert not any(one.located.symbol.is_test for one in found.reached)


def test_a_class_means_its_methods_and_is_reached_by_what_inherits_it(memory):
    found = memory.code.impact("Settings")
    assert [one.symbol.name for one in found.target.symbols] == ["Settings", "run"]
    inheriting = next(one for one in found.reached if one.located.symbol.name == "Server")
    assert {edge.kind.value for edge in inheriting.references} == {"inherits"}
    assert inheriting.references[0].path == "app/server.py"


def test_a_file_means_all_that_it_defines(memory):
    found = memory.code.impact("app/config.py")
    assert {"parse_config", "load", "Settings"} < {one.symbol.name for one in found.target.symbols}
    assert all(one.located.path != "app/config.py" for one in found.reached)
    assert found.target.name == memory.code.impact("config.py").target.name == "app/config.py"


def test_memories_that_name_a_symbol_come_with_the_line(filled):
    memory, of_its_file, *_ = filled.code.impact("parse_config").memories.shown
    assert (memory.title, of_its_file.title) == ("gotcha", "file")
    assert [(place.line, place.means) for place in memory.places] == [(1, "app.config.parse_config")]
    assert "fails on an empty line" in memory.places[0].quote


def test_a_word_is_no_mention_and_a_call_of_one_of_several_only_where_the_text_tells_which(filled):
    assert titles(filled.code.impact("Settings.run").memories) == ["file", "method"]
    assert titles(filled.code.impact("app.server.run").memories) == []
    assert titles(filled.code.impact("load").memories) == ["file", "module"]


def test_decisions_and_errors_come_before_what_else_mentions_a_file(filled):
    found = titles(filled.code.impact("app/config.py").memories)
    assert set(found) == {"file", "gotcha", "method", "module"}
    assert set(found[:2]) == {"file", "gotcha"}


def test_a_symbol_is_in_the_code_of_a_memory_if_and_only_if_the_memory_is_one_of_its(filled):
    project = project_of(filled)
    for located in filled.catalog.code.symbols(project, SOURCES):
        found = memories_of(filled.catalog, project, symbols=[located])
        for memory in filled.catalog.memories.each():
            links = code_of(filled.catalog, memory)
            if located.symbol.kind is SymbolKind.MODULE:
                linked = any(not link.qualified and link.path == located.path for link in links)
            else:
                linked = any(link.qualified == located.symbol.qualified for link in links)
            assert linked == (memory.id in {one.id for one in found.shown})


def test_a_renamed_file_keeps_its_memories(filled, repository):
    git(repository, "mv", "app/config.py", "app/settings.py")
    server = repository / "app" / "server.py"
    server.write_text(server.read_text().replace("app.config", "app.settings"))
    git(repository, "commit", "-qam", "rename")
    filled.code.ingest(repository)
    found = filled.code.impact("app/settings.py")
    assert {"file", "gotcha"} <= set(titles(found.memories))
    assert filled.code.impact("app/config.py").target.former == "app/config.py"
    (note,) = (memory for memory in filled.catalog.memories.each() if memory.title == "file")
    assert [link.path for link in code_of(filled.catalog, note)] == ["app/settings.py"]


def test_a_path_on_disk_means_the_file_in_a_memory_and_on_the_command_line(memory, repository, command):
    place = repository / "app" / "server.py"
    texts = (f"The error is in {place}, fixed.", "The error is in ~/kiln/app/server.py, fixed.")
    memory.ingest([Draft("notes", text, text, str(n)) for n, text in enumerate(texts)])
    assert set(titles(memory.code.impact("app/server.py").memories)) == {"0", "1"}
    for name in (str(place), "./app/server.py"):
        done = command("inspect", "impact", name, "--json")
        assert json.loads(done.stdout)["target"]["name"] == "app/server.py"
    listed = json.loads(command("inspect", "code", str(repository / "app"), "--json").stdout)
    assert listed["folder"]["path"] == "app"


def test_names_of_other_languages_are_taken_apart_as_their_own(memory, repository):
    for name, text in (
        ("heat.rs", "/// An oven.\npub struct Oven;\nimpl Oven { pub fn burn(&self) -> u32 { 1 } }\n"),
        ("lib.rs", "mod heat;\nuse crate::heat::Oven;\npub fn fire(oven: &Oven) -> u32 { oven.burn() }\n"),
        ("oven.rb", "module Kiln\n  class Shelf\n    def lift\n      1\n    end\n  end\nend\n"),
    ):
        place = repository / "src" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    memory.code.ingest(repository)
    texts = ("The error is in Oven::burn, fixed.", "The error is in Shelf#lift, fixed.")
    project = project_of(memory)
    memory.ingest([Draft("notes", text, text, str(n), scope=Scope(project)) for n, text in enumerate(texts)])
    found = memory.code.impact("Oven")
    assert [one.symbol.name for one in found.target.symbols] == ["Oven", "burn"]
    assert titles(found.memories) == titles(memory.code.impact("heat::Oven::burn").memories) == ["0"]
    assert (
        titles(memory.code.impact("Shelf").memories)
        == titles(memory.code.impact("src/oven.rb").memories)
        == ["1"]
    )


def test_in_postgresql_the_answers_are_the_same(filled, repository, tmp_path, postgres):
    environ = {
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_HOME": str(tmp_path / "other"),
        "RAGMEM_STORE_PROFILE": "postgres",
        "RAGMEM_STORE_URL": postgres,
    }
    with Ragmem.open(environ=environ, home=tmp_path / "home", cwd=repository) as other:
        other.code.ingest(repository)
        note = next(memory for memory in filled.catalog.memories.each() if memory.title == "gotcha")
        other.ingest([Draft("notes", "gotcha", note.text, "gotcha", scope=Scope(project_of(other)))])
        for name in ("parse_config", "app/config.py", "Settings"):
            found, same = filled.code.impact(name), other.code.impact(name)
            assert (same.reached, same.tests, same.depths) == (found.reached, found.tests, found.depths)
        assert titles(other.code.impact("parse_config").memories) == ["gotcha"]
        for name in ("", "app", "app/config.py", "Server"):
            assert other.code.map(name) == filled.code.map(name)
        (stored,) = other.catalog.memories.each()
        assert [link.qualified for link in code_of(other.catalog, stored)] == ["app.config.parse_config"]
        with pytest.raises(NotFoundError, match="parse_confg"):
            other.code.impact("parse_confg")


def test_a_memory_of_a_recorded_edit_is_one_of_the_files(memory):
    project = project_of(memory)
    memory.ingest(
        [
            Draft(
                "sessions",
                "s",
                "A session that fixed an error because of the deploy.",
                "session",
                scope=Scope(project),
                metadata={"files": "app/server.py"},
            )
        ]
    )
    (found,) = memory.code.impact("app/server.py").memories.shown
    assert [(place.how, place.means) for place in found.places] == [("edit", "app/server.py")]
    (stored,) = memory.catalog.memories.each()
    assert [(link.path, link.edited) for link in code_of(memory.catalog, stored)] == [("app/server.py", True)]


def test_memories_of_other_projects_do_not_count_and_those_of_the_user_only_by_what_no_other_has(memory):
    text = "An error in parse_config and in Settings.run and app/server.py, because of the deploy."
    memory.ingest(
        [
            Draft("notes", "other", text, "other", scope=Scope("other")),
            Draft("notes", "mine", text, "mine"),
        ]
    )
    assert titles(memory.code.impact("parse_config").memories) == ["mine"]
    assert titles(memory.code.impact("Settings").memories) == []
    assert titles(memory.code.impact("app/server.py").memories) == []


def test_a_quoted_line_shows_no_secret(memory):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    text = f"The error in parse_config came with token {secret} in the deploy."
    memory.ingest([Draft("notes", "n", text, "n", scope=Scope(project_of(memory)))])
    (found,) = memory.code.impact("parse_config").memories.shown
    assert found.places
    assert secret not in str(found)


def test_the_command_shows_depths_tests_and_memories(filled, command):
    done = command("inspect", "impact", "parse_config")
    assert done.returncode == 0
    assert "app.config.parse_config" in done.stdout
    assert "depth 1" in done.stdout
    assert "app/server.py:12" in done.stdout
    assert "test_it_parses" in done.stdout
    assert "fails on an empty line" in done.stdout


def test_code_that_was_not_read_to_its_end_is_told(memory, command):
    assert memory.code.impact("load").complete
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE code_roots SET complete = 0")
    assert not memory.code.impact("load").complete
    assert (
        "the code graph is incomplete: ragmem ingest --code ." in command("inspect", "impact", "load").stderr
    )


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        ("Idle", "inherit it; uses as a type are not followed"),
        ("SPARE", "inherit it; uses of its value are not followed"),
        ("idle", "no code except tests is known to call, import or inherit it\n"),
    ],
)
def test_what_nothing_reaches_says_which_uses_are_not_followed(memory, repository, command, symbol, said):
    (repository / "app" / "spare.py").write_text(
        "SPARE = 1\n\n\nclass Idle:\n    pass\n\n\ndef idle():\n    pass\n"
    )
    memory.code.ingest(repository)
    assert said in command("inspect", "impact", f"app.spare.{symbol}").stdout


def test_json_has_all_of_it(filled, command):
    document = json.loads(command("inspect", "impact", "parse_config", "--json", "-n", "2").stdout)
    assert document["target"]["name"] == "app.config.parse_config"
    assert len(document["reached"]) == 2 < document["reached_total"]
    assert document["reached"][0]["references"][0]["line"] > 0
    assert document["memories"][0]["title"] == "gotcha"


def test_pictures_hold_each_dependent_once(memory, command):
    drawn = picture(memory.code.impact("parse_config"))
    assert len({box.key for box in drawn.boxes}) == len(drawn.boxes) > 5
    root = ET.fromstring(command("inspect", "impact", "parse_config", "--svg", "-").stdout)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "app.server.Server.start" in texts
    flow = command("inspect", "impact", "parse_config", "--mermaid").stdout
    assert re.search(r'n\d+\["app\.server\.main', flow)
    assert flow.count(":::") == len(drawn.boxes)


def test_a_picture_replaces_no_file_unless_it_is_told_to(command, repository):
    place = repository / "out.svg"
    assert command("inspect", "impact", "load", "--svg", str(place)).returncode == 0
    again = command("inspect", "impact", "load", "--svg", str(place))
    assert (again.returncode, "already" in again.stderr) == (2, True)
    assert command("inspect", "impact", "load", "--svg", str(place), "--force").returncode == 0
    ET.fromstring(place.read_text())


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("parse_confg", 'there is no symbol or file "parse_confg"', "near it: parse_config"),
        ("run", '"run" may be one of 2 symbols', "app.config.Settings.run, app.server.run"),
        ("tests", '"tests" is a folder', "ragmem inspect code tests"),
        ("", 'there is no symbol or file ""', ""),
    ],
)
def test_a_name_that_nothing_or_several_have_is_refused_with_what_is_near(command, name, message, hint):
    done = command("inspect", "impact", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"ragmem: {message}"
    assert hint in done.stderr


def test_a_class_is_told_from_its_constructor_which_is_called_by_its_name(memory, repository):
    (repository / "Kiln.java").write_text(
        "package acme;\nclass Kiln {\n  Kiln(int heat) {}\n  void fire() {}\n}\n"
        "class Potter {\n  void work() { new Kiln(3); }\n}\n"
    )
    (repository / "kiln.ts").write_text(
        "export class Oven {\n  constructor() {}\n}\nexport function bake() { return new Oven() }\n"
    )
    memory.code.ingest(repository)
    kiln = memory.code.impact("Kiln")
    assert kiln.target.name == "acme.Kiln"
    assert "acme.Potter.work" in reached(kiln.reached)
    assert "acme.Potter.work" in reached(memory.code.impact("acme.Kiln.Kiln").reached)
    assert "kiln.bake" in reached(memory.code.impact("Oven.constructor").reached)


def test_what_stands_beside_an_inline_module_of_tests_is_no_test(memory, repository):
    (repository / "kiln.rs").write_text(
        "pub fn heat() -> u32 { 1 }\npub fn fire() -> u32 { heat() }\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    fn lit() -> u32 { fire() }\n"
        "    #[test]\n    fn burns() { assert!(lit() > 0) }\n}\n"
    )
    memory.code.ingest(repository)
    found = memory.code.impact("heat")
    assert "kiln::fire" in reached(found.reached)
    assert not any("tests" in name for name in reached(found.reached))
    assert list(reached(found.tests)) == ["kiln::tests::burns"]
    assert "kiln::tests::lit" in reached(found.helpers)


def test_who_takes_one_name_of_a_module_does_not_depend_on_all_that_it_imports(memory, repository):
    for name, text in (
        ("api", "from app.config import load\n\n\ndef parse():\n    pass\n"),
        ("user", "from app.api import parse\n"),
        ("passing", "from app.api import load\n"),
        ("whole", "import app.api\n"),
    ):
        (repository / "app" / f"{name}.py").write_text(text)
    memory.code.ingest(repository)
    found = reached(memory.code.impact("load", depth=9).reached)
    assert {name: found[name][0] for name in ("app.api", "app.passing", "app.whole")} == {
        "app.api": 1,
        "app.passing": 1,
        "app.whole": 2,
    }
    assert "app.user" not in found
    assert "app.user" in reached(memory.code.impact("app/api.py").reached)


def test_without_code_the_next_step_is_named(open_memory, inside):
    with open_memory() as memory:
        memory.prepare()
    done = inside("inspect", "impact", "parse_config", RAGMEM_HOME=str(memory.home.parent / "ragmem"))
    assert done.returncode == 2
    assert "there is no code graph yet" in done.stderr
    assert "ragmem ingest --code ." in done.stderr


def test_inspect_memory_shows_the_code_it_mentions(filled, command):
    (note,) = (memory for memory in filled.catalog.memories.each() if memory.title == "gotcha")
    document = json.loads(command("inspect", "memory", note.id, "--json").stdout)
    (link,) = document["memory"]["code"]
    assert (link["symbol"], link["file"], link["mentioned_on"]) == (
        "app.config.parse_config",
        "app/config.py",
        [1],
    )
    assert "app.config.parse_config" in command("inspect", "memory", note.id).stdout


def test_inspect_code_goes_from_the_whole_to_a_symbol(command):
    def shape(*name):
        return json.loads(command("inspect", "code", *name, "--json").stdout)

    overview = shape()["overview"]
    assert overview["languages"] == {"python": len(SOURCES)}
    assert overview["most_imported"][0] == {
        "file": "app/config.py",
        "importers": 2,
        "purpose": "Reads the settings.",
    }
    assert [one["file"] for one in shape("app")["folder"]["files"]] == sorted(SOURCES)[:3]
    file = shape("app/config.py")["file"]
    assert [one["symbol"] for one in file["symbols"]][:2] == [
        "app.config.LIMIT_SECONDS",
        "app.config.parse_config",
    ]
    assert set(file["referred_by"]) == {"app/server.py", "tests/test_config.py"}
    symbol = shape("Server")["symbol"]
    assert [one["symbol"] for one in symbol["inside"]] == ["app.server.Server.start"]
    for name in ("", "app", "app/config.py", "Server"):
        done = command("inspect", "code", *([name] if name else []))
        assert done.returncode == 0
        assert done.stdout


def test_the_code_route_answers_from_the_code(filled, command):
    done = command("query", "--route", "code", "who calls parse_config")
    assert "app.config.parse_config  function  app/config.py:6" in done.stdout
    assert "app.server.main (calls, app/server.py:12)" in done.stdout
    document = json.loads(command("query", "--route", "code", "who calls load", "--json").stdout)
    (answer,) = document["route"]["code"]
    assert answer["definitions"][0]["symbol"] == "app.config.load"
    assert {edge["source"] for edge in answer["definitions"][0]["referred_by"]} >= {"app.server.Server.start"}
    missing = command("query", "--route", "code", "who calls no_such_name")
    assert "the code has no no_such_name" in missing.stderr


BARE = (
    "who calls load",
    "where is load called?",
    "callers of load",
    "what depends on load",
    "wer ruft load auf",
    "qui appelle load ?",
    "¿quién llama a load?",
)


@pytest.mark.parametrize("question", BARE)
def test_a_short_question_about_a_symbol_is_answered_from_the_code_without_a_route(filled, command, question):
    done = command("query", question)
    assert done.returncode == 0
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("app.config.load  function  app/config.py:11")
    assert "app.server.Server.start (calls, app/server.py:8)" in second


def test_what_inherits_stands_first_where_that_is_asked(filled, command):
    for question in ("what inherits from Settings", "subclasses of Settings", "was erbt von Settings"):
        document = json.loads(command("query", question, "--json").stdout)
        assert (document["route"]["name"], document["route"]["guessed"]) == ("code", True)
        (answer,) = document["route"]["code"]
        assert answer["definitions"][0]["symbol"] == "app.config.Settings"
        edge = answer["definitions"][0]["referred_by"][0]
        assert (edge["source"], edge["kind"]) == ("app.server.Server", "inherits")


def test_memories_that_answer_stand_below_the_code(filled, command):
    done = command("query", "who calls parse_config")
    assert done.stdout.index("app.server.main (calls") < done.stdout.index("gotcha")


def test_a_question_about_a_symbol_that_the_code_lacks_is_answered_as_ever(filled, command):
    for question in (
        "who calls kiln_door",
        "wer ruft die Leitstelle auf",
        "what depends on load and kiln_door",
    ):
        route = json.loads(command("query", question, "--json").stdout)["route"]
        assert not any(one["cue"] == "names what the code has" for one in route["reasons"])
        assert "code" not in route or question.startswith("what depends")


def test_code_of_another_project_answers_no_question_of_this_one(filled, command):
    document = json.loads(command("query", "--project", "user", "wer ruft load auf", "--json").stdout)
    assert document["route"]["name"] == "knowledge"


def test_tab_knows_symbols_and_files(memory, command):
    def offered(prefix):
        return [line.split("\t")[0] for line in command("__complete", "symbol", prefix).stdout.splitlines()]

    assert offered("parse_c") == ["parse_config"]
    assert offered("app.config.S") == ["app.config.Settings", "app.config.Settings.run"]
    assert offered("app/") == ["app/__init__.py", "app/config.py", "app/server.py"]
