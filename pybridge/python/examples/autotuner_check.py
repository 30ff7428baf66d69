"""An autotuner that drops each configuration which is wrong: 64 FAIL, 128 PASS, 256 PASS."""

import functools

import torch
import triton
import triton.language as tl

import triad


@triton.jit
def softmax_kernel(x, y, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * cols + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + tl.program_id(0) * cols + at, e / tl.sum(e, 0), mask=at < cols)


def softmax(x, BLOCK):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK)
    return y


def reference(x):
    return torch.softmax(x, -1)


def right(configs, named_args, **meta):
    kept = []
    for config in configs:
        found = triad.judge(reference, functools.partial(softmax, **config.kwargs), ["fp32[8,100]"],
                            given_sizes=True)
        print(config.kwargs["BLOCK"], found)
        if found:
            kept.append(config)
    return kept


def timed(call, quantiles):  # without a GPU there is nothing to time; leave do_bench out on one
    call()
    return [1.0, 1.0, 1.0]


if __name__ == "__main__":
    configs = [triton.Config({"BLOCK": n}) for n in (64, 128, 256)]
    tuned = triton.autotune(configs, key=["cols"], do_bench=timed,
                            prune_configs_by={"early_config_prune": right})(softmax_kernel)
    x = torch.randn(8, 100)
    tuned[(8,)](x, torch.empty_like(x), 100)
    print("best:", tuned.best_config.kwargs["BLOCK"])
