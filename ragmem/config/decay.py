"""decay.json: the weights, half-lives and floor of the ranking."""

from collections.abc import Sequence
from typing import Any

from ragmem.config.documents import Document, Key
from ragmem.config.sections import from_variable
from ragmem.config.settings import Origin
from ragmem.config.values import Rule, check, nearest
from ragmem.config.variables import Variables
from ragmem.domain.model import Kind
from ragmem.domain.model.decay import Decay
from ragmem.errors import ConfigError

_WEIGHT = Rule("a number of at least 0", low=0)
_HALF_LIFE = Rule("a number of days above 0", low=0)
_SHARE = Rule("a number between 0 and 1", low=0, high=1)
_KEYS: dict[Key, Rule] = {
    ("weights", "semantic"): _WEIGHT,
    ("weights", "recency"): _WEIGHT,
    **{("half_lives_days", kind.value): _HALF_LIFE for kind in Kind},
    ("min_score_threshold",): _SHARE,
    ("bound",): _SHARE,
    ("fresh_share",): _SHARE,
    ("fresh_days",): _HALF_LIFE,
}


def read_decay(documents: Sequence[Document], variables: Variables) -> tuple[Decay, list[Origin]]:
    """Return the policy and where each key was set; later documents override earlier ones key by key.

    Raises ConfigError for an unknown key or kind and for numbers that Decay refuses.
    """
    values: dict[Key, tuple[float, str]] = {}
    for document in documents:
        _lay_over(values, document)
    for key, rule in _KEYS.items():
        if override := variables.find("decay", *key):
            values[key] = from_variable(*override, 0.0, rule), override[0]
    named: dict[Key, float] = {key: value for key, (value, _) in values.items()}
    try:
        policy = Decay(
            semantic_weight=named["weights", "semantic"],
            recency_weight=named["weights", "recency"],
            half_lives_days={kind: named["half_lives_days", kind.value] for kind in Kind},
            min_score=named["min_score_threshold",],
            bound=named["bound",],
            fresh_share=named["fresh_share",],
            fresh_days=named["fresh_days",],
        )
    except KeyError as error:
        raise _refusal(documents, error.args[0], f"{'.'.join(error.args[0])} is missing") from error
    except ValueError as error:
        culprit = next((key for key in _KEYS if str(error).startswith(".".join(key))), ("weights",))
        origin = values.get(culprit, (0, ""))[1]
        if origin.startswith("RAGMEM_"):
            raise ConfigError(f"the variable {origin}: {error}", hint=_KEYS[culprit].about) from error
        raise _refusal(documents, culprit, str(error)) from error
    return policy, [Origin(f"decay.{'.'.join(key)}", *values[key]) for key in _KEYS]


def _lay_over(values: dict[Key, tuple[float, str]], document: Document) -> None:
    for key, value in _flat(document):
        if key not in _KEYS:
            siblings = [known[-1] for known in _KEYS if known[:-1] == key[:-1]]
            what = "kind" if key[0] == "half_lives_days" else "key"
            raise document.error(f'unknown {what} "{key[-1]}"', *key, hint=nearest(key[-1], siblings))
        try:
            values[key] = check(value, 0.0, _KEYS[key]), document.origin(*key)
        except ValueError as error:
            raise document.error(f"{'.'.join(key)} {error}", *key, hint=_KEYS[key].about) from error


def _flat(document: Document) -> list[tuple[Key, Any]]:
    tables = {key[0] for key in _KEYS if len(key) > 1}
    top_level = dict.fromkeys(key[0] for key in _KEYS)
    flat: list[tuple[Key, Any]] = []
    for name, value in document.values.items():
        document.require_known(top_level, name)
        if name not in tables:
            flat.append(((name,), value))
        elif isinstance(value, dict):
            flat += [((name, key), number) for key, number in value.items()]
        else:
            raise document.error(f'"{name}" must be an object', name, hint=f'"{name}": {{...}}')
    return flat


def _refusal(documents: Sequence[Document], key: Key, problem: str) -> ConfigError:
    document = next(
        (item for item in reversed(documents) if item.lines.keys() & {key, key[:1]}), documents[-1]
    )
    return document.error(problem, *key, hint=_KEYS[key].about if key in _KEYS else "")
