"""The graph of a project's code follows its files, and costs nothing where they have not changed."""

import json
import os
import subprocess
import sys
import threading
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from ragmem.domain.code.code import EdgeKind
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.code import on_disk
from ragmem.services.code.ingest_code import ingest_code
from ragmem.services.processes.progress import Silent
from ragmem.storage.code import code_writer
from ragmem.storage.code.code_writer import CodeWriter
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.maintenance.invariants import violations

OLD = 1_700_000_000
"""Long ago, so that a file's time can be trusted."""

PAY = '"""Take the money."""\n\n\ndef charge(amount):\n    """Charge a card."""\n    return amount\n'
CART = "from shop.pay import charge\n\n\ndef add(item):\n    return charge(item)\n"
TEST = "from shop.cart import add\n\n\ndef test_add():\n    assert add(1) == 1\n"


def git(repository: Path, *words: str) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(repository.parent),
        **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    asked = ["git", "-C", str(repository), "-c", "init.defaultBranch=main", *words]
    return subprocess.run(asked, env=environ, capture_output=True, text=True, check=True).stdout


def put(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (OLD, OLD))
    return file


def commit(root: Path, message: str = "work") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


both = pytest.mark.parametrize("shop", ["whole", "near"], indirect=True)


@pytest.fixture
def shop(notes, request, monkeypatch):
    """A repository of three files, outside of which nothing is read; changes are linked as in a large one."""
    if getattr(request, "param", "whole") == "near":
        monkeypatch.setattr("ragmem.services.code.relink.WHOLE_BYTES", -1)
    root = notes.parent / "shop"
    root.mkdir()
    for path, text in {
        "shop/__init__.py": "",
        "shop/pay.py": PAY,
        "shop/cart.py": CART,
        "tests/test_cart.py": TEST,
        "README.md": "# Shop\n",
    }.items():
        put(root, path, text)
    git(root, "init", "-q")
    commit(root)
    return root


def paths(memory, report) -> list[str]:
    return [file.path for file in memory.catalog.code.files(report.project)]


def calls(memory, report, target: str, kind: EdgeKind = EdgeKind.CALLS) -> list[str]:
    edges = memory.catalog.code.edges_to(report.project, [target])
    return [edge.source for edge in edges if edge.kind is kind]


def rows(memory, table: str) -> dict[int, tuple]:
    """Return the rows of a table by their numbers, which a row that is written again does not keep."""
    with memory.catalog.database.read() as connection:
        return {row[0]: tuple(row) for row in connection.execute(f"SELECT * FROM code_{table}")}


def test_a_repository_becomes_a_graph(memory, shop):
    report = memory.code.ingest(shop)
    assert len(report.new) == report.files == 4
    assert report.languages == {"python": 4}
    assert paths(memory, report) == ["shop/__init__.py", "shop/cart.py", "shop/pay.py", "tests/test_cart.py"]
    assert {file.path: file.purpose for file in memory.catalog.code.files(report.project)}[
        "shop/pay.py"
    ] == "Take the money."
    assert calls(memory, report, "shop.pay.charge") == ["shop.cart.add"]
    counts = memory.catalog.code.counts(report.project)
    assert (counts.symbols, counts.edges) == (report.symbols, report.edges)
    assert violations(memory.catalog, deep=True) == []


@both
def test_a_test_covers_what_it_calls_and_imports_and_no_other_test(memory, shop):
    put(
        shop,
        "tests/test_more.py",
        "from tests.test_cart import test_add\n\n\ndef test_more():\n    test_add()\n",
    )
    report = memory.code.ingest(shop)
    assert "tests.test_cart.test_add" in calls(memory, report, "shop.cart.add", EdgeKind.TESTS)
    assert calls(memory, report, "shop.pay.charge", EdgeKind.TESTS) == []
    assert calls(memory, report, "tests.test_cart.test_add", EdgeKind.TESTS) == []


def test_ingesting_an_unchanged_repository_writes_nothing(memory, shop):
    memory.code.ingest(shop)
    database = memory.catalog.database
    # Readers note in -shm where they are.
    files = [
        path for path in Path(database.place).parent.iterdir() if path.is_file() and "-shm" not in path.name
    ]
    before = {path: path.read_bytes() for path in files}
    for _ in range(2):
        report = memory.code.ingest(shop)
        assert (report.unchanged, report.written) == (4, False)
        assert report.symbols > 4
    assert {path: path.read_bytes() for path in files} == before


