"""Read the XML of an office file: no entity is resolved, nothing is fetched, namespaces are ignored."""

from collections.abc import Iterator
from typing import IO, Any

from lxml import etree

from ragmem.readers.documents.formats.package import every


def elements(stream: IO[bytes], *names: str) -> Iterator[Any]:
    """Yield the elements with these local names as they end, and free each one afterwards."""
    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(
        stream, events=("end",), tag=tags, resolve_entities=False, no_network=True, load_dtd=False
    ):
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def whole(content: bytes) -> Any:
    """Return the root of a small document; raises lxml's error for invalid XML."""
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def text_in(element: Any, name: str = "t") -> str:
    """Return the joined text of all elements with a local name."""
    return "".join(part.text or "" for part in every(element, name))
