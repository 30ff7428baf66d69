"""Runs the lines of a Python file of the user's own, statement by statement (own_file.py imports it).

Lines that show or test what the file defines may fail: that is printed, and ends nothing. So may imports of
what is not here, and assignments that fail since something is not here: a package, a name or a parameter that
another version of Triton or PyTorch has, a GPU, a compiler. Whatever uses their names fails then, with their
reason, and nothing else does. What else fails ends the import: no Python runs such a file.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
import time
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

PACKAGES = {"cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml",
            "flash_attn": "flash-attn", "liger_kernel": "liger-kernel", "fla": "flash-linear-attention",
            "cutlass": "nvidia-cutlass-dsl", "skimage": "scikit-image"}
"""What pip calls a package that is not called as its module."""

LAUNCHES_S = 5.0
"""How long the launches of an import may take: they show what the file defines."""

_cut: list[str] = []
"""The kernels of which launches were left out since that time was up."""


class _Enough(BaseException):
    """The time of the launches of an import is up."""


def left_out(constraint: str) -> str:
    """A constraint of an implementation, with what its import left out."""
    names = ", ".join(dict.fromkeys(_cut))
    cut = f"; its import ran for {LAUNCHES_S:g} s: later launches of {names} are left out"
    return constraint + cut if names else constraint


@contextlib.contextmanager
def _briefly() -> Iterator[None]:
    """Within, launches of Triton's interpreter end when their time is up, and later ones do nothing."""
    interpreter = sys.modules.get("triton.runtime.interpreter")
    if interpreter is None:
        yield
        return
    ends = time.monotonic() + LAUNCHES_S
    executor, builder = interpreter.GridExecutor, interpreter.InterpreterBuilder
    launch, place = executor.__call__, builder.set_grid_idx

    def placed(self: Any, *at: int) -> None:
        if time.monotonic() > ends:
            raise _Enough
        place(self, *at)

    def launched(self: Any, *arguments: Any, **named: Any) -> None:
        with contextlib.suppress(_Enough):
            if time.monotonic() < ends:
                launch(self, *arguments, **named)
                return
        _cut.append(self.fn.__name__)

    executor.__call__, builder.set_grid_idx = launched, placed
    try:
        yield
    finally:
        executor.__call__, builder.set_grid_idx = launch, place


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
    given, sys.argv = sys.argv, [path]  # the words of the command line are triad's own
    try:
        with _briefly():
            for node in tree.body:
                try:
                    _execute(node, path, flags, module)
                except Exception as e:
                    _pass_over(node, e, tree, path, flags, module)
            for node in _of_main(tree, module):
                with contextlib.suppress(Exception):  # whatever uses the name says that it is not there
                    _execute(node, path, flags, module)
    finally:
        sys.argv = given


def _of_main(tree: ast.Module, module: types.ModuleType) -> list[ast.stmt]:
    """The lines of main blocks that give integers, texts and devices to names that functions read, as
    DEVICE, once: of two values neither is meant."""
    read = {n.id for f in tree.body if isinstance(f, (ast.FunctionDef, ast.ClassDef)) for n in ast.walk(f)
            if isinstance(n, ast.Name)}
    blocks = [n for n in tree.body if isinstance(n, ast.If) and "__main__" in ast.unparse(n.test)]
    given = [name for block in blocks for name in _stored(block)]
    return [n for block in blocks for n in block.body
            if isinstance(n, ast.Assign) and not any(given.count(name) > 1 for name in _stored(n))
            and not any(isinstance(c, ast.Constant) and isinstance(c.value, float) for c in ast.walk(n.value))
            and all("device" in ast.unparse(c.func) for c in ast.walk(n.value) if isinstance(c, ast.Call))
            and any(name in read and name not in module.__dict__ for name in _stored(n))]


def _execute(node: ast.stmt, path: str, flags: int, module: types.ModuleType) -> None:
    """Runs a statement. One that used what is not here failed, also where it went on."""
    code = compile(ast.Module([node], []), path, "exec", flags=flags, dont_inherit=True)
    with noticed():
        exec(code, module.__dict__)


def _pass_over(node: ast.stmt, e: Exception, tree: ast.Module, path: str, flags: int,
               module: types.ModuleType) -> None:
    """Goes on behind a statement that failed, where the file may do without it."""
    if _shows(node):
        print(f"triad: line {node.lineno} shows or tests what the file defines, and failed:\n"
              f"{traceback.format_exc()}", file=sys.stderr)
        if isinstance(e, (Missing, OSError)) and (names := _stored(node)):  # "with open(...) as f: ..."
            _leave(names, e, path, node.lineno, module)
        return
    if isinstance(e, Missing) and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        with contextlib.suppress(Missing):  # an annotation of a class that is not here needs none
            _execute(node, path, flags | __import__("__future__").annotations.compiler_flag, module)
            return
    names = _may_miss(node, module) if _is_limit(e, tree, path) else []
    if isinstance(node, (ast.Import, ast.ImportFrom)) and len(names) > 1:
        names = [n for one, n in zip(_one_by_one(node), names) if not _imports(one, path, flags, module)]
        if not names:
            return
    if not names:
        raise e
    _leave(names, e, path, node.lineno, module)


