"""torchao's Float8Linear, a peer: its casts, its products and its backward, by the recipes that it has under
the names of fp8_linear."""

import functools
from types import SimpleNamespace

import torch

from implementation import FLOATS
from tried_linear import accepts_tried

RECIPES = ("tensorwise", "rowwise", "rowwise_with_gw_hp")
CONTRACT = {(p, d): c for p, c in (("forward", "fast"), ("backward", "promoted")) for d in FLOATS}


@functools.cache
def _settings(recipe):
    """A recipe's configuration, and what its products are called with."""
    from torchao.float8 import Float8LinearConfig
    from torchao.float8.float8_linear import Float8Linear
    config = Float8LinearConfig.from_recipe_name(recipe)
    with torch.device("meta"):
        layer = Float8Linear(16, 16, bias=False, config=config)
    return config, layer.linear_mm_config


def _cast(x, how, role, axis, settings):
    """x as Float8Linear casts an operand of its forward; axis is the dim that is summed."""
    from torchao.float8.float8_scaling_utils import get_maybe_axiswise_dim, hp_tensor_to_float8_dynamic
    from torchao.float8.float8_training_tensor import GemmInputRole
    config, products = settings
    return hp_tensor_to_float8_dynamic(
        x, how.target_dtype, products, gemm_input_role=getattr(GemmInputRole, role),
        scaling_granularity=how.scaling_granularity,
        axiswise_dim=get_maybe_axiswise_dim(axis, how.scaling_granularity),
        round_scales_to_power_of_2=config.round_scales_to_power_of_2)


def forward(x, w, *, recipe):
    """y, and the scales of x and w, which Float8Linear keeps to itself."""
    from torchao.float8.float8_linear import matmul_with_hp_or_float8_args
    config, products = settings = _settings(recipe)
    cast_x = _cast(x, config.cast_config_input, "INPUT", -1, settings)
    cast_w = _cast(w.t(), config.cast_config_weight, "WEIGHT", 0, settings)
    y = matmul_with_hp_or_float8_args.apply(cast_x, cast_w, products, config)
    return y, cast_x._scale.reshape(-1), cast_w._scale.reshape(-1)


def backward(x, w, grad_y, *, recipe):
    """The gradients, by the function that autograd calls."""
    from torchao.float8.float8_linear import matmul_with_hp_or_float8_args
    config, products = _settings(recipe)
    kept = SimpleNamespace(saved_tensors=(x, w.t()), config=config, linear_mm_config=products)
    grad_x, grad_w, *_ = matmul_with_hp_or_float8_args.backward(kept, grad_y)
    return grad_x, grad_w.t().contiguous()


_tried = accepts_tried("torchao/linear", forward, backward)


def accepts(direction, x, *rest, recipe):
    """Nothing of torchao is imported for a call that it has not."""
    if x.device.type != "cuda":
        return "torchao/linear needs a GPU"
    if recipe not in RECIPES:
        return f"torchao/linear: torchao has {', '.join(RECIPES)}, not {recipe}"
    if recipe != "tensorwise" and x.dtype != torch.bfloat16:  # cast afterwards, which hides what is lost
        return f"torchao/linear: products with scales of rows are bf16, not {x.dtype}"
    return _tried(direction, x, *rest, recipe=recipe)
