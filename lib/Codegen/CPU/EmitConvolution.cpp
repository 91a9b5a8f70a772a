//===- EmitConvolution.cpp - Convolutions, on a CPU -----------------------===//
//
// A tile is a run of neighbours along the last dimension of the result. Inner
// loops go over those of them, or over those elements of w, that read an
// element of x: they have no conditions and become vector code.
//
//===----------------------------------------------------------------------===//

#include "CpuForm.h"
#include "LineTiles.h"

#include "ppopt/Codegen/Convolution.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::pp;

/// Sums that are made at a time where an inner loop goes over w.
static constexpr int64_t kLanes = 32;

namespace {

class ConvEmitter {
public:
  ConvEmitter(ElementPuller &puller, ConvOp op, bool hasFma)
      : puller(puller), builder(puller.builder), loc(puller.getLoc()), op(op),
        reads(puller, op), hasFma(hasFma), last(reads.getSpatialRank() - 1),
        window(op.getWindow(last)), type(reads.getType()) {
    goesOverW = getShape(op.getResult()).back() < reads.getKernelSize(last);
    int64_t count = goesOverW ? kLanes : puller.kernel.getTilesAttr().getSize();
    sums = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
        LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), count),
        /*alignment=*/64);
  }

  void emitTile(const LineTile &tile, ArrayRef<int64_t> outerSizes) {
    index = puller.delinearize(tile.outerNumber, outerSizes);
    Value row = puller.mul(tile.outerNumber, getShape(op.getResult()).back());
    auto forTile = [&](llvm::function_ref<void(Value, Value)> body) {
      emitLoop(builder, loc, constant(0), tile.width, [&](scf::ForOp, Value i) {
        body(i, puller.add(tile.first, i));
      });
    };
    auto store = [&](Value sum, Value at) {
      puller.storeOrAdd(sum, puller.add(row, at));
    };
    if (goesOverW) {
      forTile([&](Value, Value p) {
        setZero(constant(kLanes));
        forOthers([&](Value c, ArrayRef<Value> k, ArrayRef<Value> at) {
          addOverW(c, k, at, p);
        });
        store(addLanes(), p);
      });
      return;
    }
    setZero(tile.width);
    forOthers([&](Value c, ArrayRef<Value> k, ArrayRef<Value> at) {
      addOverResult(c, k, at, tile);
    });
    forTile([&](Value i, Value at) { store(load(i), at); });
  }

private:
  Value constant(int64_t value) { return puller.constant(value); }
  template <typename OpT> Value make(Value a, Value b) {
    return builder.createOrFold<OpT>(loc, a, b);
  }
  Value address(Value i) { return puller.address(sums, type, i); }
  Value load(Value i) {
    return LLVM::LoadOp::create(builder, loc, type, address(i));
  }
  void setZero(Value count) {
    emitLoop(builder, loc, constant(0), count, [&](scf::ForOp, Value i) {
      Value zero =
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      LLVM::StoreOp::create(builder, loc, zero, address(i));
    });
  }
  /// Adds a product to sum number `i`.
  void addTo(Value i, Value a, Value b) {
    Value sum = load(i);
    if (hasFma)
      sum = math::FmaOp::create(builder, loc, a, b, sum);
    else
      sum = arith::AddFOp::create(builder, loc, sum,
                                  arith::MulFOp::create(builder, loc, a, b));
    LLVM::StoreOp::create(builder, loc, sum, address(i));
  }
  void emitIf(Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(builder, loc, condition);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    body();
  }

  using OthersBody =
      llvm::function_ref<void(Value, ArrayRef<Value>, ArrayRef<Value>)>;
  /// Emits loops over channels and all spatial dimensions but the last.
  void forOthers(OthersBody body) {
    emitLoop(builder, loc, constant(0), constant(reads.getChannels()),
             [&](scf::ForOp, Value c) { forDim(c, {}, {}, body); });
  }
  void forDim(Value c, ArrayRef<Value> k, ArrayRef<Value> at, OthersBody body) {
    unsigned dim = k.size();
    if (dim == last)
      return body(c, k, at);
    emitLoop(builder, loc, constant(0), constant(reads.getKernelSize(dim)),
             [&](scf::ForOp, Value next) {
               ConvReads::Read read = reads.getRead(
                   dim, index[ConvReads::kFirstSpatial + dim], next);
               SmallVector<Value> nextK(k), nextAt(at);
               nextK.push_back(next);
               nextAt.push_back(read.at);
               emitIf(read.isInside, [&] { forDim(c, nextK, nextAt, body); });
             });
  }

  void addOverResult(Value c, ArrayRef<Value> k, ArrayRef<Value> at,
                     const LineTile &tile);
  void addOverW(Value c, ArrayRef<Value> k, ArrayRef<Value> at, Value p);
  Value addLanes();

  /// Iterations of a loop: number `first` + j * `step` reads element
  /// `x` + j * `stepOfX` of x.
  struct Range {
    Value first, count, x;
    int64_t step, stepOfX;
  };
  void forRange(int64_t factor, Value shift, int64_t leastShift, Value begin,
                Value end, llvm::function_ref<void(const Range &)> body);

  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  ConvOp op;
  ConvReads reads;
  bool hasFma;
  unsigned last;
  ConvOp::Window window;
  Type type;
  bool goesOverW; ///< the inner loop
  SmallVector<Value> index;
  Value sums;
};

} // namespace

