//===- ElementwiseOps.td - Ops of one element at a time -- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_ELEMENTWISE_OPS
#define PPOPT_DIALECT_PP_ELEMENTWISE_OPS

include "ppopt/Dialect/PP/OpBase.td"

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

#endif // PPOPT_DIALECT_PP_ELEMENTWISE_OPS
