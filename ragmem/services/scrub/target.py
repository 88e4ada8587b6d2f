"""What a scrub removes: secrets that ragmem recognizes, one text, or what matches a pattern."""

import json
import re
import signal
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import FrameType
from typing import Any

import orjson

from ragmem.domain.injection.injection_removal import without_injections
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.secrets.private import without_private
from ragmem.domain.secrets.redaction import Redactor, Secret
from ragmem.errors import UsageError
from ragmem.services.ingestion.sanitize import sanitize_memory, sanitize_text
from ragmem.services.scrub.forms import MIN_RAW, Needles, base64_forms, byte_forms, text_forms

_SECRET_NAME = re.compile(r"pass|pwd|secret|credential|token|key", re.IGNORECASE)
"""Names of values that are likely to be secrets."""

DEFAULT_KIND = "scrubbed"
"""The kind of a match that has no other kind."""

PRIVATE = "private"
"""The kind of text that people marked; it is not a value that may occur elsewhere."""

SECONDS = 10.0
"""Time limit of a pattern for the texts that are searched together."""

MIN_VALUE = 8
"""Characters of a secret that is also searched for out of context."""

MIN_PATTERN = 4
"""Characters of a text that is removed without --force."""

MAX_PASSES = 8
"""A removal may leave the text again; so many times it is repeated."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]*")
_AROUND = 100_000
"""Characters around an encoded text that are taken for the same encoding."""

_OPEN_ENDED = re.compile(r"-----BEGIN|<private", re.IGNORECASE)
"""Starts a match that may extend beyond the end of a text."""

_SEPARATOR = "\n\0\n"
"""Separates texts that are searched together."""

_FRAME = "# \t…"
"""Characters around a title that was cut from a text."""

_PREFIX = 8
"""Characters by which a truncated value at the end of a text is recognized."""

_MARKER = re.compile(r"\[redacted: [^\]\n]{1,40}\]")


@dataclass(slots=True)
class ScrubTarget:
    """What a scrub finds and redacts; `values` are the known texts with their kinds.

    Values that were found in one place are searched for in all others, where nothing may show that they are
    secrets: as a name in the graph, encoded in an address.
    """

    redactor: Redactor
    secrets: bool = False
    pattern: re.Pattern[str] | None = None
    values: dict[str, str] = field(default_factory=dict)
    _forms: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _needles: Needles = field(default_factory=lambda: Needles(()))
    _known: int = 0
    _clean: set[int] = field(default_factory=set)
    _cut: list[str] = field(default_factory=list)

    def suspects(self, values: Sequence[str]) -> list[int]:
        """Return the numbers of the stored values that may have a match; searches them all at once."""
        if (pattern := self.pattern) is not None:
            with _time_limit(SECONDS):
                return [
                    number
                    for number, value in enumerate(values)
                    if any(map(pattern.search, texts_of(value, with_names=self.secrets)))
                ]
        raw = _SEPARATOR.join(values).encode("utf-8", "surrogatepass")
        forms = [needle.decode("utf-8", "surrogatepass") for needle in self._text_needles().find_in(raw)]
        known = {number for number, value in enumerate(values) if any(form in value for form in forms)}
        return sorted(known | self._find_secrets(values)) if self.secrets else sorted(known)

    def _find_secrets(self, values: Sequence[str]) -> set[int]:
        """Return the numbers of the values with secrets or private text; each value is searched once."""
        fresh = [number for number, value in enumerate(values) if hash(value) not in self._clean]
        parts = [(number, text) for number in fresh for text in texts_of(values[number], with_names=True)]
        whole = _SEPARATOR.join(text for _, text in parts)
        if without_private(without_injections(whole)) != whole:
            return set(fresh)
        starts = list(accumulate((len(text) + len(_SEPARATOR) for _, text in parts), initial=0))
        found = {parts[bisect_right(starts, one.start) - 1][0] for one in self.redactor.find(whole)}
        found |= {number for number, text in parts if _OPEN_ENDED.search(text)}
        self._clean.update(hash(values[number]) for number in fresh if number not in found)
        return found

    def count_kinds(self, value: str) -> Counter[str]:
        """Count the matches in a stored value by kind, and remember their values.

        Each text of a JSON document is searched separately, as it is redacted.
        """
        found = Counter[str]()
        with _time_limit(SECONDS):
            for text in texts_of(value, with_names=self.secrets):
                found += self._count_in_text(text)
        return found

    def _count_in_text(self, text: str) -> Counter[str]:
        found = Counter[str]()
        if self.secrets:
            for secret in self.redactor.find(text):
                found[secret.kind] += 1
                value = text[secret.start : secret.end]
                if secret.kind != PRIVATE and len(value) >= MIN_VALUE:
                    self.values.setdefault(value, secret.kind)
            if not found and without_private(without_injections(text)) != text:
                found[PRIVATE] += 1
        if self.pattern is not None:
            for secret in self._find_spans(text):
                found[secret.kind] += 1
                self.values.setdefault(text[secret.start : secret.end], secret.kind)
        elif not found:
            found.update(secret.kind for secret in self._find_spans(text))
        return found

    def unscanned_copy(self) -> "ScrubTarget":
        """Return a copy that has not searched anything yet."""
        return ScrubTarget(self.redactor, self.secrets, self.pattern, dict(self.values))

    def cover(self, text: str) -> str:
        """Return a text without matches; the method is idempotent."""
        for _ in range(MAX_PASSES):
            before = text
            if self.secrets:
                text = sanitize_text(text, self.redactor)
            text = self._cover_spans(text, self._find_spans(text))
            if text == before:
                break
        return text

    def cover_document(self, value: Any) -> Any:
        """Return a copy of a JSON document with its texts and names redacted."""
        return self._cover_part(self.redactor.redact_document(value) if self.secrets else value)

    def _cover_part(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.cover_value(value)
        if isinstance(value, dict):
            return {self.cover(key): self._cover_part(part) for key, part in value.items()}
        return [self._cover_part(part) for part in value] if isinstance(value, list) else value

    def cover_value(self, value: str) -> str:
        """Return a redacted value; a JSON document stays one, as each of its texts is redacted separately."""
        document = parse(value)
        if document is None:
            return self.cover(value)
        changed = self.cover_document(document)
        return (
            value if changed == document else json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
        )

    def cover_memory(self, memory: Memory) -> Memory:
        """Return a redacted memory with its id, its dates and its state; the same one without a match."""
        clean = sanitize_memory(memory, redactor=self.redactor) if self.secrets else memory
        text = self.cover(clean.text)
        changed = replace(
            clean,
            uri=self.cover(clean.uri),
            text=text,
            title=self._cover_title(memory, clean.title, text),
            summary=self.cover(clean.summary),
            scope=Scope(memory.scope.project, self.cover(memory.scope.spec)),
            tags=tuple(filter(None, map(self.cover, clean.tags))),
            metadata={self.cover(key): self.cover_value(value) for key, value in clean.metadata.items()},
            content_hash=memory.content_hash if text == memory.text else content_hash(text),
        )
        return memory if changed == memory else changed

    def is_emptied(self, before: Memory, covered: Memory) -> bool:
        """Return whether redaction removed all words of a memory."""
        return covered.text != before.text and not any(map(str.isalnum, _MARKER.sub("", covered.text)))

    def _cover_title(self, memory: Memory, title: str, text: str) -> str:
        """Return a redacted title; an empty one if it was cut from the text, which no longer has it."""
        covered = self.cover(title)
        before, after = memory.title.strip(_FRAME), covered.strip(_FRAME)
        return "" if before and before in memory.text and after not in text else covered

    def needles(self) -> Needles:
        """Return the forms of the known values as bytes, to search files for; none for a pattern.

        A match of a pattern may be a part of any other text, and vectors contain short forms by chance.
        """
        values = () if self.pattern is not None else self.values
        forms = {form for value in values for form in byte_forms(value)}
        forms |= {value.lower().encode("utf-8", "surrogatepass") for value in values if _is_random(value)}
        return Needles(form for form in forms if len(form) >= MIN_RAW)

    def _cover_spans(self, text: str, spans: list[Secret]) -> str:
        parts: list[str] = []
        at = 0
        for secret in spans:
            if secret.end <= at:
                continue
            parts += [text[at : max(at, secret.start)], self._marker(secret.kind)]
            at = secret.end
        return "".join([*parts, text[at:]]) if parts else text

    def _marker(self, kind: str) -> str:
        marker = f"[redacted: {kind}]"
        # No marker where it would match itself.
        return "" if self._find_spans(marker) else marker

    def _find_spans(self, text: str) -> list[Secret]:
        if self.pattern is None:
            return self._find_values(text)
        return [
            Secret(found.start(), found.end(), DEFAULT_KIND)
            for found in self.pattern.finditer(text)
            if found.end() > found.start()
        ]

    def _find_values(self, text: str) -> list[Secret]:
        """Return the spans of the known values in any form, in order."""
        raw = text.encode("utf-8", "surrogatepass")
        spans: list[Secret] = []
        for needle in self._text_needles().find_in(raw):
            form = needle.decode("utf-8", "surrogatepass")
            if form not in self._forms:
                continue
            kind, encoded = self._forms[form]
            at = text.find(form)
            while at >= 0:
                start, end = at, at + len(form)
                if encoded:
                    # All that was encoded with it: a part could still be decoded.
                    start -= _length_of_base64(text[max(0, at - _AROUND) : at][::-1])
                    end += _length_of_base64(text[end : end + _AROUND])
                spans.append(Secret(start, end, kind))
                at = text.find(form, end)
        spans += self._find_truncated(text)
        return sorted(spans, key=lambda secret: (secret.start, -secret.end))

    def _find_truncated(self, text: str) -> Iterator[Secret]:
        """Yield the span of a truncated value at the end of a text, such as the first words of a question."""
        whole = text.rstrip(_FRAME)
        for value in self._cut:
            at = whole.rfind(value[:_PREFIX])
            if at >= 0 and len(whole) - at < len(value) and value.startswith(whole[at:]):
                yield Secret(at, len(whole), self.values[value])

    def _text_needles(self) -> Needles:
        """Return the forms of the known values in a text."""
        if self._known < len(self.values):
            for value, kind in list(self.values.items())[self._known :]:
                encoded = base64_forms(value)
                forms = text_forms(value)
                if _is_random(value):
                    # Names are compared in lower case; a truncated text keeps the prefix.
                    forms.add(value.lower())
                    self._cut.append(value)
                for form in forms:
                    self._forms.setdefault(form, (kind, form in encoded))
            self._known = len(self.values)
            prefixes = {value[:_PREFIX] for value in self._cut if len(value) > _PREFIX}
            self._needles = Needles(
                form.encode("utf-8", "surrogatepass") for form in prefixes | set(self._forms)
            )
        return self._needles


def scrub_target(
    pattern: str | None, redactor: Redactor, *, regex: bool = False, force: bool = False
) -> ScrubTarget:
    """Return what a person wants to remove: a pattern, or all secrets for None.

    Raises UsageError for a pattern that is too short, empty or not a regular expression.
    """
    # An explicit request also counts where the settings allow secrets to be stored.
    redactor = replace(redactor, stored=False)
    if pattern is None:
        return ScrubTarget(redactor, secrets=True)
    if not pattern.strip():
        raise UsageError("the pattern is empty", hint="omit it to remove all known secrets")
    if regex:
        try:
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(
                f"the pattern is not a regular expression: {error}", hint="omit --regex"
            ) from error
        return ScrubTarget(redactor, pattern=compiled)
    if len(pattern) < MIN_PATTERN and not force:
        raise UsageError(
            f"the pattern has fewer than {MIN_PATTERN} characters, too few to be specific",
            hint=f"give {MIN_PATTERN} or more; docs/secrets.md explains shorter ones",
        )
    whole = [one for one in redactor.find(pattern) if (one.start, one.end) == (0, len(pattern))]
    return ScrubTarget(redactor, values={pattern: whole[0].kind if whole else DEFAULT_KIND})


def _is_random(value: str) -> bool:
    """Return whether a value is not a word, so that its lower-case form is unmistakable as well."""
    return len(value) >= MIN_VALUE and any(map(str.isdigit, value)) and not any(map(str.isspace, value))


def _length_of_base64(text: str) -> int:
    found = _BASE64.match(text)
    return found.end() if found else 0


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise UsageError when the block takes longer. Only in the main thread, where signals arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_number: int, _frame: FrameType | None) -> None:
        raise UsageError(
            f"the pattern takes longer than {seconds:g} s for a few texts",
            hint="avoid nested repetitions",
        )

    previous = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def texts_of(value: str, *, with_names: bool) -> Iterator[str]:
    """Yield the texts of a stored value; `with_names`: with each name that suggests a secret."""
    document = parse(value)
    if document is None:
        yield value
        return
    for name, text in _named_texts(document, ""):
        if with_names and _SECRET_NAME.search(name):
            yield f"{name}: {text}"
        else:
            yield from texts_of(text, with_names=with_names)


def parse(value: str) -> Any:
    """Return the JSON object or list that a value is; None for any other."""
    if value[:1] not in {"{", "["}:
        return None
    try:
        return orjson.loads(value)
    except ValueError:
        pass
    try:
        # What orjson refuses: a lone surrogate, a number that is none.
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _named_texts(part: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a JSON document with the key above each; the keys themselves as well."""
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, dict):
        for key, value in part.items():
            yield "", key
            yield from _named_texts(value, key)
    elif isinstance(part, list):
        for item in part:
            yield from _named_texts(item, name)
