//===- ModelOps.td - What a model computes --------------- -*- tablegen -*-===//
//
// An op is its entry, here or in ElementwiseOps.td, CompositeOps.td, AttentionOps.td or IndexOps.td, and its interfaces
// (lib/Dialect/PP). Passes do not refer to ops by name.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_MODEL_OPS
#define PPOPT_DIALECT_PP_MODEL_OPS

include "ppopt/Dialect/PP/OpBase.td"

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

// It has an effect so that a parameter without uses is kept: parameter files contain it.
def PP_ParamOp : PP_Op<"param", [PP_Space, MemoryEffects<[MemWrite]>]> {
  let opDocGroup = PP_ModelOps;
  let summary = "a parameter";
  let description = [{
    In the entry function only; names are unique. `frozen`: never updated. `state`: no gradient reaches it; a step changes it by a pp.propose, as
    running statistics. `no_decay`: weight decay leaves it alone.
    `lr_scale` and `decay_scale` are factors, at least 0, of the learning rate and of the weight decay; without them 1. A parameter that no op
    uses stays in the program. `--init` and `--export` store it by this name and shape, row by row, unless a map says otherwise (docs/maps.md).
    `pp.aliases = ["lm_head.weight"]` has more names that it has in files: `--export` writes a copy under each, `--init` takes any of them.
    From phase `placed` on there is one op per `place` that uses the parameter. `shard`: how the parameter is cut; axes that the mesh lacks are
    ignored, so that one file serves every mesh. In a `pp.repeat` the name contains the number of the iteration: `"h.{i}.w"`.

    Initial values are drawn by seed, name and global index ([random-numbers.md](../random-numbers.md#initial-values)): `zeros`, `ones`,
    `uniform, low, high` (low included, high not), `normal, mean, std`, `trunc_normal, mean, std` (a normal value drawn again until it is at most two
    std from the mean), `xavier_uniform, gain` and `xavier_normal, gain` (of the last two dimensions, in either order), and `kaiming_uniform, gain, fan`
    and `kaiming_normal, gain, fan` (the fan in or out, which the layout of the weight decides, as a number).

    Example:

    ```mlir
    %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.02>} : tensor<8x4xf32>
    %b = pp.param "b" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
    %e = pp.param "e" {init = #pp.init<zeros>, lr_scale = 0.1} : tensor<4xf32>
    %c = pp.param "c" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp} ]>} : tensor<4x8xf32>
    %k = pp.param "k" {init = #pp.init<kaiming_uniform, 1.0, 4>} : tensor<4x8xf32>
    %m = pp.param "m" {init = #pp.init<zeros>, state} : tensor<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$param_name, PP_InitAttr:$init, UnitAttr:$frozen, UnitAttr:$state, UnitAttr:$no_decay,
                       OptionalAttr<PP_RealAttr>:$lr_scale, OptionalAttr<PP_RealAttr>:$decay_scale,
                       OptionalAttr<PP_I64Attr>:$place, OptionalAttr<PP_ShardingAttr>:$shard);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$param_name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def PP_ConstantOp : PP_ModelOp<"constant", [PP_Space, PP_Element, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant tensor";
  let description = [{
    Example:

    ```mlir
    %c = pp.constant dense<0.5> : tensor<f32>
    %d = pp.constant dense<[1, 2, 3]> : tensor<3xi32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$splat), [{}]>];
  let skipDefaultBuilders = 0;
}

def PP_IotaOp : PP_ModelOp<"iota", [PP_TiledSpace, PP_Element]> {
  let summary = "each element is its global index along `dim`";
  let description = [{
    Where axes cut `dim`, `tile` says how, and `key` is the random key, which has the rank's coordinates.

    Example:

    ```mlir
    %positions = pp.iota {dim = 1 : i64} -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins Optional<PP_IntTensor>:$key, PP_I64Attr:$dim, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "($key^ `:` type($key))? attr-dict `->` type($result)";
  let hasVerifier = 1;
}

def PP_RandomOp : PP_ModelOp<"random", [PP_TiledSpace, PP_Element]> {
  let summary = "random numbers";
  let description = [{
    `uniform`: from `low` (0 by default) up to and without `high` (1). `normal`: of `mean` (0) and standard deviation `std` (1). Drawn by seed, step,
    `stream` and global index, as those of `pp.dropout` are; in evaluation too, at whose step each batch draws the same. It has no gradient. Rounding may
    give `high` itself.

    Example:

    ```mlir
    %u = pp.random uniform {low = -1.0 : f64} -> tensor<4x8xf32>
    %z = pp.random normal {std = 0.1 : f64} -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_DistributionAttr:$distribution, Optional<PP_IntTensor>:$key, OptionalAttr<PP_RealAttr>:$low, OptionalAttr<PP_RealAttr>:$high,
                       OptionalAttr<PP_RealAttr>:$mean, OptionalAttr<PP_RealAttr>:$std, OptionalAttr<PP_I64Attr>:$stream, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$distribution (`key` $key^ `:` type($key))? attr-dict `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns low and high, or mean and standard deviation.
    std::pair<double, double> getNumbers();
  }];
}

//===----------------------------------------------------------------------===//
// Loops over layers
//===----------------------------------------------------------------------===//

def PP_RepeatOp : PP_Op<"repeat", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "its body, `count` times in succession";
  let opDocGroup = PP_ModelOps;
  let description = [{
    The first iteration takes the values of `iter`, each later one what the one before it yields, and the results are what the last one yields. The
    body reads values from outside. `pp-unroll-repeats` replaces the op, at the beginning of phase `model`, by copies of its body: there is nothing of
    it afterwards, and the model is the one in which the copies are written out.

    In the strings of the body's attributes `{i}` becomes the number of the iteration, from 0 on; a parameter needs it in its name. `index` gives it
    another name, so that repeats nest. What is to differ between iterations otherwise is a `pp.each`.

    Example:

    ```mlir
    %y = pp.repeat 3 iter (%h = %x) -> (tensor<4x8xf32>) {
      %c = pp.each dense<[0.5, 0.25, 0.125]> : tensor<3xf32>
      %s = pp.mul %h, %c : tensor<4x8xf32>, tensor<f32>
      %g = pp.tanh %s : tensor<4x8xf32>
      pp.yield %g : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins PP_I64Attr:$count, DefaultValuedStrAttr<StrAttr, "i">:$index, Variadic<PP_Tensor>:$inits);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<PP_Tensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def PP_EachOp : PP_ModelOp<"each", [PP_Infer]> {
  let summary = "a constant of each iteration";
  let description = [{
    In a `pp.repeat`, whose count is the first dimension of the value: a constant with the element, or the row, of the iteration. In repeats inside of
    repeats it names the `index` that it follows, if that is not "i".

    Example:

    ```mlir
    %y = pp.repeat 2 index "j" iter (%h = %x) -> (tensor<4x8xf32>) {
      %c = pp.each "j" dense<[0.5, 0.25]> : tensor<2xf32>
      %s = pp.mul %h, %c : tensor<4x8xf32>, tensor<f32>
      pp.yield %s : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins DefaultValuedStrAttr<StrAttr, "i">:$index, ElementsAttr:$values);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "($index^)? attr-dict $values";
  let hasVerifier = 1;
}

def PP_CheckpointOp : PP_ModelOp<"checkpoint", [SameOperandsAndResultType, PP_LinearSpace, PP_Element, PP_Adjoint]> {
  let summary = "the value, worth keeping for the backward";
  let description = [{
    If the plan's `recompute` is layer, the backward is given these values and inputs, and computes everything else again. When calls are
    inlined, each value that a function returns to its caller is marked.

    Example:

    ```mlir
    %y = pp.checkpoint %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def PP_ReshapeOp : PP_ModelOp<"reshape", [PP_LinearSpace, PP_Element, PP_Adjoint,
    DeclareOpInterfaceMethods<PP_ViewOpInterface, ["getOperandLayout", "keepsOrder", "hasInverse", "buildInverse"]>]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Example:

    ```mlir
    %y = pp.reshape %x : tensor<4x8xf32> to tensor<4x2x4xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PP_TransposeOp : PP_ModelOp<"transpose", [PP_Infer, PP_LinearSpace, PP_Element, PP_Adjoint,
    DeclareOpInterfaceMethods<PP_ViewOpInterface, ["getOperandLayout", "hasInverse", "buildInverse"]>]> {
  let summary = "dimension i of the result is dimension perm[i] of x";
  let description = [{
    Example:

    ```mlir
    %y = pp.transpose %x [1, 0] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x $perm attr-dict `:` type($x)";
  let hasFolder = 1;
}

def PP_SliceOp : PP_ModelOp<"slice", [PP_MovedSpace, PP_Element, PP_Adjoint, PP_View]> {
  let summary = "x from `offsets`, of the result's shape";
  let description = [{
    Example:

    ```mlir
    %y = pp.slice %x [0, 4] : tensor<4x8xf32> to tensor<4x4xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, DenseI64ArrayAttr:$offsets);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x $offsets attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

def PP_PadOp : PP_ModelOp<"pad", [PP_MovedSpace, PP_Element, PP_Adjoint]> {
  let summary = "x at `offsets` in a result of zeros";
  let description = [{
    Example:

    ```mlir
    %y = pp.pad %x [0, 2] : tensor<4x8xf32> to tensor<4x12xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, DenseI64ArrayAttr:$offsets);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x $offsets attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

def PP_ConcatOp : PP_ModelOp<"concat", [PP_Infer, PP_LinearSpace, PP_Element, PP_Adjoint]> {
  let summary = "operands one after the other along `dim`";
  let description = [{
    Example:

    ```mlir
    %y = pp.concat %a, %b {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Variadic<PP_Tensor>:$inputs, PP_I64Attr:$dim);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
}

def PP_BroadcastOp : PP_ModelOp<"broadcast", [PP_LinearSpace, PP_Element, PP_Adjoint, PP_View]> {
  let summary = "repeats x along new or unit dimensions";
  let description = [{
    Dimension i of x becomes dimension dims[i] of the result (increasing), of the same size or
    repeated if x's is 1; all other dimensions of the result repeat x.

    Example:

    ```mlir
    %y = pp.broadcast %x [1] : tensor<8xf32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x $dims attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and matmuls
//===----------------------------------------------------------------------===//

def PP_ReduceKind : PP_Enum<"ReduceKind", "reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"Any", 4, "any">, I32EnumAttrCase<"All", 5, "all">]>;
def PP_ReduceKindAttr : EnumAttr<PP_Dialect, PP_ReduceKind, "reduction"> {
  let assemblyFormat = "$value";
}

def PP_ReduceOp : PP_ModelOp<"reduce", [PP_Infer, PP_LinearSpace, PP_Adjoint, PP_Decompose]> {
  let summary = "sum, mean, maximum, minimum, any or all over dimensions";
  let description = [{
    `dims` are increasing; with `keep_dims` they stay with size 1. `any` and `all` are of i1, the others of numbers. A minimum, any and all are composites,
    replaced before autodiff. A mean is a composite: a sum times a constant, one over
    the global count, from the end of phase `train` on. Elements that equal the maximum share its gradient equally. Sums and maxima do not decompose: they are the kernel
    emitter's one reduction.

    Example:

    ```mlir
    %s = pp.reduce sum %x [1] : tensor<4x8xf32>
    %m = pp.reduce mean %x [0, 1] {keep_dims} : tensor<4x8xf32>
    %n = pp.reduce min %x [1] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_ReduceKindAttr:$kind, PP_Tensor:$x, DenseI64ArrayAttr:$dims, UnitAttr:$keep_dims);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$kind $x $dims attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def PP_MatmulOp : PP_ModelOp<"matmul", [PP_Infer, PP_LinearSpace, PP_Adjoint, PP_Library]> {
  let summary = "matmul, with batch dimensions";
  let description = [{
    lhs is [batch..., M, K], or [batch..., K, M] with `transpose_lhs`. rhs is [batch..., K, N] or [K, N], with its last two dimensions swapped with
    `transpose_rhs`. So a weight on the right has the layout [inputs, outputs] (as in GPT-2), or with `transpose_rhs` [outputs, inputs] (as in PyTorch's
    `nn.Linear`). Batch dimensions are not broadcast: any number in lhs if rhs has none and lhs is not transposed, else at most two, equal in both.
    bf16 accumulates in f32.

    Example:

    ```mlir
    %y = pp.matmul %x, %w : tensor<2x4x8xf32>, tensor<8x3xf32>
    %z = pp.matmul %x, %v {transpose_rhs} : tensor<2x4x8xf32>, tensor<3x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$lhs, PP_FloatTensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def PP_ConvOp : PP_ModelOp<"conv", [PP_LinearSpace, PP_Form, PP_Adjoint, SameOperandsAndResultElementType]> {
  let summary = "convolution, in groups, of any number of spatial dimensions";
  let description = [{
    x is [B, G, C, S...], w [G, O, C, K...] and the result [B, G, O, P...], for G groups of C channels that become O. Its element at p is the sum over
    c and k of w times the element of x at `strides` * p + `dilations` * k + `offsets` in each spatial dimension, where x has one. So an offset
    of -1 is one element of padding on the left, and the size of the result says how much there is on the right. With `spreads` element i of x is
    at place i * spread, and nothing between (a transposed convolution). Strides and dilations are 1 by default, or negative: from the end to the
    start. The gradients are convolutions again. Products of bf16 are added in f32. Axes may cut B, G, C and O.

    Kernels read x directly. Windows that lie side by side are faster as a `pp.reshape`, `pp.transpose` and `pp.matmul`.

    Example:

    ```mlir
    %y = pp.conv %x, %w offsets [-1] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x8xf32>
    %z = pp.conv %x, %w strides [2] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x3xf32>
    %t = pp.conv %x, %w offsets [-2] spreads [2] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x17xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$w, OptionalAttr<DenseI64ArrayAttr>:$strides, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets, OptionalAttr<DenseI64ArrayAttr>:$spreads);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $w (`strides` $strides^)? (`dilations` $dilations^)? (`offsets` $offsets^)? (`spreads` $spreads^)? attr-dict `:` type($x) `,` type($w) `to` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The element p of a spatial dimension of the result reads x, for k of w, at (stride * p + dilation * k + offset) / spread.
    struct Window { int64_t stride, dilation, offset, spread; };
    Window getWindow(unsigned dim);
  }];
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

def PP_RotaryOp : PP_ModelOp<"rotary", [PP_Space, PP_Decompose, AllTypesMatch<["x", "result"]>]> {
  let summary = "rotary position embedding";
  let description = [{
    x is [..., T, D]. At each position of T pairs of elements of D are rotated: pair i by the position times its frequency, base to the -2i / width. The
    two elements of a pair are half a row apart (as in Llama's checkpoints of Hugging Face), or beside each other with `interleaved` (as in GPT-J). With
    a `width`, an even number, only so many elements of a row are rotated, and the others pass. Positions are global indices, from 0 on, or those that
    `at` gives: [T], or [B, T] where B is the first dimension of x (documents that are packed into a row each begin at 0).

    `scaled` changes the frequencies as `transformers` does: `linear` divides them by `factor`; `ntk` multiplies the base by `factor` to the
    width / (width - 2); `llama3` divides those whose wavelength is above `original_length` / `low_freq_factor` by `factor`, keeps those below
    `original_length` / `high_freq_factor`, and interpolates between. Angles are f32, or f64 of an x of f64. A composite, replaced before autodiff.

    Example:

    ```mlir
    %y = pp.rotary %x : tensor<2x4x6x8xf32>
    %z = pp.rotary %x {interleaved, base = 5.0e+5 : f64, width = 4 : i64} : tensor<2x4x6x8xf32>
    %p = pp.rotary %x at %positions : tensor<2x4x6x8xf32>, tensor<2x6xi32>
    %s = pp.rotary %x scaled llama3 {factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_length = 8192 : i64} : tensor<2x4x6x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, Optional<PP_IntTensor>:$positions, DefaultValuedAttr<PP_RealAttr, "10000.0">:$base, UnitAttr:$interleaved,
                       OptionalAttr<PP_I64Attr>:$width, OptionalAttr<PP_RotaryScalingAttr>:$scaling, OptionalAttr<PP_RealAttr>:$factor,
                       OptionalAttr<PP_RealAttr>:$low_freq_factor, OptionalAttr<PP_RealAttr>:$high_freq_factor, OptionalAttr<PP_I64Attr>:$original_length);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x (`at` $positions^)? (`scaled` $scaling^)? attr-dict `:` type($x) (`,` type($positions)^)?";
  let hasVerifier = 1;
}

def PP_RotateOp : PP_ModelOp<"rotate", [PP_LinearSpace, PP_Element, PP_Adjoint, AllTypesMatch<["x", "result"]>, AllTypesMatch<["cos", "sin"]>]> {
  let summary = "pairs of neighbours, rotated";
  let opDocGroup = PP_InternalOps;
  let description = [{
    The pair (a, b) of x, at 2i and 2i + 1 along `dim`, becomes (a cos - b sin, b cos + a sin); with `inverse` it is rotated back. The cosines and sines,
    in the type of statistics, broadcast to x. `pp.rotary` is replaced by it.

    Example:

    ```mlir
    !x = tensor<4x6x2x8xf32>
    func.func @turn(%x: !x, %cos: tensor<6x1x8xf32>, %sin: tensor<6x1x8xf32>) -> !x {
      %y = pp.rotate %x, %cos, %sin {dim = 2 : i64} : !x, tensor<6x1x8xf32>
      return %y : !x
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$cos, PP_FloatTensor:$sin, PP_I64Attr:$dim, UnitAttr:$inverse);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $cos `,` $sin attr-dict `:` type($x) `,` type($cos)";
  let hasVerifier = 1;
}

#endif // PPOPT_DIALECT_PP_MODEL_OPS
