"""Runs the check of a published problem on a submission as its format does, with its tolerance, seeds and
trials, for the line that `triad compare` prints next to its own verdict:

    python -u pybridge/problems/problem_check.py --problem FOLDER SUBMISSION

prints one JSON object: whether the check passes, over which trials, and, where it does not, the element that
is furthest off, with the fp64 answer there and what rounding may add to it. The submission shares this
process, as it shares that of the format: triad's verdict does not depend on what is said here.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "worker"))
import bridge_folders  # noqa: E402, F401  (puts the folders of the others on sys.path)

import sandbox  # noqa: E402

MOST_ELEMENTS = 1 << 20
"""Of the tensors of a trial on a processor."""

TRIALS, SEED = 5, 42
"""Of KernelBench; the seed of the other formats where their tests name none."""


@dataclass
class Trial:
    """A call of the format's check."""

    name: str
    tensors: tuple
    attributes: dict[str, Any]
    values: dict[str, Any]  # the numbers of the call by their names in the problem
    accepts: Callable[[list, list], bool]  # what it says of an answer next to the reference's


# ---- the formats


def _kernelbench(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    import torch

    import problem_kernelbench as kernelbench
    plan = problem.plan
    small = plan["own_elements"] <= MOST_ELEMENTS or device != "cpu"
    chosen = {} if small else plan["checked"]
    values = {**kernelbench.names_of(ast.parse(problem.text)), **chosen}
    module = kernelbench.execute(problem.text, str(problem.path), chosen)
    torch.manual_seed(SEED)
    seeds = [int(torch.randint(0, 2 ** 32 - 1, (1,)).item()) for _ in range(TRIALS)]
    tolerance = plan["their_check"]

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(
            a.shape == b.shape and torch.allclose(a, b, **tolerance) for a, b in zip(got, want))

    def trials() -> Iterator[Trial]:
        for i, seed in enumerate(seeds):
            torch.manual_seed(seed)
            inputs = list(module.get_inputs())
            attributes = _attributes(plan, values)
            attributes.update({a["attribute"]: inputs[k] for k, a in enumerate(plan["arguments"])
                               if "attribute" in a})
            tensors = tuple(inputs[k] for k, a in enumerate(plan["arguments"]) if "input" in a)
            yield Trial(f"trial {i + 1}", tensors, attributes, values, accepts)
    sizes = "" if small else ", at sizes cut to " + _words(
        {n: v for n, v in chosen.items() if n in plan["own"]})
    return f"{TRIALS} trials from seed {SEED}, {_tolerance(tolerance)}{sizes}", trials()


def _leetgpu(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    import torch

    import problem_leetgpu as leetgpu
    tolerance = problem.plan["their_check"]

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(torch.allclose(a, b, **tolerance) for a, b in zip(got, want))

    def trials() -> Iterator[Trial]:
        torch.manual_seed(SEED)
        for i, test in enumerate(problem.challenge.generate_functional_test()):
            yield from _test(problem, f"test {i + 1}", {n: leetgpu.made(v) for n, v in test.items()}, device,
                             lambda _: accepts)
    return f"its functional tests, {_tolerance(tolerance)}", trials()


def _tensara(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    from problem_devices import On

    def accepts(got: list, want: list) -> bool:
        several = len(want) > 1
        found = problem.found.verify_result(tuple(want) if several else want[0],
                                            tuple(got) if several else got[0])
        return bool(found[0] if isinstance(found, tuple) else found)

    def trials() -> Iterator[Trial]:
        names = [name for name, word in problem.plan["signature"] if word != "output"]
        sample = problem.found.generate_sample()
        samples = sample if isinstance(sample, list) else [sample]
        for case in [*samples, *problem.found.generate_test_cases()]:
            with On("meta"):
                tensors = [t for t in case["create_inputs"]() if hasattr(t, "numel")]
            if sum(t.numel() for t in tensors) <= MOST_ELEMENTS or device != "cpu":
                with On("cpu"):
                    given = [*case["create_inputs"](), *problem.found.get_extra_params(case)]
                yield from _test(problem, f"test {case.get('name', '')}", dict(zip(names, given)), device,
                                 lambda _: accepts)
    few = f" of at most {MOST_ELEMENTS} elements" if device == "cpu" else ""
    return f"its sample and tests{few}, verify_result", trials()


def _gpumode(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    import torch
    import yaml

    import problem_gpumode as gpumode
    from problem_devices import On
    task, plan = yaml.safe_load(problem.text), problem.plan

    def trials() -> Iterator[Trial]:
        for case in [*task["tests"], *(task.get("benchmarks") or [])]:
            values = {n: v for n, v in case.items() if n != "seed"}
            known = {n: values.get(n) for n in plan["own"]}
            if known not in plan["tests"] or (
                    device == "cpu" and _elements(plan, values) > MOST_ELEMENTS):
                continue

            def drawn(case: dict[str, Any] = case) -> Any:
                torch.manual_seed(case.get("seed", SEED))
                with On("cpu"):
                    return problem.module.generate_input(**case)

            def accepts(got: list, want: list, drawn: Callable = drawn) -> bool:
                with On("cpu"):
                    found = problem.module.check_implementation(
                        drawn(), tuple(got) if len(got) > 1 else got[0])
                return bool(found[0] if isinstance(found, tuple) else not found)
            leaves = gpumode.leaves(drawn())
            tensors = tuple(v for v, leaf in zip(leaves, plan["leaves"]) if "input" in leaf)
            yield Trial("test " + _words(case), tensors, _attributes(plan, values), values, accepts)
    few = f" of at most {MOST_ELEMENTS} elements" if device == "cpu" else ""
    return f"its tests and benchmarks{few}, check_implementation", trials()


def _test(problem: Any, name: str, test: dict[str, Any], device: str, accepts: Callable) -> Iterator[Trial]:
    """The trial of a test of a function's parameters, if it is small enough."""
    tensors = tuple(test[n] for n, word in problem.plan["signature"] if word == "input")
    values = {n: test[n] for n, word in problem.plan["signature"] if word in ("number", "extra")}
    if device != "cpu" or sum(t.numel() for t in tensors) <= MOST_ELEMENTS:
        yield Trial(name, tensors, _attributes(problem.plan, values), values, accepts(test))


def _attributes(plan: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {place["attribute"]: values[n] for n, place in plan["constants"].items()
            if place and "attribute" in place and n in values}


def _elements(plan: dict[str, Any], values: dict[str, Any]) -> int:
    """About how many elements the tensors of a test have: as many as its own have at its own sizes,
    scaled."""
    share = 1.0
    for n, size in plan["own"].items():
        share *= values[n] / max(1, size)
    return int(plan["own_elements"] * share)


def _words(values: dict[str, Any]) -> str:
    return ", ".join(f"{n} = {v}" for n, v in values.items())


def _tolerance(check: dict[str, float]) -> str:
    return f"atol {check['atol']:g} and rtol {check['rtol']:g}"


# ---- the submission


def _called(problem: Any, module: Any, path: str) -> Callable[[Trial], list]:
    """What calls the submission for a trial."""
    import torch
    if hasattr(module, "Submission"):
        submission = module.Submission(problem, path)

        run = getattr(submission, "returned", submission.forward)

        def call(trial: Trial) -> list:
            value = run(*(t.clone() for t in trial.tensors), **trial.attributes)
            return list(value) if isinstance(value, (tuple, list)) else [value]
        return call
    import own_file
    entry = {"leetgpu": "solve", "tensara": "solution"}[problem.plan["format"]]
    function = getattr(own_file.load(path), entry)

    def call_function(trial: Trial) -> list:
        rest, arguments, outputs = [t.clone() for t in trial.tensors], [], []
        shapes = [v.shape for v in _reference(problem, trial)]
        for name, word in problem.plan["signature"]:
            if word == "input":
                arguments.append(rest.pop(0))
            elif word == "output":
                outputs.append(torch.zeros(shapes[len(outputs)], dtype=trial.tensors[0].dtype,
                                           device=trial.tensors[0].device))
                arguments.append(outputs[-1])
            else:
                arguments.append(trial.values[name])
        with own_file.called():
            function(*arguments)
        return outputs
    return call_function


def _reference(problem: Any, trial: Trial) -> list:
    value = problem.reference(*trial.tensors, **trial.attributes)
    return list(value) if isinstance(value, (tuple, list)) else [value]


def checked(folder: str, path: str) -> dict[str, Any]:
    """What the check says."""
    import torch

    import problem_folder
    name = problem_folder.Folder(folder).plan["format"]
    module = importlib.import_module("problem_" + name)
    problem = module.Problem(folder)
    on_gpu = os.environ.get("TRIAD_DEVICE") != "cpu" and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    formats = {"kernelbench": _kernelbench, "leetgpu": _leetgpu, "tensara": _tensara, "gpumode": _gpumode}
    how, trials = formats[name](problem, device)
    call = _called(problem, module, path)
    ran = 0
    with torch.no_grad():
        for trial in trials:
            trial.tensors = tuple(t.to(device) for t in trial.tensors)
            ran += 1
            want = _reference(problem, trial)
            try:
                got = call(trial)
            except Exception as e:
                from problem_inspect import line
                return {"passes": False, "how": how, "trial": trial.name,
                        "why": f"it raises {type(e).__name__}" + (f": {line(e)}" if str(e) else "")}
            got = [g.cpu() for g in got]
            want = [w.cpu() for w in want]
            if not trial.accepts(got, want):
                return {"passes": False, "how": how, "trial": trial.name,
                        "element": _furthest(problem, trial, got, want)}
    return {"passes": ran > 0, "how": how, "trials": ran}


def _furthest(problem: Any, trial: Trial, got: list, want: list) -> dict[str, Any] | None:
    """The element that is furthest from the reference's, with the fp64 answer and its allowance; None where
    there is no such element, as where the shapes differ."""
    import torch

    import allowance
    from tensors import NAMES
    far = [(g.double() - w.double().reshape(g.shape)).abs().nan_to_num(torch.inf) for g, w in zip(got, want)
           if g.shape.numel() == w.shape.numel() and g.numel()]
    if len(far) != len(want) or not any(f.any() for f in far):
        return None  # it is no value that the check rejects, but a shape or a dtype, say
    k = max(range(len(far)), key=lambda i: far[i].max().item())
    at = int(far[k].argmax())
    index = [int(i) for i in torch.unravel_index(torch.tensor(at), far[k].shape)]
    found = {"name": problem.plan["outputs"][k], "index": index, "got": got[k].flatten()[at].item(),
             "want": want[k].flatten()[at].item()}
    tensors = tuple(t.cpu() for t in trial.tensors)
    dtype = next(t.dtype for t in tensors if t.is_floating_point())
    contract = "fp32" if dtype == torch.float32 else "eager"
    try:
        bound = allowance.compute(lambda *t: problem.reference(*t, **trial.attributes), tensors, {}, contract,
                                  dtype, False, len(want))[k]
    except Exception:
        return _in_words(found)
    r, e = bound.r.flatten()[at].item(), bound.e.flatten()[at].item()
    rounded = abs(r) * torch.finfo(dtype).eps / 2
    inside = abs(found["got"] - r) <= e + 1.01 * rounded
    return _in_words({**found, "truth": r, "allowance": e + rounded, "dtype": NAMES[dtype], "inside": inside})


def _in_words(found: dict[str, Any]) -> dict[str, Any]:
    """An element with its values as text, since JSON has neither NaN nor infinities."""
    return {k: f"{v:.9g}" if k in ("got", "want", "truth", "allowance") else v for k, v in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem", required=True)
    parser.add_argument("submission")
    asked = parser.parse_args()
    sandbox.limit_self()
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    try:
        found = checked(asked.problem, asked.submission)
    except BaseException as e:
        from problem_inspect import line
        found = {"failed": f"{type(e).__name__}: {line(e)}"}
    answer.write(json.dumps(found))
    answer.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.modules["problem_check"] = sys.modules["__main__"]
    main()
