"""Secrets leave a text; hashes, names and placeholders stay."""

import random
import re
import string
import time
from base64 import b64encode
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragmem.domain.secrets.redaction import DEFAULT, Secret, cover, find_secrets
from ragmem.domain.secrets.search import search
from ragmem.domain.secrets.token_formats import TOKEN_FORMATS

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"

redact, redact_document = DEFAULT.redact, DEFAULT.redact_document


def made(length: int, alphabet: str = LETTERS, seed: int = 7) -> str:
    """Return random letters; made here, so that no file holds what looks like a key."""
    chooser = random.Random(seed)
    return "".join(chooser.choice(alphabet) for _ in range(length))


JWT = ".".join(("eyJ" + made(30), "eyJ" + made(60), made(43)))
PEM = (
    f"-----BEGIN {{0}}PRIVATE KEY-----\n{made(64)}\n{made(64)}\n{made(20)}==\n-----END {{0}}PRIVATE KEY-----"
)

KEYS = {
    "Anthropic": "sk-ant-api03-" + made(93),
    "OpenRouter": "sk-or-v1-" + made(64, HEX),
    "OpenAI, old": "sk-" + made(48),
    "OpenAI, project": "sk-proj-" + made(120, LETTERS + "-_"),
    "GitHub": "ghp_" + made(36),
    "GitHub OAuth": "gho_" + made(36),
    "GitHub app": "ghs_" + made(36),
    "GitHub, fine-grained": "github_pat_" + made(22) + "_" + made(59),
    "GitLab": "glpat-" + made(20),
    "Slack bot": f"xoxb-{made(12, string.digits)}-{made(12, string.digits)}-{made(24)}",
    "Slack app": f"xapp-1-{made(11, string.ascii_uppercase)}-{made(13, string.digits)}-{made(64, HEX)}",
    "Slack webhook": f"https://hooks.slack.com/services/T{made(8)}/B{made(8)}/{made(24)}",
    "Discord webhook": f"https://discord.com/api/webhooks/{made(18, string.digits)}/{made(68)}",
    "Discord bot": f"M{made(23)}.{made(6)}.{made(38)}",
    "AWS": "AKIA" + made(16, string.ascii_uppercase + "234567"),
    "AWS, for a while": "ASIA" + made(16, string.ascii_uppercase + "234567"),
    "Google": "AIza" + made(35),
    "Google OAuth": "ya29." + made(80),
    "Google code": "4/0A" + made(69),
    "Google code in a URL": "4%2F0A" + made(69),
    "JWT": JWT,
    "Stripe": "sk_live_" + made(24),
    "Stripe, restricted": "rk_live_" + made(24),
    "Twilio": "SK" + made(32, HEX),
    "SendGrid": f"SG.{made(22)}.{made(43)}",
    "npm": "npm_" + made(36),
    "PyPI": "pypi-" + made(150, LETTERS + "-_"),
    "ragmem": "ragmem_" + made(43, LETTERS + "-_"),
    "Hugging Face": "hf_" + made(34),
    "Groq": "gsk_" + made(52),
    "DigitalOcean": "dop_v1_" + made(64, HEX),
    "Shopify": "shpat_" + made(32, HEX),
    "Telegram": f"{made(9, string.digits)}:AA{made(33)}",
    "Vault": "hvs." + made(90),
    "PEM": PEM.format("RSA "),
    "PEM, plain": PEM.format(""),
    "PEM, cut off": PEM.format("EC ").rsplit("\n", 1)[0],
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_known_by_its_shape_wherever_it_stands(key):
    pieces = [piece for piece in re.split(r"[-_.\s:/]", key) if len(piece) >= 12]
    for around in ("{}", "run it with {} today", 'export KEY="{}"', "(see {}).", "a\n{}\nb"):
        told, count = redact(around.format(key))
        assert count == 1, around
        assert "[redacted: " in told
        assert not [piece for piece in pieces if piece in told and "PRIVATE" not in piece], around


VALUE = made(24)
ASSIGNED = [
    f"API_KEY={VALUE}",
    f'api_key = "{VALUE}"',
    f"'clientSecret': '{VALUE}',",
    f'{{"access_token":"{VALUE}"}}',
    f"aws_secret_access_key = {made(40, LETTERS + '/+')}",
    f"auth_token: {made(32, HEX)}",
    f"HEROKU_API_KEY={made(8, HEX)}-{made(4, HEX)}-{made(4, HEX)}-{made(4, HEX)}-{made(12, HEX)}",
    "DB_PASSWORD=Winter2024!",
    'password = "correct-horse-battery-staple"',
    "The password is in the file: PGPASSWORD=kiln#Harbour9/tide",
    f"ENCRYPTION_KEY: {VALUE}",
    f"key = {VALUE}",
    f"Key: secret_key = {VALUE}",
    f"curl -H 'Authorization: Bearer {VALUE}' https://api.example.com",
    f"Authorization: Basic {VALUE}==",
    "DATABASE_URL=postgres://app:Tide9Pool@db.internal:5432/tideline",
    "redis://:Tide9Pool@cache:6379/0",
    "mongodb+srv://sam:h4rbour#wall@cluster0.abcde.mongodb.net/test",
    f"deploy --token {VALUE} --to prod",
    f"harbour login --api-key '{VALUE}'",
    "tool --db-password Winter2024!",
    "curl -u sam:Winter2024! https://api.example.org",
    f"curl --user 'sam:{VALUE}' https://api.example.org",
    "sshpass -p Winter2024! ssh quay",
    f"git clone https://{VALUE}@git.example.org/tide/line.git",
    f"os.environ['OPENAI_API_KEY'] = '{VALUE}'",
    "**Password:** Winter2024!",
    "SMTP_PASS=Winter2024!",
    "<password>Winter2024!</password>",
    f"SECRET_KEY_BASE={made(64, HEX)}",
]


@pytest.mark.parametrize("line", ASSIGNED)
def test_the_value_of_a_telling_name_is_taken_out_and_the_name_stays(line):
    told, count = redact(line)
    assert count == 1
    name = re.match(r"[\w\s{\"'*<-]+", line).group()
    assert told.startswith(name.rstrip("\"' ").split(VALUE)[0][:6])
    for value in (VALUE, "Winter2024", "horse", "Harbour9", "Tide9Pool", "h4rbour"):
        assert value not in told
    assert not re.search(r"[0-9a-f]{20}", told)


STAY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "cache_key = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "session 123e4567-e89b-12d3-a456-426614174000 ended",
    "primary key: 123e4567-e89b-12d3-a456-426614174000",
    "OPENAI_API_KEY=YOUR_API_KEY",
    "OPENAI_API_KEY=sk-your-key-goes-right-here-please",
    "api_key: <your-api-key-1234567890>",
    "token = ${GITHUB_TOKEN_2024}",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN_V2 }}",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "the id AKIAIOSFODNN7EXAMPLE from the manual",
    "postgres://postgres:postgres@localhost:5432/app",
    "postgres://user:password@localhost/db",
    "password = os.environ['DB_PASSWORD_2']",
    "password: config.database.password1",
    "password: privateKey",
    "password = get_password_v2(user)",
    "const token = await fetchToken2(userId123)",
    "secret: /run/secrets/db_password_1",
    "max_tokens: 128000",
    "key: users_by_region_2024_v2",
    ".sk-folding-cube-container-wrapper { color: red }",
    "the tokenizer: gpt2-xl-1558M-v3",
    "Bearer LOCAL_DEV_MODE_NOT_FOR_PRODUCTION",
    "git push -u origin:feature_2024_tides",
    "docker run -u 1000:1000 image",
    'docker run --user "$(id -u):$(id -g)" image',
    "tool --token $GITHUB_TOKEN --key ~/.ssh/id_ed25519",
    "tool --key users_by_region_2024_v2",
    "tool --password-file secrets_2024.txt",
    "bypass: Winter2024, and all pass: 3f786850e387550fdab836ed7e6dc881de23001b",
    "see https://medium.com/@some-long-writer-name2 and https://host/@writer2024name",
    "<key>CFBundleShortVersionString</key>",
    "<th>Password</th><td>varchar255x</td>",
    "wrap it in `<private>` and `</private>`",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "the header -----BEGIN RSA PRIVATE KEY----- and what follows",
    "password: String\\n  email: String",
    '"LABEL_CURRENT_PASSWORD": "Nykyinen salasana",',
    '"demo_password": "Wagwoord: {password}"',
    'bind_password = "<tide user password>"',
    "- `QUAY_USER_PASSWORD`: Tide user password",
    "postgres://quay:${QUAY_PASSWORD:?Variable not set}@db/app",
    "docker run -e QUAY_PASSWORD=mysecretpassword quay -c shared_buffers=256MB",
    "date -u +%Y-%m-%dT%H:%M:%SZ",
    "[samson7@quay.net](mailto:samson7@quay.net)",
    "(tide-v2:0|tide-3-5-reader-V2@20241022)",
    "filter passwd (&(objectClass=posixAccount)(unix-uid=*))",
    "a [community forum](https://forum.quay.net/t/tides-other-than-80/443/72) of sailors",
    "[`QUAY_PASSWORD=<password>`](#QUAY_PASSWORD)",
    "let password = crypto::hmac_sign1(&data.sk, 2);",
    '"uri": "https://api.quay.net/credentials/cr_2wRmmYJ2BRKy3SFnusPWX5dRPVQ"',
    "the event-upload key: `otel/<projectId>/<yyyy>/<mm>/<eventId>.json`",
    f"QUAY_PUBLIC_KEY = 'MCowBQYDK2VwAyEA{made(43)}='",
    f"kind: Secret\ndata:\n  tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk{made(58)}\n",
    "Digest: $argon2id$v=19$m=65536,t=3,p=4$",
    "const sendForgotPassword = async ({ userId }: Options) => { user=1; }",
    '"new_serial": 2021031903,',
    "--- PASS: TestTides/Exactly_100_characters_not_truncated (0.00s)",
    '    QUAY_PASSWORD = "Account password of the harbour"',
    "signingUrl: tide.recipients2[0].signingUrl1,",
    'quay._domainkey "v=DKIM1;k=rsa;p=Tide7Pool2Shell9Harbour"',
    '"form.quay_password": "Hafen-Passwort",',
    "PASS= #optional1",
    'password: "#/components/schemas/updateLogin2Flow"',
    f"https://x.example.net/?size=50&page_token={made(28)}",
    "- **PASSWORD**: Generates a password",
    "to disable it pass the `--no-ipv6` flag",
    f"enc: AQECAHgFEiO2dNygC3R{made(100)}",
    "feed.Password = *f.Password",
    "dotnet publish -r linux -p:PublishSingleFile=true",
    "| name | what | example |\n| --- | --- | --- |\n| `password` | of the host | `x` |\n| `kind2quay` | a |",
    "Server=h;Database=d;User Id=SA;Password=$DB_PASSWORD;Encrypt=True;Trust=True",
    "".join(f"    {name}: {name}\n" for name in "image case office option owner power sense type".split()),
]


