"""A submission that Python calls, whatever the format of its problem is: which calls the format makes, and
what a submission may decline."""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path
from typing import Any

import torch

import tensors


class Submission:
    """What a file defines, called as the format calls it. A format says how: forward(), and what it asks of
    the file, in found()."""

    def __init__(self, problem: Any, path: str):
        import own_file
        self.problem, self.own_file = problem, own_file
        self.tried: dict[Any, str] = {}
        self.path = self.unpacked(path)
        if _compiles_cuda(Path(self.path)) and not self.on_gpu():
            raise ImportError("triad: not here: it compiles CUDA when it is imported, which needs a GPU")
        self.file = self.load()
        if missing := self.missing():
            raise ImportError(f"triad: {path}:1: {missing}")

    def varying(self) -> tuple[str, ...]:
        """The outputs and gradients whose bits may differ between two calls: no format asks for the same, so
        that a sum by atomics is right where each of its answers is."""
        plan = self.problem.plan
        return (*plan["outputs"], *plan.get("gradients", ()))

    def unpacked(self, path: str) -> str:
        """The file of Python that a submission is, where the format packs it into one of another kind."""
        return path

    def load(self) -> Any:
        """What the file defines."""
        return self.own_file.load(self.path)

    @staticmethod
    def on_gpu() -> bool:
        """Whether the submission runs on a GPU."""
        return os.environ.get("TRIAD_DEVICE") != "cpu" and torch.cuda.is_available()

    def missing(self) -> str:
        """What the file lacks, in a clause; "" for nothing."""
        raise NotImplementedError

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """The submission's answer."""
        raise NotImplementedError

    def accepts(self, direction: str, *tensors: torch.Tensor, **attributes: Any) -> str | None:
        """Why a call is none that the format makes: it gives dense tensors of the problem's own sizes, and
        asks for no gradient. Other sizes, and gradients, are judged where the submission has them. The driver
        lets no call that the format makes be declined, whatever becomes of this function."""
        plan = self.problem.plan
        inputs = tensors[:plan["tensors"]]
        if any(not t.is_contiguous() or t.data_ptr() % 16 for t in inputs):
            return "the format hands a submission dense tensors that begin at multiples of 16 bytes"
        constants = self.problem.values(tensors, attributes)
        if direction == "forward" and any(all(constants[name] == size for name, size in own.items())
                                          for own in (plan["own"], *plan.get("tests", ()))):
            return None
        key = (direction, tuple((tuple(t.shape), t.dtype, t.device) for t in tensors),
               tuple(attributes.items()))
        if key not in self.tried:
            self.tried[key] = self._try(direction, tensors, attributes)
        return self.tried[key] or None

    def _try(self, direction: str, tensors: tuple, attributes: dict[str, Any]) -> str:
        """Why the submission does not take a call, tried on ones: what it does with its values is judged."""
        plan = self.problem.plan
        ones = [torch.full(t.shape, int(t.is_floating_point()), dtype=t.dtype, device=t.device)
                for t in tensors]
        where = ("where its gradient is asked for" if direction == "backward" else
                 "on empty tensors" if any(t.numel() == 0 for t in ones) else
                 "at sizes that are not the problem's")
        wanted = plan["differentiable"] if direction == "backward" else []
        inputs = [t.requires_grad_(i in wanted) for i, t in enumerate(ones[:plan["tensors"]])]
        try:
            with torch.set_grad_enabled(direction == "backward"):
                value = self.forward(*inputs, **attributes)
            value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
            if direction == "forward":
                return ""
            ends = [(v, g) for v, g in zip(value, ones[plan["tensors"]:]) if v.requires_grad]
            if not ends:
                return "its forward leaves autograd nothing to go back through, and the format asks for none"
            found = torch.autograd.grad([v for v, _ in ends], [inputs[i] for i in wanted],
                                        [g for _, g in ends], allow_unused=True)
        except Exception as e:
            if _is_fault(e):  # the launch that follows shows it
                return ""
            return f"it raises {type(e).__name__} {where}" + (f": {e}" if str(e) else "")
        missing = [plan["gradients"][k] for k, g in enumerate(found) if g is None]
        return f"autograd finds no way back to {', '.join(missing)}" if missing else ""


def written(sources: dict[str, str], first: str) -> str:
    """Writes files that a submission is packed of, by their relative paths, into a folder of this process's
    own; the path of the first."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    for name, text in sources.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ImportError(f"triad: its file {name} lies outside of its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(folder / first)


def own_copies(tensors: tuple) -> tuple:
    """Copies of the tensors, since a reference may write into what it gets."""
    return tuple(t.clone() if isinstance(t, torch.Tensor) else t for t in tensors)


def dense(value: Any) -> Any:
    """What a function returned, each tensor without gaps."""
    if isinstance(value, (tuple, list)):
        return tuple(dense(v) for v in value)
    if type(value) is not torch.Tensor:
        return value
    value = tensors.without_own_methods(value)
    return value.contiguous() if value.dim() else value.reshape(1)


def _is_fault(e: BaseException | None) -> bool:
    """Whether an exception is of a kernel or of lines that are wrong at any size, and not of a function that
    declines a call."""
    while e is not None:
        if isinstance(e, (tensors.OutOfBounds, torch.AcceleratorError, MemoryError, torch.OutOfMemoryError,
                          TypeError, NameError, AttributeError, ImportError)):
            return True
        if type(e).__name__ == "InterpreterError":
            return "power of 2" not in str(e.__cause__)  # which is no size of a tile: nothing is compiled
        e = e.__cause__
    return False


def _compiles_cuda(path: Path) -> bool:
    """Whether a file has torch compile CUDA."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig", errors="replace"))
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "load_inline" and any(k.arg == "cuda_sources" for k in node.keywords):
                return True
            if name == "load" and any(k.arg == "sources" for k in node.keywords):
                return True
    return False
