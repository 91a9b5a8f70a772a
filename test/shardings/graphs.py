"""Random models with random shardings, as descriptions (test/models/description.py) whose inputs and parameters may have a `shard`.

One half is of layers that are sharded in practice, with sizes that the axes divide; the other half is what test/models draws.
"""
import dataclasses
import math

from builder import Builder, Rejected
from description import prune
from dice import Dice
from draw import draw

BATCH_AXES, OTHER_AXES = ("dp", "fsdp"), ("tp", "sp", "ep")
MOST_COORDINATES = 48


@dataclasses.dataclass
class Case:
    description: dict
    mesh: list           # of (axis, size)
    microbatches: int

    @property
    def plan(self):
        """Options of test-phase-train."""
        return f"mesh={','.join(f'{axis}={size}' for axis, size in self.mesh)} microbatches={self.microbatches}"


class Layers(Dice):
    """A residual stream `h` of shape [batch, length, channels] through some layers, and a loss."""

    def __init__(self, seed, batch, units):
        super().__init__(seed)
        self.b = Builder(batch, "f64")
        unit = self.pick(units)
        self.heads, self.width = unit * self.pick([1, 2]), self.pick([1, 2, 3])
        self.channels = self.heads * self.width
        self.length = self.pick([2, 3, 4, 6])
        self.hidden = math.lcm(*units) * self.pick([1, 2]) if self.chance(0.7) else self.pick(units) * 2
        self.classes = math.lcm(*units) * self.pick([1, 2]) if self.chance(0.7) else 7
        self.table = None

    def weight(self, *shape):
        return self.b.param(shape, kind="real", scale=1.2 / math.sqrt(shape[0]))

    def bias(self, size):
        return self.b.param((size,), kind="real", scale=0.5)

    def start(self):
        b = self.b
        if self.chance(0.45):
            h = b.input((self.length, self.channels))
            return b.binary("mul", h, self.bias(self.channels)) if self.chance(0.4) else h
        tokens = b.input((self.length,), self.pick(["i32", "i64"]), kind="ids", high=self.classes)
        self.table = b.param((self.classes, self.channels), kind="real", scale=1.0)
        h = b.embedding(self.table, tokens)
        if self.chance(0.5):
            positions = self.weight(self.length, self.channels)
            by = b.embedding(positions, b.iota("i64", (self.length,), 0)) if self.chance(0.5) else positions
            h = b.binary("add", h, by)
        return h

    def act(self, x):
        op = self.pick(["gelu", "gelu_tanh", "silu", "tanh", "softplus", "sin", "clamp", "pow"])
        attributes = {"clamp": {"low": -0.75, "high": 1.25}, "pow": {"exponent": 2.0}}.get(op, {})
        return self.b.unary(op, x, **attributes)

    def dense(self, x, size, fused=1):
        """With `fused`, of so many projections side by side: the parameters know it (`cut_fused`)."""
        is_transposed = self.chance(0.3)
        y = self.b.matmul(x, self.weight(size, x.shape[-1]), tb=True) if is_transposed else self.b.matmul(x, self.weight(x.shape[-1], size))
        if fused > 1:
            self.b.params[-1]["fused"] = fused, 0 if is_transposed else 1
        if self.chance(0.4):
            y = self.b.binary("add", y, self.bias(size))
            if fused > 1:
                self.b.params[-1]["fused"] = fused, 0
        return y

    def residual(self, h, y):
        return self.b.binary("add", h, y) if self.chance(0.8) else y

    def l_mlp(self, h):
        return self.residual(h, self.dense(self.act(self.dense(h, self.hidden)), self.channels))

    def l_conv(self, h):
        """Along the sequence, to a projection."""
        taps = self.pick([1, 2, 3])
        y = self.b.conv1d(h, self.weight(taps, self.channels, self.hidden), self.pick(range(taps)))
        return self.residual(h, self.dense(self.act(y), self.channels))

    def l_gated(self, h):
        """Both projections in one matmul."""
        b, both = self.b, self.dense(h, 2 * self.hidden, fused=2)
        shape = (*h.shape[:-1], self.hidden)
        gate, up = b.slice(both, [0, 0, 0], shape), b.slice(both, [0, 0, self.hidden], shape)
        return self.residual(h, self.dense(b.binary("mul", self.act(gate), up), self.channels))

    def l_norm(self, h):
        if self.chance(0.5):
            return self.b.rows("layer_norm", [h, self.bias(self.channels), self.bias(self.channels)], eps=0.01)
        return self.b.rows("rms_norm", [h, self.bias(self.channels)], eps=0.01)

    def split_heads(self, h):
        """q, k and v of a fused projection: cut before the heads are, or after."""
        b, both = self.b, self.dense(h, 3 * self.channels, fused=3)
        batch = h.shape[0]
        if self.chance(0.5):
            parts = [b.slice(both, [0, 0, i * self.channels], h.shape) for i in range(3)]
            return [b.transpose(b.reshape(part, (batch, self.length, self.heads, self.width)), [0, 2, 1, 3]) for part in parts]
        both = b.transpose(b.reshape(both, (batch, self.length, 3 * self.heads, self.width)), [0, 2, 1, 3])
        shape = (batch, self.heads, self.length, self.width)
        return [b.slice(both, [0, i * self.heads, 0, 0], shape) for i in range(3)]

    def l_attention(self, h):
        b = self.b
        if self.heads > 1 and self.chance(0.35):
            q, k, v = self.grouped_heads(h)
        else:
            q, k, v = self.split_heads(h)
        if q.shape != k.shape or self.chance(0.6):
            out = b.attention(q, k, v, self.chance(0.5), None, **self.changed_scores())
        else:
            s = b.binary("mul", b.matmul(q, k, tb=True), b.scalar(0.5))
            out = b.matmul(b.along("softmax", s, 3, s.shape, by_hand=self.chance(0.5)), v)
        out = b.reshape(b.transpose(out, [0, 2, 1, 3]), h.shape)
        return self.residual(h, self.dense(out, self.channels))

    def grouped_heads(self, h):
        """Fewer heads of keys and values."""
        b, groups = self.b, self.pick([n for n in range(1, self.heads) if self.heads % n == 0])
        parts = [self.dense(h, heads * self.width) for heads in (self.heads, groups, groups)]
        return [b.transpose(b.reshape(part, (h.shape[0], self.length, heads, self.width)), [0, 2, 1, 3])
                for part, heads in zip(parts, (self.heads, groups, groups))]

    def changed_scores(self):
        """What changes or hides scores, most of it for each head."""
        b, length = self.b, self.length
        changes, heads = {}, self.heads if self.chance(0.7) else 1
        if self.chance(0.3):
            changes["bias"] = self.weight(1, heads, length, length)
        if self.chance(0.2):
            changes["slopes"] = self.bias(self.heads)
        if self.chance(0.3):
            size = heads * length * length
            changes["mask"] = b.constant("i1", (1, heads, length, length), [self.chance(0.7) for _ in range(size)])
        if self.chance(0.2):
            changes["window"] = self.pick([1, 2])
        if self.chance(0.2):
            changes["cap"] = 2.0
        if self.chance(0.3):
            changes["segments"] = b.input((length,), "i32", kind="ids", high=2)
        return changes

    def l_concat(self, h):
        b = self.b
        parts = [self.act(self.dense(h, self.hidden * self.pick([1, 1, 2]))) for _ in range(self.pick([2, 3]))]
        return self.residual(h, self.dense(b.concat(parts, 2), self.channels))

    def l_shift(self, h):
        """Each position with the one before it."""
        b, (batch, length, channels) = self.b, h.shape
        before = b.pad(b.slice(h, [0, 0, 0], (batch, length - 1, channels)), [0, 1, 0], h.shape)
        return b.binary("add", h, b.binary("mul", before, self.bias(channels)))

    def l_dropout(self, h):
        return self.b.unary("dropout", h, p=self.pick([0.25, 0.5]))

    def l_softmax(self, h):
        return self.b.binary("mul", h, self.b.along(self.pick(["softmax", "log_softmax"]), self.dense(h, self.channels), 2, h.shape))

    def l_maximum(self, h):
        """Scaled by a maximum over channels."""
        top = self.b.reduce("amax", self.dense(h, self.hidden), [2], keep=True)
        return self.b.binary("mul", h, self.b.unary("tanh", top))

    def loss(self, h):
        b = self.b
        if self.chance(0.7):
            is_tied = self.table is not None and self.chance(0.5)
            logits = b.matmul(h, self.table, tb=True) if is_tied else self.dense(h, self.classes)
            ignore = self.pick([None, -1])
            draws = {"ignore": -1, "ignored": [0.3], "ignored_in_evaluation": [0.3]} if ignore is not None else {}
            targets = b.input((self.length,), "i32", kind="ids", high=self.classes, **draws)
            return b.losses("cross_entropy", logits, targets, ignore)
        if self.chance(0.5):
            return b.binary("mse", h, b.input(h.shape[1:]))
        return b.reduce(self.pick(["sum", "mean"]), self.b.unary("square", h), [0, 1, 2])

    def description(self, seed):
        layers = [getattr(self, name) for name in dir(self) if name.startswith("l_")]
        h = self.start()
        for _ in range(int(self.random.integers(1, 5))):
            h = self.pick(layers)(h)
        return prune(self.b.description(self.loss(h), seed, 1))


