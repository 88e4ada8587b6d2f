"""The files of the bundled model and their checksums."""

import hashlib
from pathlib import Path

CHECKSUMS = {
    "minilm.safetensors": "ed18bc41bd6c5950d0192c9b5124e7353f307d7da9ffd89ce786dc7fec851054",
    "minilm.onnx": "ce20ae05636c880882cd48e87f801aefc73a7ea9758f339b91d17abf19761709",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of each file. New weights or a new vocabulary need a new MODEL_ID; a new graph does not."""


def problems(folder: Path) -> list[str]:
    """Return the problems of the files in a folder, one line each; reads all of them (23 MB)."""
    found = []
    for name, expected in CHECKSUMS.items():
        path = folder / name
        try:
            with path.open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            found.append(f'"{path}" is missing')
        except OSError as error:
            found.append(f'"{path}" cannot be read: {(error.strerror or str(error)).lower()}')
        else:
            if actual != expected:
                found.append(f'"{path}" is not as it was shipped ({path.stat().st_size:,} bytes)')
    return found
