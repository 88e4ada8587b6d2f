"""Split a conversation into pieces: the question with the beginning of its answer, then the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import Block, BlockType, sections
from ragmem.domain.text.pieces import Budget, Piece, atoms_of, merge, pack, size_of
from ragmem.domain.text.turns import Turn

QUESTION_SHARE = 4.5
"""Maximum share of the window for the question above its answer: 200 of 900 characters."""

TALK_SHARE = 1.8
"""Maximum share of the window for a group of short turns; one vector cannot represent many topics."""


def pieces_of(text: str, turns: Sequence[Turn], budget: Budget, redactor: Redactor) -> list[Piece]:
    """Return the pieces of a conversation from its turns.

    Each piece of an answer has the question as its heading, so that the words of the question find it. A
    short question shares a piece with the beginning of its answer. Short exchanges and the turns of a talk
    among people also share pieces.
    """
    most = int(budget.most / TALK_SHARE)
    group_budget = Budget(most, min(budget.least, most))
    found: list[Piece] = []
    short: list[Piece] = []
    for exchange in _exchanges(turns):
        pieces = _pieces_of_exchange(text, exchange, budget, redactor=redactor)
        if len(pieces) == 1 and pieces[0].size < budget.least:
            short += pieces
        else:
            found += merge(short, group_budget) + pieces
            short = []
    return found + merge(short, group_budget)


def _exchanges(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield groups of turns: questions with their answers, or one turn of a talk."""
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
        return merge(_pack_turns(text, exchange, (), budget), budget)
    question = clip(
        " ".join(text[turn.body : turn.end] for turn in questions),
        int(budget.most / QUESTION_SHARE),
        redactor=redactor,
    )
    path = (question,) if question else ()
    # Half of the heading fits into the reserve of the window for headings.
    most = budget.most - len(question) // 2
    answer_budget = Budget(most, min(budget.least, most))
    end = questions[-1].end
    if size_of(text, questions[0].start, end) >= budget.least:
        pieces = merge(_pack_turns(text, questions, (), budget), budget)
        return pieces + merge(_pack_turns(text, answers, path, answer_budget), answer_budget)
    lead = [atom for turn in questions for _, atoms in _sections(text, turn, most) for atom in atoms]
    pieces = merge(_pack_turns(text, answers, path, answer_budget, lead=lead), answer_budget)
    return [replace(piece, path=piece.path[len(path) :]) if piece.start < end else piece for piece in pieces]


def _pack_turns(
    text: str, turns: Sequence[Turn], path: tuple[str, ...], budget: Budget, *, lead: Sequence[Piece] = ()
) -> list[Piece]:
    """Return the pieces of turns under a path; `lead` comes before the first."""
    found: list[Piece] = []
    waiting = list(lead)
    for turn in turns:
        for titles, atoms in _sections(text, turn, budget.most):
            found += pack(text, waiting + atoms, path + titles, budget)
            waiting = []
    return found


def _sections(text: str, turn: Turn, most: int) -> Iterator[tuple[tuple[str, ...], list[Piece]]]:
    """Yield the sections of a turn, each with its heading path and atoms; the first begins at the label."""
    begin = turn.start
    for path, section in sections(text, turn.body, turn.end):
        head, *rest = section
        if begin < head.start:
            form = BlockType.PARAGRAPH if head.form is BlockType.HEADING else head.form
            head = Block(form, begin, head.end)
        begin = turn.end
        yield path, [atom for block in (head, *rest) for atom in atoms_of(text, block, most)]
    if begin == turn.start < turn.body:
        label = Block(BlockType.PARAGRAPH, turn.start, turn.body)
        yield (), list(atoms_of(text, label, most))


SECRET_REACH = 4_096
"""Characters after the cut in which a secret may end."""


def clip(text: str, most: int, redactor: Redactor) -> str:
    """Return a text in one line of at most `most` characters, cut between words, with an ellipsis."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:
        return line
    blank = line.rfind(" ", most // 2, most)
    if blank <= 0:
        # A truncated secret would not be recognized later.
        line = redactor.redact(" ".join(text[: 4 * most + SECRET_REACH].split()))[0]
        if len(line) <= most:
            return line
    return line[: blank if blank > 0 else most - 1] + "…"