def test_a_touched_file_is_not_parsed_and_writes_nothing(memory, shop, monkeypatch):
    memory.code.ingest(shop)
    (shop / "shop/pay.py").touch()
    monkeypatch.setattr("ragmem.services.code.on_disk.parse", lambda *_: pytest.fail("it was parsed"))
    report = memory.code.ingest(shop)
    assert (report.unchanged, report.written) == (4, False)


@both
def test_a_changed_file_touches_its_own_rows_alone(memory, shop):
    memory.code.ingest(shop)
    before = {table: rows(memory, table) for table in ("files", "symbols", "edges")}
    put(shop, "shop/pay.py", PAY.replace("return amount", "return round(amount)"))
    report = memory.code.ingest(shop)
    assert report.changed == ["shop/pay.py"]
    assert report.relinked == []
    [own] = [row[0] for row in before["files"].values() if row[2] == "shop/pay.py"]
    for table, column in (("files", 0), ("symbols", 1), ("edges", 1)):
        others = {number: row for number, row in before[table].items() if row[column] != own}
        now = rows(memory, table)
        assert others.items() <= now.items()
    assert calls(memory, report, "shop.pay.charge") == ["shop.cart.add"]


@both
def test_what_a_changed_file_defines_no_more_is_linked_anew_where_it_is_used(memory, shop):
    memory.code.ingest(shop)
    put(shop, "shop/pay.py", PAY.replace("charge", "give_back"))
    report = memory.code.ingest(shop)
    assert report.relinked == ["shop/cart.py"]
    assert not any(
        edge.internal for edge in memory.catalog.code.edges_to(report.project, ["shop.pay.charge"])
    )
    assert violations(memory.catalog) == []
    put(shop, "shop/pay.py", PAY)
    report = memory.code.ingest(shop)
    assert calls(memory, report, "shop.pay.charge") == ["shop.cart.add"]
    assert all(edge.internal for edge in memory.catalog.code.edges_to(report.project, ["shop.pay.charge"]))


@both
def test_a_name_that_was_missing_is_linked_where_it_was_looked_for(memory, shop):
    put(shop, "shop/back.py", "from shop import pay\n\n\ndef refund():\n    return pay.give_back(1)\n")
    put(shop, "shop/other.py", "from shop import pay\n\n\ndef other():\n    return pay.charge(1)\n")
    memory.code.ingest(shop)
    put(shop, "shop/pay.py", PAY + "\n\ndef give_back(amount):\n    return -amount\n")
    report = memory.code.ingest(shop)
    assert report.relinked == ["shop/back.py"]
    assert calls(memory, report, "shop.pay.give_back") == ["shop.back.refund"]


def test_only_files_that_name_it_are_linked_with_a_new_name(memory, shop):
    put(
        shop,
        "shop/back.py",
        "import shop.pay\n\n\ndef refund():\n    return getattr(shop.pay, 'give_back')(1)\n",
    )
    report = memory.code.ingest(shop)
    writing = CodeWriter(memory.catalog.database, report.project)
    near = writing.neighbours(writing.state())
    every = {"shop/back.py", "shop/cart.py", "shop/__init__.py", "shop/nowhere.py"}
    assert near.files_with_words(every, ["give_back", "hand"]) == {"shop/back.py"}
    assert near.files_with_words(every, ["charge", "give"]) == {"shop/cart.py"}
    assert near.files_with_words(every, []) == set()


@both
def test_a_file_that_has_gone_takes_its_nodes_with_it(memory, shop):
    memory.code.ingest(shop)
    (shop / "shop/cart.py").unlink()
    report = memory.code.ingest(shop)
    assert report.gone == ["shop/cart.py"]
    assert memory.catalog.code.find(report.project, "add") is None
    assert calls(memory, report, "shop.pay.charge") == []
    assert violations(memory.catalog) == []


def test_only_what_git_knows_or_does_not_ignore_is_read(memory, shop):
    put(shop, ".gitignore", "scratch/\n*.gen.py\n")
    for path in (
        "scratch/a.py",
        "b.gen.py",
        "new.py",
        "node_modules/x/c.js",
        "web/dist/d.js",
        "ios/Pods/f.swift",
        ".venv/lib/e.py",
    ):
        put(shop, path, "x = 1\n")
    put(shop, "huge.py", "x = 1\n" * 400_000)
    (shop / "link.py").symlink_to(shop.parent / "elsewhere.py")
    put(shop.parent, "elsewhere.py", "x = 1\n")
    (shop / "pipe.py").symlink_to("shop")
    report = memory.code.ingest(shop)
    assert "new.py" in paths(memory, report)
    assert report.files == 5
    assert dict(report.skipped) == {
        "huge.py": "larger than 2,000,000 bytes",
        "link.py": "a link",
        "pipe.py": "a link",
        ".venv": "what others wrote",
        "ios/Pods": "what others wrote",
        "node_modules": "what others wrote",
        "web/dist": "what others wrote",
    }


