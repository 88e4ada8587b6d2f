"""How much two memories have to do with each other."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle import Entry
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.relatedness import Relatedness, strength

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def entry(name: str, text: str, project: str = "shop") -> Entry:
    memory = Memory(name, "note", name, text, "", NOW, NOW, NOW, content_hash(text), Scope(project))
    return Entry(memory, 1)


BAKERY = [
    "The oven controller reboots when the damper motor stalls, so the damper has its own fuse.",
    "A stalled damper motor draws 4 A; the fuse for the damper motor is on the oven's rear panel.",
    "Invoices for wholesale customers are sent on the first Monday of a month.",
    "The flour silo is filled by the supplier every second week.",
    "Rye bread is baked at 250 degrees and finished at 190.",
]


def related(*texts: str, project: str = "shop") -> Relatedness:
    return Relatedness([entry(str(n), text, project) for n, text in enumerate(texts)])


def test_memories_of_one_thing_share_more_than_others() -> None:
    found = related(*BAKERY)
    assert found.shared("0", "1") > 0.5
    assert all(found.shared(str(one), "2") < 0.3 for one in (0, 1, 3, 4))


def test_a_word_that_all_memories_have_is_hardly_anything_shared() -> None:
    found = related("the kiln glows", "kiln doors", "a kiln of brick", "kilns are hot")
    assert found.shared("0", "1") < 0.1


def test_plurals_and_capitals_do_not_keep_memories_apart() -> None:
    found = related("Dampers stalled", "one damper is stalling", "nothing of that", "nor of this kind")
    assert found.shared("0", "1") > 0.4


def test_a_name_of_several_words_counts_besides_its_words() -> None:
    entries = [entry(str(n), text) for n, text in enumerate(BAKERY)]
    names = {"0": frozenset({"damper motor"}), "1": frozenset({"Damper-Motor"})}
    assert Relatedness(entries, names=names).shared("0", "1") > related(*BAKERY).shared("0", "1")


def test_memories_of_two_projects_share_nothing() -> None:
    one, other = entry("a", BAKERY[0]), entry("b", BAKERY[0], "pub")
    assert Relatedness([one, other]).shared("a", "b") == 0.0


def test_long_texts_do_not_share_by_being_long() -> None:
    long = [" ".join(f"word{n * step}" for n in range(1, 200)) for step in (6, 10)]
    short = [" ".join(f"word{n * step}" for n in range(1, 12)) for step in (6, 10)]
    assert related(*long, *BAKERY).shared("0", "1") <= related(*short, *BAKERY).shared("0", "1") + 0.3


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=60), min_size=2, max_size=5))
def test_sharing_is_mutual_and_between_0_and_1(texts: list[str]) -> None:
    found = related(*texts)
    assert found.shared("0", "1") == found.shared("1", "0")
    assert 0.0 <= found.shared("0", "1") <= 1.0


def test_neither_words_nor_vectors_alone_connect_two_memories_strongly() -> None:
    assert strength(2.0, 1.0) == 1.0
    assert strength(1.0, 0.4) > 0.5
    assert strength(2.0, 0.0) < 0.5
    assert strength(-1.0, 0.8) < 0.5
