# ruff: noqa: E501
"""Texts with one secret each, as notes, chats, configurations and terminals show them.

They were written before the rules were read, by who knew only what docs/secrets.md says, to measure what the rules do
with shapes that they were not made from. The half `A` was looked at item by item when rules were mended; of the half
`B` only the count was looked at. Values are made here, so that no file holds what looks like a key.

`python -m tests.domain.secrets.secret_samples FOLDER` writes them as `benchmarks/redaction.py --data` reads them.
"""

import base64
import json
import random
import string
import sys
from itertools import count
from pathlib import Path
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
_numbers = count()
_WORDS = "Falke Marble Sunrise Otter Willow Copper Bramble Harbor Juniper Lantern Meadow Pebble Quartz Thunder".split()


class Sample(NamedTuple):
    """A text and the strings of its secret, of which none may be kept."""

    shape: str
    text: str
    core: tuple[str, ...]


def a(length: int, alphabet: str = ALNUM) -> str:
    """Return random letters, others with each call and the same in each run; never without a digit and a letter."""
    chooser = random.Random(f"sample {next(_numbers)}")
    while True:
        value = "".join(chooser.choice(alphabet) for _ in range(length))
        if alphabet in ("0123456789", _LOWER, _BECH) or (
            any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
        ):
            return value


_LOWER = string.ascii_lowercase
_BECH = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
B32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
URL64 = ALNUM + "-_"
STD64 = ALNUM + "+/"


def hexa(length: int) -> str:
    """Return random hexadecimal digits."""
    return a(length, "0123456789abcdef")


def human() -> str:
    """Return what a person takes for a password: a word, a number and a mark."""
    chooser = random.Random(f"human {next(_numbers)}")
    return f"{chooser.choice(_WORDS)}{chooser.randint(10, 9999)}{chooser.choice('!#$?*!!')}"


