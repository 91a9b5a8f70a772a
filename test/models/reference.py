"""What PyTorch's autograd in f64 makes of a description: losses, gradients, parameters after some steps, evaluations.

How well a model's numbers can be known is asked too: `noise` perturbs what every op rounds, forward and backward, by a relative
amount that is a function of the value alone (equal values stay equal), and the change of all results is the condition.
"""
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from batch_size import Unresizable, with_batch
from description import coarsest, make_inputs, make_params, results_of
from groups import decay_scale, lr_scale
from pairs import bad_inputs
from torch_text import torch_text

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


class IllPosed(Exception):
    """A model whose numbers are not finite, too large, or too sensitive to rounding."""


# --- what torch has no function for ------------------------------------------


def normalize(x, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)


def rope(x, base):
    length, half = x.shape[-2], x.shape[-1] // 2
    angles = torch.arange(length, dtype=x.dtype)[:, None] * base ** (-torch.arange(half, dtype=x.dtype) / half)
    z = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag], -1)


def scores(q, k, causal, scale, cap=None):
    s = q @ k.transpose(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    if cap is not None:
        s = cap * torch.tanh(s / cap)
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    return s


def attention(q, k, v, causal, scale, window=None, cap=None, bias=None, mask=None, slopes=None, segments=None):
    group = q.shape[1] // k.shape[1]
    s = scores(q, k.repeat_interleave(group, 1), causal, scale, cap)
    position = torch.arange(q.shape[2])
    distance = position - position[:, None]
    if slopes is not None:
        s = s + slopes[:, None, None] * distance
    if bias is not None:
        s = s + bias
    seen = torch.isfinite(s)
    if window is not None:
        seen = seen & (distance.abs() < window)
    if mask is not None:
        seen = seen & mask
    if segments is not None:
        seen = seen & (segments[:, :, None] == segments[:, None, :])[:, None]
    p = torch.softmax(torch.where(seen, s, -1e30), -1)
    return torch.where(seen, p, 0.0) @ v.repeat_interleave(group, 1)


def attention_lse(q, k, causal, scale):
    return torch.logsumexp(scores(q, k, causal, scale), -1)


def count(targets, ignore, counts, in_arithmetic):
    counts.append(int((targets != ignore).sum()))
    if in_arithmetic and counts[-1] == 0:
        raise IllPosed("a count of zero that is no divisor")
    return torch.tensor(float(counts[-1]), dtype=torch.float64)


def token_loss(logits, targets, ignore):
    rows = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).long(), reduction="none",
                           ignore_index=-2**40 if ignore is None else ignore)
    return rows.reshape(targets.shape)


def cross_entropy(logits, targets, ignore, smoothing, counts):
    if ignore is not None:
        counts.append(int((targets != ignore).sum()))
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).long(),
                           ignore_index=-2**40 if ignore is None else ignore, label_smoothing=smoothing)


# --- noise -------------------------------------------------------------------


def perturb(v, eps, seed):
    is_dyadic = (v * 1024 == torch.round(v * 1024)) & (v.abs() < 2**20)
    factor = torch.frac(torch.sin(v * 1.2345678e7 + seed) * 43758.5453) * eps
    return torch.where(is_dyadic, v, v * (1 + factor))


class Noise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, eps, seed):
        ctx.eps, ctx.seed = eps, seed
        return perturb(v, eps, seed)

    @staticmethod
    def backward(ctx, gradient):
        return perturb(gradient, ctx.eps, ctx.seed + 1), None, None


class FromOutput(torch.autograd.Function):
    """An op whose gradient is made of its rounded output: near a bound the output's last bits are all that it has."""

    @staticmethod
    def forward(ctx, v, op, slope, eps, seed):
        ctx.slope = slope
        y = perturb(op(v), eps, seed)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.slope(*ctx.saved_tensors), None, None, None, None


# --- training ----------------------------------------------------------------


