"""`python3 tests/standins TOOL ARGUMENT…` runs a call of a fake, `python3 tests/standins` serves calls."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from standins import calls  # noqa: E402

sys.exit(calls.run(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else calls.serve())
