"""The rules by which error bounds compose, one for each aten operation that computes:

    one operation     T(a + b) = T_a + T_b + u*|a + b|
                      T(a * b) = |a|*T_b + |b|*T_a + T_a*T_b + u*|a * b|
    a function        T(f(a)) = the largest |f(a +- T_a) - f(a)| + k*u*|f(a)|, k twice the error that
                      CUDA documents for f, in units in the last place
    a reduction       T(sum x) = sum T_x + u*g(n)*sum(|x| + T_x)
    a product         T(A B) = |A| T_B + T_A |B| + T_A T_B + u*g(k)*(|A| + T_A)(|B| + T_B)

with u and g as in error_bound.py.
"""

from __future__ import annotations

import math
from typing import Callable

import torch
from torch.utils._pytree import tree_map

from bounded import (
    COMPOSITE,
    FORMS,
    Bounded,
    UnknownForm,
    aten,
    error_bound_of,
    error_of,
    joined,
    rules,
    size_of,
    value_of,
)

SUBNORMAL = 2.0 ** -149  # what a function may lose below fp32's normal range
FLUSHED = 2.0 ** -126  # what exp and its like may lose there: fast forms flush

# ---- one operation


def _add(r, a, b, alpha=1):
    return error_of(a) + abs(alpha) * error_of(b) + rules.u * r.abs() + (0 if alpha in (1, -1) else rules.u
        * abs(alpha) * size_of(b))


def _rsub(r, a, b, alpha=1):
    return _add(r, b, a, alpha)


def _mul(r, a, b):
    ta, tb = error_of(a), error_of(b)
    return (_weighted(size_of(a), tb) + _weighted(size_of(b), ta) + ta * tb + rules.u * r.abs()
            + torch.where(r == 0, 0.0, rules.subnormal))


def _weighted(weight, t):
    """weight * t, and 0 where the weight is exactly 0, even against an infinite t."""
    product = weight * t
    return (torch.where(torch.as_tensor(weight == 0), 0.0, product) if isinstance(product, torch.Tensor)
            else product)


def _div(r, a, b, rounding_mode=None):
    if rounding_mode is not None:
        raise UnknownForm("a division that rounds to integers has no rule for its error bound")
    size, ta, tb = size_of(b), torch.as_tensor(error_of(a)), torch.as_tensor(error_of(b))
    t = (ta + r.abs() * tb) / (size - tb)
    t = torch.where(torch.as_tensor(size > tb), t, math.inf)
    # a number beyond fp32 is infinity there, its reciprocal 0
    t = torch.where(tb.isinf() & torch.as_tensor(size > rules.largest), r.abs() + ta / size, t)
    return t + 3 * rules.u * r.abs() + torch.where(r == 0, 0.0, rules.subnormal)


def _addcmul(self, a, b, value=1):
    return self + value * (a * b)


def _addcdiv(self, a, b, value=1):
    return self + value * (a / b)


# ---- functions


def _monotone(f: Callable, k: float, lost: float = 0.0, slope: Callable | None = None,
              least: float = -math.inf):
    """The rule of a function that rises or falls throughout its domain, which begins at least, good to k
    units of 2^-24. Fast forms lose slope(x) units more."""
    def rule(r, x, *rest, **named):
        low, high = f(torch.clamp(x.r - x.e, min=least), *rest), f(x.r + x.e, *rest)
        moved = torch.maximum((high - r).abs(), (low - r).abs())
        moved = torch.where(x.e == 0, 0.0, torch.nan_to_num(moved, nan=math.inf, posinf=math.inf))
        units = k + (slope(x.r) if slope else 0.0)
        return moved + torch.where(r == 0, 0.0, units * rules.u * r.abs() + lost)
    return rule


def _lipschitz(f: Callable, constant: float, k: float, absolute: float = 0.0):
    """The rule of a function whose slope is at most constant."""
    def rule(r, x, *rest, **named):
        return constant * x.e + k * rules.u * r.abs() + absolute * rules.u
    return rule


_ERF = _monotone(torch.erf, 4, SUBNORMAL)


def _erf(r, x):
    # torch's vectorised one is Abramowitz and Stegun 7.1.26: good to 1.5e-7, not to a share of itself
    return _ERF(r, x) + 3 * rules.u


