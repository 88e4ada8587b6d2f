"""The token's file, the headers that carry it, and the names the server answers to."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragmem.errors import ConfigError, StorageError
from ragmem.server.security.auth import carries, load_token, token_path
from ragmem.server.security.origin import Names, is_loopback, same_origin


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    state = tmp_path / "deep" / "state"
    token = load_token(state)
    assert len(token) >= 43
    assert load_token(state) == token
    assert mode(token_path(state)) == 0o600
    assert mode(state) == 0o700
    assert [path.name for path in state.iterdir()] == ["serve.token"]


def test_a_folder_that_was_open_is_closed(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    load_token(state)
    assert mode(state) == 0o700


def test_first_starts_at_the_same_time_agree_on_one_token(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: load_token(tmp_path / "state"), range(16)))
    assert len(tokens) == 1


@pytest.mark.parametrize("bits", [0o644, 0o640, 0o660, 0o604])
def test_a_token_that_others_can_read_is_refused(tmp_path, bits):
    load_token(tmp_path)
    token_path(tmp_path).chmod(bits)
    with pytest.raises(ConfigError, match="others can read") as caught:
        load_token(tmp_path)
    assert "delete it" in caught.value.hint


@pytest.mark.parametrize("content", ["", "short", "a" * 600, "two words " * 8, "ü" * 50])
def test_a_file_that_holds_no_token_is_refused(tmp_path, content):
    path = token_path(tmp_path)
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(ConfigError, match="contains no token"):
        load_token(tmp_path)


def test_a_token_that_is_a_link_is_refused(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(mode=0o600)
    elsewhere.write_text("a" * 43)
    state = tmp_path / "state"
    state.mkdir()
    token_path(state).symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="is a link"):
        load_token(state)


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot keep the token"):
        load_token(tmp_path / "file" / "state")


TOKEN = "s3cret-" * 6


@pytest.mark.parametrize(
    ("headers", "open_"),
    [
        ([(b"authorization", b"Bearer " + TOKEN.encode())], True),
        ([(b"authorization", b"bearer " + TOKEN.encode())], True),
        ([(b"x-api-key", TOKEN.encode())], True),
        ([(b"authorization", b"Bearer wrong"), (b"x-api-key", TOKEN.encode())], True),
        ([], False),
        ([(b"authorization", TOKEN.encode())], False),
        ([(b"authorization", b"Basic " + TOKEN.encode())], False),
        ([(b"authorization", b"Bearer ")], False),
        ([(b"authorization", b"Bearer " + TOKEN.encode()[:-1])], False),
        ([(b"authorization", b"Bearer " + TOKEN.encode() + b"x")], False),
        ([(b"x-api-key", b"\xff\xfe")], False),
        ([(b"cookie", TOKEN.encode())], False),
    ],
)
def test_only_the_whole_token_in_its_header_opens(headers, open_):
    assert carries(headers, TOKEN) is open_


@pytest.mark.parametrize(
    "header", ["localhost", "LocalHost:9622", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:9622"]
)
def test_loopback_names_are_ours(header):
    assert Names("127.0.0.1").knows(header)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "evil.example:127.0.0.1",
        "127.0.0.1.evil.example",
        "127.0.0.1:80:80",
        "user@localhost",
        "localhost/",
        "localhost.",
        "[::1",
        "192.168.1.5",
        "0.0.0.0",
        "localhost evil.example",
    ],
)
def test_other_names_are_foreign(header):
    assert not Names("127.0.0.1").knows(header)


def test_a_remote_server_answers_to_addresses_and_its_name_but_to_no_other():
    names = Names("box.lan", remote=True)
    assert all(names.knows(header) for header in ("10.0.0.7:9622", "[fe80::1]", "box.lan:9622", "localhost"))
    assert not names.knows("evil.example")


def test_a_configured_name_is_ours_and_no_name_beside_it():
    names = Names("127.0.0.1", hosts=("Box.lan",))
    assert all(names.knows(header) for header in ("box.lan", "BOX.LAN:9622", "localhost"))
    assert not any(
        names.knows(header) for header in ("box.lan.", "a.box.lan", "box.lan.evil.example", "10.0.0.7")
    )


def test_loopback_is_told_from_the_rest():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.5", "box.lan", ""))


@pytest.mark.parametrize(
    ("origin", "same"),
    [
        ("http://localhost:9622", True),
        ("https://LOCALHOST:9622", True),
        ("http://localhost:3000", False),
        ("http://127.0.0.1:9622", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("file://localhost:9622", False),
    ],
)
def test_an_origin_is_ours_when_it_is_the_host_asked_for(origin, same):
    assert same_origin(origin, "localhost:9622") is same
