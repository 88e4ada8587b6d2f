"""Completion for zsh, by its own _arguments."""

from generating.tree import Argument, Command, Option, Value

KNOWN = r"""
_ragmem_known() {
  local -a values hints
  local row
  for row in "${(@f)$(ragmem __complete $1 "${(Q)PREFIX}" 2>/dev/null)}"; do
    [[ -n $row ]] || continue
    values+=("${row%%$'\t'*}")
    hints+=("${row%%$'\t'*}  ${row#*$'\t'}")
  done
  (( $#values )) || return 1
  # In their own order. Entities and projects are found in any case; compadd must not drop them again.
  compadd -V values -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -l -d hints -a values && return
  # Found by words of a title: the value takes the place of what was typed; of several Tab tries each in turn.
  compadd -V values -U -l -d hints -a values || return
  (( $#values == 1 )) || compstate[insert]=menu
}
"""

# The file may be autoloaded, where its text is the function's body, or sourced.
LAST = """
if [[ $funcstack[1] == _ragmem ]]; then
  _ragmem "$@"
else
  compdef _ragmem ragmem
fi
"""


def zsh_completion(tree: Command) -> str:
    """Return completions/_ragmem."""
    head = "#compdef ragmem\n# Completion of ragmem in zsh. Written by scripts/generate.py: do not edit.\n"
    groups = [command for command in tree.walk() if command.commands]
    return head + KNOWN + "".join(_function(group) for group in groups) + LAST


def _function(group: Command) -> str:
    """Return the function of a group: it completes the command's name, then hands on to the command."""
    lines = [
        "",
        f"{_name(group)}() {{",
        "  local curcontext=$curcontext state",
        "  local -a line commands",
        "  typeset -A opt_args",
        "  _arguments -C -S \\",
        *(f"    {_option(option)} \\" for option in group.options),
        "    '1:command:->command' '*::argument:->argument' && return",
        "  case $state in",
        "    command)",
        "      commands=(",
        *(f"        '{item.name}:{_plain(item.summary)}'" for item in group.commands),
        "      )",
        "      _describe -t commands command commands ;;",
        "    argument)",
        "      case $words[1] in",
    ]
    for command in group.commands:
        if command.commands:
            lines.append(f"        {command.name}) {_name(command)} ;;")
        else:
            specs = [_option(option) for option in command.options]
            specs += [_argument(argument, number) for number, argument in enumerate(command.arguments, 1)]
            lines.append(f"        {command.name})")
            lines.append("          _arguments -S \\")
            lines.append(" \\\n".join(f"            {spec}" for spec in specs) + " ;;")
    return "\n".join((*lines, "      esac ;;", "  esac", "}", ""))


def _name(group: Command) -> str:
    return "_".join(("_ragmem", *group.path))


def _option(option: Option) -> str:
    action = f":{option.names[-1].lstrip('-')}:{_action(option.value)}" if option.value else ""
    ends = f"'[{_bracketed(option.help)}]{action}'"
    # A long option takes its value as the next word or after `=`, a short one as the next word or at once.
    marks = {True: "=", False: "+"} if option.value else {True: "", False: ""}
    names = [name + marks[name.startswith("--")] for name in option.names]
    excluded = "'(- *)'" if option.names[-1] in {"--help", "--version"} else f"'({' '.join(option.names)})'"
    before = "'*'" if option.repeatable else excluded
    return before + (f"{{{','.join(names)}}}" if len(names) > 1 else names[0]) + ends


def _argument(argument: Argument, number: int) -> str:
    place = "*" if argument.repeatable else str(number)
    return f"'{place}:{_plain(argument.value.shown.lower())}:{_action(argument.value)}'"


def _action(value: Value) -> str:
    match value.form:
        case "words":
            return f"({' '.join(value.words)})"
        case "known":
            # With the space in front, _arguments adds no arguments of its own.
            return f" _ragmem_known {value.known}"
        case "file":
            return "_files"
        case "folder":
            return "_files -/"
    # An empty list; the space that means "only a message" would hide the options from the same place.
    return "()"


def _bracketed(text: str) -> str:
    return _plain(text).replace("[", "\\[").replace("]", "\\]")


def _plain(text: str) -> str:
    return text.replace("'", "'\\''").replace(":", "\\:")
