"""The folder of an imported problem: problem.json, and copies of the problem's files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


class Folder:
    """What a folder holds: the plan, and the texts of the problem's files by their names."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.plan: dict[str, Any] = json.loads((self.folder / "problem.json").read_text(encoding="utf-8"))
        self.path = self.folder / self.plan["file"]
        self.texts: dict[str, str] = {}
        for name, hash_of in self.plan["files"].items():
            content = (self.folder / name).read_bytes()
            if hashlib.sha256(content).hexdigest() != hash_of:
                raise ImportError(f"{self.folder / name} is no longer the file that was imported: import it "
                                  "again")
            self.texts[name] = content.decode("utf-8-sig", errors="replace")
        self.text = self.texts[self.plan["file"]]

    def contracts(self) -> dict[tuple[str, str], str]:
        """The contract that the problem is judged under: in 16 bits its reference rounds after each
        operation, and products of fp8 may be summed in the tensor core."""
        return {(direction, dtype): self.plan.get("contract", "eager")
                for direction in ("forward", "backward") for dtype in self.plan["dtypes"] if dtype != "fp32"}

    def values(self, tensors: tuple, attributes: dict[str, Any]) -> dict[str, Any]:
        """The values of a call's constants: sizes of its tensors, and attributes."""
        return {name: attributes[place["attribute"]] if "attribute" in place
                else tensors[place["input"]].shape[place["axis"]]
                for name, place in self.plan["constants"].items()}

    draw = None
    """draw(shapes, attributes, seed) gives the inputs as the problem draws them at the sizes of a call, where
    it can draw them at other sizes than its own."""

    def rows(self) -> list:
        """The row of the table that shows the reference itself, in the dtype of the case."""
        from implementation import Implementation
        return [Implementation("torch/problem", self.reference, None, tuple(self.plan["outputs"]), (),
                               self.contracts(), tuple(self.plan["dtypes"]))]
