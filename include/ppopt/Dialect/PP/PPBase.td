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
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // Of the table in lib/Dialect/PP/DeclaredAttributes.cpp.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
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

/// What is in flight in a schedule: types of values that exist from the start of a communication to its wait.
class PP_Type<string name, string mnemonic_> : TypeDef<PP_Dialect, name> {
  let mnemonic = mnemonic_;
}

def PP_Token : PP_Type<"Token", "token"> {
  let summary = "something in flight that a wait completes";
  let description = [{
    A send, or a collective on memory. Each is waited for once.
  }];
}

def PP_Future : PP_Type<"Future", "future"> {
  let summary = "a value that is being received";
  let description = [{
    `!pp.future<tensor<4x8xf32>>`: its wait gives the tensor.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$value);
  let assemblyFormat = "`<` $value `>`";
}

def PP_InFlight : AnyTypeOf<[PP_Token, PP_Future], "a token or a future">;

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

/// A number that is used as f64, written as a float of any type or as an integer.
def PP_RealAttr : Attr<CPred<"::mlir::pp::isReal($_self)">, "number that is not rounded (leave out a type such as f32)"> {
  let storageType = "::mlir::TypedAttr";
  let returnType = "::llvm::APFloat";
  let convertFromStorage = "::mlir::pp::getReal($_self)";
  let constBuilderCall = "$_builder.getFloatAttr($_builder.getF64Type(), $0)";
}

class PP_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::pp";
  let genSpecializedAttr = 0;
  let parameterParser = "parseWord<" # cppType # ">($_parser, " # stringToSymbolFnName # ", \"" # !interleave(!foreach(case, cases, case.str), ", ") # "\")";
}

def PP_InitKind : PP_Enum<"InitKind", "how a parameter is initialized", [
  I32EnumAttrCase<"Zeros", 0, "zeros">,
  I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Uniform", 2, "uniform">,
  I32EnumAttrCase<"Normal", 3, "normal">,
  I32EnumAttrCase<"TruncNormal", 4, "trunc_normal">,
  I32EnumAttrCase<"XavierUniform", 5, "xavier_uniform">,
  I32EnumAttrCase<"XavierNormal", 6, "xavier_normal">,
  I32EnumAttrCase<"KaimingUniform", 7, "kaiming_uniform">,
  I32EnumAttrCase<"KaimingNormal", 8, "kaiming_normal">]>;

def PP_Distribution : PP_Enum<"Distribution", "how random numbers are distributed", [
  I32EnumAttrCase<"Uniform", 0, "uniform">,
  I32EnumAttrCase<"Normal", 1, "normal">]>;
def PP_DistributionAttr : EnumAttr<PP_Dialect, PP_Distribution, "distribution"> {
  let assemblyFormat = "$value";
}

def PP_RotaryScaling : PP_Enum<"RotaryScaling", "how rotary frequencies are scaled", [
  I32EnumAttrCase<"Linear", 0, "linear">,
  I32EnumAttrCase<"Ntk", 1, "ntk">,
  I32EnumAttrCase<"Llama3", 2, "llama3">]>;
def PP_RotaryScalingAttr : EnumAttr<PP_Dialect, PP_RotaryScaling, "rotary_scaling"> {
  let assemblyFormat = "$value";
}

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
  I32EnumAttrCase<"Value", 3, "value">,        // no state: handed from one task to another; it has no name and is not written
  I32EnumAttrCase<"Global", 4, "global">,      // computed by the prologue, complete over the batch: argument and result tied there
  I32EnumAttrCase<"Loss", 5, "loss">,          // the loss accumulator: argument and result tied
  I32EnumAttrCase<"StepState", 6, "step_state">,      // a field of the step state, by name
  I32EnumAttrCase<"ParamRange", 7, "param_range">, // a bucket's parameters, flat: tied
  I32EnumAttrCase<"GradRange", 8, "grad_range">,   // a bucket's gradients, flat
  I32EnumAttrCase<"StateRange", 9, "state_range">, // one optimizer state of a bucket, flat: tied
  I32EnumAttrCase<"Norm", 10, "norm">,         // sums of squares of gradients, one per place and chunk: tied where a task adds to one
  I32EnumAttrCase<"Cache", 11, "cache">,       // in a generating program, the values that earlier positions stored: tied
  I32EnumAttrCase<"Output", 12, "output">,     // a result of the model with the rows of the batch, by name; in a generating program the scores of the next token
  I32EnumAttrCase<"Check", 13, "check">,       // the largest id that was out of range, or 0: tied; unique in the module
  I32EnumAttrCase<"Metric", 14, "metric">,     // in an evaluation, the accumulator of a metric, by name: tied
  I32EnumAttrCase<"MetricCount", 15, "metric_count">, // the accumulator of what a metric is divided by: tied
  I32EnumAttrCase<"Proposal", 16, "proposal">]>; // what the microbatches of a step make of a state, by name: tied in the task that proposes

