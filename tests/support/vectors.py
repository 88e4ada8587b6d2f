"""What tests ask of vectors."""

import numpy as np

TEXTS = ["a full disk", "", "the server failed because the disk of the deployment was full", "x"]


def documents(embedder, texts=TEXTS):
    """Return the vectors of texts in the role of documents."""
    return embedder.embed(texts, role="document")


def gap(one, other):
    """Return the largest difference between two arrays of vectors."""
    return float(np.abs(one - other).max())
