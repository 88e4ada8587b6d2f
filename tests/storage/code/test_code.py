"""The code of a project is found by any of its names, and each file's part of it is replaced by itself."""

import pytest

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile, Symbol, SymbolKind
from ragmem.storage.code.code import Rename
from ragmem.storage.code.code_writer import CodeWriter, FileRows, FileState, OvertakenError, links_of
from ragmem.storage.maintenance.invariants import violations
from ragmem.storage.maintenance.repair import forget_unsound_code

PROJECT = "shop-12345678"


def parsed(path: str, *functions: str, facts: dict | None = None) -> ParsedFile:
    module = path.removesuffix(".py").replace("/", ".")
    symbols = [Symbol(module, module.rpartition(".")[2], SymbolKind.MODULE, 1, 9, "What it is for.")]
    for line, name in enumerate(functions, 1):
        last = name.rpartition(".")[2]
        kind = SymbolKind.METHOD if "." in name else SymbolKind.FUNCTION
        symbols.append(Symbol(f"{module}.{name}", last, kind, line, line, "", last.startswith("test_")))
    return ParsedFile(path, "python", module, "What it is for.", tuple(symbols), facts or {"calls": [path]})


def rows(file: ParsedFile, *edges: Edge) -> FileRows:
    return FileRows(file.path, FileState("hash", 10, 20, links_of(edges)), edges, file)


def calls(path: str, source: str, target: str, *, internal: bool = True) -> Edge:
    return Edge(path, source, target, EdgeKind.CALLS, 3, internal)


PAY = parsed("shop/pay.py", "charge", "Card.charge")
CART = parsed("shop/cart.py", "add")
TEST = parsed("tests/test_cart.py", "test_add")
EDGES = (
    calls("shop/cart.py", "shop.cart.add", "shop.pay.charge"),
    calls("shop/cart.py", "shop.cart.add", "os.path.join", internal=False),
)


def write(catalog, *files: FileRows, gone=(), renames=(), project=PROJECT):
    writing = CodeWriter(catalog.database, project)
    return writing.write(
        writing.state(), root="/src/shop", head="abc", rules="1", files=files, gone=gone, renames=renames
    )


@pytest.fixture
def code(catalog):
    write(catalog, rows(PAY), rows(CART, *EDGES), rows(TEST), project="other")
    write(catalog, rows(PAY), rows(CART, *EDGES), rows(TEST))
    return catalog.code


def test_nothing_is_known_of_a_project_that_was_never_ingested(catalog):
    code = catalog.code
    assert code.roots() == []
    assert code.files(PROJECT) == []
    assert code.find(PROJECT, "charge") is None
    assert code.edges_to(PROJECT, ["shop.pay.charge"]) == []
    assert code.current(PROJECT, "a.py") is None
    assert code.counts(PROJECT).files == 0


def test_what_was_written_is_read_again(code):
    assert [file.path for file in code.files(PROJECT)] == [
        "shop/cart.py",
        "shop/pay.py",
        "tests/test_cart.py",
    ]
    assert code.files(PROJECT)[0].purpose == "What it is for."
    assert [one.symbol for one in code.symbols(PROJECT, ["shop/pay.py"])] == list(PAY.symbols)
    assert [one.path for one in code.symbols_named(PROJECT, ["shop.cart.add", "nowhere"])] == ["shop/cart.py"]
    assert set(code.edges_from(PROJECT, ["shop.cart.add"])) == set(EDGES)
    assert code.edges_to(PROJECT, ["os.path.join"]) == [EDGES[1]]
    counts = code.counts(PROJECT)
    assert (counts.files, counts.symbols, counts.edges) == (3, 7, 2)
    assert [root.complete for root in code.roots()] == [True, True]


