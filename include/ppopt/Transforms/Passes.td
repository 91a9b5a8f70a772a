//===- Passes.td - Passes from phase model to phase scheduled -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PASSES
#define PPOPT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// model -> placed
//===----------------------------------------------------------------------===//

def InlineCalls : Pass<"pp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inlines the functions that the entry calls";
  let description = [{
    Afterwards the entry is the only function. A location keeps the chain of calls. Each `pp.dropout` gets a
    `stream`: a hash of its call path, so that two calls of one layer draw differently and every plan draws the same.

    ```mlir
    %y = call @layer(%x, %w)       // before
    %0 = pp.matmul %x, %w          // after
    ```
  }];
}

def PlaceOps : Pass<"pp-place-ops", "::mlir::ModuleOp"> {
  let summary = "Puts every op of the entry into a place";
  let description = [{
    Parameters stay outside: they belong to no place until tasks are formed. This version knows one place, 0.

    ```mlir
    %w = pp.param "w" ...
    %l = pp.place 0 -> tensor<f32> { ... pp.yield %0 : tensor<f32> }
    return %l
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_PASSES
