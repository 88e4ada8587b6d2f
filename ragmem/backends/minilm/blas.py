"""The library below the engines: numpy's BLAS with one thread.

Texts are spread over Python threads, and two levels of threads collide: on two busy cores
two BLAS threads gave 970 tokens/s where one gave 2,400.
"""

import ctypes
import functools
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@functools.cache
def import_numpy() -> ModuleType:
    """Import numpy with one BLAS thread, unless the environment sets the number.

    The first call does the work. The variables are set for the import only, so that child processes do not
    inherit them. If numpy was imported before, the OpenBLAS inside numpy's wheels is set directly; another
    BLAS keeps its threads.
    """
    if os.environ.keys() & set(_VARIABLES):
        import numpy as np

        return np
    if "numpy" in sys.modules:
        import numpy as np

        _limit_bundled_openblas(Path(np.__file__).parent)
        return np
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        import numpy as np
    finally:
        for name in _VARIABLES:
            os.environ.pop(name, None)
    return np


def _limit_bundled_openblas(package: Path) -> None:
    """Set the number of threads of the OpenBLAS in numpy's wheels; other builds have none."""
    folders = (package.parent / "numpy.libs", package / ".dylibs")
    for path in (path for folder in folders for path in folder.glob("*openblas*")):
        # The library is loaded already, so this only finds it; the symbol's name depends on its build.
        with suppress(OSError):
            library = ctypes.CDLL(str(path))
            for symbol in ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"):
                if hasattr(library, symbol):
                    getattr(library, symbol)(1)
                    return
