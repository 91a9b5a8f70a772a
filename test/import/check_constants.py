#!/usr/bin/env python3
"""Compares the constants that ppopt import computes with PyTorch's: the committed calls (constants.tar.xz), and with --with-pytorch others that are
drawn. Each op that is computed must have a call, and what is made of inputs is computed on constants, but for NOT_COMPUTED."""
import functools
import json
import math
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import constant_archives  # noqa: E402
from support.executable import checked, environment  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

# torch.export of PyTorch 2.15 writes others in their place.
NOT_EXPORTED = {"aten.lift_fresh.default", "aten.split.default"}

# Ops of models that constants do not have alone: of these a run computes what it could know before.
NOT_COMPUTED = {
    "random numbers": ["alpha_dropout.default", "dropout.default", "feature_alpha_dropout.default", "feature_dropout.default", "native_dropout.default",
                       "bernoulli.default", "bernoulli.p", "normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor", "normal.float_float",
                       "normal_functional.default", "rand.default", "rand_like.default", "randn.default", "randn_like.default", "uniform.default"],
    "order statistics and sums at places": ["index_add.default", "kthvalue.default", "median.default", "median.dim", "scatter_reduce.two"],
    "angles": ["atan.default"],
    "losses": ["binary_cross_entropy.default", "binary_cross_entropy_with_logits.default", "cosine_embedding_loss.default", "cross_entropy_loss.default",
               "hinge_embedding_loss.default", "huber_loss.default", "kl_div.default", "l1_loss.default", "margin_ranking_loss.default", "mse_loss.default",
               "multi_margin_loss.default", "nll_loss.default", "nll_loss2d.default", "nll_loss2d_forward.default", "nll_loss_forward.default",
               "nll_loss_nd.default", "poisson_nll_loss.default", "smooth_l1_loss.default", "soft_margin_loss.default", "triplet_margin_loss.default"],
    "distances of vectors": ["cosine_similarity.default", "pairwise_distance.default"],
    "layers": ["_embedding_bag.default", "_embedding_bag_forward_only.default", "_fused_rms_norm.default", "_native_batch_norm_legit.default",
               "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional.default", "_native_batch_norm_legit_no_training.default",
               "_prelu_kernel.default", "_weight_norm.default", "_weight_norm_interface.default", "batch_norm.default", "bilinear.default", "conv1d.default",
               "conv1d.padding", "conv2d.default", "conv2d.padding", "conv3d.default", "conv3d.padding", "conv_transpose1d.default",
               "conv_transpose2d.input", "conv_transpose3d.input", "convolution.default", "embedding_bag.default", "embedding_bag.padding_idx",
               "group_norm.default", "gru.input", "gru_cell.default", "instance_norm.default", "layer_norm.default", "lstm.input", "lstm_cell.default",
               "native_batch_norm.default", "native_group_norm.default", "native_layer_norm.default", "prelu.default",
               "rms_norm.default", "rnn_relu.input", "rnn_relu_cell.default",
               "rnn_tanh.input", "rnn_tanh_cell.default", "scaled_dot_product_attention.default"],
}

# The distance of 1.0 to the next float, and the least one that is normal.
FLOATS = {"float64": (2.0 ** -52, 2.0 ** -1022), "float32": (2.0 ** -23, 2.0 ** -126), "float16": (2.0 ** -10, 2.0 ** -14),
          "bfloat16": (2.0 ** -7, 2.0 ** -126)}


def is_close(ours, theirs, kind, ulps, close):
    """Whether a float is PyTorch's; a zero has its sign where nothing else may differ, and a NaN is any NaN."""
    if math.isnan(theirs) or math.isinf(theirs) or not math.isfinite(ours):
        return ours == theirs or math.isnan(ours) and math.isnan(theirs)
    if ours == theirs:
        return ulps > 0 or math.copysign(1, ours) == math.copysign(1, theirs)
    epsilon, least = FLOATS[kind]
    unit = 2.0 ** (math.frexp(max(abs(theirs), least))[1] - 1) * epsilon
    return abs(ours - theirs) <= 1.001 * ulps * unit + (close * (1 + abs(theirs)) if close else 0)