def PP_RoleAttr : PP_Attr<"Role", "role"> {
  let summary = "what a task's argument or result is, and its name";
  let description = [{
    `#pp.role<state_range, "b0", "m">` names a bucket and one of the optimizer's states; every other role has one name.
  }];
  let parameters = (ins EnumParameter<PP_RoleKind>:$kind, StringRefParameter<>:$name, StringRefParameter<"", [{""}]>:$state);
  let builders = [AttrBuilder<(ins "::mlir::pp::RoleKind":$kind, "::llvm::StringRef":$name),
                              [{ return $_get($_ctxt, kind, name, ""); }]>];
  let assemblyFormat = "`<` $kind `,` $name (`,` $state^)? `>`";
  let genVerifyDecl = 1;
}

def PP_MemoryKind : PP_Enum<"MemoryKind", "what memory of an arena is for", [
  I32EnumAttrCase<"StepState", 0, "step_state">,         // and the scalars that tasks add to
  I32EnumAttrCase<"Parameters", 1, "parameters">,
  I32EnumAttrCase<"Gradients", 2, "gradients">,
  I32EnumAttrCase<"Optimizer", 3, "optimizer">,
  I32EnumAttrCase<"Inputs", 4, "inputs">,
  I32EnumAttrCase<"Caches", 5, "caches">,
  I32EnumAttrCase<"Activations", 6, "activations">,      // slots, temporaries, outputs
  I32EnumAttrCase<"Workspace", 7, "workspace">,
  I32EnumAttrCase<"Communication", 8, "communication">,
  I32EnumAttrCase<"Masters", 9, "masters">]>;            // parameters that an owner updates while others read copies

def PP_BufferKind : PP_Enum<"BufferKind", "what a buffer of a rank's arena holds", [
  I32EnumAttrCase<"Params", 0, "params">,        // a bucket's parameters, by the bucket's name
  I32EnumAttrCase<"Param", 1, "param">,          // a parameter that no bucket holds, by name
  I32EnumAttrCase<"Grads", 2, "grads">,          // a bucket's gradients
  I32EnumAttrCase<"State", 3, "state">,          // one optimizer state of a bucket, by the names of both
  I32EnumAttrCase<"Input", 4, "input">,          // a rank's rows of an input, of all microbatches
  I32EnumAttrCase<"Slots", 5, "slots">,          // the slots of a schedule
  I32EnumAttrCase<"Temps", 6, "temps">,          // the temporaries of a task
  I32EnumAttrCase<"Workspace", 7, "workspace">,  // the end of a task's temporaries, for library calls
  I32EnumAttrCase<"StepState", 8, "step_state">, // ppopt_step_state
  I32EnumAttrCase<"Loss", 9, "loss">,
  I32EnumAttrCase<"Norm", 10, "norm">,
  I32EnumAttrCase<"Global", 11, "global">,       // a sum over the batch, by name
  I32EnumAttrCase<"Check", 12, "check">,         // the status of a check of ids, by name
  I32EnumAttrCase<"Cache", 13, "cache">,         // in a generating program, by name
  I32EnumAttrCase<"Output", 14, "output">,       // a rank's rows of a result, by name
  I32EnumAttrCase<"Metric", 20, "metric">,       // by name
  I32EnumAttrCase<"MetricCount", 21, "metric_count">, // what it is divided by, by name
  I32EnumAttrCase<"Proposal", 22, "proposal">,   // what the microbatches of a step make of a state, by the state's name
  I32EnumAttrCase<"Scratch", 15, "scratch">,     // the receive buffer of a sum of another buffer
  // Of asynchronous training:
  I32EnumAttrCase<"Master", 16, "master">,       // the chunk of a bucket's parameters that the rank owns, by the bucket's name
  I32EnumAttrCase<"Inbox", 17, "inbox">,         // gradients of the other trainers, each as large as the largest chunk
  I32EnumAttrCase<"UpdateState", 18, "update_state">,   // ppopt_step_state of an update
  I32EnumAttrCase<"UpdateTemps", 19, "update_temps">]>; // the temporaries of updates

