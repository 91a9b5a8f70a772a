//===- EmitAttentionStep.cpp - Attention of one position, on a GPU --------===//
//
// A block has a head of keys and all heads of queries that read it, of which it
// computes some together. It stores the position's key and value in the caches.
// Groups of threads share keys: of n groups, group g has the keys g, g + n, …
// up to the position, and takes some at a time:
//
//   s = scale q Kᵀ,  m' = max(m, max s),  p = exp(s - m'),
//   l = l exp(m - m') + sum p,  o = o exp(m - m') + p V
//
// Then the groups of a warp meet by shuffles, the warps in shared memory, and
// out = o / l. The caches are read once for heads that are computed together,
// from the window's first key up to the position.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "DeviceScores.h"
#include "Shuffle.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::pp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {

/// What a group, a warp or a block has of its keys: the maximum of the scores,
/// and relative to it the sum of probabilities and the weighted sum of values.
/// A thread has some columns of the latter.
struct PartialStep {
  Value maximum, sum;
  SmallVector<Value> out;

  explicit PartialStep(ValueRange values)
      : maximum(values[0]), sum(values[1]), out(values.drop_front(2)) {}
  SmallVector<Value> getValues() const {
    SmallVector<Value> values{maximum, sum};
    values.append(out);
    return values;
  }
};

/// A head of queries, and the thread's columns of its scaled query.
struct StepHead {
  Value number;
  SmallVector<Value> q;
};

class StepEmitter : DeviceAttention {
public:
  StepEmitter(OpBuilder &builder, KernelOp kernel, ValueRange buffers)
      : DeviceAttention(builder, kernel, buffers), scores(*this, 1, keys),
        step(cast<AttentionStepOp>(op)), threads(kernel.getThreadsAttr()),
        groups(threads.getCount() / threads.getPerRow()),
        warps(threads.getCount() / kWarp),
        keysEach(kernel.getTilesAttr().getBlock() / groups),
        inRow(rem(thread, threads.getPerRow())),
        group(div(thread, threads.getPerRow())) {}

  void emit();

private:
  Value loadPosition();
  void storeRow(Value from, Value cache);
  void forColumns(llvm::function_ref<void(int64_t, Value)> body);
  SmallVector<Value> loadRow(Value operand, Value row, int64_t width);
  SmallVector<Value> emitKeys(Value firstKey, ValueRange states);
  void emitHeads(Value firstInGroup);
  int64_t countTogether() const;
  int64_t countColumns() const;
  void rescale(PartialStep &partial, Value maximum);
  void combineGroups(PartialStep &partial);
  void combineWarps(const PartialStep &partial);
  Value getShared(Value warp, Value number);

  Value divF(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }

  DeviceScores scores;
  AttentionStepOp step;
  ThreadsAttr threads;
  int64_t groups, warps;
  int64_t keysEach; ///< that a group takes at a time
  Value inRow, group, position;
  SmallVector<StepHead> together; ///< heads that are computed now
};

} // namespace

Value StepEmitter::loadPosition() {
  Layout layout = getAttentionLayout(step, step.getAt());
  Type i64 = builder.getI64Type();
  Value number = LLVM::LoadOp::create(
      builder, loc, i64,
      getElement(buffers[*getAttentionBuffer(kernel, layout)], i64,
                 index(layout.offset)));
  // It is below `keys`; indices of 64 bits are slower.
  if (keys <= std::numeric_limits<int32_t>::max())
    number =
        arith::TruncIOp::create(builder, loc, builder.getI32Type(), number);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    number);
}

/// Copies the only row of `from` to the position of a cache.
void StepEmitter::storeRow(Value from, Value cache) {
  int64_t width = getShape(cache)[3];
  loop(thread, index(width), threads.getCount(), {},
       [&](Value column, ValueRange) -> SmallVector<Value> {
         store(load(from, index(0), column), cache, position, column);
         return {};
       });
}

