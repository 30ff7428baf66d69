"""Every operator of the catalog as a torch operator: what torch asks of one, and its values, on small cases
that its spec makes."""

import sys
import unittest
from pathlib import Path

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch is here") from None

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

import tiers  # noqa: E402  (found through the line above)
from cases import forward_cases  # noqa: E402
from specs import NAMES, spec_of  # noqa: E402
from triad.torch import ops  # noqa: E402


def dtype_of(name):
    """fp32, or of an operator of integers its first dtype; "" of one that has neither."""
    dtypes = spec_of(name)["dtypes"]
    return "fp32" if "fp32" in dtypes else dtypes[0] if "int" in dtypes[0] else ""


EACH = [(name, family) for name in NAMES if dtype_of(name) for family in ("torch", "triton", "cuda")]


def signature(name):
    """What torch has to know of an operator: whether it has gradients, attributes, several outputs."""
    spec = spec_of(name)
    return " ".join(what for what, has in (("gradients", "backward" in spec),
                                           ("attributes", spec.get("attributes")),
                                           ("several outputs", len(spec["outputs"]) > 1)) if has) or "plain"


def chosen(test):
    """The operators and families that a run asks. A library of CUDA takes seconds to compile: the fast tier
    has one."""
    suite = tiers.Suite(test, "pybridge/python/triad")
    return [(name, family) for name, family in EACH if suite.covers(
        f"{name} {family}", family if family == "cuda" else f"{family} {signature(name)}",
        *tiers.operator(name))]


def called(name, family):
    """A case of an operator, the implementation that takes it, and its arguments."""
    dtype = dtype_of(name)
    case = max(forward_cases(name, dtype), key=lambda c: c.inputs[0].numel())
    gradients = [t.get("differentiable", False) for t in spec_of(name)["inputs"]]
    needed = "backward" in spec_of(name)
    tensors = [t.requires_grad_(needed and g) for t, g in zip(case.inputs, gradients)]
    sizes = tuple(case.sizes.dims.items())
    impl = getattr(ops, name).choose(family, "cpu", dtype, sizes, needed)
    return case, impl, [*tensors, *case.attributes.values()]


class EveryOperator(unittest.TestCase):
    def test_opcheck(self):
        """What is registered is the same for all families: in the fast tier each is asked for one operator of
        each kind of signature."""
        for name, family in chosen("opcheck"):
            with self.subTest(name, family=family):
                _, impl, arguments = called(name, family)
                torch.library.opcheck(getattr(torch.ops.triad, name).default, (*arguments, impl))

    def test_values(self):
        for name, family in chosen("values"):
            with self.subTest(name, family=family), torch.no_grad():
                case, impl, arguments = called(name, family)
                apart = [torch.stack((t, t), -1)[..., 0] if isinstance(t, torch.Tensor) else t
                         for t in arguments]
                for given in (arguments, apart):
                    got = getattr(torch.ops.triad, name).default(*given, impl)
                    outputs = zip(spec_of(name)["outputs"], got if isinstance(got, tuple) else (got,),
                                  case.truth())
                    for output, g, want in outputs:
                        if output.get("optional") and g.numel() == 0:
                            continue  # the implementation does not give it
                        if output.get("given") and g.dim() > 1:
                            # of nearly equal scores a kernel may choose either first, but the same ones
                            g, want = g.sort(-1).values, want.sort(-1).values
                        torch.testing.assert_close(g.double(), want, rtol=1e-3, atol=1e-3)

    def test_a_condition_of_floats(self):
        """As hardtanh has one: its own defaults and others meet it."""
        x = torch.linspace(-2, 2, 7)
        torch.testing.assert_close(ops.hardtanh(x), x.clamp(-1, 1))
        torch.testing.assert_close(ops.hardtanh(x, low=0.25, high=0.5), x.clamp(0.25, 0.5))

    def test_a_switch_times_a_symbolic_size(self):
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        from triad.torch.signature import evaluate
        n = ShapeEnv().create_unbacked_symint()
        self.assertEqual(str(evaluate("n * on", {"n": n, "on": True})), str(n))
        self.assertEqual(evaluate("n * on", {"n": 7, "on": False}), 0)


if __name__ == "__main__":
    unittest.main()
