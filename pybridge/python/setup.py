"""Builds the Python package triad out of a checkout of its repository: the Go package pybridge/native through
gopy, the triad binary, and the operator files. It needs Go, a C compiler and Python's headers; what it makes,
a wheel for this Python and this platform, does not. TRIAD_GPU_FILES names a folder with triad-cuda and the
kernel libraries, as `triad setup --gpu` makes it, to bring along for GPU machines.
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
GO = os.environ.get("GO", "go")
TOOLS = ("github.com/go-python/gopy", "golang.org/x/tools/cmd/goimports")
BRIDGE_FOLDERS = ("worker", "operators", "interpreter", "user_files", "peers", "truth", "problems")
NATIVE = ("__init__.py", "go.py", "native.py", "_native*.so")


def run(*command, cwd=ROOT, **environment):
    """Runs one step of the build and returns its stdout. If the step fails, its stderr ("go: downloading
    ...") is shown and the build ends."""
    try:
        done = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **environment},
                              text=True, capture_output=True)
    except FileNotFoundError:
        sys.exit(f"build triad: {command[0]} is not here: install Go 1.26 or newer and the requirements of "
                 "pyproject.toml, or take a wheel, which needs none")
    if done.returncode:
        sys.exit(f"build triad: {' '.join(map(str, command))} ended with "
                 f"{done.returncode}:\n{(done.stdout + done.stderr)[-8000:]}")
    return done.stdout


def version():
    """The product's version."""
    if not (ROOT / "VERSION").is_file():
        sys.exit("build triad: the Go sources are not here: install from a checkout of the repository, or "
                 "take a wheel")
    return (ROOT / "VERSION").read_text().strip()


def build_native(target: Path, scratch: Path):
    """Runs gopy on pybridge/native. gopy writes Go files, which go into a module outside of the checkout."""
    bin_folder, module, output = scratch / "bin", scratch / "module", scratch / "module" / "native"
    output.mkdir(parents=True)
    run(GO, "build", "-o", f"{bin_folder}/", *TOOLS)
    # gopy links libpython, and asks for it where the interpreter was built for, which is not where it lies
    # when it was moved.
    libraries = os.pathsep.join([str(Path(sys.base_prefix) / "lib"),
                                 *filter(None, [os.environ.get("LIBRARY_PATH")])])
    text = (ROOT / "go.mod").read_text()
    text = re.sub(r"^module triad$", "module triad_native", text, flags=re.MULTILINE)
    here = json.dumps(str(ROOT))  # the folder may have spaces
    (module / "go.mod").write_text(f"{text}\nrequire triad v0.0.0\n\nreplace triad => {here}\n")
    shutil.copy(ROOT / "go.sum", module / "go.sum")
    (module / "import.go").write_text('package main\n\nimport (\n\t_ "github.com/go-python/gopy/gopyh"\n'
                                      '\t_ "triad/pybridge/native"\n)\n\nfunc main() {}\n')
    run(bin_folder / "gopy", "build", "-vm", sys.executable, "-output", output, "-name", "native", "-no-make",
        "-symbols=false", "triad/pybridge/native",
        cwd=module, PATH=f"{bin_folder}{os.pathsep}{os.environ['PATH']}", GOFLAGS=os.environ.get("GOFLAGS",
            "") + " -trimpath",
        LIBRARY_PATH=libraries, CGO_CFLAGS="-fno-fast-math")  # it lands behind gopy's own -ffast-math
    for pattern in NATIVE:
        found = list(output.glob(pattern))
        if not found:
            sys.exit(f"build triad: gopy made no {pattern}: is pybindgen installed for {sys.executable}, and "
                     "are Python's headers here?")
        for path in found:
            shutil.copy(path, target)
    # The symbols of libpython come from the interpreter that imports it, which may have no libpython of its
    # own; nor is a wheel to name a folder of the machine that it was built on.
    for library in target.glob("_native*.so"):
        needed = run("patchelf", "--print-needed", library).split()
        for name in (n for n in needed if n.startswith("libpython")):
            run("patchelf", "--remove-needed", name, library)
        run("patchelf", "--remove-rpath", library)