/// Emits `body` with the i from `begin` on, before `end`, for which factor * i
/// + shift is the place of an element of x. `leastShift`: a lower bound.
void ConvEmitter::forRange(int64_t factor, Value shift, int64_t leastShift,
                           Value begin, Value end,
                           llvm::function_ref<void(const Range &)> body) {
  int64_t size = std::abs(factor), spread = window.spread;
  Value width = constant(size);
  Value lastPlace = constant(reads.countPlaces(last) - 1);
  // 0 <= factor * i + shift <= lastPlace: low <= size * i <= high.
  Value low = make<arith::SubIOp>(constant(0), shift);
  Value high = make<arith::SubIOp>(lastPlace, shift);
  if (factor < 0) {
    low = make<arith::SubIOp>(shift, lastPlace);
    high = shift;
  }
  low = make<arith::MaxSIOp>(low, constant(0));
  high = make<arith::MaxSIOp>(high, constant(-1));
  Value first =
      make<arith::DivUIOp>(make<arith::AddIOp>(low, constant(size - 1)), width);
  first = make<arith::MaxSIOp>(first, begin);
  end = make<arith::MinSIOp>(
      end, make<arith::DivUIOp>(make<arith::AddIOp>(high, width), width));

  // Of the places only each spread-th has an element. With d the common divisor
  // of factor and spread, d divides the shift, and each (spread / d)-th i has
  // such a place.
  int64_t divisor = std::gcd(size, spread), step = spread / divisor;
  Value isDivisible;
  if (spread > 1) {
    // Not negative, and the same by spread.
    int64_t added = llvm::alignTo(std::max<int64_t>(0, -leastShift), spread);
    Value positive = make<arith::AddIOp>(shift, constant(added));
    if (divisor > 1) {
      isDivisible = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq,
          make<arith::RemUIOp>(positive, constant(divisor)), constant(0));
      positive = make<arith::DivUIOp>(positive, constant(divisor));
    }
    if (step > 1) {
      // factor / d * i = -shift / d modulo step.
      int64_t factorOfStep = ((factor / divisor) % step + step) % step;
      int64_t inverse = 1;
      while (factorOfStep * inverse % step != 1 % step)
        ++inverse;
      Value solution = make<arith::RemUIOp>(
          puller.mul(make<arith::RemUIOp>(positive, constant(step)),
                     step - inverse),
          constant(step));
      Value passed = make<arith::RemUIOp>(first, constant(step));
      Value rest = make<arith::SubIOp>(
          make<arith::AddIOp>(solution, constant(step)), passed);
      first = make<arith::AddIOp>(first,
                                  make<arith::RemUIOp>(rest, constant(step)));
    }
  }
  auto emitBody = [&] {
    Range range;
    range.step = step;
    range.stepOfX = factor / divisor;
    range.first = first;
    // Not negative: a loop of a negative number of iterations has none.
    Value left = make<arith::SubIOp>(end, first);
    left = make<arith::MaxSIOp>(left, constant(0));
    range.count = make<arith::DivUIOp>(
        make<arith::AddIOp>(left, constant(step - 1)), constant(step));
    range.x = make<arith::DivUIOp>(
        make<arith::AddIOp>(puller.mul(first, factor), shift),
        constant(spread));
    body(range);
  };
  if (isDivisible)
    emitIf(isDivisible, emitBody);
  else
    emitBody();
}

