"""How far a right kernel may be from the fp64 value of a torch function: a running error analysis.

A Bounded tensor carries the fp64 value r of an intermediate, t, how far fp32 arithmetic may have moved it from there, and s, the value under the
rounding points of a contract. Every aten operation has a form, and every form a rule:

    one operation     T(a + b) = T_a + T_b + u*|a + b|        T(a * b) = |a|*T_b + |b|*T_a + T_a*T_b + u*|a * b|
    a function        T(f(a)) = the largest |f(a +- T_a) - f(a)| + k*u*|f(a)|, k twice the error that CUDA documents for f, in units in the last place
    a reduction       T(sum x) = sum T_x + u*g(n)*sum(|x| + T_x)
    a product         T(A B) = |A| T_B + T_A |B| + T_A T_B + u*g(k)*(|A| + T_A)(|B| + T_B)
    moving            T of what is moved
    a rounding point  T + u_d*(|x| + T) + half the smallest subnormal of d

with u = 2^-24 (2^-53 under the contract "fp64", which says how far fp64 itself may round) and g(n) = min(n, 8*sqrt(n) + n/16) + 4, or n + 4 where the terms of a sum are equal (docs/judge.md). The same rules hold for what autograd
does, since its operations come through here too.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch.utils._pytree import tree_map

FP32 = (2.0 ** -24, 2.0 ** -149, torch.finfo(torch.float32).max)
FP64 = (2.0 ** -53, 2.0 ** -1074, torch.finfo(torch.float64).max)
U, SUBNORMAL, LARGEST = FP32  # SUBNORMAL is what one operation may lose below the normal range; _begin sets all three
FLUSHED = 2.0 ** -126  # what exp and its like may lose below fp32's normal range: fast forms flush
TF32 = 2.0 ** -11
ROUNDOFF = {torch.float32: 2.0 ** -24, torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8, torch.float8_e4m3fn: 2.0 ** -4, torch.float8_e5m2: 2.0 ** -3}
LOWEST = {torch.float32: 2.0 ** -149, torch.float16: 2.0 ** -24, torch.bfloat16: 2.0 ** -133, torch.float8_e4m3fn: 2.0 ** -9, torch.float8_e5m2: 2.0 ** -16}

aten = torch.ops.aten
torch.backends.cuda.enable_flash_sdp(False)  # attention by products and a softmax, whose rules are below; the switch holds for CPUs too


class UnknownForm(RuntimeError):
    """An operation that no rule covers."""


class Rules:
    """What holds for one computation: the contract, the dtype that its rounding points store in, and how errors grow in sums of equal terms."""

    def __init__(self, contract: str, dtype: torch.dtype, equal_terms: bool):
        self.contract, self.dtype, self.equal_terms = contract, dtype, equal_terms
        self.every_step = contract == "eager"
        self.simulated = contract in ("eager", "stored")

    def growth(self, n: int) -> float:
        usual = min(n, 8 * math.sqrt(n) + n / 16) + 4
        return max(usual, n + 4) if self.equal_terms else usual

    def product(self, n: int) -> float:
        """The relative error of a product's terms and of their sum."""
        return U * self.growth(n) + (2 * TF32 if self.contract == "tf32" else 0)


rules = Rules("fp32", torch.float32, False)


def _begin(contract: str, dtype: torch.dtype, equal_terms: bool) -> None:
    """Sets what holds for the computation that follows."""
    global rules, U, SUBNORMAL, LARGEST
    rules = Rules(contract, dtype, equal_terms)
    U, SUBNORMAL, LARGEST = FP64 if contract == "fp64" else FP32


class Bounded(torch.Tensor):
    """A value with its allowance. Values are fp64."""

    @staticmethod
    def __new__(cls, r: torch.Tensor, t: torch.Tensor, s: torch.Tensor | None = None):
        return torch.Tensor._make_wrapper_subclass(cls, r.shape, strides=r.stride(), storage_offset=r.storage_offset(), dtype=r.dtype, device=r.device)

    def __init__(self, r: torch.Tensor, t: torch.Tensor, s: torch.Tensor | None = None):
        self.r, self.t, self.s = r, t, r if s is None else s

    def __repr__(self) -> str:
        return f"Bounded({self.r}, +-{self.t})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _compose(func, args, kwargs or {})


