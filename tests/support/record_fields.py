"""Any fields that a typed record takes, for Hypothesis."""

import re

from hypothesis import strategies as st

from ragmem.domain.records.record_types import RECORD_SCHEMAS, FieldType, RecordType
from ragmem.domain.records.records import record

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
PATH = TEXT.filter(lambda text: not re.search(r"[\r\n]", text))


def pairs_of(names):
    """Names with a text each, none of which is another one's once what stands around it is gone."""
    pairs = st.tuples(names, TEXT)
    return st.lists(pairs, max_size=3, unique_by=lambda pair: re.sub(r"[\s./\\]", "", pair[0])).map(dict)


VALUES = {
    FieldType.TEXT: TEXT,
    FieldType.TEXTS: st.lists(TEXT, max_size=4),
    FieldType.FLAG: st.booleans(),
    FieldType.PATH: PATH,
    FieldType.PATHS: st.lists(PATH, max_size=3),
    FieldType.PAIRS: pairs_of(TEXT),
    FieldType.PATH_PAIRS: pairs_of(PATH),
    FieldType.SHARE: st.floats(0, 1),
}


@st.composite
def records(draw):
    shape = RECORD_SCHEMAS[draw(st.sampled_from(RecordType))]
    fields = {}
    for field in shape.fields:
        wanted = st.sampled_from(field.choices) if field.form is FieldType.CHOICE else VALUES[field.form]
        if field.required and field.form not in (FieldType.FLAG, FieldType.CHOICE):
            wanted = wanted.filter(
                lambda text: text.strip(" \t\n\r\x0b\x0c./\\") and text.strip().strip("./\\")
            )
        if field.required or draw(st.booleans()):
            fields[field.name] = draw(wanted)
    if shape.type is RecordType.SESSION_INSIGHT:
        fields["what_worked"] = ["The retry."]
    return record(shape.type, fields)