@pytest.mark.parametrize(
    ("name", "how", "qualified"),
    [
        ("shop.pay.charge", "qualified", ["shop.pay.charge"]),
        ("shop::pay#charge", "suffix", ["shop.pay.charge"]),
        ("charge", "name", ["shop.pay.Card.charge", "shop.pay.charge"]),
        ("Card.charge", "suffix", ["shop.pay.Card.charge"]),
        ("pay.charge", "suffix", ["shop.pay.charge"]),
        ("ay.charge", None, []),
        ("shop/pay.py", "path", ["shop.pay"]),
        ("./shop/pay.py", "path", ["shop.pay"]),
        ("/src/shop/shop/pay.py", "path", ["shop.pay"]),
        ("pay.py", "path", ["shop.pay"]),
        ("ay.py", None, []),
        ("shop.pay", "qualified", ["shop.pay"]),
        ("", None, []),
    ],
)
def test_a_symbol_or_file_is_found_by_any_of_its_names(code, name, how, qualified):
    found = code.find(PROJECT, name)
    assert (found.how if found else None) == how
    assert [one.symbol.qualified for one in found.symbols] == qualified if found else not qualified


@pytest.mark.parametrize("name", [r"Shop\Pay::charge", "Pay::charge", "Pay->charge", r"\Shop\Pay::charge"])
def test_a_name_of_php_is_found_by_its_end(catalog, name):
    charge = Symbol(r"Acme\Shop\Pay::charge", "charge", SymbolKind.METHOD, 1, 1)
    module = Symbol("src/Pay.php", "Pay.php", SymbolKind.MODULE, 1, 1)
    write(catalog, rows(ParsedFile("src/Pay.php", "php", "src/Pay.php", "", (module, charge))))
    assert [one.symbol for one in catalog.code.find(PROJECT, name).symbols] == [charge]


def test_a_changed_file_replaces_its_own_rows_and_no_others(catalog, code):
    fresh = parsed("shop/pay.py", "refund")
    write(catalog, rows(fresh, calls("shop/pay.py", "shop.pay.refund", "shop.cart.add")))
    assert [one.symbol for one in code.symbols(PROJECT, ["shop/pay.py"])] == list(fresh.symbols)
    assert set(code.edges_from(PROJECT, ["shop.cart.add"])) == set(EDGES)
    assert [edge.source for edge in code.edges_to(PROJECT, ["shop.cart.add"])] == ["shop.pay.refund"]
    assert code.find("other", "charge") is not None
    [wrong] = violations(catalog, deep=True)
    assert wrong == "edges of code lead to symbols that the project lacks: 1 (shop.pay.charge)"
    write(catalog, FileRows("shop/cart.py", FileState("hash", 10, 20), EDGES[1:], None))
    assert violations(catalog, deep=True) == []


def test_a_file_that_has_gone_takes_its_symbols_and_edges_with_it(catalog, code):
    write(catalog, gone=["shop/cart.py"])
    assert code.find(PROJECT, "add") is None
    assert code.edges_from(PROJECT, ["shop.cart.add"]) == []
    assert code.counts(PROJECT).edges == 0
    assert code.counts("other").edges == 2


def test_a_renamed_file_is_found_by_its_former_paths(catalog, code):
    renames = [
        Rename("old/pay.py", "lib/pay.py", "c1", 1_000),
        Rename("lib/pay.py", "shop/pay.py", "c2", 2_000),
        Rename("round.py", "round.py", "c3", 3_000),
        Rename("gone.py", "nowhere.py", "c3", 3_000),
    ]
    write(catalog, renames=renames)
    assert code.renames(PROJECT) == sorted(renames, key=lambda one: (one.renamed_at, one.old))
    assert code.current(PROJECT, "old/pay.py") == "shop/pay.py"
    assert code.current(PROJECT, "./shop/pay.py") == "shop/pay.py"
    assert code.current(PROJECT, "gone.py") is None
    assert code.current(PROJECT, "round.py") is None
    assert code.former(PROJECT, "shop/pay.py") == ["lib/pay.py", "old/pay.py"]
    found = code.find(PROJECT, "old/pay.py")
    assert found is not None
    assert (found.how, found.paths) == ("former path", ("shop/pay.py",))


def test_what_git_tells_of_a_rename_takes_the_place_of_a_guess_and_not_the_other_way_round(catalog, code):
    for rename in (Rename("a", "b", "", 1), Rename("a", "b", "c1", 2), Rename("a", "b", "", 3)):
        write(catalog, renames=[rename])
    assert code.renames(PROJECT) == [Rename("a", "b", "c1", 2)]


