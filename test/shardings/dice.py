"""Random choices."""
import numpy as np


class Dice:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, items):
        return items[int(self.random.integers(len(items)))]

    def chance(self, p):
        return bool(self.random.random() < p)
