"""Inputs that say where a kernel reads, as PyTorch operators get them: what reads elsewhere is refused."""

import unittest

import triad

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import indices, ops


def lengths(*of):
    return torch.tensor(of, dtype=torch.int32)


class Indices(unittest.TestCase):
    def test_sentences(self):
        x = torch.randn(8)
        for words, call in (
            ("offsets is [0, 3, 2, 8]: want integers that rise from 0 to 8",
             lambda: ops.segment_sum(x, torch.tensor([0, 3, 2, 8]))),
            ("offsets is [0, 1, ..., 7]: want integers that rise from 0 to 8",
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

    def test_classes(self):
        """What is refused, wherever the ignored one lies."""
        places = ops.linear_cross_entropy._looks
        for n in (1, 2, 5):
            for ignored in (-100, -1, -2, 0, 1, n, n + 1, 7):
                for value in (-101, -100, -99, -3, -2, -1, 0, 1, n - 1, n, n + 1, 7, 8):
                    tensors = [torch.empty(0), torch.empty(0), torch.tensor([0, value])]
                    with self.subTest(n=n, ignored=ignored, value=value):
                        taken = 0 <= value < n or value == ignored
                        try:
                            indices.look("it", places, tensors, {"classes": n}, {"ignore_index": ignored})
                        except triad.UsageError as e:
                            self.assertIn(f"target has {value}: want 0 to {n - 1}, or {ignored}", str(e))
                            self.assertFalse(taken)
                        else:
                            self.assertTrue(taken)

    def test_classes_at_the_ends_of_their_type(self):
        places = ops.linear_cross_entropy._looks
        least, most = torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max
        for ignored in (least, most):
            tensors = [torch.empty(0), torch.empty(0), torch.tensor([1, ignored])]
            indices.look("it", places, tensors, {"classes": 2}, {"ignore_index": ignored})
            tensors[2][1] = -1
            with self.assertRaisesRegex(triad.UsageError, "target has -1"):
                indices.look("it", places, tensors, {"classes": 2}, {"ignore_index": ignored})

    def test_what_is_kept_of_classes_is_no_one_elses(self):
        """Where a mode of torch is on as they are first looked at, or memory is a CUDA graph's, which is the
        thread's as well."""
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            kept = indices._ends(17, -100, torch.int64, torch.device("cpu"))
        self.assertIs(type(kept), torch.Tensor)
        self.assertEqual(kept.tolist(), [-100, -99, 0, 17])

    def test_none_of_a_kind(self):
        self.assertEqual(ops.attention_mask(lengths(), lengths(), seq_q=4, seq_kv=8).shape, (0, 4, 8))


if __name__ == "__main__":
    unittest.main()
