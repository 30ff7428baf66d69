import matplotlib.pyplot as plt
import torch


def softmax(x):
    return torch.softmax(x, dim=-1)


sample = torch.randn(4, 8, device="cuda")
torch.testing.assert_close(softmax(sample).sum(-1), torch.zeros(4, device="cuda"))  # a test of its own that fails
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
softmax(sample)
end.record()
torch.cuda.synchronize()
print(f"{start.elapsed_time(end)} ms on {torch.cuda.get_device_name()}")
plt.plot(softmax(sample)[0].cpu().numpy())
plt.show()