# --- meshes and annotations --------------------------------------------------


def draw_mesh(dice):
    """Axes in any order, and microbatches."""
    while True:
        count = dice.pick([1, 1, 2, 2, 2, 3])
        axes = [str(a) for a in dice.random.choice(BATCH_AXES + OTHER_AXES, count, replace=False, p=[0.25, 0.15, 0.2, 0.2, 0.2])]
        mesh = [(axis, dice.pick([2, 2, 2, 3, 4])) for axis in axes]
        microbatches = dice.pick([1, 1, 2, 3])
        if math.prod(size for _, size in mesh) * microbatches <= MOST_COORDINATES:
            return mesh, microbatches


def batch_tiles(mesh, microbatches):
    return math.prod(size for axis, size in mesh if axis in BATCH_AXES) * microbatches


def cut_dims(dice, shape, axes, first=0):
    """A sharding that cuts dimensions from `first` on over these axes (name, size); None where nothing divides."""
    dims, sizes = [[] for _ in shape], list(shape)
    for axis, count in axes:
        fitting = [d for d in range(first, len(shape)) if sizes[d] % (count * (dims[d][-1][0] if dims[d] else 1)) == 0]
        if not fitting:
            continue
        dim = dice.pick(fitting)
        sizes[dim] //= count
        least = dims[dim][-1][0] if dims[dim] else 1
        outer = [o for o in (2, 3, 4, 6) if sizes[dim] % o == 0 and o % least == 0] if dice.chance(0.2) else []
        dims[dim].append((dice.pick(outer) if outer else least, axis))
    if not any(dims):
        return None
    cuts = ["{" + ", ".join(axis if outer == 1 else f"{outer} * {axis}" for outer, axis in dim) + "}" for dim in dims]
    return f"[{', '.join(cuts)}]"