@pytest.mark.parametrize("text", STAY)
def test_what_only_looks_like_a_secret_stays(text):
    assert redact(text) == (text, 0)


def test_each_secret_is_replaced_by_its_kind_and_counted():
    text = f"use {KEYS['GitHub']} or {KEYS['Google']}"
    assert redact(text) == ("use [redacted: GitHub token] or [redacted: Google key]", 2)


def test_the_secret_beside_an_aws_id_goes_with_it():
    told, _ = redact(f"{KEYS['AWS']},{made(40, LETTERS + '/+')}")
    assert told == "[redacted: AWS key]"


def test_a_token_right_behind_another_secret_goes_as_well():
    assert redact(PEM.format("") + JWT)[0] == "[redacted: private key][redacted: JWT]"


def test_what_is_marked_private_goes_nested_and_unclosed():
    assert redact("a <private>b</private> c")[0] == "a [redacted: private] c"
    assert redact("a <PRIVATE>b <private>c</private> d</private> e")[0] == "a [redacted: private] e"
    assert redact("a <private>b and all the rest\n\nof it")[0] == "a [redacted: private]"
    assert redact("a </private> b")[0] == "a </private> b"


def test_a_secret_within_a_private_span_counts_once():
    assert redact(f"<private>{KEYS['GitHub']}</private>") == ("[redacted: private]", 1)


