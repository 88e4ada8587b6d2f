"""Cues of sentences worth injecting: pitfalls, rules, decisions, causes, fixes, corrections."""

import re

_LESSON = re.compile(
    r"\b(?:never|always|must(?:n't| not)?|shall not|do not|don't|gotchas?|pitfalls?|caveats?|beware|careful"
    r"|watch out|traps?|root cause|because|instead of|only (?:if|when|after|works?)|unless|decided|decision"
    r"|chose|chosen|silently|work ?arounds?|otherwise|avoid|race condition|deadlock|regression|rather than"
    r"|wrong\w*|breaks?|broke(?:n)?"
    r"|niemals|immer|entschieden|weil|statt|jamais|toujours|parce que|nunca|siempre|porque)\b",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"\b(?:do(?:es)? not|doesn't|didn't|can(?:not|'t)|won't|isn't|aren't|bugs?|crash\w*|fix(?:ed|es)?|instead"
    r"|reject\w*|fail(?:s|ed|ure)?|warning|important|note that|prefer\w*|stale|mistake|remember|require[sd]?"
    r"|needs? to|nicht)\b",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"\b(?:fix(?:ed|es)?\b|resol(?:ved?|ution)\b|solved?\b|solution|work ?arounds?|(?:root )?cause\b|because"
    r"|caused by|due to|instead|needs? to\b|must(?: be)?\b|use(?: the)? |set |add(?:ed)? |replac(?:ed?|ing)\b"
    r"|chang(?:ed|e) |pin(?:ned)? |upgrad\w+|downgrad\w+|install(?:ed)? |remov(?:ed?|ing) |switch(?:ed)? "
    r"|rais(?:ed?|ing) |export |run `|turned out|now works?|works now"
    r"|behoben|gel\u00f6st|ursache|l\u00f6sung|corrig\w+|r\u00e9sol\w+|soluci\w+|causas?\b|solu\u00e7\w+|corre[\u00e7g]\w+"
    r"|resolvid\w+|risol\w+|soluzion\w+|oorzaak|opgelost|oplossing|przyczyn\w+|rozwi\u0105z\w+|napraw\w+"
    r"|\u043f\u0440\u0438\u0447\u0438\u043d\w+|\u0438\u0441\u043f\u0440\u0430\u0432\w+|\u0440\u0435\u0448\u0435\u043d\w+)"
    "|\u539f\u56e0|\u89e3\u6c7a|\u89e3\u51b3|\u4fee\u6b63|\u4fee\u590d|\u4fee\u5fa9|\u5bfe\u7b56|\u5bfe\u51e6|\u56de\u907f|\uc6d0\uc778|\ud574\uacb0|\uc218\uc815",
    re.IGNORECASE,
)
"""Words of a fix or a cause, also in other languages; Chinese, Japanese and Korean ones have no bounds."""

_CORRECTION = re.compile(
    r"^\W{0,3}(?:no\b|nope|nein|non\b|wrong|stop|wait|that'?s (?:not|wrong)|this is (?:not|wrong)|not what"
    r"|don'?t|do not|revert|undo|why (?:did|are|do) you|actually"
    r"|you (?:forgot|broke|missed|should|removed|deleted|still|again))"
    r"|\b(?:never (?!mind)|from now on|please don'?t|should(?:n'?t| not) |that'?s wrong|is wrong"
    r"|you (?:forgot|broke|missed|shouldn'?t)|instead of|not like (?:this|that)"
    r"|revert (?:this|that|it|the))",
    re.IGNORECASE,
)
_ACTION = re.compile(
    r"\s*(?:[-*]\s+)?(?:Looked at|Searched for|Handed on|Changed|Wrote|Ran|Tested with|Committed|Reported"
    r"|Failed(?=:))\b"
)
_QUOTED = re.compile(r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"", re.DOTALL)


def tells_lesson(text: str, *, by_hint: bool = False) -> bool:
    """Return whether a text states a pitfall, a rule, a decision or a cause; quotations do not count.

    With `by_hint` a word that reports of work have as well is enough.
    """
    said = _QUOTED.sub(" ", text)
    return _LESSON.search(said) is not None or (by_hint and _HINT.search(said) is not None)


def tells_fix(text: str) -> bool:
    """Return whether a text says how something was or is to be put right; what it quotes does not count."""
    return _FIX.search(_QUOTED.sub(" ", text)) is not None


def is_correction(text: str) -> bool:
    """Return whether a person corrects an assistant in a text."""
    return _CORRECTION.search(text) is not None


def is_action(text: str) -> bool:
    """Return whether a line of an exchange lists what the assistant did."""
    return _ACTION.match(text) is not None
