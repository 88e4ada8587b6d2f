"""What python-docx has no function for: notes, equations, tracked changes, text boxes, fields."""

from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
SPACES = (
    f'xmlns:w="{W}" xmlns:m="{M}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.{}+xml"


def xml(text):
    """Return an element; the prefixes w, m, mc, wp, a, wps and v are known."""
    name = text[1:].split(">")[0].split()[0].rstrip("/")
    return parse_xml(text.replace(f"<{name}", f"<{name} {SPACES}", 1))


def put(paragraph, text):
    """Append an element to a paragraph."""
    paragraph._p.append(xml(text))
    return paragraph


def notes(document, texts, *, kind="footnote"):
    """Give the document footnotes or endnotes; refer to them, counted from 1, with `refer`."""
    body = "".join(
        f'<w:{kind} w:id="{number}"><w:p><w:r><w:{kind}Ref/></w:r>'
        f'<w:r><w:t xml:space="preserve"> {text}</w:t></w:r></w:p></w:{kind}>'
        for number, text in enumerate(texts, 1)
    )
    separator = f'<w:{kind} w:type="separator" w:id="0"><w:p><w:r><w:separator/></w:r></w:p></w:{kind}>'
    data = f"<w:{kind}s {SPACES}>{separator}{body}</w:{kind}s>".encode()
    name = PackURI(f"/word/{kind}s.xml")
    part = Part(name, _TYPE.format(f"{kind}s"), data, document.part.package)
    document.part.relate_to(part, f"{RELATIONSHIP_TYPE.FOOTNOTES.rpartition('/')[0]}/{kind}s")


def refer(paragraph, number, *, kind="footnote"):
    """Put the reference of a note at the end of a paragraph."""
    return put(paragraph, f'<w:r><w:{kind}Reference w:id="{number}"/></w:r>')


def run(text):
    """Return the OMML of a run."""
    return f"<m:r><m:t>{text}</m:t></m:r>"


def fraction(above, below):
    """Return the OMML of a fraction."""
    return f"<m:f><m:num>{above}</m:num><m:den>{below}</m:den></m:f>"


def power(base, exponent):
    """Return the OMML of a base with an exponent."""
    return f"<m:sSup><m:e>{base}</m:e><m:sup>{exponent}</m:sup></m:sSup>"


def index(base, below):
    """Return the OMML of a base with an index."""
    return f"<m:sSub><m:e>{base}</m:e><m:sub>{below}</m:sub></m:sSub>"


def root(radicand):
    """Return the OMML of a square root."""
    return f'<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/><m:e>{radicand}</m:e></m:rad>'


def large(sign, below, above, body):
    """Return the OMML of a sum, a product or an integral with limits."""
    return (
        f'<m:nary><m:naryPr><m:chr m:val="{sign}"/></m:naryPr><m:sub>{below}</m:sub><m:sup>{above}</m:sup>'
        f"<m:e>{body}</m:e></m:nary>"
    )


def equation(paragraph, omml, *, display=False):
    """Append an equation, in the line or on a line of its own."""
    inner = f"<m:oMath>{omml}</m:oMath>"
    return put(paragraph, f"<m:oMathPara>{inner}</m:oMathPara>" if display else inner)


def inserted(paragraph, text, *, author="Mira Voss"):
    """Append text that was put in with changes being tracked."""
    return put(
        paragraph,
        f'<w:ins w:id="90" w:author="{author}"><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:ins>',
    )


def deleted(paragraph, text, *, author="Mira Voss"):
    """Append text that was deleted with changes being tracked."""
    words = f'<w:r><w:delText xml:space="preserve">{text}</w:delText></w:r>'
    return put(paragraph, f'<w:del w:id="91" w:author="{author}">{words}</w:del>')


def text_box(paragraph, text):
    """Append a text box as Word writes it: once for new programs, once more for old ones."""
    content = f"<w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent>"
    return put(
        paragraph,
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline>'
        '<wp:docPr id="7" name="Box"/>'
        '<a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">'
        f"<wps:wsp><wps:txbx>{content}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing>"
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>",
    )


def field(paragraph, instruction, result):
    """Append a field with its last result, as it is written in runs."""
    for piece in (
        '<w:fldChar w:fldCharType="begin"/>',
        f'<w:instrText xml:space="preserve"> {instruction} </w:instrText>',
        '<w:fldChar w:fldCharType="separate"/>',
        f"<w:t>{result}</w:t>",
        '<w:fldChar w:fldCharType="end"/>',
    ):
        put(paragraph, f"<w:r>{piece}</w:r>")
    return paragraph


def rows(document, table, *, style="Table Grid"):
    """Append a table of these rows."""
    made = document.add_table(len(table), len(table[0]), style=style)
    for line, cells in zip(made.rows, table, strict=True):
        for cell, text in zip(line.cells, cells, strict=True):
            cell.text = str(text)
    return made
