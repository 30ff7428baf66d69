"""Problems in the format of GPU MODE: task.yml names the files and the tests; reference.py has
generate_input(**case), ref_kernel(data) and check_implementation(data, output). A submission is a file with
`def custom_kernel(data)`, whose return value is judged.

`data` is one tensor, or tuples, lists and dictionaries of tensors and other values. Its leaves are numbered
in their order. A tensor of it that the reference never reads, and that is as large as the output, is room for
the output: a submission gets it full of NaN.

An imported problem is a folder with problem.json, the problem's files, and an operator file that takes its
names from here (internal/problem writes all three).
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import problem_folder
import problem_submission
from problem_devices import On
from problem_seed import seed_torch
from problem_submission import dense, own_copies
from problem_trial import MOST_ELEMENTS, SEED, Trial, attributes_of, elements_of, words


class _Files(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the files of one problem, by the names of their modules."""

    def __init__(self, texts: dict[str, str], folder: Path):
        self.files = {name.removesuffix(".py"): (text, folder / name) for name, text in texts.items()
                      if name.endswith(".py")}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.files:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.files[name][1]))

    def exec_module(self, module: Any) -> None:
        text, path = self.files[module.__name__]
        module.__file__ = str(path)
        exec(compile(text, str(path), "exec"), vars(module))


