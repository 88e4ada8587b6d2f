"""Mails as their readers see them: who wrote what and when; quotations and signatures stand back."""

import base64
import io
from email.message import EmailMessage

import pytest
from PIL import Image

from ragmem.readers.documents.formats import mail, module_of
from ragmem.readers.documents.model import Limits, Recognition, RefusedError
from ragmem.readers.documents.suffixes import is_mail
from ragmem.services.ingestion.drafts import source_of_file

HEAD = (
    "From: Ann <ann@tides.example>\r\nTo: bob@tides.example\r\nSubject: Spring tide\r\n"
    "Date: Tue, 12 Mar 2024 10:15:00 +0100\r\nMessage-ID: <1@tides.example>\r\n"
)


@pytest.fixture
def read(tmp_path):
    def converted(content, name="letter.eml", limits=None):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert module_of(str(path)) == "mail"
        return mail.read(str(path), limits or Limits())

    return converted


def body(document):
    """Return the text below the lines about sender and date."""
    return document.parts[0].text.split("\n\n", 2)[-1]


def test_a_mail_says_who_wrote_to_whom_and_when(read):
    document = read(HEAD + "\r\nThe harbour closes at noon.\r\n\r\n  # not a heading\r\n")
    assert document.title == "Spring tide"
    assert document.event_time == "2024-03-12T09:15:00Z"
    assert document.metadata["author"] == "Ann <ann@tides.example>"
    assert document.parts[0].text == (
        "# Spring tide\n\n"
        "From: Ann <ann@tides.example>\nTo: bob@tides.example\nDate: 2024-03-12T09:15:00Z\n\n"
        "The harbour closes at noon.\n\n  \\# not a heading"
    )


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("=?iso-2022-jp?B?GyRCJF4kXyRgJGEkYhsoQg==?=", "まみむめも"),
        ("=?UTF-8?Q?Fl=C3=A4che?= =?UTF-8?Q?_des_Deichs?=", "Fläche des Deichs"),
        ("=?x-unknown?Q?tide?= =?UTF-8?B?!?=", "tide"),
        ("Fläche", "Fläche"),
    ],
)
def test_encoded_words_of_a_header_are_decoded(read, subject, told):
    assert told in read(f"Subject: {subject}\n\nWords").title


@pytest.mark.parametrize(
    ("charset", "words"),
    [
        ("shift_jis", "満潮です"),
        ("ks_c_5601-1987", "만조"),
        ("windows-1255", "גאות"),
        ("x-unknown", "Fläche"),
    ],
)
def test_a_body_is_decoded_by_its_charset(read, charset, words):
    encoding = {"x-unknown": "utf-8"}.get(charset, charset)
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n"
    assert words in read(head.encode() + base64.b64encode(words.encode(encoding))).parts[0].text


@pytest.mark.parametrize(
    "attribution",
    [
        "On Tue, Mar 12, 2024 at 10:15, Ann <ann@tides.example> wrote:",
        "Am 12.03.24 um 10:15 schrieb Ann:",
        "Le mar. 12 mars 2024 à 10:15,\nAnn <ann@tides.example> a écrit :",
        "2024年3月12日(火) 10:15 Ann <ann@tides.example>:",
    ],
)
def test_the_quotation_below_an_answer_stands_back(read, attribution):
    quoted = "> When does it close?\n> I must know.\n"
    told = body(read(f"{HEAD}\n\nAt noon.\n\n-- \nBob, harbour office\n\n{attribution}\n{quoted}"))
    assert told == f"At noon.\n\nBob, harbour office\n\n## Quoted\n\n{attribution}\n{quoted.strip()}"


def test_the_copied_header_of_outlook_begins_a_quotation(read):
    copied = "Von: Ann <ann@tides.example>\nGesendet: Dienstag\nAn: Bob\nBetreff: Tide\n\nWhen does it close?"
    assert body(read(f"{HEAD}\n\nAt noon.\n\n{copied}")) == f"At noon.\n\n## Quoted\n\n{copied}"
    lines = f"________________________________\n{copied}"
    assert body(read(f"{HEAD}\n\nAt noon.\n{lines}")) == f"At noon.\n\n## Quoted\n\n{lines}"


def test_a_forwarded_mail_without_own_words_is_the_text(read):
    copied = (
        "---------- Forwarded message ---------\nFrom: Ann <ann@x.example>\nDate: today\nTo: Bob\n\nLow tide."
    )
    assert body(read(f"{HEAD}\n\n{copied}\n")) == copied


def test_quotations_between_answers_stay(read):
    words = "> When does it close?\nAt noon.\n> And opens?\nAt two."
    assert body(read(f"{HEAD}\n\n{words}\n")) == words


