"""Find what runs where: machines, hosts, models with their sizes, and programs in lower-case letters."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ragmem.domain.entities.ordinary_words import is_ordinary
from ragmem.domain.entities.proper_names import Named
from ragmem.domain.text.blocks import BlockType
from ragmem.domain.text.known_names import COMMON_WORDS, KNOWN_NAMES
from ragmem.domain.text.token_types import IDENTIFIER_WEIGHT, KNOWN_WEIGHT, classify_token
from ragmem.patterns import lazy

_MACHINE = (
    r"Mac (?:[Mm]ini|Studio|Pro)|MacBook(?: Pro| Air)?(?: M\d(?: Pro| Max| Ultra)?)?|iMac(?: Pro)?|"
    r"Raspberry Pi(?: (?:\d\w?|Zero|Pico)(?![\w.]))?"
    r"|Jetson (?:Nano|Orin(?: Nano)?|Xavier)|Intel NUC|Surface (?:Pro|Laptop)|ThinkPad(?: [A-Z]\d\w*)?"
    r"|DGX (?:Spark|Station)|Steam Deck|Synology(?: DS\d+\+?)?"
)
_FAMILY = (
    "Gemma|Qwen|QwQ|Llama|LLaMA|CodeLlama|Mistral|Mixtral|Ministral|Magistral|Codestral|Devstral|Phi|"
    "DeepSeek|Falcon|GLM|Granite|Nemotron|Kimi|StarCoder|Yi|OLMo|SmolLM|Command R|Vicuna|EXAONE|InternLM|"
    "Hermes"
)
"""Families of open models, whose size is part of the name: Gemma 4 26B."""

_VARIANT = (
    r"(?:[ -](?:Coder|Instruct|Chat|Vision|VL|Small|Large|Medium|Math|[Mm]ini|Embedding|it|"
    r"\d{1,4}B-A\d{1,3}B|\d{1,4}(?:\.\d)?(?:x\d{1,3})?[BM])(?![\w.]))"
)
_PRODUCT = lazy(
    rf"(?<![\w/.-])(?:(?P<host>(?:{_MACHINE})(?: Server)?)"
    rf"|(?P<model>(?:{_FAMILY})(?:[ -]?\d(?:\.\d)?(?![\w.]))?{_VARIANT}{{0,3}}))(?![\w/]|[.-]\w)"
)

_PRODUCT_BEGINS = lazy(
    "Mac|iMac|Rasp|Jets|Intel N|Surf|Think|DGX|Steam|Syno|Gemma|Q|Ll|LL|CodeL|M[ai][sgn][it]|Mixt|Codes|"
    "Devs|Phi|DeepS|Falc|GLM|Gran|Nemo|Kimi|StarC|Yi|OLMo|Smol|Comm|Vicu|EXA|Intern|Herm"
)
"""Finds where it is worth while to look for one."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = lazy(
    rf"(?<![\w@./:$-])(?!(?:com|org|net|io|de|www|self|this|config|settings|env|threading|vite|app)\.)"
    rf"(?:(?:{_LABEL}\.){{1,4}}(?:internal|lan|corp|intranet|localdomain)|{_LABEL}\.(?:local|home)"
    rf"|(?:{_LABEL}\.){{2,4}}(?:com|org|net|io|dev|app|cloud|ai|eu|de|fr|es|it|nl|ch|at|uk|br|pt|ru|cn|jp|"
    r"in|us))(?::\d{2,5})?(?![\w/(@-]|\.\w)"
)
"""A domain name of a local network, or one with a subdomain; two labels may be a file or an attribute."""

_TOP_LEVEL = lazy(
    r"\.(?:internal|lan|corp|intranet|localdomain|local|home|com|org|net|io|dev|app|cloud|ai|eu|de|fr|es|"
    r"it|nl|ch|at|uk|br|pt|ru|cn|jp|in|us)(?![\w/(@-]|\.\w)"
)
_NUMBERED = lazy(r"(?<![A-Za-z0-9_./@#:=-])[a-z]{2,16}(?:-[a-z]{2,16}){0,2}-\d{1,3}(?![A-Za-z0-9_/=:-]|\.\w)")
_NUMBER = lazy(r"-\d")
_COUNTED = frozenset(
    """
    agent area attempt base batch bug case chapter claude covid day draft epic exit feature gemini glm gmt
    gpt group haiku http ipv iso issue item iteration lane layer level llama milestone mobile month option
    opus page part pass phase plan pr priority question qwen round rule run section session sha slide sonnet
    sprint stage step story task team test ticket tier tls top track type unit user utc utf version wave
    week worker year zone
    """.split()
)
"""First words of numbered things that are no hosts."""

