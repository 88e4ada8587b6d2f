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
        (HOME_VARIABLE,), "one folder for everything: `config`, `data`, `state` and `cache` lie below it"
    ),
    Variable(
        (OFFLINE,),
        "with `1` every connection to another machine is refused, as with `--offline`",
        "models.md",
    ),
    Variable((HOOKS,), "with `off` every hook ends at once, having done nothing", "hooks.md"),
    Variable((WARM,), "with `off` no process that stays is started or asked", "serve.md"),
    Variable(
        (SESSION_VARIABLE,),
        "the session that a command runs in, as `--session`; assistants set it, people need not",
    ),
    Variable(
        ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
        f"the four folders, where {HOME_VARIABLE} is not set; `ragmem` is added to each, on macOS too",
    ),
    Variable(
        ("CLAUDE_CONFIG_DIR", "CODEX_HOME"),
        "where these assistants keep what is read, if not in the usual folders",
    ),
    Variable(("NO_COLOR", "FORCE_COLOR"), "never, or always, write in colour"),
    Variable(
        ("HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT", "HF_TOKEN"),
        "the cache in which models are looked for; for `ragmem models pull`, another server and a token",
    ),
    Variable(
        ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"),
        "where `ragmem seed --expect FILE --github` writes, and from where paths count",
        "ci.md",
    ),
)