def test_a_part_of_a_text_shows_nothing_of_a_secret_that_reaches_beyond_it():
    text = "before\n" + PEM.format("") + "\nafter"
    secrets = find_secrets(text)
    middle = text.index("\n", 60)
    assert cover(text, secrets, 0, middle) == "before\n[redacted: private key]"
    assert cover(text, secrets, middle, len(text)) == "[redacted: private key]\nafter"
    assert cover(text, secrets, middle, middle + 5) == "[redacted: private key]"


def test_no_two_shapes_share_a_beginning_with_different_ends():
    leads = [lead for shape in TOKEN_FORMATS for lead in shape.begins]
    assert len(set(leads)) == len(leads)
    assert len(leads) >= 20


FRAGMENTS = st.sampled_from(
    [
        *KEYS.values(),
        *ASSIGNED,
        *STAY,
        *(lead for shape in TOKEN_FORMATS for lead in shape.begins),
        "<private>",
        "</private>",
        "password=",
        "token: ",
        '"',
        "'",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "İ",
        "=",
        " ",
        "\n",
        "://a:",
        "@",
        "Bearer ",
    ]
)
TEXTS = st.lists(st.one_of(FRAGMENTS, st.text(max_size=12)), max_size=12).map("".join)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
@example(3 * f"sk-ant-api03-{'u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d' * 3}sha256:{'9f86d081884c7d65' * 4}")
def test_a_redacted_text_has_nothing_more_to_redact(text):
    told, count = redact(text)
    assert redact(told) == (told, 0)
    assert count or told == text


