"""Timing: what needs no GPU, and with TRIAD_DEVICE=gpu the protocol on one."""

from __future__ import annotations

import contextlib
import gc
import os
import unittest
import weakref
from unittest import mock

import torch

from client import Client  # puts the bridge on sys.path

import implementation
import launch
import measure
import tensors
import tiers
import timed_candidate
from implementation import Autograd, Implementation, differentiable_row

ON_GPU = os.environ.get("TRIAD_DEVICE") == "gpu" and torch.cuda.is_available()
L2 = 60 << 20


class Rotation(unittest.TestCase):
    """Inputs by themselves, and outputs by themselves, take at least twice the L2 cache."""

    def test_sets(self):
        for given, returned, want in ((8 << 20, 8 << 20, 15), (128 << 20, 128 << 20, 2),
                                      (256 << 20, 8 << 20, 15), (1 << 30, 8 << 20, 2),
                                      (16 << 20, 24 << 10, 8), (7 << 30, 7 << 30, 2), (1000, 1000, 1024),
                                      (8 << 20, 0, 15), (0, 0, 2), (6 << 30, 1 << 20, 2)):
            self.assertEqual(measure.rotation(True, L2, given, returned), want, (given, returned))
            self.assertEqual(measure.rotation(False, L2, given, returned), 1)

    def test_evened(self):
        for least, given, returned, want in ((2, 64 << 20, 64 << 20, 7), (2, 192 << 20, 64 << 20, 3),
                                             (2, 1 << 30, 1 << 30, 2), (15, 8 << 20, 8 << 20, 15),
                                             (4, 32 << 20, 32 << 20, 8)):
            self.assertEqual(measure.evened(least, L2, given, returned), want, (given, returned))

    def test_slow_calls_get_fewer_sets(self):
        for sets, took_ns, count, want in ((240, 80_000_000, 2 << 20, 2), (240, 1_000_000, 2 << 20, 240),
                                           (1024, 60_000_000, 1 << 30, 8),
                                           (15, 9_000_000_000, 1 << 30, 2), (1, 80_000_000, 2 << 20, 1),
                                           (2, 0, 0, 2)):
            self.assertEqual(measure.sets_of_slow(sets, took_ns, count), want, (sets, took_ns, count))

    def test_unlike(self):
        a = torch.tensor([1.0, float("nan"), 0.0])
        for b, want in ((a.clone(), 0), (torch.tensor([1.0, float("nan"), -0.0]), 1), (a.double(), 1),
                        (a[:2], 1), (None, 1)):
            self.assertEqual(measure._unlike(a, b), want, b)
        self.assertEqual((measure._unlike(None, None), measure._unlike(a[:0], a[:0])), (0, 0))


class WithoutGPU(unittest.TestCase):
    """A worker on a CPU times nothing and says so."""

    def test_says_so(self):
        client = Client(environment={"TRIAD_DEVICE": "cpu"})
        try:
            reply = client.ask("measure",
                               {"step": "prepare", "arm": 1, "prepare": {"ruler": "bf16", "graph_ns": 1000}})
            self.assertEqual(reply["status"], "UNSUPPORTED")
        finally:
            client.close()

    def test_steps(self):
        candidates = measure.Measurements()
        with self.assertRaisesRegex(Exception, "nothing is prepared"):
            candidates.step({"step": "time", "arm": 3, "time": {"samples": 1}}, None)


