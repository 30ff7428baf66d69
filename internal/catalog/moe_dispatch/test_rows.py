"""moe_dispatch's row through torch.distributed: the reference's bits for every division of the ranks, and
faults of what its two members send each other that show."""

from __future__ import annotations

import unittest
import unittest.mock

import torch

from client import BRIDGE  # noqa: F401  (puts the bridge on sys.path)

from all_to_all import Routes
from cases import reference_of
from tensors import bytes_of


def drawn(ranks, tokens, dtype=torch.bfloat16, dim=3, top=2, each=2):
    """The inputs of a forward and those of a backward. Some choices name no expert, x and choice have other
    strides than contiguous ones."""
    experts = ranks * each
    x = torch.randn(dim, tokens, ranks).to(dtype).permute(2, 1, 0)
    choice = torch.rand(tokens, ranks, experts).argsort(2)[..., :top].transpose(0, 1).clone()
    choice[torch.rand(choice.shape) < 0.2] = -1
    choice[torch.rand(choice.shape) < 0.1] = experts
    rows = torch.randn(ranks, ranks * tokens, dim).to(dtype)
    return (x, choice, torch.rand(choice.shape)), (rows, torch.rand(ranks, ranks * tokens, top), choice)


class AllToAll(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        self.module = reference_of("moe_dispatch")
        [self.row] = [row for row in self.module.IMPLEMENTATIONS if row.name == "torch/all_to_all"]

    def differing(self, forward, backward, **attributes):
        """The results, of both passes, whose bits are not the reference's."""
        found = []
        for names, call, wanted, tensors in (
            (self.row.outputs, self.row.forward, self.module.reference, forward),
            (self.row.gradients, self.row.backward, self.module.reference_backward, backward),
        ):
            for name, got, want in zip(names, call(*tensors, **attributes), wanted(*tensors, **attributes),
                                       strict=True):
                self.assertEqual((got.dtype, got.shape, got.is_contiguous()), (want.dtype, want.shape, True))
                if not torch.equal(bytes_of(got), bytes_of(want)):
                    found.append(name)
        return found

    def test_every_division_of_the_ranks(self):
        for ranks in (1, 2, 3, 4, 5, 8):
            for tokens in (0, 1, 6):
                for dtype in (torch.float32, torch.float16, torch.bfloat16):
                    with self.subTest(ranks=ranks, tokens=tokens, dtype=dtype):
                        self.assertEqual(self.differing(*drawn(ranks, tokens, dtype), experts=2 * ranks,
                                                        align=4), [])

    def planted(self, fault):
        """What differs where fault(routes) has changed each member's routes."""
        real = Routes.__init__

        def changed(routes, *arguments):
            real(routes, *arguments)
            fault(routes)
        with unittest.mock.patch.object(Routes, "__init__", changed):
            return self.differing(*drawn(4, 9), experts=8, align=1)

    def test_members_in_the_wrong_order(self):
        def fault(routes):
            routes.place = routes.place.roll(routes.came[0])
        self.assertEqual(self.planted(fault), ["rows", "row_weight", "row_choice", "source", "of_expert",
                                               "grad_x", "grad_weight"])

    def test_ranks_that_take_each_others_numbers(self):
        def fault(routes):
            routes.first = 2 - routes.first
        self.assertEqual(self.planted(fault), ["source"])

    def test_a_wrong_split(self):
        def one(routes):
            if routes.member.number == 0:
                routes.to = [routes.to[0] - 1, routes.to[1] + 1]
        with self.assertRaisesRegex(ValueError, r"member 0 sends \d+ rows to member 0, which expects"):
            self.planted(one)

        def of_sums(routes):
            routes.of_rank = routes.of_rank[::-1]
        self.assertEqual(self.planted(of_sums), ["grad_x"])


if __name__ == "__main__":
    unittest.main()
