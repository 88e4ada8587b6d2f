"""Collect the pieces of a converted document into a part for each page."""

from dataclasses import dataclass, field

from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture

_SMALL_BYTES = 200  # a smaller picture is a line or a dot
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


@dataclass(slots=True)
class Pages:
    """Pieces of text and pictures by page; 0 is for formats without pages."""

    limits: Limits
    title: str = ""
    texts: dict[int, list[str]] = field(default_factory=dict)
    pictures: dict[int, list[Picture]] = field(default_factory=dict)
    count: int = 0

    def add(self, page: int, text: str) -> None:
        """Add a piece of Markdown, without control characters; an empty one is left out."""
        kept = "".join(sign for sign in text if sign in "\n\t" or (sign >= " " and sign != "\x7f")).strip()
        if kept:
            self.texts.setdefault(page, []).append(kept)

    def add_picture(self, page: int, data: bytes, *, told: str) -> None:
        """Add the description of an image, and the image itself if a model could read its format."""
        self.add(page, told)
        media_type = "image/png" if data.startswith(_PNG) else "image/jpeg" if data.startswith(_JPEG) else ""
        if media_type and len(data) > _SMALL_BYTES:
            self.count += 1
            mark = f"[[picture {self.count}]]"
            self.add(page, mark)
            self.pictures.setdefault(page, []).append(Picture(mark, data, media_type))

    def build(self, engine: str) -> ConvertedDocument:
        """Return the document; pages and characters beyond the limits are left out with a warning."""
        numbers = sorted(self.texts)
        warnings = []
        if len(numbers) > self.limits.pages:
            warnings.append(f"only the first {self.limits.pages:,} of {len(numbers):,} pages are read")
        parts: list[Part] = []
        left = self.limits.characters
        for page in numbers[: self.limits.pages]:
            text = "\n\n".join(self.texts[page])
            if len(text) > left:
                warnings.append(f"text beyond {self.limits.characters:,} characters is left out")
                break
            left -= len(text)
            place = (f"page={page}", f"page {page}") if page else ("", "")
            parts.append(Part(text, *place, pictures=tuple(self.pictures.get(page, ()))))
        unread = tuple(f"page={page}" for page in numbers[len(parts) :] if page)
        return ConvertedDocument(
            tuple(parts),
            title=self.title,
            metadata={"engine": engine},
            warnings=tuple(warnings),
            unread=unread,
        )
