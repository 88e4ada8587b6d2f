"""Start-up: what each answer may import, counted in modules, because milliseconds depend on the machine."""

import importlib
import re
import subprocess
import sys

import pytest

import ragmem as ragmem_package
from ragmem.cli.app import COMMANDS, GROUPS, load_command

# What takes tenths of seconds to import, or seconds.
HEAVY = [
    "lightrag",
    "mlx",
    "mlx_lm",
    "transformers",
    "torch",
    "pydantic",
    "onnxruntime",
    "fastapi",
    "httpx",
    "tree_sitter",
]
MIDDLING = ["numpy", "typer", "rich", "orjson", "pathspec", "asyncio", "ssl", "email", "logging"]

# Modules above `python -c pass`: what Python 3.11 needs, and a tenth for other versions of it.
BUDGETS = {
    "--version": 20,
    "hook SessionStart": 25,
    "ingest --buffer --text x --type note": 15,
    "mcp": 30,
    "__complete source x": 65,
    "__complete tag x": 65,
    "__complete memory x": 85,
    "__complete model x": 65,
    "--help": 20,
    "query --help": 20,
    "inspect graph --help": 20,
    "query --nonsense": 263,  # each room is a package, which counts too
}

REPORT = "sys.stderr.write(chr(10) + 'MODULES ' + ' '.join(sys.modules))"
RUN = f"import sys; from ragmem.__main__ import run; run(sys.argv[1:]); {REPORT}"


@pytest.fixture
def ragmem(started):
    """Return what runs commands in processes from their start: what they load is the point here."""
    return started


def modules(code, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    return set(result.stderr.rpartition("MODULES ")[2].split())


@pytest.fixture(scope="module")
def python_alone():
    return modules(f"import sys; {REPORT}")


@pytest.mark.parametrize(("line", "budget"), BUDGETS.items())
def test_an_answer_stays_within_its_modules(line, budget, python_alone):
    loaded = modules(RUN, *line.split()) - python_alone

    assert len(loaded) <= budget, sorted(loaded)
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "hook SessionStart",
        "ingest --buffer --text x --type note",
        "mcp --profile full",
        "__complete source x",
        "__complete memory x",
        "__complete model x",
        "query --help",
    ],
)
def test_an_instant_answer_needs_the_standard_library_only(line):
    assert not modules(RUN, *line.split()).intersection(HEAVY + MIDDLING)


def test_a_write_to_the_inbox_leaves_out_even_what_half_the_standard_library_imports(python_alone):
    loaded = modules(RUN, "ingest", "--buffer", "--text", "x", "--tag", "y") - python_alone

    assert "ragmem.inbox" in loaded
    assert not loaded.intersection(
        {"re", "enum", "typing", "pathlib", "json", "dataclasses", "sqlite3", "datetime"}
    )


@pytest.mark.parametrize("name", ["seed", "ingest", "query", "gc", "inspect"])
def test_a_command_loads_no_other_command_and_no_service_before_it_runs(name):
    loaded = modules(RUN, name, "--nonsense")

    commands = {item for item in loaded if item.startswith("ragmem.cli.") and item.count(".") == 2}
    own = {item for item in commands if item.startswith(f"ragmem.cli.{name}_")}
    shared = {f"ragmem.cli.{item}" for item in ("app", "common", "declaration", "help", "options")}
    assert commands - own == {*shared, f"ragmem.cli.{name}"}
    assert not loaded.intersection([*HEAVY, "rich", "numpy"])


@pytest.mark.slow
def test_a_cold_query_on_the_default_backends_loads_no_framework(ragmem):
    default = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}
    stored = ragmem("ingest", "-", "--project", "user", stdin="PostgreSQL keeps our sessions.", **default)
    assert stored.returncode == 0, stored.stderr

    loaded = modules(RUN, "query", "where do the sessions live", "--all")

    assert "numpy" in loaded
    # onnxruntime may be the engine of the embedder, where it is installed and the faster one.
    assert not loaded.intersection(set(HEAVY) - {"onnxruntime"})
    assert not loaded.intersection({"typer", "gettext"})
    # Finding entities takes as long to import as finding the answer.
    assert not {name for name in loaded if name.startswith("ragmem.domain.entities.extraction")}
    # Numpy imports its masked arrays on its own, where `unique` gets no further argument.
    assert "numpy.ma" not in loaded
    assert "ragmem.services.context.context" not in loaded
    # A question of plain words has no identifier, asks for no state and measures nothing.
    assert not loaded.intersection(
        {"ragmem.domain.text.token_types", "ragmem.services.retrieval.operational", "statistics"}
    )
    # It stores and deletes nothing, and reranks nothing.
    assert not loaded.intersection(
        {"secrets", "ragmem.backends.lightrag.deletion", "ragmem.backends.minilm.cross_encoder"}
    )


@pytest.mark.slow
def test_a_short_question_loads_no_search_of_code_where_there_is_no_code(ragmem):
    stored = ragmem("ingest", "-", "--project", "user", stdin="The server listens on port 8080.")
    assert stored.returncode == 0, stored.stderr

    loaded = modules(RUN, "query", "which port does the server use", "--all")

    assert "ragmem.services.retrieval.routes" in loaded
    assert "ragmem.services.retrieval.code_answer" not in loaded


