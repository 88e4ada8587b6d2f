"""A bundle holds what it says, shows any change, tells no secret, and installs without a network."""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.models.bundle import INSTALL, remove_secrets

CONFIG = """\
# what I chose
[query]
limit = 5  # enough

[store]
url = "postgresql://me:hunter2word@db.example/m"  # was postgresql://me:hunter2word@db.example/m
environment = { NEO4J_PASSWORD = 'sesame', NEO4J_URI = "bolt://n" }

[models]
key_variable = "OPENAI_API_KEY"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    root = tmp_path / "ragmem"
    monkeypatch.setenv("RAGMEM_HOME", str(root))
    model = root / "data" / "models" / "me--tiny"
    (model / "part").mkdir(parents=True)
    (model / "config.json").write_text('{"model_type": "qwen3"}')
    (model / "part" / "model.safetensors").write_bytes(bytes(range(256)) * 400)
    (model / ".cache").write_text("of no use elsewhere")
    (root / "config").mkdir()
    (root / "config" / "config.toml").write_text("[query]\nlimit = 5\n")
    return root


@pytest.fixture
def bundle(inside, home, tmp_path):
    """Return a function that runs `ragmem models bundle` on a file."""

    def make(name, *options):
        return inside("models", "bundle", str(tmp_path / name), *options), tmp_path / name

    return make


def members(path):
    with tarfile.open(path) as tar:
        return {entry.name.removeprefix("ragmem-bundle/"): entry for entry in tar}


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz"])
def test_a_bundle_holds_models_configuration_and_installer(bundle, name):
    result, path = bundle(name, "--no-wheels", "--json")

    made = json.loads(result.stdout)
    assert made["models"] == ["me--tiny"]
    assert made["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [part["part"] for part in made["parts"]] == ["installer", "configuration", "me--tiny"]
    assert sorted(members(path)) == [
        "README.txt",
        "SHA256SUMS",
        "config/config.toml",
        "install.sh",
        "manifest.json",
        "models/me--tiny/config.json",
        "models/me--tiny/part/model.safetensors",
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert bundle(name, "--verify")[0].returncode == 0


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_equal_content_gives_equal_bytes(bundle, home, suffix):
    _, first = bundle(f"one{suffix}", "--no-wheels")
    for path in home.rglob("*"):
        os.utime(path, (1, 1))
    _, second = bundle(f"two{suffix}", "--no-wheels")

    assert first.read_bytes() == second.read_bytes()


def rewritten(path, change):
    """Write the archive again with other members: `change` gets and returns a list of (entry, content)."""
    with tarfile.open(path) as tar:
        entries = [(entry, tar.extractfile(entry).read()) for entry in tar]
    with tarfile.open(path, "w") as tar:
        for entry, content in change(entries):
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def extra(name):
    return lambda entries: [*entries, (tarfile.TarInfo(name), b"x")]


def linked(entries):
    entry = tarfile.TarInfo(entries[-1][0].name)
    entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return [*entries[:-1], (entry, b"")]


TAMPERING = {
    "another byte": lambda entries: [*entries[:-1], (entries[-1][0], b"!" + entries[-1][1][1:])],
    "a longer file": lambda entries: [*entries[:-1], (entries[-1][0], entries[-1][1] + b"!")],
    "a file left out": lambda entries: entries[:-1],
    "a file more": extra("ragmem-bundle/config/more.toml"),
    "a file beside it": extra("elsewhere"),
    "a file twice": lambda entries: [*entries, entries[-1]],
    "a link": linked,
    "no manifest": lambda entries: entries[1:],
    "other checksums": lambda entries: [entries[0], (entries[1][0], b"\n"), *entries[2:]],
    "a manifest of nothing": lambda entries: [(entries[0][0], b"{}"), *entries[1:]],
}


@pytest.mark.parametrize("change", TAMPERING.values(), ids=TAMPERING)
def test_any_change_is_found(bundle, change):
    _, path = bundle("b.tar", "--no-wheels")
    rewritten(path, change)

    result, _ = bundle("b.tar", "--verify")

    assert (result.returncode, result.stdout) == (3, "")
    assert "is not a valid bundle" in result.stderr


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz"])
def test_a_bundle_that_was_cut_off_is_found(bundle, name):
    _, path = bundle(name, "--no-wheels")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    assert bundle(name, "--verify")[0].returncode == 3


def test_secrets_stay_at_home(bundle, home):
    (home / "config" / "config.toml").write_text(CONFIG)

    result, path = bundle("b.tar", "--no-wheels")

    assert (
        "config.toml is written without the secrets of: store.url, store.environment.NEO4J_PASSWORD"
        in result.stderr
    )
    with tarfile.open(path) as tar:
        text = tar.extractfile("ragmem-bundle/config/config.toml").read().decode()
    assert "hunter2" not in text
    assert "sesame" not in text
    packed = tomllib.loads(text)
    assert packed["store"]["url"] == "postgresql://me:***@db.example/m"
    assert packed["models"]["key_variable"] == "OPENAI_API_KEY"
    assert "limit = 5  # enough" in text


def test_a_configuration_with_a_byte_order_mark_is_packed_as_it_is(bundle, home):
    text = b"\xef\xbb\xbf[query]\r\nlimit = 5\r\n"
    (home / "config" / "config.toml").write_bytes(text)

    result, path = bundle("b.tar", "--no-wheels")

    assert result.returncode == 0, result.stderr
    with tarfile.open(path) as tar:
        assert tar.extractfile("ragmem-bundle/config/config.toml").read() == text


def test_a_secret_that_cannot_be_taken_out_is_refused(bundle, home):
    (home / "config" / "config.toml").write_text('[store]\nurl = "postgresql://me:hunt\\u0065r@db/m"\n')

    result, path = bundle("b.tar", "--no-wheels")

    assert result.returncode == 2
    assert "store.url" in result.stderr
    assert not path.exists()


def test_a_short_secret_leaves_other_words_alone():
    text = "[store.options]\ntoken = 'a'\n[query]\nlimit = 5 # a letter\n"
    assert remove_secrets(text, redactor=DEFAULT) == (text.replace("'a'", "'***'"), ["store.options.token"])


def test_an_existing_file_is_replaced_only_with_force(bundle):
    _, path = bundle("b.tar", "--no-wheels")
    before = path.stat().st_mtime_ns

    assert bundle("b.tar", "--no-wheels")[0].returncode == 2
    assert path.stat().st_mtime_ns == before
    assert bundle("b.tar", "--no-wheels", "--force")[0].returncode == 0


def test_a_dry_run_tells_the_sizes_and_writes_nothing(bundle):
    result, path = bundle("b.tar", "--no-wheels", "--dry-run", "--json")

    parts = {part["part"]: part["bytes"] for part in json.loads(result.stdout)["parts"]}
    assert parts == {"me--tiny": 23 + 256 * 400, "configuration": 18}
    assert not path.exists()
    assert not list(path.parent.glob(".ragmem*"))


def test_models_of_the_hubs_cache_come_along_when_they_are_named(bundle, tmp_path, monkeypatch):
    cache = tmp_path / "hub"
    snapshot = cache / "models--you--small" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (cache / "blob").write_text("{}")
    (snapshot / "config.json").symlink_to(cache / "blob")
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))

    result, path = bundle("b.tar", "--no-wheels", "--with", "you/small", "--json")

    assert json.loads(result.stdout)["models"] == ["me--tiny", "you--small"]
    assert members(path)["models/you--small/config.json"].isreg()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--no-wheels", "--with", "no/such"], 'there is no model "no/such"'),
        (["--extras", "onnx,nothing"], 'ragmem has no extra "nothing"'),
        (["--no-wheels", "--extras", "onnx"], "--no-wheels cannot be combined"),
        (["--platform", "win_amd64"], 'wheels for "win_amd64" cannot be chosen on this system'),
        (["--verify", "--force"], "--verify cannot be combined with other options"),
    ],
)
def test_what_cannot_be_is_told(bundle, options, said):
    result, path = bundle("b.tar", *options)

    assert result.returncode == 2
    assert said in result.stderr
    assert not path.exists()


def test_a_bundle_has_a_name_that_tells_its_form(bundle):
    assert bundle("b.zip", "--no-wheels")[0].returncode == 2


def test_offline_the_wheels_come_from_a_folder_only(ragmem, tmp_path):
    result = ragmem("--offline", "models", "bundle", str(tmp_path / "b.tar"))

    assert result.returncode == 2
    assert "offline, wheels can only come from a folder" in result.stderr


FAKE = {
    "ragmem/__init__.py": "",
    "ragmem/config/__init__.py": "",
    "ragmem/config/places.py": "from ragmem_places import find_places\n",
    "ragmem/main.py": "import sys\ndef main():\n    print('ran', *sys.argv[1:])\n",
}
PLACES = """
from types import SimpleNamespace
def find_places(environ, home, cwd):
    return SimpleNamespace(config=home / "its" / "config", data=home / "its" / "data")
