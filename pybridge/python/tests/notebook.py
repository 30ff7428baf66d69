"""Executes docs/notebook.ipynb from its first cell to its last, and says what is wrong with it: `python
notebook.py [OUTPUT.ipynb]`."""

import os
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "notebook.ipynb"


def execute():
    """The notebook with its outputs, in a data folder of its own."""
    notebook = nbformat.read(NOTEBOOK, 4)
    with tempfile.TemporaryDirectory() as data:
        os.environ["XDG_DATA_HOME"], os.environ["TRIAD_PYTHON"] = data, sys.executable
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                                resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    return notebook


def main():
    if any(cell.get("outputs") for cell in nbformat.read(NOTEBOOK, 4).cells):
        sys.exit(f"{NOTEBOOK.name}: it is kept without outputs: clear them")
    notebook = execute()
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    for o in outputs:
        if o.output_type == "stream" and o.name == "stderr":
            sys.exit(f"{NOTEBOOK.name}: a cell complains: {o.text[:2000]}")
    pictures = [o for o in outputs if "image/png" in o.get("data", {})]
    tables = [o for o in outputs if "<table" in o.get("data", {}).get("text/html", "")]
    drawings = [o for o in outputs if "data:image/svg+xml" in o.get("data", {}).get("text/html", "")]
    if len(pictures) != 3 or len(tables) < 3 or len(drawings) < 2:
        sys.exit(f"{NOTEBOOK.name}: {len(pictures)} pictures, {len(tables)} tables and {len(drawings)} "
                 "drawings: want 3, at least 3 and at least 2")
    if len(sys.argv) > 1:
        nbformat.write(notebook, sys.argv[1])
    print(f"{NOTEBOOK.name}: {len(notebook.cells)} cells, {len(pictures)} pictures, {len(tables)} tables")


if __name__ == "__main__":
    main()
