"""What an operator file registers, and the few names that every operator file shares.

bridge_folders.py puts this folder on sys.path, so `triton/<op>.py` writes

    from implementation import Implementation, tl, triton

where `triton` and `tl` are the real packages if Triton is installed and usable, and otherwise a stand-in
whose `jit` returns the function unchanged: the file still loads, its torch rows still run, and the worker
reports its Triton rows as UNAVAILABLE.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

RECOMPILE_LIMIT = 256
"""Graphs of one function: dtypes times attributes times layouts times the sizes 0 and 1, which dynamo always
specialises on."""

FLOATS = ("fp32", "fp16", "bf16")


def _import_triton() -> tuple[Any, Any, str]:
    """Returns triton, triton.language and, if they are missing, the reason. A folder named triton imports as
    an empty namespace, so a successful import proves nothing."""
    try:
        import triton
        if not hasattr(triton, "jit"):
            raise ImportError(f"triton is the folder {list(triton.__path__)}, not the package")
        import triton.language as tl
    except ImportError as e:
        return SimpleNamespace(jit=lambda function: function), SimpleNamespace(constexpr=object), str(e)
    return triton, tl, ""


triton, tl, TRITON_MISSING = _import_triton()
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Whether kernels run in Triton's interpreter, on a CPU. A program costs about a millisecond there and
registers cost nothing, so tiles are larger."""


@dataclass(frozen=True)
class Implementation:
    """One version of an operator: the row `name` of every table.

    forward, backward  take tensors by position in the order of the spec (a backward: the order of [backward]
                       inputs), attributes by keyword as bool, int, float or str, and return a tensor or a
                       tuple in the spec's order of outputs, with None for an
                       optional output that is not given. Outputs are contiguous. Any exception is a CRASH,
                       NotImplementedError included.
    outputs, gradients the names of the results of forward and backward.
    perhaps            further outputs of forward, in this order, each of which may be None.
    contract           a name, or a dict by (pass, dtype); "fp32" where it has no entry.
    dtypes             the supported case dtypes; backward_dtypes if its backward has others.
    recomputes         the backward cannot take saved tensors: it gets all inputs of the operator, then the
                       upstream gradients.
    accepts            accepts(pass, *tensors, **attributes) returns why a call is not supported, in a
                       sentence, or None. Its tensors have shape, strides, dtype, device and alignment
                       (data_ptr() modulo 4096), and no values (tensor_descriptions.py), so that no
                       implementation chooses its data. To decline a call and take other data of the same
                       sizes is FAIL.
    constraint         the condition that accepts tests, in one sentence.
    nondeterministic   outputs whose bits may differ between two runs.
    compiled           torch.compile makes it, which takes seconds a case: one or two cases a dtype with
                       --quick, and its allocations are not poisoned.
    module             of a peer's row: the module to import before the first call.
    devices            2: a call is spread over two GPUs, and its functions are of all_to_all.Halves.
    remark             a sentence about its times.
    """

    name: str
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None
    outputs: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    contract: str | Mapping[tuple[str, str], str] = "fp32"
    dtypes: tuple[str, ...] = FLOATS
    backward_dtypes: tuple[str, ...] | None = None
    recomputes: bool = False
    accepts: Callable[..., str | None] | None = None
    constraint: str = ""
    nondeterministic: tuple[str, ...] = ()
    compiled: bool = False
    module: str = ""
    remark: str = ""
    perhaps: tuple[str, ...] = ()
    devices: int = 1

    def ready(self) -> None:
        """Imports the module that its functions use. This takes seconds, and must happen before a launch
        poisons allocations."""
        if self.module:
            importlib.import_module(self.module)

    def function(self, direction: str) -> Callable[..., Any] | None:
        """Returns the function of a pass, None if the implementation has no such pass."""
        return self.forward if direction == "forward" else self.backward

    def gives(self, direction: str) -> tuple[str, ...]:
        """Returns the names of a pass's results, the optional ones last."""
        return self.outputs + self.perhaps if direction == "forward" else self.gradients

    def dtypes_of(self, direction: str) -> tuple[str, ...]:
        """Returns the case dtypes that a pass supports."""
        return (self.backward_dtypes if direction == "backward" and self.backward_dtypes is not None
                else self.dtypes)

    def contract_of(self, direction: str, dtype: str) -> str:
        """Returns the contract that a pass declares for a dtype."""
        if isinstance(self.contract, str):
            return self.contract
        return self.contract.get((direction, dtype), "fp32")


def states_roundings(rows: list[Implementation]) -> bool:
    """Whether all rows of an operator are under the contract exact, which states every rounding: its
    reference has them in the dtypes that kernels get, and not in fp64."""
    return all(row.contract == "exact" for row in rows)


@functools.cache
def capability(device: Any) -> tuple[int, int] | None:
    """Returns the compute capability of a torch.device, (major, minor); None for a CPU."""
    if device.type != "cuda":
        return None
    import torch

    return torch.cuda.get_device_capability(device)


