"""Secrets are found in every dress, and looking quickly misses none that looking slowly finds."""

import re
import string
from base64 import b64encode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragmem.domain.secrets.names import NAMES
from ragmem.domain.secrets.redaction import DEFAULT, Redactor, find_secrets
from ragmem.domain.secrets.token_formats import RUN, TOKEN_FORMATS, find_known_formats
from ragmem.domain.secrets.values import has_mixed_characters, is_placeholder
from ragmem.domain.secrets.words import names_in, with_letters
from ragmem.inbox.redaction import may_hold_a_secret
from tests.domain.secrets.test_redaction import ASSIGNED, HEX, KEYS, STAY, made

redact = DEFAULT.redact

ABC = string.ascii_lowercase + string.digits
VALUE, PASSWORD = made(24), "Winter" + "2024!"
ENCODED = "aHVudGVyLXR3by13b3Jkcy1sb25n"
MANIFEST = f"kind: Secret\nmetadata:\n  name: quay\ndata:\n  login: {ENCODED}\n"

DRESSED = [
    ("Server=h;Database=a;User Id=sa;Password=Sh0rt;", "Sh0rt"),
    (f"jdbc:sqlserver://h:1433;user=sam;password={PASSWORD};encrypt=true", "Winter"),
    (f"jdbc:postgresql://h/db?user=sam&password={PASSWORD}", "Winter"),
    (f'{{\\"api_key\\": \\"{VALUE}\\"}}', VALUE),
    (f'{{\\\\"password\\\\": \\\\"{PASSWORD}\\\\"}}', "Winter"),
    ("password%3DWinter2024%21", "Winter"),
    (f"| DB password | {PASSWORD} |", "Winter"),
    (f"| api key | `{VALUE}` |", VALUE),
    (f"the password is {PASSWORD} for now", "Winter"),
    (f"set the token to {VALUE}", VALUE),
    (f"Cookie: sid={VALUE}; theme=dark", VALUE),
    (f"Set-Cookie: login={VALUE}; HttpOnly", VALUE),
    (f"https://x.example.net/c/f?sv=2020&sig={made(43)}%3D&se=1", made(43)),
    (f"https://x.example.net/k?X-Amz-Signature={made(64, HEX)}&x=1", made(64, HEX)),
    (f"machine h.org\n  login sam\n  password {PASSWORD}", "Winter"),
    (f"db.x.org:5432:app:sam:{PASSWORD}", "Winter"),
    (f"//registry.npmjs.org/:_authToken={VALUE}", VALUE),
    (f'"auth": "{made(40)}"', made(40)),
    (MANIFEST, ENCODED),
    (f"AccountKey={made(86)}==;EndpointSuffix=x", made(86)),
    (f"abc8Q~{made(34)}", made(34)),
    (f"HARBOUR_TOKEN={made(40, HEX)}", made(40, HEX)),
    (f'<add key="Password" value="{PASSWORD}"/>', "Winter"),
    (f"mysql -uroot -p{PASSWORD}", "Winter"),
    (f"redis-cli -h cache -a {PASSWORD}", "Winter"),
    (f"connect.sid=s%3A{made(32)}.{made(43)}", made(32)),
    (f"password = '{PASSWORD}", "Winter"),
    (f"{made(32, HEX)}-us12", made(32, HEX)),
    (f'setx API_TOKEN "{VALUE}"', VALUE),
    (f"ENV API_TOKEN {VALUE}", VALUE),
    (f"set -gx API_TOKEN {VALUE}", VALUE),
    (f'#define API_KEY "{VALUE}"', VALUE),
    (f'ConvertTo-SecureString -String "{VALUE}" -AsPlainText', VALUE),
    (f"Connect-Quay -UserName sam -Password {VALUE}", VALUE),
    (f'SetEnvironmentVariable("DB_PASSWORD", "{VALUE}", "User")', VALUE),
    (f"os.environ.get('API_KEY', '{VALUE}')", VALUE),
    (f"define('DB_PASSWORD', '{VALUE}');", VALUE),
    (f"process.env.SECRET_KEY || '{VALUE}'", VALUE),
    (f'const apiKey: string = "{VALUE}";', VALUE),
    (f'let api_key: &str = "{VALUE}";', VALUE),
    (f"password=b'{PASSWORD}'", "Winter"),
    (f"api_key=SecretStr('{VALUE}')", VALUE),
    (f"  - name: DB_PASSWORD\n    value: {VALUE}", VALUE),
    (f'{{"name": "API_TOKEN", "value": "{VALUE}"}}', VALUE),
    (f'{{\\"name\\":\\"API_TOKEN\\",\\"value\\":\\"{VALUE}\\"}}', VALUE),
    (f"CREATE USER 'app'@'%' IDENTIFIED BY '{VALUE}';", VALUE),
    (f"ALTER ROLE app WITH PASSWORD '{VALUE}';", VALUE),
    (f"requests.get(url, auth=('sam', '{PASSWORD}'))", "Winter"),
    (f"echo 'root:{PASSWORD}' | chpasswd", "Winter"),
    (f"echo '{PASSWORD}' | sudo -S apt update", "Winter"),
    (f"echo {PASSWORD} | docker login -u sam --password-stdin quay.example.net", "Winter"),
    (f"docker login -u sam -p {PASSWORD} quay.example.net", "Winter"),
    (f"net use Z: \\\\quay\\share /user:HARBOUR\\sam {PASSWORD} /persistent:yes", "Winter"),
    (f"NET USE \\\\quay\\share /USER:sam@harbour.example '{PASSWORD}'", "Winter"),
    (f'net use * "\\\\quay\\tide tables" {PASSWORD} /user:sam', "Winter"),
    (f'{{"command": "net use \\\\\\\\quay\\\\share /user:sam {PASSWORD}\\n"}}', "Winter"),
    (f"htpasswd -b /etc/nginx/.htpasswd sam {PASSWORD}", "Winter"),
    (f"htpasswd -cbB -C 10 users sam '{PASSWORD}'", "Winter"),
    (f"docker run --rm --entrypoint htpasswd httpd:2 -Bbn sam {PASSWORD} > users", "Winter"),
    (f"password: |\n  {PASSWORD}", "Winter"),
    (f"db:\n  password: >-\n    {PASSWORD}\n  port: 1", "Winter"),
    (f"stringData:\n    client-secret: |-\r\n        {VALUE}\r\n    name: quay", VALUE),
    (f'"api_key": |+  \n  {VALUE}\n\nname: quay', VALUE),
    (f'{{"text": "password: |\\n  {PASSWORD}\\n"}}', "Winter"),
    (f"openssl enc -d -pass pass:{VALUE} -in f", VALUE),
    (f'gh secret set API_KEY --body "{VALUE}"', VALUE),
    (f"aws configure set aws_secret_access_key {made(40)}", made(40)),
    (f'gh secret set DEPLOY --body "{VALUE}"', VALUE),
    (f'aws ssm put-parameter --name /db --value "{PASSWORD}" --type SecureString', "Winter"),
    (f"az keyvault secret set --name db --value {PASSWORD}", "Winter"),
    (f"fly secrets set QUAY={PASSWORD}", "Winter"),
    (f"wandb login {made(40, HEX)}", made(40, HEX)),
    (f'cohere.Client("{made(40)}")', made(40)),
    (f'{{"username":"sam","key":"{made(32, HEX)}"}}', made(32, HEX)),
    (f"curl -b 'login={VALUE}; theme=dark' https://x.example.net", VALUE),
    ("docker login -u sam -p qPROczhRzQCRa quay.example.net", "qPRO"),
    ('QUAY_PASSWORD="fairly long otter phrase"', "otter"),
    (f"APP_KEY=base64:{made(43)}=", made(43)),
    (f"https://hooks.zapier.com/hooks/catch/1234567/{made(7, ABC)}/", made(7, ABC)),
    (f"x.example.net\tTRUE\t/\tTRUE\t1999999999\tsession_token\t{VALUE}", VALUE),
    (f"Passwort: {PASSWORD}", "Winter"),
    (f'psk="{VALUE}"', VALUE),
    (f"kubeadm join h:6443 --token {made(6, ABC)}.{made(16, ABC)}", made(16, ABC)),
    (f"Authorization: SSWS 00{made(40)}", made(40)),
    (f"mongodb+srv://sam:p@{VALUE}#1@cluster.example.net/", VALUE),
    (f"https://sam:{PASSWORD}@…", "Winter"),
    (f"\x1b[36mAPI_KEY\x1b[0m=\x1b[33m{VALUE}\x1b[0m", VALUE),
    (f'\\u001b[34;1m\\"password\\"\\u001b[0m: \\u001b[0;32m\\"{PASSWORD}\\"\\u001b[0m', "Winter"),
    (f"\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K{made(36)}", made(36)),
    (b64encode(f"DB_PASSWORD={VALUE}\nPORT=1\n".encode()).decode(), b64encode(VALUE.encode()).decode()[4:-4]),
    (b64encode(f"$env:API_TOKEN = '{VALUE}'".encode("utf-16-le")).decode(), "JABlAG4Adg"),
    (b64encode(f"-----BEGIN RSA PRIVATE KEY-----\n{made(64)}\n".encode()).decode(), "LS0tLS1CRUdJTiBSU0Eg"),
    (f"{made(64)}\n{made(64)}\n-----END RSA PRIVATE KEY-----", made(64)),
]


