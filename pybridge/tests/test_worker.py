"""What a worker says and survives: the protocol, operator files that do not load, functions that misbehave,
and what a machine may lack."""

from __future__ import annotations

import contextlib
import errno
import json
import linecache
import os
import signal
import socket
import tempfile
import textwrap
import threading
import time
import unittest
import zlib
from pathlib import Path
from unittest import mock

import torch

from client import PARENT, Client, Died

import parallel_copies  # these after client, which puts their folder on the path
import sandbox
import tiers
import worker

BAD = """
    import os, sys, time
    import torch
    from implementation import Implementation, gradients

    class Sneaky(torch.Tensor):
        pass

    def planted(x, *, what):
        y = x * 2
        if what == "shape": return y[:, :-1].contiguous()
        if what == "dtype": return y.double()
        if what == "strides": return y.T.contiguous().T
        if what == "subclass": return y.as_subclass(Sneaky)
        if what == "parameter": return torch.nn.Parameter(y)
        if what == "none": return None
        if what == "list": return [y]
        if what == "two": return y, y
        if what == "numpy": return y.cpu().numpy()
        if what == "meta": return y.to("meta")
        if what == "exception": raise ValueError("bad tensor shape")
        if what == "exit": sys.exit(0)
        if what == "unsupported": raise NotImplementedError("only even columns")
        if what == "memory": return torch.empty(1 << 60)
        if what == "scribble": x[0, 0] = 7.0
        if what == "under": x.as_strided((1,), (1,), x.storage_offset() - 1).fill_(1.0)
        if what == "over":
            y = torch.empty_like(x).copy_(y)
            y.as_strided((1,), (1,), y.storage_offset() + y.numel()).fill_(1.0)
        if what == "copied":
            y = torch.empty_like(x).copy_(y)
            for band in (x, y):
                band.past = band.as_strided((1,), (1,), band.storage_offset() + band.numel())
            y.past.copy_(x.past)
        if what == "unwritten":
            out = torch.empty_like(x)
            out[:, 1:] = y[:, 1:]
            return out
        if what == "view": return x.view(x.shape)
        if what == "_exit": os._exit(7)
        if what == "prints": print("x" * 1000000)
        return y

    def accepts(direction, x, *, what):
        if what == "looks" and bool(x.isfinite().all()):
            return "planted: it declines what is finite"
        if what == "reaches" and x.tolist():
            return "planted: it declines numbers"
        if what == "past":
            return f"planted: {tuple(x.shape)} {x.stride()} {x.dtype} {x.device.type} {x.data_ptr() % 64}"
        return "planted: it is declined" if what == "declined" else None

    IMPLEMENTATIONS = [Implementation("torch/planted", planted, outputs=("y",), dtypes=("fp32",),
                                      accepts=accepts, nondeterministic=("y",))]
"""