@settings(max_examples=50, deadline=None)
@given(TEXTS)
def test_secrets_are_in_order_and_none_overlaps_another(text):
    secrets = find_secrets(text)
    for one, other in pairwise(secrets):
        assert one.end <= other.start
    assert all(0 <= secret.start < secret.end <= len(text) for secret in secrets)


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.integers(0, 400), st.integers(0, 400))
def test_a_part_holds_no_letter_of_a_secret_of_the_whole(text, start, length):
    secrets = find_secrets(text)
    start = min(start, len(text))
    end = min(len(text), start + length)
    hidden = sum(max(0, min(end, s.end) - max(start, s.start)) for s in secrets)
    marks = sum(len(f"[redacted: {s.kind}]") for s in secrets if s.end > start and s.start < end)
    assert len(cover(text, secrets, start, end)) == end - start - hidden + marks


SIZE = 100_000
SLOW = 0.04
"""Seconds for a fourth of it."""

HOSTILE = [
    "sk-",
    "-eyJ",
    ".eyJaaaaaaaaa",
    "key:",
    'key="aaaaaaaa',
    "password=aaaaaaa ",
    "password= ",
    "key=aaaaabbb:",
    "api_key=aB3dE5gH7jK9mN1pQ:",
    "keykey",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "<private>",
    "`<private>`",
    "://a:",
    "://" + "a" * 60 + ":",
    "M",
    "M ",
    "-M" + "a" * 22 + ".",
    "AKIA",
    "Bearer ",
    "authorization: ",
    ":AA",
    "a",
    "=",
    "\n",
    "SG.aaaaaaaaaaaaaaaaaaaa.",
    "Ï",
    "kind: Secret\ndata:\n",
    "cookie: a=",
    "machine a login b password ",
    "a:5432:b:c:",
    "mysql -p",
    "password=;server=",
    "-us1",
    "echo a:aaaaaaaa ",
    "docker login -p ",
    "net use /user:a ",
    "net use \\\\a\\b ",
    "htpasswd -b a ",
    "htpasswd -",
    "password: |\n  ",
    "auth('a', ",
    'token", ',
    "api_key: str ",
    "key\n value",
    "password\x1b[0m",
    "\x1b[",
    "AAAAAAAAAAAAAAAA\n",
    "-----END RSA PRIVATE KEY-----",
    "AAAAAAAAAAAAAAAA\n-----END RSA PRIVATE KEY-----",
    "://a:b@b",
    b64encode(b"API_TOKEN=aB3dE5gH7jK9mN1p\n").decode(),
    "".join(lead for shape in TOKEN_FORMATS for lead in shape.begins),
    "$1$",
    "$6$a$",
    "{SSHA}",
    "password is ",
    "password a b c d e f ",
    "aB3dE5gH7 as the password ",
    "le mot de passe est ",
    "пароль ",
    "login: a / ",
    "login with a and ",
    "recovery code ",
    "recovery codes: abc12-abc12 ",
    "PIN ",
    "seed phrase ",
    "seed phrase " + "ocean " * 30,
    "user | password\n",
    "| user | password |\n| a | b |\n",
    "user,password\\n",
    "user  password\n",
    "<tr><th>user</th><th>password</th>",
    "<td>",
    "ldapsearch -w ",
    "zip -P aB3dE5gH7 ",
    " -p",
    " -u a:",
    " --password ",
    " /p:",
    "/p:Password=",
    "pass:",
    "cat secrets/",
    "cat secrets/a\n",
    "$ printenv A_TOKEN\n",
    "login(",
    'login("a", ',
    "a:b@",
    "WIFI:",
    "[0m",
    "| |--|--|",
    "| user | password | |--|--| ",
    "otpauth://",
    "&#112;",
    "%41",
    "\\u0041",
    "\\x41",
    '"+',
    '" + "',
    '\\" + \\"',
    "\\\n",
    "=\n",
    "p a s s ",
    "\u200b",
    "p\u0430",
    "\uff50",
    'password", "value": "',
    "password:\n  ",
    "vault login aB3d ",
    "## Passwords\n",
    "## Passwords\n- a: Tide8158!\n",
    "Password\n",
    '{"kty"',
    "enable secret 5 ",
    'passphrase is "a b ',
    "2fa:",
    "Basic YTpiYg== ",
    "token: aB3dE5gH7jK9mN1pQrS\n",
    "ocean tilt mango crisp ladder ",
    'Wallet("',
    "algolia key ",
    "password from a ",
    "as pw ",
    "jdbc:oracle:thin:a/",
]


