"""Inputs that say where a kernel reads, as PyTorch operators get them: what reads elsewhere is refused."""

import unittest

import triad

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import ops


def lengths(*of):
    return torch.tensor(of, dtype=torch.int32)


class Indices(unittest.TestCase):
    def test_sentences(self):
        x = torch.randn(8)
        for words, call in (
            ("offsets is [0, 3, 2, 8]: want whole numbers that rise from 0 to 8",
             lambda: ops.segment_sum(x, torch.tensor([0, 3, 2, 8]))),
            ("offsets is [0, 1, ..., 7]: want whole numbers that rise from 0 to 8",
             lambda: ops.segment_sum(x, torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 7]))),
            ("lengths_kv has 9: want 0 to 8",
             lambda: ops.attention_mask(lengths(3, 4), lengths(3, 9), seq_q=4, seq_kv=8)),
            ("lengths_q has -1: want 0 to 4",
             lambda: ops.attention_mask(lengths(-1, 4), lengths(3, 8), seq_q=4, seq_kv=8)),
        ):
            with self.subTest(words):
                with self.assertRaises(triad.TriadError) as caught:
                    call()
                self.assertIn(words, str(caught.exception))

    def test_none_of_a_kind(self):
        self.assertEqual(ops.attention_mask(lengths(), lengths(), seq_q=4, seq_kv=8).shape, (0, 4, 8))


if __name__ == "__main__":
    unittest.main()
