"""A question about code finds the files that answer it, in every language, and nothing where none does."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragmem.services.code.search import search_code
from ragmem.services.retrieval.question import Question
from ragmem.storage.code.word_index import word_index

NOW = datetime(2026, 6, 1, tzinfo=UTC)

FILES = {
    "shop/payment.py": '"""Take the money."""\n\n\nclass CardCharge:\n    """A charge of a card."""\n\n'
    "    def refund_amount(self, amount):\n"
    '        """Give money back to the customer."""\n        return -amount\n',
    "shop/cart.py": "from shop.payment import CardCharge\n\n\ndef add_item(item):\n"
    '    """Add an item to the cart of the customer."""\n    return CardCharge(), item\n',
    "tests/test_payment.py": "from shop.payment import CardCharge\n\n\ndef test_refund_amount():\n"
    "    # refund amount refund amount refund amount\n    assert CardCharge().refund_amount(1) == -1\n",
    "web/SessionGuard.php": "<?php\n/** Keeps a session of a visitor alive. */\nclass SessionGuard\n{\n"
    "    public function extendLifetime(int $seconds)\n    {\n        return $seconds;\n    }\n}\n",
    "app/src/RetryPolicy.kt": "/** Decides how often a failed request is tried again. */\n"
    "class RetryPolicy(val attempts: Int) {\n"
    "    suspend fun backoffDelay(attempt: Int): Long = attempt * 100L\n}\n",
}


@pytest.fixture
def shop(memory, tmp_path):
    root = tmp_path / "shop-project"
    (root / ".git").mkdir(parents=True)
    for path, text in FILES.items():
        put(root, path, text)
    return memory, root, memory.code.ingest(root).project


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def found(shop, question: str) -> list[str]:
    memory, _, project = shop
    return [place.path for place in search_code(memory.catalog, project, question, limit=10)]


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("how is money given back to a customer", "shop/payment.py"),
        ("refund_amount", "shop/payment.py"),
        ("CardCharge.refund_amount", "shop/payment.py"),
        ("refundAmount", "shop/payment.py"),
        ("where do items get into the cart", "shop/cart.py"),
        ("SessionGuard", "web/SessionGuard.php"),
        ("extending the lifetime of sessions", "web/SessionGuard.php"),
        ("retry policy for failed requests", "app/src/RetryPolicy.kt"),
        ("backoffDelay", "app/src/RetryPolicy.kt"),
        ("RetryPolicy:backoffDelay", "app/src/RetryPolicy.kt"),
        ("wie wird Geld an den Kunden zurück gegeben", "shop/payment.py"),
    ],
)
def test_the_file_that_answers_comes_first(shop, question, path):
    assert found(shop, question)[0] == path


def test_a_place_names_the_definition_its_lines_and_what_they_say(shop):
    memory, _, project = shop
    place = search_code(memory.catalog, project, "refund_amount", limit=1)[0]

    assert (place.line, place.end_line) == (7, 9)
    assert place.symbol is not None
    assert place.symbol.symbol.qualified == "shop.payment.CardCharge.refund_amount"
    assert place.symbol.symbol.doc == "Give money back to the customer."
    assert place.purpose == "Take the money."
    assert sum(place.terms.values()) == pytest.approx(place.score, abs=0.01)


def test_a_test_stands_behind_what_it_tests(shop):
    paths = found(shop, "refund amount")

    assert paths.index("shop/payment.py") < paths.index("tests/test_payment.py")


@pytest.mark.parametrize(
    "question",
    ["", "   ", "???", "how tall is Mount Kilimanjaro", "tomato soup with fresh basil", "\x00", "🍞" * 50],
)
def test_nothing_is_found_where_nothing_fits(shop, question):
    assert found(shop, question) == []


def test_a_very_long_question_is_answered(shop):
    assert "shop/payment.py" in found(shop, "refund amount of a card charge " * 2_000)


def test_what_changed_is_found_and_what_has_gone_is_not(shop):
    memory, root, _ = shop
    assert found(shop, "SessionGuard")
    (root / "web/SessionGuard.php").unlink()
    put(root, "web/VisitorToken.php", "<?php\nclass VisitorToken\n{\n}\n")
    memory.code.ingest(root)

    assert "web/SessionGuard.php" not in found(shop, "SessionGuard")
    assert found(shop, "VisitorToken") == ["web/VisitorToken.php"]


def test_a_project_without_code_has_no_places(memory, tmp_path):
    assert search_code(memory.catalog, "never-ingested", "refund", limit=3) == []
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    project = memory.code.ingest(tmp_path / "empty").project

    assert search_code(memory.catalog, project, "refund", limit=3) == []


def test_a_secret_in_a_file_is_no_word_of_it(shop):
    memory, root, _ = shop
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    put(root, "shop/keys.py", f'TOKEN = "{secret}"\n\n\ndef connect_gateway():\n    return TOKEN\n')
    memory.code.ingest(root)

    assert found(shop, "connect gateway")[0] == "shop/keys.py"
    assert found(shop, secret) == []


def test_a_damaged_row_is_named(shop):
    memory, _, project = shop
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE code_words SET data = substr(data, 1, 25)")
        connection.execute("UPDATE code_roots SET run = 'other'")

    with pytest.raises(Exception, match=r'the words of "app/src/RetryPolicy\.kt" are damaged'):
        word_index(memory.catalog.database, project)


def test_the_route_of_code_shows_places_after_the_exact_names(shop):
    memory, _, project = shop
    question = Question("how is money given back to a customer", projects=(project,))
    routed = memory.retrieval.ask_by_route(question, "code", now=NOW)

    assert routed.code == ()
    assert routed.places[0]["file"] == "shop/payment.py"
    assert "shop/payment.py:" in routed.shown_facts[0].name
