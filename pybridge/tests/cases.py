"""Small ragged cases of the six operators: the tensors of one call, and its truth from the operator file's own reference in fp64."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import Any

import torch

from client import OPERATORS
from tensors import DTYPES, NAMES

FP8_MAX = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


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
    dtype: str  # the case's name
    inputs: list[torch.Tensor]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    output_dtype: torch.dtype | None = None
    statistics: tuple[str, ...] = ()  # outputs that are fp32 whatever the dtype

    def truth(self) -> list[torch.Tensor]:
        """The outputs in fp64."""
        value = reference_of(self.op).reference(*(t.double() for t in self.inputs), **self.attributes)
        return list(value) if isinstance(value, tuple) else [value]

    def dtype_of(self, name: str) -> torch.dtype:
        """What dtype an output has."""
        return torch.float32 if name in self.statistics else self.output_dtype or self.inputs[0].dtype


@dataclass
class Backward:
    """The backward of a case: the tensors that a kernel takes, those that a row which recomputes takes, and the gradients in fp64."""

    saved: list[torch.Tensor]
    chained: list[torch.Tensor]
    gradients: list[str]
    truth: list[torch.Tensor]
    dtypes: list[torch.dtype]


def _normal(generator: torch.Generator, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def forward_cases(op: str, dtype: str) -> list[Case]:
    """The cases of an operator in a dtype."""
    generator = torch.Generator().manual_seed(7)
    return _MAKERS[op](generator, dtype)


def _softmax(generator, dtype):
    return [Case("softmax", dtype, [_normal(generator, DTYPES[dtype], *shape)], outputs=["y"]) for shape in ((3, 7), (33, 1023), (2, 4099), (1, 1))]


def _layernorm(generator, dtype):
    d = DTYPES[dtype]
    return [Case("layernorm", dtype, [_normal(generator, d, r, c) + 1, 1 + _normal(generator, d, c) / 4, _normal(generator, d, c) / 4], {"eps": 1e-5},
                 ["y", "mean", "rstd"], statistics=("mean", "rstd")) for r, c in ((3, 7), (130, 517))]


def _swiglu(generator, dtype):
    d = DTYPES[dtype]
    return [Case("swiglu", dtype, [_normal(generator, d, *shape), _normal(generator, d, *shape)], outputs=["y"]) for shape in ((3, 7), (67, 1025))]


def _rope(generator, dtype):
    d, cases = DTYPES[dtype], []
    for (b, s, hq, hk, dim), interleaved, offset in (((2, 5, 3, 1, 6), False, 0), ((1, 33, 4, 2, 128), True, 9)):
        angle = torch.arange(offset + s + 3, dtype=torch.float64)[:, None] * 10000.0 ** (-2 * torch.arange(dim // 2, dtype=torch.float64) / dim)
        cases.append(Case("rope", dtype, [_normal(generator, d, b, s, hq, dim), _normal(generator, d, b, s, hk, dim), angle.cos().float(), angle.sin().float()],
                          {"interleaved": interleaved, "offset": offset}, ["q_out", "k_out"]))
    return cases


def quantise(x: torch.Tensor, dtype: torch.dtype, scaling: str, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """x [r, k] in fp8 with the scales of one operand: blocks are rows x 128."""
    x = x.float()
    if scaling == "tensor":
        amax = x.abs().max().reshape(1)
        full = amax
    elif scaling == "row":
        amax = x.abs().amax(1)
        full = amax[:, None]
    else:
        padded = torch.nn.functional.pad(x, (0, -x.shape[1] % 128, 0, -x.shape[0] % rows))
        amax = padded.reshape(padded.shape[0] // rows, rows, -1, 128).abs().amax((1, 3))
        full = amax.repeat_interleave(rows, 0)[:x.shape[0]].repeat_interleave(128, 1)[:, :x.shape[1]]
    largest = FP8_MAX[dtype]
    return (x / (full / largest)).clamp(-largest, largest).to(dtype), amax / largest


def _fp8_gemm(generator, dtype):
    da, db = {"e4m3": ("e4m3", "e4m3"), "e5m2_e4m3": ("e5m2", "e4m3"), "e4m3_e5m2": ("e4m3", "e5m2")}[dtype]
    cases = []
    for (m, n, k), scaling, out in (((17, 33, 40), "tensor", "fp32"), ((130, 257, 700), "row", "bf16"), ((33, 200, 300), "block", "bf16"), ((16, 32, 64), "tensor", "fp16")):
        a, scale_a = quantise(_normal(generator, torch.float32, m, k), DTYPES[da], scaling, 1)
        b, scale_b = quantise(_normal(generator, torch.float32, n, k), DTYPES[db], scaling, 128)
        cases.append(Case("fp8_gemm", dtype, [a, scale_a, b, scale_b], {"scaling": scaling, "out": out}, ["c"], DTYPES[out]))
    return cases


def _flash_attention(generator, dtype):
    d, cases = DTYPES[dtype], []
    for (b, hq, hkv, sq, sk, dim), causal in (((2, 4, 2, 37, 150, 40), True), ((1, 2, 2, 33, 17, 16), True), ((1, 3, 1, 5, 140, 64), False)):
        cases.append(Case("flash_attention", dtype, [_normal(generator, d, b, hq, sq, dim), _normal(generator, d, b, hkv, sk, dim), _normal(generator, d, b, hkv, sk, dim)],
                          {"causal": causal, "scale": float(torch.tensor(dim ** -0.5))}, ["o", "lse"], statistics=("lse",)))
    return cases


_MAKERS = {"softmax": _softmax, "layernorm": _layernorm, "swiglu": _swiglu, "rope": _rope, "fp8_gemm": _fp8_gemm, "flash_attention": _flash_attention}


def backward_of(case: Case) -> Backward:
    """The backward of a case with a normal upstream gradient. Saved tensors are the truth rounded once; the gradients follow from them."""
    generator = torch.Generator().manual_seed(11)
    module, out = reference_of(case.op), dict(zip(case.outputs, case.truth()))
    dtype = case.inputs[0].dtype
    upstream = {n: _normal(generator, dtype if dtype.itemsize > 1 else torch.float32, *t.shape) for n, t in out.items() if n not in case.statistics}
    saved = {n: t.to(case.dtype_of(n)) for n, t in out.items()}
    x = case.inputs
    if case.op == "fp8_gemm":
        return _fp8_backward(case, module, upstream["c"])
    taken = {
        "softmax": lambda: [saved["y"], upstream["y"]],
        "layernorm": lambda: [x[0], x[1], saved["mean"], saved["rstd"], upstream["y"]],
        "swiglu": lambda: [*x, upstream["y"]],
        "rope": lambda: [x[2], x[3], upstream["q_out"], upstream["k_out"]],
        "flash_attention": lambda: [*x, saved["o"], saved["lse"], upstream["o"]],
    }[case.op]()
    truth = module.reference_backward(*(t.double() for t in taken), **case.attributes)
    names = max((i.gradients for i in module.IMPLEMENTATIONS), key=len)
    truth = list(truth) if isinstance(truth, tuple) else [truth]
    return Backward(taken, [*x, *upstream.values()], list(names), truth, [x[i].dtype for i in module.DIFFERENTIABLE])


def _fp8_backward(case: Case, module, g: torch.Tensor) -> Backward:
    (a, scale_a, b, scale_b), scaling = case.inputs, case.attributes["scaling"]
    wide = [module._dequantised(t, s, scaling, rows, torch.float64) for t, s, rows in ((a, scale_a, 1), (b, scale_b, 128))]
    taken = []
    for t, dtype, rows in ((g, torch.float8_e5m2, 1), (wide[1].T, torch.float8_e4m3fn, 128), (g.T, torch.float8_e5m2, 1), (wide[0].T, torch.float8_e4m3fn, 128)):
        taken += quantise(t.contiguous(), dtype, scaling, rows)
    truth = module.reference_backward(*(t.double() for t in taken), **case.attributes)
    return Backward(taken, taken, ["grad_a", "grad_b"], list(truth), [case.output_dtype] * 2)


def largest_error(got: torch.Tensor, truth: torch.Tensor) -> float:
    """The largest error of got, each in units of its element's truth plus the tensor's root mean square. Infinities and NaN must coincide."""
    got = got.double()
    finite = truth.isfinite()
    if got.shape != truth.shape or not torch.equal(got.isnan(), truth.isnan()) or not torch.equal(got[~finite].nan_to_num(), truth[~finite].nan_to_num()):
        return float("inf")
    if not finite.any():
        return 0.0
    t, g = truth[finite], got[finite]
    unit = t.abs() + t.square().mean().sqrt()
    return float(((g - t).abs() / unit.clamp_min(1e-30)).max())


BOUND = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""What largest_error may be, by the dtype of the output: a few roundings in it, not a verdict."""

__all__ = ["BOUND", "Backward", "Case", "NAMES", "backward_of", "forward_cases", "largest_error", "quantise", "reference_of"]