class Uncaptured(unittest.TestCase):
    """Calls that no graph captures, on a stand-in for a GPU."""

    def candidate(self, sets: int, call) -> measure.Candidate:
        cuda = mock.patch.multiple("torch.cuda", Stream=mock.MagicMock(), Event=mock.MagicMock(),
                                   set_stream=mock.MagicMock(), current_stream=mock.MagicMock(),
                                   CUDAGraph=mock.MagicMock(), stream=mock.MagicMock(),
                                   synchronize=mock.DEFAULT,
                                   graph=mock.Mock(side_effect=RuntimeError("operation not permitted when "
                                                                            "stream is capturing")))
        cuda.start()
        self.addCleanup(cuda.stop)
        torch.cuda.Event.return_value.elapsed_time.return_value = 1.0
        return measure.Candidate(sets, call)

    def test_every_set_has_its_outputs(self):
        candidate = self.candidate(2, lambda i: (i,))
        candidate.sets = 5  # as a candidate whose calls turned out not to be slow
        candidate.prepare(0)
        self.assertIn("captur", candidate.reason)
        self.assertEqual((candidate.calls, candidate.kept), (5, [(0,), (1,), (2,), (3,), (4,)]))

    def test_a_measurement_among_others_begins_with_a_copy(self):
        order = []
        candidate = self.candidate(2, lambda i: order.append("call") or (i,))
        candidate.prepare(0)
        torch.cuda.Event.return_value.record.side_effect = lambda: order.append("event")
        candidates = measure.Measurements()
        candidates.candidates[1] = mock.Mock(candidate=candidate)
        buffers = [mock.Mock(), mock.Mock()]
        buffers[0].copy_.side_effect = lambda _: order.append("copy")
        with (mock.patch("torch.empty", side_effect=buffers) as empty,
              mock.patch.object(measure, "physics", lambda: {"l2_bytes": 8})):
            for others in (True, False, True):
                order.clear()
                candidates.step({"step": "time", "arm": 1, "time": {"samples": 1, "others": others}}, None)
                self.assertEqual(order, ["copy"] * others + ["event", "call", "call", "event"])
        self.assertEqual([call.args for call in empty.call_args_list], [(16,), (16,)])
        self.assertEqual(empty.call_args.kwargs["device"], candidates.candidates[1].device)
        buffers[0].copy_.assert_called_with(buffers[1])

    def test_a_timed_call_is_for_its_sizes_alone(self):
        candidate, seen = object.__new__(measure.CallCandidate), []

        def call(x, *, eps):
            seen.append((x, eps, implementation.SIZES_ALONE))
            if x < 0:
                raise ValueError(x)
            return x

        candidate.function, candidate.loaded, candidate.attributes, candidate.graphs = call, [[(None, 3)],
            [(None, -1)]], {"eps": 0.5}, []
        candidate.halves = []
        self.assertEqual(candidate._call(0), (3,))
        with self.assertRaises(ValueError):
            candidate._call(1)
        self.assertEqual((seen, implementation.SIZES_ALONE), ([(3, 0.5, True), (-1, 0.5, True)], False))

    def test_release(self):
        class Owner:
            def __init__(owner):
                owner.candidate = self.candidate(2, owner.call)

            def call(owner, i):
                return (i,)

        with timed_candidate.nothing_collected():
            self.assertFalse(gc.isenabled())
            owner = Owner()
            alive, inner = weakref.ref(owner), owner.candidate
            inner.prepare(0)
            inner.release()
            del owner
            self.assertIsNone(alive(), "without a collection")
        self.assertTrue(gc.isenabled())


class Host:
    """What stands in for a GPU and the driver's memory: streams and events that do nothing, no capture, so
    much memory."""

    def __init__(self, test: unittest.TestCase, free: int = 1 << 40, l2: int = 1000):
        self.entered: list = []  # the streams that calls are made on
        self.content = bytearray()
        event = mock.Mock(elapsed_time=mock.Mock(return_value=1.0))
        patches = [mock.patch.multiple("torch.cuda", Stream=mock.MagicMock, Event=lambda **_: event,
                                       set_stream=mock.MagicMock(), CUDAGraph=mock.MagicMock(),
                                       stream=self.stream,
                                       synchronize=mock.DEFAULT, current_stream=mock.DEFAULT,
                                       memory_allocated=lambda: 0, memory_reserved=lambda: 0,
                                       max_memory_allocated=lambda: 0, mem_get_info=lambda: (free, free),
                                       graph=mock.Mock(side_effect=RuntimeError("operation not permitted "
                                                                                "when stream is capturing"))),
                   mock.patch("measure.physics", lambda: {"l2_bytes": l2})]
        for patch in patches:
            patch.start()
            test.addCleanup(patch.stop)

    @contextlib.contextmanager
    def stream(self, stream):
        self.entered.append(stream)
        yield
        self.entered.pop()

    def reference(self, name: str, tensor: torch.Tensor) -> dict:
        content = tensor.numpy().tobytes()
        self.content += content
        return {"name": name, "dtype": tensors.NAMES[tensor.dtype], "shape": list(tensor.shape),
                "stride": list(tensor.stride()),
                "offset": len(self.content) - len(content), "bytes": len(content)}

    def view(self, ref: dict) -> memoryview:
        return memoryview(self.content)[ref["offset"]:ref["offset"] + ref["bytes"]]

    def candidate(self, row: Implementation, direction: str, *inputs: torch.Tensor,
            cold: bool = True) -> measure.CallCandidate:
        """A prepared candidate that times a row with one output of the first input's shape and dtype."""
        given = [self.reference(f"input{i}", t) for i, t in enumerate(inputs)]
        self.outputs = [self.reference(row.gives(direction)[0], torch.zeros_like(inputs[0]))]
        run = {"pass": direction, "inputs": given, "launches": [{"outputs": self.outputs}]}
        candidate = measure.CallCandidate(row, __file__, self, torch.device("cpu"), run, {}, cold)
        candidate.prepare(0)
        return candidate

    def wrote(self) -> torch.Tensor:
        """What the last report copied out."""
        return torch.frombuffer(bytearray(self.view(self.outputs[0])),
                                dtype=torch.float32).reshape(self.outputs[0]["shape"])


