"""The C++ part of the eager path (eager.cpp): built on first use, kept in the cache, loaded beside torch.
Without it, or until it is built, calls go through direct.py: the same in Python, slower."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from typing import Any

import torch

from triad.errors import Unavailable
from triad.torch.files import BRIDGE
from triad.torch.worker import cache_folder

SOURCE = Path(__file__).absolute().parent / "eager.cpp"
SWITCH = "TRIAD_TORCH_EXTENSION"
"""Set to 0 this environment variable keeps to Python."""

loaded: Any = None
"""The module, None until it is there."""
_started = False
_lock = threading.Lock()


def header() -> Path:
    """Where abi.h is: in the package, in a checkout in the folder of the kernels."""
    return next((p for p in (BRIDGE, SOURCE.parents[4] / "cuda") if (p / "abi.h").is_file()), BRIDGE)


def sources() -> list[Path]:
    """eager.cpp, and what it includes of ours."""
    return [SOURCE, *sorted((SOURCE.parent / "eager").glob("*.h")), header() / "abi.h"]


def compiler() -> str:
    """The C++ compiler: $CXX, else g++ or clang++."""
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        if found := shutil.which(name):
            return found
    raise Unavailable("build triad's C++ part: no C++ compiler: install g++ or name one in $CXX; operators "
                      "work without, with more host time a call")


def command(output: Path) -> list[str]:
    """The command that builds it."""
    from torch.utils.cpp_extension import include_paths, library_paths
    folders = [f"-isystem{p}" for p in (*include_paths("cpu"), sysconfig.get_paths()["include"])]
    libraries = [f"-L{p}" for p in library_paths("cpu")]
    return [compiler(), "-std=c++17", "-O2", "-Wfatal-errors", "-fPIC", "-shared", "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", *folders,
            f"-I{header()}", str(SOURCE), "-o", str(output), *libraries, "-lc10", "-ltorch_cpu",
            "-ltorch_python"]


def built() -> Path:
    """The library, built if this torch, Python, compiler and source have none in the cache."""
    words = command(Path("out"))
    ours = (str(SOURCE), f"-I{header()}")  # what they hold counts, not where this environment has them
    text = "\0".join([*(w for w in words if w not in ours), torch.__version__, sys.version,
                      *(p.read_text() for p in sources())])
    target = cache_folder() / "torch" / f"triad_eager-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            output = Path(folder) / target.name
            done = subprocess.run(command(output), capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                first = next((line for line in done.stderr.splitlines() if "error" in line),
                             done.stderr.strip()[-300:])
                raise Unavailable(f"build triad's C++ part: {words[0]} ended with {done.returncode}: {first}")
            os.replace(output, target)  # whole or not at all: others may build it too
    except OSError as e:
        raise Unavailable(f"build triad's C++ part in {target.parent}: {e}") from e
    return target


def load() -> Any:
    """Builds it where it is not, waits for it, and loads it. Unavailable says why it cannot be had."""
    global loaded
    with _lock:
        if loaded is None:
            path = built()
            spec = importlib.util.spec_from_file_location("triad_eager", path)
            assert spec is not None and spec.loader is not None
            try:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
            except ImportError as e:
                raise Unavailable(f"load triad's C++ part: {e}: delete {path} to build it again") from e
            loaded = module
    return loaded


def start() -> None:
    """Loads it in the background, once; calls go on in Python meanwhile, and for good where it cannot be
    had."""
    global _started
    if _started or os.environ.get(SWITCH) == "0":
        return
    _started = True

    def work() -> None:
        try:
            load()
        except Unavailable:
            pass  # load() says why to whoever asks
    threading.Thread(target=work, name="triad-extension", daemon=True).start()
