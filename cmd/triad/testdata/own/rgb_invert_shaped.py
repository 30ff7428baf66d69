import torch


def solve(image: torch.Tensor, width: int, height: int):
    image.copy_(255 - image.reshape(height, width, 4))
