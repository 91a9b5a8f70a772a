"""Random small graphs: values used several times or never, broadcasts, shapes of rank 0 to 3, a few results."""
import re

import numpy as np

from graph import Graph, P, Rows
from ops import gelu, gelu_tanh, log_softmax, normalize, sigmoid, softmax

# Smooth ops that stay near the size of their operand, so that graphs of twenty ops neither overflow nor lose precision.
UNARY = [("neg %0", np.negative), ("tanh %0", np.tanh), ("sigmoid %0", sigmoid), ("gelu %0", gelu),
         ("gelu %0 {tanh}", gelu_tanh), ("silu %0", lambda x: x * sigmoid(x))]
ROWS = [("softmax %0", softmax), ("log_softmax %0", log_softmax),
        ("normalize %0 {center, eps = 1.0e-02 : f64}", lambda x: normalize(x, True, 1e-2)),
        ("normalize %0 {eps = 1.0e-02 : f64}", lambda x: normalize(x, False, 1e-2))]
BINARY = [("add %0, %1", np.add), ("sub %0, %1", np.subtract), ("mul %0, %1", np.multiply)]


def renumber(template, *values):
    for position, value in enumerate(values):
        template = template.replace(f"%{position}", f"%<{value}>")
    return template.replace("<", "").replace(">", "")


SMALL = [1, 2, 3, 4, 5, 8]
LARGE = [1, 7, 16, 33, 64, 70, 130]  # of one vector and of several, whole tiles and their ends


def random_graph(seed, batch=2, sizes=SMALL, may_stop=False):
    """With `may_stop` gradients may stop at detaches and frozen operands, and some be constant: sums of parameters."""
    random = np.random.default_rng(seed)
    sizes = random.choice(sizes, 3)
    a, b, c = (int(s) for s in sizes)
    batched = bool(random.integers(2))
    operand = Rows if batched else P
    # With a batch the first operand has a row for each sample; what meets it broadcasts over them.
    operands = [operand(a, b), P(a, b), P(b, c), P(b), P(a, 1), P(), P()]
    shapes = [(batch, a, b) if batched else (a, b), *(each.shape for each in operands[1:])]
    on_batch = [batched] + [False] * (len(operands) - 1)
    steps = []

    def add(template, forward, shape, batch_rows):
        steps.append((template, forward))
        shapes.append(tuple(shape))
        on_batch.append(batch_rows)

    for _ in range(int(random.integers(6, 20))):
        # Later values more often, so that graphs grow deep, and mostly such as have rows of the batch, if any do.
        pool = [k for k in range(len(shapes)) if on_batch[k] == batched or random.random() < 0.2]
        i = pool[int(len(pool) * np.sqrt(random.random()))]
        shape = shapes[i]
        kind = random.integers(8)
        if may_stop and random.random() < 0.06:
            add(f"detach %{i}", np.copy, shape, on_batch[i])
        elif kind <= 1:
            template, forward = UNARY[random.integers(len(UNARY))]
            add(renumber(template, i), forward, shape, on_batch[i])
        elif kind == 2 and len(shape) - on_batch[i] >= 1 and shape[-1] > 1:
            template, forward = ROWS[random.integers(len(ROWS))]
            add(renumber(template, i), forward, shape, on_batch[i])
        elif kind in (3, 4):
            partners = [j for j in range(len(shapes)) if compatible(shape, shapes[j], on_batch[i], on_batch[j])]
            j = int(random.choice(partners))
            template, forward = BINARY[random.integers(len(BINARY))]
            add(renumber(template, i, j), forward, np.broadcast_shapes(shape, shapes[j]), on_batch[i] or on_batch[j])
        elif kind == 5 and len(shape) >= 2:
            partners = [j for j in range(len(shapes)) if len(shapes[j]) == 2 and not on_batch[j]
                        and shapes[j][0] == shape[-1]]
            if partners and len(shape) - on_batch[i] >= 2:
                j = int(random.choice(partners))
                add(renumber("matmul %0, %1", i, j), np.matmul, (*shape[:-1], shapes[j][1]), on_batch[i])
        elif kind == 6 and len(shape) - on_batch[i] >= 2:
            perm = list(range(len(shape)))
            perm[-1], perm[-2] = perm[-2], perm[-1]
            add(f"transpose %{i} {perm}", lambda x, p=tuple(perm): x.transpose(p),
                [shape[k] for k in perm], on_batch[i])
        elif kind == 7 and len(shape) - on_batch[i] >= 1:
            dim = int(random.integers(int(on_batch[i]), len(shape)))
            op, forward = [("sum", np.sum), ("mean", np.mean)][random.integers(2)]
            keep = bool(random.integers(2))
            result = [1 if k == dim else s for k, s in enumerate(shape) if keep or k != dim]
            add(f"reduce {op} %{i} [{dim}]" + (" {keep_dims}" if keep else ""),
                lambda x, d=dim, f=forward, k=keep: f(x, axis=d, keepdims=k), result, on_batch[i])
    # Results are what nothing uses, as far as they are of one kind: all have rows of the batch, or none does.
    used = {int(k) for template, _ in steps for k in re.findall(r"%(\d+)", template)}
    results = [i for i in range(len(operands), len(shapes)) if on_batch[i] == batched and i not in used] or [0]
    frozen = tuple(k for k in range(len(operands)) if may_stop and random.random() < 0.15)
    for k in range(1, len(operands)):
        if may_stop and batched and random.random() < (0.15 if shapes[k] else 0.4):
            results.append(len(shapes) if shapes[k] else k)
            if shapes[k]:
                add(f"reduce sum %{k} {list(range(len(shapes[k])))}", np.sum, (), False)
    return Graph(operands, steps, batch=batch, prefix="g_", seed=seed, results=results, frozen=frozen)


def compatible(a, b, a_rows, b_rows):
    """Whether two values broadcast, with the batch's dimension of one meeting nothing but itself."""
    if a_rows and b_rows:
        return len(a) == len(b) and broadcasts(a[1:], b[1:])
    if a_rows or b_rows:
        rows, other = (a, b) if a_rows else (b, a)
        return len(other) < len(rows) and broadcasts(rows[1:], other)
    return broadcasts(a, b)


def broadcasts(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(a[::-1], b[::-1]))