class Spoiling(torch.autograd.Function):
    """exp, with a backward that can be called once: how says what becomes of what it saved."""

    @staticmethod
    def forward(ctx, x, how):
        y = x.exp()
        ctx.kept, ctx.how = [y.clone()], how
        return y

    @staticmethod
    def backward(ctx, grad_y):
        if ctx.how == "freed":
            return grad_y * ctx.kept.pop(), None
        if ctx.how == "given away":
            return ctx.kept[0], None
        return ctx.kept[0].mul_(grad_y) * 1, None


class BackwardAlone(unittest.TestCase):
    """The backward is timed without its forward wherever a graph can be retained, and where it cannot, the
    candidate says so."""

    X, GRAD = torch.linspace(-1, 1, 12).view(3, 4), torch.linspace(0, 2, 12).view(3, 4)

    def test_through_retained_graphs(self):
        host, forwards = Host(self), []

        def function(x):
            forwards.append(list(host.entered))
            return x.exp()

        candidate = host.candidate(differentiable_row("torch/exp", function, 1, (0,), ("y",), ("grad_x",)),
                                   "backward",
                       self.X, self.GRAD)
        self.assertEqual((candidate.backward, candidate.note), ("retained graph", ""))
        sets = candidate.candidate.sets
        self.assertGreater(sets, 2)
        self.assertEqual(forwards, [[candidate.candidate.stream]] * sets, "once a set, on the stream that is "
                         "captured")
        self.assertEqual(candidate.rotated, sets * self.GRAD.nbytes,
                         "of what is read the upstream gradient alone is known")
        candidate.candidate.time(1, 3)
        self.assertEqual(len(forwards), sets, "no timed call runs the forward")
        self.assertEqual(len({k[0].data_ptr() for k in candidate.candidate.kept}), sets)
        for [grad] in candidate.candidate.kept:
            torch.testing.assert_close(grad, self.X.exp() * self.GRAD)
        reply = candidate.finish([{"outputs": host.outputs, "poison": p} for p in "ab"])
        self.assertEqual(reply["differing"], [])
        torch.testing.assert_close(host.wrote(), self.X.exp() * self.GRAD)
        candidate.release()
        self.assertEqual(candidate.graphs, [])

    def test_differing_sets(self):
        """What a set's graph holds wrong shows, as it does in any output."""
        host, forwards = Host(self), []

        def function(x):
            forwards.append(1)
            return x.exp() * (2 if len(forwards) == 3 else 1)

        candidate = host.candidate(differentiable_row("torch/exp", function, 1, (0,), ("y",), ("grad_x",)),
                                   "backward",
                       self.X, self.GRAD)
        [found] = candidate.finish([{"outputs": host.outputs, "poison": p} for p in "ab"])["differing"]
        self.assertEqual((found["output"], found["set"], found["inputs"]), ("grad_x", 2, []))

    def test_what_can_be_called_once_is_timed_with_its_forward(self):
        for how, why in (("freed", "fails: pop from empty list"),
                         ("given away", "gives as grad_x what its forward has made"),
                         ("overwritten", "gives another grad_x")):
            with self.subTest(how):
                host, forwards = Host(self), []

                def function(x):
                    forwards.append(1)
                    return Spoiling.apply(x, how)

                candidate = host.candidate(differentiable_row("torch/exp", function, 1, (0,), ("y",),
                                                              ("grad_x",)),
                               "backward", self.X, self.GRAD)
                self.assertEqual(candidate.backward, "forward+backward")
                self.assertIn(why, candidate.note)
                before = len(forwards)
                candidate.candidate.time(0, 2)
                self.assertEqual(len(forwards), before + 2 * candidate.candidate.calls)
                want = self.X.exp() if how == "given away" else self.X.exp() * self.GRAD
                torch.testing.assert_close(candidate.candidate.kept[-1][0], want)

    def test_outputs_that_may_differ(self):
        """Bits that may differ between two calls are no sign of a spoilt graph."""
        host = Host(self)
        Noisy = type("Noisy", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x.clone()),
                                                           "backward": staticmethod(lambda ctx, g: g
                                                                                    + torch.rand(()))})
        for declared, want in ((("grad_x",), "retained graph"), ((), "forward+backward")):
            row = differentiable_row("torch/noisy", Noisy.apply, 1, (0,), ("y",), ("grad_x",),
                                     nondeterministic=declared)
            self.assertEqual(host.candidate(row, "backward", self.X, self.GRAD).backward, want)

    def test_of_other_rows(self):
        host = Host(self)
        saved = Implementation("torch/saved", torch.exp, lambda y, g: y * g, ("y",), ("grad_x",))
        by_hand = Implementation("torch/hand", torch.exp, lambda x, g: x.exp() * g, ("y",), ("grad_x",),
                                 recomputes=True)
        self.assertEqual(host.candidate(saved, "forward", self.X).backward, "")
        self.assertEqual(host.candidate(saved, "backward", self.X, self.GRAD).backward, "saved tensors")
        candidate = host.candidate(by_hand, "backward", self.X, self.GRAD)
        self.assertEqual((candidate.backward, candidate.note),
                         ("forward+backward", "its backward runs the forward itself"))

    def test_nothing_depends_on_the_inputs(self):
        host = Host(self)
        candidate = host.candidate(differentiable_row("torch/zero", lambda x: torch.zeros(3, 4), 1, (0,),
                                                      ("y",),
                                          ("grad_x",)), "backward", self.X, self.GRAD)
        self.assertEqual((candidate.backward, candidate.candidate.kept[0][0].tolist()),
                         ("retained graph", torch.zeros(3, 4).tolist()))

    def test_an_input_that_is_given_on_is_not_poisoned(self):
        host = Host(self)
        candidate = host.candidate(differentiable_row("torch/same", lambda x: x + 0, 1, (0,), ("y",),
                                                      ("grad_x",)),
                       "backward", self.X, self.GRAD)
        candidate.candidate.graph = mock.MagicMock()
        candidate.poison()
        torch.testing.assert_close(candidate.loaded[0][1][1], self.GRAD)

    def test_sets_that_fit(self):
        row = differentiable_row("torch/exp", torch.exp, 1, (0,), ("y",), ("grad_x",))
        inputs = 2 * self.X.nbytes
        for free, want in ((1 << 40, 42), (0, 1), (2 * 5 * (inputs + self.X.nbytes), 6)):
            with mock.patch.object(measure.Candidate, "warm_up", lambda candidate: 1):
                # a GPU's call: the host's is slow for its size
                self.assertEqual(Host(self, free, 1000).candidate(row, "backward", self.X,
                                                                  self.GRAD).candidate.sets,
                                 want, free)
        self.assertEqual(Host(self).candidate(row, "backward", self.X, self.GRAD, cold=False).candidate.sets,
                         1)

    def test_compiled(self):
        """torch.compile's backward takes the memory of what was saved for it, unless it is told that the
        graph is retained."""
        tiers.Suite("measure", "pybridge/worker/measure.py", "pybridge/operators/implementation.py",
                    "pybridge/worker/timed_candidate.py", "pybridge/tests/test_measure.py",
                    "requirements.txt").ask(self, "")
        forwards, donated = [], torch._functorch.config.donated_buffer
        self.addCleanup(setattr, torch._functorch.config, "donated_buffer", donated)
        self.assertTrue(donated)
        x, grad = torch.linspace(-1, 1, 512).view(8, 64), torch.linspace(0, 2, 512).view(8, 64)
        compiled = implementation.compile_for(lambda x: torch.nn.functional.layer_norm(x, (64,)))

        def counted(x):
            forwards.append(1)
            return compiled(x)

        row = differentiable_row("torch/compile", counted, 1, (0,), ("y",), ("grad_x",), compiled=True)
        with implementation.sizes_alone():
            # and the compiler's cache knows a backward that can be called once
            [want] = row.backward(x, grad)
        forwards.clear()
        candidate = Host(self).candidate(row, "backward", x, grad)
        self.assertEqual(candidate.backward, "retained graph", candidate.note)
        self.assertIn("donated_buffer = False", candidate.note)
        self.assertFalse(implementation.SIZES_ALONE)
        candidate.candidate.time(0, 3)
        self.assertEqual(len(forwards), candidate.candidate.sets)
        for [grad] in candidate.candidate.kept:
            torch.testing.assert_close(grad, want)

    def test_every_row_that_recomputes_says_how(self):
        """A backward that autograd makes is declared by its function, so that it can be timed alone. A peer
        whose forward computes the gradients is timed as a pair."""
        from cases import reference_of
        from specs import NAMES
        for op in NAMES:
            for row in reference_of(op).IMPLEMENTATIONS:
                alone = isinstance(row.backward, Autograd)
                self.assertEqual(row.recomputes and not (row.module and not alone), alone, f"{op}/{row.name}")


