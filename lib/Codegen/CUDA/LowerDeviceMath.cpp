//===- LowerDeviceMath.cpp - Functions on a GPU ---------------------------===//
//
// Relative errors of f32, from the bounds of the instructions in the PTX ISA:
// exp 2^-21, division 2^-22, 1/sqrt 2^-22, tanh 2^-20. Subnormal results of exp
// are zero. f64 is libclc's, which OpenCL bounds by 3 ulp (exp, log), 4 (log1p:
// 2; sin, cos), 5 (tanh, atan) and 16 (powf); erf is fdlibm's, below 1.
//
// sin, cos, atan and powf of f32 are libclc's, and with --math accurate the
// others are, too, and division and roots are as IEEE 754 rounds them.
//
//===----------------------------------------------------------------------===//

#include "DeviceModules.h"

#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Dialect/PP/DeclaredAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERDEVICEMATH
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Emits f32 arithmetic.
struct F32Code {
  PatternRewriter &rewriter;
  Location loc;

  Value constant(double value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getF32FloatAttr(value));
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(rewriter, loc, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(rewriter, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(rewriter, loc, a, b, c);
  }
  Value intrinsic(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getF32Type(),
                                         rewriter.getStringAttr(name), operands)
        .getResult(0);
  }
  Value exp2(Value x) { return intrinsic("llvm.nvvm.ex2.approx.ftz.f32", x); }
  Value reciprocal(Value x) {
    return intrinsic("llvm.nvvm.rcp.approx.ftz.f", x);
  }
};

template <typename Op> struct F32Pattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOp(op, emit(F32Code{rewriter, op.getLoc()}, op));
    return success();
  }
  virtual Value emit(F32Code code, Op op) const = 0;
};

/// 2^t · 2^r with t = x·log2(e) rounded and r what the rounding left. Beyond
/// the clamps the result is 0 or infinity, without infinities on the way.
struct ExpPattern : F32Pattern<math::ExpOp> {
  using F32Pattern::F32Pattern;

  Value emit(F32Code code, math::ExpOp op) const override {
    constexpr double kLog2E = 1.44269504088896340736;
    constexpr float kHigh = kLog2E;
    Value x = arith::MaximumFOp::create(code.rewriter, code.loc,
                                        op.getOperand(), code.constant(-104));
    x = arith::MinimumFOp::create(code.rewriter, code.loc, x,
                                  code.constant(89));
    Value high = code.constant(kHigh);
    Value t = code.mul(x, high);
    Value negated = arith::NegFOp::create(code.rewriter, code.loc, t);
    Value rest = code.fma(x, high, negated);
    rest = code.fma(x, code.constant(kLog2E - kHigh), rest);
    Value scale =
        code.fma(rest, code.constant(0.69314718055994530942), code.constant(1));
    return code.mul(code.exp2(t), scale);
  }
};

/// An odd polynomial near 0, 1 - 2/(exp(2x) + 1) elsewhere.
struct TanhPattern : F32Pattern<math::TanhOp> {
  using F32Pattern::F32Pattern;

  Value emit(F32Code code, math::TanhOp op) const override {
    Value x = op.getOperand();
    Value size = math::AbsFOp::create(code.rewriter, code.loc, x);
    Value power = code.exp2(code.mul(size, code.constant(2.8853900817779268)));
    Value far = code.fma(code.reciprocal(code.add(power, code.constant(1))),
                         code.constant(-2), code.constant(1));
    // The series of tanh(x)/x in x²; at 0.55 what is left out is below 2^-21.
    constexpr double kTerms[] = {
        -929569.0 / 638512875, 21844.0 / 6081075, -1382.0 / 155925, 62.0 / 2835,
        -17.0 / 315,           2.0 / 15,          -1.0 / 3};
    Value square = code.mul(x, x);
    Value sum = code.constant(kTerms[0]);
    for (double term : ArrayRef(kTerms).drop_front())
      sum = code.fma(sum, square, code.constant(term));
    Value near = code.fma(code.mul(sum, square), x, x);
    Value isNear = arith::CmpFOp::create(code.rewriter, code.loc,
                                         arith::CmpFPredicate::OLT, size,
                                         code.constant(0.55));
    Value result =
        arith::SelectOp::create(code.rewriter, code.loc, isNear, near, far);
    // The polynomial of -0 is 0.
    return math::CopySignOp::create(code.rewriter, code.loc, result, x);
  }
};