def test_a_folder_that_is_no_repository_is_read_by_its_gitignore_files(memory, notes):
    root = notes.parent / "loose"
    put(root, "a.py", "def one():\n    pass\n")
    put(root, "in/b.py", "x = 1\n")
    put(root, "in/secret.py", "x = 1\n")
    put(root, "in/.gitignore", "secret*\n!b.py\n[\n")
    put(root, ".gitignore", "build/\nb.py\n")
    put(root, "build/c.py", "x = 1\n")
    put(root, ".hidden/d.py", "x = 1\n")
    put(root, "env/e.py", "x = 1\n")
    put(root, "env/pyvenv.cfg", "")
    put(root, "node_modules/f.js", "x")
    report = memory.code.ingest(root)
    assert paths(memory, report) == ["a.py", "in/b.py"]
    assert report.skipped == [("node_modules", "what others wrote")]
    found = memory.catalog.code.find(report.project, "one")
    assert found is not None
    assert found.paths == ("a.py",)


@both
def test_a_part_of_a_repository_leaves_the_rest_as_it_is(memory, shop):
    memory.code.ingest(shop)
    (shop / "tests/test_cart.py").unlink()
    put(shop, "shop/new.py", "def fresh():\n    pass\n")
    report = memory.code.ingest(shop / "shop")
    assert (report.new, report.gone, report.files) == (["shop/new.py"], [], 5)
    assert "tests/test_cart.py" in paths(memory, report)
    assert memory.code.ingest(shop).gone == ["tests/test_cart.py"]


def test_two_projects_do_not_mix(memory, shop, notes):
    other = notes.parent / "other"
    put(other, "shop/pay.py", PAY)
    first, second = memory.code.ingest(shop), memory.code.ingest(other)
    assert first.project != second.project
    assert calls(memory, second, "shop.pay.charge") == []
    assert calls(memory, first, "shop.pay.charge") == ["shop.cart.add"]


def test_a_rename_in_the_history_leads_from_the_former_path_to_the_file(memory, shop):
    memory.code.ingest(shop)
    git(shop, "mv", "shop/pay.py", "shop/money.py")
    commit(shop)
    git(shop, "mv", "shop/money.py", "shop/till.py")
    put(shop, "shop/till.py", PAY + "\n\nMORE = 1\n")
    commit(shop)
    report = memory.code.ingest(shop)
    assert report.renamed == [("shop/pay.py", "shop/till.py")]
    assert (report.new, report.gone) == ([], [])
    code = memory.catalog.code
    assert code.current(report.project, "shop/pay.py") == "shop/till.py"
    assert code.former(report.project, "shop/till.py") == ["shop/money.py", "shop/pay.py"]
    assert all(rename.revision for rename in code.renames(report.project))
    assert code.find(report.project, "shop/money.py").paths == ("shop/till.py",)


def test_a_history_is_known_from_the_first_ingestion_on(memory, shop):
    git(shop, "mv", "shop/pay.py", "shop/money.py")
    commit(shop)
    report = memory.code.ingest(shop)
    assert memory.catalog.code.current(report.project, "shop/pay.py") == "shop/money.py"
    assert report.renamed == []


@both
def test_a_rename_that_git_does_not_know_is_seen_by_its_content(memory, shop):
    memory.code.ingest(shop)
    (shop / "lib").mkdir()
    (shop / "shop/pay.py").rename(shop / "lib/pay.py")
    report = memory.code.ingest(shop)
    assert report.renamed == [("shop/pay.py", "lib/pay.py")]
    [rename] = memory.catalog.code.renames(report.project)
    assert rename.revision == ""
    commit(shop)
    report = memory.code.ingest(shop)
    [rename] = memory.catalog.code.renames(report.project)
    assert rename.revision == git(shop, "rev-parse", "HEAD").strip()
    assert not memory.code.ingest(shop).written


