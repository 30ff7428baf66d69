"""The package as it is installed: what it imports, what it answers, and that nothing ends the interpreter."""

import json
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import triad

try:
    import numpy
except ImportError:
    numpy = None

ROOT = Path(__file__).resolve().parents[3]
QUICK = {"impl": "cuda", "dtype": "bf16", "dims": {"rows": 8, "cols": 100}, "distribution": "normal",
         "layout": "contiguous", "pass_": "forward"}


def setUpModule():
    global data
    data = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = data.name


def tearDownModule():
    data.cleanup()


def python(code, *arguments, **kwargs):
    """Runs code in an interpreter of its own."""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True,
                          timeout=120, **kwargs)


class Import(unittest.TestCase):
    def test_light(self):
        """An import loads neither torch nor NumPy nor Go. What it takes is printed by overhead.py."""
        code = "import sys, triad; print(*(name in sys.modules for name in ('torch', 'numpy', 'triad.go')))"
        self.assertEqual(python(code).stdout.split(), ["False", "False", "False"])

    def test_version_is_the_drivers(self):
        said = subprocess.run([triad.binary(), "version"], capture_output=True, text=True,
                              check=True).stdout.split()
        self.assertEqual(said[:2], ["triad", triad.__version__])

    def test_every_name_is_there(self):
        for name in triad.__all__:
            self.assertTrue(getattr(triad, name) is not None, name)
            if callable(getattr(triad, name)):
                self.assertTrue(getattr(triad, name).__doc__, f"{name} has no docstring")


class Catalogue(unittest.TestCase):
    def test_operators(self):
        names = triad.ops().names()
        listed = subprocess.run([triad.binary(), "ops", "list", "--json"], capture_output=True, text=True,
                                check=True).stdout
        self.assertEqual(names, [json.loads(line)["op"] for line in listed.splitlines()])
        self.assertIn("softmax", triad.ops()._repr_html_())
        self.assertEqual(triad.op("softmax").dims, ("rows", "cols"))

    def test_cases(self):
        plan = triad.cases("layernorm", level="quick", dtype="bf16", pass_="backward")
        self.assertTrue(plan and all(c.dtype == "bf16" and c.direction == "backward" for c in plan))
        one = triad.case("softmax", dtype="bf16", dims={"rows": 8, "cols": 1000})
        self.assertEqual([str(t) for t in one.inputs], ["x bf16 [8, 1000]"])
        for shown in (one, plan, triad.op("softmax"), triad.ops(), one.inputs[0]):
            self.assertEqual(repr(shown), str(shown))  # a notebook and a console show what print does
        self.assertEqual(one.bytes, 2 * 8 * 1000 * 2)

    def test_words(self):
        self.assertEqual(triad.statuses()["FAIL"], "bad")
        self.assertIn("fp32", triad.contracts())


class BadInput(unittest.TestCase):
    def test_sentences(self):
        for want, words, call in (
            (triad.UsageError, 'unknown operator "softmx": do you mean softmax?', lambda: triad.op("softmx")),
            (triad.UsageError, 'unknown operator "softmx": do you mean softmax?',
             lambda: triad.compare("softmx")),
            (triad.UsageError, "operator 3: want its name", lambda: triad.compare([3])),
            (triad.UsageError, "operator '--help': want its name", lambda: triad.compare("--help")),
            (triad.UsageError, "operator 3: want its name", lambda: triad.compare(3)),
            (triad.UsageError, 'softmax: unknown dtype "fp9"', lambda: triad.compare("softmax", dtype="fp9")),
            (triad.UsageError, 'softmax: unknown dim "row"',
             lambda: triad.compare("softmax", dims={"row": 1})),
            (triad.UsageError, '--dims "rows=x"', lambda: triad.compare("softmax", dims={"rows": "x"})),
            (triad.UsageError, "unknown keyword 'colour'", lambda: triad.gradcheck("softmax", colour=1)),
            (triad.UsageError, "softmax: read case",
             lambda: triad.case("softmax", dims={"rows": "x", "cols": 1})),
            (triad.UsageError, "SQL parameter ?", lambda: triad.query("select ?, ?", [1])),
            (triad.UsageError, "2 SQL parameters, 1 of them used", lambda: triad.query("select ?", [1, 2])),
            (triad.Unavailable, "file does not exist", lambda: triad.results(db=data.name + "/no.db")),
        ):
            with self.subTest(words):
                with self.assertRaises(want) as caught:
                    call()
                self.assertIn(words, str(caught.exception))
                self.assertIsInstance(caught.exception, triad.TriadError)

    def test_a_missing_program(self):
        import triad.command
        file, triad.command.__file__ = triad.command.__file__, data.name + "/command.py"
        try:
            with self.assertRaisesRegex(triad.Unavailable, "not here or not executable"):
                triad.results()
        finally:
            triad.command.__file__ = file


