"""Errors of the operating system become errors of ragmem."""

import pytest

from ragmem.errors import SourceError, StorageError, os_errors_as


def test_an_error_of_the_system_says_what_cannot_be_done_and_why(tmp_path):
    with (
        pytest.raises(SourceError, match=r'^cannot read "a": no such file or directory$') as raised,
        os_errors_as(SourceError, 'read "a"', hint="look for it"),
    ):
        (tmp_path / "a").read_text()

    assert raised.value.hint == "look for it"
    assert isinstance(raised.value.__cause__, FileNotFoundError)


def test_other_errors_pass_unchanged():
    with pytest.raises(KeyError), os_errors_as(StorageError, 'write "a"'):
        raise KeyError("a")