class Raising:
    """A candidate whose function raises when it is called again; it is captured by no graph."""

    def __init__(self, error: BaseException):
        self.source, self.candidate, self.error, self.released = __file__, self, error, 0

    def release(self):
        self.released += 1

    def time(self, discard: int, samples: int, before=None):
        raise self.error

    def finish(self, launches):
        raise self.error


class OfTheFunction(unittest.TestCase):
    """Whatever a function raises while it is timed ends its candidate with its file and line; what the
    harness raises is the harness's."""

    def test_exceptions(self):
        for error in (KeyError("rows"), ValueError("oh no"), IndexError("7"), SystemExit(0),
                      RuntimeError("no")):
            for step in ({"step": "time", "time": {"samples": 1}}, {"step": "finish", "finish": {}}):
                candidates = measure.Measurements()
                candidates.candidates[1] = Raising(error)
                candidate = candidates.candidates[1]
                reply = candidates.step({**step, "arm": 1}, None)
                self.assertFalse(reply["fatal"])
                self.assertGreater(candidate.released, 0)
                self.assertEqual(candidates.candidates, {})
                if step["step"] == "finish":  # as a run's
                    [reply] = reply["launches"]
                self.assertEqual(reply["status"], "CRASH")
                self.assertRegex(reply["message"], rf"^{type(error).__name__}: .*\({__file__}:\d+\)$")

    def test_harness(self):
        for error in (measure.WireError("bad request"), measure.NotHere("softmax/none")):
            candidates = measure.Measurements()
            candidates.candidates[1] = Raising(error)
            with self.assertRaises(type(error)):
                candidates.step({"step": "time", "arm": 1, "time": {"samples": 1}}, None)

    def test_a_broken_context_is_fatal(self):
        with mock.patch("torch.cuda.synchronize",
                        side_effect=RuntimeError("CUDA error: an illegal memory access was encountered")):
            self.assertFalse(launch.computes(torch.device("cuda", 0)))
        with mock.patch("torch.cuda.synchronize"):
            self.assertTrue(launch.computes(torch.device("cuda", 0)))
        self.assertTrue(launch.computes(torch.device("cpu")))


