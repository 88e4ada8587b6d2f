import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.sharing import record
from ragmem.domain.sharing.record import InvalidRecordError, read_pack, record_id, write_packs

bodies = st.binary(min_size=1, max_size=20).filter(lambda body: b"\n" not in body)


@given(st.lists(bodies, max_size=30), st.randoms())
def test_a_pack_has_each_record_once_in_any_order_of_writing(records, random):
    packs = list(write_packs(records))
    shuffled = records * 2
    random.shuffle(shuffled)

    assert list(write_packs(shuffled)) == packs
    read = dict(item for one in packs for item in read_pack(one))
    assert read == {record_id(body): body for body in records}


def test_a_pack_that_grows_beyond_its_limits_becomes_several(monkeypatch):
    records = [f"record {number}".encode() for number in range(50)]
    monkeypatch.setattr(record, "MAX_PACK_RECORDS", 20)
    assert [one.count(b"\n") for one in write_packs(records)] == [20, 20, 10]
    monkeypatch.setattr(record, "MAX_PACK", 100)
    packs = list(write_packs(records))
    assert max(map(len, packs)) <= 100
    assert sum(len(list(read_pack(one))) for one in packs) == 50


@pytest.mark.parametrize(
    "packed",
    [b"", b"one", b"\n" * 20_000, b"same\nsame\n", b"x" * (record.MAX_PACK + 1), b"x" * 70_000 + b"\n"],
    ids=["nothing", "no end", "too many", "twice", "too large", "a large record"],
)
def test_what_is_no_pack_is_rejected(packed):
    with pytest.raises(InvalidRecordError):
        list(read_pack(packed))


@given(st.binary(max_size=300))
def test_only_what_write_packs_writes_is_read(packed):
    try:
        read = [body for _, body in read_pack(packed)]
    except InvalidRecordError:
        return
    assert list(write_packs(read)) == [packed]
