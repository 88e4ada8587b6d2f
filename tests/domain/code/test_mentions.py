"""What a text mentions of code: what is marked as code or cannot be a word; and which symbol that means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.code.mentions import MAX_LINE, Mention, mentions
from ragmem.domain.code.names import Names, ProjectSymbol, file_of, resolve_mentions


def named(text):
    return [one.text for one in mentions(text) if not one.is_path]


def paths(text):
    return [one.text for one in mentions(text) if one.is_path]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we run it and get the plan", []),
        ("`run` it, then get()", ["run", "get"]),
        ("the plan(s) of `git run`", []),
        ("parse_config, parseConfig and HTTPServer are names", ["parse_config", "parseConfig", "HTTPServer"]),
        ("GitHub and JavaScript are words", []),
        ("Memory.query, a::b::run, Foo#bar, p->next", ["Memory.query", "a.b.run", "Foo.bar", "p.next"]),
        (r"Shop\Pay::charge, shop\npay", ["Shop.Pay.charge"]),
        ("tests/test_x.py::test_it fails", ["test_it"]),
        ("e.g. this one. Then that", []),
        ("https://example.org/parse_config/x", []),
        ("--dry-run_it and @some_one and $some_var", []),
        ("größe_der_datei()", ["größe_der_datei"]),
    ],
)
def test_a_name_counts_where_it_is_code(text, found):
    assert named(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/app.py:12, ./lib/a.ts.", ["src/app.py", "lib/a.ts"]),
        (r"C:\work\x.cs and src\main.rs", ["C:/work/x.cs", "src/main.rs"]),
        ("(~/p/src/q.go) `/srv/app/session.rb`", ["~/p/src/q.go", "/srv/app/session.rb"]),
        ("https://example.org/blob/main/src/app.py", []),
        ("src/app and app/", []),
        ("foo.test.ts, .hidden/__init__.py", ["foo.test.ts", ".hidden/__init__.py"]),
    ],
)
def test_a_path_is_a_file_with_an_ending(text, found):
    assert paths(text) == found


@given(st.lists(st.text(alphabet=" `().:/#>-aBr_u.n~\\é\n", max_size=40), max_size=5))
def test_what_a_text_mentions_is_what_its_lines_mention(lines):
    text = "\n".join(lines)
    assert list(mentions(text)) == [
        Mention(one.text, number, is_path=one.is_path, is_word=one.is_word)
        for number, line in enumerate(text.splitlines(), start=1)
        for one in mentions(line)
    ]


def test_a_line_of_data_mentions_nothing():
    assert named("x" * MAX_LINE + " parse_config") == []
    assert named("x" * MAX_LINE + "\nparse_config") == ["parse_config"]


KNOWN = {
    "parse_config": [ProjectSymbol("app.config.parse_config", "src/app/config.py")],
    "run": [
        ProjectSymbol("app.server.run", "src/app/server.py"),
        ProjectSymbol("app.worker.Worker.run", "src/app/worker.py", is_method=True),
    ],
    "stop": [ProjectSymbol("app.worker.Worker.stop", "src/app/worker.py", is_method=True)],
    "latest": [ProjectSymbol("app.server.latest", "src/app/server.py")],
    "fixture": [ProjectSymbol("tests.test_config.fixture", "tests/test_config.py", is_test=True)],
    "Worker": [ProjectSymbol("app.worker.Worker", "src/app/worker.py")],
    "worker": [ProjectSymbol("app.worker", "src/app/worker.py", is_module=True)],
    "NameAllocator": [
        ProjectSymbol("com.acme.NameAllocator", "src/NameAllocator.java"),
        ProjectSymbol("com.acme.NameAllocator.NameAllocator", "src/NameAllocator.java", is_method=True),
    ],
    "load": [
        ProjectSymbol("app.config.load", "src/app/config.py"),
        ProjectSymbol("tests.test_config.load", "tests/test_config.py", is_test=True),
    ],
}
FILES = {
    "config.py": ["src/app/config.py"],
    "worker.py": ["src/app/worker.py"],
    "server.py": ["src/app/server.py"],
    "util.py": ["src/app/util.py", "src/web/util.py"],
    "setup.py": ["setup.py"],
}
NAMES = Names(
    KNOWN,
    FILES,
    former={"src/app/settings.py": "src/app/config.py"},
    roots=("/home/ana/code/app", "/srv/app"),
)


def symbols(text, *, own=True):
    return set(resolve_mentions(mentions(text), NAMES, own=own).symbols)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("parse_config reads it", {"app.config.parse_config"}),
        ("config.parse_config() and self.parse_config", {"app.config.parse_config"}),
        ("app.config.parse_config", {"app.config.parse_config"}),
        ("`latest` and `fixture`", {"app.server.latest"}),
        ("fixture() of the tests", {"tests.test_config.fixture"}),
        ("`stop`", set()),
        ("stop()", {"app.worker.Worker.stop"}),
        ("`stop` of the\n`Worker`", {"app.worker.Worker.stop", "app.worker.Worker"}),
        ("other.stop()", set()),
        ("we stop it", set()),
        ("`run` it", set()),
        ("Worker.run hangs", {"app.worker.Worker.run"}),
        ("`run` in src/app/server.py hangs", {"app.server.run"}),
        ("`Worker` hangs in run()", {"app.worker.Worker", "app.worker.Worker.run"}),
        ("run() of src/app/server.py and worker.py", set()),
        ("load() fails", {"app.config.load"}),
        ("NameAllocator is slow", {"com.acme.NameAllocator"}),
    ],
)
def test_a_name_means_the_one_symbol_that_it_can_mean(text, found):
    assert symbols(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`stop` and load()", set()),
        ("Worker.stop", set()),
        ("app.worker.Worker.stop", {"app.worker.Worker.stop"}),
        ("parse_config", {"app.config.parse_config"}),
    ],
)
def test_a_text_of_the_user_means_a_project_only_by_what_no_other_has(text, found):
    assert symbols(text, own=False) == found


@pytest.mark.parametrize(
    ("path", "own", "of_user"),
    [
        ("src/app/config.py", "src/app/config.py", "src/app/config.py"),
        ("app/config.py", "src/app/config.py", ""),
        ("config.py", "src/app/config.py", ""),
        ("fig.py", "", ""),
        ("util.py", "", ""),
        ("web/util.py", "src/web/util.py", ""),
        ("~/code/app/src/app/config.py", "src/app/config.py", "src/app/config.py"),
        ("~/code/app/setup.py", "setup.py", "setup.py"),
        ("~/code/other/setup.py", "", ""),
        ("/home/ana/code/app/setup.py", "setup.py", "setup.py"),
        ("/home/ana/copy/src/app/config.py", "src/app/config.py", ""),
        ("/srv/app/config.py", "", ""),
        ("app/src/app/config.py", "src/app/config.py", "src/app/config.py"),
        ("settings.py", "src/app/config.py", ""),
        ("src/app/settings.py", "src/app/config.py", "src/app/config.py"),
        ("/srv/app/src/app/settings.py", "src/app/config.py", "src/app/config.py"),
    ],
)
def test_a_path_means_the_one_file_that_it_can_mean(path, own, of_user):
    assert file_of(path, NAMES, own=True) == own
    assert file_of(path, NAMES, own=False) == of_user


def test_a_module_is_its_file():
    assert dict(resolve_mentions(mentions("see\napp.worker"), NAMES, own=True).files) == {
        "src/app/worker.py": [2]
    }


@given(st.text(alphabet="aw./~:\\ `_()\n", max_size=80))
def test_any_text_can_be_read(text):
    resolve_mentions(mentions(text), NAMES, own=True)
