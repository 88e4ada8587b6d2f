"""How much memories of one project have to do with each other, by their rare words and their vectors."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.connections import ENOUGH, MOST_WORDS, USUAL_WORDS, Scale, weights
from ragmem.services.connections.shared_words import STOP_WORD, SharedWords, WordNumbers, strengths

BAKERY = (
    "The oven controller reboots when the damper motor stalls, so the damper has its own fuse.",
    "A stalled damper motor draws 4 A; the fuse for the damper motor is on the oven's rear panel.",
    "Invoices for wholesale customers are sent on the first Monday of a month.",
    "The flour silo is filled by the supplier every second week.",
    "Rye bread is baked at 250 degrees and finished at 190.",
)


def read(texts, names):
    return [(place, "", text, "", names.get(place, ())) for place, text in enumerate(texts)]


def sharing(*texts, names=None):
    """Return what each text of a project shares with each other one."""
    told = read(texts, names or {})
    words = SharedWords(len(texts), lambda places: [told[place] for place in places], told)
    ones, others = np.divmod(np.arange(len(texts) ** 2), len(texts))
    return words.overlap(ones, others).reshape(len(texts), len(texts))


def strength(cosine, shared):
    (found,) = strengths(Scale(0.0, 1.0), np.array([cosine], np.float32), np.array([shared]))
    return found


def test_memories_of_one_thing_share_more_than_others():
    found = sharing(*BAKERY)
    assert found[0, 1] > 0.5
    assert all(found[one, 2] < 0.3 for one in (0, 1, 3, 4))


def test_a_word_that_all_memories_have_is_hardly_anything_shared():
    assert sharing("the kiln glows", "kiln doors", "a kiln of brick", "kilns are hot")[0, 1] < 0.1


def test_plurals_and_capitals_do_not_keep_memories_apart():
    found = sharing("Dampers stalled", "one damper is stalling", "nothing of that", "nor of this kind")
    assert found[0, 1] > 0.4


def test_a_name_of_several_words_counts_besides_its_words():
    names = {0: {"damper motor"}, 1: {"Damper-Motor"}}
    assert sharing(*BAKERY, names=names)[0, 1] > sharing(*BAKERY)[0, 1]


def test_long_texts_do_not_share_by_being_long():
    long = [" ".join(f"word{n * step}" for n in range(1, 200)) for step in (6, 10)]
    short = [" ".join(f"word{n * step}" for n in range(1, 12)) for step in (6, 10)]
    assert sharing(*long, *BAKERY)[0, 1] <= sharing(*short, *BAKERY)[0, 1] + 0.3


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=60), min_size=2, max_size=5))
def test_sharing_is_mutual_and_between_0_and_1(texts):
    found = sharing(*texts)
    assert found == pytest.approx(found.T)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


def by_two(texts):
    """Return what `sharing` does, worked out for two texts at a time."""
    numbers, counted = WordNumbers(), []
    for _, title, text, summary, names in read(texts, {}):
        counted.append(Counter(numbers.of(title, text, summary, names)))
        counted[-1].pop(STOP_WORD, None)
    known = weights(("", set(count)) for count in counted).get("", {})
    telling = [
        sorted(count, key=lambda word: (-known[word] * math.log1p(count[word]), word))[:MOST_WORDS]
        for count in counted
    ]

    def shared(one, other):
        both = math.fsum(known[word] for word in one if word in other)
        return 1.0 - math.exp(-both / max(1.0, math.sqrt(len(one) * len(other)) / USUAL_WORDS) / ENOUGH)

    return [[shared(one, other) for other in telling] for one in telling]


def test_many_pairs_are_judged_as_two_at_a_time():
    texts = [*BAKERY, " ".join(BAKERY), "one", " ".join(f"word{n} word{n % 7}" for n in range(90))]
    assert sharing(*texts) == pytest.approx(np.array(by_two(texts)))


def test_neither_words_nor_vectors_alone_connect_two_memories_strongly():
    assert strength(2.0, 1.0) == 1.0
    assert strength(1.0, 0.4) > 0.5
    assert strength(2.0, 0.0) < 0.5
    assert strength(-1.0, 0.8) < 0.5


def test_a_cosine_counts_by_its_place_between_any_two_texts_and_two_of_one_topic():
    cosines, shared = np.array([0.2, 0.54], np.float32), np.array([0.3, 0.3])
    unrelated, related = strengths(Scale(0.2, 0.54), cosines, shared)
    assert unrelated == pytest.approx(strength(0.0, 0.3))
    assert related == pytest.approx(strength(1.0, 0.3))
