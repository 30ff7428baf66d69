"""The second truth: runs the `reference` of operator files in fp64, for the driver to compare its own truth
with.

    python -u -X faulthandler pybridge/truth/truth.py --operators DIR

The wire is the worker's. Inputs come in the dtypes a kernel gets; every floating one is widened to fp64,
exactly, before anything is computed, and outputs are fp64. Under the contract exact the formula states every
rounding, in dtypes that follow from those of the inputs: truth/saved then takes the inputs as they come, and
widens what it gives, and fp64 rounds nothing. It registers for each operator

    truth/saved      forward: reference; backward: reference_backward, the formula on the saved tensors it is
                     given
    truth/chained    backward: autograd of the fp64 forward, from the operator's inputs and the upstream
                     gradients
    truth/saved_rounding, truth/chained_rounding
                     the same calls, but of every element how far fp64 may round it: 2^-53 times the absolute
                     terms that it is made of (error_bound.py)

and, for operators of a user's own, whose error bounds nobody has written down,

    truth/composed   reference or reference_backward, or autograd of reference, with the error bound of every
                     element (error_bound.py)

Nothing of a candidate runs here: Triton is kept out of the process, and of an operator file only these two
functions are called.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.modules["triton"] = None  # an import of it fails from here on: the operator files then define no kernel

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "worker"))
from worker import Worker, _import, failed, main  # noqa: E402  (after Triton has been shut out)


class Truth(Worker):
    """A worker on the CPU whose implementations are the references."""

    def _import_torch(self) -> dict[str, str]:
        import torch
        self.device = torch.device("cpu")
        return {"torch": torch.__version__}

    def _import_triton(self) -> dict[str, str]:
        return {}

    def _import(self, op: str, path: Path) -> ModuleType | dict[str, Any]:
        for name in ("triton", "triton.language"):
            sys.modules[name] = _StandIn(name)
        try:
            return _import(op, path, rows_needed=False)
        finally:
            sys.modules["triton"] = None
            del sys.modules["triton.language"]

    def _module(self, op: str) -> ModuleType | dict[str, Any]:
        module = super()._module(op)
        if isinstance(module, ModuleType):
            if not hasattr(module, "reference"):
                self.loaded[op] = failed("UNAVAILABLE", f"{module.__file__}: it has no reference")
            else:
                self.loaded[op] = SimpleNamespace(__file__=module.__file__, IMPLEMENTATIONS=_truths(module))
        return self.loaded[op]


class _StandIn(ModuleType):
    """Triton in a process without it: a file that imports it is read, its kernels are not there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else _StandIn(self.__name__)


COMPOSED = tuple(f"{i}{part}" for i in range(16) for part in ("", ".allowance", ".simulated"))
"""What truth/composed gives: value, error bound and simulated value of each output, by its number."""


def _composed(module: ModuleType) -> Any:
    """The implementation truth/composed of an operator file. Beside the operator's own attributes its
    functions get what the driver asks for."""
    import error_bound
    from implementation import Implementation
    from tensors import DTYPES

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(int(n) for n in text.split(",") if n)

    def compute(*tensors, _contract: str, _dtype: str, _equal_terms: bool, _outputs: int, _inputs: int = 0,
                _upstream: str = "", _differentiable: str = "", _plan: str = "", **attributes):
        function, upstream = module.reference, None
        if _plan:
            found = error_bound.chained(module.reference, module.reference_backward, _plan, tensors, _inputs,
                                      attributes, _contract, DTYPES[_dtype], _equal_terms, _outputs)
            return _parts(found)
        if _inputs:
            upstream = dict(zip(numbers(_upstream), tensors[_inputs:]))
            tensors = tensors[:_inputs]
        elif _differentiable == "formula":
            function = module.reference_backward
        found = error_bound.compute(function, tensors, attributes, _contract, DTYPES[_dtype], _equal_terms,
                                  _outputs, upstream,
                                  numbers(_differentiable) if upstream is not None else ())
        return _parts(found)

    return Implementation("truth/composed", compute, compute, COMPOSED, COMPOSED, "fp64", tuple(DTYPES))


def _drawn(module: ModuleType) -> list:
    """The implementation truth/drawn of an imported problem: what it draws itself, at the sizes of a call."""
    from implementation import Implementation
    from tensors import DTYPES
    if getattr(module, "draw", None) is None:
        return []

    def draw(*, _seed: str, _shapes: str, _which: str, **attributes):
        shapes = [tuple(int(n) for n in sizes.split("x") if n) for sizes in _shapes.split(",")]
        found = module.draw(shapes, attributes, int(_seed))
        return tuple(found[int(i)].contiguous() for i in _which.split(","))

    return [Implementation("truth/drawn", draw, None, tuple(f"{i}" for i in range(16)), (), "fp64",
                           tuple(DTYPES))]


