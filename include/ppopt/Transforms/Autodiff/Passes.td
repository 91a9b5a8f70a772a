//===- Passes.td - Passes that add the backward ---------- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_AUTODIFF_PASSES
#define PPOPT_TRANSFORMS_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def Autodiff : Pass<"pp-autodiff", "::mlir::ModuleOp"> {
  let summary = "Adds the backward ops and the updates of the parameters that learn";
  let description = [{
    Reverse mode, from the loss up to the parameters and the detaches; what needs no gradient gets none. Consumes every
    `pp.detach`. Runs once. The gradient of a parameter is added by a `pp.add_grad` in the backward region that computes it. A trained
    parameter that can receive no gradient is warned about with the reason and has none.

    ```mlir
    %l, %h = pp.place 0 stage 0 -> ... { ... }       // yields what the backward reads
    pp.place 0 stage 0 backward {
      ...
      pp.add_grad %w, %dw : tensor<4x4xf32>
    }
    ```
  }];
}

def SinkLoss : Pass<"pp-sink-loss", "::mlir::ModuleOp"> {
  let summary = "Moves the last matmul and what follows it, up to the loss, into the backward";
  let description = [{
    Of the stage that makes the loss: a matmul (two operands are summed over a loop of both) behind which stands no other, and the ops behind
    it, if they reach nothing but the loss and the backward of their stage. Training computes them where their gradient is computed, so
    that they are no values between tasks; evaluation in a region of its own. The entry then returns the loss of evaluation, and that of training.
    Where nothing learns, it changes nothing.

    ```mlir
    %f:2 = pp.place 0 stage 0 { %z = pp.matmul %h, %w ... pp.yield %loss, %z }   // before
    %b = pp.place 0 stage 0 backward { ... %f#1 ... }
    return %f#0

    %f = pp.place 0 stage 0 { ... pp.yield %h }                                  // after
    %e = pp.place 0 stage 0 evaluation { %z = pp.matmul %f, %w ... pp.yield %loss }
    %b:2 = pp.place 0 stage 0 backward { %z = pp.matmul %f, %w ... }
    return %e, %b#1
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_AUTODIFF_PASSES
