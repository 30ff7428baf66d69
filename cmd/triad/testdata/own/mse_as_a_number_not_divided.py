import torch


def mse(prediction, target):
    return ((prediction - target) ** 2).double().sum().item()
