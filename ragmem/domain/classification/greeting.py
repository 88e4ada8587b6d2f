"""Recognize a text that only greets, thanks or agrees, and a bare order."""

import re

from ragmem.patterns import lazy

MAX_GREETING_CHARS = 200
"""A longer text has content even if it is polite."""

MAX_ORDER_CHARS = 60

_OPENERS = """
hi hello hey hiya greetings morning evening thanks thank thx ty cheers welcome ok okay great perfect awesome
excellent nice cool sure yes yep yeah understood done bye goodbye congratulations lgtm sorry
"""
_FILLERS = """
good day afternoon night there all everyone everybody team folks guys friend again you u so very much a lot
for the your help and to i me my we it its it's that's that is this was really job work works well sounds
looks got see soon later tomorrow today have having how are doing hope fine please appreciate appreciated no
problem worries just now back happy glad ready start let's go of course absolutely exactly right
"""
_ORDERS = """
continue proceed go ahead next do it that them this both all fix run start again retry resume ship commit push
merge approve approved accept finish keep going carry on the and then now just option number first second
third one two three a b c y n weiter mach fertig los genau ja nein bitte oui continuer vas-y si sigue
adelante no procede prosigue hazlo dale prossiga prosseguir try
继续 开始 好的 可以 是的 执行 提交
続けて 続けてください はい お願いします
進めてください
"""
_GREETING_OPENERS = frozenset(_OPENERS.split())
_GREETING_WORDS = _GREETING_OPENERS | frozenset(_FILLERS.split())
_ORDER_WORDS = _GREETING_WORDS | frozenset(_ORDERS.split())
_BUTTON = lazy(
    r"@agent (?:try again|continue|enable)\b[^\n]*"
    r"|implement the plan as specified, it is attached for your reference\b.{0,600}",
    re.DOTALL | re.IGNORECASE,
)
"""What a button of VS Code or Cursor writes in the name of the person."""

_WORD = lazy(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")  # noqa: RUF001


def is_greeting(text: str) -> bool:
    """Return whether the whole text is a greeting, a thank-you, a farewell or an acknowledgement.

    It is when it has at most 200 characters, at least one word that opens such a text ("hello", "thanks",
    "ok"), and otherwise only such words and the small words between them. A text that greets and then says
    something is not a greeting; neither is a text without words.
    """
    stripped = text.strip()
    if len(stripped) > MAX_GREETING_CHARS:
        return False
    words = [word.lower().replace("’", "'") for word in _WORD.findall(stripped)]  # noqa: RUF001
    return any(word in _GREETING_OPENERS for word in words) and _GREETING_WORDS.issuperset(words)


def is_order(text: str) -> bool:
    """Return whether the whole text is a bare order: "continue", "ship it", "yes, do both", "1".

    It has at most 60 characters and only words of such orders and numbers, or a button of a program wrote it.
    """
    stripped = text.strip()
    if _BUTTON.fullmatch(stripped):
        return True
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(stripped)]
    return (
        bool(words)
        and len(stripped) <= MAX_ORDER_CHARS
        and all(word.isdecimal() or word in _ORDER_WORDS for word in words)
    )