@pytest.mark.parametrize(("text", "secret"), DRESSED)
def test_a_secret_is_found_in_every_dress(text, secret):
    for around in ("{}", "before\n{}\nafter", "> {}"):
        told, count = redact(around.format(text))
        assert count, around
        assert secret not in told, around


@pytest.mark.parametrize(
    "text",
    [
        "The code is in /home/user/dev/TidePool1Shell.",
        r"cd C:\Users\user/work/Harbour2Board",
        '"sessionId":"agent-a0ad4f44468bdf20d"',
        '"session_id": "123e4567-e89b-12d3-a456-426614174000"',
        "CACHE_KEY=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "the password is required8 and is stored nowhere",
        "| password | varchar255x |",
        "def sign(sig=Signature2Value1x9):",
        "kind: ConfigMap\ndata:\n  name: aHVudGVyLXR3by13b3Jkcy1sb25n\n",
        "src/quay.py:5432:app:error:something",
        "the token is [redacted: GitHub token]",
        "parser.add_argument('--token', 'how it is known')",
        "getattr(settings, 'api_key', 'PROJECT_DEFAULT_KEY')",
        "- name: sort_key\n  value: created_at_then_id",
        "def login(password: Annotated[str, 'Password8'] = None):",
        "the key 3f786850e387550fdab836ed7e6dc881de23001b of the commit",
        "\x1b[32mtoken\x1b[0m: \x1b[1mparse_token_stream\x1b[0m",
        b64encode(b"The tide table of the quay loads in 40 ms now.").decode(),
        "echo 'Winter2024' | grep -c tide",
        "password: [redacted: password]",
        "net use Z: \\\\quay\\share /user:sam *",
        "net use Z: \\\\quay\\share /user:sam %SHARE_PASSWORD1%",
        "net use Z: \\\\quay\\share2024Tide /user:HARBOUR1x\\Sam2024x /persistent:yes",
        "net use Z: \\\\quay\\share /delete\nQuay2Harbour",
        "with net use and /user:sam it mounts the share, then restarts quay2Harbour",
        "Inter net use of /user:names in Berths2024x",
        "htpasswd -c /etc/nginx/users2024Tide Sam2024x",
        "htpasswd -n Sam2024x",
        "htpasswd -B users2024Tide Sam2024x",
        "htpasswd -b users2024Tide Sam2024x $PASSWORD",
        "htpasswd -b FILE USER PASSWORD",
        "htpasswd -b takes the password from the command line; htpasswd -i reads it",
        "htpasswd -vb users2024Tide Sam2024x | grep Tide2024xB",
        "password: |\n  changeme-2024X!",
        "password: |\n  {{ vault.db_password1 }}",
        "description of the password: |\n  Sommer2024X!a is how they all looked",
        "password: |\nSommer2024X!a",
        "cache_key: |\n  v1-Deps2024-Linux9x!a",
        "key: |\n  Deps2024x-Linux9x!aB",
        "public_key: |\n  MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
        "secret: |\n  metadata-of-quay-2024",
    ],
)
def test_what_only_stands_beside_a_telling_name_stays(text):
    assert redact(text) == (text, 0)


