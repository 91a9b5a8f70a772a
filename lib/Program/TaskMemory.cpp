//===- TaskMemory.cpp - Checks which op wrote what a task reads -----------===//

#include "TaskMemory.h"
#include "TaskShards.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Bytes [begin, end) of an argument or of the task's temporaries, and the root
/// that they belong to: the argument, or the temporary. The padding between
/// rows counts as theirs.
struct ByteRange {
  Value root;
  int64_t begin, end;
  int64_t pitch = 0; ///< in bytes; 0: rows are dense

  bool isTemporary() const { return root.getDefiningOp<TempOp>(); }
  bool operator==(const ByteRange &other) const {
    return root == other.root && begin == other.begin && end == other.end &&
           pitch == other.pitch;
  }
  bool overlaps(const ByteRange &other) const {
    bool isOneMemory =
        root == other.root || (isTemporary() && other.isTemporary());
    return isOneMemory && begin < other.end && other.begin < end;
  }
};

/// The bytes of one memory that ops of the task have written.
class WrittenBytes {
public:
  struct Write {
    Value root;
    Operation *writer;
    bool isRead; ///< at least a byte of it
    /// Why nothing may read it; null if it holds a value.
    const char *lost = nullptr;
    int64_t pitch = 0;
  };
  struct Piece {
    int64_t end;
    size_t write; ///< index
  };

  /// Visits the writes of [begin, end) in order, and the gaps between them,
  /// whose write is null.
  void visit(int64_t begin, int64_t end,
             llvm::function_ref<void(int64_t begin, int64_t end, Write *)> f) {
    splitAt(begin);
    splitAt(end);
    auto it = pieces.lower_bound(begin);
    while (begin < end) {
      bool isGap = it == pieces.end() || it->first > begin;
      int64_t next = !isGap               ? it->second.end
                     : it == pieces.end() ? end
                                          : std::min(end, it->first);
      f(begin, next, isGap ? nullptr : &writes[it->second.write]);
      if (!isGap)
        ++it;
      begin = next;
    }
  }

  void write(const ByteRange &range, Operation *writer) {
    replace(range, {range.root, writer, /*isRead=*/false, /*lost=*/nullptr,
                    range.pitch});
  }

  /// What the range holds is of no use after `op`; its memory is free.
  void lose(const ByteRange &range, Operation *op, const char *why) {
    replace(range, {range.root, op, /*isRead=*/true, why});
  }

  bool isEmpty() const { return pieces.empty(); }

private:
  void replace(const ByteRange &range, Write write) {
    splitAt(range.begin);
    splitAt(range.end);
    pieces.erase(pieces.lower_bound(range.begin),
                 pieces.lower_bound(range.end));
    pieces[range.begin] = {range.end, writes.size()};
    writes.push_back(write);
  }

  void splitAt(int64_t at) {
    auto it = pieces.lower_bound(at);
    if (it == pieces.begin() || std::prev(it)->second.end <= at)
      return;
    Piece &before = std::prev(it)->second;
    pieces[at] = before;
    before.end = at;
  }

  std::map<int64_t, Piece> pieces; ///< by their first bytes
  std::vector<Write> writes;
};

class TaskMemory {
public:
  explicit TaskMemory(TaskOp task) : task(task), shards(task) {}
  LogicalResult verify();

private:
  FailureOr<ByteRange> getRange(Operation *op, Value buffer);
  FailureOr<ByteRange> getRange(GemmOp op, Value buffer, int64_t offset,
                                ArrayRef<int64_t> strides, int64_t rows,
                                int64_t columns);
  LogicalResult checkRows(GemmOp op, MemRefType buffer, int64_t offset,
                          ArrayRef<int64_t> strides, ArrayRef<int64_t> sizes);
  LogicalResult checkBounds(Operation *op, const ByteRange &range);
  LogicalResult read(Operation *op, const ByteRange &range,
                     const char *verb = "reads");
  LogicalResult write(Operation *op, const ByteRange &range);
  LogicalResult checkApart(Operation *op, const ByteRange &written,
                           const ByteRange &other);
  LogicalResult verify(LaunchOp op);
  LogicalResult verify(GemmOp op);
  LogicalResult verify(BeginOp op);
  LogicalResult verify(FinishOp op);
  LogicalResult verify(ReleaseOp op);
  LogicalResult overwrite(Operation *op, const ByteRange &range);
  LogicalResult loseOverwritten(BeginOp op, const ByteRange &range);
  LogicalResult checkIsFree(Operation *op, const ByteRange &range,
                            bool isRead = false);
  TaskShards::Source getSource(const ByteRange &range);
  LogicalResult verifyArguments();
  InFlightDiagnostic refuse(Operation *op, const char *verb, int64_t begin,
                            int64_t end, const ByteRange &range);
  WrittenBytes &getMemory(const ByteRange &range) {
    return written[range.isTemporary() ? Value() : range.root];
  }