def exactly(x: torch.Tensor) -> Bounded:
    """A value that the kernel gets as it is."""
    r = x.detach().to(torch.float64)
    return Bounded(r, torch.zeros_like(r))


def _given(x: torch.Tensor) -> Bounded:
    """An input. Where every step is stored in the dtype of the case, one of a wider dtype is first converted to it."""
    wider = rules.every_step and ROUNDOFF.get(x.dtype, 0.0) < ROUNDOFF.get(rules.dtype, U)
    return _round(exactly(x)) if wider else exactly(x)


def rounded(x: Any) -> Any:
    """x after a rounding point of the contract: it may be stored in the dtype of the case. Without a contract that says so, x."""
    if not isinstance(x, Bounded) or rules.contract != "stored":
        return x
    return _Stored.apply(x)


class _Stored(torch.autograd.Function):
    """A rounding point: what is stored in a dtype has its gradient stored in it too."""

    @staticmethod
    def forward(ctx, x):
        return _round(Bounded(x.r, x.t, x.s))

    @staticmethod
    def backward(ctx, grad):
        return _round(Bounded(grad.r, grad.t, grad.s))


def _round(x: Bounded, dtype: torch.dtype | None = None) -> Bounded:
    """x stored in a dtype, that of the case where no other is named."""
    dtype = dtype or rules.dtype
    u, lowest = ROUNDOFF.get(dtype, U), LOWEST.get(dtype, SUBNORMAL)
    rounding = u * (x.r.abs() + x.t) + lowest / 2
    return Bounded(x.r, x.t + torch.where((x.r == 0) | ~x.r.isfinite(), 0.0, rounding), x.s.to(dtype).to(torch.float64))


def _r(x: Any) -> Any:
    return x.r if isinstance(x, Bounded) else x


def _t(x: Any) -> Any:
    return x.t if isinstance(x, Bounded) else torch.zeros_like(x) if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def _s(x: Any) -> Any:
    return x.s if isinstance(x, Bounded) else x


def _error(x: Any) -> Any:
    """The allowance of an operand, 0 of a constant."""
    return x.t if isinstance(x, Bounded) else 0.0


def _size(x: Any) -> Any:
    r = _r(x)
    return r.abs() if isinstance(r, torch.Tensor) else abs(r)