class Model:
    def __init__(self, description, eps=0.0, seed=0):
        self.description = description
        scope = {"torch": torch, "F": F, "inf": float("inf"), "normalize": normalize, "rope": rope, "attention": attention,
                 "attention_lse": attention_lse, "cross_entropy": cross_entropy, "token_loss": token_loss, "count": count}
        scope |= {"tanh": lambda v: FromOutput.apply(v, torch.tanh, lambda y: 1 - y * y, eps, seed),
                  "sigmoid": lambda v: FromOutput.apply(v, torch.sigmoid, lambda y: y * (1 - y), eps, seed)} if eps else {
                      "tanh": torch.tanh, "sigmoid": torch.sigmoid}
        exec(torch_text(description), scope)  # pylint: disable=exec-used
        self.model = scope["model"]
        self.q = (lambda v: Noise.apply(v, eps, seed)) if eps else (lambda v: v)

    def loss(self, inputs, params):
        """(loss, whether some count of targets is zero, {(kind, name): another result})."""
        tensors = {n: torch.from_numpy(a).to(torch.float64) if a.dtype.kind == "f" else torch.from_numpy(a)
                   for n, a in inputs.items()}
        loss, counts, others = self.model(self.q, tensors, params)
        names = [(each["kind"], each["name"]) for each in results_of(self.description)]
        return loss, any(c == 0 for c in counts), dict(zip(names, (each.detach() for each in others)))


def metrics_of(batches):
    """Of the results of batches: means, and ratios of sums."""
    mean = lambda key: float(np.mean([float(results[key]) for results in batches]))
    return {name: mean((kind, name)) / (mean(("count", name)) if ("count", name) in batches[0] else 1.0)
            for kind, name in batches[0] if kind == "metric"} if batches else {}


def rows_of(inputs, first, count):
    return {name: np.ascontiguousarray(values[first:first + count]) for name, values in inputs.items()}


class Averages:
    """Of the parameters over the updates, if the run has a decay of them; else the parameters."""

    def __init__(self, run, params, learning):
        self.params, self.learning = params, learning
        self.trained = torch.nn.ParameterList([params[name] for name in learning])  # of the same memory
        self.model = AveragedModel(self.trained, multi_avg_fn=get_ema_multi_avg_fn(run["ema"])) if "ema" in run else None

    def update(self):
        if self.model:
            self.model.update_parameters(self.trained)

    def get(self):
        averages = dict(zip(self.learning, self.model.module)) if self.model else {}
        return {name: averages.get(name, value).detach() for name, value in self.params.items()}


def train(description, run, eps=0.0, seed=0):
    """The results of the steps of `run` (pairs.py): a dictionary of arrays and lists. A skipped step's loss is None. If the run averages the
    parameters, `parameters` and `evaluations` are of the averages."""
    model, batch = Model(description, eps, seed), description["batch"]
    steps = description["steps"]
    inputs = make_inputs(description, steps * batch)
    params = {n: torch.from_numpy(a.astype(np.float64)).requires_grad_(True) for n, a in make_params(description).items()}
    learning = [p["name"] for p in description["params"] if not p.get("frozen")]
    optimizer, averages = optimizer_of(description, run, params), Averages(run, params, learning)
    result = {"losses": [], "norms": [], "gradients": {}, "evaluations": [], "metrics": [], "predictions": {}}
    if results_of(description, "output"):
        result["predictions"] = predict(description, run["predict"], params, eps, seed)
    if run["evaluate"]:
        result["first_evaluation"] = evaluate(description, run["evaluate"], {n: p.detach() for n, p in params.items()}, eps, seed)
    for step in range(steps):
        loss, is_empty, others = model.loss(rows_of(inputs, step * batch, batch), params)
        result["metrics"].append(metrics_of([others]))
        if is_empty:
            result["losses"].append(None)
            result["norms"].append(None)
            continue
        gradients = torch.autograd.grad(loss, [params[n] for n in learning], allow_unused=True) if loss.requires_grad else [None] * len(learning)
        gradients = dict(zip(learning, gradients))
        if step == 0:
            result["gradients"] = {n: g.detach().numpy().copy() for n, g in gradients.items() if g is not None}
        norm = float(torch.sqrt(sum([(g * g).sum() for g in gradients.values() if g is not None], torch.zeros((), dtype=torch.float64))))
        result["losses"].append(float(loss.detach()))
        result["norms"].append(norm)
        scale = run["clip"] / norm if run["clip"] and norm > run["clip"] else 1.0
        for name, gradient in gradients.items():
            # What no loss depends on is still decayed where ppopt updates it; such parameters are not compared.
            params[name].grad = None if gradient is None else gradient * scale
        optimizer.step()
        averages.update()
    result["parameters"] = {n: p.numpy().copy() for n, p in averages.get().items()}
    if run["evaluate"]:
        result["evaluations"] = evaluate(description, run["evaluate"], averages.get(), eps, seed)
    return result