def _sigmoid(r, x):
    lost = 2.0 ** -128  # where exp(-x) overflows
    return 0.25 * x.e * torch.clamp(4 * torch.maximum(torch.sigmoid(x.r - x.e) * torch.sigmoid(x.e - x.r),
                                                      torch.sigmoid(x.r + x.e) * torch.sigmoid(-x.r - x.e)),
                                                      max=1) \
        * _straddles(x) + rules.u * (2 * x.r.abs() + 8) * r + lost


def _straddles(x):
    """4 where the slope of sigmoid may be larger between x - T and x + T than at both ends, else 1."""
    return torch.where(x.r.abs() < x.e, 4.0, 1.0)


def _silu(r, x):
    return (1.1 * x.e + rules.u * (2 * x.r.abs() + 12) * r.abs() + x.r.abs() * 2.0 ** -128
            + torch.where(r == 0, 0.0, rules.subnormal * (1 + x.r.abs())))


def _gelu(r, x, approximate="none"):  # 6: as in _erf
    return 1.13 * x.e + (4 if approximate == "tanh" else 6) * rules.u * x.r.abs() + 8 * rules.u * r.abs()


def _pow(x, exponent):
    if not isinstance(exponent, (int, float)):
        return torch.exp(exponent * torch.log(x))
    whole = {1: lambda: x.clone(), 2: lambda: x * x, 3: lambda: x * x * x, 4: lambda: (x * x) * (x * x),
             0.5: lambda: torch.sqrt(x), -0.5: lambda: torch.rsqrt(x),
             -1: lambda: torch.reciprocal(x), -2: lambda: torch.reciprocal(x * x),
             0: lambda: torch.ones_like(x), 1.5: lambda: x * torch.sqrt(x)}
    if exponent in whole:
        return whole[exponent]()
    r = torch.pow(x.r, exponent)
    size = torch.maximum(torch.pow(x.r.abs() + x.e, exponent),
                         torch.pow((x.r.abs() - x.e).clamp(min=0), exponent))
    smaller = torch.minimum(torch.pow(x.r.abs() + x.e, exponent),
                            torch.pow((x.r.abs() - x.e).clamp(min=0), exponent))
    return joined(r, torch.where(x.e == 0, 0.0, size - smaller) + 16 * rules.u
                  * r.abs() + torch.where(r == 0, 0.0, rules.subnormal), torch.pow(x.s, exponent), True)


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
        return x.e.sum(dims, keepdim) if dims else x.e
    return x.e.sum(dims, keepdim) + rules.u * rules.growth(n) * (x.r.abs() + x.e).sum(dims, keepdim)


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
    raise UnknownForm(f"a norm of order {ord} has no rule for its error bound")


def _largest(r, x, dim=(), keepdim=False):
    """Two maxima lie no further apart than the values do."""
    return x.e.amax(_dims(x, dim if dim != () else None), keepdim)


def _largest_where(r, x, dim=None, keepdim=False):
    if dim is None:
        return x.e.amax()
    return x.e.amax(dim, keepdim), r[1]


def _places(x, dim) -> torch.Tensor:
    """1, 2, 3 and so on along a dimension."""
    n = x.shape[dim] if x.dim() else 1
    return torch.arange(1, n + 1, dtype=torch.float64).reshape([-1 if d == dim % max(x.dim(), 1) else 1
        for d in range(x.dim())])


def _cumsum(r, x, dim, dtype=None):
    count = _places(x, dim)
    usual = torch.minimum(count, 8 * count.sqrt() + count / 16) + 4
    growth = torch.maximum(usual, count + 4) if rules.equal_terms else usual
    return x.e.cumsum(dim) + rules.u * growth * (x.r.abs() + x.e).cumsum(dim)


def _factors(x, multiply: Callable, count) -> torch.Tensor:
    """The error bound of products of count factors each: every factor at its largest, and a rounding for each
    multiplication. One that a kernel loses below the normal range, others may enlarge; where they may leave
    the range in some order, there is no bound."""
    sizes = x.r.abs() + x.e
    widest = multiply(sizes.clamp(min=1.0))
    t = (multiply(sizes) * (1 + rules.u) ** (count - 1) - multiply(x.r.abs())).clamp(min=0.0)
    t = t + torch.as_tensor(count - 1) * rules.subnormal * widest
    return torch.where(widest > rules.largest, math.inf, t)


