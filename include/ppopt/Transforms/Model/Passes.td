//===- Passes.td - Passes on a model before its ops have places  -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_MODEL_PASSES
#define PPOPT_TRANSFORMS_MODEL_PASSES

include "mlir/Pass/PassBase.td"

def VerifyModel : Pass<"pp-verify-model", "::mlir::ModuleOp"> {
  let summary = "Checks that the module is a model";
  let description = [{
    Afterwards the following holds; otherwise an error says what to change:

    - There is one entry: the function that no other function calls.
    - Parameters are in the entry only and have unique names.
    - The arguments of the entry are inputs with unique names and one first dimension, the batch.
    - The result of the entry is the loss, one float.
    - No function calls itself.
    - All ops are of `pp` or `func`.
    - No op, function, argument or result has an attribute that is not declared for it in models, but those of other dialects.
    - No tensor is empty.

    Changes nothing.
  }];
  let options = [Option<"entry", "entry", "std::string", /*default=*/"\"\"", "the entry's name, if several functions are not called">];
}

def UnrollRepeats : Pass<"pp-unroll-repeats", "::mlir::ModuleOp"> {
  let summary = "Writes out the iterations of each pp.repeat";
  let description = [{
    The first pass of all. Afterwards there is no `pp.repeat`, and the model is the one in which the
    copies of its body are written one after the other. In strings of attributes, such as names of
    parameters, `{i}` is the number of the iteration; a `pp.each` is a constant. The location of a
    copy has the iteration, which errors name.

    ```mlir
    %y = pp.repeat 2 iter (%h = %x) -> (tensor<4x8xf32>) {                              // before
      %w = pp.param "h.{i}.w" {init = #pp.init<zeros>} : tensor<8x8xf32>
      %m = pp.matmul %h, %w : tensor<4x8xf32>, tensor<8x8xf32>
      pp.yield %m : tensor<4x8xf32>
    }

    %w = pp.param "h.0.w" {init = #pp.init<zeros>} : tensor<8x8xf32>                    // after
    %m = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
    %v = pp.param "h.1.w" {init = #pp.init<zeros>} : tensor<8x8xf32>
    %y = pp.matmul %m, %v : tensor<4x8xf32>, tensor<8x8xf32>
    ```
  }];
}

def InlineCalls : Pass<"pp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inlines the functions that the entry calls";
  let description = [{
    Afterwards the entry is the only function. A location keeps the chain of calls. Each
    `pp.dropout` gets a `stream`, a hash of its call path: two calls of one layer draw differently,
    and every plan draws the same. `pp.checkpoint` marks the results of each call, because functions
    are layers.

    ```mlir
    %y = call @layer(%x, %w)       // before
    %0 = pp.matmul %x, %w          // after
    %y = pp.checkpoint %0
    ```
  }];
}

def SelectResults : Pass<"pp-select-results", "::mlir::ModuleOp"> {
  let summary = "Keeps the results that a program is for: loss and metrics, or outputs";
  let description = [{
    Training and evaluation compute the loss and the metrics. The program that predicts computes
    the outputs: it returns a zero in place of the loss. What only the other results need is dead
    afterwards.

    ```mlir
    return %loss, %accuracy, %scores   // before
    return %loss, %accuracy            // after, in the program that trains
    return %zero, %scores              // after, with predicts
    ```
  }];
  let options = [Option<"predicts", "predicts", "bool", "false", "Keep the outputs">];
}

def ReturnProposals : Pass<"pp-return-proposals", "::mlir::ModuleOp"> {
  let summary = "Makes what is proposed for states results of the entry";
  let description = [{
    From here on the model is a graph of values: `pp.propose` is gone, and `pp.proposed` reads its
    state directly. Checks that each state has one proposal, and that nothing else depends on
    `pp.proposed`. With `drop`, for programs that do not train, proposals are dropped, and each
    `pp.by_mode` is its value of evaluation.

    ```mlir
    pp.propose %mean, %new : tensor<4xf32>                         // before
    return %loss : tensor<f32>

    return %loss, %new : tensor<f32>, tensor<4xf32>                // after: the second result
                                                                   // is {pp.proposal = "mean"}
    ```
  }];
  let options = [Option<"drop", "drop", "bool", "false", "The program does not train">];
}