/// Loads the thread's columns of a row; those that do not exist are zero.
SmallVector<Value> StepEmitter::loadRow(Value operand, Value row,
                                        int64_t width) {
  int64_t each = threads.getEach(), step = threads.getPerRow() * each;
  int64_t stride = getAttentionLayout(op, operand).strides[3];
  Type element = getElementTypeOrSelf(operand);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  SmallVector<Value> values;
  for (int64_t begin = 0; begin < width; begin += step) {
    Value first = add(index(begin), mul(inRow, each));
    auto loadEach = [&] {
      // LLVM sees that addresses a constant apart are neighbours.
      Value address = getAddress(operand, row, first);
      SmallVector<Value> loaded;
      for (int64_t i = 0; i < each; ++i) {
        Value at = getElement(address, element, index(i * stride));
        loaded.push_back(LLVM::LoadOp::create(builder, loc, element, at));
      }
      return loaded;
    };
    if (begin + step <= width) {
      values.append(loadEach());
      continue;
    }
    auto branch =
        scf::IfOp::create(builder, loc, SmallVector<Type>(each, element),
                          isBelow(first, index(width)),
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, loadEach());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, SmallVector<Value>(each, zero));
    values.append(branch.getResults().begin(), branch.getResults().end());
  }
  if (element != type)
    for (Value &value : values)
      value = arith::ExtFOp::create(builder, loc, type, value);
  return values;
}

/// Takes the keys firstKey + group, firstKey + group + groups, …. There are
/// none after the position: it is read instead, and its score does not count.
/// `states`: of the heads one after the other.
SmallVector<Value> StepEmitter::emitKeys(Value firstKey, ValueRange states) {
  SmallVector<Value> seenKeys, isSeen;
  SmallVector<SmallVector<Value>> k, v;
  for (int64_t i = 0; i < keysEach; ++i) {
    Value key = add(firstKey, add(group, index(i * groups)));
    isSeen.push_back(isBelow(key, add(position, index(1))));
    key = min(key, position);
    seenKeys.push_back(key);
    k.push_back(loadRow(step.getKCache(), key, queryWidth));
    v.push_back(loadRow(step.getVCache(), key, valueWidth));
  }
  // Scores count positions from the last key.
  Value query = sub(position, index(keys - queries));
  SmallVector<Value> next;
  for (const StepHead &each : together) {
    head = each.number;
    PartialStep state(states.slice(next.size(), 2 + countColumns()));
    SmallVector<Value> values;
    Value maximum = state.maximum;
    for (int64_t i = 0; i < keysEach; ++i) {
      Value score = constant(0);
      for (auto [a, b] : llvm::zip(each.q, k[i]))
        score = fma(a, b, score);
      score = sumOver(threads.getPerRow(), score);
      score = scores.change(score, query, seenKeys[i]);
      score = select(isSeen[i], score, constant(-kInfinity));
      maximum = maxF(maximum, score);
      values.push_back(score);
    }
    rescale(state, maximum);
    for (int64_t i = 0; i < keysEach; ++i) {
      Value p = exp(subF(values[i], maximum));
      state.sum = addF(state.sum, p);
      for (auto [x, sum] : llvm::zip(v[i], state.out))
        sum = fma(p, x, sum);
    }
    next.append(state.getValues());
  }
  return next;
}

/// Makes the sums relative to another maximum.
void StepEmitter::rescale(PartialStep &partial, Value maximum) {
  Value factor = exp(subF(partial.maximum, maximum));
  partial.maximum = maximum;
  partial.sum = mulF(partial.sum, factor);
  for (Value &value : partial.out)
    value = mulF(value, factor);
}

/// Combines the groups of a warp.
void StepEmitter::combineGroups(PartialStep &partial) {
  int64_t perRow = threads.getPerRow();
  rescale(partial, maxOver(kWarp, partial.maximum, perRow));
  partial.sum = sumOver(kWarp, partial.sum, perRow);
  for (Value &value : partial.out)
    value = sumOver(kWarp, value, perRow);
}