_SERVING = lazy(
    r"(?<!\w)(?:[Pp]ort[as]?\b|runs?\b|running\b|serves?\b|hosted|deployed|ssh\b|[Hh]osts?\b|"
    r"[Ss]erv(?:er|idor|eur)|machines?\b|nodes?\b|r[eé]plica|läuft|laufen|Knoten|Rechner|tourne|corre[ n]|"
    r"roda[ m]|sobe[ m]|[Pp]rod)|порт|сервер|узл|Прод|ポート|サーバ|端口|服务器|主机|节点"
)
"""Words beside which a numbered name is a host, in the languages that share the form: lager-03."""

_PLAIN = r"[a-z][a-z0-9]{2,19}(?:-[a-z0-9]{2,19}){0,2}"
_HOST = lazy(
    r"(?:host|Host|machine|box|VM|ssh(?: -\w)*(?: \w+@)?)(?:(?P<quote>:? [`\"*]+)|: | |(?<=@))"
    rf"(?P<name>{_PLAIN})(?=(?P<acts>[`\"*]* (?:runs|serves|hosts) )?)(?![\w=(/@-]|\.\w)"
)
_PORT = lazy(r"port \d|Port \d|\(\d+\.\d+\.\d+\.\d+\)")
_AT = lazy(rf"(?<![\w-])(?:on|auf|sur|en|em|at) [`\"*]*({_PLAIN})[`\"*]*(?:, | \(| )(?:on )?$")
_HOST_COLUMNS = frozenset({"host", "hosts", "hostname", "server", "machine", "node"})
_HOST_CELL = lazy(r" ?[`*]*(?P<name>[a-z][a-z0-9-]{1,40})[`*]* ?")
_NO_HOST = frozenset(
    """
    agent app application backend binary boot cluster code component container daemon device environment
    frontend gateway host interface internet kernel localhost machine name network node os platform pod
    process production program proxy script server servers service session shell side software staging
    startup system systems
    """.split()
)
"""Nouns that stand where the name of a host would."""

_INSTALLED = lazy(
    rf"`(?:\$ )?(?P<called>{_PLAIN}) (?:start|stop|restart|status|up|down|serve|run|init|install|logs|list|"
    r"build|deploy|login|pull|push|doctor)\b"
    rf"|install(?: -{{1,2}}[a-z]+)* (?P<installed>{_PLAIN})(?![\w/.:@=-])"
)
_INSTALLER = lazy(
    r"(?<![\w-])(?:brew|apt|apt-get|dnf|yum|pacman|cargo|pipx?|uv tool|npm|snap|choco|scoop|winget)"
    r"(?: --?\w+)* $"
)
_BEHIND = lazy(
    r"(?:via|use[ds]?|using|start(?:s|ed)?|restart(?:s|ed|ing)?|install(?:s|ed|ing)?|upgrad(?:e[ds]?|ing)|"
    r"configur(?:e[ds]?|ing)|stopped|adopt(?:ed)?|tried|chose|served by|powered by|managed by|"
    r"hosted (?:by|on)|provided by|run by|run(?:ning)? (?:on|in|under)|runs(?: on| in| under)?|in front of|"
    r"behind|deployed (?:on|to|with)|"
    r"switch(?:ed)? (?:from|to)|"
    r"migrated? (?:from|to)|built (?:on|with)|"
    rf"replaced (?:by|with)) [`*\"]*(?P<name>{_PLAIN})"
    r"(?=[`*\"']*(?:[.,;:)!?\n]|$| \(| (?:and|or|on|in|for|with|to|from|at|by|which|that|is|so|because|"
    r"instead|when|while|as|not|now|but|last|this|again|today|yesterday|since|after|before|without|if)\b))"
)
"""Where a program stands behind a verb; what follows shows that the word describes no noun."""

_BEFORE = lazy(
    r" (?:serves|exposes|listens on|runs|hosts|proxies|crash(?:es|ed)|hangs|starts|stopped|keeps|needs|"
    r"replace[sd]|works|is|was|returns|fails|failed|restarts)\b| \((?:on )?port \d"
)
_SUBJECT = lazy(rf"(?:^|[.!?:;,(\"*+\n-] ?|(?:and|but|then|while|when|der) )[`*\"]*({_PLAIN})[`*\"]*$")
_REACH = 40