  TaskOp task;
  TaskShards shards;
  /// Per argument; the temporaries are under the null value.
  llvm::DenseMap<Value, WrittenBytes> written;
  /// Arguments that are read before they are written: they hold a value when
  /// the task begins.
  DenseSet<Value> given;
  /// Collectives in flight and their memory, by number, and the next number.
  /// The first range is what a collective reads.
  struct InFlight {
    BeginOp begin;
    SmallVector<ByteRange, 3> ranges;

    /// A reduce-scatter overwrites what it reads.
    bool overwrites() {
      return begin.getCollective().getKind() ==
             ::ppopt::geometry::Collective::ReduceScatter;
    }
  };
  std::map<int64_t, InFlight> inFlight;
  int64_t next = 0;
};

InFlightDiagnostic TaskMemory::refuse(Operation *op, const char *verb,
                                      int64_t begin, int64_t end,
                                      const ByteRange &range) {
  InFlightDiagnostic diag = op->emitOpError() << verb << " bytes " << begin
                                              << " to " << end << " of ";
  if (auto argument = dyn_cast<BlockArgument>(range.root))
    diag << "argument " << argument.getArgNumber();
  else
    diag << "the temporaries";
  return diag;
}

LogicalResult TaskMemory::checkBounds(Operation *op, const ByteRange &range) {
  int64_t first = 0;
  if (auto temp = range.root.getDefiningOp<TempOp>())
    first = temp.getOffset();
  int64_t last = first + getAlignedBytes(range.root.getType());
  if (range.begin >= first && range.end <= last)
    return success();
  return refuse(op, "touches", range.begin, range.end, range)
         << ", but its buffer is " << first << " to " << last;
}

/// Returns the bytes of a buffer, from the first to the last that is no
/// padding.
FailureOr<ByteRange> TaskMemory::getRange(Operation *op, Value buffer) {
  int64_t offset = 0;
  auto type = cast<MemRefType>(buffer.getType());
  int64_t element = getElementBytes(type.getElementType());
  Pitch pitch = getPitch(type);
  int64_t bytes = countToLast(type.getShape(), pitch) * element;
  Value root = buffer;
  if (auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>()) {
    offset = view.getStaticOffsets()[0] * element;
    root = view.getSource();
  }
  if (auto temp = root.getDefiningOp<TempOp>())
    offset += temp.getOffset();
  else if (!isa<BlockArgument>(root))
    return op->emitOpError("takes a buffer that is neither an argument, a "
                           "temporary nor a view of one");
  ByteRange range{root, offset, offset + bytes, pitch.value_or(0) * element};
  if (failed(checkBounds(op, range)))
    return failure();
  return range;
}

/// Checks that a matmul touches no padding: strides that are not from row to
/// row stay within the columns.
LogicalResult TaskMemory::checkRows(GemmOp op, MemRefType buffer,
                                    int64_t offset, ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> sizes) {
  Pitch pitch = getPitch(buffer);
  if (!pitch)
    return success();
  int64_t last = offset % *pitch;
  for (auto [size, stride] : llvm::zip(sizes, strides))
    if (stride % *pitch != 0)
      last += (size - 1) * stride;
  int64_t columns = getColumnCount(buffer.getShape());
  if (last < columns)
    return success();
  InFlightDiagnostic diag = op.emitOpError("touches the padding of ")
                            << buffer << ": its strides " << strides
                            << " lead to column " << last << " of " << columns;
  return diag;
}

