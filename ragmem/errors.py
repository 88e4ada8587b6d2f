"""The error tree: each error carries its exit code and a hint that names the next step.

| code | meaning                                                             |
|------|---------------------------------------------------------------------|
| 0    | done; `query` found something                                       |
| 1    | ran well, the answer is no: nothing found, `--check` would change   |
| 2    | usage or configuration error                                        |
| 3    | the operation failed, or finished with some inputs unread           |
| 4    | a backend is missing or cannot load                                 |
| 5    | the store is busy: another process writes, try again                |
| 6    | the store is damaged                                                |
| 70   | a bug in ragmem: the traceback was saved, its path is printed       |
| 130  | interrupted                                                         |
"""

EXIT_OK = 0
EXIT_NO = 1
EXIT_USAGE = 2
EXIT_FAILED = 3
EXIT_BACKEND = 4
EXIT_BUSY = 5
EXIT_DAMAGED = 6
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


class RagmemError(Exception):
    """The operation failed (exit code 3); the message is one line, lower case, without full stop."""

    exit_code: int = EXIT_FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def full_message(self) -> str:
        """The message and the hint in one line, for a note in the report of a partial success."""
        return f"{self}; {self.hint}" if self.hint else str(self)


class UsageError(RagmemError):
    """The command line or the request cannot be carried out as given (exit code 2)."""

    exit_code = EXIT_USAGE


class ConfigError(UsageError):
    """A configuration file or variable is wrong; the message names file, line and key (exit code 2)."""


class NotFoundError(UsageError):
    """A source, memory or entity does not exist (exit code 2)."""


class ConflictError(UsageError):
    """The request conflicts with the present state (exit code 2)."""


class ForbiddenError(UsageError):
    """The role or the scope of the member who asks does not allow it (exit code 2)."""


class SourceError(RagmemError):
    """A file could not be read as a source; the message names the file (exit code 3)."""


class LimitReachedError(RagmemError):
    """A bounded queue, such as the inbox of an agent, is full; try again later (exit code 3)."""


class StorageError(RagmemError):
    """The home cannot be written: full disk, read-only folder, missing permission (exit code 3)."""


class OlderSchemaError(StorageError):
    """The home has the tables of an older ragmem and cannot be written to migrate them (exit code 3)."""


class RejectionError(StorageError):
    """The database rejects one text, but accepts others (exit code 3)."""


class BackendError(RagmemError):
    """A backend is not installed or its model cannot load (exit code 4)."""

    exit_code = EXIT_BACKEND


class TextRejectionError(BackendError):
    """The model rejects one text, but accepts others (exit code 4)."""


class StoreBusyError(RagmemError):
    """Another process kept the write lock longer than we wait (exit code 5)."""

    exit_code = EXIT_BUSY


class StoreDamagedError(RagmemError):
    """The database cannot be read, or was written by a newer ragmem (exit code 6)."""

    exit_code = EXIT_DAMAGED


def os_reason(error: OSError) -> str:
    """Return why the operating system refused, in lower case."""
    return (error.strerror or str(error)).lower()


class os_errors_as:  # noqa: N801 - it reads like `suppress`
    """A block whose OSError becomes an error of ragmem: `cannot write "a": no space left on device`."""

    def __init__(self, error: type[RagmemError], action: str, *, hint: str = "") -> None:
        self._error = error
        self._action = action
        self._hint = hint

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, OSError):
            raise self._error(f"cannot {self._action}: {os_reason(error)}", hint=self._hint) from error
