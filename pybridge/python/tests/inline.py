"""Runs the C++ example of docs/python.md; without a GPU on the library of plain loops instead of the
kernels."""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import torch

from triad.torch import extension

HERE = Path(__file__).resolve().parent


def example():
    """The indented block of the page that builds an extension."""
    text = (HERE.parents[2] / "docs" / "python.md").read_text()
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)
    (found,) = [textwrap.dedent(b) for b in blocks if "load_inline(" in b]
    return found


def main():
    code = example()
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
        exec(compile(code, "docs/python.md", "exec"), {"__name__": "example"})
    print("the example of docs/python.md compiles and agrees with torch")


if __name__ == "__main__":
    main()
