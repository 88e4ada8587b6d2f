"""The variables that belong to no file, for the man page and for docs/configuration.md."""

from dataclasses import dataclass

from ragmem.client.runtime import SWITCH as WARM
from ragmem.config.hook_defaults import SWITCH as HOOKS
from ragmem.config.offline import VARIABLE as OFFLINE
from ragmem.config.places import HOME_VARIABLE
from ragmem.config.variables import SESSION_VARIABLE


@dataclass(frozen=True, slots=True)
class Variable:
    """Variables of one meaning, which begins in lower case; `page` is the one in docs that says more."""

    names: tuple[str, ...]
    meaning: str
    page: str = ""


VARIABLES = (
    Variable(
        (HOME_VARIABLE,),
        "one folder for everything, with the subfolders `config`, `data`, `state` and `cache`",
    ),
    Variable(
        (OFFLINE,),
        "`1` refuses all connections to other machines, like `--offline`",
        "models.md",
    ),
    Variable((HOOKS,), "`off` makes every hook exit immediately without doing anything", "hooks.md"),
    Variable((WARM,), "`off` neither starts nor uses the warm process", "serve.md"),
    Variable(
        (SESSION_VARIABLE,),
        "the session that a command runs in, like `--session`; assistants set it",
    ),
    Variable(
        ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
        f"the four folders if {HOME_VARIABLE} is not set; `ragmem` is appended to each, also on macOS",
    ),
    Variable(
        ("CLAUDE_CONFIG_DIR", "CODEX_HOME"),
        "folders of these assistants, if not the default ones",
    ),
    Variable(("NO_COLOR", "FORCE_COLOR"), "disable or force colours"),
    Variable(
        ("HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT", "HF_TOKEN"),
        "the cache to search for models; for `ragmem models pull`, another hub and a token",
    ),
    Variable(
        ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"),
        "where `ragmem seed --expect FILE --github` writes, and the base of its paths",
        "ci.md",
    ),
)
