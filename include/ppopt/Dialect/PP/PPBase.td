//===- PPBase.td - The pp dialect, its types, attributes - -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_BASE
#define PPOPT_DIALECT_PP_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "ppopt/Dialect/PP/Interfaces.td"

def PP_Dialect : Dialect {
  let name = "pp";
  let cppNamespace = "::mlir::pp";
  let summary = "Models, their partitioning and schedule";
  let description = [{
    Model ops say what is computed; parallel ops say where; plan and schedule
    ops say when. All tensors are ranked with static shapes.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def PP_Float : AnyTypeOf<[F32, F64, BF16], "f32, f64 or bf16">;
def PP_Int : AnyTypeOf<[I32, I64], "i32 or i64">;
def PP_FloatTensor : StaticShapeTensorOf<[PP_Float]>;
def PP_IntTensor : StaticShapeTensorOf<[PP_Int]>;
def PP_BoolTensor : StaticShapeTensorOf<[I1]>;
def PP_NumberTensor : StaticShapeTensorOf<[PP_Float, PP_Int]>;
def PP_Tensor : StaticShapeTensorOf<[PP_Float, PP_Int, I1]> {
  let cppFunctionName = "isModelTensor";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class PP_Attr<string name, string mnemonic_> : AttrDef<PP_Dialect, name> {
  let mnemonic = mnemonic_;
}

/// MLIR's I64Attr, but signed in C++, like all sizes, counts and place numbers.
def PP_I64Attr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit signless integer attribute"> {
  let convertFromStorage = "$_self.getInt()";
}

class PP_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::pp";
  let genSpecializedAttr = 0;
}

def PP_InitKind : PP_Enum<"InitKind", "how a parameter is initialized", [
  I32EnumAttrCase<"Zeros", 0, "zeros">,
  I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Uniform", 2, "uniform">,
  I32EnumAttrCase<"Normal", 3, "normal">]>;

def PP_InitAttr : PP_Attr<"Init", "init"> {
  let summary = "initial value of a parameter";
  let description = [{
    `#pp.init<zeros>`, `#pp.init<ones>`, `#pp.init<uniform, low, high>` (low included,
    high not), `#pp.init<normal, mean, standard deviation>`. Elements are drawn by (seed, parameter name, global index).
  }];
  let parameters = (ins
    EnumParameter<PP_InitKind>:$kind,
    APFloatParameter<"low, or mean (f64)">:$first,
    APFloatParameter<"high, or standard deviation (f64)">:$second);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def PP_RoleKind : PP_Enum<"RoleKind", "what a task's argument or result is", [
  I32EnumAttrCase<"Param", 0, "param">,        // a parameter, by name
  I32EnumAttrCase<"Grad", 1, "grad">,          // a parameter's gradient accumulator, by name: argument and result tied
  I32EnumAttrCase<"Input", 2, "input">,        // a model input, by name: this microbatch's rows
  I32EnumAttrCase<"Saved", 3, "saved">,        // from a task to later ones of the same place and microbatch; unique in the module
  I32EnumAttrCase<"Global", 4, "global">,      // computed by the prologue, complete over the batch: argument and result tied there
  I32EnumAttrCase<"Loss", 5, "loss">,          // the loss accumulator: argument and result tied
  I32EnumAttrCase<"StepState", 6, "step_state">,      // a field of the step state, by name
  I32EnumAttrCase<"ParamRange", 7, "param_range">, // a bucket's parameters, flat: tied
  I32EnumAttrCase<"GradRange", 8, "grad_range">,   // a bucket's gradients, flat
  I32EnumAttrCase<"StateRange", 9, "state_range">, // "state:bucket": one optimizer state of a bucket, flat: tied
  I32EnumAttrCase<"Norm", 10, "norm">,         // the sum of squares of this rank's gradients: tied
  I32EnumAttrCase<"Received", 11, "received">, // received from another place, by the transfer of that name
  I32EnumAttrCase<"Cache", 12, "cache">,       // in a generating program, the values that earlier positions stored: tied
  I32EnumAttrCase<"Logits", 13, "logits">,     // in a generating program, the scores of the next token
  I32EnumAttrCase<"Check", 14, "check">]>;     // the largest id that was out of range, or 0: tied; unique in the module

def PP_RoleAttr : PP_Attr<"Role", "role"> {
  let summary = "what a task's argument or result is, and its name";
  let parameters = (ins EnumParameter<PP_RoleKind>:$kind, StringRefParameter<>:$name);
  let assemblyFormat = "`<` $kind `,` $name `>`";
}

def PP_TileAttr : PP_Attr<"Tile", "tile"> {
  let summary = "position of a tile in the global tensor";
  let description = [{
    Dimension `dim` of the local tensor begins at (row offset of the random key) * `unit` of the
    global tensor of shape `shape`.
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$unit, ArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` $dim `,` $unit `,` `[` $shape `]` `>`";
}

def PP_IdRangeAttr : PP_Attr<"IdRange", "id_range"> {
  let summary = "the valid ids in a part of an input";
  let description = [{
    In the box [`begin`, `end`) of one row of the batch, ids are in [0, `size`) or equal `ignored`. `source` is the op that uses them as indices.
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$begin, "::mlir::DenseI64ArrayAttr":$end, "int64_t":$size,
                        OptionalParameter<"std::optional<int64_t>">:$ignored, StringRefParameter<>:$source);
  let assemblyFormat = "`<` $begin `,` $end `,` $size (`or` $ignored^)? `,` $source `>`";
}

def PP_MeshAxisAttr : PP_Attr<"MeshAxis", "axis"> {
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def PP_GroupAttr : PP_Attr<"Group", "group"> {
  let summary = "which ranks take part in a collective";
  let description = [{
    Ranks that differ on `axes` only are one group. With `among`, only those whose place is one of these take part. Example:
    `#pp.group<["dp", "pp"] among [0, 2]>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, OptionalArrayRefParameter<"int64_t">:$among);
  let assemblyFormat = "`<` `[` $axes `]` (`among` ` ` `[` $among^ `]`)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The group as the runtime sees it.
    ::ppopt::geometry::Group getGeometry() const;
  }];
}

def PP_CollectiveKind : PP_Enum<"CollectiveKind", "what a collective does", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,          // every rank has the sum
  I32EnumAttrCase<"AllGather", 1, "all_gather">,          // every rank has the chunks of all
  I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">]>; // every rank has its chunk of the sum
def PP_CollectiveKindAttr : EnumAttr<PP_Dialect, PP_CollectiveKind, "collective"> {
  let assemblyFormat = "$value";
}

#endif // PPOPT_DIALECT_PP_BASE
