"""Compare the pure-Python WordPiece with the compiled reference: equal ids, and tokens per second."""

import random
import time

import common
from inputs.real_texts import SEED, paragraphs
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as ReferenceWordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from ragmem.backends.minilm.embedder import FOLDER
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary

TEXTS = 10_000
QUICK_TEXTS = 1_000


def reference_tokenizer(vocabulary: list[str]) -> Tokenizer:
    """Return BERT's uncased tokenizer as the `tokenizers` library has it."""
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(ReferenceWordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def main() -> int:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument("--texts", type=int, help=f"how many texts are compared ({TEXTS:,})")
    options = parser.parse_args()
    about = common.machine()
    texts = paragraphs(options.data)
    count = options.texts or (QUICK_TEXTS if options.quick else TEXTS)
    texts = random.Random(SEED).sample(texts, min(count, len(texts)))

    started = time.perf_counter()
    ours = WordPiece(read_vocabulary(FOLDER / "vocab.txt"))
    loaded = time.perf_counter() - started
    theirs = reference_tokenizer(read_vocabulary(FOLDER / "vocab.txt"))
    results = {}
    for name, encode in {
        "python, cold": ours.pieces,
        "python, warm": ours.pieces,
        "tokenizers": lambda text: theirs.encode(text, add_special_tokens=False).ids,
    }.items():
        started = time.thread_time()
        ids = [encode(text) for text in texts]
        results[name] = {"ids": ids, "seconds": time.thread_time() - started}
    expected = results["tokenizers"]["ids"]
    tokens = sum(map(len, expected))
    different = [i for i, ids in enumerate(results["python, cold"]["ids"]) if ids != expected[i]]
    for place in different[:10]:
        common.tell(f"different: {texts[place][:200]!r}")
    speeds = {name: tokens / result["seconds"] for name, result in results.items()}
    document = {
        "benchmark": "tokenizer_parity",
        "machine": about,
        "texts": len(texts),
        "tokens": tokens,
        "mismatches": len(different),
        "load_seconds": loaded,
        "tokens_per_second": speeds,
    }
    rows = [[name, f"{len(texts):,}", f"{tokens:,}", f"{speed:,.0f}"] for name, speed in speeds.items()]
    notes = [f"mismatches={len(different)} of {len(texts):,} texts", f"vocabulary loaded in {loaded:.3f} s"]
    headers = ["tokenizer", "texts", "tokens", "tokens per CPU-second"]
    common.report("tokenizer_parity", document, headers, rows, options=options, notes=notes)
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