def licences(target: Path):
    """Writes the licences of the contained programs: triad's own, Go's, and those of the linked modules."""
    shutil.copy(ROOT / "LICENSE", target / "LICENSE")
    listed = run(GO, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} "
                                            "{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/triad",
                                            "./cuda/gpuworker", "./pybridge/native",
                 "github.com/go-python/gopy/gopyh")
    folders = dict(line.split("\t") for line in sorted(set(listed.splitlines())) if line)
    folders["Go"] = run(GO, "env", "GOROOT").strip()
    parts = ["The programs in this package contain the following. The kernel libraries contain NVIDIA's CUDA "
             "runtime, under the CUDA Toolkit's licence agreement.\n"]
    for name, folder in folders.items():
        texts = sorted(p for p in Path(folder).iterdir() if p.is_file()
                       and re.match(r"(licen[cs]e|copying|notice|patents)\b", p.name, re.IGNORECASE))
        if not texts and name != "Go":
            sys.exit(f"build triad: {name} has no licence in {folder}")
        parts += [f"{'=' * 100}\n{name}: {p.name}\n\n{p.read_text(errors='replace').strip()}\n"
                  for p in texts]
    (target / "THIRD_PARTY_LICENSES.txt").write_text("\n".join(parts))


class Build(build_py):
    """Builds the package: the Python files, and the outputs of gopy and Go."""

    def run(self):
        package = Path(self.build_lib).resolve() / "triad"
        super().run()
        for name in ("_native", "_bin", "_operators", "_pybridge"):
            (package / name).mkdir(parents=True)
        (package / "_version.py").write_text(f'version = "{version()}"\n')
        for path in (ROOT / "triton").glob("*.py"):
            shutil.copy(path, package / "_operators")
        for folder in BRIDGE_FOLDERS:
            (package / "_pybridge" / folder).mkdir()
            for path in (ROOT / "pybridge" / folder).glob("*.py"):
                shutil.copy(path, package / "_pybridge" / folder)
        licences(package)
        # eager.cpp is compiled against it, on first use
        shutil.copy(ROOT / "cuda/abi.h", package / "_pybridge")
        run(GO, "build", "-trimpath", "-ldflags=-s -w", "-o", package / "_bin" / "triad", "./cmd/triad")
        if gpu := os.environ.get("TRIAD_GPU_FILES"):
            shutil.copytree(gpu, package / "_bin", dirs_exist_ok=True, ignore=shutil.ignore_patterns("triad"))
        with tempfile.TemporaryDirectory(prefix="triad-build-") as scratch:
            build_native(package / "_native", Path(scratch))
        # The PyTorch operators read it here: they need no native part, so they work in any Python and in a
        # forked process.
        specs = run(sys.executable, "-c", "from triad import go; print(go.call('Operators'))",
                    PYTHONPATH=str(package.parent), cwd=package.parent)
        (package / "_operators" / "catalogue.json").write_text(specs)


class Platform(Distribution):
    """A wheel of this Python and this platform, although setuptools compiles nothing itself."""

    def has_ext_modules(self):
        return True


# The build folder is not in the checkout: two builds at once would share it, and files that an earlier one
# left would get into the wheel.
SCRATCH = tempfile.mkdtemp(prefix="triad-wheel-")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

setup(
    name="triad",
    version=version(),
    description="know whether a GPU kernel is right: triad in Python, and its kernels as PyTorch operators",
    license="Apache-2.0",
    python_requires=">=3.11",
    entry_points={"console_scripts": ["triad = triad.command:main"]},
    packages=find_packages(include=["triad*"]),
    package_data={"triad": ["py.typed", "torch/eager.cpp", "torch/eager/*.h"]},
    extras_require={"pandas": ["pandas"], "torch": ["torch>=2.9"], "ray": ["ray==2.60.0"]},
    cmdclass={"build_py": Build},
    distclass=Platform,
    options={"build": {"build_base": SCRATCH}, "egg_info": {"egg_base": SCRATCH},
             "bdist_wheel": {"bdist_dir": f"{SCRATCH}/wheel"}},
)
