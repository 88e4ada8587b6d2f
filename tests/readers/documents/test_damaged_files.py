"""Files that a program has written wrongly are read as far as they go, or refused: nothing is raised."""

import copy
import random
import re
import zipfile
from contextlib import suppress
from types import SimpleNamespace

import odf_files as odf
import pytest
import samples_epub
import samples_powerpoint
import samples_word
from lxml import etree

from ragmem.readers.documents.formats import epub, opendocument, powerpoint, word
from ragmem.readers.documents.model import Limits, RefusedError

TIMES = 15
ODD = ["", "-1", "99999999999999999999", "\u00b2", "1e9", "true", "nothing"]


def _odf(kind):
    """Return a sample with everything that the reader of OpenDocument looks at."""
    note = f"<text:note><text:note-body>{odf.paragraph('note')}</text:note-body></text:note>"
    rows = odf.row(odf.cell("a", more='table:number-columns-spanned="2"'), odf.cell("b")) * 2
    item = f"<text:list><text:list-item>{odf.paragraph('item')}</text:list-item></text:list>"
    text = odf.paragraph(f"words<text:s text:c='2'/>{note}") + item + odf.table(rows)
    heading = "<text:h text:outline-level='2'>Heading</text:h>"
    body = {
        "text": heading + text,
        "presentation": f"<draw:page><draw:g>{odf.frame(text)}</draw:g>{odf.frame(item, x=9)}</draw:page>",
        "spreadsheet": odf.table(rows, odf.row(odf.cell("1", kind="float"))) * 2,
    }
    style = '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="P1"/>'
    level = '<text:list-level-style-number text:level="1" style:num-format="i" text:start-value="3"/>'
    styles = f"{style}<text:list-style style:name='L'>{level}</text:list-style>"
    return SimpleNamespace(
        name=f"{kind}.odt", make=lambda path: odf.write(path, kind, body[kind], automatic=styles)
    )


FILES = [
    (word, samples_word.SAMPLES[1], "word/(?!theme)"),
    (word, samples_word.SAMPLES[2], "word/(?!theme)"),
    (powerpoint, samples_powerpoint.SAMPLES[0], "ppt/(slides|charts|notesSlides|presentation)"),
    (powerpoint, samples_powerpoint.SAMPLES[2], "ppt/(slides|slideLayouts|presentation)"),
    (epub, samples_epub.SAMPLES[0], ""),
    *((opendocument, _odf(kind), "content|styles") for kind in ("text", "presentation", "spreadsheet")),
]


def mangled(data, chance):
    """Return XML with elements taken out, moved, renamed, and attributes of odd values."""
    root = etree.fromstring(data)
    nodes = [node for node in root.iter() if isinstance(node.tag, str)]
    for _ in range(chance.randint(1, 12)):
        node = chance.choice(nodes)
        what = chance.choice(["remove", "odd", "odd", "copy", "clear", "rename"])
        if what == "remove" and node.getparent() is not None:
            node.getparent().remove(node)
        elif what == "odd":
            for name in node.attrib:
                node.set(name, chance.choice(ODD))
        elif what == "copy" and len(etree.tostring(node)) < 3_000:
            chance.choice(nodes).append(copy.deepcopy(node))
        elif what == "clear":
            node.attrib.clear()
        elif what == "rename":
            node.tag = chance.choice(nodes).tag
    return etree.tostring(root)


@pytest.mark.parametrize(("module", "sample", "parts"), FILES, ids=[sample.name for _, sample, _ in FILES])
def test_a_mangled_file_is_read_or_refused(module, sample, parts, tmp_path):
    whole = tmp_path / sample.name
    sample.make(whole)
    with zipfile.ZipFile(whole) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    xml = [n for n in members if n.endswith((".xml", ".opf", ".xhtml", ".rels")) and re.match(parts, n)]
    chance = random.Random(sample.name)
    read = 0
    for _ in range(TIMES):
        broken = tmp_path / "broken.zip"
        with zipfile.ZipFile(broken, "w") as archive:
            for name, data in members.items():
                archive.writestr(
                    name, mangled(data, chance) if name in xml and chance.random() < 0.6 else data
                )
        with suppress(RefusedError):
            read += len(module.read(str(broken), Limits()).parts) > 0
    assert read >= TIMES // 5