/// Emits `body` for the thread's columns of the output, by their number among
/// those of the thread.
void StepEmitter::forColumns(llvm::function_ref<void(int64_t, Value)> body) {
  int64_t each = threads.getEach(), width = threads.getPerRow() * each;
  int64_t number = 0;
  for (int64_t begin = 0; begin < valueWidth; begin += width) {
    Value first = add(index(begin), mul(inRow, each));
    auto emitEach = [&] {
      for (int64_t i = 0; i < each; ++i)
        body(number++, add(first, index(i)));
    };
    if (begin + width <= valueWidth)
      emitEach();
    else
      emitIf(isBelow(first, index(valueWidth)), emitEach);
  }
}

/// Of each warp: the maximum, the sum, the output.
Value StepEmitter::getShared(Value warp, Value number) {
  return getElement(shared, type, add(mul(warp, 2 + valueWidth), number));
}

/// Stores the output of all warps. Each has a part of the keys.
void StepEmitter::combineWarps(const PartialStep &partial) {
  Value warp = div(thread, kWarp), lane = rem(thread, kWarp);
  emitIf(isBelow(lane, index(threads.getPerRow())), [&] {
    forColumns([&](int64_t number, Value column) {
      LLVM::StoreOp::create(builder, loc, partial.out[number],
                            getShared(warp, add(column, index(2))));
    });
  });
  emitIf(isBelow(lane, index(1)), [&] {
    LLVM::StoreOp::create(builder, loc, partial.maximum,
                          getShared(warp, index(0)));
    LLVM::StoreOp::create(builder, loc, partial.sum, getShared(warp, index(1)));
  });
  synchronizeBlock();
  auto loadShared = [&](int64_t warp, Value number) -> Value {
    return LLVM::LoadOp::create(builder, loc, type,
                                getShared(index(warp), number));
  };
  SmallVector<Value> factors;
  Value maximum = loadShared(0, index(0));
  for (int64_t i = 1; i < warps; ++i)
    maximum = maxF(maximum, loadShared(i, index(0)));
  for (int64_t i = 0; i < warps; ++i)
    factors.push_back(exp(subF(loadShared(i, index(0)), maximum)));
  auto addUp = [&](Value number) {
    Value sum = constant(0);
    for (int64_t i = 0; i < warps; ++i)
      sum = fma(factors[i], loadShared(i, number), sum);
    return sum;
  };
  Value sum = addUp(index(1));
  loop(thread, index(valueWidth), threads.getCount(), {},
       [&](Value column, ValueRange) -> SmallVector<Value> {
         Value out = divF(addUp(add(column, index(2))), sum);
         store(out, step.getOut(), index(0), column);
         return {};
       });
}

/// Returns the columns of a row that a thread has.
int64_t StepEmitter::countColumns() const {
  return llvm::alignTo(valueWidth, threads.getPerRow() * threads.getEach()) /
         threads.getPerRow();
}

/// Returns how many heads registers suffice for: a divisor of the group.
int64_t StepEmitter::countTogether() const {
  constexpr int64_t kMostColumns = 32;
  int64_t count = groupSize();
  while (count > 1 &&
         (groupSize() % count != 0 || count * countColumns() > kMostColumns))
    --count;
  return count;
}

