"""Passwords are found by class: in tables, in sentences, as options of commands, as what commands print."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.secrets.values import is_placeholder, is_random

redact = DEFAULT.redact

SENTENCES = [
    "Le mot de passe est VALUE.",
    "la contraseña es VALUE",
    'La contraseña del servidor es "VALUE"',
    "la password è VALUE",
    "a senha é VALUE",
    "hasło to VALUE",
    "het wachtwoord is VALUE",
    "пароль VALUE",
    "Пароль от сервера: VALUE",
    "パスワードは VALUE です",
    "パスワードはVALUEです",
    "密码是VALUE。",
    "密码\uff1aVALUE",
    "비밀번호는 VALUE 입니다",
    "heslo je VALUE",
    "lösenordet är VALUE",
    "adgangskoden er VALUE",
    "salasana on VALUE",
    "şifre: VALUE",
    "mật khẩu là VALUE",
    "kata sandi adalah VALUE",
    "كلمة المرور هي VALUE",
    "סיסמה: VALUE",
    "pw: VALUE",
    "pw is VALUE",
    "log in with admin and VALUE",
    "login: admin / VALUE",
    "credentials are admin:VALUE",
    "user/pass: admin/VALUE",
    "Zugangsdaten: admin / VALUE",
    "use VALUE as the password",
    "with password VALUE",
]

COMMANDS = [
    "ldapsearch -x -D cn=admin -w VALUE -b dc=x",
    "keytool -storepass VALUE -keystore k.jks",
    "keytool -genkey -keypass VALUE",
    "zip -P VALUE a.zip b",
    "7z x -pVALUE a.7z",
    "rar a -hpVALUE x.rar",
    "sqlcmd -S h -U sa -P VALUE",
    "mosquitto_pub -h x -u bob -P VALUE -t a",
    "snmpwalk -v3 -u bob -A VALUE -X VALUE host",
    "x11vnc -passwd VALUE",
    "openssl rsa -in k -passin pass:VALUE",
    "curl -u bob:VALUE https://x",
    "wget --http-password=VALUE http://x",
    "msbuild /p:Password=VALUE",
    "helm upgrade --set db.password=VALUE x",
    "az login -u x -p VALUE",
    "mongo -u root -p VALUE --authenticationDatabase admin",
    "redis-cli -h x -a VALUE",
    "sqlplus scott/VALUE@orcl",
    "smbclient //h/s -U bob%VALUE",
    "xfreerdp /u:bob /p:VALUE /v:h",
    "net user bob VALUE /add",
    "gpg --batch --passphrase VALUE -d f",
    "echo VALUE | sudo -S ls",
    "docker build --build-arg NPM_TOKEN=VALUEkk33 .",
    "docker run -e DB_PASSWORD=VALUE img",
    "schtasks /create /ru bob /rp VALUE",
    'ssh-keygen -t rsa -N "VALUE" -f x',
    "plink -pw VALUE h",
    "$ cat /run/secrets/db_password\nVALUE",
    "$ echo $DB_PASSWORD\nVALUE",
    "$ printenv API_KEY\nVALUE",
    "vault kv get -field=password secret/x\nVALUE",
    "kubectl get secret x -o jsonpath='{.data.pw}' | base64 -d\nVALUE",
    "$ pass show mail/x\nVALUE",
    "`op read op://v/i/f` prints VALUE",
    "gcloud auth print-access-token\nVALUE",
    'smtp.login("bob", "VALUE")',
    'new NetworkCredential("bob", "VALUE")',
    'mysqli_connect("h","u","VALUE","db")',
    'page.fill("#password", "VALUE")',
    'driver.find_element(By.ID, "password").send_keys("VALUE")',
    'setPassword("VALUE")',
    "const dbPass = `VALUE`",
    "this.apiSecret = 'VALUE'",
    'pwd := "VALUE"',
    "<key>Password</key><string>VALUE</string>",
    '<property name="password">VALUE</property>',
    '{"value": "VALUE", "name": "DB_PASSWORD"}',
    'variable "db_password" {\n  type = string\n  default = "VALUE"\n}',
    "root_password: VALUE",
    ':password "VALUE"',
    'password <- "VALUE"',
    "ENV DB_PASSWORD VALUE",
    "${DB_PASSWORD:-VALUE}",
    '@Value("${db.password:VALUE}")',
    'String dbPassword = "VALUE";',
    "spring.datasource.password: VALUE",
    "WIFI:T:WPA;S:net;P:VALUE;;",
    "app:VALUE@tcp(10.0.0.3:3306)/app",
]

TABLES = [
    "| user | password |\n|---|---|\n| bob | VALUE |",
    "user,password\nbob,VALUE\n",
    "see | user | password | |---|---| | al | changeme | | bob | VALUE |",
    "user\tpassword\nbob\tVALUE",
    "name;passwort\nbob;VALUE",
    "<table><tr><th>User</th><th>Password</th></tr>\n<tr><td>bob</td><td>VALUE</td></tr></table>",
    "+------+----------+\n| user | password |\n+======+==========+\n| bob  | VALUE |\n+------+----------+",
    " user | password \n------+-----\n bob  | VALUE\n(1 row)",
    "| Utilisateur | Mot de passe |\n|--|--|\n| bob | VALUE |",
    "USER   PASSWORD   HOST\nbob    VALUE   h1",
]


@pytest.mark.parametrize(
    "text", [one.replace("VALUE", "Tide77xzQ99") for one in SENTENCES + COMMANDS + TABLES]
)
def test_a_password_is_found_where_only_its_place_tells_what_it_is(text):
    told, count = redact(text)
    assert count
    assert "Tide77" not in told
    assert redact(told) == (told, 0)


@pytest.mark.parametrize("text", [one.replace("VALUE", "Tide77xzQ99") for one in COMMANDS])
def test_a_password_is_found_as_json_writes_it(text):
    assert "Tide77" not in redact(json.dumps(text))[0]


@pytest.mark.parametrize(
    "text",
    [
        "ghp_\u200bAQJepnW9AsuN2uIHlc0RyWTPW2NXjsXd0PmL",
        "p a s s w o r d : AQJepnW9AsuN2",
        "API_TOKEN=u8jzPde0IgxLd6GncfB\\\nAQJepnW9AsuN2uIHlc0RyW",
        "p\u0430ssw\u043erd: AQJepnW9AsuN2",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1dAQJepnW9AsuN2",
        "pass&#119;ord&equals;AQJepnW9AsuN2",
        "\\u0070assword=AQJepnW9AsuN2",
        "[31mDB_PASSWORD[0m=[1mAQJepnW9AsuN2[0m",
    ],
)
def test_a_secret_is_found_in_disguise(text):
    assert "AQJepn" not in redact(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "def login(password: str, token: str | None = None) -> None:",
        "token = next(tokens)",
        "PASSWORD_MIN_LENGTH=8",
        "max_tokens: 4096",
        "Passwort vergessen?",
        "Authorization: Bearer <token>",
        "password = getpass()",
        'password=os.environ["X"]',
        "PASSWORD=changeme",
        "PASSWORD=${DB_PASSWORD}",
        "the password is hashed with sha256 and stored in users.password_hash",
        '{"password": "string", "token": null}',
        'autocomplete="current-password"',
        "| name | type | password |\n|---|---|---|\n| a | b | required |",
        "key,value\nname,v1\n",
        "--- PASS: TestHasUncommittedChanges (0.04s)",
        "docker run -p 8080:80 image1x && mkdir -p build/Out1x",
        "Output is being written to: /private/tmp/claude-501/tasks/a9cad17.output",
        "The seed phrase is generated from the list of words and then shown to the person who owns it.",
        "ragmem seed\n  ragmem seed --source memory --dry-run\n  ragmem seed --full then look again",
        "Run `make seed` and read source files found new changed unchanged gone twice more later again",
        "private_key: PKCS7PrivateKeyTypes",
        "from .oauth2 import OAuth2PasswordBearer",
        "include_password: ClassVar[bool]",
        'CHALLENGE_PASSWORD = ObjectIdentifier("1.2.840.113549.1.9.7")',
        'curl -H "$KEY" "$URL/memories/yg2c3js5z45q/history"',
        'CLIENT_KEY = f"{_META}clientCapabilities"',
        "uuid: 123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_ordinary_code_and_docs_stay(text):
    assert redact(text) == (text, 0)


DIRECT = [
    "enable secret 5 VALUE",
    " password 7 04480E051A33491E",
    "requirepass VALUE",
    "snmp-server community VALUE RO",
    "vault login VALUE",
    "ngrok config add-authtoken VALUE",
    "## Passwords\n\n- router: VALUE!\n- nas: VALUE!",
    "Password\nVALUE!\n",
    '{"kty":"oct","k":"VALUETide77xz"}',
    '{"kty": "EC", "x": "abcdefabcdefabcdef12", "d": "VALUETide77xz"}',
    'new ethers.Wallet("0x4b1dTide77VALUE"); new Wallet("VALUETide77VALUE")',
    "I changed the password from VALUE! to VALUE?",
    "le mot de passe c'est VALUE",
    "He cambiado la contrase\u00f1a a VALUE!",
    "SSHPASS=VALUE sshpass -e ssh h",
    'token = """\nVALUEVALUE\n"""',
    "jdbc:oracle:thin:scott/VALUE@//db:1521/X",
    "Algolia admin key: VALUEVALUEVALUE",
    "try VALUE as pw",
    "\u23fa Bash(printenv DB_PASSWORD)\n  \u23bf  VALUE",
]


@pytest.mark.parametrize("text", DIRECT)
def test_a_secret_is_found_behind_a_word_of_a_configuration_or_above_it(text):
    told, count = redact(text.replace("VALUE", "Tide77xzQ99"))
    assert count
    assert "xzQ99" not in told
    assert "04480E" not in told


PHRASE = "ribbon velvet orbit canyon hazard puzzle minor stove lecture arrow dune fossil"


@pytest.mark.parametrize("between", [" ", ", ", "\n", "\n- ", " | ", " 7. "])
def test_the_words_of_a_wallet_need_no_name_before_them(between):
    told, count = redact(f"we keep it: {between.join(PHRASE.split())}")
    assert count
    assert not [word for word in PHRASE.split() if word in told]
    # One word that is in no list of a wallet makes it an ordinary sentence.
    text = between.join([*PHRASE.split()[:6], "was", *PHRASE.split()[6:]])
    assert redact(text) == (text, 0)


def test_a_generated_password_without_a_digit_is_found():
    assert redact('Passwort => "yKFWgYzXETsyqXDfdXPb"') == ('Passwort => "[redacted: password]"', 1)


DRESS = st.sampled_from(["", '"', "'", "`", "**"])
AROUND = st.sampled_from(["{}", "> {}", "- {}", "note:\n{}\nend", "1. {}", "\t{}"])
NAMES = st.sampled_from(["password", "DB_PASSWORD", "apiKey", "client_secret", "Passwort", "mot de passe"])
MARKS = st.sampled_from(["=", ": ", " = ", ":", " => "])


ABC = "abcdefghkmnpqrstuvwxyzABCDEFGHKMNPQRSTUVWXYZ23456789"
# A random value may hold the word of a placeholder, such as xxxx.
VALUES = st.text(ABC, min_size=20, max_size=40).filter(
    lambda one: is_random(one) and not one.isalpha() and not is_placeholder(one)
)
HIDDEN = st.sampled_from(["", "\u200b", "\u00ad", "\u2060"])


@settings(max_examples=150, deadline=None)
@given(VALUES, st.tuples(NAMES, MARKS, DRESS, AROUND), st.integers(0, 15), HIDDEN)
def test_a_value_of_a_telling_name_is_found_in_each_dress(value, look, place, hidden):
    name, mark, dress, around = look
    dressed = value[:place] + hidden + value[place:]
    told, count = redact(around.format(f"{name}{mark}{dress}{dressed}{dress}"))
    assert count
    assert place < 4 or value[:place] not in told
    assert value[place:] not in told
