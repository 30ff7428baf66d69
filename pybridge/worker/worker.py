"""The Python worker: runs the Triton and torch rows of operator files for the driver.

    python -u -X faulthandler pybridge/worker/worker.py --operators DIR

DIR holds the operator files, <op>.py, which are loaded by path. Requests come over file descriptor 3, tensors
over the shared memory behind 4 (wire.py); stdout and stderr are only a log. TRIAD_DEVICE=cpu keeps a worker
off the GPU. Without one Triton's kernels run in its interpreter and torch on the CPU. The worker measures and
reports; it sees neither truth nor error bound nor verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import functools
import hashlib
import importlib
import importlib.util
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import bridge_folders  # noqa: F401  (puts the folders of the others on sys.path)

import peers
import sandbox
import wire

COMPILE_SLOT = "torch/compile"
JUDGING_SLOT = "judging "  # as in internal/worker/spread.go: any row may come
KEPT_BYTES = 1 << 30  # of device memory that torch may keep between two runs
PEERS_SLOT = "peers"
COMPILER = ("torch._dynamo", "torch._functorch.aot_autograd", "torch._inductor.compile_fx")
"""Modules that torch.compile imports at its first call; each takes about a second."""

SETUP = "run `triad setup`, or name an interpreter that has it in TRIAD_PYTHON"


class Worker:
    """The state of one worker process: its device, the shared memory and the operators it has loaded."""

    def __init__(self, operators: Path):
        self.operators = operators
        self.memory: wire.Memory | None = None
        self.loaded: dict[str, ModuleType | dict[str, Any]] = {}
        self.tiles: dict[str, ModuleType | dict[str, Any] | None] = {}
        self.torch_missing = self.triton_missing = ""
        self.on_gpu = False
        self.measurements = None  # a measure.Measurements once something is timed
        self.watch = None  # an integrity.Watch once torch is here

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answers one request with its result."""
        do = request["do"]
        if do == "hello":
            return self.hello(request["hello"])
        if do == "load":
            return self.load(request["load"]["op"])
        if do == "run":
            return self.run(request["run"])
        if do == "measure":
            return self.measure(request["measure"])
        if do == "probe":
            return self.probe()
        raise wire.WireError(f"request {do!r}: want hello, load, run, measure, probe or bye")

    # ---- hello

    def hello(self, args: dict[str, Any]) -> dict[str, Any]:
        """Maps the memory and imports torch and Triton. If one is missing, the reply to load says so."""
        if args["protocol"] != wire.PROTOCOL:
            raise wire.WireError(f"protocol {args['protocol']}, this worker speaks {wire.PROTOCOL}")
        self.memory = wire.Memory(args["memory_bytes"])
        versions = {"python": platform.python_version()}
        try:
            versions.update(self._import_torch())
        except ImportError as e:
            self.torch_missing = f"PyTorch cannot be imported by {sys.executable} ({e}): {SETUP}"
            self.triton_missing = self.torch_missing
            return {"protocol": wire.PROTOCOL, "device": "cpu", "versions": versions, "pid": os.getpid()}
        versions.update(self._import_triton())
        self._begin_watch()  # before a file of an operator is imported
        device = "gpu" if self.on_gpu else "cpu" if self.triton_missing else "interpreter"
        return {"protocol": wire.PROTOCOL, "device": device, "versions": versions, "pid": os.getpid()}

    def _begin_watch(self) -> None:
        import implementation
        import integrity
        import launch
        import parallel_copies
        import tensors
        if not self.on_gpu:
            integrity.erase_freed_memory()
        self.watch = integrity.Watch(wire, tensors, parallel_copies, launch, implementation, integrity,
                                     sys.modules[Worker.__module__])

    def _import_torch(self) -> dict[str, str]:
        import torch
        self.on_gpu = os.environ.get("TRIAD_DEVICE") != "cpu" and torch.cuda.is_available()
        self.device = torch.device("cuda", 0) if self.on_gpu else torch.device("cpu")
        # Products keep the precision that a row's contract declares.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        versions = {"torch": torch.__version__}
        if self.on_gpu:
            versions.update(cuda=torch.version.cuda or "", gpu=torch.cuda.get_device_name(0),
                            cudnn=str(torch.backends.cudnn.version()), **peers.versions())
        else:
            # some of torch's faults depend on these
            versions["torch_cpu"] = torch.backends.cpu.get_cpu_capability()
            versions["torch_threads"] = str(torch.get_num_threads())
            # else oneDNN multiplies bf16 by AMX, and a NaN spreads to the previous row
            os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
            os.environ["TRITON_INTERPRET"] = "1"
            # else Inductor spends seconds on detecting the CPU's vector instructions
            os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
            # else it starts a pool of processes, each of which imports torch
            os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        return versions

    def _import_triton(self) -> dict[str, str]:
        import implementation
        if implementation.TRITON_MISSING:
            self.triton_missing = (f"Triton cannot be imported by {sys.executable} "
                                   f"({implementation.TRITON_MISSING}): {SETUP}")
            return {}
        versions = {"triton": implementation.triton.__version__}
        if not self.on_gpu:
            import numpy

            import interpreter
            versions["numpy"] = numpy.__version__
            interpreter.correct()
            wrong = interpreter.prove()
            if wrong:
                self.triton_missing = (f"{wrong} (triton {versions['triton']}, numpy {numpy.__version__}): "
                                       f"{SETUP}")
        return versions

    # ---- load

    def load(self, op: str) -> dict[str, Any]:
        """Loads an operator's file and lists what it registers."""
        if self.torch_missing:
            return failed("UNAVAILABLE", self.torch_missing)
        module = self._module(op)
        if isinstance(module, dict):
            return module
        gone = self._gone(module)
        without = [{"implementation": family, "status": "UNAVAILABLE", "message": why} for family,
                   why in gone.items()]
        why_alone = self._why_alone(module)
        if why_alone:
            without += [{"implementation": i.name, "status": "UNAVAILABLE",
                         "message": f"{i.name} {why_alone}"} for i in module.IMPLEMENTATIONS if i.devices > 1]
        modules, tiles = [module], self._tiles(op)
        if isinstance(tiles, dict):
            without += tiles["failed"]
        elif tiles is not None:
            modules.append(tiles)
        listed = [entry for m in modules for i in m.IMPLEMENTATIONS if _family(i.name) not in gone
                  and not (why_alone and i.devices > 1)
                  for entry in self._entries(op, i, _hash(m))]
        return {"implementations": listed, "failed": without} if without else {"implementations": listed}

    def _gone(self, module: ModuleType) -> dict[str, str]:
        """Returns the families of an operator's rows that are unavailable, with the reason."""
        gone = {"triton": self.triton_missing} if self.triton_missing else {}
        for row in module.IMPLEMENTATIONS:
            if row.module and (why := peers.missing(_family(row.name), row.module, self.on_gpu)):
                gone[_family(row.name)] = why
        return gone

    def _why_alone(self, module: ModuleType) -> str:
        """Returns why the rows of an operator that are on two devices are unavailable, as the end of a
        sentence; "" if they are not, or there is none."""
        if not any(row.devices > 1 for row in module.IMPLEMENTATIONS):
            return ""
        import all_to_all
        return all_to_all.missing(self.on_gpu, int(os.environ.get("TRIAD_GPUS", 1)))

    def _module(self, op: str) -> ModuleType | dict[str, Any]:
        """Returns the operator's module, or the reply with the reason why there is none."""
        if op not in self.loaded:
            path = self.operators / f"{op}.py"
            if not op.isidentifier() or not path.is_file():
                self.loaded[op] = failed("UNAVAILABLE", f"{path}: no such operator file")
            else:
                self.loaded[op] = self._import(op, path)
        return self.loaded[op]

    def _tiles(self, op: str) -> ModuleType | dict[str, Any] | None:
        """Returns the module of an operator's rows in cuTile, <op>_cutile.py, the reply with the reason why
        there is none here, or None for an operator without."""
        path = self.operators / f"{op}_{peers.CUTILE}.py"
        if op not in self.tiles and path.is_file():
            why = peers.missing(peers.CUTILE, "cuda.tile", self.on_gpu)
            self.tiles[op] = failed("UNAVAILABLE", why) if why else self._import(f"{op}_{peers.CUTILE}", path)
            if isinstance(self.tiles[op], dict):
                self.tiles[op]["failed"] = [{**self.tiles[op]["failed"][0], "implementation": peers.CUTILE}]
        return self.tiles.get(op)

    def _import(self, op: str, path: Path) -> ModuleType | dict[str, Any]:
        module = _import(op, path)
        replaced = self.watch.clocks() if self.watch is not None else ""
        if replaced and not isinstance(module, dict):
            module.IMPLEMENTATIONS = [
                dataclasses.replace(row, remark=f"{row.remark}; {replaced}".removeprefix("; "))
                for row in module.IMPLEMENTATIONS]
        return module

    def _entries(self, op: str, i, source: str) -> list[dict[str, Any]]:
        """Returns the registrations of an implementation, one for each pass and contract."""
        entries = []
        for direction in ("forward", "backward"):
            if i.function(direction) is None:
                continue
            contracts: dict[str, list[str]] = {}
            for dtype in i.dtypes_of(direction):
                contracts.setdefault(i.contract_of(direction, dtype), []).append(dtype)
            for contract, dtypes in contracts.items():
                given = [name for name in i.gives(direction)
                         if direction == "backward" or name not in i.perhaps]
                entry = {"name": i.name, "op": op, "pass": direction, "dtypes": dtypes, "contract": contract,
                         "outputs": given,
                         "device": self._device_of(i.name), "source": source}
                if direction == "backward":
                    entry.update(forward=i.name, recomputes=i.recomputes)
                if i.constraint:
                    entry["constraint"] = i.constraint
                if set(i.nondeterministic) & set(given):
                    entry["nondeterministic"] = [name for name in i.nondeterministic if name in given]
                if i.compiled:
                    entry["limit"] = "quick2" if self.on_gpu else "quick1"
                entries.append(entry)
        return entries

    def _device_of(self, name: str) -> str:
        if self.on_gpu:
            return "gpu"
        return "interpreter" if _family(name) == "triton" else "cpu"

    # ---- between requests

    def idle(self, request: dict[str, Any], waiting: Callable[[], bool]) -> None:
        """Prepares the first call while the driver makes its inputs: creates the GPU's context, then imports
        module by module until the next request waits. Errors are ignored here; the call meets them again and
        reports them."""
        if request["do"] != "load" or self.torch_missing:
            return
        parts: list[Callable[[], Any]] = [self._use_gpu] if self.on_gpu else []
        slot = request["load"].get("slot", "")
        if slot == COMPILE_SLOT or slot.startswith(JUDGING_SLOT):
            parts += [functools.partial(importlib.import_module, name) for name in COMPILER]
        if request["load"].get("slot") == PEERS_SLOT:
            module = self._module(request["load"]["op"])
            parts += [row.ready for row in getattr(module, "IMPLEMENTATIONS", []) if row.module
                      and not peers.missing(_family(row.name), row.module, self.on_gpu)]
        for part in parts:
            if waiting():
                return
            with contextlib.suppress(Exception):
                part()

    def _use_gpu(self) -> None:
        import torch
        torch.zeros(1, device=self.device)
        torch.cuda.synchronize(self.device)

    # ---- run

    def run(self, run: dict[str, Any]) -> dict[str, Any]:
        """Runs one case of one implementation: every launch, up to the first that fails or is declined."""
        import torch

        from integrity import Earlier
        from launch import launch
        module, row = self._find(run)
        attributes = wire.attributes(run.get("attrs"))
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
        begin, replies, fatal, earlier = time.perf_counter_ns(), [], False, Earlier()
        for request in run["launches"]:
            reply = launch(row, module.__file__, self.memory, self.device, run, attributes, request,
                           self.watch, earlier)
            fatal = reply.pop("fatal", False)
            replies.append(reply)
            if "status" in reply:
                break
        result: dict[str, Any] = {"launches": replies, "wall_ns": time.perf_counter_ns() - begin}
        if fatal:
            result["fatal"] = True
        elif self.on_gpu:
            result["peak_bytes"] = torch.cuda.max_memory_allocated()
            if torch.cuda.memory_reserved() > KEPT_BYTES:  # other processes judge on the same GPU
                torch.cuda.empty_cache()
        return result

    def _find(self, run: dict[str, Any]) -> tuple[ModuleType, Any]:
        """Returns the operator's module and the implementation that a request names."""
        module = self._module(run["op"]) if not self.torch_missing else None
        if _family(run["implementation"]) == peers.CUTILE:
            module = self._tiles(run["op"])
        rows = [i for i in getattr(module, "IMPLEMENTATIONS", []) if i.name == run["implementation"]
                and i.function(run["pass"])]
        if not rows or self.memory is None:
            raise wire.NotHere(f"{run['op']}/{run['implementation']} has no {run['pass']} here")
        return module, rows[0]

    # ---- measure

    def measure(self, args: dict[str, Any]) -> dict[str, Any]:
        """Carries out one step of a timing; only a GPU is timed."""
        if not self.on_gpu:
            return {"status": "UNSUPPORTED", "message": "this Python has no GPU: only a GPU is timed"}
        from measure import CallCandidate, Measurements

        def make(prepare: dict[str, Any]) -> CallCandidate:
            run = prepare["run"]
            module, row = self._find(run)
            make.source = module.__file__
            return CallCandidate(row, module.__file__, self.memory, self.device, run,
                           wire.attributes(run.get("attrs")), prepare.get("cold", False))

        if self.measurements is None:
            self.measurements = Measurements()
        return self.measurements.step(args, make)

    # ---- probe

    def probe(self) -> dict[str, Any]:
        """Reports whether the device still computes. An illegal access may show only after several
        launches."""
        if self.torch_missing:
            return {"healthy": False, "message": self.torch_missing}
        import torch
        try:
            ones = torch.ones(1024, device=self.device)
            for _ in range(10):
                ones = ones * 2
            total = float(ones.sum())
        except RuntimeError as e:
            return {"healthy": False, "message": f"{type(e).__name__}: {e}", "fatal": True}
        return {"healthy": total == 1024 * 1024}


