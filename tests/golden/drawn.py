"""Shared by the scripts of this folder: draws the same numbers as the tests in C, and prints records."""
import math

import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def drawn(name, *shape):
    """Numbers in [-1/2, 1/2), rounded to float. Element i is a hash of i and `name`."""
    h = 2166136261
    for byte in name.encode():
        h = (h ^ byte) * 16777619 % 2**32
    x = torch.empty(math.prod(shape))
    for i in range(len(x)):
        k = (h + i * 2654435769) % 2**32
        k = ((k ^ (k >> 16)) * 2246822507) % 2**32
        k = ((k ^ (k >> 13)) * 3266489909) % 2**32
        x[i] = ((k ^ (k >> 16)) >> 8) / 2**24 - 0.5
    return x.reshape(shape)


def record(name, tensor):
    """Prints a line with a name and a count, then the numbers."""
    numbers = [float(x) for x in torch.as_tensor(tensor).detach().reshape(-1)]
    print(name, len(numbers))
    for i in range(0, len(numbers), 8):
        print(" ".join(f"{x:.9g}" for x in numbers[i:i + 8]))