def difference(ours, theirs, ulps, close):
    """What differs between two results in words; empty if nothing does."""
    if (ours["type"], ours["shape"]) != (theirs["type"], theirs["shape"]):
        return f"is {ours['type']}{ours['shape']}, and PyTorch's {theirs['type']}{theirs['shape']}"
    pairs = list(zip(ours["values"], theirs["values"], strict=True))
    if theirs["type"] in FLOATS:
        wrong = [pair for pair in pairs if not is_close(*pair, theirs["type"], ulps, close)]
    else:
        wrong = [pair for pair in pairs if pair[0] != pair[1]]
    return f"(ours, PyTorch's): {wrong[:4]}" if wrong else ""


class Sample:
    def __init__(self, path, scratch):
        expected, self.archives = constant_archives.read(path)
        self.groups, self.scratch = expected["groups"], scratch
        os.makedirs(scratch, exist_ok=True)

    def graph(self, group):
        return json.loads(self.archives[group][constant_archives.MODEL])["graph_module"]["graph"]

    def check(self, evaluate, group):
        path = os.path.join(self.scratch, f"{group}.pt2")
        constant_archives.write_archive(path, self.archives[group])
        done = checked([evaluate, path], env=environment())
        found = {result["name"]: result for result in map(json.loads, done.stdout.splitlines())}
        names, wrong = iter(self.graph(group)["outputs"]), []
        for call in self.groups[group]:
            for number, theirs in enumerate(call["results"]):
                ours = found.get(next(names)["as_tensor"]["name"])
                what = difference(ours, theirs, call["ulps"], call["close"]) if ours else "is not computed"
                if what:
                    wrong.append(f"{call['call']}, result {number}: {what}")
        assert not wrong, "\n".join([*wrong, done.stderr[:2000]])


def check_complete(evaluate, sample):
    called = {re.sub(r"([a-z0-9])_\.", r"\1.", node["target"].removeprefix("torch.ops."))
              for group in sample.groups for node in sample.graph(group)["nodes"]}
    missing = set(checked([evaluate, "--list"], env=environment()).stdout.split()) - called - NOT_EXPORTED
    assert not missing, f"no call in constant_rows*.py: {', '.join(sorted(missing))}"


def check_computed(evaluate):
    """The list of what is not computed is whole, and no longer than it must be."""
    made, computed = (set(checked([evaluate, flag], env=environment()).stdout.split()) for flag in ("--rows", "--list"))
    listed = {f"aten.{op}" for ops in NOT_COMPUTED.values() for op in ops}
    missing, extra = made - computed - listed, listed - (made - computed)
    assert not missing, f"made of inputs, and not computed on constants: {', '.join(sorted(missing))}"
    assert not extra, f"NOT_COMPUTED has what is computed, or no op: {', '.join(sorted(extra))}"


def check_live(harness, scratch, evaluate):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    folder = os.path.join(scratch, "live")
    checked([harness.args.pytorch, str(HERE / "make_constants.py"), folder, "--seed", "1"], timeout=600)
    sample = Sample(os.path.join(folder, "constants.tar.xz"), folder)
    for group in sample.groups:
        sample.check(evaluate, group)


def main():
    harness = Harness("constants")
    evaluate = os.path.join(harness.args.build, "bin", "test", "ppopt-evaluate")
    with tempfile.TemporaryDirectory() as scratch:
        sample = Sample(HERE / "ops" / "constants.tar.xz", os.path.join(scratch, "committed"))
        harness.cases([(group, functools.partial(sample.check, evaluate, group)) for group in sample.groups])
        harness.case("each op has a call", functools.partial(check_complete, evaluate, sample))
        harness.case("each op is computed", functools.partial(check_computed, evaluate))
        harness.case("live", functools.partial(check_live, harness, scratch, evaluate))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