/// Returns the bytes that a matmul accesses of an operand, from the first to
/// the last.
FailureOr<ByteRange> TaskMemory::getRange(GemmOp op, Value buffer,
                                          int64_t offset,
                                          ArrayRef<int64_t> strides,
                                          int64_t rows, int64_t columns) {
  FailureOr<ByteRange> range = getRange(op, buffer);
  if (failed(range))
    return failure();
  int64_t bytes = getElementBytes(getElementTypeOrSelf(buffer.getType()));
  int64_t last = (op.getBatch()[0] - 1) * strides[0] +
                 (op.getBatch()[1] - 1) * strides[1] + (rows - 1) * strides[2] +
                 (columns - 1) * strides[3];
  range->begin += offset * bytes;
  range->end = range->begin + (last + 1) * bytes;
  int64_t sizes[] = {op.getBatch()[0], op.getBatch()[1], rows, columns};
  if (failed(checkBounds(op, *range)) ||
      failed(checkRows(op, cast<MemRefType>(buffer.getType()), offset, strides,
                       sizes)))
    return failure();
  return range;
}

/// Checks that no collective in flight has a byte of the range. What it only
/// reads, others may read.
LogicalResult TaskMemory::checkIsFree(Operation *op, const ByteRange &range,
                                      bool isRead) {
  for (auto &[number, each] : inFlight)
    for (const ByteRange &taken :
         ArrayRef(each.ranges).drop_front(isRead && !each.overwrites())) {
      if (!taken.overlaps(range))
        continue;
      InFlightDiagnostic diag =
          refuse(op, "touches", range.begin, range.end, range)
          << ", which belong to collective " << number;
      diag.attachNote(each.begin.getLoc())
          << "it starts here and is not waited for";
      return diag;
    }
  return success();
}

LogicalResult TaskMemory::read(Operation *op, const ByteRange &range,
                               const char *verb) {
  if (failed(checkIsFree(op, range, /*isRead=*/true)))
    return failure();
  WrittenBytes &memory = getMemory(range);
  if (!range.isTemporary() && memory.isEmpty())
    given.insert(range.root);
  LogicalResult result = success();
  memory.visit(range.begin, range.end,
               [&](int64_t begin, int64_t end, WrittenBytes::Write *write) {
                 if (failed(result))
                   return;
                 if (!write && !given.contains(range.root)) {
                   result = refuse(op, verb, begin, end, range)
                            << ", which nothing has written";
                 } else if (write &&
                            (write->root != range.root || write->lost)) {
                   bool isTaken = write->root != range.root;
                   InFlightDiagnostic diag =
                       refuse(op, verb, begin, end, range)
                       << ", which "
                       << (isTaken ? "another value has taken" : write->lost);
                   diag.attachNote(write->writer->getLoc())
                       << (isTaken ? "it is written here" : "it is here");
                   result = diag;
                 } else if (range.pitch != (write ? write->pitch : 0)) {
                   result = refuse(op, verb, begin, end, range)
                            << " in rows with a pitch of " << range.pitch
                            << " bytes, which were written with "
                            << (write ? write->pitch : 0) << " (0: dense)";
                 } else if (write) {
                   write->isRead = true;
                 }
               });
  return result;
}

/// A value that was not there before.
LogicalResult TaskMemory::write(Operation *op, const ByteRange &range) {
  if (failed(checkIsFree(op, range)))
    return failure();
  WrittenBytes &memory = getMemory(range);
  LogicalResult result = success();
  memory.visit(range.begin, range.end,
               [&](int64_t begin, int64_t end, WrittenBytes::Write *earlier) {
                 // Memory that holds a value may be free again once the value
                 // was read. No reader needs to read all of it: a matmul may
                 // read a slice.
                 bool isTwice = earlier && earlier->root == range.root &&
                                (range.isTemporary() || !earlier->isRead);
                 if (failed(result) || !isTwice)
                   return;
                 InFlightDiagnostic diag =
                     refuse(op, "writes", begin, end, range)
                     << " a second time";
                 diag.attachNote(earlier->writer->getLoc())
                     << "the earlier write is here";
                 result = diag;
               });
  memory.write(range, op);
  return result;
}

/// A value in place of one that the op has read.
LogicalResult TaskMemory::overwrite(Operation *op, const ByteRange &range) {
  if (failed(checkIsFree(op, range)))
    return failure();
  getMemory(range).write(range, op);
  return success();
}

