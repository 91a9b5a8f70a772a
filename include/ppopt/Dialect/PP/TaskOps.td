//===- TaskOps.td - Collectives inside tasks ------------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_TASK_OPS
#define PPOPT_DIALECT_PP_TASK_OPS

include "ppopt/Dialect/PP/CollectiveInterface.td"
include "ppopt/Dialect/PP/OpBase.td"

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

class PP_CollectiveOp<string mnemonic, string kind>
    : PP_Op<mnemonic, [Pure, AllElementTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<PP_CollectiveOpInterface>]> {
  let arguments = (ins PP_Tensor:$x, PP_GroupAttr:$group, StrAttr:$what, DefaultValuedAttr<PP_I64Attr, "0">:$channel);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x `over` $group $what attr-dict `:` type($x) `to` type($result)";
  let extraClassDefinition = [{
    ::ppopt::geometry::Collective $cppClass::getKind() { return ::ppopt::geometry::Collective::}] # kind # [{; }
  }];
  let hasVerifier = 1;
}

def PP_AllGatherOp : PP_CollectiveOp<"all_gather", "AllGather"> {
  let summary = "the chunks of all ranks of a group";
  let description = [{
    The chunks lie one after the other in the order of the ranks' positions. In a task: all ranks of the group make the same collectives, each in one
    order. `what` names the value for people: a bucket.

    Example:

    ```mlir
    %whole = pp.all_gather %chunk over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
    ```
  }];
}

def PP_ReduceScatterOp : PP_CollectiveOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "this rank's chunk of the sum over the ranks of a group";
  let description = [{
    The rank at position p of n has the elements [p·E/n, (p+1)·E/n) of the sum. Like `pp.all_gather`.

    Example:

    ```mlir
    %chunk = pp.reduce_scatter %part over <["dp"]> "b0" {channel = 2 : i64} : tensor<128xf32> to tensor<64xf32>
    ```
  }];
}

def PP_AllReduceOp : PP_CollectiveOp<"all_reduce", "AllReduce"> {
  let summary = "the sum over the ranks of a group";
  let description = [{
    Like `pp.all_gather`.

    Example:

    ```mlir
    %sum = pp.all_reduce %part over <["tp"]> "h" {channel = 3 : i64} : tensor<128xf32> to tensor<128xf32>
    ```
  }];
}

def PP_AllReduceMaxOp : PP_CollectiveOp<"all_reduce_max", "AllReduceMax"> {
  let summary = "the maximum over the ranks of a group";
  let description = [{
    Like `pp.all_reduce`.

    Example:

    ```mlir
    %most = pp.all_reduce_max %part over <["tp"]> "h" {channel = 3 : i64} : tensor<128xf32> to tensor<128xf32>
    ```
  }];
}

def PP_AllToAllOp : PP_CollectiveOp<"all_to_all", "AllToAll"> {
  let summary = "a chunk from each rank of a group, and one to each";
  let description = [{
    The rank at position p hands over n chunks; its result has at q what the rank at position q had at p. Like `pp.all_gather`.

    Example:

    ```mlir
    %columns = pp.all_to_all %rows over <["tp"]> "h" {channel = 3 : i64} : tensor<128xf32> to tensor<128xf32>
    ```
  }];
}

def PP_ZerosOp : PP_Op<"zeros", []> {
  let summary = "memory of a task, filled with zeros";
  let description = [{
    Ops accumulate into ranges of it, in place, and `pp.join` puts them together. Each op is memory of its own.

    Example:

    ```mlir
    %zeros = pp.zeros : tensor<128xf32>
    ```
  }];
  let results = (outs Res<PP_FloatTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def PP_JoinOp : PP_Op<"join", [Pure, AllElementTypesMatch<["base", "result"]>, AllTypesMatch<["base", "result"]>]> {
  let summary = "a flat tensor with parts of it replaced";
  let description = [{
    Part i, of any shape, takes the elements from `offsets[i]` on. The parts are what ops have accumulated in these ranges of `base`, in place.

    Example:

    ```mlir
    %base = pp.zeros : tensor<128xf32>
    %whole = pp.join %base(%w) at [0] : tensor<128xf32>, tensor<8x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$base, Variadic<PP_FloatTensor>:$parts, DenseI64ArrayAttr:$offsets);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$base `(` $parts `)` `at` $offsets attr-dict `:` type($base) (`,` type($parts)^)?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// From pp-place-collectives on
//===----------------------------------------------------------------------===//

def PP_BeginOp : PP_Op<"begin", []> {
  let summary = "starts a collective of a task";
  let description = [{
    Number `number` of the task's `collectives`; `pp.finish` of this number waits for it. On tensors the results are the collective's, which
    nobody reads before, and the scratch memory of an all-reduce or an all-to-all. On buffers the op has no results: it writes to `outs`. A
    reduce-scatter overwrites what it reads, and uses its result's memory as scratch.

    Example:

    ```mlir
    %0 = pp.begin 0 all_gather %chunk outs() : tensor<64xf32> -> tensor<128xf32>
    %whole = pp.finish 0(%0, %chunk) : tensor<128xf32>, tensor<64xf32> -> tensor<128xf32>
    ```
  }];
  let arguments = (ins PP_I64Attr:$number, PP_CollectiveAttr:$collective, AnyType:$x, Variadic<AnyMemRef>:$outs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$number custom<Collective>($collective) $x `outs` `(` ($outs^ `:` type($outs))? `)` attr-dict `:` type($x) (`->` type($results)^)?";
  let hasVerifier = 1;
}

def PP_FinishOp : PP_Op<"finish", []> {
  let summary = "waits for a collective of a task";
  let description = [{
    On tensors the operands are the results of its `pp.begin` and what that reads: all this memory belongs to the collective until now. The result is
    the first operand, complete. On buffers there are neither operands nor results.

    Example:

    ```mlir
    %0 = pp.begin 0 all_gather %chunk outs() : tensor<64xf32> -> tensor<128xf32>
    %whole = pp.finish 0(%0, %chunk) : tensor<128xf32>, tensor<64xf32> -> tensor<128xf32>
    ```
  }];
  let arguments = (ins PP_I64Attr:$number, Variadic<AnyType>:$operands);
  let results = (outs Optional<AnyType>:$result);
  let assemblyFormat = "$number (`(` $operands^ `)` `:` type($operands))? attr-dict (`->` type($result)^)?";
  let hasVerifier = 1;
}

def PP_ReleaseOp : PP_Op<"release", []> {
  let summary = "nobody reads a temporary of a task after this";
  let description = [{
    With --poison the runtime overwrites it.

    Example:

    ```mlir
    %0 = pp.temp 0 : memref<128xf32>
    pp.release %0 : memref<128xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

#endif // PPOPT_DIALECT_PP_TASK_OPS
