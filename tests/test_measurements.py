"""Tables of figures say by themselves when they are older than the code; README has no figure of them."""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "scripts"), str(ROOT / "benchmarks")]

from fingerprint import fingerprint  # noqa: E402
from generating.measurements import marked, pages, tables  # noqa: E402
from peer_tools.corpus import NAMED, PLAIN  # noqa: E402

from ragmem.domain.entities.extraction import extract  # noqa: E402
from ragmem.domain.secrets.redaction import DEFAULT  # noqa: E402
from ragmem.domain.text.chunking import chunk  # noqa: E402


def test_every_table_of_a_benchmark_names_its_script_and_the_code_that_it_measured():
    records = [
        re.search(r"measured by benchmarks/(\w+)\.py of code \w+", found["body"])
        for page in pages()
        for found in tables((ROOT / page).read_text(encoding="utf-8"))
    ]
    assert len(records) > 20
    assert all(record and (ROOT / f"benchmarks/{record[1]}.py").is_file() for record in records)


def test_a_table_without_a_fingerprint_or_of_other_code_is_marked_once_and_a_fresh_one_is_not():
    def page(code):
        record = f"<!-- measured by benchmarks/routing.py of code {code} -->\n" if code else ""
        table = f"| x |\n\n_Measured then; commit abc1234._\n{record}"
        return f"a\n<!-- BEGIN routing -->\n{table}<!-- END routing -->\nb\n"

    fresh = page(fingerprint("routing"))
    assert marked(fresh) == fresh
    for code in ("", "0123456789ab"):
        old = marked(page(code))
        assert (
            "> Older than the code: measured at abc1234; run `python benchmarks/routing.py` to update it."
            in old
        )
        assert marked(old) == old


def test_a_fingerprint_changes_with_what_the_code_does_and_not_with_what_it_says(tmp_path):
    for name in ("benchmarks", "ragmem"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.bin", "static", "__pycache__")
        )
    before = fingerprint("routing", tmp_path)
    read = tmp_path / "ragmem/domain/retrieval/routing_cues.py"
    other = tmp_path / "ragmem/readers/dates.py"
    other.write_text(other.read_text() + "\nOTHER = 1\n")
    assert fingerprint("routing", tmp_path) == before
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "benchmarks", copy / "benchmarks")
    shutil.copytree(tmp_path / "ragmem", copy / "ragmem")
    said = copy / "ragmem/domain/retrieval/routing_cues.py"
    said.write_text("# a comment\n" + said.read_text())
    assert fingerprint("routing", copy) == before
    said.write_text(said.read_text() + "\nMORE = 1\n")
    assert fingerprint("routing", copy) != before
    assert read.is_file()


def test_readme_has_no_figure_of_a_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = text[text.index("## Benchmarks") :].partition("\n## ")[0]
    assert not re.search(r"\d(?:\.\d+)? ?(?:ms|s|MB|%)(?!\w)|recall@\d", measured)


MEASURED = re.compile(
    r"\d[\d.]* times (?:faster|slower|less|more|fewer|as (?:fast|slow|long))"
    r"|\d ?(?:ms|s|seconds|MB) of (?:the |a )?(?:processor|CPU)|\d ?(?:MB|kB) a second"
    r"|\b(?:takes?|took|costs?) (?:some |about )?\d[\d.,]*(?: to \d[\d.,]*)? ?(?:ms|s|seconds)\b"
    r"|(?:recall@\d+|hit@\d+|NDCG@10|MRR|F1) (?:of |rises to |falls to )?0?\.\d\d"
)
LIMITS = ("recall@10 .98", "hit@1 .80", "hit@5 .96")
"""Goals of docs/benchmarks.md."""


def test_a_measured_figure_stands_in_a_table_that_tells_its_age_and_not_in_prose():
    found = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        for table in reversed(list(tables(text))):
            text = text[: table.start()] + text[table.end() :]
        prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        said = (one[0] for one in MEASURED.finditer(prose))
        found += [f"{path.name}: {one}" for one in said if one not in LIMITS]
    assert found == []


def test_the_further_memories_that_tools_store_have_names_or_none_as_their_column_says():
    def names(text):
        return [
            entity for one in chunk(text, memory_id="m", redactor=DEFAULT) for entity in extract(one).entities
        ]

    assert len(PLAIN) == len(NAMED)
    assert [text for _, text in PLAIN if names(text)] == []
    assert [text for _, text in NAMED if len(names(text)) < 3] == []
