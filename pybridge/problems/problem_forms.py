"""The expressions that a size of a tensor may be of the numbers that a problem takes. Each is given as its
text and as a function of the numbers; those whose value at one point is the size there come in the order in
which they are preferred."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

Form = tuple[str, Callable[[dict[str, int]], int]]


def of(names: list[str], values: dict[str, int], size: int) -> Iterator[Form]:
    """The expressions of one, two or three numbers, all of which they use."""
    yield from _product(names, values, size)
    if len(names) == 2:
        a, b = names
        yield f"{a} + {b}", lambda v: v[a] + v[b]
        yield f"{a} - {b} + 1", lambda v: v[a] - v[b] + 1
        for n, d in ((a, b), (b, a)):
            if values[d] > 0 and -(-values[n] // values[d]) == size:
                yield f"ceildiv({n}, {d})", lambda v, n=n, d=d: _ceildiv(v[n], v[d])
    if len(names) != 1:
        return
    name = names[0]
    for times in range(1, 9):
        rest = size - times * values[name]
        if abs(rest) <= 64:
            sign = "+" if rest >= 0 else "-"
            left = name if times == 1 else f"{times} * {name}"
            yield f"{left} {sign} {abs(rest)}", lambda v, t=times, r=rest: t * v[name] + r
    for by in range(2, 17):
        for more in range(-32, 33):
            if -(-(values[name] + more) // by) == size:
                sign = "+" if more >= 0 else "-"
                text = f"{name} {sign} {abs(more)}" if more else name
                yield f"ceildiv({text}, {by})", lambda v, m=more, b=by: -(-(v[name] + m) // b)


def of_many(names: list[str], values: dict[str, int], size: int) -> Iterator[Form]:
    """Those of more numbers, powers of one, and the number of places of a window of two axes."""
    for name, power in itertools.product(names, (2, 3)):
        yield from _product([name] * power, values, size)
    for count in (4, 5):
        for some in itertools.combinations(names, count):
            yield from _product(list(some), values, size)
    for a, b, c, d in itertools.permutations(names, 4):
        if a < c and (values[a] - values[b] + 1) * (values[c] - values[d] + 1) == size:
            yield (f"({a} - {b} + 1) * ({c} - {d} + 1)",
                   lambda v, a=a, b=b, c=c, d=d: (v[a] - v[b] + 1) * (v[c] - v[d] + 1))
    yield from _windows(names, values, size)


def _ceildiv(a: int, b: int) -> int:
    """Rounded up; -1, which is no size, for a divisor of 0."""
    return -(-a // b) if b else -1


def _product(names: list[str], values: dict[str, int], size: int) -> Iterator[Form]:
    product = math.prod(values[name] for name in names)
    if names and product and size % product == 0:
        times = size // product
        text = " * ".join(names if times == 1 else [str(times), *names])
        yield text, lambda v: times * math.prod(v[name] for name in names)


def _windows(names: list[str], values: dict[str, int], size: int) -> Iterator[Form]:
    """The elements of an image behind a window: its batch and channels times the places along two axes."""
    if len(names) > 8:  # too many to try
        return
    for window, stride, padding in itertools.permutations(names, 3):
        if values[stride] < 1:
            continue
        for rest in itertools.chain.from_iterable(
                itertools.combinations([n for n in names if n not in (window, stride, padding)], count)
                for count in (2, 3, 4)):
            axes, batch = rest[-2:], rest[:-2]

            def value(v: dict[str, int], w: str = window, s: str = stride, p: str = padding,
                      axes: tuple = axes, batch: tuple = batch) -> int:
                places = (_ceildiv(v[a] + 2 * v[p] - v[w] + 1, v[s]) for a in axes)
                return math.prod(places) * math.prod(v[n] for n in batch)
            if value(values) == size:
                places = [f"ceildiv({a} + 2 * {padding} - {window} + 1, {stride})" for a in axes]
                yield " * ".join([*batch, *places]), value
