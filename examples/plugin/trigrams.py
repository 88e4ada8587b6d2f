"""A back end in one file: vectors counted from letters, and a store in one table."""

import zlib

import numpy as np

from ragmem.backends.simple_store import SimpleStore, entry_from_json
from ragmem.storage.sql.migrations import table_exists


class Trigrams:
    model_id, dimensions, language_model = "trigrams-1", 512, None

    @property
    def embedder(self):
        return self  # one object does both where nothing has to be loaded

    def embed(self, texts, *, role):
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            letters = f"  {text.lower()} ".encode("utf-8", "replace")
            for n in range(len(letters) - 2):
                row[zlib.crc32(letters[n : n + 3]) % self.dimensions] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def check(self):
        return []  # there are no files that could be wrong

    def close(self): ...


class TableStore(SimpleStore):
    name = "trigrams"

    def __init__(self, models, database):
        super().__init__(models)
        self.database = database

    def write(self, entries, *, remove, finish):
        with self.database.write() as connection:  # one transaction, also for what finish() writes
            connection.execute("CREATE TABLE IF NOT EXISTS trigrams (n INTEGER PRIMARY KEY, memory, entry)")
            connection.executemany("DELETE FROM trigrams WHERE memory = ?", [(one,) for one in remove])
            rows = [(one.memory_id, one.to_json()) for one in entries]
            connection.executemany("INSERT INTO trigrams (memory, entry) VALUES (?, ?)", rows)
            if finish:
                finish()

    def entries(self):
        if not self.database.exists():
            return []
        with self.database.read() as connection:
            if not table_exists(self.database, connection, "trigrams"):
                return []
            rows = connection.execute("SELECT entry FROM trigrams ORDER BY n").fetchall()
        return [entry_from_json(text) for (text,) in rows]


def open_models(options):
    return Trigrams()


def open_store(options, models, *, database):
    return TableStore(models, database)