def evaluate(description, rows, params, eps=0.0, seed=0):
    """[the loss of one batch of all rows, the rows, the metrics]; None and 0 where no target is counted. Of a model of one batch size alone the mean
    of whole batches' losses, and the rows of these."""
    inputs, batch, whole = make_inputs(description, rows, "evaluation"), rows, description
    try:
        whole = with_batch(description, rows)
    except Unresizable:
        batch = description["batch"]
    model = Model(whole, eps, seed)
    try:
        results = [model.loss(rows_of(inputs, first, batch), params) for first in range(0, rows - batch + 1, batch)]
    except IndexError:
        raise IllPosed("the numbers of more rows are no ids") from None
    counted = [float(loss) for loss, is_empty, _ in results if not is_empty]
    return [float(np.mean(counted)) if counted else None, batch * len(counted), metrics_of([others for *_, others in results])]


def predict(description, rows, params, eps=0.0, seed=0):
    """The outputs for so many rows."""
    try:
        *_, results = Model(with_batch(description, rows), eps, seed).loss(make_inputs(description, rows, "prediction"), params)
    except IndexError:
        raise IllPosed("the numbers of more rows are no ids") from None
    return {name: value.numpy() for (kind, name), value in results.items() if kind == "output"}


def optimizer_of(description, run, params):
    """PyTorch's, with a group for each parameter that learns."""
    groups = [{"params": [params[p["name"]]], "lr": run["lr"] * lr_scale(p), "weight_decay": run["weight_decay"] * decay_scale(p)}
              for p in description["params"] if not p.get("frozen")]
    if run["optimizer"] == "sgd":
        return torch.optim.SGD(groups, momentum=run["momentum"], nesterov=run["nesterov"])
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[run["optimizer"]](groups, eps=run["eps"])


def is_out_of_range(description, bad):
    """Whether ids or classes of the first step are, after a change (Pair.bad), by what PyTorch takes. Not where the step is skipped, for want of
    counted targets: ids that are computed are then never looked at."""
    inputs = bad_inputs(description, bad)
    params = {n: torch.from_numpy(a.astype(np.float64)) for n, a in make_params(description).items()}
    try:
        if Model(description).loss(rows_of(make_inputs(description, description["batch"]), 0, description["batch"]), params)[1]:
            return False
        Model(description).loss(rows_of(inputs, 0, description["batch"]), params)
    except (IndexError, RuntimeError) as error:
        return "out of" in str(error)
    return False


# --- how well it can be known ------------------------------------------------

# Of a type: the noise, the largest change that is accepted, the tolerance at least.
ROUNDING = {"f64": (1e-14, 1e-11, 1e-9), "f32": (1e-6, 3e-3, 1e-4), "bf16": (1e-2, 0.2, 5e-2)}
LARGEST = 1e5


def numbers_of(result):
    metrics = [*result["metrics"], *result["evaluations"][2:]]
    return [x for x in result["losses"] + result["evaluations"][:1] if x is not None] + [x for each in metrics for x in each.values()]


def scaled_difference(a, b):
    """The largest difference of two results of train, relative as compare() in pairs.py has it."""
    worst = 0.0
    for x, y in zip(numbers_of(a), numbers_of(b)):
        worst = max(worst, abs(x - y) / max(abs(x), 1e-3))
    for kind in ("gradients", "parameters", "predictions"):
        largest = max((np.abs(g).max() for g in a[kind].values()), default=0)
        for name, value in a[kind].items():
            scale = max(np.abs(value).max(), 1e-3 * largest)
            if scale:
                worst = max(worst, np.abs(value - b[kind][name]).max() / scale)
    return worst


def is_reasonable(result):
    arrays = [array for kind in ("gradients", "parameters", "predictions") for array in result[kind].values()]
    return all(np.isfinite(x) and abs(x) < LARGEST for x in numbers_of(result)) and all(
        np.isfinite(a).all() and np.abs(a).max() < LARGEST for a in arrays)


def reference(description, run):
    """(result of train, tolerance); IllPosed where the numbers are not worth comparing."""
    result = train(description, run)
    if not is_reasonable(result):
        raise IllPosed("not finite, or large")
    eps, most, tolerance = ROUNDING["bf16" if run.get("precision") == "bf16" else coarsest(description)]
    change = max(scaled_difference(result, train(description, run, eps, seed)) for seed in (0, 1000))
    if not change <= most:
        raise IllPosed(f"noise of {eps} changes results by {change:.3g}")
    return result, max(tolerance, 3 * change)
