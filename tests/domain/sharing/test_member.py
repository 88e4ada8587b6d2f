import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.sharing.member import is_member, member_of


@pytest.mark.parametrize("name", ["a", "ann", "ann-1a2b3c", "0x", "a.b_c-d", "x" * 64])
def test_an_id_of_a_member_is_one(name):
    assert is_member(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Ann",
        "-a",
        ".a",
        "a..b",
        "a.lock",
        "a.",
        "a/b",
        "../a",
        "a b",
        "ä",
        "a\n",
        "x" * 65,
        "a@{1}",
        "refs/x",
    ],
)
def test_a_name_that_git_or_a_path_could_misread_is_no_member(name):
    assert not is_member(name)


@given(st.emails() | st.text(max_size=90))
def test_every_address_gives_a_member(email):
    name = member_of(email)

    assert is_member(name) == bool(email.strip())


def test_the_same_local_part_at_two_hosts_is_two_members():
    assert member_of("Ann.Lee@one.example") == member_of(" ann.lee@ONE.example ")
    assert member_of("ann.lee@one.example").startswith("ann.lee-")
    assert member_of("ann.lee@one.example") != member_of("ann.lee@two.example")
