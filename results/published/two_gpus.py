"""moe_dispatch and moe_combine with their ranks on two GPUs that reach each other's memory, without triad's
worker: pairs of random sizes bit by bit, and what torch.distributed's all_to_all_single takes for the same.

    python results/published/two_gpus.py pairs FOLDER [--pairs 1000] [--seed 1]
    python results/published/two_gpus.py torch [--tokens 128 1024]

pairs: FOLDER holds the kernel libraries (triad setup --gpu FOLDER puts them into FOLDER/kernels). A pair is a
dispatch and, of the rows that it gives, scaled by rank, a combine, by cuda/peer_stores and cuda/peer_copies
in turn. Every output is compared with the formula in torch on one GPU, bit by bit, and the bytes around it
with what they were.

torch: two processes, one a GPU with four of eight ranks, through NCCL. How many rows go where is known to the
host beforehand, which a program does not know: finding it out is not in the time. A time is the longer of the
two devices' own, between events around 20 calls, the median of 7.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

DTYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3, torch.int64: 6, torch.int32: 7}  # cuda/abi.h
HALF = 128 << 20  # bytes that a piece of memory has on each GPU


class Tensor(ctypes.Structure):
    """triad_tensor."""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 6), ("stride", ctypes.c_int64 * 6)]


class Call(ctypes.Structure):
    """triad_call."""
    _fields_ = [("size", ctypes.c_uint32), ("n_in", ctypes.c_int32), ("n_out", ctypes.c_int32),
                ("n_attr", ctypes.c_int32), ("inputs", ctypes.POINTER(Tensor)),
                ("outputs", ctypes.POINTER(Tensor)), ("attr", ctypes.POINTER(ctypes.c_double)),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64),
                ("stream", ctypes.c_void_p)]


class Kernel(ctypes.Structure):
    """triad_kernel."""
    _fields_ = [("size", ctypes.c_uint32), ("op", ctypes.c_char_p), ("variant", ctypes.c_char_p),
                ("passed", ctypes.c_char_p), ("contract", ctypes.c_char_p), ("forward", ctypes.c_char_p),
                ("constraint", ctypes.c_char_p), ("dtypes", ctypes.c_uint32), ("outputs", ctypes.c_uint32),
                ("nondeterministic", ctypes.c_uint32), ("accepts", ctypes.c_void_p),
                ("workspace", ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(Call))),
                ("launch", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call))),
                ("devices", ctypes.c_int32)]


class Place(ctypes.Structure):
    """CUmemLocation."""
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Sort(ctypes.Structure):
    """CUmemAllocationProp."""
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Place),
                ("windows", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):
    """CUmemAccessDesc."""
    _fields_ = [("location", Place), ("flags", ctypes.c_int)]


class Bytes:
    """Bytes at an address, as torch.as_tensor takes them."""

    def __init__(self, address: int, n: int):
        self.__cuda_array_interface__ = {"shape": (n,), "typestr": "|u1", "data": (address, False),
                                         "version": 2}


def driver(name: str, *arguments: Any) -> None:
    """Calls a function of the driver."""
    if code := getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments):
        raise SystemExit(f"{name}: CUDA error {code}")


class Piece:
    """Memory with one address range, half of it on each GPU."""

    def __init__(self) -> None:
        base, size = ctypes.c_uint64(), ctypes.c_size_t
        driver("cuMemAddressReserve", ctypes.byref(base), size(2 * HALF), size(0), ctypes.c_uint64(0),
               ctypes.c_uint64(0))
        access = (Access * 2)()
        for gpu in range(2):
            sort, handle = Sort(type=1, location=Place(1, gpu)), ctypes.c_uint64()
            driver("cuMemCreate", ctypes.byref(handle), size(HALF), ctypes.byref(sort), ctypes.c_uint64(0))
            driver("cuMemMap", ctypes.c_uint64(base.value + gpu * HALF), size(HALF), size(0), handle,
                   ctypes.c_uint64(0))
            access[gpu] = Access(Place(1, gpu), 3)
        driver("cuMemSetAccess", base, size(2 * HALF), access, size(2))
        self.middle = base.value + HALF

    def tensor(self, dtype: torch.dtype, *shape: int) -> torch.Tensor:
        """A tensor of ones' bits, the first half of whose first dim, one longer where it is odd, lies on the
        first GPU; 256 bytes around it are known."""
        count = 1
        for n in shape:
            count *= n
        size = count * dtype.itemsize
        before = (size // max(shape[0], 1) * (shape[0] - shape[0] // 2) + 255) // 256 * 256
        if before + 256 > HALF or size - before + 256 > HALF:
            raise SystemExit(f"{size} bytes do not fit")
        self.around = torch.as_tensor(Bytes(self.middle - before - 256, size + 512), device="cuda:0")
        self.around.fill_(0xFF)
        self.around[:256] = self.around[-256:] = 0xA5
        return self.around[256:256 + size].view(dtype).view(shape)

    def intact(self) -> bool:
        """Whether the bytes around the tensor are what they were."""
        return bool((self.around[:256] == 0xA5).all() and (self.around[-256:] == 0xA5).all())


def kernels(folder: Path, operator: str) -> dict[str, Kernel]:
    """The forward kernels of an operator on two GPUs, by variant."""
    library = ctypes.CDLL(str(folder / f"{operator}.so"))
    found, n = ctypes.POINTER(ctypes.POINTER(Kernel))(), ctypes.c_int32()
    if library.triad_kernels(1, ctypes.byref(found), ctypes.byref(n)):
        raise SystemExit(f"{operator}: another version of the kernel interface")
    all_of = [found[i].contents for i in range(n.value)]
    return {k.variant.decode(): k for k in all_of if k.devices == 2 and k.passed == b"forward"}


def describe(tensors: list[torch.Tensor]) -> Any:
    """Tensors as a kernel gets them."""
    out = (Tensor * len(tensors))()
    for to, t in zip(out, tensors, strict=True):
        to.data, to.dtype, to.rank = t.data_ptr(), DTYPES[t.dtype], t.dim()
        to.shape[:t.dim()], to.stride[:t.dim()] = t.shape, t.stride()
    return out


def run(kernel: Kernel, inputs: list[torch.Tensor], outputs: list[torch.Tensor], attributes: list[int],
        scratch: Piece) -> None:
    """One call."""
    call = Call(ctypes.sizeof(Call), len(inputs), len(outputs), len(attributes), describe(inputs),
                describe(outputs), (ctypes.c_double * len(attributes))(*attributes))
    n = kernel.workspace(ctypes.byref(call))
    call.workspace = scratch.tensor(torch.uint8, n).data_ptr()
    call.workspace_bytes, call.stream = n, torch.cuda.current_stream().cuda_stream
    if code := kernel.launch(ctypes.byref(call)):
        raise SystemExit(f"{kernel.op.decode()}/{kernel.variant.decode()}: error {code}")
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    if not scratch.intact():
        raise SystemExit("the workspace was overrun")


def draw_choice(ranks: int, tokens: int, top: int, experts: int, g: torch.Generator) -> torch.Tensor:
    """Different experts for each token; one choice in eight is none, and one token in sixteen has none."""
    room, device = ranks * tokens, g.device
    choice = torch.rand(room, experts, generator=g, device=device).topk(top, 1).indices
    choice[torch.rand(room, top, generator=g, device=device) < 1 / 8] = -1
    choice[torch.rand(room, generator=g, device=device) < 1 / 16] = -1
    return choice.view(ranks, tokens, top)


def tokens_of(choice: torch.Tensor, experts: int) -> list[torch.Tensor]:
    """For each rank the tokens that it gets, in order."""
    ranks, each = choice.shape[0], experts // choice.shape[0]
    flat = choice.flatten(0, 1)
    return [((flat >= q * each) & (flat < (q + 1) * each)).any(1).nonzero().flatten() for q in range(ranks)]


def dispatched(x: torch.Tensor, choice: torch.Tensor, weight: torch.Tensor, experts: int,
               align: int) -> list[torch.Tensor]:
    """The formula of moe_dispatch."""
    ranks, tokens, dim = x.shape
    top, room, each, device = choice.shape[2], ranks * tokens, experts // ranks, x.device
    rows = torch.zeros(ranks, room, dim, dtype=x.dtype, device=device)
    weights = torch.zeros(ranks, room, top, device=device)
    choices = torch.full((ranks, room, top), -1, dtype=torch.int64, device=device)
    source = torch.full((ranks, room), -1, dtype=torch.int32, device=device)
    received = torch.zeros(ranks, dtype=torch.int32, device=device)
    for q, its in enumerate(tokens_of(choice, experts)):
        e, n = choice.flatten(0, 1)[its] - q * each, len(its)
        here = (e >= 0) & (e < each)
        rows[q, :n], source[q, :n], received[q] = x.flatten(0, 1)[its], its.int(), n
        choices[q, :n], weights[q, :n] = torch.where(here, e, -1), weight.flatten(0, 1)[its] * here
    counts = torch.bincount(choice[choice >= 0], minlength=experts)
    counts = ((counts + align - 1) // align * align).int().view(ranks, each)
    return [rows, weights, choices, source, received, counts]


def combined(rows: torch.Tensor, choice: torch.Tensor, experts: int) -> torch.Tensor:
    """The formula of moe_combine: a token is once on a rank, so that the order is that of the ranks."""
    ranks, tokens = choice.shape[:2]
    y = torch.zeros(ranks * tokens, rows.shape[2], device=rows.device)
    for q, its in enumerate(tokens_of(choice, experts)):
        y[its] += rows[q, :len(its)].float()
    return y.to(rows.dtype).view(ranks, tokens, -1)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are the same bits."""
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def pairs(folder: Path, count: int, seed: int) -> None:
    """Judges dispatch-combine pairs."""
    for gpu in (1, 0):
        torch.cuda.set_device(gpu)
        torch.zeros(1, device="cuda")
    dispatch, combine = kernels(folder, "moe_dispatch"), kernels(folder, "moe_combine")
    pieces, scratch = [Piece() for _ in range(12)], Piece()
    g, pick = torch.Generator("cuda:0").manual_seed(seed), random.Random(seed)
    compared, rows_seen, wrong = 0, 0, 0
    for i in range(count):
        ranks, tokens, top = pick.choice([2, 2, 3, 4, 5, 8, 16]), pick.randint(1, 200), pick.randint(1, 8)
        dim, each = pick.choice([1, 7, 33, 64, 256, 1000]), pick.randint((top + ranks - 1) // ranks, 32)
        dtype, align = pick.choice([torch.float32, torch.float16, torch.bfloat16]), pick.choice([1, 4, 128])
        variant, experts, room = ["peer_stores", "peer_copies"][i % 2], each * ranks, ranks * tokens
        x = pieces[0].tensor(dtype, ranks, tokens, dim)
        choice, weight = pieces[1].tensor(torch.int64, ranks, tokens, top), pieces[2].tensor(
            torch.float32, ranks, tokens, top)
        x.copy_(torch.randn(x.shape, generator=g, device="cuda:0"))
        weight.copy_(torch.rand(weight.shape, generator=g, device="cuda:0"))
        choice.copy_(draw_choice(ranks, tokens, top, experts, g))
        before = [t.clone() for t in (x, choice, weight)]
        out = [pieces[3].tensor(dtype, ranks, room, dim), pieces[4].tensor(torch.float32, ranks, room, top),
               pieces[5].tensor(torch.int64, ranks, room, top), pieces[6].tensor(torch.int32, ranks, room),
               pieces[7].tensor(torch.int32, ranks), pieces[8].tensor(torch.int32, ranks, each)]
        run(dispatch[variant], [x, choice, weight], out, [experts, align], scratch)
        want = dispatched(*before, experts, align)
        scale = torch.arange(ranks, device="cuda:0", dtype=dtype)[:, None, None] / 8 + 0.5
        rows, y = pieces[9].tensor(dtype, ranks, room, dim), pieces[10].tensor(dtype, ranks, tokens, dim)
        rows.copy_(out[0] * scale)
        run(combine[variant], [rows, choice], [y], [experts], scratch)
        good = [same(a, b) for a, b in zip([*out, y, x, choice, weight], [
            *want, combined(want[0] * scale, before[1], experts), *before], strict=True)]
        good += [p.intact() for p in pieces[:11]]
        compared, rows_seen = compared + sum(t.numel() for t in [*out, y]), rows_seen + int(out[4].sum())
        if not all(good):
            wrong += 1
            print(f"pair {i} {variant} ranks={ranks} tokens={tokens} dim={dim} top={top} experts={experts} "
                  f"{dtype}: {good}", flush=True)
    print(f"{count} pairs, {rows_seen} rows sent, {compared} elements compared bit by bit: {wrong} pairs "
          "wrong")
    if wrong:
        raise SystemExit(1)


def longest(call: Callable[[], Any]) -> float:
    """Microseconds of a call: the longer of both processes' medians."""
    took = []
    for _ in range(7):
        torch.distributed.barrier()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(20):
            call()
        end.record()
        torch.cuda.synchronize()
        took.append(begin.elapsed_time(end) * 1e3 / 20)
    median = torch.tensor(statistics.median(took), device="cuda")
    torch.distributed.all_reduce(median, torch.distributed.ReduceOp.MAX)
    return median.item()


def process(gpu: int, file: str, tokens: int) -> None:
    """What one GPU does: ranks 4 * gpu to 4 * gpu + 3 of 8, bf16, dim 7168, 8 of 256 experts."""
    torch.cuda.set_device(gpu)
    torch.distributed.init_process_group("nccl", init_method=f"file://{file}", rank=gpu, world_size=2)
    ranks, dim, top, experts, here = 8, 7168, 8, 256, 4
    g = torch.Generator(f"cuda:{gpu}").manual_seed(tokens)
    choice = draw_choice(ranks, tokens, top, experts, g)
    x = torch.randn(ranks, tokens, dim, generator=g, device="cuda").bfloat16()
    weight, own, room = torch.rand(choice.shape, generator=g, device="cuda"), here * tokens, ranks * tokens
    its = tokens_of(choice, experts)
    mine = [t[(t >= gpu * own) & (t < (gpu + 1) * own)] - gpu * own for t in its]  # of my tokens, by rank
    send = torch.cat(mine)
    to = [sum(len(t) for t in mine[r:r + here]) for r in (0, here)]
    theirs = [[int(((t >= o * own) & (t < (o + 1) * own)).sum()) for t in its[gpu * here:(gpu + 1) * here]]
              for o in (0, 1)]
    came = [sum(n) for n in theirs]
    # where each received row lies: of a rank, first what came from the first GPU
    place = torch.cat([torch.arange(n, device="cuda") + q * room + o * theirs[0][q]
                       for o in (0, 1) for q, n in enumerate(theirs[o])])
    rows, packed = torch.zeros(here * room, dim, dtype=x.dtype, device="cuda"), torch.empty(
        sum(came), dim, dtype=x.dtype, device="cuda")
    my_x = x[gpu * here:(gpu + 1) * here].flatten(0, 1).contiguous()
    back = torch.empty(len(send), dim, dtype=x.dtype, device="cuda")
    sums = torch.empty(own, dim, device="cuda")
    starts = [0, *torch.tensor([len(t) for t in mine]).cumsum(0).tolist()]

    def exchange(out: torch.Tensor, given: torch.Tensor, there: list[int], from_: list[int]) -> None:
        torch.distributed.all_to_all_single(out, given, from_, there)

    def dispatch() -> None:
        exchange(packed, my_x[send], to, came)
        rows.zero_()
        rows[place] = packed

    def combine() -> torch.Tensor:
        exchange(back, rows[place], came, to)
        sums.zero_()
        for q, t in enumerate(mine):
            sums[t] += back[starts[q]:starts[q + 1]].float()
        return sums.bfloat16()
    dispatch()
    want = dispatched(x, choice, weight, experts, 1)[0]
    good = same(rows.view(here, room, dim), want[gpu * here:(gpu + 1) * here])
    sums_wanted = combined(want, choice, experts)[gpu * here:(gpu + 1) * here]
    good = same(combine(), sums_wanted.flatten(0, 1)) and good
    given = my_x[send]
    times = [longest(f) for f in (dispatch, combine, lambda: exchange(packed, given, to, came),
                                  lambda: exchange(back, packed, came, to))]
    crossed = torch.tensor(to[1 - gpu] * dim * 2, device="cuda")
    torch.distributed.all_reduce(crossed, torch.distributed.ReduceOp.MAX)
    print(f"GPU {gpu}, {tokens} tokens a rank: {'the same bits' if good else 'WRONG BITS'}", flush=True)
    if gpu == 0:
        for name, us in zip(("dispatch", "combine", "all_to_all_single of the dispatch",
                             "all_to_all_single of the combine"), times, strict=True):
            print(f"  {name}: {us:.1f} us, {crossed.item() / us / 1e3:.1f} GB/s of the direction that more "
                  f"crosses ({crossed.item() / 1e6:.1f} MB)", flush=True)
    torch.distributed.destroy_process_group()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("pairs", "torch"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 1024])
    a = parser.parse_args()
    if torch.cuda.device_count() < 2:
        raise SystemExit(f"two GPUs are needed, there is {torch.cuda.device_count()}")
    if a.what == "pairs":
        pairs(a.folder / "kernels", a.pairs, a.seed)
        return
    for tokens in a.tokens:
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(process, (os.path.join(folder, "store"), tokens), nprocs=2)


if __name__ == "__main__":
    main()