class Keywords(unittest.TestCase):
    def test_they_are_the_flags(self):
        """Every flag of the command line is a keyword. Python itself sets --json and --yes; what --sanitize,
        --plan and --against print are no records, --shard, --on, --gpus, --junit, --github, --no-sandbox and
        --write are for commands, and what Python prints is as with --verbose."""
        import inspect
        for verb in ("compare", "gradcheck"):
            said = subprocess.run([triad.binary(), verb, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            listed = {m.replace("-", "_") for m in re.findall(r"^ {2,6}(?:-\w, )?--([a-z-]+)", said,
                re.MULTILINE)} - {"help", "json", "yes", "sanitize", "verbose", "plan", "against",
                                     "shard", "junit", "github", "no_sandbox", "on", "shards", "slurm",
                                     "parts", "gpus", "write"}
            # which times nothing
            known = (set(inspect.signature(triad.start).parameters) - {"op", "verb"}
                     - ({"no_timing"} if verb == "gradcheck" else set()))
            self.assertEqual({k.rstrip("_") for k in known}, listed)
            for name in known:
                self.assertIn(name, triad.compare.__doc__)

    def test_files_alone_are_added(self):
        for add in ("-", data.name, data.name + "/**/*.cu", [__file__, data.name]):
            with self.assertRaisesRegex(triad.UsageError, "want a file, or a list of files"):
                triad.start("all", add=add)

    def test_words_with_commas(self):
        from triad.command import flags
        self.assertEqual(flags({"nvcc_flags": "-Xcompiler -a,-b", "grid": "ceildiv(cols, 16), rows",
                                "no_timing": True, "explain": False}),
                         ["--nvcc-flags", "-Xcompiler -a,-b", "--grid", "ceildiv(cols,16),rows",
                          "--no-timing"])


class Panics(unittest.TestCase):
    """A panic behind any exported function is an exception; the interpreter goes on."""

    CALLS = {"Provoke": ("x",), "Operators": (), "Operator": ("softmax",), "Statuses": (), "Contracts": (),
             "Expand": ("softmax", ""),
             "Case": ("softmax", '{"dims": {"rows": 1, "cols": 1}}'), "Decode": ("bf16", 0, 0, 0),
             "Encode": ("bf16", 0, 0, 0), "Summarize": (0, 0),
             "CompareTable": ("", "", 3, "", ""), "Explain": ("",), "ListTable": ("",),
             "Figures": ("",)}

    def test_all(self):
        from triad import go
        bound = {name for name in vars(go.native()) if name[0].isupper()}
        self.assertEqual(bound, set(self.CALLS))
        for name, arguments in self.CALLS.items():
            with self.subTest(name):
                go.call("Provoke", name)
                with self.assertRaisesRegex(triad.InternalError, f"provoked in {name}"):
                    go.call(name, *arguments)

    def test_a_wrong_address(self):
        from triad import go
        with self.assertRaises(triad.InternalError):
            go.call("Decode", "fp32", 8, 16, 1)


class Processes(unittest.TestCase):
    def test_threads(self):
        keys, failures = set(), []

        def work():
            try:
                for cols in range(1, 40):
                    keys.add(triad.case("softmax", dims={"rows": 1, "cols": cols}).key)
            except BaseException as e:
                failures.append(e)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((failures, len(keys)), ([], 39))

    def test_spawned(self):
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            self.assertEqual(pool.map(rows_of, [1, 2, 3]), [1, 2, 3])

    def test_forked(self):
        """Go does not survive a fork: the call is refused, it does not hang."""
        code = ("import os, triad\ntriad.ops()\npid = os.fork()\nif not pid:\n try: triad.ops()\n except "
                "triad.ForkError: os._exit(7)\n os._exit(1)\n"
                "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
        self.assertEqual(python(code).stdout.split(), ["7"])

    def test_forked_before_the_first_call(self):
        code = ("import os, triad\npid = os.fork()\nif not pid: "
                "os._exit(len(triad.ops()))\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == "
                "len(triad.ops()))")
        self.assertEqual(python(code).stdout.split(), ["True"])


def rows_of(rows):
    return triad.case("softmax", dims={"rows": rows, "cols": 1}).dims["rows"]


@unittest.skipUnless(numpy, "NumPy is not installed")
class Arrays(unittest.TestCase):
    def test_every_code(self):
        for dtype, codes in (("bf16", numpy.arange(1 << 16, dtype="u2")),
                             ("fp16", numpy.arange(1 << 16, dtype="u2")),
                             ("e4m3", numpy.arange(256, dtype="u1")),
                             ("e5m2", numpy.arange(256, dtype="u1"))):
            values = triad.decode(codes, dtype)
            finite = ~numpy.isnan(values)
            numpy.testing.assert_array_equal(triad.encode(values, dtype)[finite], codes[finite])
            if dtype == "fp16":
                numpy.testing.assert_array_equal(values, codes.view("f2").astype("f8"))

    def test_strides_and_shapes(self):
        values = numpy.arange(24.0).reshape(4, 6)[::2, ::3]
        self.assertEqual(triad.encode(values, "bf16").shape, (2, 2))
        numpy.testing.assert_array_equal(triad.decode(triad.encode(values, "bf16"), "bf16"), values)
        self.assertEqual(triad.decode(b"\x80\x3f", "bf16").tolist(), [1.0])
        with self.assertRaisesRegex(triad.UsageError, "want 2 bytes each"):
            triad.decode(values, "bf16")
        with self.assertRaisesRegex(triad.UsageError, "want one of fp64"):
            triad.encode(values, "fp8")

    def test_summary(self):
        s = triad.summarize(range(1, 11))
        self.assertEqual((s.median, s.low, s.high), (5.5, 2.0, 9.0))

    def test_memory(self):
        """Memory stays flat over calls into Go. What one takes is printed by overhead.py."""
        for _ in range(500):
            triad.case("softmax", dims={"rows": 1, "cols": 1})
        before = resident()
        for _ in range(10_000):
            triad.case("softmax", dims={"rows": 1, "cols": 1})
        self.assertLess(resident() - before, 16 << 20)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Running(unittest.TestCase):
    """These build a CUDA kernel for the emulator."""

    def test_compare(self):
        found = triad.compare("softmax", explain=True, **QUICK)
        self.assertEqual(found.exit, 0, str(found))
        self.assertEqual({r.op for r in found}, {"softmax"})
        printed = subprocess.run([triad.binary(), "compare", "softmax", "--impl", "cuda", "--dtype", "bf16",
                                  "--dims", "rows=8,cols=100", "--distribution", "normal",
                                  "--layout", "contiguous", "--pass", "forward", "--explain"],
                                  capture_output=True, text=True).stdout
        self.assertEqual(without_session(str(found)), without_session(printed))
        self.assertIn("relation   each row adds up to 1: holds in", found.explanation)
        self.assertEqual(found[0].explained[0]["output"], "y")
        self.assertIn("<table>", found._repr_html_())
        self.assertIn("<summary>explanation</summary>", found._repr_html_())
        summary, runs = found._repr_html_().split("<summary>runs</summary>")
        self.assertRegex(summary, r"<td>cuda/naive</td><td>forward</td><td>PASS \d+</td>")
        self.assertIn(found[0].id[:10] + "<", runs)
        self.drawn(found)
        listed = triad.results(op="softmax", impl="cuda/naive", since="1h")
        self.assertNotIn("explained", listed[0])
        some = triad.results(op="softmax", limit=1)
        self.assertRegex(str(some), r"1 of \d+ runs shown, newest first; limit= gives more")
        self.assertEqual(triad.results(op="softmax", limit=10_000).remark, "")
        self.assertEqual({r.impl for r in listed}, {"cuda/naive"})
        self.assertEqual(triad.show(found[0].id).run.id, found[0].id)
        self.assertIn(found[0].id, str(found[0].show()))
        rows = triad.query("select implementation, ':x ?' as text from latest where op = :op and status = "
                           ":status", {"op": "softmax", "status": "PASS"})
        self.assertEqual({row["text"] for row in rows}, {":x ?"})
        with self.assertRaisesRegex(triad.DatabaseError, "only reading is allowed"):
            triad.query("delete from run")
        with self.assertRaisesRegex(triad.DatabaseError, "no such column: impl"):
            triad.query("select impl from latest")
        self.assertEqual(list(triad.query("select ? as a, ? as b", ["it's", 2.5])), [{"a": "it's", "b": 2.5}])
        again = pickle.loads(pickle.dumps(found))
        self.assertEqual((str(again), again[0].status), (str(found), found[0].status))
        try:
            import pandas  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(triad.Unavailable, "pip install pandas"):
                found.to_pandas()
        else:
            self.assertEqual(list(found.to_pandas()["rows"]), [8] * len(found))

    def drawn(self, found):
        """What was found draws the same SVG as `triad results plot`, for a notebook and for a file."""
        drawings = found.plot("errors")
        self.assertEqual([f.kind for f in drawings], ["errors"], drawings)
        plotted = triad.plot(found.session, kind="errors")
        self.assertEqual([(f.kind, f.title, f.words, f.svg) for f in plotted],
                         [(f.kind, f.title, f.words, f.svg) for f in drawings])
        self.assertTrue(drawings[0]._repr_svg_().startswith("<svg "))
        self.assertEqual(drawings[0].save(data.name + "/errors.svg").read_text(), drawings[0].svg)
        self.assertIn('<img alt="Errors of softmax', drawings._repr_html_())
        self.assertIn(drawings._repr_html_(), found._repr_html_())
        self.assertEqual(found.plot(["map"])._repr_html_(), "no drawings")
        for wrong in (found.plot, lambda kind: triad.plot(found.session, kind=kind)):
            with self.assertRaisesRegex(triad.UsageError, "kind 'pie': want map, errors"):
                wrong("pie")
        with self.assertRaisesRegex(triad.UsageError, "nosuch"):
            triad.plot("nosuch")
        self.assertEqual(len(triad.plot(found.session, kind="roofline")), 0)  # nothing was timed
        try:
            from IPython.core.formatters import DisplayFormatter
        except ImportError:
            return  # the methods above are what it calls; the notebook of the documents is run with it
        for shown, mime in ((drawings[0], "image/svg+xml"), (drawings, "text/html"), (found, "text/html")):
            self.assertIn(mime, DisplayFormatter().format(shown)[0])

    def test_start_poll_cancel(self):
        db = data.name + "/cancel.db"
        with triad.start("softmax", impl="cuda", full=True, pass_="forward", dtype="fp32", db=db) as run:
            self.assertIsNone(run.poll())
            wait_for_a_record(db)
            run.cancel()
            found = run.wait(timeout=60)
        self.assertIn(found[0].id, {r.id for r in triad.results(limit=10_000, db=db)},
                      "what was done is not recorded")
        self.assertIn("resume", found.reason + "resume" * (found.exit == 0))

    def test_ctrl_c(self):
        db = data.name + "/interrupt.db"
        code = ("import sys, triad\ntry: triad.compare('softmax', impl='cuda', full=True, pass_='forward', "
                "dtype='fp32', db=sys.argv[1])\n"
                "except triad.Interrupted as e: print('kept', len(e.results))")
        child = subprocess.Popen([sys.executable, "-c", code, db], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        wait_for_a_record(db)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertRegex(out, r"kept [1-9]", err)


def wait_for_a_record(db):
    """Waits until something is stored: what is stopped afterwards must be kept."""
    for _ in range(600):
        time.sleep(0.1)
        try:
            if triad.results(db=db):
                return
        except triad.TriadError:
            pass  # the database is being made
    raise TimeoutError(f"nothing was recorded in {db}")


def without_session(text):
    return text[:text.index("Inputs from seed")].split("triad results show")[0]


if __name__ == "__main__":
    unittest.main()
