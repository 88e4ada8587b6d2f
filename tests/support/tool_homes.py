"""A memory that tools are called on, opened in a project of its own."""

from pathlib import Path

from ragmem.api.memory import Ragmem

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
REAL = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}


def opened(home: Path, environ: dict[str, str] | None = None) -> Ragmem:
    """Return a memory below a folder, opened in the project `harbour` there."""
    harbour = home / "harbour"
    harbour.mkdir(exist_ok=True)
    (harbour / ".ragmem.toml").touch()
    environ = {"RAGMEM_HOME": str(home / "ragmem"), **(environ or FAKE)}
    return Ragmem.open(environ=environ, home=home, cwd=harbour)
