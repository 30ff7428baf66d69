"""Runs the lines of a Python file of the user's own, statement by statement (own_file.py imports it).

Lines that show or test what the file defines may fail: that is printed, and ends nothing. So may imports of
what is not here, and assignments of what is made by a call, such as a program that another version of Triton
compiles: whatever uses their names fails then, with their reason, and nothing else does. What else fails ends
the import.

A cell of a notebook that is kept as a file has the names of the cell above: one that imports nothing gets
those that everybody gives to PyTorch and Triton. A function that asks for a constant which the block of
"__main__" alone assigns gets that.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
import traceback
import types
from pathlib import Path
from typing import Any, NoReturn

PACKAGES = {"cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml",
            "flash_attn": "flash-attn", "liger_kernel": "liger-kernel", "fla": "flash-linear-attention",
            "cutlass": "nvidia-cutlass-dsl", "skimage": "scikit-image"}
"""What pip calls a package that is not called as its module."""

USUAL = {"torch": "torch", "triton": "triton", "tl": "triton.language", "nn": "torch.nn",
         "F": "torch.nn.functional", "np": "numpy", "math": "math", "time": "time", "os": "os"}
"""The names that cells of notebooks have from the cells above them."""


def sentence(e: BaseException) -> str:
    """What is wrong. For a package that is missing the line that installs it."""
    text = f"{type(e).__name__}: {e}"
    if isinstance(e, ModuleNotFoundError) and e.name:
        name = e.name.partition(".")[0]
        return f"{text}: {sys.executable} -m pip install {PACKAGES.get(name, name.replace('_', '-'))}"
    return text


def run(path: str, text: str, module: types.ModuleType) -> None:
    """Runs the lines of the file."""
    tree = _parsed(path, text)
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for feature in node.names:
                flags |= getattr(__import__("__future__"), feature.name).compiler_flag
    if (doc := ast.get_docstring(tree, clean=False)) is not None:
        module.__doc__ = doc
    _give_usual_names(tree, module)
    for node in tree.body:
        code = compile(ast.Module([node], []), path, "exec", flags=flags, dont_inherit=True)
        try:
            while True:
                try:
                    exec(code, module.__dict__)
                    break
                except ModuleNotFoundError as e:
                    is_import = isinstance(node, (ast.Import, ast.ImportFrom))
                    if not is_import or not _search_near(Path(path), e.name):
                        raise
        except Exception as e:
            if _shows(node):
                print(f"triad: line {node.lineno} shows or tests what the file defines, and failed:\n"
                      f"{traceback.format_exc()}", file=sys.stderr)
            elif names := _may_miss(node, e):
                _leave(names, e, path, node.lineno, module)
            else:
                raise
    _take_from_main(tree, path, module)


def _search_near(path: Path, name: str | None) -> bool:
    """Searches one more folder for what is imported: the only one near the file that has a module of that
    name. Its author stood elsewhere, or named it relative to there."""
    if not name or not name.isidentifier():
        return False
    here, above = path.parent, path.parent.parent
    found = {str(at.parent.parent if at.name == "__init__.py" else at.parent)
             for folder, pattern in ((here, "*"), (above, "*"), (above, "*/*"), (above.parent, "*"))
             for end in (f"{name}.py", f"{name}/__init__.py") for at in folder.glob(f"{pattern}/{end}")}
    if len(found) != 1 or (place := found.pop()) in sys.path:
        return False
    sys.path.append(place)
    print(f"triad: it imports {name}, which lies in {place}", file=sys.stderr)
    return True


def _parsed(path: str, text: str) -> ast.Module:
    """The statements of the file. Lines that only a notebook understands, "!pip install" and "%%time", are
    left out where they keep it from being Python."""
    try:
        return ast.parse(text, path)
    except SyntaxError:
        plain = re.sub(r"(?m)^([ \t]*)(?:%%?[A-Za-z]|![ \t]*[\w./]).*$", r"\1pass", text)
        if plain == text:
            raise
        tree = ast.parse(plain, path)
        print("triad: lines of a notebook are left out", file=sys.stderr)
        return tree


def _shows(node: ast.stmt) -> bool:
    """Says whether a statement defines nothing: it calls, asserts, or does so in a block."""
    defining = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.AsyncFunctionDef)
    return (isinstance(node, (ast.Expr, ast.Assert, ast.For, ast.While, ast.With, ast.If, ast.Try))
            and not any(isinstance(inner, defining) for inner in ast.walk(node)))


# ---- what is missing


class Missing(ImportError):
    """A name was used that nothing stands for, since the line failed that was to give it its value."""


class _Absent:
    """Stands for what a line of the file was to give a name. Whoever uses it gets the reason why it failed;
    to hand it on is no use."""

    def __init__(self, why: str):
        self.__dict__["_why"] = why

    def _fail(self, *_: Any, **__: Any) -> NoReturn:
        raise Missing(self.__dict__["_why"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._fail()

    __call__ = __getitem__ = __setattr__ = __iter__ = __len__ = __bool__ = __enter__ = __mro_entries__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fail
    __floordiv__ = __rfloordiv__ = __mod__ = __lt__ = __le__ = __gt__ = __ge__ = __index__ = __float__ = _fail


def _may_miss(node: ast.stmt, e: Exception) -> list[str]:
    """The names that a statement which failed was to give a value to, where what else the file defines may
    do without them: none where it may not."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [(name.asname or name.name.partition(".")[0]) for name in node.names]
        return names if isinstance(e, ImportError) and "*" not in names else []
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name] if isinstance(e, Missing) else []
    if isinstance(node, ast.Assign):
        targets = [inner for target in node.targets for inner in ast.walk(target)]
    elif isinstance(node, ast.AnnAssign):
        targets = list(ast.walk(node.target))
    else:
        return []
    calls = any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    plain = all(isinstance(t, (ast.Name, ast.Tuple, ast.List, ast.expr_context)) for t in targets)
    if isinstance(e, Missing) or calls and plain and not isinstance(e, NameError):
        return [t.id for t in targets if isinstance(t, ast.Name)]
    return []