void StepEmitter::emitHeads(Value firstInGroup) {
  together.clear();
  for (int64_t i = 0, e = countTogether(); i < e; ++i) {
    head = keyHead;
    if (groupSize() != 1)
      head = add(mul(keyHead, groupSize()), add(firstInGroup, index(i)));
    StepHead &each = together.emplace_back(StepHead{head, {}});
    for (Value x : loadRow(step.getQ(), index(0), queryWidth))
      each.q.push_back(mulF(x, constant(scale)));
  }
  // All read what some have stored, and have read what others combined.
  synchronizeBlock();
  SmallVector<Value> state(2 + countColumns(), constant(0));
  // Not infinite: a group may have no key.
  state[0] = constant(type.isF64() ? std::numeric_limits<double>::lowest()
                                   : std::numeric_limits<float>::lowest());
  SmallVector<Value> states;
  for (size_t i = 0; i < together.size(); ++i)
    states.append(state);
  Value firstKey = scores.getFirstKey(sub(position, index(keys - queries)));
  states =
      loop(firstKey, add(position, index(1)), groups * keysEach, states,
           [&](Value key, ValueRange before) { return emitKeys(key, before); });
  for (auto [i, each] : llvm::enumerate(together)) {
    head = each.number;
    PartialStep partial(ArrayRef(states).slice(i * state.size(), state.size()));
    combineGroups(partial);
    if (warps > 1) {
      if (i != 0)
        synchronizeBlock();
      combineWarps(partial);
      continue;
    }
    emitIf(isBelow(thread, index(threads.getPerRow())), [&] {
      forColumns([&](int64_t number, Value column) {
        store(divF(partial.out[number], partial.sum), step.getOut(), index(0),
              column);
      });
    });
  }
}

void StepEmitter::emit() {
  setPartOfGroup(1);
  position = loadPosition();
  storeRow(step.getK(), step.getKCache());
  storeRow(step.getV(), step.getVCache());
  int64_t count = countTogether();
  if (count == groupSize())
    return emitHeads(index(0));
  loop(index(0), index(groupSize()), count, {},
       [&](Value first, ValueRange) -> SmallVector<Value> {
         emitHeads(first);
         return {};
       });
}

namespace {

class StepForm : public CudaForm {
public:
  /// A block has a head of keys. A row of a cache is shared by few threads of a
  /// warp, so that each loads neighbours; the others have other rows.
  LogicalResult plan(KernelOp kernel) const override {
    AttentionShape shape = getAttention(kernel).getAttentionShape();
    int64_t each =
        countEach(kernel, std::gcd(shape.queryWidth, shape.valueWidth));
    int64_t width = std::max(shape.queryWidth, shape.valueWidth);
    int64_t perRow = std::min<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(width, each)), kWarp);
    // Rows that a thread takes at a time are in registers.
    constexpr int64_t kMostKeys = 16, kMostColumns = 32;
    int64_t keys = std::clamp<int64_t>(
        kMostColumns / llvm::divideCeil(width, perRow), 1,
        std::min(getThreshold(kernel, Threshold::GpuStepKeys), kMostKeys));
    int64_t threads =
        countThreads(kernel, perRow * llvm::divideCeil(shape.keys, keys), 2);
    // Warps meet in shared memory; one needs none.
    Type type = getStatisticsType(
        getElementTypeOrSelf(getAttention(kernel)->getOperand(0)));
    auto getShared = [&] {
      return threads == kWarp ? 0
                              : threads / kWarp * (2 + shape.valueWidth) *
                                    getElementBytes(type);
    };
    while (getShared() > getThreshold(kernel, Threshold::GpuSharedBytes))
      threads /= 2;
    kernel.setTilesAttr(
        TilesAttr::get(kernel.getContext(), shape.batch * shape.keyHeads,
                       /*size=*/1, TileUnit::Heads, threads / perRow * keys));
    kernel.setThreadsAttr(ThreadsAttr::get(kernel.getContext(), threads, perRow,
                                           each, getShared()));
    return success();
  }

  LogicalResult check(KernelOp kernel) const override {
    ThreadsAttr threads = kernel.getThreadsAttr();
    int64_t groups = threads.getCount() / threads.getPerRow();
    int64_t keys = kernel.getTilesAttr().getBlock();
    if (keys == 0 || keys % groups != 0)
      return kernel.emitOpError("has blocks of ")
             << keys << " keys, not a multiple of the " << groups
             << " that its threads have at a time";
    return success();
  }

  int64_t getResidentThreads() const override { return kResidentSummers; }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    StepEmitter(builder, kernel, buffers).emit();
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, AttentionStep, StepForm)
