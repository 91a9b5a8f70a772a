//===- Passes.td - Passes for tests of analyses ---------- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PASSES
#define PPOPT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TestIterationSpace : Pass<"pp-test-iteration-space"> {
  let summary = "Test only: a remark on each op with its iteration space";
  let description = [{
    `a=8 b=4(sum): [a, b] -> [a]; linear in {0}.` is two loops, of which the operand's dimensions run over both, and the result's over the
    first. `ab` is a dimension of two loops, `.` one of none.
  }];
}

def TestCost : Pass<"pp-test-cost"> {
  let summary = "Test only: a remark on each op with its work";
  let description = [{
    `4096 flops, 0 elements, 1024 bytes; backward 8192, 0, 2048.` The backward is that of the operands that have a gradient: floats, but
    for frozen parameters.
  }];
}

#endif // PPOPT_TRANSFORMS_PASSES
