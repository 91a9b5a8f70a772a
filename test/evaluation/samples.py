"""Samples and parameters of check_evaluation's models: the same for PyTorch and for ppopt."""
import numpy as np

TOKENS, CLASSES, WIDTH, FEATURES, VOCABULARY = 5, 7, 6, 3, 11
ROWS = 21  # no multiple of any batch


def parameters():
    draw = np.random.default_rng(3)
    shapes = {"table": (VOCABULARY, WIDTH), "u": (FEATURES, WIDTH), "v": (WIDTH, WIDTH), "w": (WIDTH, CLASSES)}
    return {name: draw.normal(size=shape) for name, shape in shapes.items()}


def rows(count=ROWS):
    """Targets of the first rows are hardly counted, those of the last ones all are."""
    draw = np.random.default_rng(5)
    result = {"ids": draw.integers(0, VOCABULARY, (ROWS, TOKENS)).astype(np.int32),
              "f": draw.normal(size=(ROWS, FEATURES)) * np.linspace(0.1, 3, ROWS)[:, None],
              "t": draw.integers(0, CLASSES, (ROWS, TOKENS)).astype(np.int32)}
    for row in range(ROWS):
        result["t"][row, :(ROWS - row) * (TOKENS - 1) // ROWS] = -100
    return {name: values[:count] for name, values in result.items()}
