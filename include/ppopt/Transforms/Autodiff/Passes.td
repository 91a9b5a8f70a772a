//===- Passes.td - Passes that add the backward ---------- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_AUTODIFF_PASSES
#define PPOPT_TRANSFORMS_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def Autodiff : Pass<"pp-autodiff", "::mlir::ModuleOp"> {
  let summary = "Adds the backward ops and the gradients of the parameters that learn";
  let description = [{
    Reverse mode, from the loss to the parameters and the detaches. A value that needs no gradient
    gets none. Every `pp.detach` is consumed. Runs once. A `pp.add_grad` adds the gradient of a
    parameter, in the backward region that computes it. The pass warns about a trained parameter
    that can receive no gradient, with the reason; that parameter has no gradient.

    ```mlir
    %l = pp.place 0 stage 0 -> ... { ... }           // before

    %l, %h = pp.place 0 stage 0 -> ... { ... }       // after: yields what the backward reads
    pp.place 0 stage 0 backward {
      ...
      pp.add_grad %w, %dw : tensor<4x4xf32>
    }
    ```
  }];
}

def SinkLoss : Pass<"pp-sink-loss", "::mlir::ModuleOp"> {
  let summary = "Moves the last matmul before the loss, and the ops after it, into the backward";
  let description = [{
    Applies to the stage that makes the loss. A matmul is an op that sums two operands over a loop
    of both; a last matmul is one that no other matmul follows. It moves, with the ops after it, if
    only the loss and the backward of their stage read what they compute. Training then computes
    them where their gradient is computed, so that they are not values between tasks. Evaluation
    computes them in a region of its own. Afterwards the entry returns the loss of evaluation and
    the loss of training. Where nothing learns, the pass changes nothing.

    ```mlir
    %f:2 = pp.place 0 stage 0 { %z = pp.matmul %h, %w ... pp.yield %loss, %z }       // before
    %b = pp.place 0 stage 0 backward { ... %f#1 ... }
    return %f#0

    %f = pp.place 0 stage 0 { ... pp.yield %h }                                      // after
    %e = pp.place 0 stage 0 evaluation { %z = pp.matmul %f, %w ... pp.yield %loss }
    %b:2 = pp.place 0 stage 0 backward { %z = pp.matmul %f, %w ... }
    return %e, %b#1
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_AUTODIFF_PASSES
