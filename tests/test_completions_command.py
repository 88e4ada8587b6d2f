"""`ragmem completions`: each shell finds what it installs, by itself or by the lines that it names."""

import json
from pathlib import Path

import pytest
from interactive_shells import SHELLS, Shell

from ragmem.errors import UsageError
from ragmem.services.wiring import shell_completion
from ragmem.services.wiring.shell_completion import BEGIN, END, plan_installation, shell_in_use

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    "bash": ".local/share/bash-completion/completions/ragmem",
    "zsh": ".local/share/zsh/site-functions/_ragmem",
    "fish": ".config/fish/completions/ragmem.fish",
}
SCRIPTS = {"bash": "ragmem.bash", "zsh": "_ragmem", "fish": "ragmem.fish"}
START_UP = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
EACH = pytest.mark.parametrize("shell", list(FILES))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")
@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_that_reads_its_own_files_completes_after_installing(name, home, ragmem):
    # As a person's: it loads the completions of the system before.
    if name == "zsh":
        (home / ".zshrc").write_text("autoload -Uz compinit\ncompinit -u -D")
    assert ragmem("completions", "install", name, "--edit-rc").returncode == 0
    if name == "bash" and not (home / ".bashrc").exists():
        # bash-completion is here, and loads it; the start-up file of a person's account loads that.
        found = next(
            Path("/", place) for place in shell_completion.BASH_COMPLETION if Path("/", place).exists()
        )
        (home / ".bashrc").write_text(f". {found}\n")
    shell = Shell(name, home, [name, "-i"])
    try:
        found = [shell.words_after_tab(typed) for typed in ("que", "query --mode na", "query --source refl")]
    finally:
        shell.close()

    assert found == [["query"], ["query", "--mode", "naive"], ["query", "--source", "reflections"]]


@EACH
def test_show_prints_the_script(shell, ragmem):
    shown = ragmem("completions", "show", shell)

    assert shown.stdout == (ROOT / "completions" / SCRIPTS[shell]).read_text()
    assert (shown.returncode, shown.stderr) == (0, "")


@EACH
def test_installing_twice_is_installing_once(shell, home, ragmem):
    first = ragmem("completions", "install", shell)
    again = ragmem("completions", "install", shell)

    file = home / FILES[shell]
    assert first.stdout == f"{file}: written\n"
    assert again.stdout == f"{file}: up to date\n"
    assert file.read_text() == (ROOT / "completions" / SCRIPTS[shell]).read_text()
    assert not (home / START_UP[shell]).exists()


@EACH
def test_a_dry_run_writes_nothing(shell, home, ragmem):
    shown = ragmem("completions", "install", shell, "--dry-run", "--edit-rc")

    assert shown.stdout.splitlines()[0] == f"{home / FILES[shell]}: would be written"
    assert [path for path in home.rglob("*") if path.is_file()] == []


@EACH
def test_removing_leaves_what_was_there_before(shell, home, ragmem):
    start_up = home / START_UP[shell]
    start_up.parent.mkdir(parents=True, exist_ok=True)
    start_up.write_text("echo mine")
    start_up.chmod(0o640)
    ragmem("completions", "install", shell, "--edit-rc")
    removed = ragmem("completions", "install", shell, "--remove")

    assert removed.stdout.splitlines()[0] == f"{home / FILES[shell]}: removed"
    assert start_up.read_text().rstrip("\n") == "echo mine"
    assert start_up.stat().st_mode & 0o777 == 0o640
    assert not (home / FILES[shell]).exists()
    assert ragmem("completions", "install", shell, "--remove").stdout.endswith(": not there\n")


def test_a_block_without_its_end_takes_nothing_else_along(home, ragmem):
    ragmem("completions", "install", "zsh", "--edit-rc")
    start_up = home / ".zshrc"
    damaged = start_up.read_text().replace(f"{END}\n", "") + "alias mine=1\n"
    start_up.write_text(damaged)
    told = ragmem("completions", "install", "zsh", "--remove")

    assert start_up.read_text() == damaged
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f'ragmem: "{start_up}" has no line "{END}"\n')


def test_a_start_up_file_keeps_its_ends_of_lines(home, ragmem):
    before = b"echo one\r\necho \xff two\n"
    (home / ".zshrc").write_bytes(before)
    ragmem("completions", "install", "zsh", "--edit-rc")
    assert (home / ".zshrc").read_bytes().startswith(before)

    ragmem("completions", "install", "zsh", "--remove")
    assert (home / ".zshrc").read_bytes() == before


def test_lines_that_are_needed_are_shown_and_written_only_when_asked(home, ragmem):
    shown = ragmem("completions", "install", "zsh")
    assert f"  fpath=('{home}/.local/share/zsh/site-functions' $fpath)\n" in shown.stderr
    assert not (home / ".zshrc").exists()

    ragmem("completions", "install", "zsh", "--edit-rc")
    ragmem("completions", "install", "zsh", "--edit-rc")
    assert (home / ".zshrc").read_text().count(BEGIN) == 1
    assert "add these lines to" not in ragmem("completions", "install", "zsh").stderr


