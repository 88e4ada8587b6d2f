"""The trainer of the pair model, on pairs made here."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import train_pairs

CHANGED = ("The crane of the {} quay lifts {} tons.", "The crane of the {} quay lifts {} tons.")
OTHER = ("The lamp of the {} gate burns oil ({}).", "Nobody of the {} crew reads the old map ({}).")
QUAYS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel")


def pairs(count=80):
    for n in range(count):
        older, newer = (CHANGED, OTHER)[n % 2]
        quay = QUAYS[n % 8 // 2 + n // 40 * 4]
        yield {
            "older": older.format(quay, 100 + n),
            "newer": newer.format(quay, 200 + n),
            "repo": f"team/{quay}",
            "relation": ("supersedes", "distinct")[n % 2],
        }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, pairs())), encoding="utf-8")
    notes = tmp_path / "notes"
    notes.mkdir()
    items = [f"- The buoy {name} is checked by the master of the quay each spring." for name in QUAYS]
    (notes / "a.md").write_text("# Buoys\n\n" + "\n".join(items), encoding="utf-8")
    (notes / "MANIFEST.tsv").write_text("file\trepo\na.md\tteam/notes\n", encoding="utf-8")
    return tmp_path


def test_weights_tell_repositories_that_they_were_not_trained_on(folder):
    data = train_pairs.read(folder)
    everything = np.ones(len(data.pairs), bool)
    answers = train_pairs.cross_validate(data, everything, 0)
    assert (answers.argmax(1) == data.relation).all()
    folds = train_pairs.deal(data, everything, 0)
    assert all(len(set(folds[data.repositories == name])) == 1 for name in set(data.repositories))


def test_neighbours_in_a_document_are_distinct_pairs_of_little_weight(folder):
    data = train_pairs.read(folder, folder / "notes")
    near = ~data.labelled
    assert near.sum() == train_pairs.FOR_EACH_DOCUMENT
    assert data.weight[near].sum() == pytest.approx(train_pairs.NEIGHBOURS)
    assert (data.relation[near] == train_pairs.DISTINCT).all()


def test_the_file_holds_weights_and_no_text_and_the_same_pairs_give_the_same_bytes(folder, monkeypatch):
    path = folder / "pair_model.json"
    monkeypatch.setattr(train_pairs, "WEIGHTS", path)
    monkeypatch.setattr(sys, "argv", ["train_pairs.py", str(folder), str(folder / "notes")])
    train_pairs.main()
    first = path.read_bytes()
    train_pairs.main()
    assert path.read_bytes() == first
    document = json.loads(first)
    assert (document["pairs"], document["neighbours"]) == (80, train_pairs.FOR_EACH_DOCUMENT)
    assert not any(quay in first.decode() for quay in QUAYS)
