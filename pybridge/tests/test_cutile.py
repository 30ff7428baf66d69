"""The rows in cuTile: where its package is installed their kernels compile to machine code for Hopper,
without a GPU; how the worker finds and lists them needs no package."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
import tempfile
import textwrap
import types
import unittest
from pathlib import Path
from unittest import mock

import torch

from client import OPERATORS  # puts the bridge on sys.path: first

import cutile_stand_in
import launch
import own_facts
import own_file
import peers
import worker
from cases import reference_of
from compile_kernels import tensor_of
from specs import backward_inputs, compiled_sizes, quick_sizes, sizes, spec_of
from tensor_descriptions import described
from worker import Worker

FILES = sorted(OPERATORS.glob(f"*_{peers.CUTILE}.py"))
with mock.patch.object(peers, "unfit_for_cutile", lambda: "" if peers.cutile_compiler() else "no tileiras"):
    ABSENT = peers.missing(peers.CUTILE, "cuda.tile", True)


def load(folder: Path, op: str):
    """The module of an operator's rows in cuTile, as a worker with a GPU loads it."""
    worker = Worker(folder)
    worker.on_gpu = True
    with mock.patch.object(peers, "unfit_for_cutile", return_value=""):
        return worker._tiles(op)


@unittest.skipIf(ABSENT, f"needs cuTile: {ABSENT}")
class Compiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.environ["CUDA_TILE_TEMP_DIR"] = folder.name

    def launched(self, cubins: list):
        """Stands for cuda.tile.launch: compiles what would be launched, as cuTile does for such tensors."""
        import cuda.tile as ct
        from cuda.tile.compilation import (
            ArrayConstraint,
            CallingConvention,
            KernelSignature,
            ScalarConstraint,
            export_kernel,
        )
        dtypes = {torch.float32: ct.float32, torch.float16: ct.float16, torch.bfloat16: ct.bfloat16}

        def constraint(x):
            if isinstance(x, float):
                return ScalarConstraint(ct.float32)
            if not isinstance(x, torch.Tensor):
                return x
            return ArrayConstraint(
                dtypes[x.dtype], x.ndim, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                may_alias_internally=False, base_addr_divisible_by=16,
                stride_constant=tuple(1 if s == 1 else None for s in x.stride()),
                stride_divisible_by=tuple(1 if s * x.itemsize % 16 else 16 // x.itemsize
                                          for s in x.stride()))

        def compiles(stream, grid, kernel, args):
            signature = KernelSignature([constraint(x) for x in args], CallingConvention.cutile_python_v1())
            out = io.BytesIO()
            export_kernel(kernel, [signature], out, gpu_code="sm_90", output_format="cubin")
            cubins.append((kernel._pyfunc.__name__, out.getvalue()))

        return compiles

    def test_every_kernel_compiles_for_hopper(self):
        for path in FILES:
            op = path.stem.removesuffix(f"_{peers.CUTILE}")
            cubins: list[tuple[str, bytes]] = []
            module = load(OPERATORS, op)
            self.assertFalse(isinstance(module, dict), module)
            chosen = [size for size, _ in compiled_sizes(op) if size.dtype == "bf16"]
            chosen = chosen or [sizes(op, "bf16", spec_of(op)["check"]["shapes"][0])]
            with mock.patch("cuda.tile.launch", self.launched(cubins)), \
                    mock.patch("torch.cuda.current_stream"), self.subTest(op):
                for row in module.IMPLEMENTATIONS:
                    for direction, specs in (("forward", spec_of(op)["inputs"]),
                                             ("backward", backward_inputs(op))):
                        tensors = [tensor_of(chosen[0], t, "contiguous") for t in specs]
                        if row.function(direction) and not (row.accepts and row.accepts(
                                direction, *described(tensors), **chosen[0].attributes)):
                            row.function(direction)(*tensors, **chosen[0].attributes)
                self.assertTrue(all(cubin.startswith(b"\x7fELF") for _, cubin in cubins))
                written = {v._pyfunc.__name__ for v in vars(module).values() if hasattr(v, "_pyfunc")}
                self.assertEqual({name for name, _ in cubins}, written, "kernels that no row reached")

    def test_a_compiler_that_gives_up_is_a_failed_build_with_the_tile(self):
        import cuda.tile as ct
        module = load(OPERATORS, FILES[0].stem.removesuffix(f"_{peers.CUTILE}"))
        cutile = sys.modules["cutile"]
        kernel = next(v for v in vars(module).values() if hasattr(v, "_pyfunc"))
        names = kernel._pyfunc.__code__.co_varnames[:kernel._pyfunc.__code__.co_argcount]
        for error, status in ((ct.TileError("signal 11"), "BUILD_FAIL"),
                              (ct.TileUnsupportedFeatureError("signal 11"), "UNAVAILABLE")):
            with mock.patch("cuda.tile.launch", side_effect=error), \
                    mock.patch("torch.cuda.current_stream"), self.assertRaises(peers.CutileFailed) as raised:
                cutile.launch(kernel, 1, torch.ones(1), *range(1, len(names)))
            reply = launch._outcome(raised.exception, module.__file__)
            self.assertEqual(reply["status"], status)
            for i, name in enumerate(names):
                self.assertEqual(f"{name} {i}" in reply["message"], name.isupper(), reply["message"])
            self.assertIn("signal 11", reply["message"])


