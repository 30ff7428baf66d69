"""A product that asks a tensor for what it does not have: nobody can tell what it is called with."""


def matmul(a, b):
    return a.values() @ b.crow_indices()