def PP_BufferAttr : PP_Attr<"Buffer", "buffer"> {
  let summary = "a buffer of a rank's arena";
  let description = [{
    What it holds and, where there are several of the kind, which: `#pp.buffer<params, "b0">` of bucket @b0, `#pp.buffer<state, "b0", "m">`,
    `#pp.buffer<input, "x">`, `#pp.buffer<slots>`, `#pp.buffer<scratch of <grads, "b0">>`.
  }];
  let parameters = (ins EnumParameter<PP_BufferKind>:$kind, StringRefParameter<"", [{""}]>:$name,
                        StringRefParameter<"", [{""}]>:$state, OptionalParameter<"::mlir::pp::BufferAttr">:$of);
  let builders = [AttrBuilder<(ins "::mlir::pp::BufferKind":$kind, CArg<"::llvm::StringRef", [{""}]>:$name,
                                   CArg<"::llvm::StringRef", [{""}]>:$state),
                              [{ return $_get($_ctxt, kind, name, state, nullptr); }]>];
  let assemblyFormat = "`<` $kind (`,` $name^)? (`,` $state^)? (`of` $of^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What the memory is for.
    ::mlir::pp::MemoryKind getMemoryKind() const;
  }];
}

def PP_StrideAttr : PP_Attr<"Stride", "stride"> {
  let summary = "bytes from one coordinate on an axis to the next";
  let parameters = (ins "::mlir::StringAttr":$axis, "int64_t":$bytes);
  let assemblyFormat = "`` custom<AxisName>($axis) `*` $bytes";
}

def PP_AddressAttr : PP_Attr<"Address", "address"> {
  let summary = "a byte of a buffer";
  let description = [{
    The byte `offset` of the buffer and, for each of the `strides`, as many bytes more as the rank's coordinate on the axis times the stride:
    `#pp.address<<grads, "b0"> + 0 + dp * 512>`.
  }];
  let parameters = (ins "::mlir::pp::BufferAttr":$buffer, "int64_t":$offset, OptionalArrayRefParameter<"::mlir::pp::StrideAttr">:$strides);
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::pp::BufferAttr":$buffer, "int64_t":$offset), [{ return $_get(buffer.getContext(), buffer, offset, ::llvm::ArrayRef<::mlir::pp::StrideAttr>()); }]>];
  let assemblyFormat = "`<` $buffer `+` $offset (`+` $strides^)? `>`";
}

