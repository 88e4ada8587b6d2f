"""Find passwords in the arguments and the output of commands, and in the arguments of calls."""

import re
from collections.abc import Callable, Iterator, Sequence

from ragmem.domain.secrets.names import BREAK
from ragmem.domain.secrets.values import (
    HEX,
    UUID,
    Secret,
    has_mixed_characters,
    is_ordinary,
    is_plausible_password,
    is_random,
    is_safe,
    is_word,
)
from ragmem.domain.secrets.words import Names, letters, matches, names_in, places, with_letters
from ragmem.patterns import lazy

_PIPED = lazy(
    r"(?:echo|printf)[ \t]{1,3}(?:-\w{1,3}[ \t]{1,3})?[\"']?(?:[\w.-]{1,32}:)?"
    r"(?P<value>[^\s\"'`\\:|]{6,128}+)(?:\\n)?[\"']?[ \t]{0,3}\|[ \t]{0,3}"
    r"(?:sudo[ \t][^\n|;]{0,40}?-S\b|(?:sudo[ \t]{1,3})?chpasswd|kinit\b|passwd\b|cryptsetup\b|gpg\b|[^\n"
    r"|;]{0,160}?-stdin\b"
    r"|[^\n|;]{0,160}?(?:--passphrase-fd|--pinentry|-pass stdin|--with-token|secret (?:create|set|put)))"
)
_KEPT = lazy(
    r"[a-z -]{0,24}(?:[^\n|;&]{0,160}?[ \t](?:--value|--body|-b)[ \t=]|[ \t][A-Z][A-Z0-9_]{2,40}[ \t=])"
    r"[ \t]{0,3}[\"']?"
    r"(?P<value>[^\s\"'`|;&<>\\]{6,256}+)"
)
"""What a command hands to a store of secrets."""

_CLIENTS: dict[str, str] = {
    # A password option, and the commands that have it.
    "p": "mysql mariadb mysqldump mysqladmin mysqlimport docker podman buildah skopeo nerdctl az oc sshpass "
    "mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh 7z 7za 7zr rar unrar arj smbmap "
    "evil-winrm crackmapexec netexec nxc psexec xfreerdp rdesktop freerdp plink pscp psftp putty "
    "pscp.exe svn cf helm ncftp ncftpget lftp kafkacat certutil mailx sendemail ansible-vault influx "
    "impala-shell isql mssql-cli ipmitool rabbitmqadmin tsm tabcmd medusa john hydra snowsql vncviewer "
    "argocd rclone unzip dotnet nuget wmic jboss-cli.sh keytool twine hub cosign zowe kinit wsadmin.sh "
    "asadmin rundeck mailsend grpcurl",
    "P": "zip unzip sqlcmd bcp osql mosquitto_pub mosquitto_sub mosquitto_rr ipmitool hydra unzip fcrackzip "
    "isql tsql pdftk ftp telnet ssh-keygen nsupdate fwupdmgr racadm virsh vncpasswd nmcli medusa "
    "snmpusm openvpn bluetoothctl pscp",
    "w": "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn dsconf dsidm "
    "htdigest pg_restore impala-shell ncat kadmin kadmin.local aircrack-ng",
    "a": "redis-cli keydb-cli valkey-cli redis-benchmark ldappasswd curl-basic",
    "s": "ldappasswd",
    "A": "snmpget snmpwalk snmpbulkwalk snmpset snmptrap snmptable snmpbulkget snmpgetnext snmpinform "
    "snmpstatus snmpusm",
    "X": "snmpget snmpwalk snmpbulkwalk snmpset snmptrap snmptable snmpbulkget snmpgetnext snmpinform "
    "snmpstatus snmpusm",
    "c": "snmpget snmpwalk snmpbulkwalk snmpset snmptrap snmptable snmpbulkget snmpgetnext",
    "u": "curl http https httpie ab wget nmap xh hurl elasticdump siege",
    "U": "smbclient rpcclient net smbget mount.cifs ab smbtree nmblookup",
    "hp": "rar unrar",
    "k": "qpdf rar openssl hashcat radtest",
    "N": "ssh-keygen",
    "auth": "http https httpie",
    "e": "sshpass",
    "j": "aws",
    "x": "ffmpeg",
    "i": "nmcli",
}
_OPTIONS = {option: frozenset(commands.split()) for option, commands in _CLIENTS.items()}
_ALL = frozenset().union(*_OPTIONS.values())
_GLUED = frozenset({"p", "P", "hp", "w", "a"})
"""Options whose value may follow without a blank."""