def test_facts_come_back_as_they_were_without_those_that_were_parsed_anew(catalog, code):
    del code
    writing = CodeWriter(catalog.database, PROJECT)
    stored = {
        file.path: file
        for file in writing.parsed_files(writing.state(), wanted=lambda path: path != "shop/pay.py")
    }
    assert set(stored) == {"shop/cart.py", "tests/test_cart.py"}
    assert stored["shop/cart.py"].facts == {"calls": ["shop/cart.py"]}
    assert [one.qualified for one in stored["tests/test_cart.py"].symbols] == [
        one.qualified for one in TEST.symbols
    ]
    assert stored["tests/test_cart.py"].symbols[1].is_test


def test_a_run_that_another_one_has_overtaken_writes_nothing_more(catalog):
    writing = CodeWriter(catalog.database, PROJECT)
    before = writing.state()
    write(catalog, rows(PAY))
    with pytest.raises(OvertakenError, match=PROJECT):
        writing.write(
            before, root="/", head="", rules="1", files=[rows(CART)], gone=["shop/pay.py"], renames=[]
        )
    assert [file.path for file in catalog.code.files(PROJECT)] == ["shop/pay.py"]


def test_a_run_that_ends_in_the_middle_leaves_whole_files_and_says_so(catalog, monkeypatch):
    monkeypatch.setattr("ragmem.storage.code.code_writer.ROWS_AT_ONCE", 1)

    def files():
        yield rows(PAY)
        yield rows(CART, *EDGES)
        raise KeyboardInterrupt

    write(catalog)
    writing = CodeWriter(catalog.database, PROJECT)
    with pytest.raises(KeyboardInterrupt):
        writing.write(writing.state(), root="/", head="new", rules="1", files=files(), gone=[], renames=[])
    [root] = catalog.code.roots()
    assert (root.complete, root.head) == (False, "abc")
    assert [file.path for file in catalog.code.files(PROJECT)] == ["shop/pay.py"]
    assert violations(catalog, deep=True) == []
    write(catalog, rows(CART, *EDGES))
    assert catalog.code.roots()[0].complete


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE code_symbols SET root = 7", "symbols of code belong to no file"),
        ("UPDATE code_edges SET root = 7", "edges of code belong to no file"),
        ("UPDATE code_edges SET source = 'x'", "edges of code start at a symbol that their file lacks"),
    ],
)
def test_rows_that_do_not_belong_together_are_told(catalog, code, sql, told):
    assert code.roots()
    with catalog.database.write() as connection:
        connection.execute(sql)
    assert any(line.startswith(told) for line in violations(catalog))
    assert forget_unsound_code(catalog) == 2
    assert violations(catalog) == []
    assert code.roots() == []
    write(catalog, rows(PAY))
    assert forget_unsound_code(catalog) == 0
    assert len(code.files(PROJECT)) == 1


def test_a_home_that_has_no_code_tables_yet_answers_that_nothing_is_known(catalog):
    with catalog.database.write() as connection:
        for table in ("renames", "edges", "symbols", "words", "facts", "files", "roots"):
            connection.execute(f"DROP TABLE code_{table}")
    assert catalog.code.find(PROJECT, "charge") is None
    assert catalog.code.roots() == []


def test_the_neighbours_of_a_file_are_those_it_refers_to_and_those_that_refer_to_it(catalog, code):
    assert code.roots()
    writing = CodeWriter(catalog.database, PROJECT)
    near = writing.neighbours(writing.state())
    assert sorted(near.around(["shop/cart.py"], most=9)) == ["shop/cart.py", "shop/pay.py"]
    assert sorted(near.around(["shop/pay.py"], most=9)) == ["shop/cart.py", "shop/pay.py"]
    assert near.around(["shop/pay.py"], most=1) == ["shop/pay.py"]
    assert near.around([], most=9) == []
    assert near.files_referring(["os.path.join", "shop.pay.charge"]) == {"shop/cart.py"}
    assert near.files_defining(["shop.pay.charge", "nowhere"]) == {"shop/pay.py"}
    assert near.definitions(["shop/cart.py"]) == {("shop.cart", "module"), ("shop.cart.add", "function")}
    assert near.bases(["shop/cart.py"]) == set()
    assert near.tests()["tests.test_cart.test_add"]
    assert not near.tests()["shop.pay.charge"]
