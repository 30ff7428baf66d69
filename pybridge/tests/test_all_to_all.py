"""The rows whose calls are spread over two devices: the two members of a group, without a GPU by gloo."""

from __future__ import annotations

import os
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import torch

from client import OPERATORS, PARENT, Client  # puts the bridge on sys.path

import all_to_all
import tensors
import worker
from all_to_all import Halves, half, pair
from cases import reference_of
from specs import NAMES

CPU = (torch.device("cpu"),) * 2


def swap(member, x):
    """Sends a tensor of each member's to the other."""
    other = 1 - member.number
    return member.exchange(x, [len(x) if n == other else 0 for n in (0, 1)],
                           [3 if n == other else 0 for n in (0, 1)])


class Pairs(unittest.TestCase):
    def test_half(self):
        for n, first, second in ((0, [], []), (1, [0], []), (2, [0], [1]), (5, [0, 1, 2], [3, 4])):
            self.assertEqual((list(half(n, 0)), list(half(n, 1))), (first, second))

    def test_exchanges_of_every_dtype(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32):
            x = torch.arange(6).view(3, 2).to(dtype)
            first, second = pair(CPU).run(lambda member, x=x: swap(member, x + 8 * member.number))
            self.assertTrue(torch.equal(first, x + 8) and torch.equal(second, x), dtype)

    def test_unequal_and_empty_parts(self):
        def part(member):
            x = torch.arange(4) + 10 * member.number
            return [member.exchange(x[:4 - member.number], *sizes[member.number]) for sizes in
                    (([[1, 3], [1, 2]], [[2, 1], [3, 1]]), ([[4, 0], [4, 0]], [[0, 3], [0, 3]]))]
        (a, b), (c, d) = pair(CPU).run(part)
        self.assertEqual([t.tolist() for t in (a, b, c, d)],
                         [[0, 10, 11], [0, 1, 2, 3], [1, 2, 3, 12], [10, 11, 12]])

    def test_made_once_and_not_torchs_own(self):
        threads = []
        first = pair(CPU)
        for _ in range(2):
            threads.append(first.run(lambda member: threading.get_ident()))
        self.assertIs(pair(CPU), first)
        self.assertEqual(threads[0], threads[1])
        self.assertEqual(threads[0][0], threading.get_ident())
        self.assertFalse(torch.distributed.is_initialized())

    def fails(self, work, kind, said):
        """A call fails at once and says what of whom; the next one gets another pair, and is right."""
        began, before = time.monotonic(), pair(CPU)
        with self.assertRaisesRegex(kind, said):
            before.run(work)
        self.assertLess(time.monotonic() - began, all_to_all.SECONDS)
        after = pair(CPU)
        self.assertIsNot(after, before)
        x = torch.arange(3)
        self.assertEqual([t.tolist() for t in after.run(lambda member: swap(member, x + member.number))],
                         [[1, 2, 3], [0, 1, 2]])

    def test_one_that_fails_keeps_the_other_from_waiting(self):
        for number in (0, 1):
            def work(member, number=number):
                if member.number == number:
                    raise KeyError("planted")
                return swap(member, torch.zeros(3))
            self.fails(work, KeyError, "planted")

    def test_what_both_say_is_reported(self):
        def work(member):
            raise OSError(f"planted {member.number}")
        self.fails(work, RuntimeError, "OSError: planted 0; OSError: planted 1")

    def test_no_memory_on_one_is_said_as_that(self):
        def work(member):
            raise MemoryError("planted") if member.number else OSError("planted")
        self.fails(work, MemoryError, "planted")

    def test_a_wrong_split_is_an_error_in_both(self):
        """gloo would abort the process where less is expected than comes."""
        for came in ([0, 2], [0, 4]):
            def work(member, came=came):
                return member.exchange(torch.zeros(3), *([3, 0], [3, 0]) if member.number else ([0, 3], came))
            self.fails(work, ValueError, f"member 1 sends 3 rows to member 0, which expects {came[1]}$")

        def short(member):
            return member.exchange(torch.zeros(3), [1, 1], [1, 1])
        self.fails(short, RuntimeError, r"member 0 has 3 rows and sends \[1, 1\]")

    def test_one_that_does_not_come_ends_by_the_time_limit(self):
        """Where a group's end is gone although both have met, the other does not wait for ever."""
        with mock.patch.object(all_to_all, "SECONDS", 1), mock.patch.object(all_to_all, "_PAIRS", []):
            alone = pair(CPU)
            real, begun = torch.distributed.all_to_all_single, threading.Event()

            def absent(*arguments, group, **more):
                if group is alone.members[0]._group:
                    begun.wait()
                    raise OSError("planted")
                begun.set()
                real(*arguments, group=group, **more)
            with mock.patch.object(torch.distributed, "all_to_all_single", absent):
                began = time.monotonic()
                with self.assertRaisesRegex(RuntimeError, "planted; RuntimeError: .*[Tt]imed out"):
                    alone.run(lambda member: swap(member, torch.zeros(3)))
                self.assertLess(time.monotonic() - began, 10)


