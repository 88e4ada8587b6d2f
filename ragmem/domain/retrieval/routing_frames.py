"""Parse short questions of a fixed form in several languages, about references of code or active agents.

Such a question consists of words of a closed list (who, is, the, in, project), at least one word for a
relation or a state, and at most three others: the names. It has no grammar, so word order and language do not
matter. The caller checks that the names are known; otherwise it is another question.
"""

import re
import unicodedata
from collections.abc import Iterable

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MOST_WORDS = 16
"""Maximum words of a question; a longer one does not have these forms."""

MOST_NAMES = 3


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FRAME = _word_set(
    """
a about across actually again all also an and any anybody anyone anything anywhere are at be been by can
codebase could code currently directly does do else elsewhere ever every everyone everything find for from
get give happen happens has have here i if in indirectly inside is it its just list look me my need needs
nothing now of on only or our outside please project repo repository see show so some somebody someone
somewhere still tell that the their them there these they thing things this those to today tree up we what
what's when where whereabouts which who who's whom whose will with within would you class classes constant
constants enum file files function functions interface interfaces method methods module modules package
packages part parts place places script scripts struct structs symbol symbols trait traits type types
variable variables alle alles als am auch auf aus bei bitte das dem den der des die dies diese dieser dieses
ein eine einem einen einer es etwas gerade gibt hier ich ihm im ist jemand jetzt kann liste man mir nenne
noch nur oder sich sind soll und vom von vor was welche welchem welchen welcher welches wem wen wer werden
wessen wie wird wo woher woraus wovon wozu worauf zeig zeige zu zum zur ueberall irgendwo datei dateien
funktion funktionen klasse klassen methode methoden modul projekt stelle stellen typ typen wenn ab
actuellement au aux c ce ces cet cette ceux d dans de donc du elle elles en encore est est-ce et il ils j je
l la laquelle le les lesquelles lesquels leur maintenant moi montre n nous ou ou'est-ce par partout pas pour
qu quand que quel quelle quelles quels qui qu'est-ce quoi se sont sur t-il t-on ici toutes tous tout un une
y a-t-il classe fichier fichiers fonction fonctions methodes projet si actualmente ahora al algo alguien
archivo archivos aqui clase clases codigo como con cual cuales da del desde dos donde e el ella esta estan
este esto funcion funciones hay las lista lo los metodo metodos modulo modulos mostrar muestra na nas no nos
o os para por proyecto quem quien quienes son su todas todos todo una agora arquivo arquivos estao foi
funcao funcoes onde projeto quais qual sao ser uma adesso chi che codice cosa dal dalla dei della delle di
dove e' funzione funzioni io metodi nel nella ora progetto quale quali sono viene vengono
"""
)
"""Words that belong to the form of the question; without accents, in lower case."""

_REFERENCES = _word_set(
    """
call calls called calling caller callers invoke invokes invoked invoking invocation invocations use uses
used using usage usages user users import imports imported importing importer importers reference references
referenced referencing refer refers referred depend depends dependent dependents depending dependency
dependencies rely relies relying consume consumes consumer consumers instantiate instantiates instantiated
instantiating construct constructs constructed run runs execute executes executed callsite callsites
call-site call-sites site sites mention mentions mentioned break breaks broken affect affects affected
impact impacts change changes changed changing rename renames renamed renaming remove removed removing
delete deleted deleting touch touched aufruf aufrufe aufrufer aufrufen aufgerufen ruft rufen benutzt
benutzen benutzer nutzt nutzen genutzt nutzer verwendet verwenden verwendung verwendungen verwender
importiert importieren referenziert referenzieren referenz referenzen haengt haengen abhaengig abhaengigkeit
abhaengigkeiten abhaengt instanziiert aendere aendert appelle appellent appele appelee appeles appelees
appel appels appelant appelants appelle-t-on invoque invoquent utilise utilisent utilisee utilises utilisees
utilisation utilisations importe importent dependance dependances emploie emploient llama llaman llamada
llamadas llamado usa usan usado usada usos uso utiliza utilizan utilizado utilizada importa importan
referencia referencias referencian depende dependen invoca invocan chama chamam chamado chamada chamadas
usam utilizam importam dependem chiama chiamano chiamata chiamato chiamate usano usato usata utilizzano
utilizzato utilizzata utilizza importano dipende dipendono
"""
)
_INHERITANCE = _word_set(
    """
inherit inherits inherited inheriting inheritance extend extends extended extending subclass subclasses
subclassed subclassing subtype subtypes derive derives derived deriving descendant descendants child
children implement implements implemented implementing implementation implementations implementer
implementers implementor implementors override overrides overridden overriding superclass superclasses base
parent parents ancestor ancestors erbt erben geerbt unterklasse unterklassen subklasse subklassen leitet
leiten abgeleitet abgeleitete abgeleiteten erweitert erweitern implementiert implementieren implementierung
implementierungen ueberschreibt ueberschreiben kindklassen oberklasse oberklassen basisklasse herite
heritent heritage etend etendent sous-classe sous-classes derivent derivees implemente implementent
surcharge surchargent redefinit hereda heredan subclase subclases extiende extienden deriva derivan
derivadas implementa implementan implementacion implementaciones herda herdam subclasse estende estendem
implementam eredita ereditano sottoclasse sottoclassi estendono implementano
"""
)
_LOCATION = _word_set(
    """
define defines defined definition definitions declare declares declared declaration declarations locate
located location live lives definiert definieren deklariert steht befindet defini definie definis definies
declaree situe situee trouve definido definida definicion encuentra definicao definito definita definizione
trova
"""
)
_RELATIONS = _REFERENCES | _INHERITANCE | _LOCATION