def PP_TileCutAttr : PP_Attr<"TileCut", "tile_cut"> {
  let summary = "one axis that cuts a dimension of a tensor";
  let description = [{
    Index i of dimension `dim` of the global tensor has coordinate (i mod `period`) / (`period` / `parts`) on `axis`. Element `at` of the random key is
    the rank's coordinate.
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::StringAttr":$axis, "int64_t":$at, "int64_t":$parts, "int64_t":$period);
  let assemblyFormat = [{
    `{` `dim` `=` $dim `,` `axis` `=` custom<AxisName>($axis) `,` `at` `=` $at `,` `parts` `=` $parts `,` `period` `=` $period `}`
  }];
  let extraClassDeclaration = [{
    ::mlir::pp::AxisCut getCut() const { return {getAxis(), getAt(), getParts(), getPeriod()}; }
  }];
}

def PP_TileAttr : PP_Attr<"Tile", "tile"> {
  let summary = "position of a tile in the global tensor";
  let description = [{
    Every cut of the local tensor, by dimension and falling period, and the shape of the global tensor.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::pp::TileCutAttr">:$cuts, ArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` `[` $cuts `]` `,` `[` $shape `]` `>`";
  let extraClassDeclaration = [{
    /// The cuts of a dimension, outermost first.
    ::mlir::pp::AxisCuts getCuts(int64_t dim) const;
  }];
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

def PP_KernelForm : PP_Enum<"KernelForm", "how a kernel goes through its space", [
  I32EnumAttrCase<"Rows", 0, "rows">,                     // row by row, in sweeps over the columns
  I32EnumAttrCase<"Columns", 1, "columns">,               // a reduction over rows
  I32EnumAttrCase<"Scatter", 2, "scatter">,               // rows are added to the rows of a table at ids
  I32EnumAttrCase<"Attention", 3, "attention">,
  I32EnumAttrCase<"AttentionStep", 4, "attention_step">,  // of one position, with caches
  I32EnumAttrCase<"AttentionGrad", 5, "attention_grad">,
  I32EnumAttrCase<"Order", 6, "order">,                   // rows of indices, by their elements' order
  I32EnumAttrCase<"Scan", 7, "scan">,                     // running sums along a dimension
  I32EnumAttrCase<"Conv", 8, "conv">]>;                   // sums over the elements of a window

def PP_FormAttr : PP_Attr<"Form", "form"> {
  let summary = "a kernel's form and its space";
  let description = [{
    The last of `sizes` is the columns of the space, the others are its rows. Rows, columns: the shape of the full values, without
    dimensions of size 1. Scatter: that of the rows that are added. Attention: that of q. Conv: that of the result.
    Example: `#pp.form<rows 7x33>`.
  }];
  let parameters = (ins EnumParameter<PP_KernelForm>:$kind, ArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = "`<` $kind custom<Sizes>($sizes) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getColumns() const { return getSizes().back(); }
    int64_t getRows() const { return ::llvm::product_of(getSizes().drop_back()); }
    int64_t getNumElements() const { return ::llvm::product_of(getSizes()); }
  }];
}

def PP_TileUnit : PP_Enum<"TileUnit", "what the size of a tile counts", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Elements", 1, "elements">,  // of a flat range: rows and columns are one
  I32EnumAttrCase<"Columns", 2, "columns">,
  I32EnumAttrCase<"Queries", 3, "queries">,    // of one head
  I32EnumAttrCase<"Heads", 4, "heads">]>;

def PP_TilesAttr : PP_Attr<"Tiles", "tiles"> {
  let summary = "the tiles of a kernel's space";
  let description = [{
    A launch computes `count` tiles, in any order, each on one thread, or on one block of threads of a GPU. The last tile of a row, or of all,
    may be smaller. `block`: the keys that an attention packs at a time; the rows of the table that a scatter adds to. Examples:
    `#pp.tiles<7 of 1 rows>`, `#pp.tiles<12 of 256 queries, blocks of 64>`.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$size, EnumParameter<PP_TileUnit>:$unit, OptionalParameter<"int64_t">:$block);
  let assemblyFormat = "`<` $count `of` $size $unit (`,` `blocks` `of` $block^)? `>`";
  let genVerifyDecl = 1;
}

def PP_ThreadsAttr : PP_Attr<"Threads", "threads"> {
  let summary = "the threads of a GPU that compute a tile";
  let description = [{
    A block has `count` threads. `perRow` of them, a power of two, share a row; each takes `each` neighbouring elements at a time. A row's
    element c belongs to thread (c / each) mod perRow of the row's. `shared`: bytes of memory that the threads share, beside what the code
    declares. Examples: `#pp.threads<256, 32 per row, 8 each>`, eight rows; `#pp.threads<256, 16 per row, 1 each, 41600 shared>`.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$perRow, "int64_t":$each, DefaultValuedParameter<"int64_t", "0">:$shared);
  let assemblyFormat = "`<` $count `,` $perRow `per` `row` `,` $each `each` (`,` $shared^ `shared`)? `>`";
  let genVerifyDecl = 1;
}

def PP_MatmulDim : PP_Enum<"MatmulDim", "a dimension of a matmul", [
  I32EnumAttrCase<"M", 0, "m">, I32EnumAttrCase<"N", 1, "n">, I32EnumAttrCase<"K", 2, "k">]>;

def PP_MatmulKernelAttr : PP_Attr<"MatmulKernel", "matmul_kernel"> {
  let summary = "how the threads of a GPU compute a matmul";
  let description = [{
    The kernel `name` has `blocks` blocks of `threads` threads, each with `shared` bytes of memory that its threads share. A block computes a
    `tile` of C, m × n, and takes k terms of the sums at a time; each thread of f32 and f64, each warp of bf16, has a `part` of it. Threads
    load `aWidth` neighbouring elements of A along m or k, `bWidth` of B along n or k, and store `cWidth` of C along n. With `sum`, a sum ends
    after that many terms, is added to C, and the next begins at zero. Example:
    `#pp.matmul_kernel<@matmul_129x65x33_f32, 6 of 128 threads, tile 64x64x8, part 4x8, a 1 along k, b 1 along n, c 1, 8704 shared>`.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$name, "int64_t":$blocks, "int64_t":$threads, ArrayRefParameter<"int64_t">:$tile,
                        ArrayRefParameter<"int64_t">:$part, "int64_t":$aWidth, EnumParameter<PP_MatmulDim>:$aAlong, "int64_t":$bWidth,
                        EnumParameter<PP_MatmulDim>:$bAlong, "int64_t":$cWidth, "int64_t":$shared, OptionalParameter<"int64_t">:$sum);
  let assemblyFormat = [{
    `<` $name `,` $blocks `of` $threads `threads` `,` `tile` custom<Sizes>($tile) `,` `part` custom<Sizes>($part) `,` `a` $aWidth `along` $aAlong
    `,` `b` $bWidth `along` $bAlong `,` `c` $cWidth `,` $shared `shared` (`,` `sums` `of` $sum^)? `>`
  }];
  let genVerifyDecl = 1;
}

def PP_TargetAttr : PP_Attr<"Target", "target"> {
  let summary = "what code is compiled for";
  let description = [{
    `name` is the kind of device. `threads` per rank. `cpu` and `features` as LLVM names them. `gpu` is an architecture such as `sm_90a`.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$threads, StringRefParameter<>:$cpu, StringRefParameter<>:$features,
                        StringRefParameter<"", "\"\"">:$gpu);
  let assemblyFormat = "`<` $name `,` `threads` `=` $threads `,` `cpu` `=` $cpu `,` `features` `=` $features (`,` `gpu` `=` $gpu^)? `>`";
}

def PP_TableAttr : PP_Attr<"Table", "table"> {
  let summary = "a schedule as a table: the runs of each place in order";
  let description = [{
    A list per place; a run is its stage, what it does (F, B, I or W) and its microbatch. Example: `#pp.table<[0F0, 0B0], [1F0, 1B0]>`.
  }];
  let parameters = (ins AttrParameter<"::ppopt::schedule::Table", "the table", "const ::ppopt::schedule::Table &">:$table);
  let hasCustomAssemblyFormat = 1;
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

def PP_CollectiveAttr : PP_Attr<"Collective", "collective"> {
  let summary = "what a collective does";
  let description = [{
    One of `runtime/geometry/collectives.def`: `all_reduce`, `all_gather`, `reduce_scatter`, …
  }];
  let parameters = (ins "::ppopt::geometry::Collective":$kind);
  let hasCustomAssemblyFormat = 1;
}

def PP_ShardedState : PP_Enum<"ShardedState", "what ranks have a chunk of, with what comes before it", [
  I32EnumAttrCase<"States", 1, "states">,            // the optimizer's
  I32EnumAttrCase<"Gradients", 2, "gradients">,
  I32EnumAttrCase<"Parameters", 3, "parameters">]>;
def PP_ShardedStateAttr : EnumAttr<PP_Dialect, PP_ShardedState, "sharded_state"> {
  let assemblyFormat = "`<` $value `>`";
}

def PP_TaskCollectiveAttr : PP_Attr<"TaskCollective", "task_collective"> {
  let summary = "a collective that runs of a task make";
  let description = [{
    `#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 640 x f32>`: what it does, over which ranks, on which channel, of what, and the
    elements and type of the whole.
  }];
  let parameters = (ins "::mlir::pp::CollectiveAttr":$collective, "::mlir::pp::GroupAttr":$group, "int64_t":$channel, StringRefParameter<>:$what,
                        "int64_t":$elements, "::mlir::Type":$type);
  let assemblyFormat = "`<` $collective `over` $group `channel` $channel $what `of` $elements `x` $type `>`";
}
def PP_TaskCollectives : TypedArrayAttrBase<PP_TaskCollectiveAttr, "collectives of a task">;

def PP_ShardingAttr : PP_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor is cut, and over which axes it is a partial result";
  let description = [{
    `cuts` lists the axes that cut each dimension, outermost first, dimension by dimension. Over `sums` the value is the sum of what the coordinates
    have, over `maxima` the maximum. [sharding.md](../sharding.md) says what the text means. Example:
    `#pp.sharding<[{dp, mb}, {}, {3 * tp} ], sum = {fsdp}>`.
  }];
  let parameters = (ins "int64_t":$rank, ArrayRefParameter<"::mlir::pp::DimCut">:$cuts,
                        ArrayRefParameter<"::mlir::StringAttr">:$sums, ArrayRefParameter<"::mlir::StringAttr">:$maxima);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A value that is the same for all coordinates.
    static ShardingAttr getWhole(::mlir::MLIRContext *context, int64_t rank) { return get(context, rank, {}, {}, {}); }
    bool isWhole() const { return getCuts().empty() && getSums().empty() && getMaxima().empty(); }
    /// Whether the value is a partial result over some axis.
    bool isPartial() const { return !getSums().empty() || !getMaxima().empty(); }
    /// Returns the sharding over all other axes.
    ShardingAttr without(::llvm::StringRef axis) const;
  }];
}
def PP_Shardings : TypedArrayAttrBase<PP_ShardingAttr, "shardings">;

#endif // PPOPT_DIALECT_PP_BASE
