"""Which names mean one thing, and which never do."""

from itertools import combinations
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.entities.aliases import ACRONYM, ALIAS, Alias, aliases
from ragmem.domain.entities.canonical_names import AliasForm, CatalogName, choose_nodes
from ragmem.domain.entities.resolution import Name, canonical_form, heads, resolve_names, rule_of
from ragmem.domain.model import Entity, Extraction, Relation


def known(*names, apart=()):
    """Return names as the catalog has them, each (name, type); those in `apart` are on their own."""
    return [
        CatalogName(
            name,
            frozenset({kind}),
            number,
            frozenset({"case"} if name in apart else ()),
            canonical_form(name, (kind,)),
            name,
        )
        for number, (name, kind) in enumerate(names)
    ]


def nodes(*names, stated=(), apart=()):
    """Return name -> node of names that each have a type, of which some is stated in texts."""
    of_texts = [
        AliasForm(canonical_form(one.short, ()), canonical_form(one.long, ()), one.rule)
        for text in stated
        for one in aliases(text)
    ]
    made = known(*names, apart=apart)
    shared = [one for one in made if one.form]
    found = {one.name: one.name for one in made}
    return found | {
        name: node.canonical for name, node in choose_nodes(shared, of_texts, lambda _: 0).items()
    }


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        (("Harbor Daemon", "service"), ("harbor daemon", "concept"), "case"),
        (("Harbor Daemon", "tool"), ("harbor-daemon", "tool"), "spelling"),
        (("Harbor Daemon", "tool"), ("harbor_daemon", "tool"), "spelling"),
        (("GPT-9", "model"), ("gpt9", "model"), "spelling"),
        (("Agent Team", "concept"), ("Agent Teams", "concept"), "plural"),
        (("Memory Policy", "concept"), ("memory policies", "concept"), "plural"),
        (("API Key", "concept"), ("APIs Key", "concept"), ""),
        (("PRD", "concept"), ("PRDs", "concept"), "plural"),
        (("LightHouse Keeper", "concept"), ("lighthouse-keeper", "symbol"), "spelling"),
        (("ragmem/services/tide.py", "file"), ("tide.py", "file"), "path"),
        (("ragmem/services/tide.py", "file"), ("./services/tide.py", "file"), "path"),
        (("docs/README.md", "file"), ("ragmem/docs/README.md", "file"), "path"),
        (("../lib/tide.js", "file"), ("lib/tide.js", "file"), "path"),
        (("/home/ada/pier.md", "file"), ("home/ada/pier.md", "file"), "path"),
    ],
)
def test_spellings_of_one_thing_have_one_node(first, second, rule):
    found = nodes(first, second)

    assert (len(set(found.values())) == 1) is bool(rule)
    if rule:
        (name,) = set(found) - set(found.values())
        assert rule_of(name, found[name]) == rule


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("qwen2.5:3b", "model"), ("qwen2.5:7b", "model")),
        (("gpt-4.1", "model"), ("gpt-41", "model")),
        (("test", "symbol"), ("tests/", "file")),
        (("tests", "file"), ("tests/", "file")),
        (("v1.2.0", "version"), ("V1.2.0", "version")),
        (("v1.2.0", "version"), ("1.2.0", "version")),
        (("Ada Winter", "person"), ("ada-winter", "tool")),
        (("Harbor", "organization"), ("harbor", "tool")),
        (("src/tide.py", "file"), ("lib/tide.py", "file")),
        (("README.md", "file"), ("docs/README.md", "file")),
        (("session.go", "file"), ("cmd/session.go", "file")),
        ((".pier/rules.json", "file"), ("~/.pier/rules.json", "file")),
        (("./.pier.json", "file"), ("hooks/.pier.json", "file")),
        (("/tide.md", "file"), ("docs/tide.md", "file")),
        (("..", "file"), ("src/..", "file")),
        (("./backup", "file"), ("/tmp/backup", "file")),
        (("__init__.py", "file"), ("ragmem/__init__.py", "file")),
        (("C", "language"), ("C++", "language")),
        (("C++", "language"), ("C#", "language")),
        (("Go", "language"), ("go", "tool")),
        (("Go", "language"), ("go", "language")),
        (("CAT", "concept"), ("cat", "tool")),
        (("Express", "library"), ("express", "concept")),
        (("MyClass", "symbol"), ("my_class", "symbol")),
        (("user_id", "symbol"), ("userid", "symbol")),
        (("DEBUG_MODE", "config"), ("debug_mode", "symbol")),
        (("Adam", "concept"), ("Adams", "concept")),
        (("John Adam", "person"), ("John Adams", "person")),
        (("Canvas", "tool"), ("Canva", "tool")),
        (("Phase 1", "concept"), ("Phase 2", "concept")),
        (("Step 1 2", "concept"), ("Step 12", "concept")),
        (("localhost:8080", "host"), ("LOCALHOST:8080", "host")),
        (("/Users", "file"), ("/users", "file")),
    ],
)
def test_what_differs_is_never_one_thing(first, second):
    assert len(set(nodes(first, second).values())) == 2


