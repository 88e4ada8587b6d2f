"""Describe the call of a tool: a short line, the files that it changes, what to expect of its result."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Act, ActType
from ragmem.domain.text.exchanges import SECRET_REACH, clip
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_LINE = 160
"""Maximum characters of a command, a question or the name of a file in a line."""

_TOOLS = {
    "read": """
        read readfile readfilev2 readmanyfiles notebookread view viewimage viewfile openfile fetch webfetch
        fetchurl browsernavigate openpage readfileslice readfiles
    """,
    "searched": """
        grep glob grepsearch globfilesearch filesearch codebasesearch searchfilecontent searchfiles ripgrep rg
        ripgreprawsearch websearch googlewebsearch websearchcall semanticsearch semsearch findfiles search
        searchcodebase
    """,
    "listed": "ls list listdirectory listdir listdirv2 listfiles listcodedefinitionnames",
    "changed": """
        edit multiedit replace searchreplace editfile editfilev2 strreplace strreplacebasededittool
        notebookedit applypatch updatefile editnotebook editexistingfile applydiff insert replaceinfile
        insertcontent searchandreplace editor
    """,
    "created": "write writefile writetofile create createfile createnewfile",
    "removed": "deletefile removefile",
    "ran": """
        bash shell execcommand execcommandv2 runshellcommand runterminalcmd runterminalcommand
        runterminalcommandv2 localshellcall localshell containerexec shellcommand runcommand terminal
        executecommand exec execute runcommands
    """,
    "delegated": """
        task agent delegatetoagent spawnagent runsubagent subagent codebaseinvestigator newtask usesubagents
    """,
    "planned": "exitplanmode createplan planmoderespond updateplan todowrite writetodos taskcreate",
    "asking": "askuserquestion askquestion askuser requestuserinput",
    "quiet": """
        taskupdate tasklist taskget taskoutput taskstop bashoutput killshell killbash writestdin todoread
        toolsearch enterplanmode wait waitagent closeagent sleep updatetopic awaitshell readlints
        listmcpresources sendinput monitor skill schedulewakeup switchmode fetchinstructions useskill
        loadmcpdocumentation accessmcpresource readcommandoutput submitandexit
    """,
}
_SORTS: Mapping[str, str] = {name: sort for sort, names in _TOOLS.items() for name in names.split()}

_PATHS = (
    "file_path",
    "path",
    "target_file",
    "notebook_path",
    "absolute_path",
    "filePath",
    "target_notebook",
    "relative_workspace_path",
    "url",
)
_QUERIES = ("query", "pattern", "search_term", "glob_pattern", "search_query", "regex", "q", "prompt")
_FOLDERS = ("path", "dir_path", "target_directory", "DirectoryPath", "relative_workspace_path")
_COMMANDS = ("command", "cmd", "script", "CommandLine")
_TASKS = ("description", "title", "objective", "message", "prompt", "task")

_LINES = {
    "read": (ActType.READ, _PATHS),
    "listed": (ActType.READ, _FOLDERS),
    "searched": (ActType.SEARCHED, _QUERIES),
    "delegated": (ActType.DELEGATED, _TASKS),
}

_PATCH_FILE = lazy(
    r"^\*\*\* (Update|Add|Delete) File: (.{1,1000})$|^\*\*\* Move to: (.{1,1000})$", re.MULTILINE
)
_HEREDOC = lazy(r"<<-?\s*['\"]?(\w+)")
_LOOKS = frozenset(
    "ls cat bat grep egrep rg ag fd find sed head tail less more pwd wc tree which type file stat du df nl jq"
    " awk sort uniq cut diff cd echo printf true test [ env printenv date ps whoami uname command sleep xargs"
    " column tr basename dirname realpath readlink git-show".split()
)
_LOOKS_OF = {
    "git": frozenset(
        "log show diff status blame branch remote rev-parse ls-files ls-tree grep describe reflog merge-base"
        " cat-file for-each-ref show-ref fetch".split()
    ),
    "gh": frozenset("api repo issue search auth run".split()),
    "go": frozenset(("doc", "list", "env", "version")),
    "npm": frozenset(("ls", "view", "outdated")),
}
_WRITES = lazy(
    r"(?<![0-9&])>{1,2}\s*(?!/dev/null|&)[\w./~$\"'-]|\bsed\s+(?:-\w+\s+)*-i|\btee\b|-delete\b|-exec\s+rm\b"
)
_CD = lazy(r"\Acd \S{1,300} *&& *")
_IN_QUOTES = lazy(r"'[^']{0,2000}'|\"[^\"]{0,2000}\"")
_SPLIT = lazy(r"\s*(?:&&|\|\||[;|\n])\s*")
_SETTING = lazy(r"^(?:\w+=\S*\s+|sudo\s+|time\s+|timeout\s+\S+\s+|env\s+|nice\s+)+")
_TESTS = lazy(
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|karma|rspec|phpunit|ctest|ava|cypress|playwright"
    r"|go (?:test|vet|build)|gotestsum|cargo (?:test|nextest|check|clippy|build)|golangci-lint"
    r"|(?:npm|pnpm|yarn|bun|deno)(?: run)? (?:test|lint|check|typecheck|type-check|build)[\w:-]*|npx tsc|tsc"
    r"|eslint|biome|prettier --check|ruff|mypy|pyright|flake8|pylint|shellcheck|gofmt -l|tflint"
    r"|(?:make|just|mise run|task|rake|bazel|nx|turbo run) (?:\w+[:-])?"
    r"(?:test|check|lint|build|verify|ci)[\w:-]*"
    r"|(?:\./)?gradlew? \S{0,40}(?:test|check|build)|mvn \S{0,40} ?(?:test|verify|package)"
    r"|dotnet (?:test|build)|swift (?:test|build)|xcodebuild|mix test|bundle exec r)\b"
)
_COMMITS = lazy(r"\bgit\b[^\n|;&]{0,60}?\s(?:commit|merge|cherry-pick|revert|rebase|pull)\b")
_PULLS = lazy(r"\bgh\s+pr\s+(?:create|merge)|\bgit\b[^\n|;&]{0,60}?\spush\b")
_PULL_TITLE = lazy(r"\s(?:--title|-t)[= ]\s*(?:\"((?:[^\"\\\n]|\\.){1,300})\"|'([^'\n]{1,300})')")
_NAME = lazy(r"[^a-z0-9]")
_SCRIPT_COMMAND = lazy(
    r"\b(?:cmd|command)['\"]?\s*:\s*(\[[^\]]{1,2000}\]|\"(?:[^\"\\\n]|\\.){1,4000}\"|`[^`]{1,4000}`)"
)
_QUOTES = lazy(r"(?<!\\)[\"`,\[\]]|\\(?=[\"`])")
MAX_SCRIPT = 20_000


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a tool: its acts, a path for each edit of a file, and what to search its result for."""

    acts: tuple[Act, ...] = ()
    files: tuple[str, ...] = ()
    runs: bool = False
    tests: bool = False
    commits: bool = False
    pulls: bool = False
    pull_title: str = ""
    asks: bool = False
    delegates: bool = False


