"""The mutations of test/lib: bugs that ppopt-mutate puts into a program, and who must see each.

A mutation runs after its phase's verifier, so that the executable has the bug: then the comparison of a harness must fail.
Where the phase has a verifier that can see the bug, it must refuse the module when the mutation runs before it.
"""
import os
import re

from support.executable import checked

# What the verifier says (a regular expression); None where none can see the bug.
VERIFIER = {"position-off-by-one": None,
            "drop-tied-sum": None,
            "drop-boundary-gradient": None,
            "mask-left-out": None,
            "share-left-out": None,
            "other-mode": "can't be split over the batch: it is not linear in a sum over the batch",
            "commit-ignores-hold": None,
            "evaluation-reads-proposal": "takes #pp.role<proposal, .*>, which a step alone has",
            "open-left-out": r"uses #pp.buffer<proposal, .*>, which place \d+ has not opened yet",
            "nested-cut-transposed": "has #pp.role<param, .*> as .*, but it is ",
            "mean-of-means": None,
            "scale-twice": None,
            "borrowed-not-returned": "brings gradients that no task adds",
            "update-ignores-hold": None,
            "bias-in-each-part": None,
            "partial-gradient-scaled": None,
            "norm-counts-copies": None,
            "statistics-of-one-rank": None,
            "rows-not-scattered": None,
            "share-not-divided": None,
            "ranks-outermost": None,
            "tile-at-zero": None,
            "look-up-at-zero": None,
            "look-up-not-masked": None,
            "scatter-at-zero": None,
            "outputs-exchanged": None,
            "rows-rotated": None,
            "output-not-gathered": None,
            "sent-part-at-zero": None,
            "received-not-gathered": None,
            "tied-not-summed": r"sums #pp.buffer<grads, \"b\d+\"> over \d+ ranks, and not the \d+ that have a part of it"
                               r"|needs #pp.buffer<grads, \"b\d+\"> of all ranks, which is not summed yet",
            "gradient-not-summed": r"needs #pp.buffer<grads, \"b\d+\"> of all ranks, which is not summed yet",
            "local-clip-norm": "needs .* of all ranks, which is not summed yet",
            "decide-before-sum": "needs .* of all ranks, which is not summed yet",
            "slot-too-early": "from a slot that something else was written to|which a transfer still uses",
            "other-microbatch": r"reads the value of microbatch \d+ as operand 0",
            "other-parameter": None,
            "other-bucket": None,
            "skip-update": r"never runs @p0_U_b\d+ on microbatch 0",
            "norm-before-wait": "reads #pp.buffer<grads, .*> while it is being summed over ranks",
            "norm-over-replicas": r"sums #pp.buffer<norm> over \d+ ranks, and not the \d+ that have a part of it",
            "sum-before-last-addition": "adds to #pp.buffer<grads, .*>, which is summed already",
            "read-before-gather": r"reads #pp.buffer<params, \"\w+\"> while it is being gathered from ranks",
            "gather-left-out": r"needs #pp.buffer<params, \"\w+\"> of all ranks, which is not gathered yet",
            "gather-not-on-place": r"needs #pp.buffer<params, \"\w+\"> of all ranks, which is not gathered yet",
            "padding-not-zero": r"'pp.join' op is of elements \d+ to \d+ of \"b\d+\", which are not those of one parameter",
            "gather-before-update": r"gathers #pp.buffer<params, \"b\d+\">, of which ranks do not have chunks",
            "drop-block": None,
            "temporary-too-early": "of the same memory as another operand",
            "add-own-slice": r"adds to #pp.role<grad_range, \"b\d+\">, and not what a reduce_scatter of 'b\d+' has summed",
            "sum-not-added": r"overwrites #pp.role<grad_range, \"b\d+\">, to which other microbatches add",
            "read-before-finish": r"touches bytes \d+ to \d+ of the temporaries, which belong to collective \d+",
            "release-before-last-reader": r"reads bytes \d+ to \d+ of the temporaries, which were released",
            "gather-over-gathered": r"which another value has taken|which belong to collective \d+",
            "collective-left-out": r"which (another value has taken|nothing has written|were released)|starts \d+ collectives, and its signature has \d+",
            "collective-unsigned": r"is number \d+ of the \d+ collectives of @",
            "begins-swapped": r"is another collective than the signature's|is number \d+, and the next start is number \d+|, and the signature's ",
            "gathers-swapped": r"gathers #pp.role<param_range, \"b\d+\"> as 'b\d+'"}


def tool_of(ppopt):
    """ppopt-mutate of the build of this ppopt."""
    return os.path.join(os.path.dirname(ppopt), "test", "ppopt-mutate")


def expect_refused(ppopt, mutation, model, flags):
    """The verifier after the mutation says what is wrong."""
    command = [tool_of(ppopt), "compile", model, *flags, "--mutate-before-verifier", mutation, "--stop-after=kernels", "-o", os.devnull]
    try:
        checked(command)
    except AssertionError as refused:
        assert re.search(f"error: .*({VERIFIER[mutation]})", str(refused)), refused
        return
    raise AssertionError(f"no verifier refuses {mutation}")