def test_a_path_that_two_files_end_in_is_neither_of_them():
    one, other = ("src/tide.py", "file"), ("lib/tide.py", "file")

    assert nodes(one, ("tide.py", "file"))["tide.py"] == "src/tide.py"
    assert nodes(one, ("tide.py", "file"), other)["tide.py"] == "tide.py"


@pytest.mark.parametrize("text", ['`*_"' * 5_000 + "(", "**" * 10_000 + " aka B"])
def test_marks_without_end_are_read_in_no_time(text):
    before = thread_time()
    assert aliases(text) == []
    assert thread_time() - before < 2


def test_a_path_without_a_root_may_be_the_end_of_one_with_it():
    rooted, longer = ("/tide.md", "file"), (".pier/notes/tide.md", "file")
    found = nodes(("tide.md", "file"), rooted, longer)

    assert found["tide.md"] == ".pier/notes/tide.md"
    assert found["/tide.md"] == "/tide.md"


def test_what_has_no_type_stays_alone_where_two_things_have_its_name():
    tool, person = ("Ada Winter", "person"), ("ada-winter", "tool")

    assert nodes(tool, ("ada winter", "concept"))["ada winter"] == "Ada Winter"
    assert nodes(tool, ("ada winter", "concept"), person)["ada winter"] == "ada winter"


def test_the_spelling_that_everybody_knows_is_the_name():
    assert set(nodes(("claude-code", "tool"), ("Claude Code", "tool")).values()) == {"Claude Code"}


@pytest.mark.parametrize(
    ("text", "short", "long", "rule"),
    [
        ("We use the Harbor Control Protocol (HCP).", "HCP", "Harbor Control Protocol", ACRONYM),
        ("HCP (Harbor Control Protocol) is old.", "HCP", "Harbor Control Protocol", ACRONYM),
        ("the reciprocal rank fusion (RRF) of both", "RRF", "reciprocal rank fusion", ACRONYM),
        ("Proof of Concept (PoC)", "PoC", "Proof of Concept", ACRONYM),
        ("Large Tide Tables (LTTs)", "LTT", "Large Tide Tables", ACRONYM),
        ("Write-Ahead Log (WAL)", "WAL", "Write-Ahead Log", ACRONYM),
        ("Kubernetes (k8s)", "k8s", "Kubernetes", ACRONYM),
        ("PostgreSQL (Postgres)", "Postgres", "PostgreSQL", ALIAS),
        ("Visual Studio Code (VS Code)", "VS Code", "Visual Studio Code", ALIAS),
        ("Harbor Daemon, also known as Pierd, runs", "Pierd", "Harbor Daemon", ALIAS),
        ("Harbor Daemon, a.k.a. Pierd, runs", "Pierd", "Harbor Daemon", ALIAS),
        ("Harbor Daemon (aka Pierd)", "Pierd", "Harbor Daemon", ALIAS),
    ],
)
def test_a_text_states_that_two_names_are_one(text, short, long, rule):
    assert Alias(short, long, rule) in aliases(text)


