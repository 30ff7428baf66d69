"""Peers: public kernels of other projects, whose rows stand beside triad's own (`triad setup --peers`), and
cuTile, in which some of triad's own rows are written (`triad setup --cutile`). Nothing needs them."""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
import re
import shutil
import site
import subprocess
import sys
from importlib import metadata

PEERS = {"liger": "liger-kernel", "quack": "quack-kernels", "fa4": "flash-attn-4",
         "torchao": "torchao", "fla": "fla-core"}
"""What each family of rows is installed as."""

CUTILE = "cutile"
"""The family of the rows in cuTile, which are triad's own: only the package is somebody else's."""

CUTILE_DRIVER = 13000
"""The oldest driver that cuTile launches with, as cuDriverGetVersion names it: CUDA 13.0, which is 580."""


class CutileFailed(Exception):
    """A row in cuTile was not compiled, raised by its file. The worker reports `status` instead of CRASH:
    BUILD_FAIL of what the compiler makes of the kernel, UNAVAILABLE of what this machine lacks for it."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status


@functools.cache
def reach() -> None:
    """Puts the folder that `triad setup --peers` made behind everything else on the path: what the
    interpreter has itself comes first. The folder of cuTile comes before all: its compiler is looked for in
    the first folder nvidia/cu13, and torch has one of those. It leaves its files behind: in the worker's own
    folder, which triad removes however the worker ends."""
    os.environ["CUDA_TILE_TEMP_DIR"] = os.getcwd()  # cuda.tile reads it once, when it is imported
    if folder := os.environ.get("TRIAD_CUTILE"):
        sys.path.insert(0, folder)
    if folder := os.environ.get("TRIAD_PEERS"):
        site.addsitedir(folder)


def missing(family: str, module: str, on_gpu: bool) -> str:
    """Why the rows of a peer that import a module are not here, "" where they are. Nothing of the peer is
    imported. cuTile's are where its compiler, the driver and the GPU are as well."""
    if not on_gpu:
        return f"the rows of {family} need a GPU"
    reach()
    try:
        found = importlib.util.find_spec(module)
    except ImportError:  # of a package around it
        found = None
    if found:
        return unfit_for_cutile() if family == CUTILE else ""
    if family == CUTILE:
        return "cuda-tile is not installed: triad setup --cutile"
    return f"{PEERS[family]} is not installed: triad setup --peers"


@functools.cache
def unfit_for_cutile() -> str:
    """Why cuTile, which is installed, cannot compile for the GPU here or launch on it, "" where it can."""
    import torch
    compiler = cutile_compiler()
    if not compiler:
        return "tileiras, the compiler of cuda-tile, is not installed: triad setup --cutile"
    version = driver_version()
    if version < CUTILE_DRIVER:
        here = f"this one is for CUDA {version // 1000}.{version % 1000 // 10}" if version else "none is here"
        return f"cuTile needs NVIDIA's driver 580 or newer, for CUDA 13.0, and {here}"
    try:
        told = subprocess.run([compiler, "--help"], check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as e:
        return f"{compiler}, the compiler of cuda-tile, does not run: {e}"
    knows = re.findall(r"=(sm_\d+)", told.stdout)
    gpu = "sm_{}{}".format(*torch.cuda.get_device_capability())
    if knows and gpu not in knows:
        return f"{compiler} compiles cuTile for {', '.join(knows)}, and the GPU here is {gpu}"
    return ""


def cutile_compiler() -> str:
    """The path of tileiras, "" where there is none. It is looked for where cuda.tile does: beside the first
    nvidia/cu13 that Python finds, on PATH, and in the CUDA toolkits."""
    reach()
    try:
        found = importlib.util.find_spec("nvidia.cu13")
    except ImportError:
        found = None
    roots = list(found.submodule_search_locations or ())[:1] if found else []
    toolkits = [os.environ["CUDA_HOME"]] if os.environ.get("CUDA_HOME") else []
    toolkits += sorted(glob.glob("/usr/local/cuda*"), reverse=True)
    places = [*(os.path.join(root, "bin") for root in roots), os.environ.get("PATH", os.defpath),
              *(os.path.join(toolkit, "bin") for toolkit in toolkits)]
    return shutil.which("tileiras", path=os.pathsep.join(places)) or ""


def driver_version() -> int:
    """The version of CUDA that the driver of the GPU is for, 12080 of 12.8; 0 where there is no driver."""
    version = ctypes.c_int()
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else version.value


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