def _one_by_one(node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
    """An import for each of the names of one."""
    kinds: list[ast.stmt] = [
        ast.ImportFrom(node.module, [name], node.level) if isinstance(node, ast.ImportFrom)
        else ast.Import([name]) for name in node.names]
    return [ast.copy_location(kind, node) for kind in kinds]


def _imports(node: ast.stmt, path: str, flags: int, module: types.ModuleType) -> bool:
    """Says whether an import works."""
    try:
        _execute(node, path, flags, module)
        return True
    except ImportError:
        return False


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


_touched: list[str] = []
"""Why what was used is not here, of each use."""


@contextlib.contextmanager
def noticed() -> Iterator[None]:
    """Fails where what runs within it uses what is not here, also where that takes the failure for something
    else and goes on by another way: nothing says then what it computes where everything is there."""
    before = len(_touched)
    try:
        yield
    except Exception as e:
        if len(_touched) > before and not isinstance(e, Missing):
            raise Missing(_touched[before]) from e
        raise
    if len(_touched) > before:
        raise Missing(_touched[before])


_LOOKED_AT = frozenset("""__wrapped__ __signature__ __text_signature__ __code__ __defaults__ __kwdefaults__
    __name__ __qualname__ __annotations__ __self__ __func__ __objclass__ __get__ __set__ __delete__
    __isabstractmethod__ __set_name__ __copy__ __deepcopy__ __setstate__ __getstate__ __getnewargs__
    __getnewargs_ex__ __getinitargs__ __reduce_ex__ __reduce__ __origin__ __args__ __parameters__
    __typing_subst__ __typing_is_unpacked_typevartuple__ __typing_unpacked_tuple_args__ __no_type_check__
    __unittest_skip__ __file__ __path__ __spec__ __loader__ __triton_builtin__
    __triton_aggregate__""".split())
"""What Python's copy, inspect, pickle and typing, and Triton, ask everything for that they come across."""


class _Absent:
    """Stands for what a line of the file was to give a name. Whoever uses it gets the reason why it failed;
    to hand it on is no use."""

    def __init__(self, why: str):
        self.__dict__["_why"] = why

    def _fail(self, *_: Any, **__: Any) -> NoReturn:
        _touched.append(self.__dict__["_why"])
        raise Missing(self.__dict__["_why"])

    def __getattr__(self, name: str) -> Any:
        if name in _LOOKED_AT:
            raise AttributeError(name)
        self._fail()


for _name in """call getitem setitem delitem setattr delattr iter next reversed len contains enter exit aenter
        aexit aiter anext await mro_entries instancecheck subclasscheck eq ne lt le gt ge hash str repr format
        bytes bool int float complex index fspath round trunc floor ceil neg pos abs invert divmod rdivmod
        """.split():
    setattr(_Absent, f"__{_name}__", _Absent._fail)
for _name in "add sub mul matmul truediv floordiv mod pow lshift rshift and xor or".split():
    for _way in ("", "r", "i"):
        setattr(_Absent, f"__{_way}{_name}__", _Absent._fail)


def must_be_here(value: Any) -> None:
    """Fails where a value stands for what is not here."""
    if isinstance(value, _Absent):
        value._fail()


def _stored(node: ast.AST) -> list[str]:
    """The names that something gives a value to."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]


def _may_miss(node: ast.stmt, module: types.ModuleType) -> list[str]:
    """The names that a statement was to give a value to, where what else the file defines may do without
    them: none where it may not."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [(name.asname or name.name.partition(".")[0]) for name in node.names]
        return names if "*" not in names else []
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    # of what is part of something else all of that is not what it was to be; a package stays
    return [n for n in names if not isinstance(module.__dict__.get(n), types.ModuleType)]


def _leave(names: list[str], e: Exception, path: str, line: int, module: types.ModuleType) -> None:
    """Lets names stand for nothing: whatever they stood for before is not what the file means there."""
    why = str(e) if isinstance(e, Missing) else f"triad: {path}:{line}: {sentence(e)}"
    for name in names:
        module.__dict__[name] = _part_that_is_here(name, e, why) or _Absent(why)
    print(f"triad: line {line} failed, and what uses {', '.join(names)} fails with it:\n"
          f"{traceback.format_exc()}", file=sys.stderr)


def _part_that_is_here(name: str, e: Exception, why: str) -> types.ModuleType | None:
    """The package of that name where "import a.b.c" found it, and no further part: what is absent is that."""
    *parents, part = (e.name or "").split(".") if isinstance(e, ModuleNotFoundError) else [""]
    if not parents or parents[0] != name or (parent := sys.modules.get(".".join(parents))) is None:
        return None
    vars(parent).setdefault(part, _Absent(why))
    return sys.modules[name]


# ---- why a line failed


_NOT_HERE = re.compile(
    r"no NVIDIA driver|not compiled with CUDA|No CUDA GPUs are available|no CUDA-capable device|"
    r"0 active drivers|CUDA error|DefaultCPUAllocator|with arguments from the 'CPU' backend|"
    r"CUDA_HOME environment variable is not set|Ninja is required to load|Error building extension|"
    r"cannot open shared object file|not supported in interpreter mode|"
    r"\"\w+\" not implemented for '(?:Half|BFloat16|Float8\w*)'")
"""What says that a GPU, a compiler or a library is not here, or that the CPU lacks something."""

_COMPILERS = ("torch/cuda/", "torch/utils/cpp_extension", "triton/compiler/", "triton/backends/")
"""Where torch and Triton ask for a GPU or compile something: nothing else that runs here goes there."""

_OTHER_CALL = re.compile(r"([\w.]+)\(\) (?:got an unexpected keyword|takes |missing \d+ required)")


def _is_limit(e: BaseException, tree: ast.Module, path: str) -> bool:
    """Says whether a line failed since something is not here, and not since it is wrong."""
    while type(e).__name__ == "InterpreterError" and e.__cause__ is not None:
        e = e.__cause__
    if isinstance(e, (ImportError, OSError)):  # of the user's other files what is compiled or made first
        return True
    if isinstance(e, KeyError) and _reads_environment(_innermost(e)):
        return True
    if isinstance(e, AttributeError):
        return _is_of_others(e.obj) or _says_a_library(_innermost(e))
    frames = traceback.extract_tb(e.__traceback__)
    if isinstance(e, IndexError) and frames and "sys.argv" in (frames[-1].line or ""):
        return True
    here = [str(Path(f).parents[1]) for n in ("torch", "triton")
            if (f := getattr(sys.modules.get(n), "__file__", None))]
    if any(f.filename.startswith(f"{h}{os.sep}{c}") for f in frames for h in here for c in _COMPILERS):
        return True
    if isinstance(e, MemoryError) or type(e).__name__ == "OutOfMemoryError" or _NOT_HERE.search(str(e)):
        return True
    said = _OTHER_CALL.match(str(e)) if isinstance(e, TypeError) else None
    return bool(said and frames and frames[-1].filename == path and _calls_others(said[1], e, tree))


def _of_a_library(path: str) -> bool:
    return "site-packages" in path or path.startswith(os.path.dirname(os.__file__) + os.sep)


def _is_of_others(owner: Any) -> bool:
    """Says whether what lacks an attribute is a module of a library, an object of Triton's, or one that
    stands for a GPU: of another version it may have that."""
    if isinstance(owner, types.ModuleType):
        return (owner.__name__.partition(".")[0] in ("torch", "triton")
                or _of_a_library(getattr(owner, "__file__", None) or ""))
    return type(owner).__module__.partition(".")[0] in ("triton", "gpu_stand_in")


def _innermost(e: BaseException) -> types.TracebackType | None:
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at


def _reads_environment(at: types.TracebackType | None) -> bool:
    """Says whether os.environ itself said that it has no such name."""
    return at is not None and at.tb_frame.f_code.co_filename in (os.__file__, "<frozen os>")


def _says_a_library(at: types.TracebackType | None) -> bool:
    """Says whether a module of a library itself said that it has no such name."""
    code = at.tb_frame.f_code if at else None
    return (code is not None and code.co_name == "__getattr__" and _of_a_library(code.co_filename)
            and code.co_argcount == 1)


def _calls_others(name: str, e: TypeError, tree: ast.Module) -> bool:
    """Says whether the call that was refused its arguments is one of a function of torch's or Triton's. name
    is the function's, in the words of Python."""
    at = _innermost(e)
    for node in ast.walk(tree) if at is not None else ():
        if isinstance(node, ast.Call) and node.lineno <= at.tb_lineno <= (node.end_lineno or node.lineno):
            try:
                path = ast.unparse(node.func) if _is_a_path(node.func) else "None"
                called = eval(path, at.tb_frame.f_globals)
            except Exception:
                continue
            own = getattr(called, "__qualname__", "")
            root = (getattr(called, "__module__", None) or "").partition(".")[0]
            if name in (own, f"{own}.__init__") and root in ("torch", "triton"):
                return True
    return False


def _is_a_path(value: ast.expr) -> bool:
    """Says whether an expression is a name, or one of a name."""
    return isinstance(value, ast.Name) or isinstance(value, ast.Attribute) and _is_a_path(value.value)

