"""How much is done in one transaction."""

import pytest

from ragmem.services.processes.batch_size import AIM_S, BatchSize


@pytest.mark.parametrize(
    ("count", "seconds", "expected"),
    [
        (100, AIM_S, 100),
        (100, AIM_S / 2, 200),
        (100, AIM_S / 100, 400),
        (100, AIM_S * 4, 50),
        (100, 0.0, 400),
        (0, 0.0, 50),
    ],
)
def test_as_many_follow_as_fit_the_time(count, seconds, expected):
    pace = BatchSize(50, 400)
    assert pace.size == 50
    pace.adapt(count, seconds)
    assert pace.size == expected


def test_all_items_come_once_and_in_order():
    pace = BatchSize(3, 7)
    got = list(pace.batches(range(40)))
    assert [one for batch in got for one in batch] == list(range(40))
    assert [len(batch) for batch in got] == [3, 7, 7, 7, 7, 7, 2]
