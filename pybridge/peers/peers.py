"""Peers: public kernels of other projects, whose rows stand beside triad's own. `triad setup --peers`
installs them; nothing needs them."""

from __future__ import annotations

import functools
import importlib.util
import os
import site
from importlib import metadata

PEERS = {"liger": "liger-kernel", "quack": "quack-kernels", "fa4": "flash-attn-4",
         "torchao": "torchao"}
"""What each family of rows is installed as."""


@functools.cache
def reach() -> None:
    """Puts the folder that `triad setup --peers` made behind everything else on the path: what the
    interpreter has itself comes first."""
    if folder := os.environ.get("TRIAD_PEERS"):
        site.addsitedir(folder)


def missing(row, on_gpu: bool) -> str:
    """Why a row of a peer is not here, "" where it is. Nothing of the peer is imported."""
    family = row.name.partition("/")[0]
    if not on_gpu:
        return f"the rows of {family} need a GPU"
    reach()
    try:
        found = importlib.util.find_spec(row.module)
    except ImportError:  # of a package around it
        found = None
    return "" if found else f"{PEERS[family]} is not installed: triad setup --peers"


def versions() -> dict[str, str]:
    """The versions of the peers that are installed."""
    reach()
    found = {}
    for name in PEERS.values():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