def _prod(r, x, dim=None, keepdim=False, dtype=None):
    return _factors(x, lambda v: v.prod() if dim is None else v.prod(dim, keepdim), max(_count(x, dim), 1))


def _cumprod(r, x, dim, dtype=None):
    return _factors(x, lambda v: v.cumprod(dim), _places(x, dim))


def _softmax(x, dim, half_to_float=False):
    shifted = x - torch.amax(x, dim, keepdim=True)
    e = torch.exp(shifted)
    y = e / torch.sum(e, dim, keepdim=True)
    # what sums to 1 is off by 1 at most
    return Bounded(y.r, torch.where(y.r.isfinite(), torch.nan_to_num(y.e, nan=1.0).clamp(max=1.0), 0.0), y.s)


def _log_softmax(x, dim, half_to_float=False):
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


def _softmax_backward(grad, y, dim, input_dtype=None):
    return y * (grad - torch.sum(grad * y, dim, keepdim=True))


def _log_softmax_backward(grad, y, dim, input_dtype=None):
    return grad - torch.exp(y) * torch.sum(grad, dim, keepdim=True)


def _logsumexp(x, dim, keepdim=False):
    # It moves no further than its inputs; a kernel's own sum of exponentials begins with exact ones.
    exact = Bounded(x.r, torch.zeros_like(x.e), x.s)
    m = torch.amax(exact, dim, keepdim=True)
    m = torch.where(torch.isfinite(m), m, torch.zeros_like(m))
    out = torch.log(torch.sum(torch.exp(exact - m), dim, keepdim=True)) + m
    out = Bounded(out.r, out.e + torch.where(out.r.isfinite(), x.e.amax(_dims(x, dim), True), 0.0), out.s)
    return out if keepdim else torch.squeeze(out, tuple(_dims(x, dim)))


# ---- products


def _product(multiply: Callable, r, a, b, n: int):
    ta, tb = error_of(a), error_of(b)
    sizes = multiply(size_of(a) + ta, size_of(b) + tb)
    t = rules.product(n) * sizes
    if isinstance(a, Bounded):
        t = t + multiply(ta, size_of(b) + tb)
    if isinstance(b, Bounded):
        t = t + multiply(size_of(a), tb)
    return t


def _mm(r, a, b):
    t = _product(torch.matmul, r, a, b, a.shape[-1])
    if rules.contract == "fast" and all(_is_fp8(x) for x in (a, b)):
        t = t + KAPPA * 2.0**-13 * _aligned_to(value_of(a), value_of(b))
    return t


KAPPA = 24.0
"""KappaFast of internal/judge: what a step of Hopper's fp8 tensor core loses, in units of 2^-13 of the
largest number that it adds."""

STEP = 32
"""Of K, in one step."""

FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def _is_fp8(x) -> bool:
    """Whether a factor has no error and only values that fp8 has: a kernel may hand them to an fp8 tensor
    core, whatever the reference converts them to."""
    r = value_of(x)
    exact = not isinstance(x, Bounded) or not x.e.any()
    return exact and any(torch.equal(r.to(dtype).to(r.dtype), r) for dtype in FP8)