LogicalResult TaskMemory::checkApart(Operation *op, const ByteRange &written,
                                     const ByteRange &other) {
  if (!written.overlaps(other))
    return success();
  return refuse(op, "writes", written.begin, written.end, written)
         << ", but touches " << other.begin << " to " << other.end
         << " of the same memory as another operand";
}

TaskShards::Source TaskMemory::getSource(const ByteRange &range) {
  TaskShards::Source source{range.root, {}};
  getMemory(range).visit(range.begin, range.end,
                         [&](int64_t, int64_t, WrittenBytes::Write *write) {
                           if (write)
                             source.writers.push_back(write->writer);
                         });
  return source;
}

LogicalResult TaskMemory::verify(LaunchOp op) {
  SmallVector<ByteRange> ins, outs;
  for (auto [buffers, ranges] :
       {std::make_pair(ValueRange(op.getIns()), &ins),
        std::make_pair(ValueRange(op.getOuts()), &outs)})
    for (Value buffer : buffers) {
      FailureOr<ByteRange> range = getRange(op, buffer);
      if (failed(range))
        return failure();
      ranges->push_back(*range);
    }
  for (const ByteRange &in : ins)
    if (failed(read(op, in)))
      return failure();
  if (failed(shards.compute(
          op, llvm::map_to_vector(ins, [&](auto &in) { return getSource(in); }),
          llvm::map_to_vector(outs, [](auto &out) { return out.root; }))))
    return failure();
  for (auto [i, out] : llvm::enumerate(outs)) {
    int64_t inplace = op.getInplace()[i];
    if (inplace >= 0 && !(out == ins[inplace]))
      return op.emitOpError("writes result ")
             << i << " to another buffer than argument " << inplace
             << ", which it must overwrite";
    for (auto [j, in] : llvm::enumerate(ins))
      if (static_cast<int64_t>(j) != inplace && failed(checkApart(op, out, in)))
        return failure();
    for (const ByteRange &other : ArrayRef(outs).take_front(i))
      if (failed(checkApart(op, out, other)))
        return failure();
    if (failed(inplace >= 0 ? overwrite(op, out) : write(op, out)))
      return failure();
  }
  return success();
}

LogicalResult TaskMemory::verify(GemmOp op) {
  auto a = getRange(op, op.getA(), op.getAOffset(), op.getAStrides(), op.getM(),
                    op.getK());
  auto b = getRange(op, op.getB(), op.getBOffset(), op.getBStrides(), op.getK(),
                    op.getN());
  auto c = getRange(op, op.getC(), op.getCOffset(), op.getCStrides(), op.getM(),
                    op.getN());
  if (failed(a) || failed(b) || failed(c) || failed(read(op, *a)) ||
      failed(read(op, *b)) || failed(checkApart(op, *c, *a)) ||
      failed(checkApart(op, *c, *b)) ||
      failed(shards.compute(op, {getSource(*a), getSource(*b)}, {c->root})))
    return failure();
  if (op.getWorkspace()) {
    auto workspace = getRange(op, op.getWorkspace());
    if (failed(workspace) || failed(checkApart(op, *workspace, *a)) ||
        failed(checkApart(op, *workspace, *b)) ||
        failed(checkApart(op, *workspace, *c)) ||
        failed(checkIsFree(op, *workspace)))
      return failure();
    getMemory(*workspace).write(*workspace, op);
  }
  if (!op.getAccumulate())
    return write(op, *c);
  return success(succeeded(read(op, *c)) && succeeded(overwrite(op, *c)));
}

/// What a collective works on is its own until it is waited for.
LogicalResult TaskMemory::verify(BeginOp op) {
  if (op.getNumber() != next)
    return op.emitOpError("is number ")
           << op.getNumber() << ", and the next start is number " << next;
  ++next;
  auto in = getRange(op, op.getX());
  if (failed(in) || failed(read(op, *in)) ||
      failed(shards.begin(op, getSource(*in))))
    return failure();
  InFlight started{op, {*in}};
  for (Value buffer : op.getOuts()) {
    auto out = getRange(op, buffer);
    if (failed(out))
      return failure();
    for (const ByteRange &other : started.ranges)
      if (failed(checkApart(op, *out, other)))
        return failure();
    if (failed(write(op, *out)))
      return failure();
    started.ranges.push_back(*out);
  }
  bool overwrites = started.overwrites();
  inFlight[op.getNumber()] = std::move(started);
  return overwrites ? loseOverwritten(op, *in) : success();
}

