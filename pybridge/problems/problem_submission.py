"""A submission in Python, of any format of problems: the calls that the format makes, and those that a
submission may decline."""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path
from typing import Any

import torch

import tensors


class Submission:
    """The code of a submitted file, called as its format calls it. Each format implements forward(), and in
    missing() what the file must define."""

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
        """Returns the outputs and gradients whose bits may differ between two calls: all of them, since no
        format asks for equal bits. A sum by atomics passes if each of its answers does."""
        plan = self.problem.plan
        return (*plan["outputs"], *plan.get("gradients", ()))

    def unpacked(self, path: str) -> str:
        """Returns the path of the Python file, which some formats pack into another file."""
        return path

    def load(self) -> Any:
        """Imports the file and returns its module."""
        return self.own_file.load(self.path)

    @staticmethod
    def on_gpu() -> bool:
        """Reports whether the submission runs on a GPU."""
        return os.environ.get("TRIAD_DEVICE") != "cpu" and torch.cuda.is_available()

    def missing(self) -> str:
        """Returns what the file lacks, in a clause; "" for nothing."""
        raise NotImplementedError

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """Returns the submission's answer."""
        raise NotImplementedError

    def accepts(self, direction: str, *tensors: torch.Tensor, **attributes: Any) -> str | None:
        """Returns why a call may be declined, None if it is judged. A format calls with dense tensors of the
        problem's own sizes and asks for no gradient; other sizes, and gradients, are judged only if the
        submission supports them. The driver itself rejects a declined call of the format, since a submission
        can replace this function."""
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
        """Returns why the submission does not support a call, "" if it does. The trial uses ones, so that it
        depends on sizes and dtypes only."""
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
    """Writes the packed files of a submission, by their relative paths, into a temporary folder. Returns the
    path of the first."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    for name, text in sources.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ImportError(f"triad: its file {name} lies outside of its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(folder / first)


def own_copies(tensors: tuple) -> tuple:
    """Copies the tensors, since a reference may write into its inputs."""
    return tuple(t.clone() if isinstance(t, torch.Tensor) else t for t in tensors)


def dense(value: Any) -> Any:
    """Returns the value of a function with each tensor made contiguous."""
    if isinstance(value, (tuple, list)):
        return tuple(dense(v) for v in value)
    if type(value) is not torch.Tensor:
        return value
    value = tensors.without_own_methods(value)
    return value.contiguous() if value.dim() else value.reshape(1)


def _is_fault(e: BaseException | None) -> bool:
    """Reports whether an exception shows a bug in a kernel, or in code that fails at any size, and not a
    declined call."""
    while e is not None:
        if isinstance(e, (tensors.OutOfBounds, torch.AcceleratorError, MemoryError, torch.OutOfMemoryError,
                          TypeError, NameError, AttributeError, ImportError)):
            return True
        if type(e).__name__ == "InterpreterError":
            return "power of 2" not in str(e.__cause__)  # other messages are no limit on a tile
        e = e.__cause__
    return False


def _compiles_cuda(path: Path) -> bool:
    """Reports whether a file compiles CUDA through torch."""
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