@pytest.mark.parametrize("part", HOSTILE)
@pytest.mark.slow
def test_no_text_takes_more_than_linear_time(part):
    text = (part * (SIZE // len(part) + 1))[:SIZE]

    def cost(of: str) -> float:
        started = time.thread_time()
        search(of)  # not find_secrets, which keeps what it found for the next try
        return time.thread_time() - started

    # What is slow on a short text shows its growth there; only what is quick needs a long one.
    size = SIZE if cost(text[: SIZE // 4]) < SLOW else SIZE // 4
    # Four times the text takes four times as long; sixteen times would be quadratic.
    assert any((taken := cost(text[:size])) < 0.05 or taken < 8 * cost(text[: size // 4]) for _ in range(3))


def test_a_secret_is_a_span_of_the_text():
    assert find_secrets(f"x {KEYS['npm']}") == [Secret(2, 42, "npm token")]


def test_a_document_is_redacted_wherever_a_text_stands_and_keeps_its_shape():
    key, password = KEYS["GitHub"], "hunter" + made(9)
    document = {
        "title": f"Use {key}",
        "tags": ["deploy", key],
        "metadata": {"db_password": password, "author": "Sam"},
        "numbers": [1, 2.5, None, True],
        "pairs": ("a", "b"),
    }
    assert redact_document(document) == {
        "title": "Use [redacted: GitHub token]",
        "tags": ["deploy", "[redacted: GitHub token]"],
        "metadata": {"db_password": "[redacted: password]", "author": "Sam"},
        "numbers": [1, 2.5, None, True],
        "pairs": ["a", "b"],
    }
    assert document["tags"][1] == key


def test_what_begins_in_one_text_of_a_document_hides_no_other():
    begun = PEM.format("").partition("\n-----END")[0]
    texts = ["<private>mine", "yours", begun, "an example", f"{KEYS['Slack bot']}", "last"]
    assert redact_document(texts) == [
        "[redacted: private]",
        "yours",
        "[redacted: private key]",
        "an example",
        "[redacted: Slack token]",
        "last",
    ]


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([*KEYS.values(), PEM.format("RSA "), "password:", "<private>", "a b", "", "="]))
)
def test_texts_of_a_document_are_redacted_as_each_alone(texts):
    assert redact_document(texts) == [redact(f": {text}")[0][2:] for text in texts]


def test_a_sentence_of_long_words_after_recovery_is_no_dearer_than_one_in_capitals():
    def cost(of: str) -> float:
        search(of)  # compiles the patterns
        started = time.thread_time()
        search(of)
        return time.thread_time() - started

    # Each word can be read as two short ones: trying all the ways took a tenth of a second.
    said = "recovery of " + "abcdefgh " * 5 + "."

    assert any(cost(said) < max(0.002, 20 * cost(said.upper())) for _ in range(3))