/// Checks that what a reduce-scatter overwrites is a value of this task.
LogicalResult TaskMemory::loseOverwritten(BeginOp op, const ByteRange &range) {
  LogicalResult result = success();
  WrittenBytes &memory = getMemory(range);
  memory.visit(range.begin, range.end,
               [&](int64_t begin, int64_t end, WrittenBytes::Write *write) {
                 if (!write && succeeded(result))
                   result = refuse(op, "overwrites", begin, end, range)
                            << ", which the task was given";
               });
  memory.lose(range, op, "a reduce_scatter has overwritten");
  return result;
}

/// Scratch memory holds nothing afterwards.
LogicalResult TaskMemory::verify(FinishOp op) {
  auto found = inFlight.find(op.getNumber());
  if (found == inFlight.end())
    return op.emitOpError("waits for collective ")
           << op.getNumber() << ", which is not in flight";
  for (const ByteRange &scratch : ArrayRef(found->second.ranges).drop_front(2))
    getMemory(scratch).lose(scratch, op, "a collective used as scratch memory");
  inFlight.erase(found);
  return success();
}

LogicalResult TaskMemory::verify(ReleaseOp op) {
  auto range = getRange(op, op.getBuffer());
  if (failed(range) || failed(read(op, *range, "releases")) ||
      failed(checkIsFree(op, *range)))
    return failure();
  getMemory(*range).lose(*range, op, "were released");
  return success();
}

/// Returns whether tasks of a stage add to what a role names, microbatch by
/// microbatch.
static bool isAccumulator(RoleKind kind) {
  return kind == RoleKind::Grad || kind == RoleKind::GradRange ||
         kind == RoleKind::Loss || kind == RoleKind::Metric ||
         kind == RoleKind::MetricCount;
}

/// Checks that arguments that hold nothing when the task begins are complete
/// when it ends, and that none of them is an accumulator.
LogicalResult TaskMemory::verifyArguments() {
  for (BlockArgument argument : task.getBody().getArguments()) {
    auto found = written.find(argument);
    if (found == written.end() || found->second.isEmpty() ||
        given.contains(argument))
      continue;
    RoleAttr role = task.getArgRole(argument.getArgNumber());
    if (task.getStage() != TaskOp::kNoStage && isAccumulator(role.getKind()))
      return task.emitOpError("overwrites ")
             << role << ", to which other microbatches add: it must read it "
             << "before it writes it";
    ByteRange all{argument, 0, getBytes(argument.getType())};
    LogicalResult result = success();
    found->second.visit(
        all.begin, all.end,
        [&](int64_t begin, int64_t end, WrittenBytes::Write *earlier) {
          if ((!earlier || earlier->lost) && succeeded(result))
            result = refuse(task, "leaves", begin, end, all)
                     << " unwritten, though it writes others";
        });
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult TaskMemory::verify() {
  for (Operation &op : task.getBody().front()) {
    auto launch = dyn_cast<LaunchOp>(op);
    auto matmul = dyn_cast<GemmOp>(op);
    auto begin = dyn_cast<BeginOp>(op);
    auto finish = dyn_cast<FinishOp>(op);
    auto release = dyn_cast<ReleaseOp>(op);
    if ((launch && failed(verify(launch))) ||
        (matmul && failed(verify(matmul))) ||
        (begin && failed(verify(begin))) ||
        (finish && failed(verify(finish))) ||
        (release && failed(verify(release))))
      return failure();
  }
  if (!inFlight.empty()) {
    BeginOp begin = inFlight.begin()->second.begin;
    return begin.emitOpError("is not waited for in @") << task.getSymName();
  }
  if (size_t listed = task.getCollectiveList().size(); int64_t(listed) != next)
    return task.emitOpError("starts ")
           << next << " collectives, and its signature has " << listed;
  return verifyArguments();
}

} // namespace

LogicalResult pp::verifyMemory(TaskOp task) {
  return TaskMemory(task).verify();
}