def test_a_rewritten_history_is_read_from_its_beginning(memory, shop):
    memory.code.ingest(shop)
    git(shop, "mv", "shop/pay.py", "shop/money.py")
    git(shop, "commit", "-qm", "moved", "--amend")
    git(shop, "mv", "shop/cart.py", "shop/basket.py")
    commit(shop)
    git(shop, "reflog", "expire", "--expire=now", "--all")
    git(shop, "gc", "-q", "--prune=now")
    report = memory.code.ingest(shop)
    assert memory.catalog.code.current(report.project, "shop/cart.py") == "shop/basket.py"


def test_what_another_release_has_read_is_read_again_as_a_whole(memory, shop, monkeypatch):
    memory.code.ingest(shop)
    monkeypatch.setattr("ragmem.services.code.ingest_code.RULES", "next")
    report = memory.code.ingest(shop / "tests")
    assert len(report.changed) == 4
    assert not memory.code.ingest(shop).written


def test_a_rebuild_reads_and_links_the_whole_project_again(memory, shop):
    memory.code.ingest(shop)
    with memory.catalog.database.write() as connection:
        connection.execute("DELETE FROM code_edges")
    report = memory.code.ingest(shop / "tests", rebuild=True)
    assert len(report.changed) == 4
    assert calls(memory, report, "shop.pay.charge") == ["shop.cart.add"]


def test_a_dry_run_tells_what_would_be_done_and_writes_nothing(memory, shop):
    report = memory.code.ingest(shop, dry_run=True)
    assert len(report.new) == 4
    assert report.symbols > 4
    assert not memory.catalog.exists()


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_stored(memory, shop):
    (shop / "latin.py").write_bytes(b"# caf\xe9\n")
    put(shop, "broken.py", "def (:\n")
    report = memory.code.ingest(shop)
    assert report.skipped == [("latin.py", "encoding")]
    assert list(report.problems) == ["broken.py"]
    assert "broken.py" in paths(memory, report)


def test_no_secret_of_a_docstring_is_stored(memory, shop):
    put(
        shop,
        "key.py",
        '"""Uses AKIAIOSFODNN7EXAMPLQ."""\n\n\ndef f():\n    """password = "hunter2Xy!9"."""\n',
    )
    report = memory.code.ingest(shop)
    told = [file.purpose for file in memory.catalog.code.files(report.project)]
    told += [one.symbol.doc for one in memory.catalog.code.symbols(report.project, ["key.py"])]
    assert not any("AKIAIOSFODNN7EXAMPLQ" in text or "hunter2" in text for text in told)
    assert any("redacted" in text for text in told)


@pytest.mark.parametrize(
    ("extra", "secret"),
    [((), "hunter2Xy!9"), ((r"\Auses \w+ everywhere\.\Z",), "uses plumtree everywhere")],
)
def test_a_secret_in_one_of_many_comments_is_found(extra, secret):
    lines = [f"// Counts item {number} of the list.\nfunction count{number}() {{}}\n" for number in range(5)]
    told = f'// password = "{secret}"' if not extra else f"// {secret}."
    text = "\n".join([*lines[:3], f"{told}\nfunction keep() {{}}\n", *lines[3:]])
    file = on_disk.parse("a.js", text, Redactor(extra=extra))
    docs = {one.name: one.doc for one in file.symbols}
    assert "redacted" in docs["keep"]
    assert secret not in docs["keep"]
    assert docs["count1"] == "Counts item 1 of the list."


def test_no_secret_of_the_code_itself_is_stored(memory, shop):
    put(
        shop,
        "key.py",
        'TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"\n\n\ndef send(password="Zx9!kd82LLpr"):\n'
        '    """Send."""\n\n\ndef look(where):\n    where["api_key=Zx9!kd82LLps"]\n'
        '    return getattr(where, "port")\n',
    )
    put(shop, "key.js", 'import x from "https://anna:Zx9!kd82LLpt@example.org/x.js";\n')
    memory.code.ingest(shop)
    with memory.catalog.database.read() as connection:
        facts = [
            zlib.decompress(data).decode() for (data,) in connection.execute("SELECT data FROM code_facts")
        ]
        targets = [target for (target,) in connection.execute("SELECT target FROM code_edges")]
    told = "\n".join([*facts, *targets])
    assert '"port"' in told
    assert "example.org" in told
    assert "ghp_" not in told
    assert "Zx9!" not in told