def GroupParameters : Pass<"pp-group-parameters", "::mlir::ModuleOp"> {
  let summary = "Freezes parameters, and scales their learning rate and decay, as flags say";
  let description = [{
    Implements `--freeze 'GLOB; …'`, `--lr-scale 'GLOB=FACTOR; …'` and `--decay 'GLOB=FACTOR; …'`:
    sets `frozen`, `lr_scale`, and `decay_scale` or `no_decay`, of each parameter whose name a glob
    matches, in place of what the model says. It is an error if a glob matches nothing, or if two
    match one name with different factors.

    ```mlir
    %w = pp.param "wte" {init = #pp.init<zeros>} : tensor<8x4xf32>                          // before
    %w = pp.param "wte" {init = #pp.init<zeros>, lr_scale = 1.0e-01 : f64} : tensor<8x4xf32> // after
    ```
  }];
  let options = [
    Option<"freeze", "freeze", "std::string", /*default=*/"", "GLOB, separated by semicolons">,
    Option<"lrScale", "lr-scale", "std::string", /*default=*/"", "GLOB=FACTOR, separated by semicolons">,
    Option<"decay", "decay", "std::string", /*default=*/"", "GLOB=FACTOR, separated by semicolons">,
  ];
}

def InsertPlan : Pass<"pp-insert-plan", "::mlir::ModuleOp"> {
  let summary = "Writes the plan's options into the module as a pp.plan";
  let description = [{
    The batch is the model's. If the plan's `recompute` is layer, `pp.checkpoint` stays; otherwise
    it is folded into its operand. The options of `runtime/schema/plan_options.def` are options of
    this pass too: `tied=owner`, `nesterov`.

    ```mlir
    pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, ...}   // after
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", /*default=*/"\"dp=1\"", "axes, major to minor: dp=2">,
    Option<"microbatches", "microbatches", "int64_t", /*default=*/"1", "microbatches per step">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"1f1b\"", "the schedule's name">,
    ListOption<"stagePlaces", "stage-places", "int64_t", "the place of each piece of the model; none: one piece per place">,
    Option<"deviceMemory", "device-memory", "int64_t", /*default=*/"0", "memory of a rank in bytes; 0: no limit">,
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "cpu">,
    Option<"threads", "threads", "int64_t", /*default=*/"1", "threads per rank">,
    Option<"cpu", "cpu", "std::string", /*default=*/"\"x86-64-v3\"", "the CPU, as LLVM names it">,
    Option<"features", "features", "std::string", /*default=*/"\"\"", "its features, as LLVM spells them">,
    Option<"gpu", "gpu", "std::string", /*default=*/"\"\"", "architecture of the GPU, such as sm_90a">];
}

def DecomposeModel : Pass<"pp-decompose-model", "::mlir::ModuleOp"> {
  let summary = "Replaces compositions that have no gradient of their own";
  let description = [{
    Afterwards every op is differentiable or carries no gradient. Means over f32 and f64 stay until
    `pp-extend-evaluation`.

    ```mlir
    %l = pp.mse %x, %y : tensor<8x4xf32>, tensor<8x4xf32>      // before
    %0 = pp.sub %x, %y : tensor<8x4xf32>, tensor<8x4xf32>      // after
    %1 = pp.mul %0, %0 : tensor<8x4xf32>, tensor<8x4xf32>
    %l = pp.reduce mean %1 [0, 1] : tensor<8x4xf32>
    ```
  }];
  let options = [Option<"means", "means", "bool", /*default=*/"false",
                        "means too become sums times one over the count: nothing is trained or evaluated">];
}

def MixPrecision : Pass<"pp-mix-precision", "::mlir::ModuleOp"> {
  let summary = "With the plan's precision bf16: matmuls and attention take bf16, all else stays f32";
  let description = [{
    Inserts casts before and after the ops that do matmul FLOPs, themselves or through the ops they
    decompose into. The result of such an op is bf16. A value that only such ops read, directly or
    through element ops, is bf16 too: it is written, saved and read in bf16. An element op whose
    operands are all bf16 computes in bf16; any other op computes in f32 and casts bf16 operands up.
    Parameters stay f32, as master weights: each use that wants bf16 casts.

    The pass runs before places are chosen, so that every plan rounds the same values, and before
    differentiation, so that a gradient has the type of its value: the adjoint of a cast is the cast
    back. It rejects a model that computes in f64. With another precision it changes nothing.

    ```mlir
    %m = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>                 // before
    %u = pp.add %m, %b : tensor<4x8xf32>, tensor<8xf32>
    %g = pp.gelu %u : tensor<4x8xf32>
    %y = pp.matmul %g, %v : tensor<4x8xf32>, tensor<8x8xf32>

    %m = pp.matmul %xn, %wn : tensor<4x8xbf16>, tensor<8x8xbf16>             // after
    %0 = pp.cast %m : tensor<4x8xbf16> to tensor<4x8xf32>
    %1 = pp.add %0, %b : tensor<4x8xf32>, tensor<8xf32>
    %u = pp.cast %1 : tensor<4x8xf32> to tensor<4x8xbf16>
    %g = pp.gelu %u : tensor<4x8xbf16>
    %y = pp.matmul %g, %vn : tensor<4x8xbf16>, tensor<8x8xbf16>
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_MODEL_PASSES