_AGENTS = _word_set(
    """
agent agents assistant assistants worker workers sub-agent sub-agents subagent subagents bot bots session
sessions process processes agenten assistent assistenten sitzung sitzungen prozess prozesse mitarbeiter
travailleurs agente agentes asistente asistentes sesion sesiones assistente assistentes agenti assistenti
"""
)
_PERSONS = _word_set(
    """
who who's whom anyone anybody someone somebody everyone nobody else wer jemand qui quelqu'un quien quienes
alguien quem alguem chi qualcuno
"""
)
_ACTIVITY = _word_set(
    """
active alive around busy connected doing going idle live online present ran registered run running checked
here up work working works status state far progress task tasks job aktiv arbeitet arbeiten angemeldet
beschaeftigt laeuft laufen laufend laufende laufenden macht tut unterwegs verbunden woran aufgabe aufgaben
actif actifs actives connecte connectes cours execution fait font marche marchent tourne tournent travaille
travaillent tache taches activa activas activo activos conectado conectados corriendo ejecutando ejecucion
hace hacen haciendo trabaja trabajan trabajando tarea ativo ativos executando fazendo rodando trabalha
trabalham trabalhando attivi attivo corso esecuzione facendo lavora lavorano lavorando
"""
)
_OTHER_WORDS = _word_set(
    """
right moment at the en train momentan momento derzeit
"""
)

_TOKEN = lazy(r"[\w.:/#'\u2019-]+")
_ELIDED = lazy(r"^(?:qu|[cdjlmnst])['\u2019](?=\w{2})", re.IGNORECASE, needs="'")
_POSSESSIVE = lazy(r"['\u2019]s?$")
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


@dataclass(frozen=True, slots=True)
class Frame:
    """The names in a short question, all of which must be known.

    `heirs`: it asks for subclasses. `instead` are words of the closed list that may also be names, the most
    likely last: "who calls run", "subclasses of Base".
    """

    names: tuple[str, ...]
    heirs: bool = False
    instead: tuple[str, ...] = ()


def code_frame(text: str) -> Frame | None:
    """Return the names in a short question about places or relations of code; None for other questions."""
    words = _words(text)
    related = [word for word, form in words if form in _RELATIONS]
    names = tuple(dict.fromkeys(word for word, form in words if form not in _RELATIONS | _FRAME))
    if not related or len(names) > MOST_NAMES:
        return None
    instead = [
        word
        for number, (word, form) in enumerate(words)
        if form in _RELATIONS | _FRAME
        and related != [word]
        and (number == len(words) - 1 or form in _RELATIONS or (number and word[:1].isupper()))
    ]
    if not names and not instead:
        return None
    heirs = any(form in _INHERITANCE for word, form in words if not word[:1].isupper() or word == words[0][0])
    return Frame(names, heirs, tuple(dict.fromkeys(instead)))


def agents_frame(text: str) -> Frame | None:
    """Return the names of agents in a short question about active agents; None for other questions.

    No names mean all agents.
    """
    words = _words(text)
    known = _FRAME | _AGENTS | _PERSONS | _ACTIVITY | _OTHER_WORDS
    names = tuple(dict.fromkeys(word for word, form in words if form not in known))
    forms = {form for _, form in words}
    at_work = bool(forms & _ACTIVITY) and not forms & _LOCATION
    if len(names) > MOST_NAMES or not words:
        return None
    if names:
        return Frame(names) if at_work else None
    asked = forms & _AGENTS & _PEOPLE_ONLY or (forms & (_PERSONS | _AGENTS) and at_work)
    return Frame(()) if asked else None


_PEOPLE_ONLY = _AGENTS - frozenset("session sessions process processes sitzung sitzungen sesion".split())
"""Words that always mean agents; "which processes" asks for more than registered agents."""


def speaks_of_agents(text: str) -> bool:
    """Return whether a text of any length has a word for agents or for active persons."""
    forms = {form for _, form in _split(text)}
    return bool(forms & _PEOPLE_ONLY or (forms & _PERSONS and forms & _ACTIVITY))


def _words(text: str) -> list[tuple[str, str]]:
    """Return the words of a short question, each with its normalized form; none for a longer one."""
    if len(text) > 60 * MOST_WORDS:
        return []
    words = _split(text)
    return words if len(words) <= MOST_WORDS else []


def _split(text: str) -> list[tuple[str, str]]:
    return [(word, _form(word)) for word in _tokens(text)]


def _tokens(text: str) -> Iterable[str]:
    for found in _TOKEN.finditer(text):
        word = _ELIDED.sub("", found[0]).strip(".:/#-'\u2019")
        word = _POSSESSIVE.sub("", word) if _form(word) not in _FRAME | _PERSONS else word
        if word:
            yield word


def _form(word: str) -> str:
    spelled = unicodedata.normalize("NFKD", word.translate(_GERMAN).replace("\u2019", "'"))
    return "".join(letter for letter in spelled if not unicodedata.combining(letter)).casefold()
