//===- StepOps.td - A step as a graph of values ---------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_STEP_OPS
#define PPOPT_DIALECT_PP_STEP_OPS

include "ppopt/Dialect/PP/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def PP_StepOp : PP_Op<"step", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "what a step computes, before any schedule";
  let description = [{
    One per module, in phases `partitioned` and `scheduled`. Tasks are called on values of all places, and `pp.copy` and `pp.copy_bucket` bring values to
    other places. Each region is a graph in program order; no value leaves it:

    - `prologue`: sums of inputs. Every call runs on all microbatches before the next one does.
    - `begin`: once, before the first microbatch.
    - `microbatch`, `evaluation`: once per microbatch, in training and in an evaluation. A copy that both have has the same `id` in both.
    - `end`: once, after the last microbatch of a training step.
    - `average`: with `ema`, what exchanges the parameters with their averages, before and after an evaluation.

    State (parameters, gradients, the optimizer's, sums) is memory and no operand: the roles of a task's arguments say which it reads and writes.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    pp.step microbatch {
      %h = pp.call @s0_F() : () -> tensor<4x8xf32>
      %copied = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
    }
    ```
  }];
  let regions = (region AnyRegion:$prologue, AnyRegion:$begin, AnyRegion:$microbatch, AnyRegion:$evaluation, AnyRegion:$end,
                        AnyRegion:$average);
  let assemblyFormat = [{
    (`prologue` $prologue^)? (`begin` $begin^)? (`microbatch` $microbatch^)? (`evaluation` $evaluation^)? (`end` $end^)?
    (`average` $average^)? attr-dict
  }];
  let hasRegionVerifier = 1;
}

def PP_CallOp : PP_Op<"call", [HasParent<"StepOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a task on values of a step";
  let description = [{
    The operands are the task's arguments that are values, the results its results that are values, each in the task's order. A schedule
    has a `pp.run` of it for each microbatch.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    pp.step evaluation {
      %h = pp.call @s0_F() : () -> tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$task, Variadic<AnyRankedTensor>:$values);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$task `(` $values `)` attr-dict `:` functional-type($values, $results)";
}

def PP_CopyBucketOp : PP_Op<"copy_bucket", [ParentOneOf<["StepOp", "ScheduleOp"]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the state of a bucket that another place borrows";
  let description = [{
    Without a result the parameters, which place `to` reads as its own until the end of the step. With one the gradients that the borrower has
    accumulated; they are the `gradient_of` the copy that brought the parameters. In a local schedule they go to a `slot` of place `to`.

    Example:

    ```mlir
    pp.param_decl "w" {init = #pp.init<zeros>, learns, places = array<i64: 0, 1>, type = tensor<8xf32>}
    pp.bucket @b0 {borrowed, elements = 8 : i64, offsets = array<i64: 0>, params = ["w"], places = array<i64: 0, 1>, type = f32}
    pp.step begin {
      pp.copy_bucket @b0 from 0 to 1 {id = 2 : i64}
    } end {
      %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 2 : i64, id = 3 : i64} : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, PP_I64Attr:$from, PP_I64Attr:$to, PP_I64Attr:$id, OptionalAttr<PP_I64Attr>:$gradient_of,
                       OptionalAttr<PP_I64Attr>:$slot);
  let results = (outs Optional<AnyRankedTensor>:$gradients);
  let assemblyFormat = "$bucket `from` $from `to` $to attr-dict (`:` type($gradients)^)?";
  let hasVerifier = 1;
}

#endif // PPOPT_DIALECT_PP_STEP_OPS
