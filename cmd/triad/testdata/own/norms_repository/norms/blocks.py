import triton


def settings(cols):
    block = triton.next_power_of_2(cols)
    return block, 4 if block < 2048 else 8
