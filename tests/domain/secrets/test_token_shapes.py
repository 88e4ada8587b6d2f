"""The tokens of services are found: a table of what they look like that was made by somebody else."""

import random
import re
import string
from pathlib import Path

import pytest

from ragmem.domain.secrets.redaction import DEFAULT

ALPHABETS = {
    "lower": string.ascii_lowercase,
    "letter": string.ascii_letters,
    "digit": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "hexs": string.hexdigits,
    "low": string.ascii_lowercase + string.digits,
    "cap": string.ascii_uppercase + string.digits,
    "any": string.ascii_letters + string.digits,
    "base32": string.ascii_uppercase + "234567",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
PLACE = re.compile(r"\{(\w+)(?: ([^\s{}]+))? (\d+)\}")
TOLD = 8
"""Letters in a row of the random part of a token that nobody may see."""

EACH = 12


def _tables() -> list[dict[str, str]]:
    text = Path(__file__).with_name("token_shapes.tsv").read_text()
    blocks = [[line for line in block.splitlines() if line[:1] != "#"] for block in text.split("\n\n")]
    return [dict(line.split("\t") for line in block) for block in blocks if block]


ALONE, NAMED = _tables()


def made(shape: str, chooser: random.Random) -> tuple[str, set[str]]:
    """Return a token of a shape, and the pieces of it that tell something."""
    told = set()

    def some(found: re.Match[str]) -> str:
        letters = ALPHABETS[found[1]] + (found[2] or "")
        part = "".join(chooser.choice(letters) for _ in range(int(found[3])))
        told.update(part[at : at + TOLD] for at in range(len(part) - TOLD + 1))
        return part

    return PLACE.sub(some, shape), told


def stored(text: str, told: set[str]) -> bool:
    clean = DEFAULT.redact(text)[0]
    return any(one in clean for one in told)


@pytest.mark.parametrize("what", ALONE)
def test_a_token_is_found_in_a_sentence_by_its_shape(what):
    chooser = random.Random(what)
    tokens = [made(ALONE[what], chooser) for _ in range(EACH)]
    left = [token for token, told in tokens if stored(f"We tried {token} and it answered.", told)]
    assert left == []


# Of those that have no shape a few are, by chance, too much like a word or an id to be taken for random.
@pytest.mark.parametrize("form", ["{upper}={token}", '{{"{name}": "{token}"}}', "{name}: {token}"])
def test_a_token_is_found_behind_its_name(form):
    chooser = random.Random(3)
    left = []
    for what, shape in (ALONE | NAMED).items():
        name = what.replace(" ", "_")
        for _ in range(EACH):
            token, told = made(shape, chooser)
            if stored(form.format(upper=name.upper(), name=name, token=token), told):
                left.append(f"{what}: {token}")
    assert len(left) <= 0.04 * EACH * len(ALONE | NAMED), left


def test_the_table_makes_tokens_that_are_stored_where_nothing_is_redacted():
    token, told = made(ALONE["github pat"], random.Random(1))
    assert token.startswith("ghp_")
    assert len(told) == 36 - TOLD + 1
    assert any(one in token for one in told)
