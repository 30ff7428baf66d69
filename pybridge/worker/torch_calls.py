"""Which operations of torch a call reaches: what is known of one excuses a user's function that called it."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class RecordedCalls(TorchDispatchMode):
    """While it is entered, keeps the names of the operations that reach torch's kernels, those of autograd
    among them: "aten.gelu_backward". torch.compile leaves what it would compile to be run plainly."""

    def __init__(self):
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(str(func.overloadpacket))
        return func(*args, **(kwargs or {}))