_SHORT = lazy(
    r"(?<=[ \t\"'`])-(?P<option>hp|[pPwasAXcukUNei](?![a-z]{2,})"
    r"|[pPwa](?=\S))(?P<blank>[ \t=]{0,3})\\{0,2}(?P<mark>[\"'])?"
    r"(?P<value>(?(mark)[^\"'\n]{4,128}?(?=\\{0,2}[\"'])|[^\s\"'`|;&<>\\]{4,128}+))"
)
_COMMAND_WORD = lazy(r"[A-Za-z0-9_.-]*[A-Za-z_][\w.-]*")
_LINE_END = ("\n", "\\n", "|", ";", "&&", "`")
MOST_BEFORE = 240
"""Maximum characters between a command and its option."""

_LONG_OPTION = lazy(
    r"(?<![\w-])(?:-{1,2}|/)(?P<name>(?:[A-Za-z]{1,20}[-_]?){0,3}?(?:pass(?:word|phrase|wd|code|in|out)?|pwd?"
    r"|pw|psk|secret|token|key))"
    r"(?::p:password)?(?:[ \t]{1,3}|[ \t]?[=:][ \t]?)(?:(?:pass|file|env|stdin|fd):)?\\{0,2}(?P<mark>[\"'])?"
    r"(?P<value>(?(mark)[^\"'\n\\]{4,256}?(?=\\{0,2}[\"'])|[^\s\"'`,;<>()\[\]{}|\\]{4,256}+))",
    re.IGNORECASE,
)
_MSBUILD = lazy(
    r"(?i:[-/](?:p|property|D|e|set|set-string|build-arg|define|var|env|o|config|rp|pwd|password"
    r"|pass)[: =]{1,2})[\"']?[\w.-]{0,64}?(?i:pass\w{0,8}|pwd|pw|secret|token|apikey|api_key)"
    r"[=:][\"']?(?P<value>[^\s\"'`,;<>|\\]{4,256}+)"
)
_SLASH = lazy(
    r"(?<=[ \t])/(?:p|rp|pwd|pass|password|pw)(?::|[ \t]{1,2})[\"']?(?P<value>[^\s\"'`,;<>|\\/][^\s\"'`,;<>"
    r"|\\]{3,128}+)",
    re.IGNORECASE,
)
_PASS_SOURCE = lazy(r"(?<=[\s=\"'])pass:(?P<value>[^\s\"'`,;<>|\\]{4,128}+)")
"""A password in the syntax of OpenSSL."""

_USER = lazy(
    r"(?<![\w-])(?:-u|-user|--user|--proxy-user|-U|--auth|-a)[ =]{0,3}\\{0,3}[\"']?"
    r"(?P<user>\w[^\s:\"'%$]{0,63}"
    r")(?P<mark>[:%])"
    r"(?P<value>[^\s\"'`,;<>()\[\]{}|\\]{4,256}+)"
)
_USER_CLIENT = lazy(
    r"\b(?:curl|https?|httpie|wget|ab|xh|smbclient|rpcclient|net|smbget|git|svn|elasticdump|hurl)\b"
)
_SLASHED = lazy(
    r"\b(?:sqlplus|exp|imp|expdp|impdp|rman|sqlldr|connect|CONNECT|conn|sqlcl|sql)[ \t][^\n|;]{0,60}?\b"
    r"[A-Za-z][\w$#]{0,30}/\\?[\"']?(?P<value>[^\s\"'/@\\]{4,64}+)\\?[\"']?@[\w/]"
)


