"""Reads one published problem and describes it as an operator, for `triad import`:

    python -u pybridge/problem_inspect.py --format kernelbench FILE

prints one JSON object: the description, or {"refused": SENTENCE}. The file is foreign: this runs in a
sandbox, and what the file prints goes nowhere.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings

import sandbox


class Refused(Exception):
    """Why a problem cannot be imported, in a sentence."""


def line(e: BaseException) -> str:
    """The message of an exception in one line, without the stack of C++ that torch appends."""
    return " ".join(f"{e}".partition("Exception raised from ")[0].split())[:300]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", required=True, choices=["kernelbench", "leetgpu"])
    parser.add_argument("file")
    asked = parser.parse_args()
    sandbox.limit_self()
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    try:
        if asked.format == "leetgpu":
            from problem_describe_leetgpu import describe
        else:
            from problem_describe_kernelbench import describe
        described = describe(asked.file)
    except Refused as e:
        described = {"refused": str(e)}
    except BaseException as e:
        text = line(e)
        described = {"refused": f"reading it raised {type(e).__name__}" + (f": {text}" if text else "")}
    json.dump(described, answer)
    answer.flush()
    os._exit(0)  # what the file started does not keep the process


if __name__ == "__main__":
    sys.modules["problem_inspect"] = sys.modules["__main__"]
    main()
