"""Holds what docs/adding-an-op.md claims: outside of lib/Dialect/PP the compiler knows model ops by their interfaces.

usage: op_names.py SOURCE-ROOT

Prints each place where code of a pass, of code generation or of the driver names the class of a model op, unless ALLOWED gives the
reason, and each entry of ALLOWED that is no longer needed.
"""

import os
import re
import sys

FOLDERS = ["Analysis", "Transforms", "Codegen", "Program", "Driver"]

# A pass that makes ops decides nothing by their names.
MAKES = "creates it"

MOVES = "index ranges are followed through ops that only move elements"
PARTS = "parts that fill a tensor are one concatenation"
FORM = "its own form of kernel"

FREE = "costs nothing to compute again"
SENT = "ranks may send a narrower type than they keep"
SAME = "has the elements of its operand: both are gathered at once"

# Keyed by op, then by file (without its suffix) or folder.
ALLOWED = {
    # A parameter is not computed: it has an owner, a gradient and a range in a bucket.
    "ParamOp": {folder: "what is trained" for folder in FOLDERS},
    "RepeatOp": {"UnrollRepeats": "it is the op that is written out", "InlineCalls": "is refused here", "VerifyModel": "is refused here"},
    "EachOp": {"UnrollRepeats": "it is a constant of an iteration"},
    "DetachOp": {"Autodiff": "autodiff consumes it", "LowerModelReshards": MAKES},
    "ConstantOp": {
        "Autodiff": MAKES,
        "LocalizeShapes": "a splat is cut by its type alone",
        "LowerMicrobatches": "a splat is cut by its type alone",
        "InsertReshards": MAKES,
        "LowerModelReshards": MAKES,
        "AxisParts": "a splat is cut by its type alone",
        "MakeGenerator": MAKES,
        "OptimizerStep": MAKES,
        "SelectResults": MAKES,
        "StateTasks": MAKES,
        "UnrollRepeats": MAKES,
        "TaskBuilder": MAKES,
        "StageTasks": MAKES,
        "Codegen": "has no operands: cloned where it is used",
    },
    "CountOp": {"EntryParts": "a count of zero skips the step", "LowerReshards": "a count of zero skips the step",
                "Prologues": "what a message says of it"},
    "RotateOp": {"MixPrecision": "its angles are not rounded"},
    "CheckIdsOp": {"TaskBuilder": MAKES},
    "AbsOp": {"OptimizerStep": MAKES},
    "CompareOp": {"LowerModelReshards": MAKES, "OptimizerStep": MAKES, "StateTasks": MAKES, "TaskBuilder": MAKES},
    "SelectOp": {"OptimizerStep": MAKES, "StateTasks": MAKES, "TaskBuilder": MAKES},
    "AddOp": {"Autodiff": MAKES, "BlockRows": MAKES, "OptimizerStep": MAKES,
              "ReductionForms": "terms are accumulated one by one", "CombinePads": PARTS},
    "MulOp": {"InsertReshards": MAKES, "StageTasks": MAKES, "OptimizerStep": MAKES},
    "SubOp": {"OptimizerStep": MAKES},
    "DivOp": {"OptimizerStep": MAKES},
    "SqrtOp": {"OptimizerStep": MAKES},
    "CastOp": {"MixPrecision": MAKES, "MakeGenerator": MAKES, "OptimizerStep": MAKES, "TaskBuilder": MAKES, "TaskCloner": MAKES,
               "LowerModelReshards": SENT, "FormBuckets": SENT, "GatherParameters": SENT, "ScatterGradients": SENT, "ShardChecker": SENT,
               "Codegen": "as cheap as the read it would save"},
    "IotaOp": {"Codegen": "as cheap as the read it would save", "BatchPropagation": "its elements are the numbers of rows"},
    "ReduceOp": {"OptimizerStep": MAKES, "Codegen": "ends a sweep of a kernel"},
    "EmbeddingOp": {"MakeGenerator": MAKES},
    # The code of their forms.
    "EmbeddingGradOp": {file: FORM for file in ("EmitColumns", "ScatterThread", "TableRows")},
    "ScatterAddOp": {file: FORM for file in ("EmitColumns", "EmitScatter", "LineTiles", "LineThreads", "LinesAlongDim")},
    "OrderOp": {file: FORM for file in ("EmitOrder", "OrderRow")},
    "ConvOp": {file: FORM for file in ("Convolution", "EmitConvolution")},
    "CumsumOp": {file: FORM for file in ("EmitScan", "LineThreads", "RunningSum")},
    "AttentionOp": {file: FORM for file in ("EmitAttention", "EmitAttentionForward", "EmitWarpAttention", "WarpAttention", "AttentionTile")},
    "AttentionStepOp": {"EmitAttentionStep": FORM},
    "AttentionGradOp": {file: FORM for file in ("EmitAttentionBackward", "EmitAttentionGrad", "EmitWarpAttentionGrad", "WarpAttention")},
    "ReshapeOp": {"MakeGenerator": MOVES, "OptimizerStep": MAKES, "ShardedTasks": MAKES, "ReductionForms": MAKES,
                  "LowerModelReshards": MAKES, "ModelPropagation": SAME},
    "TransposeOp": {"MakeGenerator": MAKES, "LowerModelReshards": MAKES, "ModelPropagation": SAME, "Cost": "the operand of a matmul, the other way round"},
    "SliceOp": {"LowerMicrobatches": "its offsets number rows", "ResizeBatch": "its offsets number rows",
                "BlockRows": MAKES, "OptimizerStep": MAKES, "ReductionForms": MAKES, "ShardedTasks": MAKES, "ShardChecker": "a part of a bucket is a slice of it"},
    "PadOp": {"LowerMicrobatches": "its offsets number rows", "ResizeBatch": "its offsets number rows", "CombinePads": PARTS},
    "ConcatOp": {"BlockRows": MAKES, "MakeGenerator": MAKES, "Codegen": "its operands are computed in their place in its buffer"},
    "BroadcastOp": {"KernelOutliner": "left out of names", "LinesAlongDim": "repeats one id for a row"},
    # Neither computes: one changes a state, one reads other memory of it.
    "ProposeOp": {"ReturnProposals": "makes it a result of the entry", "VerifyModel": "has no iteration space"},
    "ProposedOp": {"LowerMicrobatches": "is the same in all microbatches", "ReturnProposals": "only proposals may depend on it", "ShardingPropagation": "is cut as the state", "TaskValues": "is an argument of tasks"},
    # A region, which is inlined, and its boundary, which no task has.
    "PerMicrobatchOp": {"InlineCalls": "is inlined here", "VerifyModel": "has no iteration space"},
    **{op: {"VerifyModel": "is the compiler's", "LowerMicrobatches": MAKES,
            "InsertReshards": "what it does to a sum over microbatches", "LocalizeShapes": "is its operand there",
            "ShardingPropagation": "is cut here"} | others
       for op, others in (("EnterMicrobatchOp", {"LowerReshards": "ends what follows from inputs", "BatchPropagation": "is cut here"}),
                          ("LeaveMicrobatchOp", {"InlineCalls": MAKES}))},
    # A choice of programs and tasks, which does not reach these.
    "ByModeOp": {"EntryParts": "consumes it", "TrainingOps": "what evaluations compute", "ReturnProposals": "consumes it where nothing is trained",
                 "ShardingPropagation": "training and evaluation share sums of inputs"},
    # A mark, which computes nothing and does not reach tasks.
    "CheckpointOp": {"Cost": FREE, "InlineCalls": MAKES, "InsertPlan": "folds it where the plan takes no notice of it",
                     "NeededOps": "looks through it",
                     "PlaceByCost": "what is kept", "SplitTasks": "consumes it", "ReadThroughViews": "reads through it",
                     "ModelHash": "a plan's mark, not the model's meaning"},
}


