"""One launch of one implementation: fresh guarded inputs, the call, and the report that the driver judges."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import torch

from bridge_folders import FOLDERS

import implementation as implementation_module
import peers
import stream_stand_in
import tensors
from implementation import Implementation
from integrity import Earlier, Watch
from returned_values import judged
from tensor_descriptions import described
from torch_calls import RecordedCalls
from wire import Memory

MESSAGE_CHARACTERS = 2000


def launch(implementation: Implementation, source: str, memory: Memory, device: torch.device,
           run: dict[str, Any], attributes: dict[str, Any],
           request: dict[str, Any], watch: Watch, earlier: Earlier) -> dict[str, Any]:
    """Calls an implementation once, as the run and this entry of its launches ask, and returns the
    LaunchReply. source is the path of the operator file, in which the line of an exception is looked for.
    earlier holds the outputs of the previous launch."""
    direction = run["pass"]
    function = implementation.function(direction)
    loaded = [tensors.load(memory, ref, device) for ref in run["inputs"]]
    inputs = [tensor for _, tensor in loaded]
    allocations = tensors.PoisonedAllocations(request["poison"])
    recorded = _begin(request.get("order", ""))
    outcome: dict[str, Any] = {}
    returned: tuple = ()
    own: dict[str, torch.Tensor] = {}
    watch.before()
    try:
        implementation.ready()
        why = (implementation.accepts(direction, *described(inputs), **attributes) if implementation.accepts
               else None)
        if why:
            return {"status": "UNSUPPORTED", "message": str(why)[:MESSAGE_CHARACTERS],
                    "inputs": [tensors.checksum(buffer) for buffer, _ in loaded], "outputs": []}
        # What torch.compile traces must be torch's own functions.
        sizes = implementation_module.sizes_alone(run.get("sizes_alone", False))
        with torch.no_grad(), counted(device), sizes, judged() as own, \
                contextlib.nullcontext() if implementation.compiled else allocations, \
                recorded or contextlib.nullcontext():
            value = function(*inputs, **attributes)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        returned = value if type(value) is tuple else (value,)
        if tensors.OutOfBounds.last is not None:  # the implementation caught it
            raise tensors.OutOfBounds.last
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        outcome = _outcome(tensors.OutOfBounds.last or e, source)
        outcome["fatal"] = outcome["fatal"] or not computes(device)
        if outcome["fatal"]:  # the device answers nothing any more
            return {**outcome, "inputs": [], "outputs": []}
    fault = watch.after(allocations.replaced) or stream_stand_in.unawaited()
    outputs: list[dict[str, Any]] = []
    named = dict(zip(implementation.gives(direction), returned))
    guards = [entry for buffer, _ in loaded for entry in buffer.report()] + allocations.report(named)
    reply = {"inputs": [tensors.checksum(buffer) for buffer, _ in loaded], **_learned(recorded)}
    if not outcome:
        try:
            outputs = _outputs(implementation.gives(direction), returned, request["outputs"], memory, device)
            answers = {n: own.get(n, t) for n, t in named.items()}
            fault = fault or earlier.overwritten({n: t for n, t in answers.items()
                                                  if not _no_plain_tensor(t, device)})
        except Exception as e:  # a tensor that cannot even be looked at
            outcome = _outcome(e, source)
    if guards:
        reply["guards"] = guards
    if fault:
        reply["fault"] = fault
    return {**reply, **outcome, "outputs": [] if outcome else outputs}


def _begin(order: str) -> RecordedCalls | None:
    """Begins a launch of this order. Returns a recorder of its calls if the order asks for one, else None."""
    implementation_module.ONE_BY_ONE = order == "one by one"
    implementation_module.CONFIGURATION = int(order.partition("configuration ")[2] or 0)
    implementation_module.CONFIGURATIONS.clear()
    tensors.OutOfBounds.last = None
    stream_stand_in.begin()
    if traffic := _traffic():
        traffic.read = traffic.written = 0
    return RecordedCalls() if order == "recorded" else None


def _learned(recorded: RecordedCalls | None) -> dict[str, Any]:
    """Returns what a launch revealed about the implementation: calls, configurations, bytes moved."""
    learned: dict[str, Any] = {"calls": sorted(recorded.names) if recorded else [],
               "configurations": list(implementation_module.CONFIGURATIONS)}
    if (traffic := _traffic()) and traffic.read + traffic.written:
        learned["traffic"] = {"read_bytes": traffic.read, "write_bytes": traffic.written}
    return {name: value for name, value in learned.items() if value}


def _traffic() -> Any:
    """Returns the byte counts of Triton's interpreter; None if it is not loaded."""
    memory = sys.modules.get("interpreter_memory")
    return memory.Traffic if memory else None


@contextlib.contextmanager
def counted(device: torch.device) -> Iterator[None]:
    """Limits a profiler, if the driver runs this process under one, to the launches inside."""
    if "TRIAD_PROFILED" not in os.environ:
        yield
        return
    torch.cuda.profiler.start()
    try:
        yield
        torch.cuda.synchronize(device)
    finally:
        torch.cuda.profiler.stop()