def slowly(text):
    """Find the shapes by trying every place of a text."""
    found = set()
    for shape in TOKEN_FORMATS:
        for place in range(len(text)):
            begin = next((lead for lead in shape.begins if text.startswith(lead, place)), None)
            glued = place and re.match(r"[A-Za-z0-9]", text[place - 1]) and begin and begin[0].isalnum()
            match = shape.pattern.match(text, place) if begin and not glued else None
            if (
                match
                and not is_placeholder(match.group())
                and (shape.sure or has_mixed_characters(match.group()))
            ):
                found.add((shape.kind, match.end()))
    return found


LEADS = [lead for shape in TOKEN_FORMATS for lead in shape.begins]
PIECES = st.one_of(
    st.sampled_from([*KEYS.values(), *LEADS, "é", "_", "-", ".", "/", " ", "\n", "'", "="]),
    st.text(string.ascii_letters + string.digits + "_-.", min_size=4, max_size=48),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_looking_quickly_finds_every_shape_that_looking_slowly_finds(text):
    raw = text.encode("ascii", "replace")
    quickly = {(one.kind, one.end) for one in find_known_formats(text, raw, raw.lower())}
    assert slowly(text) <= quickly


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([shape for shape in TOKEN_FORMATS if not shape.wide]))
def test_each_shape_that_is_not_wide_has_a_long_run(data, shape):
    sample = data.draw(st.from_regex(shape.pattern, fullmatch=True))
    assert re.search(rf"[A-Za-z0-9_-]{{{RUN}}}", sample)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from([*KEYS.values(), *ASSIGNED, *STAY]), st.text(max_size=12))).map(
        " ".join
    )
)
def test_a_text_with_a_secret_is_one_that_the_inbox_looks_at(text):
    assert may_hold_a_secret(text) or not find_secrets(text)


