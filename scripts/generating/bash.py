"""Completion for bash 3.2 and newer; the words of the line are split here, because bash splits at colons."""

from collections.abc import Iterator

from generating.tree import Command, Value

# Free of the command tree. `cur` is the word at the cursor without its quoting, `quote` the quote that is
# still open, `start` where in `cur` the text begins that readline will replace, `lead` what stands before a
# value in the same word (`--source=`).
FUNCTIONS = r"""
_ragmem_split() {
    local line=${COMP_LINE:0:COMP_POINT} letter open='' begun='' word='' i
    words=() start=0
    for ((i = 0; i < ${#line}; i++)); do
        letter=${line:i:1}
        if [[ $letter == '\' && $open != "'" ]]; then
            ((i++))
            word+=${line:i:1} begun=1
        elif [[ -n $open ]]; then
            if [[ $letter == "$open" ]]; then open='' start=${#word}; else word+=$letter; fi
        elif [[ $letter == [\"\'] ]]; then
            open=$letter begun=1 start=${#word}
        elif [[ $letter == [[:space:]] ]]; then
            [[ -n $begun ]] && words+=("$word")
            word='' begun='' start=0
        else
            word+=$letter begun=1
            [[ $COMP_WORDBREAKS == *"$letter"* ]] && start=${#word}
        fi
    done
    cur=$word quote=$open
}

_ragmem_offer() {
    local text=$lead$1 apostrophe="'\\''"
    text=${text:start}
    case $quote in
        '"')
            text=${text//'\'/'\\'}
            text=${text//'"'/'\"'}
            text=${text//'$'/'\$'}
            text=${text//'`'/'\`'}
            ;;
        "'") text=${text//"'"/"$apostrophe"} ;;
        *) [[ -n $text ]] && printf -v text '%q' "$text" ;;
    esac
    COMPREPLY+=("$text")
}

_ragmem_words() {
    local word
    for word in "$@"; do
        [[ $word == "$cur"* ]] && _ragmem_offer "$word"
    done
}

_ragmem_known() {
    local value
    while IFS=$'\t' read -r value _; do
        _ragmem_offer "$value"
    done < <(ragmem __complete "$1" "$cur" 2>/dev/null)
}

# For values that say nothing by themselves: where several are listed, each with its hint. Readline then
# inserts what they begin with, which is within the values; where it inserts each in turn, they stand alone.
_ragmem_hinted() {
    local value hint values=() hints=() i
    while IFS=$'\t' read -r value hint; do
        values+=("$value") hints+=("$hint")
    done < <(ragmem __complete "$1" "$cur" 2>/dev/null)
    # Found by words of a title: behind a colon, readline would put only the end of a value in their place.
    [[ $start -gt 0 && ${values[0]-} != "$cur"* ]] && return
    local several=''
    ((${#values[@]} > 1)) && [[ ${COMP_TYPE:-9} != 37 && ${COMP_TYPE:-9} != 42 ]] && several=1
    for ((i = 0; i < ${#values[@]}; i++)); do
        if [[ -n $several && -z $lead$quote ]]; then
            COMPREPLY+=("${values[i]}${hints[i]:+  (${hints[i]})}")
        else
            _ragmem_offer "${values[i]}"
        fi
    done
    # Two ids that begin alike would leave that of the words of a title; a blank begins like none of them.
    [[ -n $several && ${values[0]-} != "$cur"* ]] && COMPREPLY+=(' ')
}

_ragmem_files() {
    local file
    # Readline's own completion of files is better; bash 3.2 cannot be asked for it here.
    compopt -o default 2>/dev/null && return
    while IFS= read -r file; do
        _ragmem_offer "$file"
    done < <(compgen -f -- "$cur")
}

_ragmem_folders() {
    local folder
    compopt -o dirnames 2>/dev/null && return
    while IFS= read -r folder; do
        _ragmem_offer "$folder"
    done < <(compgen -d -- "$cur")
}
"""

