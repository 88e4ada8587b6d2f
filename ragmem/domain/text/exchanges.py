"""How a conversation becomes pieces: a question with its answer's beginning, then the rest under it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import Block, Form, sections
from ragmem.domain.text.pieces import Budget, Piece, atoms_of, merge, pack, size_of
from ragmem.domain.text.turns import Turn

ASKED_SHARE = 4.5
"""The part of the window that the question may take above its answer: 200 characters of 900."""

TALK_SHARE = 1.8
"""The part of the window that short turns fill together: several say too many things for one vector."""


def pieces_of(text: str, turns: Sequence[Turn], budget: Budget, redactor: Redactor) -> list[Piece]:
    """Return the pieces of a conversation, from its turns.

    Each piece of an answer stands under what was asked, so that the question's words find it. A short
    question shares its piece with the beginning of the answer; short exchanges, and the turns of people who
    talk with each other, share one too.
    """
    most = int(budget.most / TALK_SHARE)
    together = Budget(most, min(budget.least, most))
    found: list[Piece] = []
    short: list[Piece] = []
    for exchange in _exchanges(turns):
        pieces = _pieces_of_exchange(text, exchange, budget, redactor=redactor)
        if len(pieces) == 1 and pieces[0].size < budget.least:
            short += pieces
        else:
            found += merge(short, together) + pieces
            short = []
    return found + merge(short, together)


def _exchanges(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield the turns that belong together: questions with their answers, or one turn of a talk."""
    exchange: list[Turn] = []
    for turn in turns:
        if exchange and not (exchange[0].asks and (not turn.asks or exchange[-1].asks)):
            yield exchange
            exchange = []
        exchange.append(turn)
    if exchange:
        yield exchange


def _pieces_of_exchange(
    text: str, exchange: Sequence[Turn], budget: Budget, redactor: Redactor
) -> list[Piece]:
    """Return the pieces of questions with their answers, or of one turn."""
    questions = [turn for turn in exchange if turn.asks]
    answers = exchange[len(questions) :]
    if not questions or not answers:
        return merge(_packed(text, exchange, (), budget), budget)
    asked = clip(
        " ".join(text[turn.body : turn.end] for turn in questions),
        int(budget.most / ASKED_SHARE),
        redactor=redactor,
    )
    path = (asked,) if asked else ()
    # Half of what stands above fits into what the window spares for headings.
    most = budget.most - len(asked) // 2
    beneath = Budget(most, min(budget.least, most))
    end = questions[-1].end
    if size_of(text, questions[0].start, end) >= budget.least:
        pieces = merge(_packed(text, questions, (), budget), budget)
        return pieces + merge(_packed(text, answers, path, beneath), beneath)
    lead = [atom for turn in questions for _, atoms in _sections(text, turn, most) for atom in atoms]
    pieces = merge(_packed(text, answers, path, beneath, lead=lead), beneath)
    return [replace(piece, path=piece.path[len(path) :]) if piece.start < end else piece for piece in pieces]


def _packed(
    text: str, turns: Sequence[Turn], path: tuple[str, ...], budget: Budget, *, lead: Sequence[Piece] = ()
) -> list[Piece]:
    """Return the pieces of turns that stand under a path; `lead` comes before the first."""
    found: list[Piece] = []
    waiting = list(lead)
    for turn in turns:
        for titles, atoms in _sections(text, turn, budget.most):
            found += pack(text, waiting + atoms, path + titles, budget)
            waiting = []
    return found


def _sections(text: str, turn: Turn, most: int) -> Iterator[tuple[tuple[str, ...], list[Piece]]]:
    """Yield the sections of a turn, each as its heading path and atoms; the first begins at the label."""
    begin = turn.start
    for path, section in sections(text, turn.body, turn.end):
        head, *rest = section
        if begin < head.start:
            form = Form.PARAGRAPH if head.form is Form.HEADING else head.form
            head = Block(form, begin, head.end)
        begin = turn.end
        yield path, [atom for block in (head, *rest) for atom in atoms_of(text, block, most)]
    if begin == turn.start < turn.body:
        label = Block(Form.PARAGRAPH, turn.start, turn.body)
        yield (), list(atoms_of(text, label, most))


BEYOND = 4_096
"""Characters behind those that are read in which a secret may end."""


def clip(text: str, most: int, redactor: Redactor) -> str:
    """Return a text on one line of at most `most` characters, cut between words and marked there."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:
        return line
    blank = line.rfind(" ", most // 2, most)
    if blank <= 0:
        # A secret of which a part is left could not be told as one any more.
        line = redactor.redact(" ".join(text[: 4 * most + BEYOND].split()))[0]
        if len(line) <= most:
            return line
    return line[: blank if blank > 0 else most - 1] + "…"