@pytest.mark.slow
def test_a_memory_in_a_process_of_its_own_loads_nothing_for_many_files(ragmem, tmp_path):
    note = tmp_path / "note.md"
    note.write_text("PostgreSQL keeps our sessions.", encoding="utf-8")
    assert ragmem("ingest", str(note)).returncode == 0
    note.write_text("Redis keeps our sessions.", encoding="utf-8")

    loaded = modules(RUN, "ingest", str(note))

    assert "ragmem.services.ingestion.ingest" in loaded
    # No frontmatter, no exclusions, no other process, no hook's event.
    assert not loaded.intersection(
        {"yaml", "pathspec", "multiprocessing", "concurrent.futures", "ragmem.services.transcripts"}
    )


@pytest.mark.slow
def test_a_seed_that_finds_nothing_new_opens_neither_a_store_nor_a_model(ragmem):
    default = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}
    said = "The importer failed because of a lock: the fix is one writer, by config."
    stored = ragmem("ingest", "-", "--project", "user", stdin=said, **default)
    assert stored.returncode == 0, stored.stderr

    loaded = modules(RUN, "seed")

    assert "ragmem.services.seeding.seed" in loaded
    assert not loaded.intersection([*HEAVY, "numpy"])


def test_a_command_searches_for_no_cycles_while_it_loads():
    found = "sum(one['collections'] for one in gc.get_stats())"
    code = f"import gc, sys; from ragmem.__main__ import run; first = {found}; run(sys.argv[1:]); "
    result = subprocess.run(
        [sys.executable, "-c", f"{code}print({found} - first)", "query", "--nonsense"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )

    assert result.stdout == "0\n"


ENDING = """
import atexit, sys, threading, time
from ragmem import __main__ as command

class Kept:
    def __del__(self):
        print("freed", flush=True)

def run(_):
    atexit.register(print, "exit function")
    threading.Thread(target=lambda: time.sleep(0.05) or print("thread")).start()
    print("answer")
    return 3

command.run = run
kept = Kept()
command.main()
"""


def test_a_command_ends_after_its_threads_and_exit_functions_and_frees_no_object():
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=False)

    assert (ended.stdout.split("\n"), ended.stderr) == (["answer", "thread", "exit function", ""], "")
    assert ended.returncode == 3


def test_the_package_exports_the_api_and_imports_it_when_it_is_asked_for(python_alone):
    alone = modules(f"import sys; import ragmem; {REPORT}") - python_alone
    asked = modules(f"import sys; from ragmem import Ragmem; assert Ragmem.open; {REPORT}")

    assert alone == {"ragmem"}
    assert "ragmem.api.memory" in asked
    assert not asked.intersection(HEAVY)


def test_a_name_that_the_package_has_not_is_an_error():
    with pytest.raises(ImportError, match="cannot import name 'Ragmen'"):
        exec("from ragmem import Ragmen")
    with pytest.raises(AttributeError, match="module 'ragmem' has no attribute 'Ragmen'"):
        ragmem_package.Ragmen  # noqa: B018
    assert ragmem_package.Ragmem.__name__ in ragmem_package.__all__


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name):
    module = importlib.import_module(COMMANDS[name].module)
    command, _, meaning = (module.__doc__ or "").splitlines()[0].partition(": ")

    assert load_command(name).help.splitlines()[0] == COMMANDS[name].help
    assert command == f"`ragmem {name}`"
    assert COMMANDS[name].help.lower().startswith(meaning.rstrip(".").lower())


def test_the_help_lists_all_commands_in_their_groups(ragmem):
    shown = ragmem("--help")

    assert shown.returncode == 0
    listed = re.findall(r"^(\w+):\n((?:  .+\n)+)", shown.stdout, re.MULTILINE)
    groups = {title: [line.split()[0] for line in rows.splitlines()] for title, rows in listed}
    assert {title: groups[title] for title in GROUPS} == {title: [*rows] for title, rows in GROUPS.items()}
    assert list(groups) == ["Options", *GROUPS]
    assert "Commands:" not in shown.stdout
    helps = [entry.help for entry in COMMANDS.values()]
    assert all(one in shown.stdout for one in helps)
    columns = {line.index(one) for one in helps for line in shown.stdout.splitlines() if one in line}
    assert len(columns) == 1


def test_every_command_is_in_one_group():
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)


def test_no_argument_shows_the_help(ragmem):
    assert ragmem().stdout == ragmem("--help").stdout


@pytest.mark.parametrize(
    ("typed", "nearest"), [("quer", "query"), ("inspekt", "inspect"), ("ingset", "ingest")]
)
def test_an_unknown_command_names_the_nearest(typed, nearest, ragmem):
    result = ragmem(typed)

    assert (result.returncode, result.stdout) == (2, "")
    assert f"did you mean '{nearest}'" in result.stderr.lower()


@pytest.mark.parametrize("arguments", [["SessionStart"], ["no such event"], [], ["Stop", "--json"]])
def test_a_hook_exits_at_once_while_its_input_stays_open(arguments):
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", "hook", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == b""
