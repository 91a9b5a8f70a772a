"""Terms of the loss, and the loss."""
from builder import ROWS, SUM, Rejected
from choices import Choices
from element_motifs import SMOOTH


class LossTerms(Choices):
    def target_input(self, shape, classes):
        """With an ignore_index most often, and steps in which many targets, or all, are ignored."""
        if classes >= 2 and not self.logits and self.chance(0.06):
            return self.b.cast(self.b.input(shape, "i1", kind="bool"), self.pick(["i32", "i64"])), None
        if self.chance(0.35):
            return self.b.input(shape, self.pick(["i32", "i64"]), kind="ids", high=classes), None
        ignore = int(self.pick([-1, -100, classes - 1]))
        chances = [float(self.pick([0.0, 0.2, 0.5, 0.9, 1.0])) for _ in range(3)]
        if chances[0] == 1.0 and self.chance(0.7):
            chances[0] = 0.5
        evaluation = [float(self.pick([0.0, 0.3, 1.0])), float(self.pick([0.0, 0.3, 0.9]))]
        return self.b.input(shape, self.pick(["i32", "i64"]), kind="ids", high=classes, ignore=ignore, ignored=chances,
                            ignored_in_evaluation=evaluation), ignore

    def is_by_rows(self, h):
        """Whether the first dimension is the batch's."""
        if self.b.mixes:
            return h.rank and h.shape[0] == self.b.batch
        return h.state == ROWS and h.dim == 0 and h.unit == 1

    def t_cross_entropy(self, h):
        if h.rank < 2 or not self.is_by_rows(h):
            raise Rejected("no logits")
        targets, ignore = self.target_input(h.shape[1:-1], h.shape[-1])
        if h == self.logits:
            # The next tokens: such a model can generate.
            self.b.inputs[-1]["shift"] = 1
        kind = int(self.random.integers(4))
        if kind <= 1:
            smoothing = {"smoothing": float(self.pick([0.0, 0.1, 0.1, 0.4, 1.0]))} if self.chance(0.5) else {}
            return self.b.losses("cross_entropy", h, targets, ignore, **smoothing)
        rows = self.b.losses("token_loss", h, targets, ignore)
        if kind == 2:
            rows = self.b.binary("mul", rows, rows)
        total = self.b.reduce("sum", rows, list(range(rows.rank)))
        if ignore is None or self.chance(0.2):
            return self.b.binary("mul", total, self.b.scalar(0.125, total.dtype))
        if self.chance(0.5):
            return self.b.binary("div", total, self.b.count(targets, ignore))
        n = self.b.count(targets, ignore, in_arithmetic=True)
        more = self.pick([lambda: self.b.binary("add", n, self.b.scalar(1.0, n.dtype)), lambda: self.b.unary("sqrt", n),
                          lambda: self.b.binary("mul", n, self.b.scalar(0.5, n.dtype))])()
        return self.b.binary("div", total, more)

    def t_mse(self, h):
        if not self.is_by_rows(h):
            raise Rejected("no prediction")
        return self.b.binary("mse", h, self.b.input(h.shape[1:]))

    def t_bce(self, h):
        """With shares as targets, booleans, or what another value says."""
        b = self.b
        if not self.is_by_rows(h):
            raise Rejected("no logits")
        kind = int(self.random.integers(4))
        if kind == 0:
            targets = b.cast(b.input(h.shape[1:], "i1", kind="bool"), h.dtype)
        elif kind == 1:
            targets = b.unary("sigmoid", self.value(lambda v: v.shape == h.shape))
            targets = b.unary("detach", targets) if self.chance(0.5) else targets
        else:
            targets = b.input(h.shape[1:], h.dtype, kind="share")
        return b.binary("bce_with_logits", h, targets)

    def t_reduce(self, h):
        b = self.b
        if h.state == SUM:
            if h.rank and self.chance(0.5):
                h = b.binary("mul", h, self.param_for(h.shape))
            return b.reduce(self.pick(["sum", "mean"]), h, list(range(h.rank)))
        kind = int(self.random.integers(4))
        if kind == 0:
            h = b.unary("square", h)
        elif kind == 1 and self.is_by_rows(h):
            h = b.binary("mul", h, b.input(h.shape[1:], kind="dyadic"))
        elif kind == 2:
            h = b.unary(self.pick(SMOOTH), h)
        if h.rank and self.chance(0.2):
            dims = [d for d in self.some_dims(h.rank)]
            h = b.reduce("sum", h, dims)
            if h.state != SUM:
                h = b.unary("tanh", h)
        return b.reduce(self.pick(["sum", "mean", "mean"]), h, list(range(h.rank)))

    def metric(self, h):
        """The values of a metric's results: one that is averaged as the loss is, or two that are summed for a ratio. No target is left out."""
        b = self.b
        if h.state == ROWS and self.chance(0.4):
            total = lambda v: b.reduce("sum", v, list(range(v.rank)))
            weights = b.binary("add", b.unary("square", self.value(lambda v: v.state == ROWS)), b.scalar(1.0))
            return total(h), total(weights)
        if self.chance(0.3):
            return (self.pick([self.t_bce, self.t_mse])(h),)
        return (self.t_reduce(h),)

    def results(self):
        """Metrics and outputs, as the description has them."""
        results = []
        for i in range(int(self.random.integers(1, 4))):
            try:
                values = self.metric(self.value())
            except Rejected:
                continue
            results += [{"kind": kind, "name": f"m{i}", "value": v.name} for kind, v in zip(("metric", "count"), values)]
        rows = [v for v in self.values if v.state == ROWS and v.dim == 0 and v.unit == 1]
        for i in range(int(self.random.integers(0, 4)) if rows else 0):
            results.append({"kind": "output", "name": f"y{i}", "value": self.pick(rows).name})
        self.random.shuffle(results)
        return results

    def term(self, h):
        if (h.state == ROWS or self.b.mixes) and h.rank >= 2 and self.chance(0.45):
            try:
                return self.t_cross_entropy(h)
            except Rejected:
                pass
        if self.chance(0.4):
            try:
                return self.t_bce(h) if self.chance(0.4) else self.t_mse(h)
            except Rejected:
                pass
        return self.t_reduce(h)

    def loss(self):
        """The sum of terms of what nothing else uses, and of some that is used."""
        leaves = [v for v in self.values if v.name not in self.used and v.learns]
        self.random.shuffle(leaves)
        chosen = leaves[:int(self.random.integers(1, 7))]
        if self.chance(0.3) or not chosen:
            pool = [v for v in self.values if v.learns]
            if not pool:
                raise Rejected("nothing learns")
            chosen.append(self.pick(pool))
        total, kind = None, "f32" if self.dtype == "bf16" else self.dtype
        for h in chosen:
            term = self.term(h)
            if term.rank:
                raise Rejected("no scalar")
            if term.dtype != kind:
                term = self.b.cast(term, kind)
            if self.chance(0.4):
                term = self.b.binary("mul", term, self.b.scalar(self.pick([0.5, 2.0, -0.25, 0.1]), kind))
            total = term if total is None else self.b.binary(self.pick(["add", "add", "sub"]), total, term)
        if self.chance(0.15):
            total = self.b.binary("add", total, self.b.scalar(1.0, kind))
        return total
