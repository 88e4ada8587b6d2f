"""What is to go: the secrets that ragmem knows by their shape, one text, or what matches a pattern."""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from ragmem.domain.injection.injected import without_injections
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.secrets.private import without_private
from ragmem.domain.secrets.redaction import Redactor, Secret
from ragmem.errors import UsageError
from ragmem.services.ingestion.sanitize import purified_memory, sanitize_text
from ragmem.services.scrub.documents import leaves, parse
from ragmem.services.scrub.forms import MIN_RAW, Needles, base64_forms, byte_forms, written_forms
from ragmem.services.scrub.limit import time_limit

KIND = "scrubbed"
"""What stands in the place of what has no sort of its own."""

PRIVATE = "private"
"""The sort of what people marked; what it holds is no value that could stand elsewhere."""

SECONDS = 10.0
"""That a pattern may take for the texts that are looked at together."""

MIN_VALUE = 8
"""Characters of a secret that is also looked for where nothing tells that it is one."""

MIN_PATTERN = 4
"""Characters of a text that is removed without being asked twice."""

MOST_PASSES = 8
"""What is left of a text after a removal may be the text again; so often it is looked at."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]*")
_AROUND = 100_000
"""Characters before and behind an encoded text that are taken for the same encoding."""

_FAR = re.compile(r"-----BEGIN|<private", re.IGNORECASE)
"""Begins what may reach over the end of a text that stands before another one."""

_APART = "\n\0\n"
"""Stands between texts that are searched together."""

_FRAME = "# \t…"
"""What stands around a title that was cut from a text."""

_BEGINNING = 8
"""Characters of a value by which one is known that was cut where a text ends."""

_MARKER = re.compile(r"\[redacted: [^\]\n]{1,40}\]")


@dataclass(slots=True)
class ScrubTarget:
    """What is to be found and covered; `values` are the texts that are known of it, with their sorts.

    Values that were found in one place are looked for in all others, where nothing may tell that they are
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
        """Return which of some stored values may hold what is to go, without looking at each by itself."""
        if self.pattern is not None:
            with time_limit(SECONDS):
                return [number for number, value in enumerate(values) if self._may_match(value)]
        raw = _APART.join(values).encode("utf-8", "surrogatepass")
        forms = [needle.decode("utf-8", "surrogatepass") for needle in self._known_needles().within(raw)]
        known = {number for number, value in enumerate(values) if any(form in value for form in forms)}
        return sorted(known | self._newly_found(values)) if self.secrets else sorted(known)

    def _newly_found(self, values: Sequence[str]) -> set[int]:
        """Return in which of some values there are secrets, or what is private; each is looked at once."""
        fresh = [number for number, value in enumerate(values) if hash(value) not in self._clean]
        parts = [(number, text) for number in fresh for text in leaves(values[number], naming=self.secrets)]
        whole = _APART.join(text for _, text in parts)
        if without_private(without_injections(whole)) != whole:
            return set(fresh)
        starts = list(accumulate((len(text) + len(_APART) for _, text in parts), initial=0))
        found = {parts[bisect_right(starts, one.start) - 1][0] for one in self.redactor.find(whole)}
        found |= {number for number, text in parts if _FAR.search(text)}
        self._clean.update(hash(values[number]) for number in fresh if number not in found)
        return found

    def _may_match(self, value: str) -> bool:
        pattern = self.pattern
        return pattern is not None and any(map(pattern.search, leaves(value, naming=self.secrets)))

    def kinds(self, value: str) -> Counter[str]:
        """Return how often what is to go stands in a stored value, by its sort; it is known from then on.

        In a JSON document each text is looked at by itself, as it is covered.
        """
        found = Counter[str]()
        with time_limit(SECONDS):
            for text in leaves(value, naming=self.secrets):
                found += self._kinds(text)
        return found

    def _kinds(self, text: str) -> Counter[str]:
        found = Counter[str]()
        if self.secrets:
            for secret in self.redactor.find(text):
                found[secret.kind] += 1
                value = text[secret.start : secret.end]
                if secret.kind != PRIVATE and len(value) >= MIN_VALUE:
                    self.values.setdefault(value, secret.kind)
            if not found and without_private(without_injections(text)) != text:
                found[PRIVATE] += 1
        for secret in self._matches(text):
            found[secret.kind] += 1
            self.values.setdefault(text[secret.start : secret.end], secret.kind)
        if not found and self.pattern is None:
            found.update(secret.kind for secret in self._written(text))
        return found

    def again(self) -> "ScrubTarget":
        """Return the same, which has looked at nothing yet."""
        return ScrubTarget(self.redactor, self.secrets, self.pattern, dict(self.values))

    def covered(self, text: str) -> str:
        """Return the text with nothing of it left; covering twice is covering once."""
        for _ in range(MOST_PASSES):
            before = text
            if self.secrets:
                text = sanitize_text(text, self.redactor)
            spans = self._matches(text) if self.pattern is not None else self._written(text)
            text = self._replaced(text, spans)
            if text == before:
                break
        return text

    def document(self, value: Any) -> Any:
        """Return a copy of a JSON document with its texts and names covered."""
        return self._texts(self.redactor.redact_document(value) if self.secrets else value)

    def _texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.stored(value)
        if isinstance(value, dict):
            return {self.covered(key): self._texts(part) for key, part in value.items()}
        return [self._texts(part) for part in value] if isinstance(value, list) else value

    def stored(self, value: str) -> str:
        """Return a stored value covered: in a JSON document each text by itself, so that it stays one."""
        document = parse(value)
        if document is None:
            return self.covered(value)
        changed = self.document(document)
        return (
            value if changed == document else json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
        )

    def memory(self, memory: Memory) -> Memory:
        """Return a memory covered, with its id, its dates and its state; the same where nothing has to go."""
        clean = purified_memory(memory, redactor=self.redactor) if self.secrets else memory
        text = self.covered(clean.text)
        changed = replace(
            clean,
            uri=self.covered(clean.uri),
            text=text,
            title=self._title(memory, clean.title, text),
            summary=self.covered(clean.summary),
            scope=Scope(memory.scope.project, self.covered(memory.scope.spec)),
            tags=tuple(filter(None, map(self.covered, clean.tags))),
            metadata={self.covered(key): self.stored(value) for key, value in clean.metadata.items()},
            content_hash=memory.content_hash if text == memory.text else content_hash(text),
        )
        return memory if changed == memory else changed

    def emptied(self, before: Memory, covered: Memory) -> bool:
        """Tell whether a memory that said something says nothing any more."""
        return covered.text != before.text and not any(map(str.isalnum, _MARKER.sub("", covered.text)))

    def _title(self, memory: Memory, title: str, text: str) -> str:
        """Return a covered title, or nothing where it was cut from a text that does not say it any more."""
        covered = self.covered(title)
        said, says = memory.title.strip(_FRAME), covered.strip(_FRAME)
        return "" if said and said in memory.text and says not in text else covered

    def needles(self) -> Needles:
        """Return the forms of the known values as bytes, to be looked for in files; none of a pattern's.

        What a pattern matches may be a part of any other text, and short forms are in vectors by chance.
        """
        values = () if self.pattern is not None else self.values
        forms = {form for value in values for form in byte_forms(value)}
        forms |= {value.lower().encode("utf-8", "surrogatepass") for value in values if _is_random(value)}
        return Needles(form for form in forms if len(form) >= MIN_RAW)

    def _replaced(self, text: str, spans: list[Secret]) -> str:
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
        again = self._matches(marker) if self.pattern is not None else self._written(marker)
        # What would be found in its own marker leaves none.
        return "" if again else marker

    def _matches(self, text: str) -> list[Secret]:
        if self.pattern is None:
            return []
        return [
            Secret(found.start(), found.end(), KIND)
            for found in self.pattern.finditer(text)
            if found.end() > found.start()
        ]

    def _written(self, text: str) -> list[Secret]:
        """Return where one of the known values stands, in whatever form, in order."""
        raw = text.encode("utf-8", "surrogatepass")
        spans: list[Secret] = []
        for needle in self._known_needles().within(raw):
            form = needle.decode("utf-8", "surrogatepass")
            if form not in self._forms:
                continue
            kind, encoded = self._forms[form]
            at = text.find(form)
            while at >= 0:
                start, end = at, at + len(form)
                if encoded:
                    # All that was encoded with it: a part of it could still be read.
                    start -= _length_of_base64(text[max(0, at - _AROUND) : at][::-1])
                    end += _length_of_base64(text[end : end + _AROUND])
                spans.append(Secret(start, end, kind))
                at = text.find(form, end)
        spans += self._cut_off(text)
        return sorted(spans, key=lambda secret: (secret.start, -secret.end))

    def _cut_off(self, text: str) -> Iterator[Secret]:
        """Yield what is left of a value where a text was cut, as the beginning of a question is."""
        whole = text.rstrip(_FRAME)
        for value in self._cut:
            at = whole.rfind(value[:_BEGINNING])
            if at >= 0 and len(whole) - at < len(value) and value.startswith(whole[at:]):
                yield Secret(at, len(whole), self.values[value])

    def _known_needles(self) -> Needles:
        """Return the forms in which a known value may stand in a text."""
        if self._known < len(self.values):
            for value, kind in list(self.values.items())[self._known :]:
                encoded = base64_forms(value)
                forms = written_forms(value)
                if _is_random(value):
                    # Names of things are compared in small letters; of what is cut, the beginning is left.
                    forms.add(value.lower())
                    self._cut.append(value)
                for form in forms:
                    self._forms.setdefault(form, (kind, form in encoded))
            self._known = len(self.values)
            beginnings = {value[:_BEGINNING] for value in self._cut if len(value) > _BEGINNING}
            self._needles = Needles(
                form.encode("utf-8", "surrogatepass") for form in beginnings | set(self._forms)
            )
        return self._needles


