"""Tensors with an error bound, and the rules by which torch's operations propagate both.

A Bounded tensor carries the fp64 value r of an intermediate, its error bound t for fp32 arithmetic, and s,
the value under the rounding points of a contract. Every aten operation on it is looked up: operations that
move elements move their error bounds, comparisons are decided as in fp64, and for the rest
error_bound_rules.py fills in FORMS and COMPOSITE.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

FP32 = (2.0 ** -24, 2.0 ** -149, torch.finfo(torch.float32).max)
FP64 = (2.0 ** -53, 2.0 ** -1074, torch.finfo(torch.float64).max)
TF32 = 2.0 ** -10  # tensor cores drop the low bits of fp32 operands
ROUNDOFF = {torch.float32: 2.0 ** -24, torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8,
            torch.float8_e4m3fn: 2.0 ** -4, torch.float8_e5m2: 2.0 ** -3}
LOWEST = {torch.float32: 2.0 ** -149, torch.float16: 2.0 ** -24, torch.bfloat16: 2.0 ** -133,
          torch.float8_e4m3fn: 2.0 ** -9, torch.float8_e5m2: 2.0 ** -16}

aten = torch.ops.aten
# attention by products and a softmax, which have rules; the switch holds for CPUs too
torch.backends.cuda.enable_flash_sdp(False)


class UnknownForm(RuntimeError):
    """An operation that no rule covers."""


class Rules:
    """What holds for one computation: the contract, the dtype that its rounding points store in, and how
    errors grow in sums of equal terms.

    u is the unit roundoff, subnormal what one operation may lose below the normal range, largest the largest
    finite number."""

    def __init__(self) -> None:
        self.begin("fp32", torch.float32, False)
        self.moved: Any = None  # moves what is chosen by; None: it is as in fp64
        self.chose = self.took = False  # whether something was chosen by a value, and a number taken

    def begin(self, contract: str, dtype: torch.dtype, equal_terms: bool) -> None:
        """Sets the parameters of the next computation."""
        self.contract, self.dtype, self.equal_terms = contract, dtype, equal_terms
        self.every_step = contract in ("eager", "fast")
        self.simulated = self.every_step or contract == "stored"
        self.u, self.subnormal, self.largest = FP64 if contract == "fp64" else FP32

    def growth(self, n: int) -> float:
        usual = min(n, 8 * math.sqrt(n) + n / 16) + 4
        return max(usual, n + 4) if self.equal_terms else usual

    def product(self, n: int) -> float:
        """Returns the relative errors of a product's terms and of their sum."""
        return self.u * self.growth(n) + (2 * TF32 if self.contract == "tf32" else 0)


rules = Rules()


class Bounded(torch.Tensor):
    """A value r with its error bound e and its simulated value s, in fp64. The error bound is T everywhere
    else: t() is a method that a tensor has."""

    @staticmethod
    def __new__(cls, r: torch.Tensor, t: torch.Tensor, s: torch.Tensor | None = None):
        return torch.Tensor._make_wrapper_subclass(cls, r.shape, strides=r.stride(),
                                                   storage_offset=r.storage_offset(), dtype=r.dtype,
                                                   device=r.device)

    def __init__(self, r: torch.Tensor, t: torch.Tensor, s: torch.Tensor | None = None):
        self.r, self.e, self.s = r, t, r if s is None else s

    def __repr__(self) -> str:
        return f"Bounded({self.r}, +-{self.e})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _compose(func, args, kwargs or {})


def exactly(x: torch.Tensor) -> Bounded:
    """Returns a value that the kernel gets without error."""
    r = x.detach().to(torch.float64)
    return Bounded(r, torch.zeros_like(r))


def writable(x: torch.Tensor) -> Bounded:
    """Returns a value that an operation writes into. Its simulated value is a separate tensor, since the two
    may come to differ. A value from Made is returned unchanged."""
    if isinstance(x, Bounded):
        return x
    made = exactly(x)
    return Bounded(made.r, made.e, made.r.clone()) if rules.simulated else made


class Made(TorchDispatchMode):
    """A context in which floating-point tensors that a function creates carry error bounds too, so that it
    may write results into them. Unwritten elements of an empty one are 0."""

    pauses = 0

    @classmethod
    @contextlib.contextmanager
    def paused(cls):
        """A context in which tensors are created without error bounds, such as the weights of a model."""
        cls.pauses += 1
        try:
            yield
        finally:
            cls.pauses -= 1

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if self.pauses or func.overloadpacket not in MAKES or not made.is_floating_point() or made.is_meta:
            return made
        return writable(torch.zeros_like(made) if func.overloadpacket in EMPTY else made)


def given(x: torch.Tensor) -> Bounded:
    """Returns an input. If every step is stored in the dtype of the case, an input of a wider dtype is
    converted to it first."""
    wider = rules.every_step and ROUNDOFF.get(x.dtype, 0.0) < ROUNDOFF.get(rules.dtype, rules.u)
    return stored_as(exactly(x)) if wider else exactly(x)


