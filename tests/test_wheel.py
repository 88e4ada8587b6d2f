"""The wheel: built twice it is the same bytes, it holds what it should, and it works where nothing else is.

The environment that it is installed into has the distributions that its metadata names, and no other: what is
imported without being named, or belongs to an extra, is missing there. They are links to those of this
environment, so that no index is asked; scripts/make_quickstart.py installs the wheel from one.
"""

import importlib
import os
import pty
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path

import pytest

import ragmem

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


def known_to_git():
    """Return the paths of the checkout's files, without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("the wheel is built from what git knows, and this is no checkout")
    return [path for path in listed.stdout.decode().split("\0") if (ROOT / path).is_file()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the checkout, as a clone would be."""
    checkout = tmp_path_factory.mktemp("checkout")
    for path in known_to_git():
        # The tests are in the source distribution only.
        if not path.startswith(("tests/", "benchmarks/")):
            (checkout / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, checkout / path)
    return checkout


@pytest.fixture(scope="module")
def wheels(checkout, tmp_path_factory):
    """Return the wheel, built twice, at two places."""
    built = []
    for name in ("one", "another"):
        folder = tmp_path_factory.mktemp(name)
        shutil.copytree(checkout, folder / "source")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, folder / "source"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        )
        if "hatchling" in done.stderr and "No matching distribution" in done.stderr:
            pytest.skip("hatchling cannot be had: no package index answers")
        assert done.returncode == 0, done.stderr
        built += folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheels):
    with zipfile.ZipFile(wheels[0]) as file:
        return set(file.namelist())


def needed(wheel):
    """Return the names of all distributions that a wheel needs without extras, and theirs."""
    with zipfile.ZipFile(wheel) as file:
        path = next(name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        wanted = message_from_string(file.read(path).decode()).get_all("Requires-Dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("distributions").needed(wanted)


def link(name, site):
    """Put links to a distribution's files into another site-packages."""
    there = distribution(name)
    tops = {Path(path).parts[0] for path in there.files}
    for top in tops - {"..", "__pycache__"}:
        if not (site / top).exists():
            (site / top).symlink_to(there.locate_file(top))


@pytest.fixture(scope="module")
def empty(wheels, tmp_path_factory):
    """Return the folder of an environment with the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    for name in needed(wheels[0]):
        link(name, site)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    done = subprocess.run(
        [*pip, "install", "--quiet", "--no-index", wheels[0]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def run(empty, tmp_path):
    """Return a function that runs the installed `ragmem` on the example's notes."""

    def run(*arguments, **environ):
        return subprocess.run(
            [empty / "bin" / "ragmem", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(ROOT / "examples" / "home"),
                "RAGMEM_HOME": str(tmp_path / "memory"),
                **environ,
            },
        )

    return run


def test_built_at_two_places_it_is_the_same_bytes(wheels):
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    assert wheels[0].name == f"ragmem-{ragmem.__version__}-py3-none-any.whl"


def test_every_module_of_the_package_is_in_it_and_nothing_else(names, checkout):
    files = {
        path.relative_to(checkout).as_posix() for path in (checkout / "ragmem").rglob("*") if path.is_file()
    }
    package = files | {
        "ragmem/defaults/sources.toml",
        "ragmem/defaults/decay.json",
        "ragmem/defaults/CHANGELOG.md",
        *(f"ragmem/defaults/docs/{path.name}" for path in (checkout / "docs").glob("*.md")),
        *(
            f"ragmem/defaults/{path.relative_to(checkout).as_posix()}"
            for path in (checkout / "examples/home").rglob("*")
            if path.is_file()
        ),
    }
    others = {name for name in names if not re.match(r"ragmem-[^/]+\.(data|dist-info)/", name)}
    assert others == package


def test_what_belongs_elsewhere_is_left_out(names):
    for part in ("tests/", "node_modules/", "__pycache__", ".pyc", "web/src", "benchmarks/"):
        assert not [name for name in names if part in name], part


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("bash-completion/completions/ragmem", "completions/ragmem.bash"),
        ("zsh/site-functions/_ragmem", "completions/_ragmem"),
        ("fish/vendor_completions.d/ragmem.fish", "completions/ragmem.fish"),
        ("man/man1/ragmem.1", "docs/ragmem.1"),
        ("ragmem/hooks/session-start.sh", "hooks/session-start.sh"),
        ("ragmem/hooks/stop.sh", "hooks/stop.sh"),
    ],
)
def test_shells_man_and_assistants_find_their_files(empty, checkout, place, source):
    assert (empty / "share" / place).read_bytes() == (checkout / source).read_bytes()


