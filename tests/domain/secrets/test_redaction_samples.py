"""Shapes that the rules were not made from lose their secrets as well."""

from ragmem.domain.secrets.redaction import DEFAULT, find_secrets
from ragmem.inbox.redaction import may_hold_a_secret
from tests.domain.secrets.secret_samples import halves

HALF_A, HALF_B = halves()


def kept(samples):
    """Return the shapes of the samples of whose secret something is left."""
    return [one.shape for one in samples if any(part in DEFAULT.redact(one.text)[0] for part in one.core)]


def test_no_shape_of_the_half_that_was_looked_at_is_kept():
    assert kept(HALF_A) == []


def test_few_shapes_of_the_half_that_was_not_looked_at_are_kept():
    # Only their number is told: whoever reads their names would make rules for them.
    number = len(kept(HALF_B))
    assert number <= 10


def test_the_inbox_looks_at_each_text_in_which_one_is_found():
    assert all(may_hold_a_secret(one.text) for one in (*HALF_A, *HALF_B) if find_secrets(one.text))


def test_each_sample_holds_its_secret():
    for one in (*HALF_A, *HALF_B):
        assert any(part in one.text for part in one.core), one.shape
