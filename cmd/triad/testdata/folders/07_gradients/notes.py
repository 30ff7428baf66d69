"""What I learned today. Importing this file would end the program."""
import sys

KERNELS = ["vector add", "softmax"]


def summary():
    return ", ".join(KERNELS)


sys.exit(7)
