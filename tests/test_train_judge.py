"""The trainer of the judge, on snippets made here."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import train_judge

KEPT = "The {} failed because `pull_{}()` returns before the rope is tight. Fixed by a wait in `winch.py`."
WORTHLESS = "Great, thanks so much! I will look at the {} and run it again, one moment please ({})."


def snippets(count=40):
    for n in range(count):
        tier = ("ingest", "discard")[n % 2]
        yield {
            "text": (KEPT, WORTHLESS)[n % 2].format(("winch", "crane", "quay")[n % 3], n),
            "repo": f"team/{n % 8}",
            "kind": ("memory", "transcripts")[n % 2],
            "role": (None, "assistant")[n % 2],
            "tier": tier,
            "alt_tier": "summarize" if n % 5 == 0 else None,
            "content_type": ("error", "general")[n % 2],
            "knowledge_category": ("error_solution", "none")[n % 2],
            "protected": False,
        }


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr(train_judge, "WORD_REPOSITORIES", 4)
    return train_judge.prepare(list(snippets()))


def test_weights_tell_repositories_that_they_were_not_trained_on(data):
    trained = data.repositories < "team/6"
    found = train_judge.predict(data, ~trained, *train_judge.fit(data, trained))
    assert (found["tier"].argmax(1) == data.label("tier")[~trained]).all()
    assert np.allclose(found["tier"].sum(axis=1), 1)


def test_the_same_snippets_give_the_same_weights(data):
    everything = np.ones(len(data.snippets), bool)
    first, second = train_judge.fit(data, everything), train_judge.fit(data, everything)
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


def test_the_file_holds_weights_and_no_text(tmp_path, monkeypatch):
    for name in ("train.jsonl", "chats.jsonl"):
        lines = [json.dumps(one) for one in snippets()]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(train_judge, "WEIGHTS", tmp_path / "judge.json")
    monkeypatch.setattr(sys, "argv", ["train_judge.py", str(tmp_path)])
    train_judge.main()
    document = json.loads((tmp_path / "judge.json").read_text())
    assert document["snippets"] == 80
    assert all(
        name.split(" ")[0] in {"form", "cue", "source", "role", "word"} for name in document["weights"]
    )
    assert "pull_" not in (tmp_path / "judge.json").read_text()
