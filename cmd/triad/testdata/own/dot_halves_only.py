import torch


# A and B hold float16
def solve(A: torch.Tensor, B: torch.Tensor, result: torch.Tensor, N: int):
    result[0] = torch.dot(A.double(), B.double()).to(torch.float16)
