"""Split a text into chunks that fit the embedder's window, along headings, turns or definitions."""

from itertools import groupby
from operator import itemgetter

from ragmem.domain.model import Chunk, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text import exchanges
from ragmem.domain.text.blocks import sections
from ragmem.domain.text.definitions import is_program
from ragmem.domain.text.pieces import Budget, Piece, atoms_of, atoms_of_code, merge, pack
from ragmem.domain.text.turns import turns

MAX_CHARS = 900
"""225 of the 256 WordPiece tokens of the window, at four characters each; the rest is for headings."""

MIN_CHARS = 300
"""A smaller section has too little context; it is merged with a neighbour under the same parent."""

SEPARATOR = " > "

ID_LENGTH = 13
"""Letters of a chunk's id. They stand in four places of a home, and 65 bits tell ten million chunks apart:
that any two get one id has a chance of 1 to 700,000. Those of earlier releases have 26."""


def chunk(
    text: str, *, memory_id: str, max_chars: int = MAX_CHARS, min_chars: int = MIN_CHARS, redactor: Redactor
) -> tuple[Chunk, ...]:
    """Return the chunks of a text in order; a blank text has none.

    Each chunk is `text[start:end]` without white space at its ends; together they hold every non-blank
    character exactly once. Texts are split at headings, conversations at turns, programs at definitions. A
    section that is too large is split between paragraphs, list items, sentences, lines and words, in this
    order; a code fence or table that fits stays whole. `heading` is the path of headings ("A > B") above all
    of the chunk's text; above an answer it begins with the question. A chunk has at most `max_chars`
    characters besides its heading, fewer if digits, punctuation or other scripts need more tokens. The result
    is deterministic; the time is linear. Raises ValueError unless 0 <= min_chars <= max_chars and max_chars >
    0.
    """
    if not (0 <= min_chars <= max_chars and max_chars > 0):
        raise ValueError("min_chars must lie between 0 and max_chars, and max_chars above 0")
    chunks = []
    for order, piece in enumerate(_pieces(text, Budget(max_chars, min_chars), redactor=redactor)):
        part = text[piece.start : piece.end]
        heading = SEPARATOR.join(title for title in piece.path if title)
        identity = chunk_id(memory_id, order, part)
        chunks.append(Chunk(identity, memory_id, order, part, heading, piece.start, piece.end))
    return tuple(chunks)


def chunk_id(memory_id: str, order: int, part: str) -> str:
    """Return the id of a chunk by its text and its position in a memory."""
    return digest("chunk", memory_id, str(order), part, length=ID_LENGTH)


def _pieces(text: str, budget: Budget, redactor: Redactor) -> list[Piece]:
    """Return the pieces of a text by its type: a conversation, a program, or Markdown or plain text."""
    spoken = turns(text)
    if spoken:
        return exchanges.pieces_of(text, spoken, budget, redactor=redactor)
    pieces: list[Piece] = []
    if is_program(text):
        coded = atoms_of_code(text, 0, len(text), budget.most)
        for path, group in groupby(coded, key=itemgetter(0)):
            pieces.extend(pack(text, [atom for _, atom in group], path, budget))
        return merge(pieces, budget)
    for path, section in sections(text, 0, len(text)):
        atoms = [atom for block in section for atom in atoms_of(text, block, budget.most)]
        pieces.extend(pack(text, atoms, path, budget))
    return merge(pieces, budget)