class Folder(unittest.TestCase):
    """Tests with operator files of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(textwrap.dedent(text))

    def start(self, parent: int | None = PARENT, **how) -> Client:
        client = Client(operators=self.folder, parent=parent, **how)
        self.addCleanup(client.close)
        return client


class Checksums(unittest.TestCase):
    def test_bytes_that_go_in_pieces_arrive_and_have_the_checksum_of_all(self):
        with mock.patch.object(parallel_copies, "PIECE", 64):
            for count in (0, 1, 63, 64, 65, 128, 640, 1000):
                source = bytes(i * 37 % 251 for i in range(count))
                target, content = bytearray(count), torch.zeros(count, dtype=torch.uint8)
                with self.subTest(count):
                    self.assertEqual(parallel_copies.copy_in(content, memoryview(bytearray(source))),
                                     zlib.crc32(source))
                    self.assertEqual(bytes(content.tolist()), source)
                    self.assertEqual(parallel_copies.checksum(content), zlib.crc32(source))
                    self.assertEqual(parallel_copies.copy_out(memoryview(target), content),
                                     zlib.crc32(source))
                    self.assertEqual(bytes(target), source)


class Files(Folder):
    def test_between_requests_a_worker_imports_what_its_calls_need_and_stops_for_the_next(self):
        for slot, free, want in (("torch", 9, []), (worker.COMPILE_SLOT, 9, list(worker.COMPILER)),
                                 (worker.COMPILE_SLOT, 1, list(worker.COMPILER[:1])),
                                 (worker.COMPILE_SLOT, 0, [])):
            with self.subTest(slot=slot, free=free):
                asked = iter([False] * free + [True] * 9)
                with mock.patch.object(worker.importlib, "import_module",
                                       side_effect=ImportError) as imported:
                    idle = worker.Worker(self.folder)
                    idle.idle({"do": "run"}, lambda: False)
                    idle.idle({"do": "load", "load": {"op": "fine", "slot": slot}}, lambda: next(asked))
                self.assertEqual([call.args[0] for call in imported.call_args_list], want)

    def test_what_this_machine_lacks_is_no_fault_of_a_file(self):
        for e, want in ((OSError(errno.ENOSPC, "full"), True), (OSError(errno.EMFILE, "many"), True),
                        (MemoryError(), True), (OSError(errno.ENOENT, "gone"), False),
                        (ImportError("no such module"), False)):
            with self.subTest(e=e):
                self.assertEqual(worker.host_trouble(e), want)

    def test_a_traceback_reads_no_file_without_end(self):
        pipe = os.path.join(self.folder, "pipe.py")
        os.mkfifo(pipe)
        self.write("lines.py", "def fail():\n    raise ValueError\n")
        with mock.patch.object(linecache, "updatecache", linecache.updatecache):
            sandbox.only_regular_sources()
            plain = os.path.join(self.folder, "lines.py")
            for name, want in ((pipe, []), ("/dev/zero", []), (str(self.folder), []),
                               (plain, ["def fail():\n", "    raise ValueError\n"])):
                with self.subTest(name):
                    self.assertEqual(linecache.getlines(name), want)

    def test_files_that_do_not_load_say_where_and_why(self):
        self.write("broken.py", "import torch\n\ndef forward(x)\n    return x\n")
        self.write("raising.py", "import torch\n\n\nvalue = torch.no_such_thing\n")
        self.write("missing_import.py", "import no_such_module\n")
        self.write("exiting.py", "import sys\nsys.exit(0)\n")
        self.write("nothing.py", "IMPLEMENTATIONS = []\n")
        self.write("fine.py", BAD)
        client = self.start()
        for op, line, text in (("broken", 3, "SyntaxError"), ("raising", 4, "AttributeError"),
                               ("missing_import", 1, "no_such_module"), ("exiting", 2, "SystemExit"),
                               ("nothing", 1, "IMPLEMENTATIONS")):
            with self.subTest(op):
                reply = client.ask("load", {"op": op})
                self.assertEqual(reply["implementations"], [])
                self.assertEqual([(f["implementation"], f["status"]) for f in reply["failed"]],
                                 [("triton", "BUILD_FAIL"), ("torch", "BUILD_FAIL")])
                self.assertTrue(reply["failed"][0]["message"].startswith(f"{self.folder}/{op}.py:{line}: "),
                                reply["failed"][0]["message"])
                self.assertIn(text, reply["failed"][0]["message"])
        self.assertEqual(client.ask("load", {"op": "absent"})["failed"][0]["status"], "UNAVAILABLE")
        self.assertEqual(client.ask("load", {"op": "../fine"})["failed"][0]["status"], "UNAVAILABLE")
        [entry] = client.ask("load", {"op": "fine"})["implementations"]
        self.assertEqual((entry["name"], entry["pass"], entry["dtypes"], entry["outputs"],
                          entry["nondeterministic"], entry["device"]),
                         ("torch/planted", "forward", ["fp32"], ["y"], ["y"],
                          "gpu" if client.greeting["device"] == "gpu" else "cpu"))
        self.assertEqual(client.ask("probe"), {"healthy": True})
        self.assertEqual(client.ask("bye"), {})
        self.assertEqual(client.process.wait(timeout=30), 0)


class Misbehaviour(Folder):
    def setUp(self):
        super().setUp()
        self.write("planted.py", BAD)
        self.client = self.start()
        self.client.ask("load", {"op": "planted"})
        self.x = torch.arange(12.0).reshape(3, 4)

    def run_planted(self, what: str, launches: str = "ab"):
        return self.client.run("planted", "torch/planted", "forward", [self.x],
                               [("y", torch.float32, (3, 4))], launches, what=what)

    def test_functions_that_misbehave_are_reported_and_survived(self):
        clean = zlib.crc32(self.x.numpy().tobytes())
        device = "cuda" if self.client.greeting["device"] == "gpu" else "cpu"
        self.returned(clean, device)
        self.raised(clean)
        self.refused(device)
        self.written()

        with self.subTest("view"):
            self.assertTrue(torch.equal(self.run_planted("view")[1][0]["y"], self.x))

        with self.subTest("prints"):
            reply, got = self.run_planted("prints")
            self.assertTrue(torch.equal(got[1]["y"], self.x * 2))
            self.assertGreater(len(self.client.log()), 2000000)

        with self.subTest("_exit"):
            with self.assertRaisesRegex(Died, "exited 7"):
                self.run_planted("_exit")

    def returned(self, clean: int, device: str) -> None:
        """What a function returns."""
        with self.subTest("right"):
            reply, got = self.run_planted("right")
            [a, b] = reply["launches"]
            self.assertEqual(a, b)
            self.assertEqual((a["inputs"], "status" in a, "guards" in a), ([clean], False, False))
            self.assertTrue(torch.equal(got[0]["y"], self.x * 2))
            self.assertEqual(a["outputs"],
                             [{"name": "y", "present": True, "dtype": "fp32", "shape": [3, 4],
                               "stride": [4, 1],
                                             "crc32": zlib.crc32((self.x * 2).numpy().tobytes())}])

        wrong = {"shape": {"shape": [3, 3], "stride": [3, 1]}, "dtype": {"dtype": "fp64"},
                 "strides": {"shape": [3, 4], "stride": [1, 3]},
                 "subclass": {"type": "a triad_operator_planted.Sneaky, want a torch.Tensor"},
                 "parameter": {"type": "a torch.nn.parameter.Parameter, want a torch.Tensor"},
                 "none": {"present": False},
                 "list": {"type": "a list, want a torch.Tensor"},
                 "numpy": {"type": "a numpy.ndarray, want a torch.Tensor"},
                 "meta": {"type": f"a torch.strided tensor on meta, want a dense one on {device}"}}
        for what, expected in wrong.items():
            with self.subTest(what):
                reply, got = self.run_planted(what, "a")
                [report] = reply["launches"][0]["outputs"]
                self.assertEqual({k: report.get(k) for k in expected}, expected)
                self.assertEqual("crc32" in report, what == "strides")
                self.assertEqual(list(got[0]), ["y"] if what == "strides" else [])

        with self.subTest("two"):
            reply, _ = self.run_planted("two", "a")
            self.assertEqual(reply["launches"][0]["outputs"],
                             [{"name": "y", "present": True, "type": "one of 2 returned values, want 1"}])

    def raised(self, clean: int) -> None:
        """What a function raises."""
        for what, status, message, line in (("exception", "CRASH", "ValueError: bad tensor shape",
                                             'raise ValueError'),
                                             ("exit", "CRASH", "SystemExit: 0", "sys.exit"),
                                            ("memory", "OOM", "RuntimeError: ", "1 << 60"),
                                            ("unsupported", "CRASH",
                                             "NotImplementedError: only even columns (a call that began",
                                             "raise NotImplementedError"),
                                            ("declined", "UNSUPPORTED", "planted: it is declined", "")):
                                                # what accepts may not do is below
            with self.subTest(what):
                reply, _ = self.run_planted(what)
                [launch] = reply["launches"]  # the first that does not return plainly is the last
                self.assertEqual(launch["status"], status)
                self.assertTrue(launch["message"].startswith(message), launch["message"])
                self.assertEqual((launch["outputs"], launch["inputs"]), ([], [clean]))
                self.assertNotIn("fatal", reply)
                if line:
                    source = (self.folder / "planted.py").read_text().splitlines()
                    self.assertEqual(launch["where"]["file"], str(self.folder / "planted.py"))
                    self.assertIn(line, source[launch["where"]["line"] - 1])
                    self.assertEqual(launch["where"]["kernel"], "planted")

    def refused(self, device: str) -> None:
        """What accepts may not do."""
        for what, asked in (("looks", "aten."), ("reaches", "tolist")):
            with self.subTest(what):
                reply, _ = self.run_planted(what)
                [launch] = reply["launches"]
                self.assertEqual(launch["status"], "CRASH", "a call is not declined by its values")
                self.assertTrue(launch["message"].startswith(f"Valueless: accepts asked for {asked}"),
                                launch["message"])
                self.assertEqual(launch["where"]["kernel"], "accepts")
        with self.subTest("past"):
            reply, _ = self.run_planted("past")
            self.assertEqual(reply["launches"][0]["message"],
                             f"planted: {tuple(self.x.shape)} {self.x.stride()} torch.float32 {device} 0")

    def written(self) -> None:
        """What a function writes to."""
        with self.subTest("scribble"):
            reply, _ = self.run_planted("scribble")
            for launch in reply["launches"]:  # each launch starts from fresh inputs
                scribbled = self.x.clone()
                scribbled[0, 0] = 7.0
                self.assertEqual(launch["inputs"], [zlib.crc32(scribbled.numpy().tobytes())])

        for what, guard in (("under", {"buffer": "input0", "bytes": -4, "count": 4}),
                            ("over", {"buffer": "y", "bytes": 0, "count": 4}),
                            ("copied", {"buffer": "y", "bytes": 0, "count": 4})):
            with self.subTest(what):
                reply, _ = self.run_planted(what, "a")
                self.assertEqual(reply["launches"][0]["guards"], [guard])

        with self.subTest("unwritten"):
            _, got = self.run_planted("unwritten")
            for bits, outputs in zip((0x7FA5A5A5, 0xFFDBDBDB - (1 << 32)), got):
                self.assertTrue((outputs["y"].view(torch.int32)[:, 0] == bits).all())
                self.assertTrue(torch.equal(outputs["y"][:, 1:], self.x[:, 1:] * 2))

    def test_a_checksum_that_does_not_fit_is_an_error_of_the_harness(self):
        ref = self.client.put("x", self.x)
        run = {"op": "planted", "implementation": "torch/planted", "pass": "forward", "attrs": [],
               "launches": [{"poison": "a", "outputs": []}]}
        suite = tiers.Suite("checksums", "pybridge")  # each costs a worker
        for broken, key in (({"crc32": 1}, "other values"), ({"stride": [400, 1]}, "another place"),
                            ({"bytes": 1 << 40}, "another place"), ({"offset": -4}, "another place")):
            if not suite.covers(str(broken), key):
                continue
            with self.subTest(broken):
                client = self.start()
                client.ask("load", {"op": "planted"})
                with self.assertRaisesRegex(RuntimeError, "tensor x"):
                    client.ask("run", {**run, "inputs": [{**ref, **broken}]})

    def test_a_row_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "planted/torch/other has no forward"):
            self.client.run("planted", "torch/other", "forward", [self.x], [("y", torch.float32, (3, 4))])


class Products(Folder):
    def test_a_nan_stays_in_the_row_that_has_it(self):
        """torch's product of bf16 on a CPU with AMX brings it into the row before, where the rows are no
        multiple of 32 elements."""
        self.write("product.py", """
            import torch
            from implementation import Implementation

            def product(x):
                return (x.to(torch.bfloat16) @ torch.ones(x.shape[1], 32, dtype=torch.bfloat16)).to(x.dtype)

            IMPLEMENTATIONS = [Implementation("torch/product", product, outputs=("y",), dtypes=("fp32",))]
        """)
        client = self.start()
        client.ask("load", {"op": "product"})
        x = torch.ones(33, 65)
        x[3, 0] = float("nan")
        _, launches = client.run("product", "torch/product", "forward", [x], [("y", torch.float32, (33, 32))])
        self.assertEqual(launches[0]["y"].isnan().any(1).nonzero().tolist(), [[3]])


class Protocol(Folder):
    def test_a_broken_line_ends_the_worker(self):
        suite = tiers.Suite("broken lines", "pybridge")  # each costs a worker
        for line, key in ((b"{not json\n", "no request"), (b'"' + b"x" * (1 << 20) + b'"\n', "too long"),
                          (b'{"id": 9, "do": "probe"}\n', "no request"), (b"[1]\n", "no request")):
            if not suite.covers(repr(line[:20]), key):
                continue
            with self.subTest(line[:20]):
                client = self.start()
                client.socket.sendall(line)
                self.assertEqual(client.lines.readline(), b"")
                self.assertEqual(client.process.wait(timeout=30), 2)
                self.assertIn("worker: read request 2", client.log())

    def test_an_end_of_file_ends_the_worker(self):
        client = self.start(parent=None)
        client.socket.shutdown(1)
        self.assertEqual(client.lines.readline(), b"")
        self.assertEqual(client.process.wait(timeout=30), 0)

    def test_a_worker_whose_driver_is_gone_ends_in_the_middle_of_a_call(self):
        self.write("endless.py", """
            import pathlib, subprocess, time
            from implementation import Implementation
            def forward(x):
                started = subprocess.Popen(["sleep", "1000"])
                pathlib.Path(__file__).with_suffix(".pid").write_text(f"{started.pid}\\n")
                time.sleep(1000)
            IMPLEMENTATIONS = [Implementation("torch/endless", forward, outputs=("y",))]
        """)
        client = self.start(parent=None)
        client.ask("load", {"op": "endless"})

        def call():
            with contextlib.suppress(Exception):
                outputs = [("y", torch.float32, (1,))]
                client.run("endless", "torch/endless", "forward", [torch.ones(1)], outputs, "a")

        calling = threading.Thread(target=call, daemon=True)
        calling.start()
        told = self.folder / "endless.pid"
        deadline = time.monotonic() + 120
        while not (told.exists() and told.read_text().endswith("\n")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        started = int(told.read_text())
        client.socket.shutdown(socket.SHUT_RDWR)  # as the kernel does when the driver is killed
        self.assertEqual(client.process.wait(timeout=30), -signal.SIGKILL)
        calling.join(30)
        deadline = time.monotonic() + 60
        stat = Path(f"/proc/{started}/stat")
        while stat.exists() and ") Z " not in stat.read_text():
            self.assertLess(time.monotonic(), deadline, f"process {started} of the worker lives on")
            time.sleep(0.02)

    def test_another_protocol_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "protocol 2, this worker speaks 1"):
            client = self.start()
            client.ask("hello", {"protocol": 2, "memory_bytes": 0})

    def test_numbers_that_are_not_finite_cannot_leave_as_numbers(self):
        with self.assertRaises(ValueError):
            json.dumps({"x": float("nan")}, allow_nan=False)

    def test_descriptors_do_not_reach_a_grandchild(self):
        self.write("child.py", """
            import os, subprocess, sys, torch
            from implementation import Implementation
            def forward(x):
                code = ("import os; print([fd for fd in (3, 4) if os.path.exists(f'/proc/self/fd/{fd}') "
                        "and 'memfd:tensors' in os.readlink(f'/proc/self/fd/{fd}')])")
                seen = subprocess.run([sys.executable, "-c", code], close_fds=False, capture_output=True,
                                      text=True).stdout
                raise ValueError(seen)
            IMPLEMENTATIONS = [Implementation("torch/child", forward, outputs=("y",))]
        """)
        client = self.start()
        client.ask("load", {"op": "child"})
        reply, _ = client.run("child", "torch/child", "forward", [torch.ones(1)],
                              [("y", torch.float32, (1,))], "a")
        self.assertEqual(reply["launches"][0]["message"], "ValueError: []")


class Lacking(Folder):
    """Machines without Triton, with a folder in its place, or without torch: planted by what runs before the
    worker. It stays on the CPU: torch asks for Triton when it wakes a GPU, and the interpreter is for a
    CPU."""

    MIXED = """
        import torch
        from implementation import Implementation, tl, triton

        @triton.jit
        def _kernel(x_ptr, N: tl.constexpr):
            pass

        IMPLEMENTATIONS = [Implementation("triton/row", lambda x: x + 0, outputs=("y",)),
                           Implementation("torch/eager", lambda x: x + 0, outputs=("y",))]
    """

    def load(self, first: str, **how):
        self.write("mixed.py", self.MIXED)
        client = self.start(parent=None, first=first, environment={"TRIAD_DEVICE": "cpu"}, **how)
        return client, client.ask("load", {"op": "mixed"})

    def test_without_triton_the_torch_rows_run(self):
        client, reply = self.load("sys.modules['triton'] = None")
        self.assertEqual(client.greeting["device"], "cpu")
        self.assertNotIn("triton", client.greeting["versions"])
        self.assertEqual({e["name"] for e in reply["implementations"]}, {"torch/eager"})
        [failed] = reply["failed"]
        self.assertEqual((failed["implementation"], failed["status"]), ("triton", "UNAVAILABLE"))
        self.assertIn("triad setup", failed["message"])
        _, got = client.run("mixed", "torch/eager", "forward", [torch.ones(2)], [("y", torch.float32, (2,))])
        self.assertTrue(torch.equal(got[1]["y"], torch.ones(2)))

    def test_a_folder_called_triton_is_not_triton(self):
        (self.folder / "shadow" / "triton").mkdir(parents=True)
        _, reply = self.load(f"import types; m = types.ModuleType('triton'); m.__path__ = "
                             f"[{str(self.folder / 'shadow' / 'triton')!r}]; sys.modules['triton'] = m")
        self.assertEqual({e["name"] for e in reply["implementations"]}, {"torch/eager"})
        self.assertIn("is the folder", reply["failed"][0]["message"])

    def test_without_torch_everything_is_unavailable_and_says_how_to_get_it(self):
        client, reply = self.load("sys.modules['torch'] = None")
        self.assertEqual(client.greeting["device"], "cpu")
        self.assertEqual(reply["implementations"], [])
        self.assertEqual([(f["implementation"], f["status"]) for f in reply["failed"]],
                         [("triton", "UNAVAILABLE"), ("torch", "UNAVAILABLE")])
        self.assertIn("triad setup", reply["failed"][1]["message"])
        self.assertFalse(client.ask("probe")["healthy"])

    def test_an_interpreter_that_multiplies_wrongly_gives_no_triton_rows(self):
        _, reply = self.load(f"sys.path.insert(0, {str(Path(worker.__file__).parent)!r}); "
                             "import bridge_folders, os; "
                             "os.environ['TRITON_INTERPRET'] = '1'; "
                             "import interpreter; interpreter.correct = lambda: None")
        self.assertEqual({e["name"] for e in reply["implementations"]}, {"torch/eager"})
        self.assertIn("tl.dot of bf16 is wrong", reply["failed"][0]["message"])


if __name__ == "__main__":
    unittest.main()
