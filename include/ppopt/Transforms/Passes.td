//===- Passes.td - Passes for tests of analyses ---------- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PASSES
#define PPOPT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TestIterationSpace : Pass<"pp-test-iteration-space"> {
  let summary = "Test only: emits a remark on each op with its iteration space";
  let description = [{
    `a=8 b=4(sum): [a, b] -> [a]; linear in {0}.` has two loops. The dimensions of the operand run
    over both, the dimension of the result over the first. A dimension written `ab` runs over two
    loops, one written `.` over none.
  }];
}

def TestLocalize : Pass<"pp-test-localize"> {
  let summary = "Test only: emits a remark on each op with what it records of its cuts";
  let description = [{
    `test.cuts` has a list for each loop of the op: axes and their parts in turn. `[["dp", 2], []]`
    cuts the first of two loops.
  }];
}

def TestCost : Pass<"pp-test-cost"> {
  let summary = "Test only: emits a remark on each op with its work";
  let description = [{
    `4096 flops, 0 elements, 1024 bytes; backward 8192, 0, 2048.` The backward counts the operands
    that have a gradient: floats, except frozen parameters.
  }];
}

#endif // PPOPT_TRANSFORMS_PASSES