class Right(unittest.TestCase):
    """The kernels' own code, run by torch on a CPU (cutile_stand_in.py)."""

    def test_rows_give_what_the_formula_gives(self):
        """In fp32, on the quick sizes with every word of the attributes; strided where the operator may
        be."""
        for path in FILES:
            op = path.stem.removesuffix(f"_{peers.CUTILE}")
            reference, calls = reference_of(op), 0
            with cutile_stand_in.standing():
                rows = worker._import(path.stem, path).IMPLEMENTATIONS
                for size in quick_sizes(op, "fp32"):
                    for row in rows:
                        for direction in ("forward", "backward"):
                            if row.function(direction):
                                self.agrees(row, direction, size, reference)
                                calls += 1
            self.assertGreater(calls, 3, op)

    def agrees(self, row, direction, size, reference):
        generator = torch.Generator().manual_seed(len(row.name) + sum(size.dims.values()))
        spec = spec_of(size.op)

        def random(t):
            shape = size.shape_of(t)
            x = torch.randn(shape, generator=generator, dtype=torch.float64)
            return x.mT.contiguous().mT if t.get("differentiable") and len(shape) > 1 else x

        named = {t["name"]: random(t) for t in spec["inputs"]}
        inputs = [named[t["name"]] for t in spec["inputs"]]
        wanted = reference.reference(*inputs, **size.attributes)
        if direction == "backward":
            outputs = wanted if isinstance(wanted, tuple) else (wanted,)
            named |= {t["name"]: y for t, y in zip(spec["outputs"], outputs)}
            inputs = [named.get(t["name"], None) for t in backward_inputs(size.op)]
            inputs = [random(t) if x is None else x for x, t in zip(inputs, backward_inputs(size.op))]
            wanted = reference.reference_backward(*inputs, **size.attributes)
        given = [x.to(torch.float32, memory_format=torch.preserve_format) for x in inputs]
        got = row.function(direction)(*given, **size.attributes)
        for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, wanted)), strict=True):
            torch.testing.assert_close(x, y.float(), rtol=1e-4, atol=1e-4, msg=lambda m: f"{row.name} {m}")

    def test_an_output_that_is_left_out_is_told(self):
        for path in FILES:
            op = path.stem.removesuffix(f"_{peers.CUTILE}")
            with cutile_stand_in.standing():
                row = worker._import(path.stem, path).IMPLEMENTATIONS[0]
                if len(row.gives("backward")) < 2:
                    continue

                def first(*args, row=row, **attributes):
                    return row.backward(*args, **attributes)[:1]

                short = types.SimpleNamespace(name=row.name, function=lambda _: first)
                size = quick_sizes(op, "fp32")[0]
                with self.assertRaisesRegex(ValueError, "zip.*longer"):
                    self.agrees(short, "backward", size, reference_of(op))
                return
        self.fail("no row in cuTile has two gradients")

    def test_what_stands_for_cutile_tells_a_tile_that_is_not_padded(self):
        with cutile_stand_in.standing():
            import cuda.tile as ct
            x = torch.arange(6.0).reshape(2, 3)
            self.assertTrue(ct.load(x, (0, 0), (2, 4))[:, 3].isnan().all())
            self.assertEqual(ct.load(x, (0, 1), (2, 2), padding_mode=ct.PaddingMode.ZERO).tolist(),
                             [[2, 0], [5, 0]])
            self.assertEqual(ct.load(x, (1, 0), (2, 2), order=(1, 0),
                                     padding_mode=ct.PaddingMode.ZERO).tolist(), [[2, 5], [0, 0]])
            self.assertRaises(AssertionError, ct.load, x, (1, 0), (2, 4))
            nan = torch.tensor([[1.0, torch.nan]])
            self.assertEqual(ct.max(nan, 1).tolist(), [1])
            self.assertTrue(ct.max(nan, 1, propagate_nan=True).isnan().all())