def test_a_line_that_a_person_wrote_is_left_and_told(home, ragmem):
    ragmem("completions", "install", "bash")
    (home / ".bashrc").write_text(f". '{home / FILES['bash']}'\n")
    removed = ragmem("completions", "install", "bash", "--remove")
    assert "still loads it, in a line that ragmem did not write" in removed.stderr
    assert (home / ".bashrc").read_text().startswith(". ")


@pytest.mark.parametrize(
    "line",
    ["fpath+=(~/.local/share/zsh/site-functions)", 'fpath=("$HOME/.local/share/zsh/site-functions" $fpath)'],
)
def test_a_folder_that_a_person_has_named_needs_no_lines(line, home, ragmem):
    (home / ".zshrc").write_text(f"# {line}\n")
    assert "add these lines to" in ragmem("completions", "install", "zsh").stderr

    (home / ".zshrc").write_text(f"{line}\n")
    assert "add these lines to" not in ragmem("completions", "install", "zsh", "--edit-rc").stderr
    assert (home / ".zshrc").read_text() == f"{line}\n"


def test_bash_needs_no_line_where_bash_completion_is(home, tmp_path, monkeypatch):
    monkeypatch.setattr(shell_completion, "BASH_COMPLETION", ("etc/bash_completion",))
    bare = plan_installation("bash", {}, home=home, root=tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "bash_completion").touch()
    loaded = plan_installation("bash", {}, home=home, root=tmp_path)

    assert (bare.lines, bare.start_up_change) == ((f". '{home / FILES['bash']}'",), "needed")
    assert (loaded.lines, loaded.start_up_change) == ((), "")


@pytest.mark.parametrize(
    ("shell", "variable", "file"),
    [
        ("bash", "XDG_DATA_HOME", "bash-completion/completions/ragmem"),
        ("bash", "BASH_COMPLETION_USER_DIR", "completions/ragmem"),
        ("zsh", "XDG_DATA_HOME", "zsh/site-functions/_ragmem"),
        ("fish", "XDG_CONFIG_HOME", "fish/completions/ragmem.fish"),
    ],
)
def test_folders_that_were_moved_are_followed(shell, variable, file, home, ragmem):
    elsewhere = home / "else where"
    told = json.loads(ragmem("completions", "install", shell, "--json", **{variable: str(elsewhere)}).stdout)

    assert (told["schema"], told["shell"], told["change"]) == (1, shell, "written")
    assert told["file"] == str(elsewhere / file)
    assert (elsewhere / file).is_file()


def test_an_older_script_is_replaced_and_anothers_is_kept(home, ragmem):
    file = home / FILES["fish"]
    file.parent.mkdir(parents=True)
    file.write_text("# Completion of ragmem in fish. Written by an older one.\n")
    assert [one["state"] for one in json.loads(ragmem("completions", "--json").stdout)["shells"]] == [
        "absent",
        "absent",
        "older",
    ]
    assert ragmem("completions", "install", "fish").stdout == f"{file}: written\n"

    file.write_text("# mine\n")
    for more in ((), ("--remove",)):
        refused = ragmem("completions", "install", "fish", *more)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f'ragmem: "{file}" was not written by ragmem\n')
    assert file.read_text() == "# mine\n"
    assert "another's" in ragmem("completions").stdout


def test_a_folder_that_cannot_be_written_is_told(home, ragmem):
    (home / ".config").write_text("in the way")
    refused = ragmem("completions", "install", "fish")

    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.startswith("ragmem: cannot write ")


@pytest.mark.parametrize(
    ("parent", "login", "shell"),
    [
        ("-zsh", "/bin/bash", "zsh"),
        ("fish", "/bin/bash", "fish"),
        ("uv", "/usr/bin/zsh", "zsh"),
        ("make", "/opt/homebrew/bin/fish", "fish"),
    ],
)
def test_the_shell_in_use_is_known(parent, login, shell):
    assert shell_in_use(parent, {"SHELL": login}) == shell


def test_another_shell_is_told_what_to_do(home, ragmem):
    with pytest.raises(UsageError, match="not bash, zsh or fish"):
        shell_in_use("pwsh", {"SHELL": "/bin/tcsh"})
    assert "'bash', 'zsh', 'fish'" in ragmem("completions", "show", "tcsh").stderr


def test_where_no_shell_has_started_ragmem_the_login_shell_is_meant(home, started):
    done = started("completions", "install", "--dry-run", "--json", SHELL="/bin/fish")

    assert json.loads(done.stdout)["shell"] == "fish"
    assert list(home.iterdir()) == []
