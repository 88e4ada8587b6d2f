"""`ragmem serve --install`: the files it writes, what it leaves alone, and the commands that it runs."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ragmem.errors import UsageError
from ragmem.services.wiring import autostart

FAKE = """#!/bin/sh
echo "$@" >> "$RAGMEM_TEST_CALLS"
case "$*" in *show-environment*) exit $RAGMEM_TEST_REACHED;; esac
"""


@pytest.fixture
def installing(run, tmp_path):
    """Run `ragmem serve` with a systemctl that only remembers what it was asked."""
    if not sys.platform.startswith("linux"):
        pytest.skip("systemd is Linux's")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text(FAKE)
    (tools / "systemctl").chmod(0o755)
    calls = tmp_path / "calls"

    def run_one(*arguments, reached=True, **variables):
        calls.unlink(missing_ok=True)
        done = run(
            "serve",
            *arguments,
            **variables,
            PATH=f"{tools}:/usr/bin:/bin",
            XDG_CONFIG_HOME=str(tmp_path / "config"),
            RAGMEM_TEST_CALLS=str(calls),
            RAGMEM_TEST_REACHED="0" if reached else "1",
        )
        done.calls = calls.read_text().splitlines() if calls.exists() else []
        return done

    run_one.unit = tmp_path / "config" / "systemd" / "user" / autostart.UNIT
    return run_one


def test_a_unit_is_written_started_and_removed_without_a_trace(installing, tmp_path):
    shown = installing("--install", "--port", "9777", "--dry-run")
    assert shown.returncode == 0
    assert not installing.unit.exists()
    assert shown.calls == []
    done = installing("--install", "--port", "9777")
    assert done.returncode == 0, done.stderr
    content = installing.unit.read_text()
    assert content in shown.stdout
    assert f'ExecStart="{sys.executable}" "-m" "ragmem" "serve" "--port=9777"' in content
    assert f'Environment="RAGMEM_HOME={tmp_path / "ragmem"}"' in content
    assert [line.removeprefix("--user ") for line in done.calls] == [
        "show-environment",
        "daemon-reload",
        f"enable {autostart.UNIT}",
        f"restart {autostart.UNIT}",
    ]
    assert "does not inherit RAGMEM_MODELS_BACKEND" in done.stderr
    gone = installing("--uninstall")
    assert gone.returncode == 0
    assert f"--user disable --now {autostart.UNIT}" in gone.calls
    assert list(installing.unit.parent.iterdir()) == []
    assert installing("--uninstall").returncode == 1


@pytest.mark.parametrize("name", ["place", "~/place"])
def test_a_home_that_is_named_from_here_is_found_from_everywhere(installing, tmp_path, name):
    shown = installing("--install", "--dry-run", RAGMEM_HOME=name)
    assert f'Environment="RAGMEM_HOME={tmp_path / "place"}"' in shown.stdout


def test_without_a_manager_it_is_told_what_to_run(installing):
    done = installing("--install", reached=False)
    assert done.returncode == 0
    assert installing.unit.exists()
    assert f"systemctl --user enable {autostart.UNIT}" in done.stdout
    assert done.calls == ["--user show-environment"]


def test_a_file_of_somebody_else_or_changed_by_somebody_is_left_alone(installing):
    installing.unit.parent.mkdir(parents=True)
    installing.unit.write_text("[Service]\nExecStart=/bin/true\n")
    for option in ("--install", "--uninstall"):
        done = installing(option)
        assert done.returncode == 2
        assert "was not written by ragmem" in done.stderr
    assert installing.unit.read_text() == "[Service]\nExecStart=/bin/true\n"


def wish(*options, python="/opt/my tools/100%/py$thon", home='/home/o"ne\\two'):
    return autostart.ServiceOptions(python, options, {"RAGMEM_HOME": home}, Path("/var/log/x"))


def unit(tmp_path, **changes):
    return autostart.service_for("linux", wish(**changes), home=tmp_path, environ={}, user=1)


def test_a_changed_unit_is_neither_replaced_nor_removed(tmp_path):
    service = unit(tmp_path)
    autostart.install(service)
    autostart.install(unit(tmp_path, python="/usr/bin/python3"))
    changed = service.path.read_text().replace("RestartSec=5", "RestartSec=50")
    service.path.write_text(changed)
    for act in (autostart.install, autostart.uninstall):
        with pytest.raises(UsageError, match="was changed"):
            act(service)
    assert service.path.read_text() == changed


def test_a_link_is_not_followed(tmp_path):
    service = unit(tmp_path)
    autostart.install(service)
    kept = tmp_path / "kept"
    service.path.rename(kept)
    service.path.symlink_to(kept)
    with pytest.raises(UsageError, match="was not written by ragmem"):
        autostart.uninstall(service)
    assert kept.exists()


def test_a_path_that_no_unit_can_hold_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be written to a unit file"):
        unit(tmp_path, home="/home/two\nlines")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit_with_paths_of_any_characters(tmp_path):
    python = tmp_path / "my tools" / "100% $python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    service = unit(tmp_path, python=str(python))
    autostart.install(service)
    verified = subprocess.run(
        ["systemd-analyze", "--user", "verify", "--recursive-errors=no", str(service.path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
    )
    told = [line for line in verified.stderr.splitlines() if autostart.UNIT in line]
    assert (verified.returncode, told) == (0, []), verified.stderr


def test_launchd_gets_an_agent_that_it_can_read(tmp_path):
    service = autostart.service_for("darwin", wish("--port=1"), home=tmp_path, environ={}, user=501)
    autostart.install(service)
    assert service.path == tmp_path / "Library" / "LaunchAgents" / f"{autostart.LABEL}.plist"
    agent = plistlib.loads(service.path.read_bytes())
    assert agent["Label"] == autostart.LABEL
    assert agent["ProgramArguments"][1:] == ["-m", "ragmem", "serve", "--port=1"]
    assert agent["EnvironmentVariables"] == {"RAGMEM_HOME": '/home/o"ne\\two'}
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert service.start == (("launchctl", "bootstrap", "gui/501", str(service.path)),)
    assert autostart.uninstall(service)
    assert not autostart.uninstall(service)


def test_a_python_that_systemd_cannot_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="systemd runs nothing"):
        unit(tmp_path, python='/opt/my"tools/python')


def test_a_system_without_services_is_told_so(tmp_path):
    with pytest.raises(UsageError, match="freebsd14"):
        autostart.service_for("freebsd14", wish(), home=tmp_path, environ={}, user=1)