def test_the_inbox_looks_at_every_name_and_every_wide_shape():
    assert all(may_hold_a_secret(name.decode()) for name in NAMES)
    wide = {lead for shape in TOKEN_FORMATS if shape.wide for lead in shape.begins}
    # What follows these has a long run itself.
    runs = {"s.", "st.", ".make.com/", "appid=", "APPID=", "base64:", "prod:", "dev:", "preview:", "project:"}
    assert all(map(may_hold_a_secret, wide - runs))
    assert all(may_hold_a_secret(text) for text, _ in DRESSED)
    assert not may_hold_a_secret("The tide table of the quay loads in 40 ms now.")


def test_a_key_that_was_cut_is_found_whatever_stands_behind_it():
    key = KEYS["PEM, cut off"]
    (found,) = find_secrets(f"{key}\n{'0' * 16}")
    assert (found.start, found.kind) == (0, "private key")
    assert found.end >= len(key)


@pytest.mark.parametrize("kind", ["npm token", "password", "enable password", "private key"])
@pytest.mark.parametrize("text", ["{}\n0001;a", "see {}:\n\nhunter2x9Q!\n", "| {} |\n| --- |\n| 0001;a |"])
def test_the_kind_of_a_mark_is_no_label_of_what_stands_below(kind, text):
    assert find_secrets(text.format(f"[redacted: {kind}]")) == []


@settings(max_examples=60, deadline=None)
@example("npm", "", "0001;a")
@given(st.sampled_from(sorted(KEYS)), st.text(max_size=40), st.text(max_size=40))
def test_nothing_changes_but_the_secrets_themselves(name, before, after):
    text = f"{before}\n{KEYS[name]}\n{after}"
    secrets = find_secrets(text)
    told = redact(text)[0]
    assert any(KEYS[name][-12:] in text[one.start : one.end] for one in secrets)
    at = 0
    for one in secrets:
        assert text[at : one.start] in told
        at = one.end
    assert told.endswith(text[at:])


LETTERS = [*string.ascii_letters, *" _-.:=\n0", "é", *(name.decode() for name in NAMES)]


@given(parts=st.lists(st.sampled_from(LETTERS), max_size=40))
def test_a_name_that_a_text_has_is_never_ruled_out(parts):
    small = "".join(parts).encode("ascii", "replace").lower()
    assert set(names_in(small, with_letters(NAMES))) >= {name for name in NAMES if name in small}


def test_a_name_that_is_sought_later_is_found_in_a_text_that_was_searched_before():
    small = b"the xyzzyplugh is here"
    assert names_in(small, with_letters([b"password"])) == []
    assert names_in(small, with_letters([b"xyzzy", b"the xyzzy"])) == [b"xyzzy", b"the xyzzy"]


def test_what_one_home_allows_is_a_secret_in_another():
    text = f"password: {PASSWORD}"
    lenient = Redactor(allow=("Winter.*",))
    assert [redactor.redact(text)[1] for redactor in (DEFAULT, lenient, DEFAULT)] == [1, 0, 1]
    assert Redactor(extra=("swordfish",)).redact("a swordfish")[1] == 1
    assert DEFAULT.redact("a swordfish")[1] == 0
