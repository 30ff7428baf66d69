"""triad's kernels as PyTorch operators.

    from triad.torch import ops

    y = ops.softmax(x)                      the fastest implementation that passed for such a case on this
                                            GPU, else the portable one
    y = ops.softmax(x, impl="cuda/online")  this one
    ops.softmax.implementations()           which there are; device="cuda": on a GPU

Every operator of the catalogue is a torch.library custom operator (torch.ops.triad.softmax, and
torch.ops.triad.softmax_backward) with autograd, fake-tensor and dtype rules: it works under
torch.compile(fullgraph=True), with inputs that are not contiguous and with requires_grad on some of them. On
a GPU the CUDA kernels are called through triad's C ABI on torch's current stream; on a CPU, for tests, CUDA
and Triton kernels run in a worker process, in the emulator and in Triton's interpreter.
"""

from triad.torch.operators import ops

__all__ = ["ops"]
