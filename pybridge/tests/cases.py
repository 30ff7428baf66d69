"""Small ragged cases of every operator, made from its spec: the tensors of one call, and its truth from
the operator file's own reference in fp64."""

from __future__ import annotations

import functools
import importlib.util
import math
from dataclasses import dataclass, field
from typing import Any

import torch

from client import OPERATORS

from implementation import states_roundings
from specs import Sizes, backward_inputs, quick_sizes, spec_of
from tensors import DTYPES, is_number

FP8_MAX = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
PACKED = torch.float4_e2m1fn_x2
FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


@functools.cache
def reference_of(op: str):
    """The operator file as a module, loaded here for its reference alone."""
    spec = importlib.util.spec_from_file_location(f"reference_{op}", OPERATORS / f"{op}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Case:
    """One size of an operator in one dtype."""

    op: str
    sizes: Sizes
    inputs: list[torch.Tensor]
    drawn: dict[str, torch.Tensor] = field(
        default_factory=dict
    )  # in fp32, what quantised inputs were made from

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by name."""
        return self.sizes.attributes

    @property
    def outputs(self) -> list[str]:
        """The names of all outputs, optional ones too."""
        return [t["name"] for t in spec_of(self.op)["outputs"]]

    @property
    def given(self) -> list[str]:
        """The names of the outputs that are a choice of the kernel's."""
        return [t["name"] for t in spec_of(self.op)["outputs"] if t.get("given")]

    def dtype_of(self, name: str) -> torch.dtype:
        """What dtype an output has."""
        return next(self.sizes.dtype_of(t) for t in spec_of(self.op)["outputs"] if t["name"] == name)

    def truth(self) -> list[torch.Tensor]:
        """The outputs in fp64."""
        value = reference_of(self.op).reference(*widened(self.op, self.inputs), **self.attributes)
        return [v.double() for v in (value if isinstance(value, tuple) else (value,))]


def widened(op: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the reference of an operator is given: tensors in fp64, unless its contract states roundings."""
    if states_roundings(reference_of(op).IMPLEMENTATIONS):
        return tensors
    return [t.double() if is_number(t) else t for t in tensors]


@dataclass
class Backward:
    """The backward of a case: the tensors that a kernel takes, those that a row which recomputes takes,
    and the gradients in fp64."""

    saved: list[torch.Tensor]
    chained: list[torch.Tensor]
    gradients: list[str]
    truth: list[torch.Tensor]
    dtypes: list[torch.dtype]


def _normal(generator: torch.Generator, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def packed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x [..., k] in fp4, two numbers a byte and the first in the low half, and a scale in e4m3 for 16."""
    groups = x.unflatten(-1, (-1, 16))
    scale = (groups.abs().amax(-1) / 6).to(torch.float8_e4m3fn)
    numbers = groups / scale.float().clamp_min(2.0**-9)[..., None]
    codes = (numbers.abs()[..., None] - FP4).abs().argmin(-1) + 8 * numbers.signbit()
    pairs = codes.to(torch.uint8).flatten(-2).unflatten(-1, (-1, 2))
    return (pairs[..., 0] | pairs[..., 1] << 4).view(PACKED), scale


def quantised(
    x: torch.Tensor, dtype: torch.dtype, scales: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """x [r, k] in an fp8 dtype and its scales, the shape of which says what a group is: all of x, a row,
    or 1 or 128 rows by 128 columns. Or a batch of such matrices, with scales of blocks."""
    if x.dim() == 3:
        parts = [quantised(matrix, dtype, scales[1:]) for matrix in x]
        codes, of_blocks = ([part[i] for part in parts] for i in range(2))
        empty = torch.empty(x.shape).to(dtype), torch.empty(scales)
        return (torch.stack(codes), torch.stack(of_blocks)) if parts else empty
    if len(scales) == 1:
        amax = torch.nn.functional.pad(x.abs(), (0, 1)).amax(1)  # a column of zeros: there may be none
        amax = amax.amax().reshape(1) if scales == (1,) else amax
        full = amax[:, None]
    else:
        rows = 1 if scales[0] == x.shape[0] else 128
        padded = torch.nn.functional.pad(x, (0, -x.shape[1] % 128, 0, -x.shape[0] % rows))
        amax = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // 128, 128).abs().amax((1, 3))
        full = amax.repeat_interleave(rows, 0)[: x.shape[0]].repeat_interleave(128, 1)[:, : x.shape[1]]
    largest = FP8_MAX[dtype]
    return (x / (full / largest)).clamp(-largest, largest).to(dtype), amax / largest


class Draw:
    """Fills the tensors of a spec."""

    def __init__(self, sizes: Sizes, seed: int, drawn: dict[str, torch.Tensor]):
        self.sizes, self.drawn = sizes, dict(drawn)
        self.generator = torch.Generator().manual_seed(seed)

    def source(self, name: str) -> torch.Tensor:
        """What a quantised tensor is made from: an input, or the gradient of an output, in fp32."""
        if name not in self.drawn:
            spec = spec_of(self.sizes.op)
            tensor = next(
                t for t in [*spec["inputs"], *spec["outputs"]] if t["name"] == name.removeprefix("grad_")
            )
            *rows, cols = self.sizes.shape_of(tensor)
            cols *= 2 if self.sizes.dtype_of(tensor) == PACKED else 1
            self.drawn[name] = _normal(self.generator, torch.float32, *rows, cols)
        return self.drawn[name]

    def quantised(
        self, tensor: dict[str, Any], among: list[dict[str, Any]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The tensor "quantize [transposed] SOURCE by SCALE" and its scales."""
        words = tensor["fill"].split()
        x = self.source(words[-3])
        scale = next(t for t in among if t["name"] == words[-1])
        if self.sizes.dtype_of(tensor) == PACKED:
            return packed(x)
        return quantised(
            x.T.contiguous() if words[1] == "transposed" else x,
            self.sizes.dtype_of(tensor),
            self.sizes.shape_of(scale),
        )

    def tensor(self, tensor: dict[str, Any], among: list[dict[str, Any]]) -> torch.Tensor:
        """One tensor of the list among, as its fill says (internal/op/fill.go)."""
        words, shape, dtype = (
            tensor.get("fill", "").split(),
            self.sizes.shape_of(tensor),
            self.sizes.dtype_of(tensor),
        )
        kind = words[0] if words else ""
        if kind == "quantize":
            return self.quantised(tensor, among)[0]
        if kind == "scale":
            return self.quantised(next(t for t in among if t["name"] == words[-1]), among)[1]
        if kind in ("cos", "sin"):
            positions, half = shape
            turns = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
            return getattr(torch.arange(positions, dtype=torch.float64)[:, None] * turns, kind)().to(dtype)
        if kind == "about":
            value = self.sizes.attributes[words[-1]]
            return torch.randint(value - 3, value + 7, shape, generator=self.generator).to(dtype)
        if kind == "mask":
            return torch.randint(0, 2, shape, generator=self.generator).to(dtype)
        if kind == "offsets":
            n = self.sizes.dims[words[-1]]
            cuts = torch.randint(0, n + 1, (max(shape[0] - 2, 0),), generator=self.generator).sort().values
            return torch.cat([torch.zeros(1, dtype=dtype), cuts, torch.full((1,), n)])[-shape[0]:].to(dtype)
        if kind == "lengths":
            sizes = self.sizes.dims | self.sizes.attributes
            least = sizes[words[4]] if len(words) == 5 else 0
            return torch.randint(least, sizes[words[2]] + 1, shape, generator=self.generator).to(dtype)
        if kind == "places":
            order = torch.randperm(self.sizes.dims[words[-1]], generator=self.generator)
            return order[: math.prod(shape)].reshape(shape).to(dtype)
        if kind == "choices":
            n = (self.sizes.dims | self.sizes.attributes)[words[-1]]
            order = torch.rand((*shape[:-1], n), generator=self.generator).argsort(-1)[..., : shape[-1]]
            return torch.where(torch.rand(shape, generator=self.generator) < 0.25, -1, order).to(dtype)
        if kind == "blocks":
            size, tokens, n = self.sizes.attributes[words[-1]], shape[1], shape[-1]
            blocks = max(n, -(-tokens // size))
            order = torch.rand((*shape[:-1], blocks), generator=self.generator).argsort(-1)[..., :n]
            own = torch.arange(tokens)[:, None, None] // size
            return torch.where((order > own) | (order * size >= tokens), -1, order).to(dtype)
        if kind == "classes":
            x = torch.randint(0, self.sizes.dims[words[2]], shape, generator=self.generator)
            return torch.where(torch.arange(len(x)) % 8 == 3, self.sizes.attributes[words[-1]], x).to(dtype)
        if not dtype.is_floating_point:
            low, high = (0, 2) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
            return torch.randint(low, high, shape, generator=self.generator).to(dtype)
        if kind == "uniform":
            return torch.rand(shape, generator=self.generator, dtype=torch.float64).to(dtype)
        plain = _normal(self.generator, torch.float64, *shape)
        logits = spec_of(self.sizes.op)["check"].get("logits", [])
        if tensor["name"] in logits[1:] and "scale" not in self.sizes.attributes:
            plain /= shape[-1] ** 0.5  # the product of both is what a softmax takes, and nothing scales it
        return {"": plain, "addend": plain, "weight": 1 + plain / 4, "bias": plain / 4}[kind].to(dtype)


def forward_cases(op: str, dtype: str) -> list[Case]:
    """The cases of an operator in a dtype, without those whose results are zero by nature: a rounding
    error would be all there is."""
    return [case_of(s) for s in quick_sizes(op, dtype) if not s.trivial() or 0 in s.dims.values()]


def case_of(sizes: Sizes) -> Case:
    """The case of some sizes, with normal data."""
    inputs, draw = spec_of(sizes.op)["inputs"], Draw(sizes, 7, {})
    return Case(sizes.op, sizes, [draw.tensor(t, inputs) for t in inputs], draw.drawn)


def backward_of(case: Case) -> Backward:
    """The backward of a case with a normal upstream gradient. Saved tensors are the truth rounded once;
    the gradients follow from them."""
    spec, draw = spec_of(case.op), Draw(case.sizes, 11, case.drawn)
    saved = {n: t.to(case.dtype_of(n)) for n, t in zip(case.outputs, case.truth())}
    given = dict(zip((t["name"] for t in spec["inputs"]), case.inputs)) | saved
    among = backward_inputs(case.op)
    declared = {t["name"]: t for t in spec["backward"].get("tensors", [])}
    upstream = {
        t["name"]: draw.tensor(t | {"fill": ""}, among)
        for t in among
        if t["name"].startswith("grad_") and t["name"] not in declared
    }
    taken = [
        upstream[t["name"]]
        if t["name"] in upstream
        else given[t["name"]]
        if t["name"] in given
        else draw.tensor(t, among)
        for t in among
    ]
    truth = reference_of(case.op).reference_backward(*widened(case.op, taken), **case.attributes)
    like = {f"grad_{t['name']}": t for t in spec["inputs"]} | declared
    names = spec["backward"]["outputs"]
    return Backward(
        taken,
        [*case.inputs, *upstream.values()] if upstream else taken,
        names,
        [t.double() for t in (truth if isinstance(truth, tuple) else (truth,))],
        [case.sizes.dtype_of(like[n]) for n in names],
    )


def largest_error(got: torch.Tensor, truth: torch.Tensor) -> float:
    """The largest error of got, each in units of its element's truth plus the tensor's root mean square.
    Infinities and NaN must coincide."""
    got = got.double()
    finite = truth.isfinite()
    if (
        got.shape != truth.shape
        or not torch.equal(got.isnan(), truth.isnan())
        or not torch.equal(got[~finite].nan_to_num(), truth[~finite].nan_to_num())
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    t, g = truth[finite], got[finite]
    unit = t.abs() + t.square().mean().sqrt()
    return float(((g - t).abs() / unit.clamp_min(1e-30)).max())


BOUND = {
    **dict.fromkeys((torch.uint8, torch.int8, torch.int32, torch.int64, torch.bool, torch.uint32,
                     torch.float8_e4m3fn, torch.float8_e5m2), 0.0),
    torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2,
}
"""What largest_error may be, by the dtype of the output: a few roundings in it, not a verdict."""

__all__ = [
    "BOUND",
    "DTYPES",
    "Backward",
    "Case",
    "backward_of",
    "case_of",
    "forward_cases",
    "largest_error",
    "quantised",
    "reference_of",
]