MAIN = r"""
_ragmem() {
    local cur='' quote='' start=0 lead='' words at='' count=0 action='' plain='' word
    COMPREPLY=()
    _ragmem_split
    for word in "${words[@]:1}"; do
        if [[ -n $action ]]; then
            action=''
        elif [[ -z $plain && $word == -- ]]; then
            plain=1
        elif [[ -z $plain && $word == -* ]]; then
            _ragmem_value "$at" "$word"
        elif ((count == 0)) && _ragmem_is_command "$at" "$word"; then
            at=${at:+$at }$word
        else
            ((count++))
        fi
    done
    if [[ -z $action && -z $plain && $cur == -* ]]; then
        if [[ $cur == --*=* ]]; then
            lead=${cur%%=*}=
            _ragmem_value "$at" "${lead%=}"
            cur=${cur#*=}
        else
            _ragmem_options "$at"
            return
        fi
    fi
    [[ -n $action || -n $lead ]] || _ragmem_argument "$at" "$count"
    $action
}
"""

COMPLETE = """
complete -o nosort -F _ragmem ragmem 2>/dev/null || complete -F _ragmem ragmem
"""


# What nobody knows by its value; nothing of it needs quoting.
HINTED = {"archived", "ingested", "memory", "merge", "run", "undone"}


def bash_completion(tree: Command) -> str:
    """Return completions/ragmem.bash."""
    commands = list(tree.walk())
    return "".join(
        (
            "# shellcheck shell=bash disable=SC1003\n",
            "# Completion of ragmem in bash. Written by scripts/generate.py: do not edit.\n",
            FUNCTIONS,
            _cases("_ragmem_is_command", '"$1:$2"', _is_command(commands), other="return 1"),
            _cases("_ragmem_options", '"$1"', _option_words(commands)),
            "\n# Sets what completes the value of an option; an option without value sets nothing.",
            _cases("_ragmem_value", '"$1:$2"', _option_values(commands)),
            "\n# Sets what completes an argument: $1 the command, $2 how many arguments stand before it.",
            _cases("_ragmem_argument", '"$1:$2"', _argument_values(commands)),
            MAIN,
            COMPLETE,
        )
    )


def _cases(name: str, subject: str, cases: Iterator[tuple[str, str]], *, other: str = "") -> str:
    lines = [f"        {pattern}) {action} ;;" for pattern, action in cases]
    if other:
        lines.append(f"        *) {other} ;;")
    return "\n".join(("", f"{name}() {{", f"    case {subject} in", *lines, "    esac", "}", ""))


def _is_command(commands: list[Command]) -> Iterator[tuple[str, str]]:
    for group in commands:
        if group.commands:
            path = " ".join(group.path)
            yield "|".join(f'"{path}:{item.name}"' for item in group.commands), ":"


def _option_words(commands: list[Command]) -> Iterator[tuple[str, str]]:
    for command in commands:
        names = " ".join(name for option in command.options for name in option.names)
        yield f'"{" ".join(command.path)}"', f"_ragmem_words {names}"


def _option_values(commands: list[Command]) -> Iterator[tuple[str, str]]:
    for command in commands:
        path = " ".join(command.path)
        for option in command.options:
            if option.value:
                pattern = "|".join(f'"{path}:{name}"' for name in option.names)
                yield pattern, f"action={_quoted(_action(option.value))}"


def _argument_values(commands: list[Command]) -> Iterator[tuple[str, str]]:
    for command in commands:
        path = " ".join(command.path)
        if command.commands:
            names = " ".join(item.name for item in command.commands)
            yield f'"{path}:0"', f"_ragmem_words {names}"
        for number, argument in enumerate(command.arguments):
            if argument.value.form != "text":
                pattern = f'"{path}:"*' if argument.repeatable else f'"{path}:{number}"'
                yield pattern, f"action={_quoted(_action(argument.value))}"


def _action(value: Value) -> str:
    match value.form:
        case "words":
            return f"_ragmem_words {' '.join(value.words)}"
        case "known":
            return f"_ragmem_{'hinted' if value.known in HINTED else 'known'} {value.known}"
        case "file":
            return "_ragmem_files"
        case "folder":
            return "_ragmem_folders"
    return ":"


def _quoted(text: str) -> str:
    return f"'{text}'" if " " in text else text
