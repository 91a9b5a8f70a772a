//===- IndexOps.td - Ops that take or give indices ------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_INDEX_OPS
#define PPOPT_DIALECT_PP_INDEX_OPS

include "ppopt/Dialect/PP/OpBase.td"

def PP_EmbeddingOp : PP_ModelOp<"embedding", [PP_Infer, PP_TableSpace, PP_Element, PP_Adjoint]> {
  let summary = "rows of a table [V, C] at ids [...]: [..., C]";
  let description = [{
    Ids are in [0, V). The runtime checks ids that come unchanged from the model's inputs; the task checks all others. A step with an id that is out
    of range is non-finite. Linear in the table. Where axes cut the rows of the table, `tile` says how the table is cut, and `key` is the random key,
    which has the rank's coordinates: rows for ids of other tiles are zero.

    Example:

    ```mlir
    %x = pp.embedding %table, %ids : tensor<256x8xf32>, tensor<2x4xi32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$table, PP_IntTensor:$ids, Optional<PP_IntTensor>:$key, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids (`key` $key^ `:` type($key))? attr-dict `:` type($table) `,` type($ids)";
  let hasVerifier = 1;
}

def PP_EmbeddingGradOp : PP_ModelOp<"embedding_grad", [PP_TableSpace, PP_Form]> {
  let summary = "adds each row of dy to the row of a zero table that its id names";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it. Where axes cut the rows of the table, `tile` and `key` are as in pp.embedding: rows of dy for ids of other tiles are left out.

    Example:

    ```mlir
    %dtable = pp.embedding_grad %ids, %dy : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<256x8xf32>
    ```
  }];
  let arguments = (ins PP_IntTensor:$ids, PP_FloatTensor:$dy, Optional<PP_IntTensor>:$key, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $dy (`key` $key^ `:` type($key))? attr-dict `:` type($ids) `,` type($dy) `to` type($result)";
  let hasVerifier = 1;
}

class PP_IndexOfOp<string mnemonic, string which> : PP_ModelOp<mnemonic, [PP_Infer, PP_Space, PP_Decompose]> {
  let summary = "index of the " # which # " element along `dim`";
  let description = "Of equal elements the first; a NaN is before all numbers. The result lacks `dim`; it has no gradient. A composite, replaced before"
      "\nautodiff.\n\nExample:\n\n```mlir\n%i = pp." # mnemonic # " %x {dim = 1 : i64} : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_NumberTensor:$x, PP_I64Attr:$dim);
  let results = (outs PP_IntTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def PP_ArgmaxOp : PP_IndexOfOp<"argmax", "largest">;
def PP_ArgminOp : PP_IndexOfOp<"argmin", "smallest">;

def PP_CheckIdsOp : PP_ModelOp<"check_ids", [PP_Decompose, AllTypesMatch<["status", "result"]>]> {
  let summary = "records an id that is out of range";
  let opDocGroup = PP_InternalOps;
  let description = [{
    The result is the status, if that is not 0. Else it is the largest of the ids that are neither in [0, `size`) nor equal to `ignore_index`, where
    negative ids count as larger than all others; 0 if there is none. In tasks.

    Example:

    ```mlir
    %after = pp.check_ids %status, %ids {size = 16 : i64} : tensor<i64>, tensor<2x4xi32>
    ```
  }];
  let arguments = (ins PP_IntTensor:$status, PP_IntTensor:$ids, PP_I64Attr:$size, OptionalAttr<PP_I64Attr>:$ignore_index);
  let results = (outs PP_IntTensor:$result);
  let assemblyFormat = "$status `,` $ids attr-dict `:` type($status) `,` type($ids)";
}

//===----------------------------------------------------------------------===//
// Elements at indices
//===----------------------------------------------------------------------===//

def PP_GatherOp : PP_ModelOp<"gather", [PP_Infer, PP_IndexSpace, PP_Element, PP_Adjoint]> {
  let summary = "elements of x at ids along `dim`: result[i, j] = x[ids[i, j], j] for dim 0";
  let description = [{
    ids have the rank of x and, in every other dimension, its size. They are in [0, x's size along `dim`), and are checked as those of `pp.embedding`;
    with `in_range`, which says that what computes them gives no others, no task checks them. `ppopt import` writes it where ids follow from constants. The gradient is a `pp.scatter_add`. Axes may cut every
    dimension but `dim` of x.

    Example:

    ```mlir
    %y = pp.gather %x, %ids {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, PP_IntTensor:$ids, PP_I64Attr:$dim, UnitAttr:$in_range);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x `,` $ids attr-dict `:` type($x) `,` type($ids)";
  let hasVerifier = 1;
}

def PP_ScatterAddOp : PP_ModelOp<"scatter_add", [PP_IndexSpace, PP_Form, PP_Adjoint, AllTypesMatch<["x", "result"]>]> {
  let summary = "x, with updates added at ids along `dim`";
  let description = [{
    result[ids[i, j], j] is x's element plus all updates[i, j] with that id, for dim 0. Updates are added one after the other in the order of their
    index along `dim`, on any number of threads; in bf16 each sum is rounded. ids and updates have one shape, with the rank of x and its size in every other
    dimension. ids are as those of `pp.gather`, the gradient of the updates.

    Example:

    ```mlir
    %y = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, PP_IntTensor:$ids, PP_NumberTensor:$updates, PP_I64Attr:$dim, UnitAttr:$in_range);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$x `,` $ids `,` $updates attr-dict `:` type($x) `,` type($ids) `,` type($updates)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns whether x is a constant of zeros.
    bool addsToZeros();
  }];
}

def PP_ScatterOp : PP_ModelOp<"scatter", [PP_Space, PP_Decompose, AllTypesMatch<["x", "result"]>]> {
  let summary = "x, with updates in place of its elements at ids along `dim`";
  let description = [{
    As `pp.scatter_add`, but an update takes the place of the element. Of several with the same id the last one along `dim` does, and the others have a gradient
    of 0, as the elements of x have that are replaced. A composite of `pp.sort` and `pp.scatter_add`, replaced before autodiff; an update of -0 becomes 0.

    Example:

    ```mlir
    %y = pp.scatter %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, PP_IntTensor:$ids, PP_NumberTensor:$updates, PP_I64Attr:$dim);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$x `,` $ids `,` $updates attr-dict `:` type($x) `,` type($ids) `,` type($updates)";
  let hasVerifier = 1;
}

def PP_OneHotOp : PP_ModelOp<"one_hot", [PP_IndexSpace, PP_Element]> {
  let summary = "1 at each id in a new last dimension of the result's size, else 0";
  let description = [{
    ids are in [0, classes), and are checked as those of `pp.embedding`.

    Example:

    ```mlir
    %y = pp.one_hot %ids : tensor<4xi32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_IntTensor:$ids);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$ids attr-dict `:` type($ids) `to` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def PP_TopKOp : PP_ModelOp<"top_k", [PP_Space, PP_Decompose]> {
  let summary = "the largest elements along `dim`, and their indices";
  let description = [{
    The `k` largest in descending order; with `smallest` the smallest in ascending order. Of equal elements that with the lower index comes
    first. NaN is larger than all numbers, as in PyTorch. The gradient of the values goes to the elements; ids have none. A composite, replaced before
    autodiff.

    Example:

    ```mlir
    %values, %ids = pp.top_k %x {k = 2 : i64, dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, PP_I64Attr:$k, PP_I64Attr:$dim, UnitAttr:$smallest);
  let results = (outs PP_NumberTensor:$values, PP_IntTensor:$ids);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($values) `,` type($ids)";
  let hasVerifier = 1;
}

def PP_SortOp : PP_ModelOp<"sort", [PP_Space, PP_Decompose, AllTypesMatch<["x", "values"]>]> {
  let summary = "x in ascending order along `dim`, and the indices of its elements";
  let description = [{
    With `descending` in descending order. Of equal elements that with the lower index comes first, in either order: the sort is stable. NaN is larger than
    all numbers. A composite, replaced before autodiff.

    Example:

    ```mlir
    %values, %ids = pp.sort %x {dim = 1 : i64, descending} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, PP_I64Attr:$dim, UnitAttr:$descending);
  let results = (outs PP_NumberTensor:$values, PP_IntTensor:$ids);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($values) `,` type($ids)";
  let hasVerifier = 1;
}

def PP_OrderOp : PP_ModelOp<"order", [PP_Space, PP_Form]> {
  let summary = "indices of the elements of each row, the largest first";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Rows are those of the last dimension. The result has the first few, at most `mostSelected` (lib/Dialect/PP/IndicesOrder.cpp), or all. With `smallest` the
    smallest is first. Equal elements and NaN are as in `pp.top_k`, which is made of it.

    Example:

    ```mlir
    %ids = pp.order %x : tensor<4x8xf32> to tensor<4x2xi64>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, UnitAttr:$smallest);
  let results = (outs PP_IntTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sums and moves along a dimension
//===----------------------------------------------------------------------===//

def PP_CumsumOp : PP_ModelOp<"cumsum", [SameOperandsAndResultType, PP_LinearSpace, PP_Form, PP_Adjoint]> {
  let summary = "running sums along `dim`";
  let description = [{
    Element i is the sum of the elements up to i; with `exclusive` of those before i; with `reverse` it counts from the end. Elements are added one after
    the other, those of bf16 in f32.

    Example:

    ```mlir
    %y = pp.cumsum %x {dim = 1 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, PP_I64Attr:$dim, UnitAttr:$reverse, UnitAttr:$exclusive);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

class PP_TriangleOp<string mnemonic, string what> : PP_ModelOp<mnemonic, [SameOperandsAndResultType, PP_LinearSpace, PP_Decompose]> {
  let summary = "x, but 0 " # what # " the diagonal of its last two dimensions";
  let description = "`diagonal` counts from the main one upward. A composite, replaced before autodiff.\n\nExample:\n\n```mlir\n%y = pp." # mnemonic #
      " %x {diagonal = 1 : i64} : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_NumberTensor:$x, DefaultValuedAttr<PP_I64Attr, "0">:$diagonal);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def PP_TrilOp : PP_TriangleOp<"tril", "above">;
def PP_TriuOp : PP_TriangleOp<"triu", "below">;

def PP_RollOp : PP_ModelOp<"roll", [SameOperandsAndResultType, PP_LinearSpace, PP_Decompose]> {
  let summary = "x moved by `shift` along `dim`; what leaves it at the end enters at the start";
  let description = [{
    A negative `shift` moves to the start. A composite, replaced before autodiff.

    Example:

    ```mlir
    %y = pp.roll %x {shift = 1 : i64, dim = 1 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, PP_I64Attr:$shift, PP_I64Attr:$dim);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Mixtures of experts
//===----------------------------------------------------------------------===//

def PP_DispatchOp : PP_ModelOp<"dispatch", [PP_Space, PP_Decompose]> {
  let summary = "rows of tokens, moved to the buffers of their experts";
  let description = [{
    x [B, T, D], experts [B, T, k], result [B, E, C, D]: token t of batch row b goes to the buffers of its k experts. Each expert has room for C tokens of
    each batch row, and takes them in the order of (token, choice); those that come after the first C are dropped. Places that no token takes are 0. Ids of
    experts are in [0, E), and are checked. `pp.combine` moves rows back. A composite, replaced before autodiff.

    Example:

    ```mlir
    %rows = pp.dispatch %x, %experts : tensor<2x4x8xf32>, tensor<2x4x2xi32> to tensor<2x3x3x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_IntTensor:$experts);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $experts attr-dict `:` type($x) `,` type($experts) `to` type($result)";
  let hasVerifier = 1;
}

def PP_CombineOp : PP_ModelOp<"combine", [PP_Space, PP_Decompose]> {
  let summary = "the weighted sum of what a token's experts computed";
  let description = [{
    y [B, E, C, D], experts and weights [B, T, k], result [B, T, D]: the rows that `pp.dispatch` moved for the same experts, times their weights, summed over
    the k choices. A choice that was dropped adds 0. A composite, replaced before autodiff.

    Example:

    ```mlir
    %y = pp.combine %rows, %experts, %weights : tensor<2x3x3x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32> to tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$y, PP_IntTensor:$experts, PP_FloatTensor:$weights);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$y `,` $experts `,` $weights attr-dict `:` type($y) `,` type($experts) `,` type($weights) `to` type($result)";
  let hasVerifier = 1;
}

#endif // PPOPT_DIALECT_PP_INDEX_OPS
