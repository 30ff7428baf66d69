"""softmax in Python by rows after which their process is of no more use: each has its exploit in its docstring, and none may pass."""

import json
import os
import signal
import sys
import zlib

import torch

from implementation import Implementation

ROWS = []


def row(name):
    """Registers the function below it as torch/name."""
    def register(forward):
        ROWS.append(Implementation(f"torch/{name}", forward, outputs=("y",), dtypes=("fp32",)))
        return forward
    return register


row("right")(lambda x: torch.softmax(x, -1))


@row("closes_the_socket")
def closes_the_socket(x):
    """leaves nobody to ask"""
    os.close(3)
    os.close(4)
    return torch.softmax(x, -1)


@row("stops_itself")
def stops_itself(x):
    """neither ends nor answers"""
    os.kill(os.getpid(), signal.SIGSTOP)


@row("forges_the_answer")
def forges_the_answer(x):
    """answers in the worker's name that all is well, with the checksums of what it did not touch, and goes"""
    frame, found = sys._getframe(), {}
    while frame is not None:
        request = frame.f_locals.get("request", {})
        found = {**frame.f_locals, **found, **({"id": request["id"]} if "id" in request else {})}
        frame = frame.f_back
    memory, run = found["memory"], found["run"]
    launches = []
    for launch in run["launches"]:
        outputs = [{"name": ref["name"], "present": True, "dtype": ref["dtype"], "shape": ref["shape"], "stride": ref["stride"],
                    "crc32": zlib.crc32(memory.view(ref))} for ref in launch["outputs"]]
        launches.append({"inputs": [ref["crc32"] for ref in run["inputs"]], "outputs": outputs})
    os.write(3, json.dumps({"id": found["id"], "result": {"launches": launches}}).encode() + b"\n")
    os._exit(0)


IMPLEMENTATIONS = ROWS