def _compose(func, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Runs one operation on values and applies its rule."""
    packet = func.overloadpacket
    if "dtype" in kwargs and kwargs["dtype"] is not None and kwargs["dtype"].is_floating_point:
        kwargs = {**kwargs, "dtype": torch.float64}  # x.float() in a reference: what is computed here is fp64
    if packet in COMPOSITE:
        return COMPOSITE[packet](*args, **kwargs)
    name = packet.__name__
    if name.endswith("_") and not name.endswith("__") and isinstance(args[0], Bounded):
        return _in_place(func, args, kwargs)
    if packet in EXACT:
        return tree_map(lambda r: r, func(*tree_map(_r, args), **tree_map(_r, kwargs)))
    moves = packet in MOVES or getattr(func, "is_view", False)
    if not moves and packet not in FORMS:
        return _decomposed(func, args, kwargs)
    r = func(*tree_map(_r, args), **tree_map(_r, kwargs))
    t = func(*_allowances(packet, args), **tree_map(_t, kwargs)) if moves else FORMS[packet](r, *args, **kwargs)
    s = func(*tree_map(_s, args), **tree_map(_s, kwargs)) if rules.simulated else r
    return _joined(r, t, s, rounds=not moves and packet not in SELECTS)


def _allowances(packet, args: tuple) -> tuple:
    """The arguments of a move for allowances: what fills in is exact."""
    t = list(tree_map(_t, args))
    if packet in FILLS and len(t) > FILLS[packet] and isinstance(t[FILLS[packet]], (int, float)):
        t[FILLS[packet]] = 0.0
    return tuple(t)


def _joined(r: Any, t: Any, s: Any, rounds: bool) -> Any:
    if isinstance(r, (tuple, list)):
        joined = [_joined(*each, rounds) if isinstance(each[0], torch.Tensor) else each[0] for each in zip(r, t, s)]
        return joined if isinstance(r, list) else tuple(joined)
    if not isinstance(r, torch.Tensor) or not r.is_floating_point():
        return r
    if not rounds:
        return Bounded(r, t, s)
    t = t.expand_as(r) if t.shape != r.shape else t
    t = torch.where(r.abs() > LARGEST, math.inf, t)  # fp32 has no such number
    x = Bounded(r, torch.where(r.isfinite(), t, 0.0), s)  # an infinity or a NaN is that, or wrong
    return _round(x) if rules.every_step else x


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
        raise _unknown(func)
    r, t, s = _r(value), _t(value) if isinstance(value, torch.Tensor) else 0.0, _s(value)
    if self.s is not self.r:
        _write(self.s, s)
    _write(self.r, r)
    _write(self.t, t)
    return self


def _write(into: torch.Tensor, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        into.copy_(value)
    else:
        into.fill_(value)


def _unknown(func) -> UnknownForm:
    return UnknownForm(f"{func.overloadpacket.__name__} has no rule for its allowance: write it with operations that have one "
                       "(+ - * / ** exp log sqrt rsqrt tanh erf sigmoid silu gelu relu sin cos abs, sum mean var amax softmax cumsum, matmul conv, where, "
                       "and what moves elements)")


def _decomposed(func, args: tuple, kwargs: dict[str, Any]) -> Any:
    """An operation without a form of its own, as torch writes it with others."""
    result = func.decompose(*args, **kwargs) if func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd) else NotImplemented
    if result is not NotImplemented:
        return result
    from torch._decomp import decomposition_table
    if func not in decomposition_table:
        raise _unknown(func)
    return decomposition_table[func](*args, **kwargs)


# ---- one operation


def _add(r, a, b, alpha=1):
    return _error(a) + abs(alpha) * _error(b) + U * r.abs() + (0 if alpha in (1, -1) else U * abs(alpha) * _size(b))


def _rsub(r, a, b, alpha=1):
    return _add(r, b, a, alpha)


def _mul(r, a, b):
    ta, tb = _error(a), _error(b)
    return _weighted(_size(a), tb) + _weighted(_size(b), ta) + ta * tb + U * r.abs() + torch.where(r == 0, 0.0, SUBNORMAL)


def _weighted(weight, t):
    """weight * t, and 0 where the weight is exactly 0, even against an infinite t."""
    product = weight * t
    return torch.where(torch.as_tensor(weight == 0), 0.0, product) if isinstance(product, torch.Tensor) else product


def _div(r, a, b, rounding_mode=None):
    if rounding_mode is not None:
        raise UnknownForm("a division that rounds to whole numbers has no rule for its allowance")
    size, ta, tb = _size(b), torch.as_tensor(_error(a)), torch.as_tensor(_error(b))
    t = (ta + r.abs() * tb) / (size - tb)
    t = torch.where(torch.as_tensor(size > tb), t, math.inf)
    t = torch.where(tb.isinf() & torch.as_tensor(size > LARGEST), r.abs() + ta / size, t)  # a number beyond fp32 is infinity there, its reciprocal 0
    return t + 3 * U * r.abs() + torch.where(r == 0, 0.0, SUBNORMAL)


def _addcmul(self, a, b, value=1):
    return self + value * (a * b)


def _addcdiv(self, a, b, value=1):
    return self + value * (a / b)


# ---- functions


def _monotone(f: Callable, k: float, lost: float = 0.0, slope: Callable | None = None, least: float = -math.inf):
    """The rule of a function that rises or falls throughout its domain, which begins at least, good to k units of 2^-24. Fast forms lose slope(x)
    units more."""
    def rule(r, x, *rest, **named):
        low, high = f(torch.clamp(x.r - x.t, min=least), *rest), f(x.r + x.t, *rest)
        moved = torch.maximum((high - r).abs(), (low - r).abs())
        moved = torch.where(x.t == 0, 0.0, torch.nan_to_num(moved, nan=math.inf, posinf=math.inf))
        units = k + (slope(x.r) if slope else 0.0)
        return moved + torch.where(r == 0, 0.0, units * U * r.abs() + lost)
    return rule


def _lipschitz(f: Callable, constant: float, k: float, absolute: float = 0.0):
    """The rule of a function whose slope is at most constant."""
    def rule(r, x, *rest, **named):
        return constant * x.t + k * U * r.abs() + absolute * U
    return rule


_ERF = _monotone(torch.erf, 4, SUBNORMAL)


def _erf(r, x):
    return _ERF(r, x) + 3 * U  # torch's vectorised one is Abramowitz and Stegun 7.1.26: good to 1.5e-7, not to a share of itself


def _sigmoid(r, x):
    lost = 2.0 ** -128  # where exp(-x) overflows
    return 0.25 * x.t * torch.clamp(4 * torch.maximum(torch.sigmoid(x.r - x.t) * torch.sigmoid(x.t - x.r), torch.sigmoid(x.r + x.t) * torch.sigmoid(-x.r - x.t)), max=1) \
        * _straddles(x) + U * (2 * x.r.abs() + 8) * r + lost


def _straddles(x):
    """4 where the slope of sigmoid may be larger between x - T and x + T than at both ends, else 1."""
    return torch.where(x.r.abs() < x.t, 4.0, 1.0)


def _silu(r, x):
    return 1.1 * x.t + U * (2 * x.r.abs() + 12) * r.abs() + x.r.abs() * 2.0 ** -128 + torch.where(r == 0, 0.0, SUBNORMAL * (1 + x.r.abs()))


def _gelu(r, x, approximate="none"):  # 6: as in _erf
    return 1.13 * x.t + (4 if approximate == "tanh" else 6) * U * x.r.abs() + 8 * U * r.abs()


def _pow(x, exponent):
    if not isinstance(exponent, (int, float)):
        return torch.exp(exponent * torch.log(x))
    whole = {1: lambda: x.clone(), 2: lambda: x * x, 3: lambda: x * x * x, 4: lambda: (x * x) * (x * x), 0.5: lambda: torch.sqrt(x), -0.5: lambda: torch.rsqrt(x),
             -1: lambda: torch.reciprocal(x), -2: lambda: torch.reciprocal(x * x), 0: lambda: torch.ones_like(x), 1.5: lambda: x * torch.sqrt(x)}
    if exponent in whole:
        return whole[exponent]()
    r = torch.pow(x.r, exponent)
    size = torch.maximum(torch.pow(x.r.abs() + x.t, exponent), torch.pow((x.r.abs() - x.t).clamp(min=0), exponent))
    smaller = torch.minimum(torch.pow(x.r.abs() + x.t, exponent), torch.pow((x.r.abs() - x.t).clamp(min=0), exponent))
    return _joined(r, torch.where(x.t == 0, 0.0, size - smaller) + 16 * U * r.abs() + torch.where(r == 0, 0.0, SUBNORMAL), torch.pow(x.s, exponent), True)


# ---- reductions


def _dims(x, dim) -> list[int]:
    every = list(range(x.dim()))
    if dim is None or dim == []:
        return every
    return [d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)]


def _count(x, dim) -> int:
    return math.prod(x.shape[d] for d in _dims(x, dim))


def _sum(r, x, dim=None, keepdim=False, dtype=None):
    dims = _dims(x, dim)
    n = _count(x, dim)
    if n <= 1:
        return x.t.sum(dims, keepdim) if dims else x.t
    return x.t.sum(dims, keepdim) + U * rules.growth(n) * (x.r.abs() + x.t).sum(dims, keepdim)


def _mean(x, dim=None, keepdim=False, dtype=None):
    n = _count(x, dim)
    return torch.sum(x, _dims(x, dim), keepdim) / n


def _var(x, dim=None, correction=1, keepdim=False, unbiased=None):
    n = _count(x, dim)
    less = (1 if unbiased else 0) if isinstance(unbiased, bool) else 1 if correction is None else correction
    centred = x - _mean(x, dim, keepdim=True)
    return torch.sum(centred * centred, _dims(x, dim), keepdim) / max(n - less, 0)


def _var_aten(x, dim=None, unbiased_or_keepdim=None, keepdim=False, *, correction=1):
    if isinstance(dim, bool):  # var(x, unbiased)
        return _var(x, None, 1 if dim else 0)
    if isinstance(unbiased_or_keepdim, bool):  # var.dim(x, dim, unbiased, keepdim)
        return _var(x, dim, 1 if unbiased_or_keepdim else 0, keepdim)
    return _var(x, dim, correction, keepdim)


def _var_mean(x, dim=None, *rest, **named):
    keepdim = named.get("keepdim", rest[-1] if len(rest) > 1 else False)
    return _var_aten(x, dim, *rest, **named), _mean(x, None if isinstance(dim, bool) else dim, keepdim)


def _norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    if ord == 2:
        return torch.sqrt(torch.sum(x * x, _dims(x, dim), keepdim))
    if ord == 1:
        return torch.sum(torch.abs(x), _dims(x, dim), keepdim)
    raise UnknownForm(f"a norm of order {ord} has no rule for its allowance")


def _largest(r, x, dim=(), keepdim=False):
    """Two maxima lie no further apart than the values do."""
    return x.t.amax(_dims(x, dim if dim != () else None), keepdim)


def _largest_where(r, x, dim=None, keepdim=False):
    if dim is None:
        return x.t.amax()
    return x.t.amax(dim, keepdim), r[1]


def _cumsum(r, x, dim, dtype=None):
    n = x.shape[dim] if x.dim() else 1
    count = torch.arange(1, n + 1, dtype=torch.float64).reshape([-1 if d == dim % max(x.dim(), 1) else 1 for d in range(x.dim())])
    usual = torch.minimum(count, 8 * count.sqrt() + count / 16) + 4
    growth = torch.maximum(usual, count + 4) if rules.equal_terms else usual
    return x.t.cumsum(dim) + U * growth * (x.r.abs() + x.t).cumsum(dim)


def _softmax(x, dim, half_to_float=False):
    shifted = x - torch.amax(x, dim, keepdim=True)
    e = torch.exp(shifted)
    y = e / torch.sum(e, dim, keepdim=True)
    return Bounded(y.r, torch.where(y.r.isfinite(), torch.nan_to_num(y.t, nan=1.0).clamp(max=1.0), 0.0), y.s)  # what sums to 1 is off by 1 at most


def _log_softmax(x, dim, half_to_float=False):
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


def _softmax_backward(grad, y, dim, input_dtype=None):
    return y * (grad - torch.sum(grad * y, dim, keepdim=True))


def _log_softmax_backward(grad, y, dim, input_dtype=None):
    return grad - torch.exp(y) * torch.sum(grad, dim, keepdim=True)


def _logsumexp(x, dim, keepdim=False):
    # It moves no further than its inputs; a kernel's own sum of exponentials begins with exact ones.
    exact = Bounded(x.r, torch.zeros_like(x.t), x.s)
    m = torch.amax(exact, dim, keepdim=True)
    m = torch.where(torch.isfinite(m), m, torch.zeros_like(m))
    out = torch.log(torch.sum(torch.exp(exact - m), dim, keepdim=True)) + m
    out = Bounded(out.r, out.t + torch.where(out.r.isfinite(), x.t.amax(_dims(x, dim), True), 0.0), out.s)
    return out if keepdim else torch.squeeze(out, tuple(_dims(x, dim)))


# ---- products


def _product(multiply: Callable, r, a, b, n: int):
    ta, tb = _error(a), _error(b)
    sizes = multiply(_size(a) + ta, _size(b) + tb)
    t = rules.product(n) * sizes
    if isinstance(a, Bounded):
        t = t + multiply(ta, _size(b) + tb)
    if isinstance(b, Bounded):
        t = t + multiply(_size(a), tb)
    return t


def _mm(r, a, b):
    return _product(torch.matmul, r, a, b, a.shape[-1])


def _convolution(r, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    def convolve(x, w):
        return aten.convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups)
    t = _product(convolve, r, x, w, math.prod(w.shape[1:]))
    return t if bias is None else t + _error(bias).reshape(1, -1, *[1] * (r.dim() - 2)) + U * r.abs()


def _convolution_backward(result, grad, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    def parts(grad, x, w):
        return aten.convolution_backward(grad, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask)
    tg, tx, tw = _error(grad), _error(x), _error(w)
    zero = torch.zeros_like
    g, xr, wr = _size(grad), _size(x), _size(w)
    tg, tx, tw = (e if isinstance(e, torch.Tensor) else zero(v) for e, v in ((tg, g), (tx, xr), (tw, wr)))
    sizes, from_grad, from_rest = parts(g + tg, xr + tx, wr + tw), parts(tg, xr + tx, wr + tw), parts(g, tx, tw)
    spatial = math.prod(grad.shape[2:])
    terms = (math.prod(w.shape[2:]) * w.shape[0], grad.shape[0] * spatial, grad.shape[0] * spatial)
    out = [None if r is None else rules.product(n) * a + b + (c if k < 2 else 0)
           for k, (r, n, a, b, c) in enumerate(zip(result, terms, sizes, from_grad, from_rest))]
    return tuple(out)


def _linear(func: Callable, terms: Callable):
    """The rule of what adds elements up with weights that are none below 0: pooling, scattering. terms says how many meet in one element."""
    def rule(r, *args, **named):
        def run(value: Callable) -> torch.Tensor:
            return func(*tree_map(value, args), **named)
        n = terms(*args, **named)
        return run(_t) + (U * rules.growth(n) * run(lambda a: _size(a) + _error(a) if isinstance(a, torch.Tensor) and a.is_floating_point() else a) if n > 1 else 0)
    return rule


def _window(x, size, *rest, **named) -> int:
    return math.prod(size) if len(size) > 1 else size[0] ** 2


def _addmm(bias, a, b, *, beta=1, alpha=1):
    product = torch.matmul(a, b)
    product = product if alpha == 1 else alpha * product
    return product + (bias if beta == 1 else beta * bias)


# ---- what autograd calls


def _silu_backward(grad, x):
    s = torch.sigmoid(x)
    return grad * (s * (1 + x * torch.sigmoid(-x)))


def _gelu_backward(grad, x, approximate="none"):
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        th = torch.tanh(inner)
        return grad * (0.5 * (1 + th) + 0.5 * x * (1 - th * th) * (math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)))
    density = torch.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * density)


def _threshold_backward(grad, x, threshold):
    return torch.where(_r(x) > threshold, grad, torch.zeros_like(grad))


COMPOSITE: dict[Any, Callable] = {
    aten.pow: _pow, aten.mean: _mean, aten.var: _var_aten, aten.var_mean: _var_mean, aten.std: lambda *a, **k: torch.sqrt(_var_aten(*a, **k)),
    aten.linalg_vector_norm: _norm, aten._softmax: _softmax, aten._log_softmax: _log_softmax, aten.logsumexp: _logsumexp,
    aten._softmax_backward_data: _softmax_backward, aten._log_softmax_backward_data: _log_softmax_backward,
    aten.addmm: _addmm, aten.baddbmm: _addmm, aten.addcmul: _addcmul, aten.addcdiv: _addcdiv, aten.mv: lambda a, b: torch.mm(a, b[:, None])[:, 0],
    aten.dot: lambda a, b: torch.mm(a[None, :], b[:, None])[0, 0], aten.square: lambda x: x * x,
    aten.silu_backward: _silu_backward, aten.gelu_backward: _gelu_backward, aten.sigmoid_backward: lambda grad, y: grad * ((1 - y) * y),
    aten.tanh_backward: lambda grad, y: grad * (1 - y * y), aten.threshold_backward: _threshold_backward,
    aten.lerp: lambda a, b, w: a + w * (b - a), aten.maximum: lambda a, b: torch.where(_r(a) >= _r(b), a, b),
    aten.minimum: lambda a, b: torch.where(_r(a) <= _r(b), a, b),
}
"""Operations that are others put together."""

FORMS: dict[Any, Callable] = {
    aten.add: _add, aten.sub: _add, aten.rsub: _rsub, aten.mul: _mul, aten.div: _div, aten.neg: lambda r, x: x.t, aten.abs: lambda r, x: x.t,
    aten.reciprocal: lambda r, x: _div(r, 1.0, x), aten.sum: _sum, aten.amax: _largest, aten.amin: _largest, aten.max: _largest_where, aten.min: _largest_where,
    aten.cumsum: _cumsum, aten.mm: _mm, aten.bmm: _mm, aten.convolution: _convolution,
    aten.exp: _monotone(torch.exp, 4, FLUSHED, torch.abs), aten.exp2: _monotone(torch.exp2, 4, FLUSHED, torch.abs),
    aten.expm1: _monotone(torch.expm1, 4), aten.log: _monotone(torch.log, 4, least=0.0), aten.log2: _monotone(torch.log2, 4, least=0.0),
    aten.log10: _monotone(torch.log10, 4, least=0.0), aten.log1p: _monotone(torch.log1p, 4, least=-1.0), aten.sqrt: _monotone(torch.sqrt, 4, SUBNORMAL, least=0.0),
    aten.rsqrt: _monotone(torch.rsqrt, 6, SUBNORMAL, least=0.0), aten.tanh: _monotone(torch.tanh, 6, SUBNORMAL), aten.erf: _erf,
    aten.atan: _monotone(torch.atan, 4, SUBNORMAL), aten.sin: _lipschitz(torch.sin, 1, 4, 2.0 ** -20), aten.cos: _lipschitz(torch.cos, 1, 4, 2.0 ** -20),
    aten.sigmoid: _sigmoid, aten.silu: _silu, aten.gelu: _gelu, aten.relu: lambda r, x: torch.where(x.r > -x.t, x.t, 0.0),
    aten.clamp: lambda r, x, *a, **k: x.t, aten.clamp_min: lambda r, x, *a: x.t, aten.clamp_max: lambda r, x, *a: x.t, aten.hardtanh: lambda r, x, *a: x.t,
    aten.leaky_relu: lambda r, x, slope=0.01: torch.where(x.r > x.t, x.t, max(1.0, abs(slope)) * x.t + U * r.abs()),
    aten.convolution_backward: _convolution_backward,
    aten.avg_pool2d: _linear(aten.avg_pool2d, _window), aten.avg_pool2d_backward: _linear(aten.avg_pool2d_backward, lambda g, x, size, *a: _window(x, size)),
    aten.max_pool2d_with_indices: lambda r, x, *a: (torch.max_pool2d(x.t, *a), r[1]),
    aten.max_pool2d_with_indices_backward: _linear(aten.max_pool2d_with_indices_backward, lambda g, x, size, *a: _window(x, size)),
    aten.scatter_add: _linear(aten.scatter_add, lambda x, dim, index, src: index.numel()), aten.index_add: _linear(aten.index_add, lambda x, dim, index, *a: index.numel() + 1),
    aten.index_put: _linear(aten.index_put, lambda x, indices, values, accumulate=False: values.numel() + 1 if accumulate else 1),
    aten.embedding_dense_backward: _linear(aten.embedding_dense_backward, lambda g, indices, *a: indices.numel()),
    aten.sort: lambda r, x, dim=-1, descending=False: (x.t.amax(dim, True).expand_as(x.t), r[1]),
    aten.topk: lambda r, x, k, dim=-1, *a: (x.t.amax(dim, True).expand_as(r[0]), r[1]),
    aten.elu: _lipschitz(torch.nn.functional.elu, 1, 8, 4), aten.softplus: _lipschitz(torch.nn.functional.softplus, 1, 8, 2),
}
"""The rule of each operation that computes."""

SELECTS = {aten.max_pool2d_with_indices, aten.sort, aten.topk, aten.neg, aten.abs, aten.amax, aten.amin, aten.max, aten.min, aten.relu, aten.clamp, aten.clamp_min, aten.clamp_max, aten.hardtanh}
"""Forms that round nothing."""

MOVES = {getattr(aten, name) for name in (
    "clone detach _to_copy contiguous view reshape _unsafe_view expand permute transpose t unsqueeze squeeze slice select split split_with_sizes unbind narrow "
    "cat stack flip roll tril triu gather index index_select embedding where masked_fill constant_pad_nd repeat as_strided diagonal unfold "
    "slice_backward select_backward diagonal_backward lift_fresh alias new_zeros zeros_like new_empty empty_like new_empty_strided scatter slice_scatter select_scatter "
    "_reshape_alias unsqueeze_copy expand_copy take repeat_interleave pixel_shuffle").split() if hasattr(aten, name)}
"""What moves elements: the allowance moves with them."""

FILLS = {aten.masked_fill: 2, aten.constant_pad_nd: 2, aten.scatter: 3, aten.where: 2}
"""Where a move has a number that fills in; where() may have it in both places."""

EXACT = {getattr(aten, name) for name in (
    "lt le gt ge eq ne isnan isinf isfinite argmax argmin sign round floor ceil trunc sgn ones_like full_like new_full new_ones bernoulli is_same_size "
    "logical_not logical_and logical_or nonzero argsort floor_divide rand_like randn_like _local_scalar_dense equal").split() if hasattr(aten, name)}
"""What decides: it is decided as in fp64, and its result is exact."""


def compute(function: Callable, tensors: tuple, attributes: dict[str, Any], contract: str, dtype: torch.dtype, equal_terms: bool, count: int,
            upstream: dict[int, torch.Tensor] | None = None, differentiable: tuple[int, ...] = ()) -> list[Bounded | None]:
    """function(*tensors, **attributes), which gives count tensors, with the allowance of each; with upstream, the gradients of its outputs by their number, those of
    the differentiable inputs instead."""
    _begin(contract, dtype, equal_terms)
    inputs = [_given(x) if x.is_floating_point() else x for x in tensors]
    if upstream is None:
        with torch.no_grad():
            return _listed(function(*inputs, **attributes), count)
    with torch.enable_grad():
        for i in differentiable:
            inputs[i].requires_grad_()
        outputs = _listed(function(*inputs, **attributes), count)
        pairs = [(outputs[i], exactly(g)) for i, g in upstream.items() if isinstance(outputs[i], torch.Tensor) and outputs[i].requires_grad]
        wanted = [inputs[i] for i in differentiable]
        if not pairs:
            return [exactly(torch.zeros_like(x.r)) for x in wanted]
        return list(torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True, materialize_grads=True))


def chained(forward: Callable, backward: Callable, plan: str, tensors: tuple, count: int, attributes: dict[str, Any], contract: str, dtype: torch.dtype,
            equal_terms: bool, gradients: int) -> list[Bounded]:
    """backward behind forward, whose saved outputs were stored in between. Each word of plan is an argument of backward: t2 is tensors[2], o0:fp16
    forward's output 0 stored in fp16. forward takes the first count tensors."""
    from tensors import DTYPES
    _begin(contract, dtype, equal_terms)
    given = [_given(x) if x.is_floating_point() else x for x in tensors]
    with torch.no_grad():
        outputs = forward(*given[:count], **attributes)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        args = []
        for word in plan.split():
            number, _, stored = word[1:].partition(":")
            args.append(given[int(number)] if word[0] == "t" else _round(outputs[int(number)], DTYPES[stored]))
        return _listed(backward(*args, **attributes), gradients)


def _listed(value: Any, count: int) -> list:
    """What a function returned, which must be count tensors."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(values) != count or not all(isinstance(v, torch.Tensor) for v in values):
        raise TypeError(f"it returns {', '.join('a tensor' if isinstance(v, torch.Tensor) else type(v).__name__ for v in values)}: want {count} tensor{'s' * (count != 1)}")
    return [exactly(v) if isinstance(v, torch.Tensor) and not isinstance(v, Bounded) else v for v in values]