def _hash(module: ModuleType) -> str:
    """Identifies the version of the rows of a file."""
    return hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()[:16]


def _family(name: str) -> str:
    return name.partition("/")[0]


def failed(status: str, message: str, log: str = "") -> dict[str, Any]:
    """Returns a load reply without implementations, for the Triton rows and the torch rows of a file."""
    failed = [{"implementation": prefix, "status": status, "message": message}
              for prefix in ("triton", "torch")]
    if log:
        failed[0]["log"] = log
    return {"implementations": [], "failed": failed}


def _import(op: str, path: Path, rows_needed: bool = True) -> ModuleType | dict[str, Any]:
    """Imports an operator file by its path, under a name that hides no package."""
    from implementation import Implementation
    spec = importlib.util.spec_from_file_location(f"triad_operator_{op}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # inspect and dataclasses look a module up by name
    try:
        spec.loader.exec_module(module)
        rows = module.IMPLEMENTATIONS if rows_needed else getattr(module, "IMPLEMENTATIONS", None)
        if rows_needed and not rows or not all(isinstance(row, Implementation) for row in rows or []):
            raise TypeError(f"IMPLEMENTATIONS is {rows!r}, want a list of Implementation")
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        status = "INTERRUPTED" if host_trouble(e) else "BUILD_FAIL"
        return failed(status, _first_message(e, path), traceback.format_exc()[-8000:])
    return module


def host_trouble(e: BaseException) -> bool:
    """Reports whether an exception is about this machine's memory, disks or tables, and not about the
    file."""
    return isinstance(e, MemoryError) or isinstance(e, OSError) and e.errno in (
        errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


def _first_message(e: BaseException, path: Path) -> str:
    """Returns "file:line: what is wrong", with the innermost line of the operator file."""
    if isinstance(e, SyntaxError):
        return f"{e.filename}:{e.lineno}: {type(e).__name__}: {e.msg}"
    lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.filename == str(path)]
    return f"{path}:{lines[-1] if lines else 1}: {type(e).__name__}: {e}"


def main(kind: type[Worker] = Worker) -> NoReturn:
    """Serves the driver, then ends the process without the interpreter's cleanup, which takes half a second
    with torch loaded."""
    code = serve(kind)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def serve(kind: type[Worker]) -> int:
    parser = argparse.ArgumentParser(description="a Python worker of triad; the driver starts it")
    parser.add_argument("--operators", required=True, type=Path, help="the folder of the operator files")
    sandbox.limit_self()
    sandbox.only_regular_sources()
    # the driver compares paths in answers with its own name for the folder
    worker = kind(parser.parse_args().operators.absolute())
    try:
        wire.serve(wire.Channel(), worker.answer, worker.idle)
    except wire.WireError as e:
        print(f"worker: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    main()
