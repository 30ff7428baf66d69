"""Peers: public kernels of other projects, whose rows stand beside triad's own (`triad setup --peers`), and
cuTile, in which some of triad's own rows are written (`triad setup --cutile`). Nothing needs them."""

from __future__ import annotations

import functools
import importlib.util
import os
import site
import sys
from importlib import metadata

PEERS = {"liger": "liger-kernel", "quack": "quack-kernels", "fa4": "flash-attn-4",
         "torchao": "torchao"}
"""What each family of rows is installed as."""

CUTILE = "cutile"
"""The family of the rows in cuTile, which are triad's own: only the package is somebody else's."""


class CutileFailed(Exception):
    """A row in cuTile was not compiled, raised by its file. The worker reports `status` instead of CRASH."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status


@functools.cache
def reach() -> None:
    """Puts the folder that `triad setup --peers` made behind everything else on the path: what the
    interpreter has itself comes first. The folder of cuTile comes before all: its compiler is looked for in
    the first folder nvidia/cu13, and torch has one of those."""
    if folder := os.environ.get("TRIAD_CUTILE"):
        sys.path.insert(0, folder)
    if folder := os.environ.get("TRIAD_PEERS"):
        site.addsitedir(folder)


def missing(family: str, module: str, on_gpu: bool) -> str:
    """Why the rows of a peer that import a module are not here, "" where they are. Nothing of the peer is
    imported."""
    if not on_gpu:
        return f"the rows of {family} need a GPU"
    reach()
    try:
        found = importlib.util.find_spec(module)
    except ImportError:  # of a package around it
        found = None
    if found:
        return ""
    if family == CUTILE:
        return "cuda-tile is not installed: triad setup --cutile"
    return f"{PEERS[family]} is not installed: triad setup --peers"


def versions() -> dict[str, str]:
    """The versions of the peers, of cuTile and of its compiler that are installed."""
    reach()
    found = {}
    for name in (*PEERS.values(), "cuda-tile", "nvidia-cuda-tileiras"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