def cut_fused(dice, entry, axes):
    """Cuts each of several projections side by side, over one axis; None where it does not divide them."""
    if "fused" not in entry:
        return None
    (fused, dim), shape = entry["fused"], entry["type"][1]
    fitting = [axis for axis, count in axes if shape[dim] % (fused * count) == 0]
    if not fitting:
        return None
    cuts = [f"{{{fused} * {dice.pick(fitting)}}}" if i == dim else "{}" for i in range(len(shape))]
    return f"[{', '.join(cuts)}]"


def annotate(dice, case):
    """Each axis that does not cut the batch cuts something, and some more does."""
    description = case.description
    others = [(axis, size) for axis, size in case.mesh if axis not in BATCH_AXES]
    entries = [(entry, 0) for entry in description["params"]] + [(entry, 1) for entry in description["inputs"] if dice.chance(0.3)]
    dice.random.shuffle(entries)
    used = set()
    for number, (entry, first) in enumerate(entries):
        axes = [pair for pair in others if dice.chance(0.3) or pair[0] not in used]
        if number and set(axis for axis, _ in others) <= used and dice.chance(0.5):
            continue
        shard = cut_fused(dice, entry, axes) if dice.chance(0.7) else None
        shard = shard or cut_dims(dice, entry["type"][1], axes, first)
        if shard:
            entry["shard"] = shard
            used |= {axis for axis, _ in axes if axis in shard}
    if not {axis for axis, _ in others} <= used:
        raise Rejected("an axis that cuts nothing")


def draw_model(dice, seed, mesh, microbatches):
    tiles = batch_tiles(mesh, microbatches)
    if dice.chance(0.6):
        units = sorted({size for _, size in mesh})
        return Layers([seed, 21], tiles * dice.pick([1, 1, 2]), units).description(seed)
    for attempt in range(40):
        description = draw(seed + attempt * 10**9)
        if microbatches > 1 and "mixes" in description:
            continue
        # Partial sums that are rounded to a narrower type have other bits than whole ones.
        is_wide = all(param["type"][0] == "f64" for param in description["params"])
        if description["float"] == "f64" and is_wide and description["batch"] % tiles == 0:
            return dict(description, seed=seed)
    raise Rejected("no batch that the tiles divide")


def draw_case(seed):
    """Always the same of a seed."""
    for attempt in range(100):
        dice = Dice([seed, attempt, 31])
        mesh, microbatches = draw_mesh(dice)
        try:
            case = Case(draw_model(dice, seed + attempt * 10**6, mesh, microbatches), mesh, microbatches)
            annotate(dice, case)
            if len(case.description["nodes"]) > 8 and dice.chance(0.25):
                case.mesh.insert(int(dice.random.integers(len(mesh) + 1)), ("pp", 2))
            return case
        except Rejected:
            continue
    raise Rejected(f"seed {seed}: no case")