def test_soft_line_ends_are_joined(read):
    head = f"{HEAD}Content-Type: text/plain; format=flowed\n\n"
    assert body(read(f"{head}The harbour \ncloses.\nAt noon.\n> Is it \n> open?\n\nYes.")) == (
        "The harbour closes.\nAt noon.\n> Is it open?\n\nYes."
    )


def _with_parts(plain, html, *attachments):
    made = EmailMessage()
    made["Subject"] = "Parts"
    made["From"] = "ann@tides.example"
    made.set_content(plain)
    made.add_alternative(html, subtype="html")
    for name, data, kind in attachments:
        made.add_attachment(data, maintype="application", subtype=kind, filename=name)
    return made.as_bytes()


def test_the_plain_part_is_read_unless_it_only_points_to_the_other(read):
    told = "The harbour closes at noon, and the lock two hours later, for works on its gates by the board."
    html = f"<p>{told}</p>"
    assert "two hours" in body(read(_with_parts("Open this in a browser.", html)))
    plain = told.replace("and", " and")
    assert body(read(_with_parts(plain, html))) == plain


def test_text_in_wrappers_without_a_font_size_is_shown(read):
    html = "<div style='font-size:0px'><p style='font-size:14px'>The lock opens at two.</p></div>"
    hidden = "<div style='font-size:0'>preview</div>"
    told = body(read(_with_parts("x", html + hidden)))
    assert told == "The lock opens at two."


def test_attachments_are_named_but_signatures_are_not(read):
    packed = _with_parts(
        "See it.",
        "<p>See it.</p>",
        ("Plan für März.pdf", b"%PDF", "pdf"),
        ("smime.p7s", b"x", "pkcs7-signature"),
    )
    assert "Attachments: Plan für März.pdf\n" in f"{read(packed).parts[0].text}\n".replace("\n\n", "\n")
    assert "smime" not in read(packed).parts[0].text


def test_an_attached_mail_is_read_too(read):
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("The gate is stuck.")
    outer = EmailMessage()
    outer["Subject"] = "Outer"
    outer.set_content("Look.")
    outer.add_attachment(inner)
    text = read(outer.as_bytes()).parts[0].text.strip()
    assert text.startswith("# Outer")
    assert text.endswith("## Attached: Inner\n\nThe gate is stuck.")


@pytest.fixture
def seen(monkeypatch):
    """Return the sizes of the pictures whose text was looked for; each says "Lock 7 opens at two"."""
    sizes = []

    def recognize(picture, *, seconds):
        sizes.append(picture.size)
        return Recognition(text="Lock 7 opens at two")

    monkeypatch.setattr("ragmem.readers.documents.rapid_ocr.recognize", recognize)
    monkeypatch.setattr("ragmem.readers.documents.ocr.engine_name", lambda _: "rapidocr")
    return sizes


def _with_image(size):
    made, packed = EmailMessage(), io.BytesIO()
    made["From"], made["Subject"] = "ann@tides.example", "Notice"
    made.set_content("See the notice.")
    Image.new("RGB", size).save(packed, "PNG")
    made.add_attachment(packed.getvalue(), maintype="image", subtype="png", filename="notice.png")
    return made.as_bytes()


def test_the_text_in_an_attached_picture_is_read(read, seen):
    (part,) = read(_with_image((200, 100))).parts
    assert part.text.endswith(
        "Image: notice.png\n\n[[picture 1]]\n\nText in the picture:\n\nLock 7 opens at two"
    )
    assert [picture.mark for picture in part.pictures] == ["[[picture 1]]"]


def test_a_picture_of_each_mail_is_read_once_and_an_icon_never(read, seen):
    mails = [_with_image(size).decode() for size in ((200, 100), (200, 100), (20, 20), (90, 90))]
    document = read(_mailbox(*mails), "box.mbox")
    assert seen == [(200, 100), (90, 90)]
    assert [len(part.pictures) for part in document.parts] == [1, 0, 0, 1]


def test_a_damaged_picture_leaves_the_mail_as_it_is(read, seen):
    assert read(_with_image((200, 100)).replace(b"iVBOR", b"iVBOX")).parts[0].text.endswith("See the notice.")


def _mailbox(*mails):
    return "\n".join(f"From MAILER-DAEMON Tue Mar 12 10:15:00 2024\n{one}\n" for one in mails)


FIRST = HEAD.replace("\r\n", "\n") + "\nWhen does it close?\n\nFrom here I see no sign.\n"
ANSWER = (
    "From: Bob <bob@tides.example>\nSubject: Re: Spring tide\nDate: Wed, 13 Mar 2024 08:00:00 +0000\n"
    "Message-ID: <2/x@tides.example>\n\nAt noon.\n>From the tower one sees it.\n\n"
    "On Tue, Mar 12, 2024, Ann wrote:\n> When does it close?\n>\n> From here I see no sign.\n"
)