def rounded(x: Any) -> Any:
    """Returns x after a rounding point of the contract, which may store it in the dtype of the case; x itself
    under any other contract."""
    if not isinstance(x, Bounded) or rules.contract != "stored":
        return x
    return _Stored.apply(x)


class _Stored(torch.autograd.Function):
    """A rounding point: what is stored in a dtype has its gradient stored in it too."""

    @staticmethod
    def forward(ctx, x):
        return stored_as(Bounded(x.r, x.e, x.s))

    @staticmethod
    def backward(ctx, grad):
        return stored_as(Bounded(grad.r, grad.e, grad.s))


def stored_as(x: Bounded, dtype: torch.dtype | None = None) -> Bounded:
    """Returns x stored in a dtype, by default that of the case."""
    dtype = dtype or rules.dtype
    u, lowest = ROUNDOFF.get(dtype, rules.u), LOWEST.get(dtype, rules.subnormal)
    rounding = u * (x.r.abs() + x.e) + lowest / 2
    parts = torch.view_as_real(x.s) if x.s.is_complex() else x.s
    s = parts.to(dtype).to(torch.float64)
    return Bounded(x.r, x.e + torch.where((x.r == 0) | ~x.r.isfinite(), 0.0, rounding),
                   torch.view_as_complex(s) if x.s.is_complex() else s)


def value_of(x: Any) -> Any:
    return x.r if isinstance(x, Bounded) else x


def choice_of(x: Any) -> Any:
    """Returns the value that decides a choice."""
    if not isinstance(x, Bounded):
        return x
    rules.chose = True
    return rules.moved.chosen_by(x) if rules.moved else x.r


def number_of(x: Any) -> Any:
    """Returns the value of a number that Python takes out of a tensor."""
    if not isinstance(x, Bounded):
        return x
    rules.took = True
    return rules.moved.taken(x) if rules.moved else x.r


def error_bound_of(x: Any) -> Any:
    return (x.e if isinstance(x, Bounded) else torch.zeros_like(x) if isinstance(x, torch.Tensor)
            and x.is_floating_point() else x)


def simulated_of(x: Any) -> Any:
    return x.s if isinstance(x, Bounded) else x


def error_of(x: Any) -> Any:
    """Returns the error bound of an operand, 0 for a constant."""
    return x.e if isinstance(x, Bounded) else 0.0


def size_of(x: Any) -> Any:
    r = value_of(x)
    if isinstance(r, torch.Tensor):
        return r if r.dtype == torch.bool else r.abs()
    return abs(r)