def reference_of(texts: dict[str, str], folder: Path) -> Any:
    """The module reference. The names of the problem's other files stay its own: a submission imports
    them."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Files)]
    files = _Files(texts, folder)
    sys.meta_path.insert(0, files)
    for name in files.files:
        sys.modules.pop(name, None)
    import reference
    return reference


def leaves(data: Any) -> list:
    """The values in what generate_input returned, in their order."""
    if isinstance(data, dict):
        return [leaf for value in data.values() for leaf in leaves(value)]
    if isinstance(data, (tuple, list)):
        return [leaf for value in data for leaf in leaves(value)]
    return [data]


def template(data: Any, numbers: Any) -> Any:
    """How data is built of its leaves, each named by the next of the numbers; for JSON."""
    if isinstance(data, dict):
        return {"dict": [[key, template(value, numbers)] for key, value in data.items()]}
    if isinstance(data, (tuple, list)):
        return {type(data).__name__: [template(value, numbers) for value in data]}
    return next(numbers)


def built(form: Any, values: list) -> Any:
    """The data of a template, with these leaves."""
    if isinstance(form, int):
        return values[form]
    (kind, parts), = form.items()
    if kind == "dict":
        return {key: built(part, values) for key, part in parts}
    found = [built(part, values) for part in parts]
    return tuple(found) if kind == "tuple" else found


def answer(reference: Any, form: Any, values: list) -> tuple[torch.Tensor, ...]:
    """What ref_kernel returns for data with these leaves. Some references compute in fp64 and return that:
    the check of the format compares no dtypes, and a submission answers in that of its inputs."""
    like = next((v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()), None)
    with On(next(v.device for v in values if isinstance(v, torch.Tensor))):
        value = reference.ref_kernel(built(form, values))
    found = []
    for v in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(v, torch.Tensor):
            v = v.reshape(1) if v.dim() == 0 else v
            v = v.to(like.dtype) if v.dtype == torch.float64 and like is not None else v
        found.append(v)
    return tuple(found)


def poison(dtype: torch.dtype) -> float | int:
    """What room for an output holds before a call: the least likely answer."""
    return torch.nan if dtype.is_floating_point else torch.iinfo(dtype).max


def room_like(tensors: tuple, shape: Any, dtype: torch.dtype) -> torch.Tensor:
    """Room for an output of the reference: numbers in the dtype in which it computes, that of the tensors."""
    like = next((t for t in tensors if t.is_floating_point()), tensors[0])
    bounded = sys.modules.get("bounded")
    if not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype, device=like.device)
    zeros = torch.zeros(shape, dtype=like.dtype, device=like.device)
    is_bounded = bounded is not None and isinstance(like, bounded.Bounded)
    return bounded.writable(zeros) if is_bounded else zeros


class Problem(problem_folder.Folder):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self.module = reference_of(self.texts, self.folder)

    def leaves(self, tensors: tuple, attributes: dict[str, Any], room: Any) -> list:
        """The leaves of the data of a call; room(shape, dtype) makes room for an output."""
        import problem_sizes
        values, found = self.values(tensors, attributes), []
        for leaf in self.plan["leaves"]:
            if "input" in leaf:
                found.append(tensors[leaf["input"]])
            elif "constant" in leaf:
                found.append(values[leaf["constant"]])
            elif "room" in leaf:
                shape = [problem_sizes.value_of(size, values) for size in leaf["room"]]
                found.append(room(shape, getattr(torch, leaf["dtype"])))
            else:
                found.append(leaf["value"])
        return found

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the problem draws them at the sizes of a call."""
        values = self.values(tuple(types.SimpleNamespace(shape=s) for s in shapes), attributes)
        arguments = {**self.plan["fixed"], **values, **({"seed": seed} if self.plan["takes_seed"] else {})}
        seed_torch(seed)
        with On("cpu"):
            found = leaves(self.module.generate_input(**arguments))
        return [t for leaf, t in zip(self.plan["leaves"], found) if "input" in leaf]

    def reference(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """The outputs, computed in the dtype of the tensors."""
        def room(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
            return room_like(tensors, shape, dtype)
        values = self.leaves(own_copies(tensors), attributes, room)
        value = answer(self.module, self.plan["template"], values)
        return value if len(value) > 1 else value[0]


class Submission(problem_submission.Submission):
    """The function custom_kernel of a file."""

    def missing(self) -> str:
        if callable(getattr(self.file, "custom_kernel", None)):
            return ""
        return "it defines no function custom_kernel, which a submission of GPU MODE has"

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """What custom_kernel returns, without gaps."""
        return dense(self.returned(*tensors, **attributes))

    def returned(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """What custom_kernel returns."""
        def room(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
            return torch.full(shape, poison(dtype), dtype=dtype, device=tensors[0].device)
        data = built(self.problem.plan["template"], self.problem.leaves(tensors, attributes, room))
        with self.own_file.called():
            return self.file.custom_kernel(data)


def trials(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the format's own check."""
    import yaml
    task, plan = yaml.safe_load(problem.text), problem.plan

    def each() -> Iterator[Trial]:
        for case in [*task["tests"], *(task.get("benchmarks") or [])]:
            values = {n: v for n, v in case.items() if n != "seed"}
            known = {n: values.get(n) for n in plan["own"]}
            if known not in plan["tests"] or (
                    device == "cpu" and elements_of(plan, values) > MOST_ELEMENTS):
                continue

            def drawn(case: dict[str, Any] = case) -> Any:
                seed_torch(case.get("seed", SEED))
                with On("cpu"):
                    return problem.module.generate_input(**case)

            def accepts(got: list, want: list, drawn: Callable = drawn) -> bool:
                with On("cpu"):
                    found = problem.module.check_implementation(
                        drawn(), tuple(got) if len(got) > 1 else got[0])
                return bool(found[0] if isinstance(found, tuple) else not found)
            found = leaves(drawn())
            tensors = tuple(v for v, leaf in zip(found, plan["leaves"]) if "input" in leaf)
            yield Trial("test " + words(case), tensors, attributes_of(plan, values), values, accepts)
    few = f" of at most {MOST_ELEMENTS} elements" if device == "cpu" else ""
    return f"its tests and benchmarks{few}, check_implementation", each()


def submission(folder: str, path: str, name: str) -> list:
    """The rows of an operator file that calls a submission."""
    from implementation import Implementation
    problem = Problem(folder)
    called = Submission(problem, path)
    plan = problem.plan
    return [Implementation(name, called.forward, None, tuple(plan["outputs"]), (), problem.contracts(),
                           tuple(plan["dtypes"]), accepts=called.accepts,
                           nondeterministic=called.varying())]
