"""The engine of `--on ray`: hands the shards of a run to a Ray cluster and brings their parts home.

    python -u ray_engine.py --triad FILE --gpus N [--address ADDRESS] [--files LIST]

The driver (internal/fleet/ray.go) writes a request a line on stdin and reads an answer a line on stdout; logs
go to stderr. Requests: {"submit": {"folder": DIR, "shards": [1, 2]}}, {"gone": [1, 2]}, {"cancel": AT_ONCE}.
A task runs `triad part` in a scratch folder of its node, with the results that an earlier task of the shard
left, and returns the part and its outcome. This process writes both into the driver's folder, so that nodes
need no common file system. The files of LIST, a JSON list of paths from the root, are sent too. Ray runs a
task again elsewhere if its node is lost. A task has one core, or with a GPU its share of the cores.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import ray
from ray.experimental import internal_kv

RETRIES = 3  # of a task whose node or process died
LOOK_S = 1.0  # between two looks at whether the run was stopped
LOG_BYTES = 16 << 10
KEPT_S = 7 * 24 * 3600  # how long a node keeps a copy that nobody uses


class Stop:
    """Tells all tasks of a run that it was stopped, through a key in the cluster's store. A task that Ray
    cancels could return nothing. An actor would have to be asked with ray.get, and a task that waits in there
    gives its core to another one."""

    def __init__(self) -> None:
        self.key = f"triad-stop-{uuid.uuid4()}".encode()

    def say(self) -> None:
        with contextlib.suppress(Exception):  # the head is unreachable: the next look repeats the word
            internal_kv._internal_kv_put(self.key, b"1")

    def is_given(self) -> bool:
        try:
            return bool(internal_kv._internal_kv_exists(self.key))
        except Exception:  # the head is unreachable: the next look tries again
            return False

    def forget(self) -> None:
        with contextlib.suppress(Exception):  # it is a few bytes
            internal_kv._internal_kv_del(self.key)


class Package:
    """Files to copy to the nodes, by their paths below a folder. Each node keeps one copy."""

    def __init__(self, kind: str, files: dict[str, bytes], mode: int):
        self.files, self.mode = files, mode
        sums = [hashlib.sha256(name.encode() + data).hexdigest() for name, data in files.items()]
        self.name = f"{kind}-{hashlib.sha256(''.join(sorted(sums)).encode()).hexdigest()[:16]}"

    def install(self) -> Path:
        """Returns the folder of the files on this node. Copies that no run has used for a week are
        removed."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triad" / "ray"
        there = cache / self.name
        if not there.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            new = Path(tempfile.mkdtemp(dir=cache, prefix=".new-"))
            for name, data in self.files.items():
                at = new / name.lstrip("/")
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(data)
                at.chmod(self.mode)
            try:
                new.rename(there)
            except OSError:  # another task of this node was first
                shutil.rmtree(new)
        os.utime(there)
        for old in cache.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - old.stat().st_mtime > KEPT_S:
                    shutil.rmtree(old)
        return there


def program(triad: Path, gpus: float) -> list[Path]:
    """Returns triad and, for a GPU, triad-cuda and the kernel libraries in its folder."""
    others = [triad.parent / "triad-cuda", *(triad.parent / "kernels").glob("*")] if gpus else []
    return [triad, *(file for file in others if file.is_file())]


def part(binary: Package, files: Package, cores: int, plan: dict[str, Any], shard: int, before: bytes | None,
         stop: Stop) -> tuple[str, bytes | None, str]:
    """Runs one shard on this node. Returns the outcome as JSON, the database if there is one, and the end of
    the log."""
    triad = binary.install() / "triad"
    if files.files:
        plan["root"] = str(files.install())
    with tempfile.TemporaryDirectory(prefix="triad-ray-") as scratch:
        folder = Path(scratch)
        (folder / "plan.json").write_text(json.dumps(plan))
        database = folder / f"part-{shard}.db"
        if before is not None:
            database.write_bytes(before)
        with open(folder / "log", "w+b") as log:
            child = subprocess.Popen([str(triad), "part", scratch, str(shard)], stdin=subprocess.DEVNULL,
                                     stdout=log, stderr=log, env=os.environ | {"GOMAXPROCS": str(cores)})
            is_interrupted = False
            while child.poll() is None:
                try:
                    child.wait(LOOK_S)
                except subprocess.TimeoutExpired:
                    if not is_interrupted and stop.is_given():
                        child.terminate()  # it ends after the current case
                        is_interrupted = True
            log.seek(max(0, log.tell() - LOG_BYTES))
            text = log.read().decode(errors="replace")
        outcome = folder / f"part-{shard}.json"
        if not outcome.exists():
            raise RuntimeError(f"triad part ended with {child.returncode}: {text.strip()[-500:]}")
        return outcome.read_text(), database.read_bytes() if database.exists() else None, text


