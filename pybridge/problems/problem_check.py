"""Runs the check of a published problem on a submission as its format does, with its tolerance, seeds and
trials, for the line that `triad compare` prints next to its own verdict:

    python -u pybridge/problems/problem_check.py --problem FOLDER SUBMISSION

prints one JSON object: whether the check passes, over which trials, and, where it does not, the element that
is furthest off, with the fp64 answer there and what rounding may add to it. The submission shares this
process, as it shares that of the format: triad's verdict does not depend on what is said here.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "worker"))
import bridge_folders  # noqa: E402, F401  (puts the folders of the others on sys.path)

import sandbox  # noqa: E402
from problem_trial import MOST_ELEMENTS, Trial  # noqa: E402

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
    function = getattr(own_file.load(path), module.ENTRY)

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
    import problem_names
    name = problem_folder.Folder(folder).plan["format"]
    on_gpu = os.environ.get("TRIAD_DEVICE") != "cpu" and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    if not on_gpu:
        _interpret()  # before a problem imports Triton
    module = importlib.import_module(problem_names.module(name))
    problem = module.Problem(folder)
    how, trials = module.trials(problem, device)
    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    if word := next((word for word in problem.plan.get("forbidden", ()) if word in text), ""):
        return {"passes": False, "how": how, "trial": "reading it", "why": f"it holds the word {word}"}
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
    if not ran:
        return {"failed": f"none of its calls has at most {MOST_ELEMENTS} elements"}
    return {"passes": True, "how": how, "trials": ran}


def _interpret() -> None:
    """Has Triton's kernels run in its interpreter."""
    os.environ["TRITON_INTERPRET"] = "1"
    import implementation
    if not implementation.TRITON_MISSING:
        import interpreter
        interpreter.correct()


def _furthest(problem: Any, trial: Trial, got: list, want: list) -> dict[str, Any] | None:
    """The element that is furthest from the reference's, with the fp64 answer and its error bound; None where
    there is no such element, as where the shapes differ."""
    import torch

    import error_bound
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
        bound = error_bound.compute(lambda *t: problem.reference(*t, **trial.attributes), tensors, {},
                                    contract,
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
        why = line(e)
        ours = why.removeprefix("triad: ").removeprefix("not here: ")
        found = {"failed": ours if ours != why else f"{type(e).__name__}: {why}"}
    answer.write(json.dumps(found))
    answer.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.modules["problem_check"] = sys.modules["__main__"]
    main()
