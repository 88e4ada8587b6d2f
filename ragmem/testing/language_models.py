"""The contract of language models."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ragmem.errors import BackendError
from ragmem.ports import Call, CompletesMany, LanguageModel, Models, Purpose, Streams


class RecordingMeter:
    """Records all calls; with `refuses`, it admits none."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.admitted: list[Purpose] = []
        self.calls: list[Call] = []

    def admit(self, purpose: Purpose) -> None:
        """Record the purpose; raise BackendError if the meter refuses."""
        if self.refuses:
            raise BackendError("the daily cap is reached", hint="wait until tomorrow")
        self.admitted.append(purpose)

    def record(self, call: Call) -> None:
        """Record the call."""
        self.calls.append(call)


class LanguageModelContract:
    """The contract of a language model; override `open_models`.

    No test checks the content: a model with random weights passes.
    """

    SYSTEM = "Answer in few words."
    PROMPTS = ("Name a colour.", "naïve café: déjà vu 東京 🙂", "What is 2 + 2?\n\nShow it.\n" * 8)
    SCHEMA: Mapping[str, Any] = {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green"]}, "sure": {"type": "boolean"}},
        "required": ["colour", "sure"],
        "additionalProperties": False,
    }
    MAX_TOKENS = 64
    """Most tokens of an answer with the schema."""
    BRIEF = 16
    """Most tokens of any other answer."""
    LONGEST_TOKEN = 256
    """Most characters of one token."""

    def open_models(self, options: Mapping[str, object]) -> Models:
        """Return the models under test, with a language model.

        Pass the options (a meter or a purpose) on, together with those that choose the model.
        """
        raise NotImplementedError

    @contextlib.contextmanager
    def _open_model(self, **options: object) -> Iterator[LanguageModel]:
        models = self.open_models(options)
        try:
            assert models.check() == []
            model = models.language_model
            assert model is not None
            yield model
        finally:
            models.close()
            models.close()

    def _complete(self, model: LanguageModel, prompt: str) -> str:
        return model.complete(prompt, system=self.SYSTEM, max_tokens=self.BRIEF)

    def test_an_answer_is_text(self) -> None:
        """Whatever the prompt, with or without a system prompt."""
        with self._open_model() as model:
            for prompt in self.PROMPTS:
                assert isinstance(self._complete(model, prompt), str)
            assert isinstance(model.complete(self.PROMPTS[0], max_tokens=self.BRIEF), str)

    def test_the_same_prompt_gets_the_same_answer(self) -> None:
        """Also after other prompts."""
        with self._open_model() as model:
            before = [self._complete(model, prompt) for prompt in self.PROMPTS]
            assert [self._complete(model, prompt) for prompt in self.PROMPTS] == before

    def test_with_a_schema_the_answer_is_json_that_satisfies_it(self) -> None:
        """The schema is small enough for any model with constrained output."""
        with self._open_model() as model:
            for prompt in self.PROMPTS:
                answer = json.loads(
                    model.complete(
                        prompt, system=self.SYSTEM, max_tokens=self.MAX_TOKENS, json_schema=self.SCHEMA
                    )
                )
                assert set(answer) == {"colour", "sure"}
                assert answer["colour"] in {"red", "green"}
                assert isinstance(answer["sure"], bool)

    def test_an_empty_prompt_gets_text_or_is_refused(self) -> None:
        """Providers differ; another kind of failure would stop the caller."""
        with self._open_model() as model, contextlib.suppress(BackendError):
            assert isinstance(self._complete(model, ""), str)

    def test_a_prompt_longer_than_any_window_gets_text_or_is_refused(self) -> None:
        """And the next one gets its answer."""
        with self._open_model() as model:
            with contextlib.suppress(BackendError):
                assert isinstance(self._complete(model, "word " * 50_000), str)
            assert isinstance(self._complete(model, self.PROMPTS[0]), str)

    def test_an_answer_has_no_more_tokens_than_asked_for(self) -> None:
        """An endless answer would cost without limit."""
        meter = RecordingMeter()
        with self._open_model(meter=meter) as model:
            answer = model.complete(self.PROMPTS[0], system=self.SYSTEM, max_tokens=2)
            assert len(answer) <= 2 * self.LONGEST_TOKEN
            assert meter.calls[-1].tokens_out <= 2

    def test_threads_may_ask_at_once(self) -> None:
        """Each gets the answer to its own prompt."""
        with self._open_model() as model:
            expected = [self._complete(model, prompt) for prompt in self.PROMPTS]
            with ThreadPoolExecutor(len(self.PROMPTS)) as pool:
                found = list(pool.map(lambda prompt: self._complete(model, prompt), self.PROMPTS))
            assert found == expected

    def test_each_answer_is_counted(self) -> None:
        """Admitted once and recorded once, with model, purpose, tokens and time."""
        meter = RecordingMeter()
        with self._open_model(meter=meter, purpose="answer") as model:
            for prompt in self.PROMPTS[:2]:
                self._complete(model, prompt)
            assert meter.admitted == ["answer", "answer"]
            assert len(meter.calls) == 2
            for call in meter.calls:
                assert call.backend
                assert call.model == model.model_id
                assert call.purpose == "answer"
                assert call.tokens_in > 0
                assert 0 <= call.tokens_out <= self.BRIEF
                assert call.seconds >= 0
                assert call.error == ""

    def test_nothing_is_asked_beyond_the_cap(self) -> None:
        """The error of the meter reaches the caller, and nothing was spent."""
        meter = RecordingMeter(refuses=True)
        with self._open_model(meter=meter) as model:
            complaint = ""
            try:
                self._complete(model, self.PROMPTS[0])
            except BackendError as error:
                complaint = str(error)
            assert "cap" in complaint
            assert meter.calls == []

    def test_the_model_says_who_it_is(self) -> None:
        """Before it has loaded or answered, and the same afterwards."""
        with self._open_model() as model:
            before = model.model_id
            self._complete(model, self.PROMPTS[0])
            assert before == model.model_id != ""

    def test_the_parts_of_a_stream_are_those_of_the_answer(self) -> None:
        """For a model that streams: counted once, and an abandoned stream does not affect the next call."""
        meter = RecordingMeter()
        with self._open_model(meter=meter) as model:
            if not isinstance(model, Streams):
                return
            # The server may refuse a field of the first request, which is then sent again.
            list(model.stream(self.PROMPTS[0], system=self.SYSTEM, max_tokens=self.BRIEF))
            for prompt in self.PROMPTS:
                meter.calls.clear()
                parts = list(model.stream(prompt, system=self.SYSTEM, max_tokens=self.BRIEF))
                assert len(meter.calls) == 1
                assert "".join(parts) == self._complete(model, prompt)
            given_up = model.stream(self.PROMPTS[0], system=self.SYSTEM, max_tokens=self.BRIEF)
            next(given_up, None)
            given_up.close()  # type: ignore[attr-defined]
            assert isinstance(self._complete(model, self.PROMPTS[0]), str)

    def test_many_at_once_are_answered_as_one_by_one(self) -> None:
        """For a model that supports it: in order, each counted; no prompts give no answers."""
        meter = RecordingMeter()
        with self._open_model(meter=meter) as model:
            if not isinstance(model, CompletesMany):
                return
            singly = [self._complete(model, prompt) for prompt in self.PROMPTS]
            meter.calls.clear()
            many = model.complete_many(self.PROMPTS, system=self.SYSTEM, max_tokens=self.BRIEF)
            assert many == singly
            assert len(meter.calls) == len(self.PROMPTS)
            assert model.complete_many([]) == []
