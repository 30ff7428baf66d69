"""Finds the modules of this side. Each folder holds what one kind of process runs; a file is imported by its
own name, as operator files import `implementation`.

All folders are one entry of sys.path, whose modules are listed once: an entry for each folder would be
searched for every import of torch's.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec

BRIDGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = tuple(os.path.join(BRIDGE, name) for name in (
    "worker", "operators", "interpreter", "user_files", "peers", "truth", "problems"))


class _Modules:
    """What sys.path_hooks gives for the entry."""

    def __init__(self, path: str):
        if path != BRIDGE:
            raise ImportError(path)
        self.files = {name.removesuffix(".py"): os.path.join(folder, name)
                      for folder in FOLDERS if os.path.isdir(folder)
                      for name in os.listdir(folder) if name.endswith(".py")}

    def find_spec(self, name: str, target: object = None) -> ModuleSpec | None:
        file = self.files.get(name)
        return importlib.util.spec_from_file_location(name, file) if file else None


sys.path_hooks.insert(0, _Modules)
sys.path_importer_cache.pop(BRIDGE, None)
if BRIDGE not in sys.path:  # a process that multiprocessing spawns begins with its parent's
    sys.path.insert(1, BRIDGE)