"""

# A virtual environment takes ten seconds to make, nine of them for a copy of pip.
QUICK = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exec {python} "$@"
{python} -m venv --without-pip "$3" && cd "$3"/lib/python3*/site-packages && ln -s {pip} pip
"""


def wheel(folder, name, release, files, *, requires="", script=""):
    info = f"{name}-{release}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    if script:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script}\n"
    with zipfile.ZipFile(folder / f"{name}-{release}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.mark.slow
def test_the_installer_needs_the_bundle_alone(bundle, home, tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "ragmem_places", "1.0", {"ragmem_places.py": PLACES})
    wheel(
        wheels,
        "ragmem",
        version("ragmem"),
        FAKE,
        requires="Requires-Dist: ragmem-places\n",
        script="ragmem = ragmem.main:main",
    )
    result, path = bundle("b.tar", "--wheels", str(wheels))
    assert result.returncode == 0, result.stderr
    person = tmp_path / "person"
    (person / "its" / "config").mkdir(parents=True)
    (person / "its" / "config" / "config.toml").write_text("mine")
    with tarfile.open(path) as tar:
        tar.extractall(person, filter="data")

    python = tmp_path / "python"
    python.write_text(QUICK.format(python=sys.executable, pip=Path(find_spec("pip").origin).parent))
    python.chmod(0o700)

    def install():
        return subprocess.run(
            ["sh", "ragmem-bundle/install.sh", "--python", "../python", "--venv", "its/venv"],
            cwd=person,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(person), "PIP_INDEX_URL": "http://127.0.0.1:1/"},
        )

    done = install()

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"kept the configuration that is there: {person}/its/config/config.toml",
        f"ragmem is {person}/its/venv/bin/ragmem",
        "ran --offline doctor",
    ]
    model = person / "its" / "data" / "models" / "me--tiny"
    packed = home / "data" / "models" / "me--tiny"
    for name in ("config.json", "part/model.safetensors"):
        assert (model / name).read_bytes() == (packed / name).read_bytes()
    assert (person / "its" / "config" / "config.toml").read_text() == "mine"

    (person / "ragmem-bundle" / "models" / "me--tiny" / "config.json").write_text("{}")
    damaged = install()
    assert damaged.returncode == 3
    assert "the bundle is damaged" in damaged.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_installer_is_sound_shell():
    done = subprocess.run(["shellcheck", str(INSTALL)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_installer_tells_its_options():
    done = subprocess.run(["sh", str(INSTALL), "--help"], capture_output=True, text=True, check=True)
    assert "--venv DIR" in done.stdout
    assert Path(INSTALL).read_text().startswith("#!/bin/sh\n")
