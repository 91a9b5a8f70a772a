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

#endif // PPOPT_DIALECT_PP_INDEX_OPS
