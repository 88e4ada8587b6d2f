"""The samples are modules of this folder that several tests share: `from sample import Sample`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
