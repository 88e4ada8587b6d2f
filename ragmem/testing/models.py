"""The contract of models with an embedder."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ragmem.ports import Embedder, Models


class ModelsContract:
    """The contract of models; override `open_models`."""

    TEXTS = (
        "the deployment failed because the disk was full",
        "deployment fails when a disk is full",
        "a recipe for bread with sourdough",
        "",
        "x",
        "naïve café: déjà vu 東京 🙂",
    )

    DAMAGED = ("a\x00b", "\ud83d", "x \udfff\ud800", "\x1b[2J")

    def open_models(self) -> Models:
        """Return the models under test."""
        raise NotImplementedError

    @contextlib.contextmanager
    def _embedder(self) -> Iterator[Embedder]:
        models = self.open_models()
        try:
            yield models.embedder
        finally:
            models.close()
            models.close()

    def test_rows_have_unit_length(self) -> None:
        """Whatever the text, in both roles."""
        with self._embedder() as embedder:
            for role in ("document", "query"):
                rows = embedder.embed(self.TEXTS, role=role)
                assert rows.shape == (len(self.TEXTS), embedder.dimensions)
                assert rows.dtype == np.float32
                assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_no_text_gives_no_row(self) -> None:
        """The array still has its width."""
        with self._embedder() as embedder:
            assert embedder.embed([], role="document").shape == (0, embedder.dimensions)

    def test_a_vector_does_not_depend_on_the_other_texts(self) -> None:
        """A text alone, first or last in a batch: the same vector."""
        with self._embedder() as embedder:
            batch = embedder.embed(self.TEXTS, role="document")
            reverse = embedder.embed(self.TEXTS[::-1], role="document")[::-1]
            assert np.allclose(batch, reverse, atol=1e-4)
            for text, row in zip(self.TEXTS, batch, strict=True):
                assert np.allclose(embedder.embed([text], role="document")[0], row, atol=1e-4)

    def test_related_texts_are_nearer_than_others(self) -> None:
        """An embedder must reflect meaning."""
        with self._embedder() as embedder:
            one, other, bread = embedder.embed(self.TEXTS[:3], role="document")
            assert one @ other > one @ bread

    def test_what_is_no_text_has_a_vector_and_changes_no_other(self) -> None:
        """Damaged files contain NUL, control characters and lone surrogates; other texts are unaffected."""
        with self._embedder() as embedder:
            rows = embedder.embed([*self.DAMAGED, self.TEXTS[0]], role="document")
            assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)
            (alone,) = embedder.embed(self.TEXTS[:1], role="document")
            assert np.allclose(rows[-1], alone, atol=1e-4)

    def test_a_long_text_is_taken(self) -> None:
        """Cut off or not, it gives one row."""
        with self._embedder() as embedder:
            assert embedder.embed(["word " * 20_000], role="document").shape == (1, embedder.dimensions)

    def test_threads_get_the_same_vectors(self) -> None:
        """Several threads may embed at once."""
        with self._embedder() as embedder:
            expected = embedder.embed(self.TEXTS, role="document")
            with ThreadPoolExecutor(3) as pool:
                found = list(pool.map(lambda _: embedder.embed(self.TEXTS, role="document"), range(3)))
            assert all(np.allclose(rows, expected, atol=1e-4) for rows in found)

    def test_the_model_says_who_it_is(self) -> None:
        """Its id keeps vectors of different models apart."""
        with self._embedder() as embedder:
            assert embedder.model_id
            assert embedder.dimensions > 0

    def test_models_that_answer_report_nothing(self) -> None:
        """Problems of the files are reported before they are used."""
        models = self.open_models()
        assert models.check() == []
        models.close()
