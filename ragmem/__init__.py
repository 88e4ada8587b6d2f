"""ragmem: memory for AI coding assistants, on the user's own machine."""

# A literal on purpose: importlib.metadata would cost every start some 60 ms.
__version__ = "0.1.0"

TYPE_CHECKING = False
"""Type checkers treat it as true. `typing.TYPE_CHECKING` would cost every start the import of `typing`."""

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
else:

    def __getattr__(name: str) -> object:
        """Import the API on first use, so that `import ragmem` stays cheap."""
        if name != "Ragmem":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ragmem.api.memory import Ragmem  # noqa: PLC0415 - loaded on first use

        return Ragmem


__all__ = ["Ragmem", "__version__"]