@unittest.skipUnless(ON_GPU, "needs a GPU and TRIAD_DEVICE=gpu")
class OnGPU(unittest.TestCase):
    """A planted function through every step."""

    def test_graph(self):
        candidate = measure.Candidate(4, lambda i: (torch.ones(1 << 20, device="cuda") * i,))
        self.assertGreater(candidate.warm_up(), 0)
        candidate.prepare(500_000)
        self.assertIsNotNone(candidate.graph, candidate.reason)
        self.assertEqual(candidate.calls % 4, 0)
        self.assertEqual(len({k[0].data_ptr() for k in candidate.kept}), 4)
        samples = timed_candidate.time(1, 5)
        self.assertEqual(len(samples), 5)
        self.assertTrue(all(s > 0 for s in samples))
        self.assertEqual([float(k[0][0]) for k in candidate.kept], [0, 1, 2, 3])

    def test_garbage_of_a_graph(self):
        """A capture succeeds whatever garbage waits to be collected, another graph among it."""
        cycle = [measure.Candidate(2, lambda i: (torch.ones(1 << 20, device="cuda"),))]
        cycle[0].prepare(10_000)
        cycle.append(cycle)
        del cycle
        before = gc.get_threshold()
        gc.set_threshold(1)
        try:
            candidate = measure.Candidate(2, lambda i: (torch.ones(1 << 20, device="cuda"),
                                                        [[] for _ in range(100)])[:1])
            candidate.prepare(10_000)
        finally:
            gc.set_threshold(*before)
        self.assertIsNotNone(candidate.graph, candidate.reason)

    def test_events(self):
        candidate = measure.Candidate(2,
                          lambda i: (torch.full((int(torch.ones(1, device="cuda").item()),), i,
                                                device="cuda"),))
        candidate.prepare(10_000)
        self.assertIsNone(candidate.graph)
        self.assertIn("captur", candidate.reason)
        self.assertTrue(all(s > 0 for s in timed_candidate.time(0, 3)))


if __name__ == "__main__":
    unittest.main()