class HalvesOfACall(unittest.TestCase):
    def test_divided_and_joined(self):
        def of_member(member, x, y, *, ranks, plus):
            return x + plus + 100 * member.number, torch.full((len(y),), ranks)
        call, x, y = Halves(of_member), torch.arange(10).view(5, 2), torch.zeros(5, 3, 2).mT
        (a, b), (c, d) = call.divide((x, y))
        self.assertEqual((a.tolist(), c.tolist()), (x[:3].tolist(), x[3:].tolist()))
        self.assertEqual((b.stride(), d.stride()), (y.stride(), y.stride()))
        sums, ranks = call(x, y, plus=1)
        self.assertEqual(sums.tolist(), (x + 1 + torch.tensor([0, 0, 0, 100, 100])[:, None]).tolist())
        self.assertEqual(ranks.tolist(), [5] * 5)

    def test_memory_from_both_threads_is_poisoned_and_guarded(self):
        def of_member(member, x, *, ranks):
            return (torch.stack([torch.empty(2) for _ in range(200)]),)
        with tensors.PoisonedAllocations("a") as allocations:
            [got] = Halves(of_member)(torch.zeros(2, 1))
        self.assertTrue(got.isnan().all())
        self.assertEqual((len(allocations.buffers), allocations.report({})), (400, []))


class Worker(unittest.TestCase):
    def test_ends_when_told(self):
        """Neither the second thread nor a group keeps a worker, be it told or left."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "planted.py").write_text(textwrap.dedent("""\
                from all_to_all import Halves
                from implementation import Implementation


                def of_member(member, x, *, ranks):
                    other = [int(n != member.number) for n in (0, 1)]
                    return (member.exchange(x, other, other),)


                ROW = Implementation("torch/halves", Halves(of_member), outputs=("y",), devices=2)
                IMPLEMENTATIONS = [ROW]
                """))
            for told in (True, False):
                client = Client(operators=Path(folder), parent=PARENT)
                loaded = client.ask("load", {"op": "planted"})["implementations"]
                self.assertEqual([i["name"] for i in loaded], ["torch/halves"])
                for order in ("", "recorded"):
                    reply, got = client.run("planted", "torch/halves", "forward",
                                            [torch.tensor([[1.0], [2.0]])], [("y", torch.float32, (2, 1))],
                                            order=order)
                    self.assertEqual([g["y"].tolist() for g in got], [[[2.0], [1.0]]] * 2)
                    self.assertNotIn("fault", reply["launches"][1])
                self.assertIn("c10d.alltoall_base_", reply["launches"][0]["calls"])
                began = time.monotonic()
                if told:
                    client.ask("bye")
                    self.assertEqual(client.process.wait(timeout=10), 0)
                client.close()
                self.assertLess(time.monotonic() - began, 5)

    def test_without_a_second_gpu_the_rows_are_unavailable(self):
        found = 0
        for op in NAMES:
            rows = [row.name for row in reference_of(op).IMPLEMENTATIONS if row.devices > 1]
            found += len(rows)
            for gpus, visible, said in (("1", 2, "this run has one of 2, and --gpus 0,1 gives it two"),
                                        ("1", 1, "this run sees 1"), ("2", 1, "this run sees 1"),
                                        ("2", 2, "")) if rows else ():
                served = worker.Worker(OPERATORS)
                served.on_gpu = True
                with (mock.patch.dict(os.environ, TRIAD_GPUS=gpus),
                      mock.patch.object(torch.cuda, "device_count", lambda visible=visible: visible)):
                    reply = served.load(op)
                without = {f["implementation"]: f["message"] for f in reply.get("failed", [])
                           if f["implementation"] in rows}
                there = {i["name"] for i in reply["implementations"]}
                self.assertEqual(without, {row: f"{row} needs 2 GPUs: {said}" for row in rows if said})
                self.assertEqual(there & set(rows), set() if said else set(rows))
                self.assertIn("torch/eager", there)
        self.assertGreater(found, 0)

    def test_without_gloo(self):
        with mock.patch.object(torch.distributed, "is_gloo_available", lambda: False):
            self.assertEqual(all_to_all.missing(False, 1), "needs a torch with gloo: this one has none")
        self.assertEqual(all_to_all.missing(False, 1), "")


if __name__ == "__main__":
    unittest.main()