def _outputs(names, returned: tuple, refs, memory: Memory, device: torch.device) -> list[dict[str, Any]]:
    """Reports every requested output. With more values than names, no value can be matched to a name."""
    by_name = dict(zip(names, returned))
    surplus = (f"one of {len(returned)} returned values, want {len(names)}" if len(returned) > len(names)
               else "")
    return [_output(ref, by_name.get(ref["name"]), surplus, memory, device) for ref in refs]


def _output(ref: dict[str, Any], value: Any, surplus: str, memory: Memory, device: torch.device) -> dict[str,
    Any]:
    """Reports one output. Its elements are copied out, in row-major order, if dtype and shape are as
    requested."""
    if value is None:
        return {"name": ref["name"], "present": False}
    wrong = surplus or _no_plain_tensor(value, device)
    if wrong:
        return {"name": ref["name"], "present": True, "type": wrong}
    stride = tensors.row_major(value.shape) if value.is_contiguous() else list(value.stride())
    report = {"name": ref["name"], "present": True, "dtype": tensors.NAMES.get(value.dtype, str(value.dtype)),
              "shape": list(value.shape), "stride": stride}
    if report["dtype"] == ref["dtype"] and report["shape"] == ref["shape"]:
        report["crc32"] = tensors.store(memory, ref, value)
    return report


def _no_plain_tensor(value: Any, device: torch.device) -> str:
    """Describes a value that is not a plain dense tensor on the device; "" for one that is. A subclass, or a
    tensor with replaced methods, could compute its answer only when it is read."""
    if type(value) is not torch.Tensor:
        name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        return f"a {name}, want a torch.Tensor"
    if replaced := tensors.own_methods(value):
        return f"a tensor with a {', '.join(replaced)} of its own, want a plain torch.Tensor"
    if value.layout is not torch.strided or value.is_nested or value.device.type != device.type:
        layout = "nested" if value.is_nested else str(value.layout)
        return f"a {layout} tensor on {value.device.type}, want a dense one on {device.type}"
    reach = value.storage_offset() + sum((n - 1) * s for n, s in zip(value.shape, value.stride())) + 1
    if value.numel() and reach * value.itemsize > value.untyped_storage().nbytes():
        return (f"a tensor whose elements reach over byte {reach * value.itemsize} of a memory of "
                f"{value.untyped_storage().nbytes()}")
    return ""


def _outcome(e: BaseException, source: str) -> dict[str, Any]:
    """Returns status, message and place of an exception. fatal: a CUDA error that lasts until the process
    ends."""
    while type(e).__name__ == "InterpreterError" and e.__cause__ is not None:
        e = e.__cause__
    text = str(e).strip()
    reply: dict[str, Any] = {"status": "CRASH", "message": f"{type(e).__name__}: {text}"[:MESSAGE_CHARACTERS],
                             "fatal": False}
    # a user's file gets no status by raising it
    if isinstance(e, peers.CutileFailed) and source.endswith(f"_{peers.CUTILE}.py"):
        reply.update(status=e.status, message=text[:MESSAGE_CHARACTERS])
    if isinstance(e, NotImplementedError):  # whoever raises it may have looked at values
        reply["message"] += (" (a call that began is no call declined: what an implementation does not take, "
                             "its accepts says)")
    # torch has no type of its own for a CPU that is out of memory.
    if isinstance(e, (MemoryError, torch.OutOfMemoryError)) or "DefaultCPUAllocator" in text:
        reply["status"] = "OOM"
    elif isinstance(e, torch.AcceleratorError):
        reply["fatal"] = True
    place = _place(e, source)
    if isinstance(e, tensors.OutOfBounds):
        reply.update(status="OUT_OF_BOUNDS", message=text[:MESSAGE_CHARACTERS])
        place = {**(place or {}), "block": list(e.program)}
    if place:
        reply["where"] = place
    return reply


def computes(device: torch.device) -> bool:
    """Reports whether the device still works after an exception: an error in Triton or a library may have
    broken the CUDA context."""
    if device.type != "cuda":
        return True
    try:
        torch.cuda.synchronize(device)
        return True
    except Exception:
        return False


def _place(e: BaseException, source: str) -> dict[str, Any] | None:
    """Returns the innermost line of the operator file in the traceback, else the innermost line outside of
    triad and libraries, such as one in a kernel that the file imports. A failed assert gives its own line,
    whichever file it is in."""
    frames = [f for f in traceback.extract_tb(e.__traceback__)
              if os.path.dirname(os.path.abspath(f.filename)) not in FOLDERS]
    nobodys = [f for f in frames if "site-packages" not in f.filename]
    ours = [f for f in frames if f.filename == source] or nobodys or frames
    if isinstance(e, AssertionError) and frames and "site-packages" not in frames[-1].filename:
        ours = frames
    return ({"kernel": ours[-1].name, "file": ours[-1].filename, "line": ours[-1].lineno or 0}
            if ours else None)