def model_ops(root):
    ops = []
    for name in ("ModelOps.td", "ElementwiseOps.td", "CompositeOps.td", "AttentionOps.td", "IndexOps.td", "BatchOps.td"):
        with open(os.path.join(root, "include/ppopt/Dialect/PP", name)) as file:
            ops += re.findall(r"^def PP_(\w+Op)\b", file.read(), re.MULTILINE)
    return ops


def sources(root):
    """Each file with its path below the root and the folder that it belongs to."""
    for top in ("lib", "include/ppopt"):
        for folder in FOLDERS:
            for directory, _, files in sorted(os.walk(os.path.join(root, top, folder))):
                for file in sorted(files):
                    if file.endswith((".cpp", ".h")):
                        yield os.path.relpath(os.path.join(directory, file), root), folder


def main():
    root = sys.argv[1]
    ops = model_ops(root)
    # LLVM::ConstantOp and the like are others' ops.
    pattern = re.compile(r"(?<!\w)(?:(\w+)::)?(" + "|".join(ops) + r")\b")
    stems, used, wrong = set(), set(), []
    for path, folder in sources(root):
        stem = os.path.splitext(os.path.basename(path))[0]
        stems.add(stem)
        with open(os.path.join(root, path)) as file:
            for number, line in enumerate(file, 1):
                for namespace, op in pattern.findall(line.split("//")[0]):
                    if namespace not in ("", "pp"):
                        continue
                    reasons = ALLOWED.get(op, {})
                    used.add((op, stem))
                    if stem not in reasons and folder not in reasons:
                        wrong.append(f"{path}:{number}: names {op}: ask an interface of it instead")
    for op, reasons in ALLOWED.items():
        for stem in stems.intersection(reasons) - set(FOLDERS):
            if (op, stem) not in used:
                wrong.append(f"{op} in {stem} is allowed but no longer named: remove the entry")
    print("\n".join(wrong) if wrong else f"{len(ops)} model ops are known by their interfaces")
    return 1 if wrong else 0


sys.exit(main())