def _parts(found: list) -> tuple:
    """Value, error bound and simulated value of each output."""
    return tuple(part.contiguous() for x in found for part in (x.r, x.e, x.s))


def _truths(module: ModuleType) -> list:
    """The references of an operator file as implementations."""
    from implementation import Implementation, gradients, states_roundings
    if not getattr(module, "IMPLEMENTATIONS", None) or not hasattr(module, "DIFFERENTIABLE"):
        return [_composed(module), *_drawn(module)]
    outputs = max((i.outputs for i in module.IMPLEMENTATIONS), key=len)
    grads = max((i.gradients for i in module.IMPLEMENTATIONS), key=len)
    taken = [p for p in inspect.signature(module.reference).parameters.values()
             if p.kind is not p.KEYWORD_ONLY]
    dtypes = module.IMPLEMENTATIONS[0].dtypes
    saved = getattr(module, "reference_backward", None)
    followed = _followed(saved, outputs)

    def chained(*tensors, **attributes):
        def wanted(*inputs, **attributes):
            given = module.reference(*inputs, **attributes)
            return tuple(given[i] for i in followed) if isinstance(given, tuple) else given
        return gradients(wanted, tensors[:len(taken)], tensors[len(taken):], module.DIFFERENTIABLE,
                         **attributes)

    def chained_rounding(*tensors, **attributes):
        return _rounding(module.reference, tensors[:len(taken)], len(outputs), attributes,
                         dict(zip(followed, tensors[len(taken):])), module.DIFFERENTIABLE)

    names, exact = (outputs, grads, "fp64", dtypes), states_roundings(module.IMPLEMENTATIONS)

    def saved_rounding(function, count):
        if exact:
            return _zeros(function)
        return lambda *tensors, **attributes: _rounding(function, tensors, count, attributes)

    rows = [Implementation("truth/saved", _in_fp64(module.reference, exact), _in_fp64(saved, exact) if saved
                           else None, *names),
            Implementation("truth/saved_rounding", saved_rounding(module.reference, len(outputs)),
                           saved_rounding(saved, len(grads)) if saved else None, *names)]
    if module.DIFFERENTIABLE:
        rows += [Implementation("truth/chained", None, _in_fp64(chained), *names, recomputes=True),
                 Implementation("truth/chained_rounding", None, chained_rounding, *names, recomputes=True)]
    return [*rows, _composed(module)]


def _followed(backward: Any, outputs: tuple[str, ...]) -> list[int]:
    """The positions of the outputs whose gradients a backward formula takes, in its order; of the first ones
    where it takes none by name."""
    taken = inspect.signature(backward).parameters if backward else ()
    found = [outputs.index(name.removeprefix("grad_")) for name in taken
             if name.startswith("grad_") and name.removeprefix("grad_") in outputs]
    return found or list(range(len(outputs)))


def _rounding(function, tensors: tuple, count: int, attributes: dict[str, Any],
              upstream: dict[int, Any] | None = None,
              differentiable: tuple[int, ...] = ()) -> tuple:
    """Of every element of function's count outputs, or of its gradients where there is an upstream, how far
    fp64 may round it."""
    import torch

    import error_bound
    found = error_bound.compute(function, tensors, attributes, "fp64", torch.float64, False, count, upstream,
                              differentiable)
    return tuple(x.e.contiguous() for x in found)


def _zeros(function):
    """Zeros in the shapes of what function gives, in fp64."""
    exact = _in_fp64(function, True)

    def zeros(*tensors, **attributes):
        value = exact(*tensors, **attributes)
        many = isinstance(value, tuple)
        none = tuple(t.new_zeros(t.shape) for t in (value if many else (value,)))
        return none if many else none[0]
    return zeros


def _in_fp64(function, exact: bool = False):
    """function with contiguous outputs in fp64, on floating inputs widened to fp64 unless it is exact."""
    from tensors import is_number

    def widened(*tensors, **attributes):
        value = function(*(t.double() if is_number(t) and not exact else t for t in tensors), **attributes)
        many = isinstance(value, tuple)
        wide = tuple(t.double().contiguous() for t in (value if many else (value,)))
        return wide if many else wide[0]
    return widened


if __name__ == "__main__":
    main(Truth)
