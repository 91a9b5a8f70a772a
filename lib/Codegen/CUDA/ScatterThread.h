//===- ScatterThread.h - What a thread emits of a scatter -----------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_SCATTERTHREAD_H
#define PPOPT_LIB_CODEGEN_CUDA_SCATTERTHREAD_H

#include "DeviceThread.h"

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// The sizes of a scatter that has tiles and threads, and what follows from
/// them.
struct ScatterPlan {
  explicit ScatterPlan(KernelOp kernel);

  /// Returns the shared memory of a block whose list has so many entries.
  int64_t getSharedBytes(int64_t entries) const {
    return getListBytes(entries) + getOtherBytes();
  }
  int64_t getListBytes(int64_t entries) const {
    return 2 * entries * entryBits / 8;
  }
  int64_t getSumBytes() const;
  /// Returns the fewest entries for which those fit that are added at a time.
  int64_t getLeastCapacity() const {
    return std::min(rows, threads.getCount());
  }

  int64_t rows, columns, tableRows; ///< `rows` are added
  Type element;                     ///< of the table
  ThreadsAttr threads;
  int64_t width;  ///< of a block, in columns
  int64_t groups; ///< every n-th row of the table is a block's
  int64_t teams;  ///< of threads that share a row
  /// An entry of the list has the row among those of the block in its upper
  /// bits, the number of the row that is added in its lower ones.
  int64_t rowBits, numberBits, entryBits;
  int64_t capacity;    ///< entries of the list
  int64_t idsOfThread; ///< that it looks at at a time

private:
  /// Of the sums of teams, and a count per warp.
  int64_t getOtherBytes() const;
};

/// Emits the list of the rows that a block adds, in the memory that its threads
/// share.
class ScatterThread : public DeviceThread {
public:
  ScatterThread(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  KernelOp kernel;
  SmallVector<Value> buffers;
  ScatterPlan plan;
  EmbeddingGradOp op;
  /// The block has every n-th row of the table from this one on.
  Value group;

  //===--- The list -------------------------------------------------------===//

  /// Appends the ids of the block's rows among those from `first` on to the
  /// list, which has `count` entries. Returns how many it has then.
  Value listIds(Value first, Value count);
  /// Sorts the list by rows, and keeps the order of a row's entries. Returns
  /// the number of its first entry: there is memory for two lists.
  Value sortList(Value count);

  Value loadEntry(Value at) { return load(shared, getEntryType(), at); }
  /// Returns the row of an entry among those of the block, an integer of the
  /// entry's type.
  Value getRow(Value entry);
  /// Returns the number of the row that is added.
  Value getNumber(Value entry);

  //===--- Values ---------------------------------------------------------===//

  Value isEqual(Value a, Value b);
  Value isNot(Value condition);
  Value select(Value condition, Value a, Value b);
  Value toIndex(Value number);

private:
  Type getEntryType() { return builder.getIntegerType(plan.entryBits); }
  Value entryOf(int64_t value);
  Value makeEntry(Value row, Value number);
  void storeEntry(Value entry, Value at);

  /// Entries of a thread, and whether a bit of each is 0.
  struct Entries {
    SmallVector<Value> numbers, entries, areZeros;
    SmallVector<Value> zeros; ///< of the warp's entries
  };
  Entries loadEntries(Value first, Value list, Value count, Value bit);
  void sortByBit(Value from, Value to, Value count, Value bit);

  Value word(int64_t value);
  /// Returns the lanes of the warp for which `condition` holds, one bit each.
  Value ballot(Value condition);
  Value countBits(Value bits);
  /// Counts those of the lanes before this one.
  Value countBefore(Value bits);
  /// Returns the sum of the counts of the warps before this one, and of all.
  std::pair<Value, Value> sumOverWarps(Value count);

  Value warp, lane, lanesBefore;
  Value countMemory; ///< a word per warp
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_SCATTERTHREAD_H