NOTHING = Call()


def call_of(name: str, arguments: Any, redactor: Redactor) -> Call:
    """Return the description of a tool's call, by the tool's name in any assistant's spelling."""
    plain = name.rpartition("__")[2] or name
    sort = _SORTS.get(_NAME.sub("", plain.lower()))
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    if sort in _LINES:
        deed, names = _LINES[sort]
        described = _describe_call(deed, _first(given, names, redactor=redactor))
        return replace(described, delegates=True) if deed is ActType.DELEGATED else described
    if sort in {"changed", "created", "removed"}:
        return _edit(sort, given, arguments, redactor=redactor)
    if sort == "ran":
        return run(_command(given, arguments), redactor=redactor)
    if sort == "planned":
        return Call(tuple(Act(ActType.PLANNED, text) for text in _plan(given, redactor=redactor)))
    if sort in {"quiet", "asking"}:
        return Call(asks=sort == "asking")
    said = next((value for value in given.values() if isinstance(value, str) and value.strip()), "")
    return _describe_call(ActType.RAN, f"{plain} {said}".strip()) if plain else NOTHING


def run(command: str, redactor: Redactor) -> Call:
    """Return the description of a command: one that only reads, a test, a change or anything else."""
    command = _CD.sub("", command.strip())
    if not command:
        return NOTHING
    if "*** Begin Patch" in command:
        return patch(command)
    first, more, _ = command.partition("\n")
    if more and _HEREDOC.search(first):
        shown = clip(f"{first} …", MAX_LINE, redactor=redactor)
    else:
        # Only the beginning is kept, and a single line of a key does not look like a secret.
        kept = command[: 4 * MAX_LINE + SECRET_REACH]
        shown = clip(sanitize_text(kept, redactor=redactor) if more else kept, MAX_LINE, redactor=redactor)
    if _is_read_only(command):
        return Call((Act(ActType.READ, f"`{shown}`"),))
    tests = bool(_TESTS.search(command[:4000]))
    commits = bool(_COMMITS.search(command[:4000]))
    deed = ActType.TESTED if tests else ActType.RAN
    pulls = bool(_PULLS.search(command[:4000]))
    named = _PULL_TITLE.search(command[:4000]) if pulls else None
    title = clip(sanitize_text(named[1] or named[2], redactor), MAX_LINE, redactor) if named else ""
    acts = (Act(deed, shown),)
    return Call(acts, runs=True, tests=tests, commits=commits, pulls=pulls, pull_title=title)


