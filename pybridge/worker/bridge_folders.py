"""Puts the folders of this side on sys.path. Each holds what one kind of process runs; a file is imported by
its own name, as operator files import `implementation`."""

from __future__ import annotations

import os
import sys

BRIDGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = tuple(os.path.join(BRIDGE, name) for name in (
    "worker", "operators", "interpreter", "user_files", "peers", "truth", "problems"))

for _path in FOLDERS:
    if _path not in sys.path:
        sys.path.insert(1, _path)