class Outcome(unittest.TestCase):
    def test_a_file_does_not_choose_its_status(self):
        """Neither by an attribute, nor by raising what a file of cuTile raises."""
        class Chosen(Exception):
            status = "BUILD_FAIL"

        failed = peers.CutileFailed("BUILD_FAIL", "signal 11")
        for e, source, want in ((Chosen("signal 11"), "gemm_cutile.py", "CRASH"),
                                (Chosen("signal 11"), "gemm.py", "CRASH"), (failed, "gemm.py", "CRASH"),
                                (failed, "gemm_cutile.py", "BUILD_FAIL")):
            with self.subTest(type(e).__name__, source=source):
                self.assertEqual(launch._outcome(e, f"/operators/{source}")["status"], want)


class OwnFiles(unittest.TestCase):
    def found(self, imports: str, ct: str = "", kernel: str = "", launch: str = "") -> list:
        """The functions of a file with two kernels, which says ct, kernel and launch in its own words."""
        return [(f["name"], f["launches"]) for f in own_facts.facts(imports + textwrap.dedent(f"""
            @{kernel or f"{ct}.kernel"}
            def fill(x, TILE: {ct or "ct"}.Constant[int]):
                {ct or "ct"}.store(x, ({ct or "ct"}.bid(0),), {ct or "ct"}.zeros((TILE,), x.dtype))
            @{kernel or f"{ct}.kernel"}(occupancy=2)
            def other(x):
                pass
            def clear(x):
                {launch or f"{ct}.launch"}(torch.cuda.current_stream(), (4,), fill, (x, 64))
        """))["functions"]]

    def test_a_kernel_is_launched_and_not_called(self):
        """However the file imports cuTile."""
        for words in (("import cuda.tile as ct", "ct"), ("import cuda.tile", "cuda.tile"),
                      ("from cuda import tile", "tile"), ("from cuda import tile as T", "T"),
                      ("try:\n    from cuda import tile\nexcept ImportError:\n    tile = None\n", "tile"),
                      ("from cuda.tile import kernel, launch as go", "", "kernel", "go")):
            with self.subTest(words[0]):
                self.assertEqual(self.found(*words), [("clear", ["fill"])])

    def test_another_package_that_is_called_ct(self):
        self.assertEqual(self.found("import contours as ct", "ct"),
                         [("fill", []), ("other", []), ("clear", [])])

    def test_a_file_on_a_gpu_finds_cutile_however_it_imports_it(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        here = Path(folder.name)
        for name, text in (("cutile/tile_of_a_test/tile.py", "bid = 1\n"),
                           ("mine.py", "from tile_of_a_test import tile\n")):
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(text)
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        self.addCleanup(peers.reach.cache_clear)
        peers.reach.cache_clear()
        with mock.patch("torch.cuda.is_available", return_value=True), mock.patch.dict(
                os.environ, {"TRIAD_CUTILE": str(here / "cutile"), "TRIAD_DEVICE": "gpu"}):
            self.assertEqual(own_file.load(str(here / "mine.py")).tile.bid, 1)


class Load(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.worker = Worker(Path(folder.name))
        for name, family in (("both", "triton"), (f"both_{peers.CUTILE}", peers.CUTILE)):
            (self.worker.operators / f"{name}.py").write_text(textwrap.dedent(f"""
                from implementation import Implementation
                IMPLEMENTATIONS = [Implementation("{family}/row", lambda x: x + 1, outputs=("y",))]
            """))

    def test_rows_of_both_files(self):
        """Each has the hash of its own file, and is called from it."""
        with mock.patch.object(peers, "missing", return_value=""):
            reply = self.worker.load("both")
            self.worker.memory = mock.Mock()
            found = {name: self.worker._find({"op": "both", "implementation": f"{name}/row",
                                              "pass": "forward"})[0].__file__
                     for name in ("triton", peers.CUTILE)}
        self.assertEqual([e["name"] for e in reply["implementations"]], ["triton/row", "cutile/row"])
        self.assertEqual(len({e["source"] for e in reply["implementations"]}), 2)
        self.assertNotIn("failed", reply)
        self.assertEqual({name: Path(path).stem for name, path in found.items()},
                         {"triton": "both", peers.CUTILE: f"both_{peers.CUTILE}"})

    def test_without_the_package_or_a_gpu_one_sentence(self):
        for on_gpu, why in ((False, "the rows of cutile need a GPU"),
                            (True, "cuda-tile is not installed: triad setup --cutile")):
            self.worker.tiles.clear()
            self.worker.on_gpu = on_gpu
            with mock.patch("importlib.util.find_spec", return_value=None):
                why_not = self.worker._tiles("both")["failed"]
            self.assertEqual(why_not, [{"implementation": peers.CUTILE, "status": "UNAVAILABLE",
                                        "message": why}])

    def compiler(self, says: str) -> Path:
        """Puts a package cuda.tile, and a compiler that says something, where the folder of cuTile is."""
        folder = self.worker.operators / "cutile"
        for name, text in (("cuda/tile.py", "1 / 0\n"), ("nvidia/cu13/bin/tileiras", f"#!/bin/sh\n{says}\n")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / name).chmod(0o755)
        for cached in (peers.reach, peers.unfit_for_cutile):
            cached.cache_clear()
            self.addCleanup(cached.cache_clear)
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        environment = mock.patch.dict(os.environ, {"TRIAD_CUTILE": str(folder), "PATH": "/usr/bin:/bin"})
        environment.start()
        self.addCleanup(environment.stop)
        return folder / name

    def test_what_the_machine_lacks_is_no_fault_of_a_kernel(self):
        """The compiler, the driver and the GPU are looked at before a file of cuTile is imported."""
        self.worker.on_gpu = True
        said = "echo '  --gpu-name=<value>'; echo '    =sm_80  -  SM 80'; echo '    =sm_120  -  SM 120'"
        for says, driver, gpu, want in (
                (said, 13000, (8, 0), ""), (said, 13020, (12, 0), ""), ("echo no list", 13000, (9, 0), ""),
                (said, 12080, (8, 0), "driver 580 or newer, for CUDA 13.0, and this one is for CUDA 12.8"),
                (said, 0, (8, 0), "driver 580 or newer, for CUDA 13.0, and none is here"),
                (said, 13000, (9, 0), "compiles cuTile for sm_80, sm_120, and the GPU here is sm_90"),
                ("exit 3", 13000, (8, 0), "does not run: .* exit status 3"),
                ("", 13000, (8, 0), "tileiras, the compiler of cuda-tile, is not installed: triad setup")):
            with self.subTest(says=says, driver=driver, gpu=gpu):
                path = self.compiler(says)
                if not says:
                    path.unlink()
                self.worker.tiles.clear()
                with mock.patch.object(peers, "driver_version", return_value=driver), \
                        mock.patch.object(peers.glob, "glob", return_value=[]), \
                        mock.patch("torch.cuda.get_device_capability", return_value=gpu):
                    reply = self.worker.load("both")
                failed = reply.get("failed", [])
                self.assertEqual([f["status"] for f in failed], ["UNAVAILABLE"] if want else [])
                self.assertTrue(not want or re.search(want, failed[0]["message"]), failed)

    def test_the_compiler_is_found_on_the_path_and_in_a_toolkit_too(self):
        path = self.compiler("exit")
        self.assertEqual(peers.cutile_compiler(), str(path))
        elsewhere = self.worker.operators / "toolkit" / "bin"
        elsewhere.mkdir(parents=True)
        path = path.rename(elsewhere / path.name)
        for name, value in (("PATH", elsewhere), ("CUDA_HOME", elsewhere.parent)):
            with mock.patch.dict(os.environ, {name: str(value)}):
                self.assertEqual(peers.cutile_compiler(), str(path))

    def test_the_driver_says_for_which_cuda_it_is(self):
        def version(pointer):
            pointer._obj.value = 12080
            return failed

        for failed, want in ((0, 12080), (999, 0)):
            with mock.patch("ctypes.CDLL", return_value=mock.Mock(cuDriverGetVersion=version)):
                self.assertEqual(peers.driver_version(), want)
        with mock.patch("ctypes.CDLL", side_effect=OSError):
            self.assertEqual(peers.driver_version(), 0)

    def test_a_file_that_does_not_load(self):
        (self.worker.operators / f"both_{peers.CUTILE}.py").write_text("1 / 0\n")
        with mock.patch.object(peers, "missing", return_value=""):
            reply = self.worker.load("both")
        self.assertEqual([e["name"] for e in reply["implementations"]], ["triton/row"])
        self.assertEqual([(f["implementation"], f["status"]) for f in reply["failed"]],
                         [(peers.CUTILE, "BUILD_FAIL")])
        self.assertIn("ZeroDivisionError", reply["failed"][0]["message"])

    def test_the_compiler_leaves_its_files_in_the_folder_of_the_worker(self):
        """Not where temporary files are, which nobody clears when a worker is killed."""
        scratch, temporary = self.worker.operators / "scratch", self.worker.operators / "temporary"
        scratch.mkdir()
        temporary.mkdir()
        self.addCleanup(os.chdir, os.getcwd())
        self.addCleanup(peers.reach.cache_clear)
        os.chdir(scratch)
        peers.reach.cache_clear()
        with mock.patch.dict(os.environ), mock.patch.object(tempfile, "tempdir", str(temporary)):
            peers.reach()
            with cutile_stand_in.standing():
                importlib.import_module("cutile")
            self.assertTrue(os.path.samefile(os.environ["CUDA_TILE_TEMP_DIR"], scratch))
        self.assertEqual(list(temporary.iterdir()), [])

    def test_the_folder_comes_first(self):
        """The compiler is looked for in the first nvidia/cu13 on the path, and torch has one."""
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        self.addCleanup(peers.reach.cache_clear)
        peers.reach.cache_clear()
        with mock.patch.dict(os.environ, {"TRIAD_CUTILE": str(self.worker.operators)}):
            peers.reach()
        self.assertEqual(sys.path[0], str(self.worker.operators))


if __name__ == "__main__":
    unittest.main()