void ConvEmitter::addOverResult(Value c, ArrayRef<Value> k, ArrayRef<Value> at,
                                const LineTile &tile) {
  int64_t kernelSize = reads.getKernelSize(last);
  int64_t leastShift =
      window.offset + std::min<int64_t>(0, window.dilation * (kernelSize - 1));
  emitLoop(
      builder, loc, constant(0), constant(kernelSize),
      [&](scf::ForOp, Value lastK) {
        SmallVector<Value> allK(k);
        allK.push_back(lastK);
        Value w = reads.pullW(index, c, allK);
        forRange(
            window.stride, reads.getShift(last, lastK), leastShift, tile.first,
            puller.add(tile.first, tile.width), [&](const Range &range) {
              Value first = make<arith::SubIOp>(range.first, tile.first);
              emitLoop(builder, loc, constant(0), range.count,
                       [&](scf::ForOp, Value j) {
                         SmallVector<Value> allAt(at);
                         allAt.push_back(
                             puller.add(range.x, puller.mul(j, range.stepOfX)));
                         addTo(puller.add(first, puller.mul(j, range.step)),
                               reads.pullX(index, c, allAt), w);
                       });
            });
      });
}

/// Product number j is added to lane j modulo their number.
void ConvEmitter::addOverW(Value c, ArrayRef<Value> k, ArrayRef<Value> at,
                           Value p) {
  int64_t extent = getShape(op.getResult()).back();
  int64_t leastShift =
      window.offset + std::min<int64_t>(0, window.stride * (extent - 1));
  Value shift =
      puller.add(puller.mul(p, window.stride), constant(window.offset));
  forRange(window.dilation, shift, leastShift, constant(0),
           constant(reads.getKernelSize(last)), [&](const Range &range) {
             Value lanes = constant(kLanes);
             Value rounds = make<arith::DivUIOp>(
                 make<arith::AddIOp>(range.count, constant(kLanes - 1)), lanes);
             emitLoop(builder, loc, constant(0), rounds,
                      [&](scf::ForOp, Value round) {
                        Value done = puller.mul(round, kLanes);
                        Value left = make<arith::MinSIOp>(
                            lanes, make<arith::SubIOp>(range.count, done));
                        emitLoop(builder, loc, constant(0), left,
                                 [&](scf::ForOp, Value lane) {
                                   Value j = puller.add(done, lane);
                                   SmallVector<Value> allK(k), allAt(at);
                                   allK.push_back(puller.add(
                                       range.first, puller.mul(j, range.step)));
                                   allAt.push_back(puller.add(
                                       range.x, puller.mul(j, range.stepOfX)));
                                   addTo(lane, reads.pullX(index, c, allAt),
                                         reads.pullW(index, c, allK));
                                 });
                      });
           });
}

Value ConvEmitter::addLanes() {
  Value sum = load(constant(0));
  for (int64_t lane = 1; lane < kLanes; ++lane)
    sum = arith::AddFOp::create(builder, loc, sum, load(constant(lane)));
  return sum;
}

namespace {

class ConvForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    return planColumnTiles(kernel, kernel.getFormAttr().getRows());
  }

  LogicalResult check(KernelOp kernel, int64_t vectorBytes) const override {
    if (kernel.getTilesAttr().getUnit() == TileUnit::Columns)
      return success();
    return kernel.emitOpError(
        "has no tiles of columns; run --pp-plan-kernels first");
  }

  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override {
    ElementPuller puller(builder, kernel, buffers);
    setNoPosition(puller);
    auto op = cast<ConvOp>(kernel.getFormOp());
    ConvEmitter emitter(puller, op, /*hasFma=*/vectorBytes > 16);
    // A row along the last dimension is the inner of each of the others.
    ArrayRef<int64_t> shape = getShape(op.getResult());
    SmallVector<int64_t> rows(shape.drop_back());
    AlongDim columns({llvm::product_of(rows), 1, shape.back()}, 1);
    emitLineTiles(puller, columns, begin, end,
                  [&](const LineTile &tile) { emitter.emitTile(tile, rows); });
  }
};

} // namespace

PP_KERNEL_FORM(CpuForm, Conv, ConvForm)
