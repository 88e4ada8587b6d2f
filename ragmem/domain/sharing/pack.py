"""Packs: many records in one blob, as lines sorted by their ids."""

from collections.abc import Iterable, Iterator

from ragmem.domain.sharing.record import MAX_RECORD, InvalidRecordError, record_id

MAX_PACK = 8 * 1024 * 1024
"""Bytes of a pack."""

MAX_PACK_RECORDS = 10_000


def write_packs(records: Iterable[bytes]) -> Iterator[bytes]:
    """Yield packs with each of these encoded records once; the same records give the same packs."""
    lines: list[bytes] = []
    size = 0
    for _, encoded in sorted({record_id(encoded): encoded for encoded in records}.items()):
        if lines and (size + len(encoded) + 1 > MAX_PACK or len(lines) == MAX_PACK_RECORDS):
            yield b"\n".join(lines) + b"\n"
            lines, size = [], 0
        lines.append(encoded)
        size += len(encoded) + 1
    if lines:
        yield b"\n".join(lines) + b"\n"


def read_pack(packed: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the ids and bytes of a pack's records, which are not checked.

    Raises InvalidRecordError for other bytes than `write_packs` writes. JSON escapes line feeds, so that no
    record in canonical form has one.
    """
    if len(packed) > MAX_PACK:
        raise InvalidRecordError("the pack is too large")
    if not packed.endswith(b"\n") or packed.count(b"\n") > MAX_PACK_RECORDS:
        raise InvalidRecordError("not a pack")
    previous = ""
    for encoded in packed[:-1].split(b"\n"):
        key = record_id(encoded)
        if key <= previous or len(encoded) > MAX_RECORD:
            raise InvalidRecordError("not a pack")
        previous = key
        yield key, encoded
