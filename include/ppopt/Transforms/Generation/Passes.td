//===- Passes.td - Passes of the program that generates -- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_GENERATION_PASSES
#define PPOPT_TRANSFORMS_GENERATION_PASSES

include "mlir/Pass/PassBase.td"

def MakeGenerator : Pass<"pp-make-generator", "::mlir::ModuleOp"> {
  let summary = "Turns the entry into one that computes the logits for the token after a given one";
  let description = [{
    Before: the entry of the model on global shapes, with calls inlined and compositions of the
    model replaced. After: an entry for one token at one position, both given: a batch of one row, a
    sequence of one position. It returns the logits, which are the scores that the loss compares
    with the next tokens, and the caches with the position added.

    The logits are the operand of the one op that scores classes (an interface) against an input
    that is the token input, one token later. Two axes are propagated from the token input
    [rows, tokens] through the iteration spaces, first the rows and then the positions, as
    `pp-propagate-shardings` propagates cuts. Both become 1.

    - An op may run over a position in parallel.
    - A whole value with a dimension that runs over the positions is computed at the position (an
      iota) or read there (a parameter).
    - An op that mixes positions says through an interface whether it can run position by position,
      and which caches it needs.
    - Anything else is an error that names the op.

    Ops that the logits do not need are removed; parameters stay.

    ```mlir
    // before: tokens and targets of 2 rows of 8
    func.func @main(%tokens: tensor<2x8xi32> {pp.input = "tokens"},
                    %targets: tensor<2x8xi32> {pp.input = "targets", pp.shift = 1 : i64})
        -> tensor<f32> {
      %wte = pp.param "wte" ... : tensor<16x4xf32>
      %wpe = pp.param "wpe" ... : tensor<8x4xf32>
      %e = pp.embedding %wte, %tokens : tensor<16x4xf32>, tensor<2x8xi32>
      %x = pp.add %e, %wpe : tensor<2x8x4xf32>, tensor<8x4xf32>
      ... %a, %lse = pp.attention %q, %k, %v {causal} ...
      %z = pp.matmul %y, %wte {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32>
      %l = pp.token_loss %z, %targets ...

    // after
    func.func @main(
        %token: tensor<1x1xi32> {pp.range = 16 : i64, pp.role = #pp.role<input, "token">},
        %position: tensor<1xi64> {pp.range = 8 : i64, pp.role = #pp.role<input, "position">},
        %keys: tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache0">}, ...)
        -> (tensor<16xf32> {pp.role = #pp.role<output, "logits">},
            tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache0">}, ...) {
      %e = pp.embedding %wte, %token : tensor<16x4xf32>, tensor<1x1xi32>
      %p = pp.embedding %wpe, %position : tensor<8x4xf32>, tensor<1xi64>
      %x = pp.add %e, %p : tensor<1x1x4xf32>, tensor<1x4xf32>
      ... %a, %keys_after, %values_after
          = pp.attention_step %q, %k, %v cache %keys, %values at %position ...
    ```
  }];
}

def FormGenerator : Pass<"pp-form-generator", "::mlir::ModuleOp"> {
  let summary = "Turns the entry of a generating program into a task, and adds the schedule that runs it";
  let description = [{
    Before: the entry that `pp-make-generator` leaves. After, as in phase `scheduled`: declarations
    of inputs and parameters, one forward task `@generate` with the entry's body, and an evaluation
    schedule that runs it once. There is nothing to train, so there is no schedule of training.
  }];
}

#endif // PPOPT_TRANSFORMS_GENERATION_PASSES
