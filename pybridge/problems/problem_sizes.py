"""Which sizes a problem has: how each size of its tensors follows from the constants of its file, found by
giving those other values, and the shapes at which the problem is judged."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import problem_forms

MOST_PROBES = 400
MOST_SECONDS = 20.0
"""Executions of a problem's file that find out how its sizes follow from its constants, and as many that find
shapes."""

SMALL = (5, 3, 7, 9, 6, 4, 8, 11, 10, 12, 16, 2, 24, 32, 48, 64, 96, 128, 256, 512)
"""Small sizes in the order in which they are tried: those that are no multiple of 2 find most mistakes."""

NEAR_TILES = (31, 33, 65, 17)
"""Sizes one below and one above those of the usual tiles."""

LONG = 1025
MOST_ELEMENTS = 1 << 17
"""Elements of all tensors of a shape of ours."""

Sizes = dict[tuple, int]
"""By (kind, tensor, axis) the sizes of the tensors."""


class Probes:
    """What the sizes were under which values of the constants."""

    def __init__(self, run: Callable[[dict[str, int]], Sizes], own: dict[str, int],
                 start: dict[str, int] | None = None):
        self.run, self.own = run, own
        self.start = start or own  # the search for small sizes begins there
        self.known: dict[tuple, Sizes | None] = {}
        self.linked: dict[str, str] = {}  # constants that are always what another one is
        self.first = self.at(own)  # an exception of it is the problem's
        self.begin()

    def whole(self, values: dict[str, int]) -> dict[str, int]:
        """The values with those of linked constants."""
        return {**values, **{name: values[other] for name, other in self.linked.items()}}

    def begin(self) -> None:
        """Begins a search of so many executions."""
        self.until, self.most = time.process_time() + MOST_SECONDS, len(self.known) + MOST_PROBES

    def spent(self) -> bool:
        """Whether the search has taken too long."""
        return len(self.known) >= self.most or time.process_time() > self.until

    def at(self, values: dict[str, int]) -> Sizes:
        """The sizes under these values; an exception where the problem has none."""
        values = self.whole(values)
        key = tuple(sorted(values.items()))
        if self.known.get(key) is None:
            self.known[key] = None
            self.known[key] = self.run(values)
        return self.known[key]

    def perhaps(self, values: dict[str, int]) -> Sizes | None:
        """The sizes under these values, None where the problem has none."""
        values = self.whole(values)
        key = tuple(sorted(values.items()))
        if key not in self.known:
            if self.spent():
                return None
            try:
                return self.at(values)
            except Exception:
                return None
        return self.known[key]

    def points(self, free: list[str]) -> list[tuple[dict[str, int], Sizes]]:
        """The known points at which all constants but the free ones have their own values."""
        found = []
        for key, sizes in self.known.items():
            values = dict(key)
            if sizes is None or sizes.keys() != self.first.keys() or values != self.whole(values):
                continue
            if all(values[name] == self.own[name] for name in values
                   if name not in free and name not in self.linked):
                found.append(({n: v for n, v in values.items() if n not in self.linked}, sizes))
        return found


def vary(probes: Probes) -> list[str]:
    """Gives each constant other values; the constants that sizes follow from."""
    moving: list[str] = []
    accepted: dict[str, list[int]] = {}

    def vary_one(name: str) -> None:
        accepted[name], value = [], probes.own[name]
        for other in (value + 1, value + 2, value + 3, 2 * value, 3 * value, value // 2):
            if other < 1 or other == value:
                continue
            sizes = probes.perhaps({**probes.own, name: other})
            if sizes is not None and sizes.keys() == probes.first.keys():
                accepted[name].append(other)
                if sizes != probes.first and name not in moving:
                    moving.append(name)

    for name in probes.own:
        vary_one(name)
    for name, value in probes.own.items():
        if accepted[name] or name in probes.linked:
            continue
        for other, same in probes.own.items():  # two that are equal may have to be
            if other != name and same == value and not accepted[other]:
                probes.linked[other] = name
                vary_one(name)
                if accepted[name]:
                    break
                del probes.linked[other]
    for a, b in itertools.combinations(moving, 2):
        for x, y in zip(accepted[a][:2], accepted[b][-2:]):
            probes.perhaps({**probes.own, a: x, b: y})
    return moving


def expressions(probes: Probes, moving: list[str], names: Callable[[tuple], str] | None = None
                ) -> tuple[list[str], dict[tuple, str]]:
    """The constants that are sizes of the operator, and for each size of a tensor its expression over them.
    A constant that some size follows from in a way that is none of these expressions keeps its value; where
    names gives names, such a size of an input is a size of the operator itself, of that name."""
    free = list(moving)
    while True:
        points = probes.points(free)
        found, unknown = {}, None
        for slot in probes.first:
            found[slot] = _expression(slot, points, free)
            if found[slot] is None and names and slot[0] == "input":
                found[slot] = names(slot)
            if found[slot] is None:
                unknown = slot
                break
        if unknown is None:
            used = [name for name in free if any(name in names_in(e) for e in found.values())
                    or any(e == names(slot) and name in _influence(slot, points, free)
                           for slot, e in found.items() if names)]
            return used, found
        shown = {name: sum(s[0] == "input" and e == name for s, e in found.items()) for name in free}
        free.remove(min(_influence(unknown, points, free), key=lambda name: shown[name]))


def names_in(expression: str) -> list[str]:
    """The names in an expression."""
    return [word for word in "".join(c if c.isalnum() or c == "_" else " " for c in expression).split()
            if not word.isdigit() and word != "ceildiv"]


def _influence(slot: tuple, points: list, free: list[str]) -> list[str]:
    """The constants that a size moves with."""
    found = []
    for name in free:
        rest: dict[tuple, set] = {}
        for values, sizes in points:
            key = tuple(v for n, v in sorted(values.items()) if n != name)
            rest.setdefault(key, set()).add(sizes[slot])
        if any(len(different) > 1 for different in rest.values()):
            found.append(name)
    return found


def _expression(slot: tuple, points: list, free: list[str]) -> str | None:
    """How a size follows from the free constants, None where no form fits all points."""
    sizes = [s[slot] for _, s in points]
    if len(set(sizes)) == 1:
        return str(sizes[0])
    names = _influence(slot, points, free)
    for expression, value in problem_forms.of(names, points[0][0], sizes[0]):
        if all(value(values) == size for (values, _), size in zip(points, sizes)):
            return expression
    return None


def fitted(points: list[tuple[dict[str, int], Sizes]], names: list[str]) -> dict[tuple, str | None]:
    """For each size its expression over the names that fits all points, which somebody else chose: the one of
    fewest names; None where none fits. A size that is the same everywhere is a number."""
    largest = max(points, key=lambda point: sum(point[0].values()))
    found: dict[tuple, str | None] = {}
    for slot, size in largest[1].items():
        if len({sizes[slot] for _, sizes in points}) == 1:
            found[slot] = str(size)
            continue
        same = [n for n in names if all(values[n] == sizes[slot] for values, sizes in points)]
        if same:  # two that are equal in all points are sizes of different axes
            others = [e for (kind, i, _), e in found.items() if (kind, i) == slot[:2]]
            found[slot] = next((n for n in same if n not in others), same[0])
            continue
        forms = itertools.chain(
            (form for count in (1, 2, 3) for some in itertools.combinations(names, count)
             for form in problem_forms.of(list(some), largest[0], size)),
            problem_forms.of_many(names, largest[0], size))
        found[slot] = next((text for text, value in forms
                            if all(value(values) == sizes[slot] for values, sizes in points)), None)
    return found


def value_of(expression: str, values: dict[str, int]) -> int:
    """The value of an expression of these forms."""
    return eval(expression, {"__builtins__": {}}, {**values, "ceildiv": lambda a, b: -(-a // b)})


# ---- shapes


def smallest(probes: Probes, free: list[str]) -> dict[str, int]:
    """Small values of the free constants that the problem has an answer for. The smallest multiple of
    something, or the smallest image for a window, often says little, such as groups of one element: of a
    constant that does not take every value, three times that is taken."""
    values = dict(probes.start)
    for i, name in enumerate(sorted(free, key=lambda n: -values[n])):
        refused = False
        for value in [*SMALL[i % 4:], *SMALL[:i % 4]]:
            if probes.start is probes.own and value >= probes.own[name]:
                continue
            if not _has_answer(probes, {**values, name: value}):
                refused = True
                continue
            wider = 3 * value
            if refused and wider < probes.own[name] and _has_answer(probes, {**values, name: wider}):
                value = wider
            values[name] = value
            break
    return values


def _has_answer(probes: Probes, values: dict[str, int]) -> bool:
    sizes = probes.perhaps(values)
    return sizes is not None and min(sizes.values(), default=1) > 0


def elements(sizes: Sizes) -> int:
    """How many elements the tensors have together."""
    tensors: dict[tuple, int] = {}
    for (kind, tensor, _), size in sizes.items():
        tensors[kind, tensor] = tensors.get((kind, tensor), 1) * size
    return sum(tensors.values())


def shapes(probes: Probes, free: list[str]) -> Iterator[dict[str, int]]:
    """The shapes of ours, small ones first; some of them may be none of the problem's."""
    base = smallest(probes, free)
    yield base
    near = dict(base)
    for i, name in enumerate(free):
        trial = {**near, name: NEAR_TILES[i % len(NEAR_TILES)]}
        sizes = probes.perhaps(trial)
        if sizes is not None and elements(sizes) <= MOST_ELEMENTS and min(sizes.values(), default=1) > 0:
            near = trial
    if near != base:
        yield near
    if free:
        yield {**base, free[0]: 0}
        yield {**base, free[-1]: LONG}
    for name in free[:5]:
        for value in (1, 33, LONG):
            if value != base[name]:
                yield {**base, name: value}