def _aligned_to(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The sum over the steps of a product of the largest number that each aligns the others to: a term, or
    the sum so far. Its factors count as normal numbers."""
    total = found = torch.zeros((), dtype=a.dtype)
    for k in range(0, a.shape[-1], STEP):
        rows, columns = a[..., k:k + STEP], b[..., k:k + STEP, :]
        following = total + rows @ columns
        terms = (rows.abs().amax(-1, keepdim=True).clamp(min=2.0**-6)
                 * columns.abs().amax(-2, keepdim=True).clamp(min=2.0**-6))
        found = found + torch.maximum(torch.maximum(following.abs(), terms), total.abs())
        total = following
    return found


def _convolution(r, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    def convolve(x, w):
        return aten.convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups)
    t = _product(convolve, r, x, w, math.prod(w.shape[1:]))
    return t if bias is None else t + error_of(bias).reshape(1, -1, *[1] * (r.dim() - 2)) + rules.u * r.abs()


def _convolution_backward(result, grad, x, w, bias_sizes, stride, padding, dilation, transposed,
                          output_padding, groups, mask):
    def parts(grad, x, w):
        return aten.convolution_backward(grad, x, w, bias_sizes, stride, padding, dilation, transposed,
                                         output_padding, groups, mask)
    tg, tx, tw = error_of(grad), error_of(x), error_of(w)
    zero = torch.zeros_like
    g, xr, wr = size_of(grad), size_of(x), size_of(w)
    tg, tx, tw = (e if isinstance(e, torch.Tensor) else zero(v) for e, v in ((tg, g), (tx, xr), (tw, wr)))
    sizes, from_grad, from_rest = parts(g + tg, xr + tx, wr + tw), parts(tg, xr + tx, wr + tw), parts(g, tx,
        tw)
    spatial = math.prod(grad.shape[2:])
    terms = (math.prod(w.shape[2:]) * w.shape[0], grad.shape[0] * spatial, grad.shape[0] * spatial)
    out = [None if r is None else rules.product(n) * a + b + (c if k < 2 else 0)
           for k, (r, n, a, b, c) in enumerate(zip(result, terms, sizes, from_grad, from_rest))]
    return tuple(out)


def _linear(func: Callable, terms: Callable):
    """The rule of what adds elements up with weights that are none below 0: pooling, scattering. terms says
    how many meet in one element."""
    def rule(r, *args, **named):
        def run(value: Callable) -> torch.Tensor:
            return func(*tree_map(value, args), **named)
        n = terms(*args, **named)
        return run(error_bound_of) + (rules.u * rules.growth(n) * run(lambda a: size_of(a) + error_of(a)
            if isinstance(a, torch.Tensor) and a.is_floating_point() else a) if n > 1 else 0)
    return rule


def _scatter_reduce(r, x, dim, index, src, reduce, *, include_self=True):
    """Of sums, and of the largest or smallest: the largest error bound of those that meet."""
    if reduce == "sum" and include_self:
        return _linear(aten.scatter_add, lambda x, dim, index, src: index.numel())(r, x, dim, index, src)
    if reduce not in ("amax", "amin"):
        raise UnknownForm(f"scatter_reduce of {reduce} has no rule for its error bound")
    t, t_src = (error_of(v) if isinstance(v, Bounded) else torch.zeros_like(v) for v in (x, src))
    return aten.scatter_reduce(t, dim, index, t_src, "amax", include_self=include_self)


def _window(x, size, *rest, **named) -> int:
    return math.prod(size) if len(size) > 1 else size[0] ** (x.dim() - 2)


def _window_of(grad, x, size, *rest, **named) -> int:
    return _window(x, size)


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
        return grad * (0.5 * (1 + th)
                       + 0.5 * x * (1 - th * th) * (math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)))
    density = torch.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * density)


def _threshold_backward(grad, x, threshold):
    return torch.where(value_of(x) > threshold, grad, torch.zeros_like(grad))


COMPOSITE.update({
    aten.pow: _pow, aten.mean: _mean, aten.var: _var_aten, aten.var_mean: _var_mean,
    aten.std: lambda *a, **k: torch.sqrt(_var_aten(*a, **k)),
    aten.linalg_vector_norm: _norm, aten._softmax: _softmax, aten._log_softmax: _log_softmax,
    aten.logsumexp: _logsumexp,
    aten._softmax_backward_data: _softmax_backward, aten._log_softmax_backward_data: _log_softmax_backward,
    aten.addmm: _addmm, aten.baddbmm: _addmm, aten.addcmul: _addcmul, aten.addcdiv: _addcdiv,
    aten.mv: lambda a, b: torch.mm(a, b[:, None])[:, 0],
    aten.dot: lambda a, b: torch.mm(a[None, :], b[:, None])[0, 0], aten.square: lambda x: x * x,
    aten.silu_backward: _silu_backward, aten.gelu_backward: _gelu_backward,
    aten.sigmoid_backward: lambda grad, y: grad * ((1 - y) * y),
    aten.tanh_backward: lambda grad, y: grad * (1 - y * y), aten.threshold_backward: _threshold_backward,
    aten.lerp: lambda a, b, w: a + w * (b - a),
    aten.maximum: lambda a, b: torch.where(value_of(a) >= value_of(b), a, b),
    aten.minimum: lambda a, b: torch.where(value_of(a) <= value_of(b), a, b),
})

FORMS.update({
    aten.add: _add, aten.sub: _add, aten.rsub: _rsub, aten.mul: _mul, aten.div: _div,
    aten.neg: lambda r, x: x.e, aten.abs: lambda r, x: x.e,
    aten.reciprocal: lambda r, x: _div(r, 1.0, x), aten.sum: _sum, aten.amax: _largest, aten.amin: _largest,
    aten.max: _largest_where, aten.min: _largest_where,
    aten.cumsum: _cumsum, aten.prod: _prod, aten.cumprod: _cumprod,
    aten.mm: _mm, aten.bmm: _mm, aten.convolution: _convolution,
    aten.exp: _monotone(torch.exp, 4, FLUSHED, torch.abs), aten.exp2: _monotone(torch.exp2, 4,
        FLUSHED, torch.abs),
    aten.expm1: _monotone(torch.expm1, 4), aten.log: _monotone(torch.log, 4, least=0.0),
    aten.log2: _monotone(torch.log2, 4, least=0.0),
    aten.log10: _monotone(torch.log10, 4, least=0.0), aten.log1p: _monotone(torch.log1p, 4, least=-1.0),
    aten.sqrt: _monotone(torch.sqrt, 4, SUBNORMAL, least=0.0),
    aten.rsqrt: _monotone(torch.rsqrt, 6, SUBNORMAL, least=0.0), aten.tanh: _monotone(torch.tanh, 6,
        SUBNORMAL), aten.erf: _erf,
    aten.atan: _monotone(torch.atan, 4, SUBNORMAL), aten.sin: _lipschitz(torch.sin, 1, 4, 2.0 ** -20),
    aten.cos: _lipschitz(torch.cos, 1, 4, 2.0 ** -20),
    aten.sigmoid: _sigmoid, aten.silu: _silu, aten.gelu: _gelu,
    aten.relu: lambda r, x: torch.where(x.r > -x.e, x.e, 0.0),
    aten.clamp: lambda r, x, *a, **k: x.e, aten.clamp_min: lambda r, x, *a: x.e,
    aten.clamp_max: lambda r, x, *a: x.e, aten.hardtanh: lambda r, x, *a: x.e,
    aten.leaky_relu: lambda r, x, slope=0.01: torch.where(x.r > x.e, x.e, max(1.0, abs(slope)) * x.e
                                                          + rules.u * r.abs()),
    aten.convolution_backward: _convolution_backward,
    aten.avg_pool2d: _linear(aten.avg_pool2d, _window), aten.avg_pool3d: _linear(aten.avg_pool3d, _window),
    aten.avg_pool2d_backward: _linear(aten.avg_pool2d_backward, _window_of),
    aten.avg_pool3d_backward: _linear(aten.avg_pool3d_backward, _window_of),
    aten.max_pool2d_with_indices: lambda r, x, *a: (torch.max_pool2d(x.e, *a), r[1]),
    aten.max_pool3d_with_indices: lambda r, x, *a: (torch.max_pool3d(x.e, *a), r[1]),
    aten.max_pool2d_with_indices_backward: _linear(aten.max_pool2d_with_indices_backward, _window_of),
    aten.max_pool3d_with_indices_backward: _linear(aten.max_pool3d_with_indices_backward, _window_of),
    aten.scatter_add: _linear(aten.scatter_add, lambda x, dim, index, src: index.numel()),
    aten.scatter_reduce: _scatter_reduce,
    aten.index_add: _linear(aten.index_add, lambda x, dim, index, *a: index.numel() + 1),
    aten.index_put: _linear(aten.index_put, lambda x, indices, values, accumulate=False: values.numel() + 1
                            if accumulate else 1),
    aten.embedding_dense_backward: _linear(aten.embedding_dense_backward,
                                           lambda g, indices, *a: indices.numel()),
    aten.sort: lambda r, x, dim=-1, descending=False, **stable: (x.e.amax(dim, True).expand_as(x.e), r[1]),
    aten.topk: lambda r, x, k, dim=-1, *a: (x.e.amax(dim, True).expand_as(r[0]), r[1]),
    aten.elu: _lipschitz(torch.nn.functional.elu, 1, 8, 4),
    aten.softplus: _lipschitz(torch.nn.functional.softplus, 1, 8, 2),
})