@pytest.mark.parametrize(
    "text",
    [
        "Redis (cache)",
        "Docker (Compose)",
        "run the tests (CI)",
        "the Database Management System (DBMT)",
        "MRR (see above)",
        "Ada Winter (Harbor Works)",
        "Postgres (postgres)",
        "(MCP)",
        "x" * 10_000 + " (" * 1_000,
    ],
)
def test_a_parenthesis_that_abbreviates_nothing_states_nothing(text):
    assert aliases(text) == []


def test_an_acronym_and_its_expansion_have_one_node():
    stated = ["the Harbor Control Protocol (HCP)"]
    found = nodes(("HCP", "protocol"), ("Harbor Control Protocols", "concept"), stated=stated)

    assert set(found.values()) == {"HCP"}


def test_an_acronym_that_stands_for_two_things_stands_for_neither():
    stated = ["Harbor Control Protocol (HCP)", "Human Call Point (HCP)"]
    names = [("HCP", "concept"), ("Harbor Control Protocol", "concept"), ("Human Call Point", "concept")]

    assert len(set(nodes(*names, stated=stated).values())) == 3


def test_a_person_never_becomes_a_tool_by_an_alias():
    stated = ["Ada Linda Winter (ALW)"]

    assert len(set(nodes(("Ada Linda Winter", "person"), ("ALW", "tool"), stated=stated).values())) == 2


SPELLINGS = "Ada Bob|ada-bob|AdaBob|ada_bob|Ada Bobs|adabob|ABC|abc|ABCs"
PATHS = "a/x.py|b/x.py|x.py|./x.py|a/b/x.py"
NAMES = st.lists(
    st.tuples(
        st.sampled_from(f"{SPELLINGS}|{PATHS}".split("|")),
        st.sampled_from(["concept", "tool", "person", "file", "symbol", "version"]),
    ),
    unique_by=lambda pair: pair[0],
    max_size=8,
)


def parts(found):
    """Return which names share a node."""
    return {frozenset(name for name in found if found[name] == node) for node in found.values()}


@given(NAMES, st.randoms())
def test_what_is_one_thing_does_not_depend_on_the_order(names, random):
    shuffled = list(names)
    random.shuffle(shuffled)

    assert parts(nodes(*names)) == parts(nodes(*shuffled))


@given(NAMES)
def test_a_node_is_one_of_its_names_and_its_own_node(names):
    found = nodes(*names)

    assert all(found[node] == node for node in found.values())
    kinds = dict(names)
    for one, other in combinations(found, 2):
        if found[one] == found[other]:
            assert {kinds[one], kinds[other]} - {"concept", "symbol"} in (
                {"tool"},
                {"person"},
                {"file"},
                set(),
            )


@given(NAMES)
def test_a_name_that_was_set_apart_is_its_own_node_and_nobody_elses(names):
    for name, _ in names:
        found = nodes(*names, apart=[name])
        assert [one for one in found if found[one] == name] == [name]


def test_a_class_of_very_many_paths_merges_nothing():
    many = [Name(f"f{number}/x.py", frozenset({"file"}), number) for number in range(200)]

    assert heads([Name("x.py", frozenset({"file"}), -1), *many])["x.py"] == "x.py"


def test_an_extraction_under_the_names_of_its_nodes_has_each_thing_and_pair_once():
    found = Extraction(
        "c",
        (Entity("hcp", "concept", "first"), Entity("HCP", "protocol", "second"), Entity("Pier", "tool", "p")),
        (
            Relation("hcp", "Pier", "uses", "weaker", 0.5),
            Relation("Pier", "HCP", "serves", "stronger", 1.0),
            Relation("hcp", "HCP", "is", "itself", 1.0),
        ),
    )

    made = resolve_names(found, {"hcp": "Control", "HCP": "Control"})

    assert made.entities == (Entity("Control", "protocol", "first"), Entity("Pier", "tool", "p"))
    assert made.relations == (Relation("Pier", "Control", "serves", "stronger", 1.0),)
    assert resolve_names(found, {"other": "x"}) is found
