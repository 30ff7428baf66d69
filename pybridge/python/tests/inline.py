"""Runs the example kernel_from_cpp.py; without a GPU on the library of plain loops instead of the kernels."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from triad.torch import extension

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "kernel_from_cpp.py"


def main():
    code = EXAMPLE.read_text()
    os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)  # where pip puts ninja
    with tempfile.TemporaryDirectory() as folder:
        # of its own: torch waits for ever on the lock of a build that was killed
        os.environ["TORCH_EXTENSIONS_DIR"] = folder
        if not torch.cuda.is_available():
            stub = Path(folder) / "stub.so"
            subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{extension.header()}", HERE
                            / "stub_kernels.cpp", "-o", stub], check=True)
            place = 'triad.binary().parent / "kernels" / "softmax.so", "cuda"'
            if place not in code or '"block"' not in code:
                sys.exit("the example names another library or variant")
            code = code.replace(place, f'"{stub}", "cpu"').replace('"block"', '"stub"')
        exec(compile(code, EXAMPLE, "exec"), {"__name__": "example"})
    print(f"{EXAMPLE.name} compiles and agrees with torch")


if __name__ == "__main__":
    main()