struct RsqrtPattern : F32Pattern<math::RsqrtOp> {
  using F32Pattern::F32Pattern;

  Value emit(F32Code code, math::RsqrtOp op) const override {
    return code.intrinsic("llvm.nvvm.rsqrt.approx.f", op.getOperand());
  }
};

struct DivPattern : F32Pattern<arith::DivFOp> {
  using F32Pattern::F32Pattern;

  Value emit(F32Code code, arith::DivFOp op) const override {
    return code.intrinsic("llvm.nvvm.div.full", {op.getLhs(), op.getRhs()});
  }
};

/// Calls libclc's function of operands of one type, by its mangled name.
template <typename Op> struct CallPattern : OpRewritePattern<Op> {
  CallPattern(MLIRContext *context, StringRef name)
      : OpRewritePattern<Op>(context), name(name) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return failure();
    std::string mangled =
        ("_Z" + Twine(name.size()) + name).str() +
        std::string(op->getNumOperands(), type.isF32() ? 'f' : 'd');
    auto module = op->template getParentOfType<ModuleOp>();
    auto function = module.template lookupSymbol<LLVM::LLVMFuncOp>(mangled);
    if (!function) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      function = LLVM::LLVMFuncOp::create(
          rewriter, module.getLoc(), mangled,
          LLVM::LLVMFunctionType::get(type,
                                      llvm::to_vector(op->getOperandTypes())));
    }
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, function, op->getOperands());
    return success();
  }

  StringRef name;
};

struct LowerDeviceMathPass
    : pp::impl::LowerDeviceMathBase<LowerDeviceMathPass> {
  void runOnOperation() override {
    keepSigns();
    boundExponents();
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    if (!getOperation()->hasAttr(kAccurateAttr)) {
      patterns.add<ExpPattern, TanhPattern, RsqrtPattern, DivPattern>(
          context, /*benefit=*/2);
      populateMathPolynomialApproximationPatterns(
          patterns,
          [](StringRef name) {
            return name == math::ErfOp::getOperationName();
          },
          /*benefit=*/2);
    }
    patterns.add<CallPattern<math::ExpOp>>(context, "exp");
    patterns.add<CallPattern<math::LogOp>>(context, "log");
    patterns.add<CallPattern<math::Log1pOp>>(context, "log1p");
    patterns.add<CallPattern<math::TanhOp>>(context, "tanh");
    patterns.add<CallPattern<math::ErfOp>>(context, "erf");
    patterns.add<CallPattern<math::SinOp>>(context, "sin");
    patterns.add<CallPattern<math::CosOp>>(context, "cos");
    patterns.add<CallPattern<math::AtanOp>>(context, "atan");
    patterns.add<CallPattern<math::PowFOp>>(context, "pow");
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

private:
  /// Gives results of erf and atan the signs of their operands: of -0 both the
  /// polynomial and libclc compute 0, and so does libclc's sine.
  void keepSigns() {
    getOperation().walk([](Operation *op) {
      if (!isa<math::ErfOp, math::AtanOp>(op))
        return;
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      Value result = math::CopySignOp::create(
          builder, op->getLoc(), op->getResult(0), op->getOperand(0));
      op->getResult(0).replaceAllUsesExcept(result, result.getDefiningOp());
    });
    getOperation().walk([](math::SinOp op) {
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      Value x = op.getOperand();
      auto zero = arith::ConstantOp::create(builder, op.getLoc(),
                                            builder.getZeroAttr(op.getType()));
      Value isZero = arith::CmpFOp::create(builder, op.getLoc(),
                                           arith::CmpFPredicate::OEQ, x, zero);
      Value result = arith::SelectOp::create(builder, op.getLoc(), isZero, x,
                                             op.getResult());
      op.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
    });
  }

  /// libclc multiplies them by a logarithm, and is wrong where that overflows.
  /// Beyond 2^80 all are even, and powers are 0, 1 or infinity.
  void boundExponents() {
    getOperation().walk([](math::PowFOp op) {
      OpBuilder builder(op);
      auto constant = [&](double value) {
        return arith::ConstantOp::create(
            builder, op.getLoc(), builder.getFloatAttr(op.getType(), value));
      };
      Value bounded = arith::MaximumFOp::create(builder, op.getLoc(),
                                                op.getRhs(), constant(-0x1p80));
      bounded = arith::MinimumFOp::create(builder, op.getLoc(), bounded,
                                          constant(0x1p80));
      op.getRhsMutable().assign(bounded);
    });
  }
};

} // namespace