def cores(gpus: float) -> int:
    """Returns the cores of a task: one, or the fewest cores per GPU of any node times its GPUs."""
    if not gpus:
        return 1
    shares = [node["Resources"].get("CPU", 1) * gpus / node["Resources"]["GPU"] for node in ray.nodes()
              if node["Alive"] and node["Resources"].get("GPU", 0) >= gpus]
    return max(1, int(min(shares, default=1)))


class Engine:
    """The tasks of one run."""

    def __init__(self, triad: Path, gpus: float, files: list[str]):
        names = {str(file.relative_to(triad.parent)): file for file in program(triad, gpus)}
        names["triad"] = names.pop(triad.name)
        binary = Package("triad", {name: file.read_bytes() for name, file in names.items()}, 0o755)
        self.stop, self.binary = Stop(), ray.put(binary)
        self.files = ray.put(Package("files", {name: Path(name).read_bytes() for name in files}, 0o644))
        self.cores = cores(gpus)
        self.task = ray.remote(num_cpus=self.cores, num_gpus=gpus, max_retries=RETRIES)(part)
        self.running: dict[int, Any] = {}
        self.folder, self.cancelled = Path(), False

    def submit(self, folder: str, shards: list[int]) -> dict[str, Any]:
        self.folder = Path(folder)
        plan = json.loads((self.folder / "plan.json").read_text())
        for shard in shards:
            left = self.folder / f"part-{shard}.db"
            before = left.read_bytes() if left.exists() else None
            self.running[shard] = self.task.remote(self.binary, self.files, self.cores, plan, shard, before,
                                                    self.stop)
        return {}

    def gone(self, shards: list[int]) -> dict[str, Any]:
        """Returns the shards whose tasks have ended; their parts are in the folder before this returns."""
        if self.cancelled:
            self.stop.say()
        ended: dict[str, str] = {}
        for shard in shards:
            task = self.running.get(shard)
            if task is None:
                ended[str(shard)] = "it was never handed over"
                continue
            if not ray.wait([task], timeout=0)[0]:
                continue
            try:
                outcome, database, log = ray.get(task)
            except ray.exceptions.RayError as e:
                ended[str(shard)] = str(e).strip().splitlines()[-1]
                continue
            (self.folder / f"log-{shard}.txt").write_text(log)
            if database is not None:
                whole(self.folder / f"part-{shard}.db", database)
            whole(self.folder / f"part-{shard}.json", outcome.encode())
            ended[str(shard)] = "ended"
        return {"gone": ended}

    def cancel(self, at_once: bool) -> dict[str, Any]:
        self.cancelled = True
        self.stop.say()
        if at_once:
            for task in self.running.values():
                ray.cancel(task, force=True)
        return {}


def whole(path: Path, data: bytes) -> None:
    """Writes a file completely or not at all."""
    new = path.with_suffix(path.suffix + ".new")
    new.write_bytes(data)
    new.replace(path)


def connect(address: str, gpus: float, size: int) -> str:
    """Connects to a cluster, or starts one on this machine. Returns a sentence if it cannot be used. Each
    node needs room for size bytes: ray.put waits for ever if the object store is smaller."""
    try:
        ray.init(address=address or None, log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError, ValueError) as e:
        return f"{address or 'ray'}: {str(e).strip().splitlines()[0]}"
    have = ray.cluster_resources().get("GPU", 0)
    if have < gpus:
        return f"the cluster has {have:g} GPUs, and a task wants {gpus:g}"
    store = min((node["Resources"].get("object_store_memory", 0) for node in ray.nodes() if node["Alive"]),
                default=0)
    if store < size:
        return (f"the object store of a node holds {store / 1e6:.0f} MB, and the program and its files have "
                f"{size / 1e6:.0f} MB: start ray with a larger --object-store-memory")
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="the Ray engine of triad; the driver starts it")
    parser.add_argument("--triad", required=True, type=Path)
    parser.add_argument("--gpus", type=float, default=0)
    parser.add_argument("--address", default="")
    parser.add_argument("--files", type=Path)
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what ray prints is no answer
    files = json.loads(options.files.read_text()) if options.files else []
    size = sum(Path(file).stat().st_size for file in [*program(options.triad, options.gpus), *files])
    why = connect(options.address, options.gpus, size)
    print(json.dumps({"error": why}), file=answers)
    if why:
        return 1
    engine = Engine(options.triad, options.gpus, files)
    for line in sys.stdin:
        (verb, given), = json.loads(line).items()
        try:
            answer = {"submit": lambda: engine.submit(**given), "gone": lambda: engine.gone(given),
                      "cancel": lambda: engine.cancel(given)}[verb]()
        except Exception as e:  # the driver reports it, whatever it is
            answer = {"error": f"{type(e).__name__}: {str(e).strip().splitlines()[-1] if str(e) else ''}"}
        print(json.dumps(answer), file=answers)
    engine.stop.forget()
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