def too_old(device: Any, what: str, least: tuple[int, int],
            below: tuple[int, int] | None = None) -> str | None:
    """Returns the sentence for an `accepts` if a GPU cannot run `what`: its capability is less than `least`,
    or at least `below`. Returns None otherwise. GPUs of 12.0 have less shared memory for a block than 9.0."""
    found = capability(device)
    if found is None:
        return None
    if found < least:
        asked = f"{least[0]}.{least[1]} or newer"
    elif below and found >= below:
        asked = f"below {below[0]}.{below[1]}"
    else:
        return None
    return f"{what} needs a GPU of compute capability {asked}, this one has {found[0]}.{found[1]}"


def rounded(x: Any) -> Any:
    """Marks a rounding point of a reference: a kernel under the contract "stored" may store x in the dtype of
    the case before it goes on. Returns x, except while error bounds are computed."""
    bounded = sys.modules.get("bounded")
    return bounded.rounded(x) if bounded else x


def sixteen_bit(contract: str, direction: str | None = None) -> dict[tuple[str, str], str]:
    """Returns a contract for fp16 and bf16, of one pass or of both; fp32 keeps its default."""
    passes = (direction,) if direction else ("forward", "backward")
    return {(p, d): contract for p in passes for d in ("fp16", "bf16")}


def numbers(x: Any) -> Any:
    """Returns the numbers of an input alone, for what a reference computes of them bit by bit. Returns x,
    except while error bounds are computed."""
    bounded = sys.modules.get("bounded")
    return x.r if bounded and isinstance(x, bounded.Bounded) else x


def next_power_of_2(n: int) -> int:
    """Returns the smallest power of two that is at least n and at least 1."""
    return 1 << max(n - 1, 0).bit_length()


def tile_side(size: int, most: int) -> int:
    """Returns rows or columns of a tile of a product, or the depth of a step: a power of two, at most `most`,
    and on a GPU at least 16, the smallest operand of a tensor core instruction."""
    return max(1 if INTERPRETED else 16, min(most, next_power_of_2(size)))


