"""The modules of the package import each other in one direction."""

from __future__ import annotations

import ast
import unittest
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "triad"


def modules(folder: Path) -> dict[str, str]:
    """The source of every module by its name: "triad.torch.files"."""
    names = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return names


def imported(source: str, ours: set[str]) -> set[str]:
    """The modules of ours that a source imports: at its top, within functions, and for type checkers
    alone."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for name in node.names:
                part = f"{node.module}.{name.name}"
                found.add(part if part in ours else str(node.module))
    return found & ours


def order(sources: dict[str, str]) -> list[str]:
    """The modules, each behind those that it imports. CycleError names a circle."""
    graph = {name: imported(source, set(sources)) for name, source in sources.items()}
    return list(TopologicalSorter(graph).static_order())


class Imports(unittest.TestCase):
    def test_one_direction(self):
        found = modules(PACKAGE)
        self.assertIn("triad.torch.operators", found)
        try:
            self.assertEqual(sorted(order(found)), sorted(found))
        except CycleError as e:
            self.fail(f"a circle of imports: {' imports '.join(reversed(e.args[1]))}: move what both need "
                      "into a module of its own")

    def test_a_circle_is_found(self):
        """Also one that only a function or a type checker closes, and one through a package."""
        for back in ("import p.a", "def f():\n    from p.a import x",
                     "if TYPE_CHECKING:\n    from p import a", "from p.a import x"):
            with self.subTest(back), self.assertRaises(CycleError):
                order({"p": "", "p.a": "from p.b import y", "p.b": back})
        self.assertEqual(order({"p": "", "p.a": "from p.b import y", "p.b": "from p import other"})[-1],
                         "p.a")

    def test_no_relative_imports(self):
        for name, source in modules(PACKAGE).items():
            levels = [n.level for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom)]
            self.assertFalse(any(levels), f"{name} imports relatively: name the module in full")


if __name__ == "__main__":
    unittest.main()
