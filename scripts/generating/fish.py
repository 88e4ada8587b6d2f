"""Completion for fish, one `complete` line for each word."""

from collections.abc import Iterator

from generating.tree import Command, Option, Value

FUNCTIONS = r"""
# True where the words before the cursor begin with this path of commands, and, after `--`, where no further
# command of the path was named.
function __ragmem_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l words (string match -v -- '-*' $words)
    set -l path (string match -v -- -- $argv)
    test (count $words) -ge (count $path); or return 1
    for number in (seq (count $path))
        test "$words[$number]" = "$path[$number]"; or return 1
    end
    not contains -- -- $argv; or test (count $words) -eq (count $path)
end

# True where as many arguments stand before the cursor as $argv[1] says, behind the path of commands that
# begins with the third; $argv[2] names the options whose value is the next word.
function __ragmem_argument
    set -l words (commandline -opc)
    set -e words[1]
    set -l path $argv[3..-1]
    set -l count 0
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
        else if contains -- $word (string split ' ' -- $argv[2])
            set skip 1
        else if not string match -q -- '-*' $word
            set count (math $count + 1)
            test $count -gt (count $path); or test "$word" = "$path[$count]"; or return 1
        end
    end
    test $count -eq (math (count $path) + $argv[1])
end

function __ragmem_known
    set -l token (string replace -r '^--[a-z-]+=' '' -- (commandline -ct))
    set -l prefix (string unescape -- $token 2>/dev/null)
    # A quote that is still open cannot be unescaped.
    or set prefix (string replace -ra '["\'\\\\]' '' -- $token)
    ragmem __complete $argv[1] "$prefix" 2>/dev/null
end

function __ragmem_folders
    __fish_complete_directories (string replace -r '^--[a-z-]+=' '' -- (commandline -ct)) ''
end
"""


def fish_completion(tree: Command) -> str:
    """Return completions/ragmem.fish."""
    head = "# Completion of ragmem in fish. Written by scripts/generate.py: do not edit.\n"
    lines = ["complete -c ragmem -f", *(line for command in tree.walk() for line in _lines(command))]
    return head + FUNCTIONS + "\n" + "\n".join(lines) + "\n"


def _lines(command: Command) -> Iterator[str]:
    # `--` marks a group, whose own options and commands come before any command of it.
    path = " ".join(("__ragmem_at", *command.path, *(("--",) if command.commands else ())))
    start = f"complete -c ragmem -n {_quoted(path)}"
    for below in command.commands:
        yield f"{start} -a {below.name} -d {_quoted(below.summary)}"
    for option in command.options:
        yield f"{start} {_names(option)}{_value(option.value)} -d {_quoted(option.help)}"
    valued = " ".join(name for option in command.options if option.value for name in option.names)
    for number, argument in enumerate(command.arguments):
        here = start
        if len(command.arguments) > 1 and not argument.repeatable:
            place = f"__ragmem_argument {number} {_quoted(valued)} {' '.join(command.path)}"
            here = f"complete -c ragmem -n {_quoted(place)}"
        match argument.value.form:
            case "file":
                yield f"{here} -F"
            case "folder":
                yield f"{here} -a '(__ragmem_folders)'"
            case "words":
                yield f"{here} -a '{' '.join(argument.value.words)}'"
            case "known":
                yield f"{here} -k -a '(__ragmem_known {argument.value.known})'"


def _names(option: Option) -> str:
    return " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)


def _value(value: Value | None) -> str:
    match value and value.form:
        case None:
            return ""
        case "file":
            return " -r -F"
        case "folder":
            return " -x -a '(__ragmem_folders)'"
        case "words":
            return f" -x -a '{' '.join(value.words)}'"
        case "known":
            return f" -x -k -a '(__ragmem_known {value.known})'"
    return " -x"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