_ENGLISH = lazy(
    r"(?<![\w-])(?:the|and|are|with|from|our|this|by|it|uses?|using|runs?|running|serve[ds]|hosts?|hosted|"
    r"restarted|crash(?:es|ed)|replace[ds]|switched|moved|is an?)(?![\w-])"
)
"""Words of a text whose other words the vocabulary can tell from names."""

NO_NAMES: Mapping[str, str] = MappingProxyType({})


def find_deployments(text: str, form: BlockType) -> Iterator[Named]:
    """Yield the machines, models and hosts of a statement, without order: start, end, name, type, weight."""
    for begin in _PRODUCT_BEGINS.finditer(text):
        one = _PRODUCT.match(text, begin.start())
        kind = one.lastgroup or "host" if one is not None else ""
        if one is not None and (kind == "host" or any(letter.isdigit() for letter in one.group())):
            yield one.start(), one.end(), one.group(), kind, IDENTIFIER_WEIGHT
    if form is BlockType.FENCE:
        return
    if _TOP_LEVEL.search(text):
        for one in _DOMAIN.finditer(text):
            yield *one.span(), one.group(), "host", IDENTIFIER_WEIGHT
    yield from _numbered_hosts(text)


def _numbered_hosts(text: str) -> Iterator[Named]:
    found = list(_NUMBERED.finditer(text)) if _NUMBER.search(text) else []
    for one in found if found and _SERVING.search(text) else ():
        if one.group().split("-", 1)[0] not in _COUNTED and classify_token(one.group()) is None:
            yield *one.span(), one.group(), "host", KNOWN_WEIGHT


def host_columns(header: Sequence[str]) -> list[int]:
    """Return which columns of a table name hosts, by its header."""
    return [at for at, title in enumerate(header) if title.strip().lower() in _HOST_COLUMNS]


def find_host_cells(text: str, cells: Sequence[tuple[int, int]]) -> Iterator[Named]:
    """Yield the hosts in cells of a row, each of which is one plain word."""
    for start, end in cells:
        one = _HOST_CELL.fullmatch(text, start, end)
        if one is not None and one.group("name") not in KNOWN_NAMES and one.group("name") not in COMMON_WORDS:
            yield *one.span("name"), one.group("name"), "host", KNOWN_WEIGHT


def plain_names(text: str) -> dict[str, str]:
    """Return the plain lower-case words that a text uses as names of programs and hosts: name -> type.

    A program stands in a command, or where the text says what it runs or serves; a word of the language, a
    derivation of one, and a word whose noun follows are none. A host may be a word where it runs something,
    or has a port.
    """
    found = dict(_hosts(text))
    if _ENGLISH.search(text):
        found = {name: "tool" for name in _programs(text) if not is_ordinary(name)} | found
    return {
        name: "host" if _NUMBERED.match(name) else kind
        for name, kind in found.items()
        if name not in KNOWN_NAMES and name not in COMMON_WORDS
    }


def _programs(text: str) -> Iterator[str]:
    """Yield the words in the position of a program's name."""
    for one in _INSTALLED.finditer(text):
        if one.group("called") or _INSTALLER.search(text[max(0, one.start() - _REACH) : one.start()]):
            yield one.group("called") or one.group("installed")
    for one in _BEHIND.finditer(text):
        if _begins_word(text, one.start()):
            yield one.group("name")
    for verb in _BEFORE.finditer(text):
        if subject := _SUBJECT.search(text[max(0, verb.start() - _REACH) : verb.start()]):
            yield subject.group(1)


def _hosts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the hosts that a text names as such, by a noun, a login, or a port."""
    english = _ENGLISH.search(text) is not None
    for one in _HOST.finditer(text):
        name = one.group("name")
        sure = one.group("acts") or one.group("quote") or (english and not is_ordinary(name))
        if sure and name not in _NO_HOST and _begins_word(text, one.start()):
            yield name, "host"
    for port in _PORT.finditer(text):
        at = _AT.search(text[max(0, port.start() - _REACH) : port.start()])
        if at is not None and at.group(1) not in _NO_HOST:
            yield at.group(1), "host"


def _begins_word(text: str, start: int) -> bool:
    return start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "_-")
