"""Changes to config.toml: what was asked for changes, and every other line stays as it was."""

import os
import re
import stat
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.config.toml_edit import plan, write
from ragmem.errors import ConfigError, StorageError

USE = {"models": {"backend": "ollama", "model": "nomic", "url": None}}


def changed(tmp_path, text, values=USE):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode())
    change = plan(path, values)
    write(change)
    assert path.read_bytes().decode() == change.after
    return change.after


def test_a_missing_file_begins_with_the_table(tmp_path):
    path = tmp_path / "deep" / "config.toml"
    write(plan(path, USE))
    assert path.read_text() == '[models]\nbackend = "ollama"\nmodel = "nomic"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


CASES = {
    "comments, order and other tables stay": (
        '# mine\n[query]\nn = 5\n\n[models] # 1\n  backend = "mlx"  # x\n# y\nurl = "x"\n\n[seed]\n',
        '# mine\n[query]\nn = 5\n\n[models] # 1\n  backend = "ollama"  # x\n# y\nmodel = "nomic"\n\n[seed]\n',
    ),
    "a table is added at the end": (
        "[query]\nlimit = 5",
        '[query]\nlimit = 5\n\n[models]\nbackend = "ollama"\nmodel = "nomic"\n',
    ),
    "dotted keys at the top": (
        'models.backend = "mlx"\n[query]\nlimit = 5\n',
        'models.backend = "ollama"\nmodels.model = "nomic"\n[query]\nlimit = 5\n',
    ),
    "a value over several lines": (
        '[models]\nbackend = """\nmlx"""\n[models.options]\nlist = [\n  1, # [models]\n]\n',
        '[models]\nbackend = "ollama"\nmodel = "nomic"\n[models.options]\nlist = [\n  1, # [models]\n]\n',
    ),
    "what looks like a header in a text": (
        '[query]\nnote = """\n[models]\nmodel = 1\n"""\n',
        '[query]\nnote = """\n[models]\nmodel = 1\n"""\n\n[models]\nbackend = "ollama"\nmodel = "nomic"\n',
    ),
    "only the table below is there": (
        "[models.options]\na = 1\n",
        '[models.options]\na = 1\n\n[models]\nbackend = "ollama"\nmodel = "nomic"\n',
    ),
    "a quoted key with an = in it beside": (
        '[models]\n"a=b" = 1\n"backend" = "x#y" # z\n',
        '[models]\n"a=b" = 1\n"backend" = "ollama" # z\nmodel = "nomic"\n',
    ),
    "lines that end as on Windows": (
        '[models]\r\nbackend = "mlx"\r\n',
        '[models]\r\nbackend = "ollama"\r\nmodel = "nomic"\r\n',
    ),
    "a byte order mark": (
        '\ufeff[models]\nbackend = "mlx"\n',
        '\ufeff[models]\nbackend = "ollama"\nmodel = "nomic"\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_only_the_lines_that_were_meant_change(tmp_path, before, after):
    assert changed(tmp_path, before) == after


def test_the_same_values_change_nothing_and_have_no_diff(tmp_path):
    text = changed(tmp_path, "")
    assert plan(tmp_path / "config.toml", USE).diff() == []
    assert changed(tmp_path, text) == text


@pytest.mark.parametrize("text", ['models = { backend = "mlx" }\n', "models = {}\n", "models = 3\n"])
def test_a_form_that_cannot_be_changed_line_by_line_is_refused_with_what_to_write(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="cannot be edited line by line") as caught:
        plan(path, USE)
    assert caught.value.hint == 'edit it yourself: [models]; backend = "ollama"; model = "nomic"; no url'
    assert path.read_text() == text


def test_a_file_that_is_broken_is_refused_with_its_line(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[models\n")
    with pytest.raises(ConfigError, match=r"config\.toml:1: not valid TOML"):
        plan(path, USE)


def test_a_link_stays_a_link(tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    path = tmp_path / "config.toml"
    path.symlink_to(real)
    write(plan(path, USE))
    assert path.is_symlink()
    assert real.read_text().startswith("# mine\n\n[models]\n")


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(tmp_path):
    path = tmp_path / "config.toml"
    change = plan(path, USE)
    path.write_text("[query]\nlimit = 3\n")
    with pytest.raises(ConfigError, match="changed in the meantime"):
        write(change)
    assert path.read_text() == "[query]\nlimit = 3\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "config").write_text("a file, no folder")
    change = plan(tmp_path / "config.toml", USE)
    change = type(change)(tmp_path / "config" / "config.toml", "", change.after)
    with pytest.raises(StorageError, match=re.escape(str(tmp_path / "config" / "config.toml"))):
        write(change)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
plain = st.one_of(texts, st.integers(-(2**60), 2**60), st.booleans(), st.floats(allow_nan=False, width=32))
names = st.sampled_from(["backend", "model", "url", "price", "odd key"])
COMMENTS = ("# backend = 1", "  # [seed]")
comments = st.sampled_from(["", " # note", "  # a = b", " # [models]"])


@st.composite
def documents(draw):
    """Return lines of a file with tables in any order, and what they mean."""
    lines = []
    for table in draw(st.permutations(["models", "query", "seed"]))[: draw(st.integers(0, 3))]:
        lines.append(f"[{table}]{draw(comments)}")
        for name in draw(st.lists(names, unique=True)):
            if draw(st.booleans()):
                lines.append(draw(st.sampled_from(["", *COMMENTS])))
            key = name if name.isidentifier() else f'"{name}"'
            value = draw(
                st.sampled_from(["1", "'#'", '"""\n[models]\nmodel = 1\n"""', "[\n 1,\n # [x]\n 2]"])
            )
            lines.append(f"{key} = {value}{draw(comments)}")
    return "".join(line + "\n" for line in lines)


@settings(deadline=None)
@given(documents(), st.dictionaries(names.filter(str.isidentifier), st.one_of(plain, st.none()), min_size=1))
def test_whatever_stands_there_the_values_are_set_and_all_else_stays(tmp_path_factory, text, keys):
    path = tmp_path_factory.getbasetemp() / f"config-{os.getpid()}.toml"
    path.write_text(text, encoding="utf-8", newline="")
    expected = tomllib.loads(text)
    for key, value in keys.items():
        if value is None:
            expected.get("models", {}).pop(key, None)
        else:
            expected.setdefault("models", {})[key] = value
    after = plan(path, {"models": keys}).after
    assert tomllib.loads(after) == expected
    for comment in COMMENTS:
        assert after.splitlines().count(comment) == text.splitlines().count(comment)