def _leave(names: list[str], e: Exception, path: str, line: int, module: types.ModuleType) -> None:
    """Lets names stand for nothing."""
    why = str(e) if isinstance(e, Missing) else f"triad: {path}:{line}: {sentence(e)}"
    for name in names:
        if not isinstance(e, ImportError) or isinstance(e, Missing):
            module.__dict__[name] = _Absent(why)
        else:  # of several that one line imports those before it are there
            module.__dict__.setdefault(name, _Absent(why))
    print(f"triad: line {line} failed, and what uses {', '.join(names)} fails with it:\n"
          f"{traceback.format_exc()}", file=sys.stderr)


# ---- what another place says


def _give_usual_names(tree: ast.Module, module: types.ModuleType) -> None:
    """Gives a cell that imports nothing the names that it has from those above it."""
    if any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(tree)):
        return
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
             and not isinstance(node.ctx, ast.Load)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound
    given = []
    for name, stands_for in USUAL.items():
        if name in used:
            try:
                module.__dict__[name] = importlib.import_module(stands_for)
            except ImportError:
                continue
            given.append(name)
    if given:
        print(f"triad: it imports nothing, as a cell of a notebook: {', '.join(given)} are what is usually "
              "called so", file=sys.stderr)


def _take_from_main(tree: ast.Module, path: str, module: types.ModuleType) -> None:
    """Takes the constants of the block of "__main__" that functions of the file ask for and nothing else of
    it assigns."""
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    asked: set[str] = set()
    for function in functions:
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        local = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        local |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        asked |= {n.id for n in names} - local
    asked -= {*module.__dict__, *dir(builtins)}
    for block in tree.body:
        if not isinstance(block, ast.If) or "__main__" not in ast.unparse(block.test):
            continue
        for node in block.body:
            if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not _is_constant(node.value):
                continue
            target = node.targets[0]
            if not isinstance(target, ast.Name) or target.id not in asked:
                continue
            asked.discard(target.id)
            try:
                exec(compile(ast.Module([node], []), path, "exec"), module.__dict__)
            except Exception:
                continue
            print(f"triad: {target.id} is what its main block says, in line {node.lineno}: "
                  f"{ast.unparse(node.value)}", file=sys.stderr)


def _is_constant(value: ast.expr) -> bool:
    """Says whether an expression is made of numbers, words and names alone, or is a device."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) == "torch.device"
    allowed = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
               ast.expr_context, ast.Tuple)
    return all(isinstance(node, allowed) for node in ast.walk(value))
