"""The second truth: runs the `reference` of operator files in fp64, for the driver to compare its own truth with.

    python -u -X faulthandler pybridge/truth.py --operators DIR

The wire is the worker's. Inputs come in the dtypes a kernel gets; every floating one is widened to fp64, exactly, before anything is computed, and
outputs are fp64. It registers for each operator

    truth/saved      forward: reference; backward: reference_backward, the formula on the saved tensors it is given
    truth/chained    backward: autograd of the fp64 forward, from the operator's inputs and the upstream gradients

Nothing of a candidate runs here: Triton is kept out of the process, and of an operator file only these two functions are called.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

sys.modules["triton"] = None  # an import of it fails from here on: the operator files then define no kernel

from worker import Worker, failed, main  # noqa: E402  (after Triton has been shut out)


class Truth(Worker):
    """A worker on the CPU whose implementations are the references."""

    def _import_torch(self) -> dict[str, str]:
        import torch
        self.device = torch.device("cpu")
        return {"torch": torch.__version__}

    def _import_triton(self) -> dict[str, str]:
        return {}

    def _module(self, op: str) -> ModuleType | dict[str, Any]:
        module = super()._module(op)
        if isinstance(module, ModuleType):
            if not hasattr(module, "reference"):
                self.loaded[op] = failed("UNAVAILABLE", f"{module.__file__}: it has no reference")
            else:
                self.loaded[op] = SimpleNamespace(__file__=module.__file__, IMPLEMENTATIONS=_truths(module))
        return self.loaded[op]


def _truths(module: ModuleType) -> list:
    """The references of an operator file as implementations."""
    from implementation import Implementation, gradients
    outputs = max((i.outputs for i in module.IMPLEMENTATIONS), key=len)
    grads = max((i.gradients for i in module.IMPLEMENTATIONS), key=len)
    taken = [p for p in inspect.signature(module.reference).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    dtypes = module.IMPLEMENTATIONS[0].dtypes

    def chained(*tensors, **attributes):
        return gradients(module.reference, tensors[:len(taken)], tensors[len(taken):], module.DIFFERENTIABLE, **attributes)

    saved = getattr(module, "reference_backward", None)
    rows = [Implementation("truth/saved", _in_fp64(module.reference), _in_fp64(saved) if saved else None, outputs, grads, "fp64", dtypes)]
    if hasattr(module, "DIFFERENTIABLE"):
        rows.append(Implementation("truth/chained", None, _in_fp64(chained), outputs, grads, "fp64", dtypes, recomputes=True))
    return rows


def _in_fp64(function):
    """function on inputs widened to fp64, with contiguous outputs."""
    def widened(*tensors, **attributes):
        value = function(*(t.double() if t.is_floating_point() else t for t in tensors), **attributes)
        return tuple(t.contiguous() for t in value) if isinstance(value, tuple) else value.contiguous()
    return widened


if __name__ == "__main__":
    sys.exit(main(Truth))