def test_what_is_no_project_is_refused(memory, shop):
    with pytest.raises(NotFoundError, match="nowhere"):
        memory.code.ingest(shop / "nowhere")
    with pytest.raises(UsageError, match="is not a project"):
        memory.code.ingest(shop.parent)


KILLED = """
import os, sys
from pathlib import Path
from ragmem.storage.code import code_writer
from ragmem.storage.home.catalog import Catalog
from ragmem.api.memory import Ragmem
code_writer.ROWS_AT_ONCE = 1
home, shop, deadly = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
real, written = code_writer._write_edges, 0
def write(*arguments):
    global written
    real(*arguments)
    written += 1
    if written == deadly:
        os.kill(os.getpid(), 9)
code_writer._write_edges = write
Ragmem.open(environ={"RAGMEM_HOME": str(home)}, home=shop.parent, cwd=shop).code.ingest(shop)
"""


@pytest.mark.parametrize("deadly", [1, 3, 4])
def test_a_run_that_is_killed_leaves_whole_files_and_the_next_one_completes_it(
    open_memory, shop, tmp_path, deadly
):
    fresh = open_memory()
    expected = fresh.code.ingest(shop)
    edges = {row[2:] for row in rows(fresh, "edges").values()}
    other = tmp_path / "killed"
    done = subprocess.run([sys.executable, "-c", KILLED, str(other), str(shop), str(deadly)], check=False)
    assert done.returncode == -9
    memory = open_memory(RAGMEM_HOME=str(other))
    assert violations(memory.catalog, deep=True) == []
    assert not any(root.complete for root in memory.catalog.code.roots())
    report = memory.code.ingest(shop)
    assert report.unchanged == deadly - 1
    assert (report.symbols, report.edges) == (expected.symbols, expected.edges)
    assert {row[2:] for row in rows(memory, "edges").values()} == edges
    assert violations(memory.catalog, deep=True) == []
    assert not memory.code.ingest(shop).written


def test_two_at_once_make_one_graph(open_memory, shop, monkeypatch):
    monkeypatch.setattr(code_writer, "ROWS_AT_ONCE", 1)
    reports, failures = [], []

    def ingest() -> None:
        try:
            reports.append(open_memory().code.ingest(shop))
        except Exception as error:  # noqa: BLE001 - told by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=ingest) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert sorted(report.written for report in reports) == [False, False, True]
    memory = open_memory()
    assert len(rows(memory, "files")) == 4
    assert violations(memory.catalog, deep=True) == []


def test_a_run_that_another_machine_overtakes_begins_anew(memory, shop, monkeypatch):
    memory.code.ingest(shop)
    real = code_writer.CodeWriter.write
    overtaken = []

    def write(self, standing, **plan):
        if not overtaken:
            overtaken.append(standing)
            same = self.state()
            real(self, same, **{**plan, "files": [], "gone": [], "renames": []})
        return real(self, standing, **plan)

    monkeypatch.setattr(code_writer.CodeWriter, "write", write)
    put(shop, "shop/new.py", "def fresh():\n    pass\n")
    report = memory.code.ingest(shop)
    assert overtaken
    assert report.written
    assert "shop/new.py" in paths(memory, report)


def test_a_shared_database_has_the_same_graph_and_is_not_written_for_another_machine(
    memory, shop, tmp_path, postgres
):
    here = memory.code.ingest(shop)
    for machine in ("one", "two"):
        with closing(Catalog(PostgresDatabase(postgres, tmp_path / machine))) as catalog:
            report = ingest_code(
                catalog, memory.settings, shop, home=shop.parent, cwd=shop, progress=Silent()
            )
            assert (report.symbols, report.edges) == (here.symbols, here.edges)
            assert report.written == (machine == "one")
            names = ["shop.pay.charge"]
            assert catalog.code.edges_to(report.project, names) == memory.catalog.code.edges_to(
                here.project, names
            )
            assert violations(catalog) == []
        for path in shop.rglob("*.py"):
            path.touch()


def test_the_command_tells_what_became_of_the_files(shop, inside):
    done = inside("ingest", "--code", str(shop), "--json")
    [told] = json.loads(done.stdout)["code"]
    assert (told["new"], told["languages"], told["written"]) == (4, {"python": 4}, True)
    done = inside("ingest", "--code", str(shop))
    assert "0 new, 0 changed, 0 renamed, 0 gone, 4 unchanged" in done.stdout
    for wrong in (("--code", str(shop), "--tag", "x"), (str(shop), "--rebuild")):
        assert inside("ingest", *wrong).returncode == 2