MIN_ARGUMENT = 6
"""Minimum characters of a password that is a positional argument."""

MIN_OPTION, MIN_RANDOM = 5, 8
MOST_ARGUMENTS = 12
_ARGUMENT = lazy(
    r"[ \t]{1,8}(?:\\{0,3}(?P<mark>[\"'])(?P<quoted>[^\"'\n]{1,256}?)\\{0,3}(?P=mark)"
    r"|(?P<bare>[^\s\"'`|;&<>]{1,256}+))"
)
_OF_SHARE = lazy(r"[A-Za-z]:\Z|\*\Z|[/$%]|\\\\")
"""The other arguments of `net use`: a drive, an option, a variable or a share."""

_FLAGS = lazy(r"-[A-Za-z0-9]{1,8}\Z")


def find_argument_passwords(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords of commands in unnamed arguments or pipes.

    `raw` is the text in ASCII, `small` the same in lower case.
    """
    for command in names_in(small, _ARGUMENTS):
        yield from _check_argument(text, small, command)
    for sought, pattern in names_in(small, _PLACES):
        for found in matches(text, raw, (sought,), pattern):
            if has_mixed_characters(found["value"]) and not is_ordinary(found["value"]):
                yield Secret(*found.span("value"), "password" if pattern is not _KEPT else "secret")
    yield from _short_option_secrets(text, raw)
    yield from _marked_option_secrets(text, raw, small)


_PLACES = Names(
    (letters(name), (name, pattern))
    for names, pattern in (
        (b"echo ,printf ", _PIPED),
        (b"secret set,secrets set,put-parameter,keyvault secret", _KEPT),
        (b"sqlplus,expdp,impdp,rman ,sqlldr,connect ,CONNECT ,conn ,sqlcl", _SLASHED),
    )
    for name in names.split(b",")
)


def _short_option_secrets(text: str, raw: bytes) -> Iterator[Secret]:
    """Yield the passwords in short options of commands that have a password option."""
    for lead in _SHORT_LEAD.finditer(raw):
        found = _SHORT.match(text, lead.start() + 1)
        if not found or (not found["blank"] and found["option"] not in _GLUED):
            continue
        value = found["value"]
        if _is_password_option(text, found.start() - 1, found["option"]) and _is_argument(
            value, found["option"], quoted=found["mark"] is not None
        ):
            start = found.start("value")
            if found["option"] in {"u", "U"}:
                start, value = _password_after_user(found)
            if value:
                yield Secret(start, start + len(value), "password")


def _marked_option_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the values of `/p:` and `pass:`, which are passwords in every command."""
    for lead in _SLASH_LEAD.finditer(raw):
        found = _SLASH.match(text, lead.start() + 1)
        if found and is_safe(found["value"]) and not is_ordinary(found["value"]):
            yield Secret(*found.span("value"), "password")
    for found in matches(text, raw, names_in(small, _SOURCES), _PASS_SOURCE):
        if is_plausible_password(found["value"]) and not is_ordinary(found["value"]):
            yield Secret(*found.span("value"), "password")


_SOURCES = with_letters((b"pass:",))
# A pattern that begins with a character is searched as fast as a string.
_SHORT_LEAD = lazy(rb" -(?=[pPwaAXuU]|hp|[sckNe] )")
_SLASH_LEAD = lazy(rb" /(?=[pP]|rp|RP)")


def _password_after_user(found: re.Match[str]) -> tuple[int, str]:
    """Return the start and the password of `name:password` or `name%password`."""
    for mark in ":%":
        user, _, password = found["value"].partition(mark)
        if password and len(password) >= MIN_OPTION and user:
            return found.start("value") + len(user) + 1, password
    return found.start("value"), ""


def _is_password_option(text: str, at: int, option: str) -> bool:
    """Return whether the command before an option has a password option with this letter."""
    low = max(0, at - MOST_BEFORE)
    low = max([low, *(end + len(mark) for mark in _LINE_END if (end := text.rfind(mark, low, at)) >= 0)])
    line = text[low:at]
    words = [one.group().rpartition("/")[2].lower() for one in _COMMAND_WORD.finditer(line)][:12]
    return any(word.removesuffix(".exe") in _OPTIONS[option] for word in words if word != "-p")


def _is_argument(value: str, option: str, *, quoted: bool) -> bool:
    if is_ordinary(value) or is_word(value) or len(value) < MIN_OPTION:
        return False
    if option in {"u", "U"}:
        value = value.partition(":")[2] or value.partition("%")[2]
        return (
            len(value) >= MIN_OPTION and not is_ordinary(value) and (quoted or is_plausible_password(value))
        )
    if re.fullmatch(r"\d+(?::\d+)?", value) or re.match(
        r"(?:tcp|udp|ssh|--?\w)|[\w./-]+/[\w./-]*\Z|:?\w+[:=]\S", value
    ):
        return False
    return _is_chosen(value) or (quoted and not value.isalpha())


def _is_chosen(value: str) -> bool:
    """Return whether a value in the place of a password is one; a random one may have no digit."""
    return is_plausible_password(value) or (len(value) >= MIN_RANDOM and is_random(value))


_Argument = tuple[int, str]
"""The start of an argument of a command, and the argument."""


def _check_argument(text: str, small: bytes, command: bytes) -> Iterator[Secret]:
    """Yield the password argument of a command, unless it is a word or a placeholder."""
    password = _PASSWORD_OF[command]
    for at in places(small, command, step=len(command)):
        if found := password(_arguments(text, at + len(command))):
            start, value = found[0], found[1].partition("\\")[0]
            if len(value) >= MIN_ARGUMENT and has_mixed_characters(value) and not is_ordinary(value):
                yield Secret(start, start + len(value), "password")


def _arguments(text: str, at: int) -> list[_Argument]:
    """Return the arguments of a command, without quotes."""
    found: list[_Argument] = []
    while len(found) < MOST_ARGUMENTS and (one := _ARGUMENT.match(text, at)):
        group = "quoted" if one["mark"] else "bare"
        found.append((one.start(group), one[group]))
        at = one.end()
    return found


def _share_password(arguments: Sequence[_Argument]) -> _Argument | None:
    """Return the password of `net use DRIVE SHARE PASSWORD /user:NAME`, in any order."""
    if not any(value.lower().startswith(("/user:", "/u:")) for _, value in arguments):
        return None
    return next((one for one in arguments if not _OF_SHARE.match(one[1])), None)


def _user_password(arguments: Sequence[_Argument]) -> _Argument | None:
    """Return the password of `net user NAME PASSWORD /add`."""
    given = [one for one in arguments if one[1][:1] != "/"]
    return given[1] if len(given) == 2 and len(arguments) > 2 else None


def _htpasswd_password(arguments: Sequence[_Argument]) -> _Argument | None:
    """Return the password of `htpasswd -b FILE NAME PASSWORD`; with -n there is no file."""
    # A container image may precede the options.
    first = next((number for number, (_, value) in enumerate(arguments[:2]) if value[:1] == "-"), None)
    if first is None:
        return None
    flags, given = "", list(arguments[first:])
    while given and _FLAGS.match(given[0][1]):
        flag = given.pop(0)[1]
        flags += flag[1:]
        # The cost of a hash is a separate number.
        if flag[-1] in "Cr" and given:
            given.pop(0)
    place = 1 if "n" in flags else 2
    return given[place] if "b" in flags and len(given) > place else None


_PASSWORD_OF: dict[bytes, Callable[[Sequence[_Argument]], _Argument | None]] = {
    b"net use": _share_password,
    b"net user": _user_password,
    b"htpasswd": _htpasswd_password,
}
_ARGUMENTS = with_letters(_PASSWORD_OF)


def find_option_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the secrets among the long options of a command: `--token ...`, `/p:...=...`."""
    for sought, kind in names_in(small, _LONG):
        for at in places(raw, sought):
            # The option begins some letters before the part that means a secret.
            low = max(text.rfind(mark, max(0, at - 48), at) for mark in " \n\"'") + 1
            if text[low : low + 1] not in {"-", "/"}:
                continue
            found = _LONG_OPTION.match(text, low)
            if (found and found.end("name") > at and _is_password(found, kind)) or (
                (found := _MSBUILD.match(text, low))
                and _is_chosen(found["value"])
                and not is_ordinary(found["value"])
            ):
                yield Secret(*found.span("value"), kind)
    for found in (_USER.match(text, lead.start()) for lead in _USER_LEAD.finditer(raw)):
        if found and not is_ordinary(found["value"]) and not found["value"].isdigit():
            near = _USER_CLIENT.search(text, max(0, found.start() - MOST_BEFORE), found.start())
            if is_safe(found["value"]) or (near and is_plausible_password(found["value"])):
                yield Secret(*found.span("value"), "password")


_USER_LEAD = lazy(rb"-(?=[uU]|a |-user|-proxy-user|-auth)")
_LONG = Names(
    (letters(word), (word, kind))
    for kind, words in (
        ("password", (b"pass", b"Pass", b"PASS", b"pwd", b"Pwd", b"-pw", b"psk")),
        ("secret", (b"-secret", b"-token", b"-key", b"apikey", b"Secret=", b"secret=", b"Token=", b"token=")),
    )
    for word in words
)


def _is_password(found: re.Match[str], kind: str) -> bool:
    value = found["value"]
    if is_ordinary(value) or is_word(value) or len(value) < MIN_OPTION:
        return False
    if kind == "password":
        return _is_chosen(value) or (found["mark"] is not None and not value.isalpha() and " " not in value)
    if len(value) < 8 or not is_random(value):
        return False
    hash_or_id = HEX.fullmatch(value) or UUID.fullmatch(value)
    return bool(_SURE.search(found["name"])) or (not hash_or_id and len(value) >= 16)


_SURE = lazy(
    r"(?i)api|access|auth|secret|private|signing|encrypt|master|client|token|license|service|account|user"
)


_PRINTING = lazy(
    r"(?:cat|less|more|head|tail|type|bat|Get-Content|gc)[ \t][^\n|;&]{0,60}?(?:/?run/secrets/|secrets?/"
    r"|\.pgpass|\.netrc|\.secret|password|passwd|token"
    r"|\.key\b|credential|\.pass\b|\.pem|api[_-]?key|id_rsa|wallet|\.vault)[^\n|;&]{0,80}"
    r"|(?:echo|printf|printenv|Write-Output|Write-Host|env \| grep|set \| grep|print)[ \t][^\n"
    r"|;&]{0,16}?\$?(?:\{|env:|Env:|%)?[\w]{0,40}"
    r"(?i:pass|pwd|secret|token|key|psk|credential|pw)\w{0,20}\}?%?[\"']?"
    r"|(?:vault (?:kv get|read|token|print|login)|bao kv get|aws (?:secretsmanager get-secret-value"
    r"|ssm get-parameter|ecr get-login|sts get|kms decrypt"
    r"|configure get)|gcloud (?:auth [\w-]{0,24}\s?print|secrets versions access)|gcloud auth"
    r"|az (?:keyvault secret show|account get-access-token|acr credential"
    r"|storage account keys|ad sp)|kubectl (?:get secrets?|create token|[^\n|;]{0,60}?get secrets?)"
    r"|oc (?:whoami -t|extract|get secret)|pass (?:show|generate|insert|-c)|pass [\w./-]{1,60}(?=\n|\\n)"
    r"|gopass|op (?:read|item get|get)|bw get|lpass show|rbw get|keepassxc-cli|security find-(?:generic"
    r"|internet)-password|secret-tool lookup"
    r"|heroku (?:config:get|auth:token)|fly (?:auth token|tokens)|flyctl auth token|gh auth token|glab auth"
    r"|doppler secrets|infisical|chamber read|sops (?:-d|decrypt|exec)"
    r"|ansible-vault (?:view|decrypt)|openssl (?:rand|passwd)|pwgen|apg|makepasswd|xkcdpass|terraform output"
    r"|tofu output|pulumi config get|keyring get|credstash get|berglas access"
    r"|docker (?:exec|run|compose exec)[^\n|;]{0,80}?(?:printenv|cat)|npm token|htpasswd -n|mkpasswd"
    r"|wg (?:genkey|genpsk|show)|tailscale|consul kv get|etcdctl get|redis-cli get|snyk config get"
    r"|gpg (?:-d|--decrypt|-qd)|age (?:-d|--decrypt)|git config [\w. -]{0,40}(?:token|password)"
    r"|npm config get|pip config get|netlify env:get|vercel env|railway variables|supabase secrets"
    r"|cf env|mc admin|nomad var get|conjur|cyberark|summon|teller|dotenv get|envchain"
    r"|aws-vault exec)[^\n]{0,200}?"
)
_OUTPUT = lazy(
    rf"[ \t`\"'*)]{{0,4}}(?:{BREAK}[ \t>]{{0,8}}(?:`{{3}}\w{{0,10}}|(?i:output|result|stdout|ausgabe|prints?"
    rf"|returns?|gives|got|response|shows)[^\n\\]{{0,24}})?){{1,4}}"
    r"[ \t>`\"'=→⎿│└|-]{0,8}(?P<value>[^\s\"'`\\,<>|]{6,512}+)[ \t\"'`]{0,3}(?=\r?\n|\\|\"|\Z)"
)
_DESCRIBED = lazy(
    r"[`\"')]{0,3}[ \t]{0,2}(?::|=>|->|→|(?:which |that |it )?(?i:prints?|printed|gives|gave|returns?"
    r"|returned|outputs?|shows?|showed|says|said)|is|was)[: \t]{1,3}[`\"']{0,2}"
    r"(?P<value>[^\s\"'`\\,<>|]{8,512}+)"
)
MOST_COMMAND = 300

_PRINTERS = with_letters(
    name.replace("~", " ").encode()
    for name in (
        "secrets/ .pgpass .netrc .secret .pass get-secret-value get-parameter access-token echo~$ echo~\\$ "
        'echo~"$ printenv vault~ bao~ '
        "kubectl~ secrets~versions pass~show gopass op~read op~item bw~get lpass rbw~get keepassxc "
        "find-generic find-internet secret-tool "
        "config:get auth:token auth~token doppler infisical chamber~read sops~ openssl~ pwgen xkcdpass "
        "makepasswd terraform~output "
        "tofu~output pulumi~config keyring~get credstash berglas whoami~-t keyvault acr~credential "
        "account~keys npm~token mkpasswd "
        "wg~gen echo~% $env: consul~kv etcdctl gpg~-d gpg~--decrypt age~-d git~config npm~config nomad~var "
        "envchain cat~ type~ "
        "configure~get ecr~get-login kms~decrypt oc~extract ansible-vault railway~ netlify~ snyk~ pass~"
    ).split()
)
"""Parts of commands that print a secret; each such command has one of them."""


def find_output_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield secrets in the output of commands: alone in the line below, or described after the command."""
    behind = 0
    for at in sorted({at for name in names_in(small, _PRINTERS) for at in places(raw, name)}):
        if at < behind:
            continue
        ends = [end for mark in ("\n", "\\n") if (end := text.find(mark, at, at + MOST_COMMAND)) >= 0]
        line_end = min(ends, default=min(len(text), at + MOST_COMMAND))
        starts = [
            start + len(mark)
            for mark in ("\n", "\\n")
            if (start := text.rfind(mark, max(0, at - MOST_COMMAND), at)) >= 0
        ]
        line = max(starts, default=max(0, at - MOST_COMMAND))
        behind = line_end
        if not (found := _PRINTING.search(text, line, line_end)):
            continue
        below = _OUTPUT.match(text, line_end) or _DESCRIBED.match(
            text, _end_of_code(text, found.end(), line_end)
        )
        if below and _is_output_secret(below["value"]):
            yield Secret(*below.span("value"), "secret")


def prints_secret(command: str) -> bool:
    """Return whether a command prints a secret."""
    return bool(_PRINTING.search(command[:MOST_COMMAND]))


def _end_of_code(text: str, at: int, end: int) -> int:
    close = text.find("`", at, end)
    return close if close >= 0 else at


def _is_output_secret(value: str) -> bool:
    value = value.rstrip(".,;:!?)]}")
    if is_ordinary(value) or is_word(value) or UUID.fullmatch(value) or len(value) < MIN_ARGUMENT:
        return False
    return (is_random(value) and (len(value) >= 12 or is_safe(value))) or is_safe(value)


_CALL = lazy(r"[A-Za-z_]{0,30}\([ \t\n]{0,8}(?P<arguments>[^()\n]{3,300})")
_STRING = lazy(r"\\{0,3}[\"'`](?P<value>[^\"'`\s\\]{1,128})\\{0,3}[\"'`]")
_LOGIN_CALLS = with_letters(
    b"login( log_in( signin( sign_in( signIn( Login( auth( Auth( _auth( redential authenticate( "
    b"uthentication( onnect( onnection( PDO( bind( bind_s( pw_set( Client( login_user( uthorize(".split()
)
_KEY_CALLS = with_letters(
    b"Wallet( cohere.Client( "
    b"PrivateKey( privateKeyToAccount( Keypair. Fernet( from_key( OpenAI( Anthropic( stripe( Stripe( "
    b"createHmac( hmac.new( jwt.sign( jwt.encode( jwt.verify( AES.new( Cipheriv( ApiKey( api_key(".split()
)
_KEY_CALL = lazy(r"[\w.]{0,40}\([ \t\n]{0,8}(?P<arguments>[^()\n]{3,300})")
MIN_KEY = 16
_PLACE = lazy(r"[/:@.\\]|\A\d+\Z")


def find_call_keys(text: str, small: bytes, raw: bytes) -> Iterator[Secret]:
    """Yield the keys in arguments of calls: of a wallet, a cipher, a signature or a service."""
    for call in matches(text, raw, names_in(small, _KEY_CALLS), _KEY_CALL):
        for one in _STRING.finditer(text, *call.span("arguments")):
            value = one["value"].removeprefix("0x")
            known = HEX.fullmatch(value) or is_random(value)
            if len(value) >= MIN_KEY and known and not is_ordinary(value) and not UUID.fullmatch(value):
                yield Secret(*one.span("value"), "secret")


def find_call_passwords(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords in arguments of calls after a name: `login("sam", "...")`."""
    for name in names_in(small, _LOGIN_CALLS):
        for at in places(raw, name, step=len(name)):
            if not (found := _CALL.match(text, at)):
                continue
            strings = list(_STRING.finditer(text, *found.span("arguments")))
            first = bool(strings) and "," not in text[found.start("arguments") : strings[0].start()]
            for one in strings[1 if first else 0 :]:
                value = one["value"]
                too_short = len(value) < MIN_ARGUMENT
                if not (too_short or _PLACE.search(value) or is_ordinary(value)) and is_safe(value):
                    yield Secret(*one.span("value"), "password")
