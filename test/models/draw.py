"""Draws descriptions. A motif adds a few ops that belong together to the values that are there; a term makes a part of the loss."""
import numpy as np

from batch_size import with_rows_apart
from builder import Rejected
from description import FLOATS, all_nodes, prune, results_of
from layer_motifs import LayerMotifs
from leaf_motifs import LeafMotifs
from loss_terms import LossTerms
from shape_motifs import ShapeMotifs
from sum_motifs import SumMotifs


class Drawing(SumMotifs, ShapeMotifs, LayerMotifs, LeafMotifs, LossTerms):
    """A model that is being drawn. A motif is a method m_… that returns a value."""


WEIGHTS = {"m_unary": 5, "m_kink": 2, "m_leaky": 1, "m_positive": 2, "m_exp": 1, "m_binary": 5, "m_div": 2, "m_affine": 6,
           "m_matmul": 7, "m_matmul_values": 2, "m_outer": 1, "m_norm": 4, "m_softmax": 3, "m_reduce": 2, "m_reduce_row": 3,
           "m_maximum_again": 4, "m_logsumexp": 1, "m_compare": 2, "m_mask": 2, "m_table": 2, "m_iota": 1, "m_reshape": 3,
           "m_transpose": 3, "m_slice": 3, "m_pad": 2, "m_concat": 3, "m_move": 2, "m_broadcast": 2, "m_cumsum": 1, "m_conv": 2,
           "m_rope": 1, "m_attention": 3, "m_adapter": 2, "m_embedding": 5, "m_position": 1, "m_one_hot": 1, "m_gather": 1, "m_scatter": 1, "m_order": 1, "m_triangle": 1, "m_language_model": 1, "m_integers": 2, "m_mask_shape": 1, "m_gate": 1,
           "m_residual": 2, "m_input_statistics": 2, "m_gram": 1, "m_detach": 1, "m_checkpoint": 1, "m_dropout": 0.5, "m_param": 1,
           "m_whole": 1, "m_through_integers": 1, "m_boolean": 4, "m_constant": 5, "m_other_type": 3}
# What of f32 and bf16 a rounding must not decide.
DECIDING = {"m_kink", "m_leaky", "m_maximum_again", "m_compare", "m_through_integers", "m_exp", "m_order"}


def draw_once(seed):
    random = np.random.default_rng([seed, 1])
    dtype = ["f64", "f32", "bf16"][int(random.choice(3, p=[0.8, 0.16, 0.04]))]
    drawing = Drawing([seed, 2], dtype)
    drawing.leaves()
    if drawing.chance(0.08):
        # Little else then, so that such a model can generate text.
        drawing.values = []
        drawing.keep(drawing.m_language_model())
        if drawing.chance(0.6):
            return finish(drawing, seed, random)
    names = [n for n in WEIGHTS if dtype == "f64" and not drawing.other or n not in DECIDING]
    # Some motifs are left out, others come often: each model has a character.
    weights = np.array([WEIGHTS[n] for n in names]) * random.gamma(0.5, 2.0, len(names))
    weights /= weights.sum()
    wanted = int(random.integers(2, 7 if random.random() < 0.4 else 20))
    for _ in range(wanted):
        for _ in range(8):
            state = len(drawing.b.nodes)
            try:
                v = getattr(drawing, names[int(random.choice(len(names), p=weights))])()
            except Rejected:
                del drawing.b.nodes[state:]
                drawing.values = [v for v in drawing.values if v.name in known_names(drawing.b)]
                drawing.masks = [v for v in drawing.masks if v.name in known_names(drawing.b)]
                drawing.ids = [(v, h) for v, h in drawing.ids if v.name in known_names(drawing.b)]
                continue
            drawing.keep(v)
            break
    return finish(drawing, seed, random)


def finish(drawing, seed, random):
    loss = drawing.loss()
    description = drawing.b.description(loss, seed, int(random.integers(1, 4)))
    if drawing.has_results:
        description["results"] = drawing.results()
    description = without_mixed_outputs(prune(description))
    types = {description["float"], *(p["type"][0] for p in description["params"])}
    types |= {dtype for n in all_nodes(description) for dtype, _ in (n["types"] if n["op"] == "call" else [n["type"]])}
    return dict(description, coarsest=next(t for t in reversed(FLOATS) if t in types))


def without_mixed_outputs(description):
    """An output's rows follow from one row of the inputs each."""
    apart = with_rows_apart(description, [each["value"] for each in results_of(description, "output")])
    kept = [each for each in results_of(description) if each["kind"] != "output" or each["value"] in apart]
    return prune(dict(description, results=kept)) if "results" in description else description


def known_names(b):
    names = {e["name"] for e in b.inputs + b.params} | {n["name"] for n in b.nodes}
    return names | {f"{n['name']}:{i}" for n in b.nodes if n["op"] == "call" for i in range(len(n["types"]))}


def draw(seed):
    """A description; always the same of a seed."""
    for attempt in range(200):
        try:
            return dict(draw_once(seed * 1000 + attempt), seed=seed)
        except Rejected:
            continue
    raise Rejected(f"seed {seed}: no model")