def _compose(func, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Runs one operation on values and applies its rule."""
    packet = func.overloadpacket
    if isinstance(kwargs.get("out"), Bounded):
        return _into(kwargs["out"], packet(*args, **{k: v for k, v in kwargs.items() if k != "out"}))
    if "dtype" in kwargs and kwargs["dtype"] is not None and kwargs["dtype"].is_floating_point:
        kwargs = {**kwargs, "dtype": torch.float64}  # x.float() in a reference: what is computed here is fp64
    if packet in COMPOSITE:
        return COMPOSITE[packet](*args, **kwargs)
    name = packet.__name__
    if name.endswith("_") and not name.endswith("__") and isinstance(args[0], Bounded):
        return _in_place(func, args, kwargs)
    args = tree_map(_widened, args)
    if packet in EXACT:
        taken = packet is aten._local_scalar_dense
        return func(*tree_map(number_of if taken else choice_of, args), **tree_map(choice_of, kwargs))
    moves = packet not in FORMS and (packet in MOVES or getattr(func, "is_view", False))
    if not moves and packet not in FORMS:
        return _decomposed(func, args, kwargs)
    r = func(*tree_map(choice_of if packet in CHOOSES else value_of, args), **tree_map(value_of, kwargs))
    t = (func(*_error_bounds(packet, args), **tree_map(error_bound_of, kwargs)) if moves
         else FORMS[packet](r, *args, **kwargs))
    s = func(*tree_map(simulated_of, args), **tree_map(simulated_of, kwargs)) if rules.simulated else r
    return joined(r, t, s, rounds=not moves and packet not in SELECTS)


def _widened(x: Any) -> Any:
    """Converts an operand without a bound to fp64, such as a mask as numbers."""
    plain = isinstance(x, torch.Tensor) and not isinstance(x, Bounded) and x.dtype in ROUNDOFF
    return x.double() if plain else x


def _error_bounds(packet, args: tuple) -> tuple:
    """Returns the arguments of a move for error bounds: numbers that fill in are exact."""
    t = list(tree_map(error_bound_of, args))
    if packet in FILLS and len(t) > FILLS[packet] and isinstance(t[FILLS[packet]], (int, float)):
        t[FILLS[packet]] = 0.0
    return tuple(t)


def joined(r: Any, t: Any, s: Any, rounds: bool) -> Any:
    if isinstance(r, (tuple, list)):
        parts = [joined(*each, rounds) if isinstance(each[0], torch.Tensor) else each[0]
                 for each in zip(r, t, s)]
        return parts if isinstance(r, list) else tuple(parts)
    if not isinstance(r, torch.Tensor) or not (r.is_floating_point() or r.is_complex()):
        return r
    if not rounds:
        return Bounded(r, t, s)
    t = t.expand_as(r) if t.shape != r.shape else t
    t = torch.where(r.abs() > rules.largest, math.inf, t)  # fp32 has no such number
    x = Bounded(r, torch.where(r.isfinite(), t, 0.0), s)  # an infinity or a NaN is that, or wrong
    return stored_as(x) if rules.every_step else x


def _in_place(func, args: tuple, kwargs: dict[str, Any]) -> Any:
    """x.add_(y): as x + y, written back, so that views of x see it."""
    self = args[0]
    plain = getattr(aten, func.overloadpacket.__name__[:-1], None)
    if func.overloadpacket is aten.copy_:
        value = args[1]
    elif func.overloadpacket is aten.zero_:
        value = 0.0
    elif func.overloadpacket is aten.fill_:
        value = args[1]
    elif plain is not None:
        value = plain(*args, **kwargs)
    else:
        raise unknown(func)
    return _into(self, value)


def _into(self: Bounded, value: Any) -> Bounded:
    """Returns self after writing a value into it, so that views of it change too."""
    r, t, s = (value_of(value), error_bound_of(value) if isinstance(value, torch.Tensor)
               else 0.0, simulated_of(value))
    if self.s is not self.r:
        _write(self.s, s)
    _write(self.r, r)
    _write(self.e, t)
    return self


def _write(into: torch.Tensor, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        into.copy_(value)
    else:
        into.fill_(value)


def unknown(func) -> UnknownForm:
    return UnknownForm(f"{func.overloadpacket.__name__} has no rule for its error bound: write it with "
                       "operations that have one "
                       "(+ - * / ** exp log sqrt rsqrt tanh erf sigmoid silu gelu relu sin cos abs, sum mean "
                       "var amax softmax cumsum, matmul conv, where, "
                       "and what moves elements)")


def _decomposed(func, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Computes an operation without a rule by torch's own decomposition."""
    result = (func.decompose(*args, **kwargs)
              if func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)
              else NotImplemented)
    if result is not NotImplemented:
        return result
    from torch._decomp import decomposition_table
    if func not in decomposition_table:
        raise unknown(func)
    return decomposition_table[func](*args, **kwargs)


# ---- the operations

COMPOSITE: dict[Any, Callable] = {}
"""Operations that are others put together: filled in by error_bound_rules.py."""

FORMS: dict[Any, Callable] = {}
"""The rule of each operation that computes, given its value and its arguments: filled in by
error_bound_rules.py."""

SELECTS = {aten.max_pool2d_with_indices, aten.max_pool3d_with_indices, aten.sort, aten.topk,
           aten.neg, aten.abs, aten.amax, aten.amin,
           aten.max, aten.min, aten.relu, aten.clamp, aten.clamp_min, aten.clamp_max, aten.hardtanh}
"""Forms that round nothing."""

CHOOSES = {aten.sort, aten.topk, aten.max, aten.min}
"""Forms that give the places of what they choose, too."""

MOVES = {getattr(aten, name) for name in (
    "clone detach _to_copy contiguous view reshape _unsafe_view expand permute transpose t unsqueeze squeeze "
    "slice select split split_with_sizes unbind narrow "
    "cat stack flip roll tril triu gather index index_select embedding where masked_fill constant_pad_nd "
    "repeat as_strided diagonal unfold "
    "slice_backward select_backward diagonal_backward lift_fresh alias new_zeros zeros_like new_empty "
    "empty_like new_empty_strided scatter slice_scatter select_scatter "
    "_reshape_alias unsqueeze_copy expand_copy take repeat_interleave pixel_shuffle").split()
    if hasattr(aten, name)}
"""What moves elements: the error bound moves with them."""

EMPTY = {aten.empty, aten.empty_strided}
MAKES = EMPTY | {aten.zeros, aten.ones, aten.full}
"""What makes a tensor of numbers."""

FILLS = {aten.masked_fill: 2, aten.constant_pad_nd: 2, aten.scatter: 3, aten.where: 2}
"""Where a move has a number that fills in; where() may have it in both places."""

EXACT = {getattr(aten, name) for name in (
    "lt le gt ge eq ne isnan isinf isfinite argmax argmin sign round floor ceil trunc sgn ones_like "
    "full_like new_full new_ones bernoulli is_same_size "
    "logical_not logical_and logical_or nonzero argsort searchsorted bucketize floor_divide rand_like "
    "randn_like _local_scalar_dense equal").split() if hasattr(aten, name)}
"""What decides: it is decided as in fp64, and its result is exact; where it decides an output,
bounded_choices.py says how far that may be off."""