def patch(text: str) -> Call:
    """Return the description of a patch in Codex's format."""
    acts, files = [], []
    for found in _PATCH_FILE.finditer(text):
        path = (found[2] or found[3]).strip()
        acts.append(Act(ActType.CREATED if found[1] == "Add" else ActType.CHANGED, path))
        files.append(path)
    return Call(tuple(acts), tuple(files))


def script(source: str, redactor: Redactor) -> Call:
    """Return the description of a script that calls tools: its commands and its patches."""
    calls = [
        run(_unquote(found[1]), redactor=redactor) for found in _SCRIPT_COMMAND.finditer(source[:MAX_SCRIPT])
    ]
    if "*** Begin Patch" in source:
        calls.append(patch(source.replace("\\n", "\n")))
    return merge(calls)


def merge(calls: Sequence[Call]) -> Call:
    """Return the description of one call that stands for several."""
    if len(calls) == 1:
        return calls[0]
    return Call(
        tuple(act for call in calls for act in call.acts),
        tuple(path for call in calls for path in call.files),
        runs=any(call.runs for call in calls),
        tests=any(call.tests for call in calls),
        commits=any(call.commits for call in calls),
        pulls=any(call.pulls for call in calls),
        delegates=any(call.delegates for call in calls),
    )


def _unquote(written: str) -> str:
    """Return a command of a script without the quotes of its language."""
    return " ".join(_QUOTES.sub("", written).split()) if written.startswith("[") else _QUOTES.sub("", written)


def _edit(sort: str, given: Mapping[str, Any], arguments: Any, redactor: Redactor) -> Call:
    written = (
        arguments
        if isinstance(arguments, str)
        else next((given[key] for key in ("input", "patch", "diff") if isinstance(given.get(key), str)), "")
    )
    if "*** " in written:
        return patch(written)
    path = _first(given, _PATHS, whole=True, redactor=redactor)
    if not path or "\n" in path:
        return NOTHING
    return Call((Act(ActType.CREATED if sort == "created" else ActType.CHANGED, path),), (path,))


def _describe_call(deed: ActType, text: str) -> Call:
    return Call((Act(deed, text),)) if text else NOTHING


def _first(
    given: Mapping[str, Any], names: tuple[str, ...], *, whole: bool = False, redactor: Redactor
) -> str:
    for name in names:
        value = given.get(name)
        if isinstance(value, list) and value and isinstance(value[0], str):
            value = value[0]
        if isinstance(value, str) and value.strip():
            return value.strip() if whole else clip(value, MAX_LINE, redactor=redactor)
    return ""


def _command(given: Mapping[str, Any], arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    for name in _COMMANDS:
        value = given.get(name)
        if isinstance(value, list):
            # A shell takes its command line as the last argument: ["bash", "-lc", "…"].
            words = [word for word in value if isinstance(word, str)]
            return words[-1] if len(words) > 2 and words[1].startswith("-") else " ".join(words)
        if isinstance(value, str):
            return value
    return ""


def _plan(given: Mapping[str, Any], redactor: Redactor) -> list[str]:
    """Return the texts of a plan: the whole plan, or each of its items."""
    for name in ("plan", "todos", "items"):
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return [value.strip()]
        if isinstance(value, list):
            said = (
                _first(item, ("content", "step", "description", "text", "title"), redactor=redactor)
                for item in value
                if isinstance(item, dict)
            )
            return [text for text in said if text]
    subject = _first(given, ("subject", "title", "overview", "description"), redactor=redactor)
    return [subject] if subject else []


def _is_read_only(command: str) -> bool:
    """Return whether all parts of a command only read."""
    command = _IN_QUOTES.sub("'…'", command[:4000])
    if _WRITES.search(command):
        return False
    for part in _SPLIT.split(command):
        words = _SETTING.sub("", part.strip(" ()\t")).split()
        if not words:
            continue
        program = words[0].rpartition("/")[2]
        if program in _LOOKS_OF:
            named = next((word for word in words[1:] if not word.startswith("-") and "/" not in word), "")
            if named not in _LOOKS_OF[program]:
                return False
        elif program not in _LOOKS:
            return False
    return True