def test_each_mail_of_a_mailbox_has_its_own_place_and_date(read):
    document = read(_mailbox(FIRST, ANSWER), "tides.mbox")
    first, answer = document.parts
    assert (first.locator, first.label, first.title) == ("mail=1@tides.example", "mail 1", "Spring tide")
    assert (answer.locator, answer.event_time) == ("mail=2%2Fx@tides.example", "2024-03-13T08:00:00Z")
    assert "From here I see no sign." in first.text
    assert answer.text.endswith("At noon.\nFrom the tower one sees it.")


@pytest.mark.parametrize("mark", ["From - ", "From 18443@xxx Tue Mar 12 10:15:00 +0000 2024", "From -\r"])
def test_the_line_before_a_mail_may_have_no_date(read, mark):
    mails = (f"{mark}\n{one}" for one in (FIRST, ANSWER))
    assert len(read("".join(mails), "tides.mbox").parts) == 2


def test_a_sentence_that_begins_with_from_begins_no_mail(read):
    words = FIRST + "\nFrom here on Ann <ann@tides.example> sees it\n\nFrom 10:15 to noon:\nNote: closed.\n"
    (only,) = read(_mailbox(words), "tides.mbox").parts
    assert "Note: closed." in only.text


def test_a_quotation_that_the_mailbox_does_not_hold_is_kept(read):
    _, answer = read(_mailbox(FIRST.replace("When does", "When will"), ANSWER), "tides.mbox").parts
    assert "## Quoted" in answer.text


def test_the_newest_mails_are_read_if_there_are_too_many(read):
    document = read(_mailbox(ANSWER, FIRST), "tides.mbox", Limits(pages=1))
    assert [part.label for part in document.parts] == ["mail 1"]
    assert document.unread == ("mail=1@tides.example",)
    assert document.warnings == ("the oldest of its mails (1) are left out: raise max_pages in [documents]",)


def test_a_mail_of_apple_is_read_without_its_property_list(read):
    letter = HEAD.replace("\r\n", "\n") + "\nThe gate is stuck.\n"
    packed = f"{len(letter)}\n{letter}<?xml version='1.0'?><plist>flags</plist>"
    assert read(packed, "1.emlx").parts[0].text.endswith("The gate is stuck.")


def test_a_date_is_taken_from_the_last_server_if_the_sender_wrote_none(read):
    head = "Received: from a by b; Tue, 12 Mar 2024 10:15:00 +0100\nSubject: x\nDate: someday\n\n"
    assert read(f"{head}Words").event_time == "2024-03-12T09:15:00Z"


def test_a_byte_order_mark_is_no_part_of_a_mail(read):
    assert read(b"\xef\xbb\xbfSubject: Tide\n\nWords").title == "Tide"


@pytest.mark.parametrize("content", ["just a text, no mail", "Words\n\nmore: words", "12\n"])
def test_a_text_that_does_not_begin_like_a_mail_is_refused(read, content):
    with pytest.raises(RefusedError, match="does not begin like a mail"):
        read(content)


@pytest.mark.parametrize(
    "content",
    [
        "Subject: =?utf-8?B?!!!?=\nDate: Foo, 99 Bar\nContent-Type: text/plain; charset=\xff\n\nWords",
        'Subject: x\nContent-Type: multipart/mixed; boundary=""\n\nWords',
        "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\n",
        "Subject: x\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!",
        "Subject: x\nContent-Type: text/html\n\n<p>" + "<div>" * 500,
        "Subject: x\nContent-Type: application/pdf; name*0*=utf-8''%ff%fe; name*1*=%zz\n\n",
    ],
)
def test_a_broken_mail_is_read_as_far_as_it_goes(read, content):
    assert read(content.encode("latin-1")).parts[0].text.startswith("#")


@pytest.mark.parametrize(
    ("place", "content", "found"),
    [
        ("Mail/Inbox", _mailbox(HEAD + "\r\nThe tide is high."), True),
        ("Mail/Sent Messages", "From - Tue Mar 12 10:15:00 2024\n" + HEAD.replace("\r", "") + "\nHi.", True),
        ("Maildir/cur/1710234900.M20P21.host,S=12:2,S", HEAD + "\r\nThe tide is high.", True),
        ("Maildir/new/1710234900.M20P21.host", HEAD + "\r\nThe tide is high.", True),
        ("notes/From here", "From here on we moor at the quay.\nIt is deep: by far.\n", False),
        ("new/README", "Subject of this folder: tides.\n", False),
        ("src/letter.py", _mailbox(HEAD + "\r\nThe tide is high."), False),
    ],
)
def test_a_mailbox_without_a_suffix_and_a_mail_of_a_maildir_are_known_by_their_content(
    tmp_path, place, content, found
):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(content, newline="")
    assert is_mail(path) is found
    if found:
        assert module_of(str(path)) == "mail"
        assert mail.read(str(path), Limits()).parts[0].text.startswith("# Spring tide")
        assert source_of_file(path).reader == "documents"