@pytest.mark.parametrize(
    ("shell", "source"), [("bash", "ragmem.bash"), ("zsh", "_ragmem"), ("fish", "ragmem.fish")]
)
def test_it_knows_its_completions(run, checkout, shell, source):
    shown = run("completions", "show", shell)
    assert (shown.stdout, shown.stderr) == ((checkout / "completions" / source).read_text(), "")


def test_it_shows_its_documentation(run, checkout):
    page = (checkout / "docs" / "query.md").read_text()
    assert run("help", "query").stdout.splitlines()[0] == page.splitlines()[0]


def test_the_version_comes_from_one_place(run):
    # pyproject.toml reads it from ragmem/__init__.py, so both are this one.
    assert run("--version").stdout == f"ragmem {ragmem.__version__}\n"


def test_it_seeds_and_answers_where_nothing_else_is_installed(run):
    seeded = run("seed")
    assert seeded.returncode == 0, seeded.stderr
    # The first memory is the same, however few are asked for.
    for limit in ("1", "3"):
        answered = run("query", "why did the deploy answer 502", "--limit", limit)
        assert answered.stdout.partition("\n")[0].count("SIGTERM") == 1, answered.stdout + answered.stderr


def test_it_shows_a_demo_and_leaves_nothing(run, tmp_path):
    shown = run("demo", TMPDIR=str(tmp_path))
    assert shown.returncode == 0, shown.stderr
    assert "SIGTERM" in shown.stdout
    assert list(tmp_path.iterdir()) == []


EXTRAS = {
    "serve": (("serve",), {}),
    "postgres": (
        ("query", "anything"),
        {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": "postgresql://127.0.0.1/none"},
    ),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_an_extra_brings_is_asked_for_by_its_name(run, extra):
    command, environ = EXTRAS[extra]
    done = run(*command, **environ)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"pip install 'ragmem[{extra}]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3  # the message, a blank line, the hint


def test_a_document_asks_for_the_extra_that_reads_it(run, tmp_path):
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    done = run("ingest", "report.pdf")
    assert (done.returncode, done.stdout) == (3, "")
    assert 'pip install "ragmem[documents]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_code_of_other_languages_than_python_asks_for_the_extra_that_reads_it(run, tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "pay.go").write_text("package shop\n\nfunc Charge() {}\n")
    (folder / "pay.py").write_text("def charge():\n    pass\n")
    done = run("ingest", "--code", str(folder))
    assert done.returncode == 3
    assert "1 new" in done.stdout
    needs = "it needs tree_sitter, which is not installed: pip install 'ragmem[code]'"
    assert done.stderr == f"failed: pay.go: {needs}\n"


def test_on_a_terminal_the_explorer_asks_for_its_extra(empty, run, tmp_path):
    assert run("ingest", "--kind", "general", str(ROOT / "examples" / "README.md")).returncode == 0
    leader, follower = pty.openpty()
    done = subprocess.run(
        [empty / "bin" / "ragmem", "inspect", "explore"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "HOME": str(tmp_path)}
        | {"RAGMEM_HOME": str(tmp_path / "memory")},
    )
    said = os.read(leader, 65_536)
    os.close(follower)
    os.close(leader)
    assert done.returncode == 4
    assert b'pip install "ragmem[explore]"' in said
