//===- ModelOps.td - What a model computes --------------- -*- tablegen -*-===//
//
// An op is its entry, here or in CompositeOps.td, AttentionOps.td or IndexOps.td, and its interfaces
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
// Elementwise
//===----------------------------------------------------------------------===//

class PP_Unary<string mnemonic, list<Trait> traits = []>
    : PP_ModelOp<mnemonic, !listconcat([SameOperandsAndResultType, PP_Element], traits)> {
  let description = "\nExample:\n\n```mlir\n%y = pp." # mnemonic # " %x : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_FloatTensor:$x);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def PP_NegOp : PP_Unary<"neg", [PP_LinearSpace, PP_Adjoint]> { let summary = "-x"; let hasFolder = 0; }
def PP_AbsOp : PP_Unary<"abs", [PP_Space, PP_Adjoint]> { let summary = "|x|; its gradient at 0 is 0"; }
def PP_ExpOp : PP_Unary<"exp", [PP_Space, PP_Adjoint]> { let summary = "e to the x"; }
def PP_LogOp : PP_Unary<"log", [PP_Space, PP_Adjoint]> { let summary = "natural logarithm"; }
def PP_Expm1Op : PP_Unary<"expm1", [PP_Space, PP_Adjoint]> { let summary = "e to the x, minus 1, without the rounding of 1 near 0"; }
def PP_Log1pOp : PP_Unary<"log1p", [PP_Space, PP_Adjoint]> { let summary = "log(1 + x), without the rounding of 1 + x near 0"; }
def PP_SinOp : PP_Unary<"sin", [PP_Space, PP_Adjoint]> { let summary = "sine"; }
def PP_CosOp : PP_Unary<"cos", [PP_Space, PP_Adjoint]> { let summary = "cosine"; }
def PP_SignOp : PP_Unary<"sign", [PP_Space, PP_Adjoint]> { let summary = "1, -1 or 0; 0 of NaN; its gradient is 0"; }
def PP_FloorOp : PP_Unary<"floor", [PP_Space, PP_Adjoint]> { let summary = "the largest integer that is at most x; its gradient is 0"; }
def PP_CeilOp : PP_Unary<"ceil", [PP_Space, PP_Adjoint]> { let summary = "the smallest integer that is at least x; its gradient is 0"; }
def PP_RoundOp : PP_Unary<"round", [PP_Space, PP_Adjoint]> { let summary = "the nearest integer, of two the even one; its gradient is 0"; }
def PP_SqrtOp : PP_Unary<"sqrt", [PP_Space, PP_Adjoint]> { let summary = "square root"; }
def PP_RsqrtOp : PP_Unary<"rsqrt", [PP_Space, PP_Adjoint]> { let summary = "1 / square root"; }
def PP_AtanOp : PP_Unary<"atan", [PP_Space, PP_Adjoint]> { let summary = "the angle whose tangent is x"; }
def PP_TanhOp : PP_Unary<"tanh", [PP_Space, PP_Adjoint]> { let summary = "hyperbolic tangent"; }
def PP_ErfOp : PP_Unary<"erf", [PP_Space, PP_Adjoint]> { let summary = "error function"; }
def PP_SigmoidOp : PP_Unary<"sigmoid", [PP_Space, PP_Adjoint]> { let summary = "1 / (1 + e to the -x)"; }
def PP_SoftplusOp : PP_Unary<"softplus", [PP_Space, PP_Adjoint]> { let summary = "log(1 + e to the x)"; }
def PP_ReluOp : PP_Unary<"relu", [PP_Space, PP_Adjoint]> { let summary = "max(x, 0); its gradient at 0 is 0"; }

def PP_PowOp : PP_Unary<"pow", [PP_Space, PP_Adjoint]> {
  let summary = "x to the power of a number";
  let description = [{
    As C's pow (0 to the 0 is 1, a negative x to a fraction is NaN), except that the exponents 0.5 and -0.5 are sqrt and rsqrt, as in PyTorch: of -inf
    they are NaN. With exponent 0 the gradient is 0. `pp.power` takes a tensor of exponents.

    Example:

    ```mlir
    %y = pp.pow %x {exponent = 3.0 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_RealAttr:$exponent);
  let hasVerifier = 1;
}

def PP_ClampOp : PP_Unary<"clamp", [PP_Space, PP_Adjoint]> {
  let summary = "x, not below `min` and not above `max`";
  let description = [{
    One bound may be left out. If `min` is above `max` all elements are `max`; NaN stays NaN. The gradient is 1 between the bounds and 0 at them,
    beyond them and at NaN, as in PyTorch; that of `pp.minimum` and `pp.maximum` differs at the bounds.

    Example:

    ```mlir
    %y = pp.clamp %x {min = -1.0 : f64, max = 1.0 : f64} : tensor<4x8xf32>
    %z = pp.clamp %x {min = 0.0 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, OptionalAttr<PP_RealAttr>:$min, OptionalAttr<PP_RealAttr>:$max);
  let hasVerifier = 1;
}

/// Replaced by other elementwise ops before autodiff.
class PP_UnaryComposite<string mnemonic>
    : PP_ModelOp<mnemonic, [SameOperandsAndResultType, PP_Space, PP_Decompose]> {
  let description = "A composite, replaced before autodiff.\n\nExample:\n\n```mlir\n%y = pp." # mnemonic # " %x : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_FloatTensor:$x);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def PP_SiluOp : PP_UnaryComposite<"silu"> { let summary = "x * sigmoid(x)"; }
def PP_MishOp : PP_UnaryComposite<"mish"> { let summary = "x * tanh(softplus(x))"; }
def PP_HardsigmoidOp : PP_UnaryComposite<"hardsigmoid"> { let summary = "(x + 3) / 6, from 0 to 1; its gradient at -3 and 3 is 0"; }
def PP_HardswishOp : PP_UnaryComposite<"hardswish"> { let summary = "x * hardsigmoid(x); its gradient at -3 is 0, and at 3 it is 1"; }

def PP_LeakyReluOp : PP_UnaryComposite<"leaky_relu"> {
  let summary = "x where it is positive, else slope * x";
  let description = [{
    The `slope` is 0.01 by default; it is the gradient at 0 too. A composite, replaced before autodiff.

    Example:

    ```mlir
    %y = pp.leaky_relu %x : tensor<4x8xf32>
    %z = pp.leaky_relu %x {slope = 0.2 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, DefaultValuedAttr<PP_RealAttr, "0.01">:$slope);
  let hasVerifier = 1;
}

def PP_EluOp : PP_UnaryComposite<"elu"> {
  let summary = "x where it is positive, else alpha * (e to the x, minus 1)";
  let description = [{
    `alpha` is 1 by default; it is the gradient at 0 too. A composite, replaced before autodiff.

    Example:

    ```mlir
    %y = pp.elu %x : tensor<4x8xf32>
    %z = pp.elu %x {alpha = 0.5 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, DefaultValuedAttr<PP_RealAttr, "1.0">:$alpha);
  let hasVerifier = 1;
}

def PP_GeluOp : PP_Unary<"gelu", [PP_Space, PP_Adjoint]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    x * Phi(x); with `tanh`, its approximation by tanh, as in GPT-2.

    Example:

    ```mlir
    %y = pp.gelu %x : tensor<4x8xf32>
    %z = pp.gelu %x {tanh} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, UnitAttr:$tanh);
}

def PP_GeluGradOp : PP_ModelOp<"gelu_grad", [SameOperandsAndResultType, PP_Element, PP_LinearSpace]> {
  let summary = "gradient of gelu: dy * gelu'(x)";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it.

    Example:

    ```mlir
    %dx = pp.gelu_grad %x, %dy : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$dy, UnitAttr:$tanh);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
}

/// Two operands, broadcast as numpy does (shapes aligned at the right).
class PP_Binary<string mnemonic, list<Trait> traits = []>
    : PP_ModelOp<mnemonic, !listconcat([PP_Infer, SameOperandsAndResultElementType, PP_Element, PP_Adjoint], traits)> {
  let description = "\nExample:\n\n```mlir\n%y = pp." # mnemonic # " %a, %b : tensor<4x8xf32>, tensor<8xf32>\n```\n";
  let arguments = (ins PP_NumberTensor:$lhs, PP_NumberTensor:$rhs);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def PP_AddOp : PP_Binary<"add", [PP_LinearSpace, Commutative]> { let summary = "a + b"; }
def PP_SubOp : PP_Binary<"sub", [PP_LinearSpace]> { let summary = "a - b"; }
def PP_MulOp : PP_Binary<"mul", [PP_LinearSpace, Commutative]> { let summary = "a * b"; }
def PP_DivOp : PP_Binary<"div", [PP_LinearSpace]> { let summary = "a / b; of integers rounded toward zero, and 0 where b is 0"; }
def PP_MaximumOp : PP_Binary<"maximum", [PP_Space, Commutative]> {
  let summary = "the larger; NaN if either is";
  let description = [{
    Where both are equal, each gets half of the gradient.

    Example:

    ```mlir
    %y = pp.maximum %a, %b : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
}
def PP_MinimumOp : PP_Binary<"minimum", [PP_Space, Commutative]> {
  let summary = "the smaller; NaN if either is";
  let description = [{
    Where both are equal, each gets half of the gradient.

    Example:

    ```mlir
    %y = pp.minimum %a, %b : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
}

def PP_PowerOp : PP_Binary<"power", [PP_Space]> {
  let summary = "a to the b, of floats";
  let description = [{
    As C's pow: 0 to the 0 is 1, a negative a to a fraction is NaN. The gradient of a is 0 where b is 0; that of b is 0 where a is 0 and b is not
    negative, and NaN where a is negative. `pp.pow` is for one exponent that is known.

    Example:

    ```mlir
    %y = pp.power %a, %b : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$lhs, PP_FloatTensor:$rhs);
  let results = (outs PP_FloatTensor:$result);
}

def PP_ComparePredicate : PP_Enum<"ComparePredicate", "comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">,
  I32EnumAttrCase<"Lt", 2, "lt">, I32EnumAttrCase<"Le", 3, "le">,
  I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
def PP_ComparePredicateAttr : EnumAttr<PP_Dialect, PP_ComparePredicate, "predicate"> {
  let assemblyFormat = "$value";
}

def PP_CompareOp : PP_ModelOp<"compare", [PP_Infer, PP_Space, PP_Element, SameOperandsElementType]> {
  let summary = "compares, with broadcasting; integers as signed, NaN is unequal to all";
  let description = [{
    The predicates are eq, ne, lt, le, gt, ge. It has no gradient.

    Example:

    ```mlir
    %c = pp.compare lt %a, %b : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins PP_ComparePredicateAttr:$predicate, PP_NumberTensor:$lhs, PP_NumberTensor:$rhs);
  let results = (outs PP_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def PP_SelectOp : PP_ModelOp<"select", [PP_Infer, PP_LinearSpace, PP_Element, PP_Adjoint]> {
  let summary = "condition ? a : b, with broadcasting";
  let description = [{
    Example:

    ```mlir
    %y = pp.select %c, %a, %b : tensor<4x8xi1>, tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins PP_BoolTensor:$condition, PP_NumberTensor:$lhs, PP_NumberTensor:$rhs);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

def PP_CastOp : PP_ModelOp<"cast", [PP_LinearSpace, PP_Element, PP_Adjoint, SameOperandsAndResultShape]> {
  let summary = "another element type";
  let description = [{
    A float that becomes an integer is rounded toward zero; NaN becomes 0, and a value out of range the nearest integer that fits. i1 becomes 0 or 1.
    Linear between floats.

    Example:

    ```mlir
    %y = pp.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins PP_Tensor:$x);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
}

def PP_DropoutOp : PP_ModelOp<"dropout", [PP_TiledSpace, PP_Element, PP_Adjoint, AllTypesMatch<["x", "result"]>]> {
  let summary = "zero with probability p, else x / (1 - p)";
  let description = [{
    Draws by seed, step, `stream` (a hash of the call path, set when calls are inlined) and global index, so that
    every plan draws the same numbers and a recomputation draws them again. In evaluation it is the identity.

    Example:

    ```mlir
    %y = pp.dropout %x {p = 0.1 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, Optional<PP_IntTensor>:$key, PP_RealAttr:$p,
                       OptionalAttr<PP_I64Attr>:$stream, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x (`key` $key^ `:` type($key))? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def PP_DetachOp : PP_ModelOp<"detach", [SameOperandsAndResultType, PP_LinearSpace, PP_Element]> {
  let summary = "the value, cut from the gradient";
  let description = [{
    Autodiff removes it.

    Example:

    ```mlir
    %y = pp.detach %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
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
