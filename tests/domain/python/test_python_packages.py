"""Imports and bases of real packages, as Python itself sees them when it imports them.

Counted are the imports within the package that ran while all its modules were imported (not those for type
checkers, nor in functions that nobody called, nor below `if __name__ == "__main__"`), and the bases of all
classes that inspect finds in the source. Classes made by a call have no source.
"""

import pytest
from python_packages import compared, recall


@pytest.mark.parametrize("package", ["pathspec", "typer"])
@pytest.mark.slow
def test_imports_and_bases_are_those_that_python_sees(package):
    found = compared(package)
    assert len(found.imports_seen) > 50
    assert len(found.bases_seen) > 15
    assert recall(found.imports_seen, found.imports_found) >= 0.95
    assert recall(found.imports_found, found.imports_seen) >= 0.95
    assert found.bases_found == found.bases_seen