def scrub_target(
    pattern: str | None, redactor: Redactor, *, regex: bool = False, force: bool = False
) -> ScrubTarget:
    """Return what a person wants to go; None are all secrets.

    Raises UsageError for a pattern that is too short, empty or no regular expression.
    """
    # Somebody asked for it, also where the settings say that secrets are stored.
    redactor = replace(redactor, stored=False)
    if pattern is None:
        return ScrubTarget(redactor, secrets=True)
    if not pattern.strip():
        raise UsageError("the pattern is empty", hint="leave it out to remove all known secrets")
    if regex:
        try:
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(
                f"the pattern is no regular expression: {error}", hint="leave --regex out"
            ) from error
        return ScrubTarget(redactor, pattern=compiled)
    if len(pattern) < MIN_PATTERN and not force:
        raise UsageError(
            f"the pattern has fewer than {MIN_PATTERN} characters, and so few stand in many words",
            hint=f"give {MIN_PATTERN} or more; docs/scrub.md tells of shorter ones",
        )
    whole = [one for one in redactor.find(pattern) if (one.start, one.end) == (0, len(pattern))]
    return ScrubTarget(redactor, values={pattern: whole[0].kind if whole else KIND})


def _is_random(value: str) -> bool:
    """Tell whether a value is no word, so that it means the same in small letters and nothing else does."""
    return len(value) >= MIN_VALUE and any(map(str.isdigit, value)) and not any(map(str.isspace, value))


def _length_of_base64(text: str) -> int:
    found = _BASE64.match(text)
    return found.end() if found else 0