def b64(text: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(text.encode()).decode()


def _of(shape: str, text: str, *core: str) -> Sample:
    """Return a sample; each `%s` of the text stands for one string of the core."""
    parts = text.split("%s")
    assert len(parts) == len(core) + 1, shape
    return Sample(shape, "".join(p + v for p, v in zip(parts, (*core, ""), strict=True)), core)


def _encoded(shape: str, text: str, plain: str, whole: str) -> Sample:
    """Return a sample whose secret stands in base64: neither that nor the plain value may be kept."""
    return Sample(shape, text.replace("%s", whole), (whole, plain))


def _key(kind: str, join: str = "\n", lines: int = 4) -> tuple[str, tuple[str, ...]]:
    body = tuple(a(64, STD64) for _ in range(lines))
    return join.join((f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----")), body


def _wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def _made() -> list[Sample]:  # noqa: PLR0915 the list is long
    s: list[Sample] = []
    add = lambda *of: s.append(_of(*of))  # noqa: E731 one word for each line below
    # configurations
    add(
        "nginx auth header",
        'location / {\n    proxy_set_header X-Api-Key "%s";\n    proxy_pass http://up;\n}',
        a(32),
    )
    v = f"svc:{a(14)}"
    s.append(_encoded("nginx basic", 'proxy_set_header Authorization "Basic %s";', v[4:], b64(v)))
    add(
        "systemd environment",
        '[Service]\nEnvironment="RABBITMQ_DEFAULT_PASS=%s" "LOG=info"\nExecStart=/bin/x',
        human(),
    )
    add(
        "compose list",
        "services:\n  db:\n    environment:\n      - POSTGRES_USER=app\n      - POSTGRES_PASSWORD=%s\n",
        human(),
    )
    add(
        "compose map",
        "    environment:\n      MINIO_ROOT_USER: minio\n      MINIO_ROOT_PASSWORD: %s\n",
        a(10),
    )
    add("compose command", "    command: redis-server --requirepass %s --appendonly yes", a(18))
    v = human()
    s.append(
        _encoded(
            "k8s secret",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  username: YXBw\n  db-pass: %s\n",
            v,
            b64(v),
        )
    )
    add("k8s string data", "kind: Secret\nstringData:\n  smtp: %s\n", a(20))
    add(
        "helm set",
        "helm upgrade --install pg bitnami/postgresql --set auth.postgresPassword=%s,replicas=2",
        a(16),
    )
    add("helm values", "auth:\n  enabled: true\n  rootPassword: %s\n", human())
    add("ansible vars", "ansible_user: deploy\nansible_become_pass: '%s'\n", human())
    add("ansible inventory", "web1 ansible_host=10.2.0.4 ansible_user=root ansible_ssh_pass=%s", human())
    add("tfvars", 'region = "eu-west-1"\nrds_master_password = "%s"\n', human())
    add("terraform output", 'Outputs:\n\nendpoint = "db.x.internal"\nadmin_password = "%s"\n', a(16))
    add(
        "spring yaml",
        "spring:\n  datasource:\n    url: jdbc:postgresql://h/db\n    username: app\n    password: %s\n",
        human(),
    )
    add(
        "npmrc",
        "//registry.npmjs.org/:_authToken=%s",
        hexa(8) + "-" + hexa(4) + "-" + hexa(4) + "-" + hexa(4) + "-" + hexa(12),
    )
    add("npmrc _password", "//nexus.corp/repository/npm/:_password=%s\n", b64(a(12)))
    add("pypirc", "[pypi]\nusername = __token__\npassword = %s\n", "py" + "pi-" + a(60, URL64))
    add("netrc lines", "machine git.corp.example\n  login build\n  password %s\n", a(12))
    add("pgpass", "db.corp.example:5432:ledger:app:%s", human())
    add("wp-config", "define( 'DB_PASSWORD', '%s' );", human())
    add("wp salt", "define('AUTH_KEY',         '%s');", a(64, ALNUM + "!@#$%^&*()-_=+[]{}|;:,.<>?/~"))
    add("django secret", "SECRET_KEY = 'django-insecure-%s'", a(50, ALNUM + "!@#$%^&*(-_=+)"))
    add(
        "django databases",
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.mysql', 'USER': 'app', 'PASSWORD': '%s', 'HOST': 'h'}}",
        human(),
    )
    add("rails credentials", "secret_key_base: %s\n", hexa(128))
    add("rails production key", "config/credentials/production.key:\n%s\n", hexa(32))
    add("jdbc oracle", "jdbc:oracle:thin:scott/%s@//db.corp:1521/ORCL", a(11))
    add(
        "jdbc sqlserver", "jdbc:sqlserver://h:1433;databaseName=crm;user=sa;password=%s;encrypt=true", human()
    )
    add("java getConnection", 'DriverManager.getConnection("jdbc:mysql://h/db", "app", "%s");', a(14))
    add("odbc", "Driver={ODBC Driver 18 for SQL Server};Server=h;UID=app;PWD=%s;", human())
    add(
        "azure sas",
        "https://acc.blob.core.windows.net/c/f.csv?sv=2022-11-02&sr=b&se=2026-01-01&sp=r&sig=%s",
        a(43, ALNUM) + "%3D",
    )
    add(
        "service bus",
        "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=%s=",
        a(43, STD64),
    )
    text, body = _key("PRIVATE KEY", "\\n")
    s.append(
        Sample(
            "gcp service account",
            json.dumps({"type": "service_account"})[:-1] + ', "private_key": "' + text + '\\n"}',
            body,
        )
    )
    add(
        "aws profile",
        "[prod]\naws_access_key_id = %s\naws_secret_access_key = %s\n",
        "AK" + "IA" + a(16, B32),
        a(40, STD64),
    )
    add(
        "aws sts",
        '{\n  "Credentials": {\n    "AccessKeyId": "%s",\n    "SecretAccessKey": "%s",\n    "SessionToken": "%s"\n  }\n}',
        "AS" + "IA" + a(16, B32),
        a(40, STD64),
        a(180, STD64),
    )
    text, body = _key("OPENSSH PRIVATE KEY")
    s.append(Sample("ssh key quoted mail", "\n".join("> " + line for line in text.splitlines()), body))
    text, body = _key("RSA PRIVATE KEY")
    s.append(
        Sample(
            "key numbered lines",
            "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(text.splitlines(), 1)),
            body,
        )
    )
    text, body = _key("PGP PRIVATE KEY BLOCK")
    s.append(
        Sample("pgp key in yaml", "gpg: |\n" + "\n".join("    " + line for line in text.splitlines()), body)
    )
    add("age key", "# created: 2025-03-03\n# public key: age1xyz\n%s", "AGE-SECRET-" + "KEY-1" + a(58, _BECH))
    add(
        "jwk ec",
        '{"kty":"EC","crv":"P-256","x":"' + a(43, URL64) + '","y":"' + a(43, URL64) + '","d":"%s"}',
        a(43, URL64),
    )
    add(
        "jwk rsa",
        '{"kty": "RSA", "n": "' + a(171, URL64) + '", "e": "AQAB", "d": "%s", "p": "%s", "q": "%s"}',
        a(171, URL64),
        a(86, URL64),
        a(86, URL64),
    )
    add("jwk oct", '{"kty":"oct","alg":"HS256","k":"%s"}', a(43, URL64))
    add(
        "kubeconfig key data",
        "users:\n- name: kubernetes-admin\n  user:\n    client-key-data: %s\n",
        "LS0tLS1CRUdJTi" + a(200, STD64),
    )
    add("cloud-init", "#cloud-config\npassword: %s\nchpasswd: { expire: False }\nssh_pwauth: True\n", human())
    add("cloud-init chpasswd", "chpasswd:\n  list: |\n    root:%s\n    ubuntu:%s\n", human(), a(12))
    add(
        "jenkins xml",
        "<com.cloudbees.plugins.credentials.impl.UsernamePasswordCredentialsImpl>\n<username>ci</username>\n<password>{%s}</password>",
        a(44, STD64),
    )
    add("actions env", "    env:\n      SONAR_TOKEN: %s\n      CI: true\n", hexa(40))
    add("wifi psk", 'network={\n    ssid="Guest"\n    psk="%s"\n}', human())
    add("nmcli", "nmcli dev wifi connect Office5G password %s", a(12))
    add("cisco type 7", "line vty 0 4\n password 7 %s\n login", a(18, "0123456789ABCDEF"))
    add("cisco enable", "enable secret 5 %s", "$1$" + a(4) + "$" + a(22))
    add("cisco user", "username admin privilege 15 secret 0 %s", human())
    add("snmp community", "snmp-server community %s RW", a(12))
    add("junos", 'set system root-authentication encrypted-password "%s"', "$6$" + a(8) + "$" + a(86))
    add("tomcat users", '<user username="admin" password="%s" roles="manager-gui"/>', human())
    add(
        "maven settings",
        "<server><id>nexus</id><username>ci</username><password>%s</password></server>",
        a(12),
    )
    add(
        "dotnet appsettings",
        '"ConnectionStrings": {"Db": "Server=h;Database=d;User Id=app;Password=%s;TrustServerCertificate=true"}',
        human(),
    )
    add("laravel app key", "APP_KEY=base64:%s=", a(43, STD64))
    add("php ini", 'smtp_pass = "%s"\n', human())
    add("ldap conf", "bindpw %s\nbase dc=corp,dc=example", human())
    add("samba credentials", "username=alice\npassword=%s\ndomain=CORP\n", human())
    add("fstab cifs", "//nas/share /mnt cifs username=bob,password=%s,uid=1000 0 0", human())
    add("openvpn auth file", "# auth-user-pass file\nvpnuser\n%s\n", human())
    add("wireguard psk", "[Peer]\nPublicKey = " + a(43, STD64) + "=\nPresharedKey = %s=\n", a(43, STD64))
    add("rclone", "[remote]\ntype = sftp\nuser = me\npass = %s\n", a(30, URL64))
    add("grafana ini", "[security]\nadmin_user = admin\nadmin_password = %s\n", human())
    add(
        "git config extraheader",
        '[http "https://git.corp/"]\n\textraheader = AUTHORIZATION: bearer %s',
        a(52, _LOWER + string.digits),
    )
    add("git credentials", "https://deploy:%s@git.corp.example", a(20))
    # commands
    add("curl -d json", 'curl -X POST h/login -d \'{"username":"admin","password":"%s"}\'', human())
    add("curl -d form", "curl -d 'grant_type=password&username=bob&password=%s' https://h/token", a(12))
    add("curl -H private token", "curl --header 'PRIVATE-TOKEN: %s' https://gitlab.corp/api", a(20, URL64))
    add("curl -u attached", "curl -uadmin:%s https://h/", human())
    add("wget", "wget --user=bob --password='%s' ftp://h/x", human())
    add("httpie", "http -a bob:%s GET https://h/api", a(13))
    add("mysql -p", "mysql -h db -uroot -p%s crm", a(13))
    add("mysqldump", "mysqldump --user=root --password=%s crm > d.sql", human())
    add("psql uri", 'psql "postgresql://ledger:%s@10.0.0.8/ledger?sslmode=require"', a(14))
    add("mongo shell", "mongosh mongodb://h:27017 -u root -p %s --authenticationDatabase admin", human())
    add("redis-cli", "redis-cli -h cache -a %s ping", a(14))
    add("redis auth", "127.0.0.1:6379> AUTH default %s\nOK", a(16))
    add("openssl passout", "openssl genrsa -aes256 -passout pass:%s 4096", human())
    add("openssl enc", "openssl enc -aes-256-cbc -pbkdf2 -k %s -in a -out b", human())
    add("sshpass env", "SSHPASS=%s sshpass -e ssh root@h", human())
    add("vault login", "vault login %s", "s." + a(24))
    add("vault kv put", "vault kv put secret/db password=%s user=app", human())
    add("vault unseal", "Unseal Key 1: %s=\nUnseal Key 2: %s=", a(43, STD64), a(43, STD64))
    add("vault root", "Initial Root Token: %s", "hv" + "s." + a(24))
    add("docker login", "docker login -u bob -p %s registry.corp", a(18))
    add("docker login stdin", "echo %s | docker login -u bob --password-stdin", a(18))
    add("docker run", "docker run -e MYSQL_ROOT_PASSWORD=%s -d mysql", human())
    add("kubectl create", "kubectl create secret generic db --from-literal=pw=%s", a(14))
    v = a(16)
    s.append(
        _encoded(
            "kubectl get -o jsonpath",
            "$ kubectl get secret db -o jsonpath='{.data.password}'\n%s\n",
            v,
            b64(v),
        )
    )
    v = a(16)
    s.append(
        _encoded(
            "kubectl get -o json",
            '$ kubectl get secret db -o json\n{"apiVersion": "v1", "data": {"dsn": "%s"}, "kind": "Secret"}',
            v,
            b64(v),
        )
    )
    add("base64 -d output", "$ kubectl get secret db -o jsonpath={.data.pw} | base64 -d\n%s\n", a(16))
    add("gpg passphrase", "gpg --batch --passphrase '%s' -c file", human())
    add("npm set", "npm config set //npm.corp/:_authToken %s", a(36))
    add("env output", "$ env\nHOME=/root\nSTRIPE_WEBHOOK_SECRET=%s\nLANG=C\n", "whsec_" + a(32))
    add("printenv", "$ printenv API_PASS\n%s\n", human())
    add("echo var", "$ echo $GITEA_TOKEN\n%s\n", hexa(40))
    add(
        "heroku config",
        "=== shop Config Vars\nDATABASE_URL:   postgres://u:%s@ec2.example/d\nMAILER_SECRET:  %s\n",
        a(20),
        a(24),
    )
    add("op read", "$ op read op://dev/db/password\n%s\n", a(20))
    add("pass show", "$ pass show mail/work\n%s\n", human())
    add(
        "security find", "% security find-generic-password -w -s wifi\n%s\n".replace("% s", "$ s", 1), human()
    )
    add("behind corner", "\u23fa Bash(cat .secrets/token)\n  \u23bf  %s\n", a(32))
    add("corner env", "\u23fa Bash(printenv DB_PASSWORD)\n  \u23bf  %s\n", human())
    add(
        "aws secretsmanager",
        "$ aws secretsmanager get-secret-value --secret-id db --query SecretString --output text\n%s\n",
        a(20),
    )
    add(
        "aws ssm",
        "$ aws ssm get-parameter --name /db/pw --with-decryption --query Parameter.Value --output text\n%s\n",
        a(20),
    )
    add("gcloud token", "$ gcloud auth print-access-token\n%s\n", "ya" + "29." + a(90, URL64))
    add("gcloud secrets", "$ gcloud secrets versions access latest --secret=db\n%s\n", a(22))
    add("gh auth token", "$ gh auth token\n%s\n", "gh" + "o_" + a(36))
    add("openssl rand", "$ openssl rand -base64 32\n%s=\nuse that as session secret\n", a(43, STD64))
    add("htpasswd file", "admin:%s", "$apr1$" + a(8) + "$" + a(22))
    add("bcrypt sql", "INSERT INTO users VALUES (1, 'bob', '%s');", "$2b$12$" + a(53, ALNUM + "./"))
    add(
        "mysql identified",
        "CREATE USER 'app'@'%' IDENTIFIED BY '%s';".replace("'%'", "'10.%%'", 1).replace("%%", "*"),
        human(),
    )
    add("postgres role", "ALTER ROLE ledger WITH LOGIN PASSWORD '%s';", human())
    add("mssql login", "CREATE LOGIN app WITH PASSWORD = N'%s';", human())
    add("net user", "net user backup %s /add", human())
    add("chpasswd", "echo 'deploy:%s' | chpasswd", human())
    add("passwd stdin", "echo %s | passwd --stdin bob", human())
    add("az login", "az login --service-principal -u " + hexa(8) + " -p %s --tenant corp", a(34, ALNUM + "~"))
    add("smbclient", "smbclient //nas/x -U 'CORP\\bob%%%s'".replace("%%", "\0"), human())
    s[-1] = Sample(s[-1].shape, s[-1].text.replace("\0", "%"), s[-1].core)
    add("rdp", "xfreerdp /v:host /u:bob /p:%s", human())
    add("ipmitool", "ipmitool -I lanplus -H bmc -U root -P %s power status", a(12))
    add("borg", "export BORG_PASSPHRASE='%s'", "quiet otter marble lantern")
    add("cryptsetup", "echo -n '%s' | cryptsetup luksOpen /dev/sdb1 data -", human())
    # codes, wallets, links
    add("otpauth", "otpauth://totp/Corp:bob?secret=%s&issuer=Corp", a(32, B32))
    add(
        "totp seed prose",
        "2FA seed for the AWS root account: %s",
        "JBSW " + " ".join(a(4, B32) for _ in range(7)),
    )
    add(
        "backup codes",
        "Backup codes:\n1. %s\n2. %s\n3. %s",
        *(a(4, "0123456789") + "-" + a(4, "0123456789") for _ in range(3)),
    )
    add(
        "recovery code github",
        "GitHub recovery codes:\n%s\n%s\n",
        *(hexa(5) + "-" + hexa(5) for _ in range(2)),
    )
    add("bip39 bare", "%s", "ribbon velvet orbit canyon hazard puzzle minor stove lecture arrow dune fossil")
    add(
        "bip39 24 numbered",
        "1. %s 2. %s 3. %s 4. %s 5. %s 6. %s 7. %s 8. %s 9. %s 10. %s 11. %s 12. %s\n",
        *"ocean tilt mango crisp ladder opera inject quiz viable broom stamp gauge".split(),
    )
    add(
        "mnemonic env",
        'MNEMONIC="%s"',
        "test lunar fetch oval bitter clock gown prize enough alter ivory shield",
    )
    add("wif bare", "the change goes to %s afterwards", "5" + random.Random("wif").choice("HJK") + a(49, B58))
    add("wif compressed", "importprivkey %s", random.Random("wif2").choice("KL") + a(51, B58))
    add("xprv", "derive from %s please", "xprv9s21ZrQH143K" + a(95, B58))
    add("solidity env", "PRIVATE_KEY=%s", hexa(64))
    add("ethers wallet", 'const wallet = new ethers.Wallet("0x%s", provider);', hexa(64))
    add(
        "slack webhook",
        "POST to https://hooks.slack.com/services/T" + a(8, B32) + "/B" + a(8, B32) + "/%s",
        a(24),
    )
    add(
        "teams webhook",
        "https://corp.webhook.office.com/webhookb2/" + hexa(8) + "/IncomingWebhook/%s/" + hexa(8),
        hexa(32),
    )
    add(
        "presigned s3",
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=%s",
        hexa(64),
    )
    add("magic link", "Login link: https://app.corp/auth/magic?token=%s", a(40, URL64))
    add("zoom link", "https://corp.zoom.us/j/91234567890?pwd=%s", a(32))
    add("zoom passcode", "Meeting ID: 912 3456 7890\nPasscode: %s", a(6, "0123456789"))
    add(
        "telegram bot url",
        "curl https://api.telegram.org/bot%s/getMe",
        a(10, "0123456789") + ":AA" + a(33, URL64),
    )
    add(
        "session cookie",
        "Set-Cookie: connect.sid=s%3A%s; Path=/; HttpOnly".replace("s%3A", "s\0", 1),
        a(32) + "." + a(43),
    )
    s[-1] = Sample(s[-1].shape, s[-1].text.replace("\0", "%3A"), s[-1].core)
    add("php session", "document.cookie = 'PHPSESSID=%s'", a(26, _LOWER + string.digits))
    add("jwt prose", "use this jwt: %s", "eyJ" + a(33) + ".eyJ" + a(70, URL64) + "." + a(43, URL64))
    add("csrf header", "x-auth-token: %s", a(40))
    # tables
    add(
        "markdown table",
        "| Service | User | Kennwort |\n|:--|:--|:--|\n| mail | info | %s |\n| ftp | web | %s |",
        human(),
        a(10),
    )
    add("markdown key value", "| Key | Value |\n|---|---|\n| host | h |\n| password | %s |", human())
    add("csv", "site,login,pwd\nshop,bob,%s\nblog,eve,%s\n", human(), a(9))
    add("csv semicolons", "Dienst;Benutzer;Passwort\nVPN;mm;%s\n", human())
    add("tsv", "host\tuser\tpassword\nh1\troot\t%s\n", human())
    add(
        "html table",
        "<table><tr><th>User</th><th>Password</th></tr><tr><td>bob</td><td>%s</td></tr></table>",
        human(),
    )
    add(
        "rest grid",
        "+------+------------------+\n| User | Password         |\n+======+==================+\n| bob  | %s |\n+------+------------------+",
        a(16),
    )
    add(
        "rest simple",
        "=====  ================\nUser   Password\n=====  ================\nbob    %s\n=====  ================",
        a(16),
    )
    add("psql output", " id | email | api_key\n----+-------+---------\n  1 | a@b.c | %s\n(1 row)", a(24))
    add(
        "mysql output",
        "+----+------+----------+\n| id | name | password |\n+----+------+----------+\n|  1 | bob  | %s |\n+----+------+----------+",
        hexa(32),
    )
    add("asciidoc", "|===\n|User |Password\n\n|bob\n|%s\n|===", human())
    add("1password csv", "Title,Url,Username,Password,OTPAuth\nJira,https://j,bob,%s,\n", a(18))
    add("list below heading", "## Passwords\n\n- router: %s\n- nas: %s\n", human(), a(10))
    add("definition list", "**Host:** h1\n**User:** root\n**Password:** %s\n", human())
    add("bold backticks", "- **DB password**: `%s`", a(12))
    # sentences
    add("de sentence", "Das Kennwort fürs NAS ist %s, bitte nicht weitergeben.", human())
    add("de new", "neues PW fuer den Server: %s", a(10))
    add("de changed", "Ich habe das Root-Passwort auf %s geändert.", human())
    add("fr sentence", "Le mot de passe du wifi c'est %s", human())
    add("fr identifiants", "Identifiants : admin / %s", human())
    add("es sentence", "la clave del router es %s", human())
    add("es new", "He cambiado la contraseña a %s", human())
    add("it sentence", "la password del database: %s", human())
    add("pt sentence", "a senha do banco agora é %s", human())
    add("ja sentence", "DBのパスワードは「%s」に変更しました。", human())
    add("zh sentence", "服务器密码改成了 %s，别忘了", human())
    add("zh account", "账号：admin 密码：%s", a(10))
    add("ru sentence", "пароль от базы: %s", human())
    add("ru new", "поменял пароль на %s", human())
    add("pl sentence", "hasło do bazy to %s", human())
    add("tr sentence", "wifi şifresi %s", human())
    add("en chat", "try %s as pw", human())
    add("en creds", "creds for staging: qa@corp.example / %s", human())
    add("en is still", "the root password is still %s btw", human())
    add("en changed", "I changed the db password from %s to %s yesterday", human(), human())
    add("en set to", "set the admin password to %s", human())
    add("en quoted", "password for the vpn (“%s”) expires in May", human())
    add("en pass abbreviation", "ssh root@10.0.0.5, pass %s", human())
    add("en passphrase", 'the passphrase for the deploy key is "%s"', "seven purple herons dance")
    add("en pin", "PIN of the safe: %s", a(6, "0123456789"))
    add("en token is", "My Linear API token is %s if you need it", a(40))
    add("vendor name", "Here is the Sendinblue key %s for mails", a(40))
    add("vendor value", "export it: Algolia admin %s", hexa(32))
    add("assistant echo", "I'll log in with user `admin` and password `%s`.", human())
    add("user pass slash", "ftp: web1/%s", human())
    add("below label", "Password\n%s\n\nHost\nh1", human())
    add("arrow", "db password -> %s", human())
    add("parenthesis", "login as root (password: %s)", human())
    # dress
    v = a(36)
    s.append(
        Sample("wrapped token", "token: " + "gh" + "p_" + v[:20] + "\n" + v[20:] + "\n", (v[:20], v[20:]))
    )
    v = a(40, STD64)
    s.append(
        Sample(
            "wrapped secret indented",
            "    aws_secret_access_key = " + v[:22] + "\n    " + v[22:] + "\n",
            (v[:22], v[22:]),
        )
    )
    v = a(20)
    s.append(Sample("zero width", "pass\u200bword: " + "\u200b".join(v), (v, "\u200b".join(v))))
    s.append(Sample("soft hyphen", "api\u00ad_key=" + v[:9] + "\u00ad" + v[9:], (v[9:], v[:9])))
    v = human()
    s.append(Sample("full width", _wide("password=" + v), (v, _wide(v))))
    v = a(12)
    s.append(Sample("html escaped", "&lt;password&gt;" + v + "&lt;/password&gt;", (v,)))
    add("html entity quotes", "&quot;client_secret&quot;: &quot;%s&quot;", a(24))
    add("html numeric quotes", "&#34;clientSecret&#34;&#58;&#34;%s&#34;", a(24))
    add(
        "percent encoded",
        "redirect?u=https%3A%2F%2Fh%2F%3Fapi_key%3D%s%26x%3D1".replace("%s", "\0")
        .replace("%3", "\1")
        .replace("%2", "\2")
        .replace("\0", "%s"),
        a(24),
    )
    s[-1] = Sample(s[-1].shape, s[-1].text.replace("\1", "%3").replace("\2", "%2"), s[-1].core)
    add("template literal", "const url = `https://bob:%s@${host}/api`;", a(14))
    add("template python", 'dsn = f"postgresql://app:%s@{host}/db"', a(14))
    add("concat", 'String key = "' + "%s" + '" + "%s"; // apiKey', a(12), a(12))
    add("multi line toml", 'api_token = """\n%s\n"""', a(30))
    add("heredoc", "cat > pw.txt <<EOF\nADMIN_PASSWORD=%s\nEOF", human())
    add("quoted printable", "The password is=20=3D=20%s\n", human())
    v = a(40)
    s.append(Sample("quoted printable wrap", "api_key=3D" + v[:22] + "=\n" + v[22:], (v[:22], v[22:])))
    add("diff line", "-  password: %s\n+  password: ${DB_PASSWORD}", human())
    add("git log", "    rotate key, old one was %s", "AI" + "za" + a(35, URL64))
    add("json in string", 'log: {\\"user\\":\\"bob\\",\\"pwd\\":\\"%s\\"}', human())
    add("yaml block", "admin-password: >-\n  %s\n", human())
    add("ini spaces", "pass   =   %s", human())
    add("lua", "local conf = { password = [[%s]] }", human())
    add("ruby hash", "{ :password => '%s', user: 'bob' }", human())
    add("php array", "'password' => env('DB_PASSWORD', '%s'),", human())
    add(
        "powershell credential",
        "$cred = New-Object PSCredential('bob', (ConvertTo-SecureString -String '%s' -AsPlainText))",
        human(),
    )
    add("go struct", 'Config{User: "app", Password: "%s"}', human())
    add("rust const", 'const API_SECRET: &str = "%s";', a(28))
    add("swift", 'let clientSecret = "%s"', a(28))
    add("kotlin", 'val keystorePassword: String = "%s"', human())
    add("gradle", 'storePassword "%s"\nkeyPassword "%s"', human(), human())
    add("xcconfig", "SENTRY_AUTH_TOKEN = %s", hexa(64))
    add("elixir", 'config :app, App.Repo, username: "app", password: "%s"', human())
    add("python default", 'os.environ.get("ADMIN_PASSWORD", "%s")', human())
    add("js default", 'const secret = process.env.JWT_SECRET || "%s";', a(20))
    add("shell default", "PASS=${PASS:-%s}", human())
    add("bash read", "DB_PWD=$'%s'", human())
    add("windows set", 'setx OPENAI_KEY "%s"', a(40))
    add("dockerfile arg", "ARG NEXUS_PASSWORD=%s", human())
    add("make var", "DEPLOY_PASS := %s", human())
    add("postman", '{"key": "password", "value": "%s", "type": "string"}', human())
    add("postman auth", '"auth": {"type": "bearer", "bearer": [{"key": "token", "value": "%s"}]}', a(32))
    add("har header", '{"name": "Authorization", "value": "Basic %s"}', b64("bob:" + a(14)))
    add("graphql", 'mutation { login(email: "a@b.c", password: "%s") { token } }', human())
    add("soap", '<wsse:Password Type="#PasswordText">%s</wsse:Password>', human())
    add("expect", 'expect "assword:"\nsend "%s\\r"', human())
    add("prompt answer", "Password: %s\nLast login: Mon", human())
    add("selenium", 'driver.find_element(By.ID, "password").send_keys("%s")', human())
    add("playwright", "await page.fill('#password', '%s');", human())
    add("pytest requests", 'requests.get(url, auth=("bob", "%s"))', human())
    add("basic auth object", "axios.get(u, { auth: { username: 'bob', password: '%s' } })", human())
    add("paramiko", 'ssh.connect("h", 22, "root", "%s")', human())
    add("smtp login", 'server.login("me@corp.example", "%s")', human())
    return s


SEEN = frozenset(
    ("es sentence", "vendor value", "en chat", "kubeconfig key data", "zoom passcode", "jdbc oracle")
)
"""Shapes of the second half whose names came to be known after it was measured: they went over to the first."""


def halves() -> tuple[list[Sample], list[Sample]]:
    """Return the samples as half A, which may be looked at, and half B, of which only the count may be."""
    samples = _made()
    random.Random("halves").shuffle(samples)
    middle = len(samples) // 2
    first, second = samples[:middle], samples[middle:]
    return [*first, *(s for s in second if s.shape in SEEN)], [s for s in second if s.shape not in SEEN]


def main() -> None:
    """Write both halves as files of JSON lines."""
    for name, half in zip("AB", halves(), strict=True):
        lines = [json.dumps(one._asdict()) for one in half]
        (Path(sys.argv[1]) / f"fresh_{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