def short_rows(rows: int, cols: int, elements: int) -> dict[str, int]:
    """Returns how many rows, and columns at a time, a program of this many elements takes: several rows if
    they are short."""
    block = min(elements, next_power_of_2(cols))
    return {"ROWS": min(elements // block, next_power_of_2(rows)), "BLOCK": block}


def ceildiv(a: int, b: int) -> int:
    """Returns a / b rounded up, for b > 0."""
    return -(-a // b)


def aligned(x: Any) -> Any:
    """Returns x, or a copy of it, contiguous and aligned to 16 bytes, for kernels that copy 16 bytes at
    once."""
    x = x.contiguous()
    return x.clone() if x.data_ptr() % 16 else x


DENSE = "contiguous tensors"


def dense(direction: str, *tensors: Any, **attributes: Any) -> str | None:
    """The accepts of a row whose kernels need contiguous inputs."""
    for i, t in enumerate(tensors):
        if not t.is_contiguous():
            return f"input {i} of the {direction} has strides {list(t.stride())}: want contiguous tensors"
    return None


LIGER_ROWS = "rows of 1 to 65536 elements"


def fused_by_liger(direction: str, first: Any, *rest: Any, **attributes: Any) -> str | None:
    """The accepts of Liger-Kernel's kernels that hold a row of [rows, cols] in one program."""
    cols = first.shape[1]
    return None if 0 < cols <= 65536 else f"Liger-Kernel's kernel takes {LIGER_ROWS}, not {cols}"


ONE_BY_ONE = False
"""Whether each gradient comes from a separate backward, in which only its input requires one. The worker
sets it for a launch that asks for it."""


CONFIGURATION = 0
"""The index of the configuration that autotune takes in the interpreter, modulo their number. The worker sets
it for a launch."""

CONFIGURATIONS: list[str] = []
"""The configurations of the kernel in this launch with the most of them, if it has more than one."""


def gradients(function: Callable[..., Any], inputs: tuple, upstream: tuple, differentiable: tuple[int, ...],
              **attributes) -> tuple:
    """Runs function(*inputs, **attributes) and backpropagates upstream, the gradients of its first outputs,
    through it. Returns the gradients of inputs[i], i in differentiable, contiguous."""
    if not ONE_BY_ONE:
        return Graph(function, inputs, upstream, differentiable, attributes).back()
    return tuple(Graph(function, inputs, upstream, (i,), attributes).back()[0] for i in differentiable)


class Graph:
    """Autograd's graph of one call function(*inputs, **attributes), from the gradients upstream of its first
    outputs to those of inputs[i], i in differentiable."""

    def __init__(self, function: Callable[..., Any], inputs: tuple, upstream: tuple,
                 differentiable: tuple[int, ...], attributes: dict[str, Any]):
        import torch
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_(i in differentiable) for i, t in enumerate(inputs)]
            outputs = function(*leaves, **attributes)
        self.wanted = [leaves[i] for i in differentiable]
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        self.ends = [(o, g) for o, g in zip(outputs, upstream) if o.requires_grad]

    def back(self, retain: bool = False) -> tuple:
        """Returns the gradients, contiguous. With retain, back can be called again."""
        import torch
        if not self.ends:  # nothing depends on the inputs: attention without a key
            return tuple(torch.zeros_like(t, memory_format=torch.contiguous_format) for t in self.wanted)
        grads = torch.autograd.grad([o for o, _ in self.ends], self.wanted, [g for _, g in self.ends],
                                    retain_graph=retain, materialize_grads=True)
        return tuple(g.contiguous() for g in grads)


@dataclass(frozen=True)
class Autograd:
    """The backward that torch's autograd derives from a function of so many inputs, for a row with
    recomputes. It takes those inputs and then the upstream gradients of the function's first outputs, and
    returns the gradients of the inputs at the positions differentiable.

    A call runs the function and its backward. Only the backward is timed, through a graph made before.
    """

    function: Callable[..., Any]
    inputs: int
    differentiable: tuple[int, ...]

    def __call__(self, *tensors, **attributes) -> tuple:
        return gradients(self.function, tensors[:self.inputs], tensors[self.inputs:], self.differentiable,
                         **attributes)

    def graph(self, *tensors, **attributes) -> Graph:
        """Runs the function on the first of the tensors. back() of the returned graph is the backward
        alone."""
        return Graph(self.function, tensors[:self.inputs], tensors[self.inputs:], self.differentiable,
                     attributes)


def differentiable_row(name: str, function: Callable[..., Any], inputs: int, differentiable: tuple[int, ...],
                       outputs: tuple[str, ...],
                       gradients: tuple[str, ...], **more) -> Implementation:
    """Returns the row of any function that torch's autograd can differentiate, such as `SomeFunction.apply`
    of a torch.autograd.Function. Autograd derives the backward. The inputs at the positions differentiable
    have the gradients named."""
    return Implementation(name, function, Autograd(function, inputs, differentiable), outputs, gradients,
                          recomputes=True, **more)


SIZES_ALONE = False
"""Whether torch.compile specialises on the sizes of the call. The worker sets it for calls that are timed, or
judged in order to be timed: torch.compile is used that way, and a kernel for dynamic sizes may have been
chosen for small ones, which makes it up to 40 times slower."""


@contextmanager
def sizes_alone(wanted: bool = True):
    """A context in which torch.compile specialises on the sizes of the call, if that is wanted."""
    global SIZES_ALONE
    SIZES_ALONE = wanted
    try:
        yield
    finally:
        SIZES_ALONE = False


def compile_for(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function with torch.compile at its first call: one dynamic version for all sizes, which
    Inductor keeps in its cache, and one that is compiled for each size (SIZES_ALONE)."""
    compiled: dict[bool, Callable[..., Any]] = {}

    def call(*tensors, **attributes):
        if SIZES_ALONE not in compiled:
            import torch
            import torch._functorch.config
            # Past the recompile limit dynamo silently runs the function eagerly, which is another
            # implementation.
            torch._dynamo.config.fail_on_recompile_limit_hit = True
            torch._dynamo.config.recompile_limit = RECOMPILE_LIMIT
            # Otherwise compiled code may reuse the memory of tensors saved for its backward, and the graph
            # cannot be retained to time the backward alone. The compiler and each call read this setting.
            torch._functorch.config.donated_buffer = False
            compiled[SIZES_ALONE] = torch.compile(function, fullgraph=True, dynamic=not SIZES_ALONE)
        try:
            return compiled[SIZES_ALONE](*tensors, **attributes)
        except Exception as fault:
            if not half_written(fault):
                raise
            return compiled[SIZES_ALONE](*tensors, **attributes)

    return call


def beside_peers(*rows: Implementation) -> list[Implementation]:
    """Rows that are there where the peers are (`triad setup --peers`), on a GPU: those of torch.compile that
    are only something to compare with. Compiling them takes longer than the other rows of an operator do."""
    import torch
    wanted = os.environ.get("TRIAD_PEERS") and torch.cuda.is_available() and not INTERPRETED
    return list(rows) if wanted else []


def torch_rows(function: Callable[..., Any], inputs: int, differentiable: tuple[int, ...],
               **more) -> list[Implementation]:
    """Returns the row torch/eager of a function that torch's autograd can differentiate and, beside the
    peers, torch/compile; inputs and differentiable as for differentiable_row."""
    return [differentiable_row("torch/eager", function, inputs, differentiable, **more),
            *beside_peers(differentiable_row("torch/compile", compile_for(function), inputs, differentiable,
                                       compiled=True, **more))]


def half_written(fault: BaseException) -> bool:
    """Removes the library of Inductor's cache that could not be loaded, if the fault names one, and reports
    whether there was one. Inductor's compiler writes a library in place, so a process that was killed leaves
    part of one, and every later process would fail."""
    cache = Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR", os.devnull)).resolve()
    for name in re.findall(r"ImportError: (/\S+\.so): ", f"{type(fault).__name__}: {fault}"):
        library = Path(name).resolve()
        if cache in library.parents and library.is_file():
            library.unlink()
            return True
    return False
