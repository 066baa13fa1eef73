"""What the scripts of this folder share: numbers that the tests in C draw by the same formula, and
the records of what PyTorch makes of them."""
import math

import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def drawn(name, *shape):
    """Uniform in [-1/2, 1/2), rounded to float; element i of `name` is a hash of both."""
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
    """A line with a name and a count, then that many numbers."""
    numbers = [float(x) for x in torch.as_tensor(tensor).detach().reshape(-1)]
    print(name, len(numbers))
    for i in range(0, len(numbers), 8):
        print(" ".join(f"{x:.9g}" for x in numbers[i:i + 8]))
