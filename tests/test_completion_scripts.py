"""What the scripts for zsh and fish say of each command, as text: not every machine has these shells."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FISH = (ROOT / "completions" / "ragmem.fish").read_text(encoding="utf-8")
ZSH = (ROOT / "completions" / "_ragmem").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def commands():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return list(importlib.import_module("generating.tree").read_tree().walk())


def in_fish(value):
    """Return the pattern of what a line of fish says of a value."""
    if value is None:
        return r"(?!.* -[rxFa] )"
    match value.form:
        case "words":
            return rf".* -a '{' '.join(map(re.escape, value.words))}'"
        case "known":
            return rf".* -k -a '\(__ragmem_known {value.known}\)'"
        case "file":
            return r".* -F\b"
        case "folder":
            return r".* -a '\(__ragmem_folders\)'"
    return r"(?!.* -[aF] ).* -x\b"


def test_fish_completes_every_option_of_every_command(commands):
    for command in commands:
        at = " ".join(("__ragmem_at", *command.path, *(("--",) if command.commands else ())))
        lines = [line for line in FISH.splitlines() if line.startswith(f"complete -c ragmem -n '{at}' ")]
        for option in command.options:
            long = option.names[-1].removeprefix("--")
            [line] = [line for line in lines if re.search(rf" -l {long} ", line)]
            before = line.partition(" -d ")[0] + " "
            assert re.match(in_fish(option.value), before), line
        for below in command.commands:
            assert any(f" -a {below.name} -d " in line for line in lines), below.path


def test_fish_completes_every_argument(commands):
    for command in commands:
        for number, argument in enumerate(command.arguments):
            if argument.value.form == "text":
                continue
            path = re.escape(" ".join(command.path))
            if len(command.arguments) > 1 and not argument.repeatable:
                start = rf"complete -c ragmem -n '__ragmem_argument {number} .* {path}'"
            else:
                start = rf"complete -c ragmem -n '__ragmem_at {path}'"
            lines = [line for line in FISH.splitlines() if re.match(start, line)]
            assert any(re.match(in_fish(argument.value), f"{line} ") for line in lines), (
                command.path,
                argument,
            )


def in_zsh(value):
    """Return how the action of a value ends in a spec of zsh."""
    match value.form:
        case "words":
            return f":({' '.join(value.words)})'"
        case "known":
            return f": _ragmem_known {value.known}'"
        case "file":
            return ":_files'"
        case "folder":
            return ":_files -/'"
    return ":()'"


def specs_of(command):
    """Return the specs of a command: of a group those of its function, else those behind its name there."""
    if command.commands or not command.path:
        name = "_".join(("_ragmem", *command.path))
        body = re.search(rf"^{name}\(\) \{{\n(.*?)^\}}", ZSH, re.MULTILINE | re.DOTALL)[1]
        return body.partition("'1:command:")[0].splitlines()
    name = "_".join(("_ragmem", *command.path[:-1]))
    body = re.search(rf"^{name}\(\) \{{\n(.*?)^\}}", ZSH, re.MULTILINE | re.DOTALL)[1]
    found = re.search(rf"^        {command.name}\)\n(.*?) ;;$", body, re.MULTILINE | re.DOTALL)
    return [line.removesuffix(" \\") for line in found[1].splitlines()]


def test_zsh_completes_every_option_and_argument_of_every_command(commands):
    for command in commands:
        specs = specs_of(command)
        for option in command.options:
            long = option.names[-1]
            [spec] = [
                spec for spec in specs if re.search(rf"(?<![\w-]){long}=?(?:\}}|')", spec.partition("[")[0])
            ]
            spec = spec.removesuffix(" \\")
            if option.value is None:
                assert spec.endswith("]'"), spec
            else:
                assert spec.endswith(in_zsh(option.value)), spec
        for number, argument in enumerate(command.arguments, 1):
            place = "*" if argument.repeatable else str(number)
            assert any(
                spec.strip().startswith(f"'{place}:") and spec.endswith(in_zsh(argument.value))
                for spec in specs
            ), (command.path, argument)
