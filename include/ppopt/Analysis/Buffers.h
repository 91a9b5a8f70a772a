//===- Buffers.h - Where the operands of tasks lie --------------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_BUFFERS_H
#define PPOPT_ANALYSIS_BUFFERS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Returns the buffer that holds what the role names and nothing else: a scalar
/// that tasks add to, a bucket's range, a cache, the logits. Null if the value
/// is a part of a buffer or lies in a slot.
BufferAttr getWholeBuffer(RoleAttr role);

/// Returns the buffer that receives in a sum of a buffer.
BufferAttr getScratchBuffer(BufferAttr buffer);

/// Where the chunks of a bucket lie that the ranks of a place have: position
/// first + Σ coordinate·step among those of the bucket's shard group.
struct ChunkPosition {
  struct Step {
    StringAttr axis;
    int64_t size, step;
  };
  int64_t first = 0;
  SmallVector<Step, 1> steps;

  /// Returns the position of the place's chunk `number`: the coordinates on the
  /// axes of `steps` are its digits.
  int64_t get(int64_t number) const;
};
ChunkPosition getChunkPosition(BucketOp bucket,
                               const ::ppopt::geometry::Mesh &mesh,
                               int64_t place);

/// Returns the number of chunks that a place has of each bucket.
int64_t getPlaceChunks(PlanOp plan);

/// Returns the axes that cut a parameter, in the order of the mesh.
SmallVector<StringAttr> getTileAxes(ParamDeclOp param,
                                    const ::ppopt::geometry::Mesh &mesh);

/// The buffer of the norm: sums of squares of gradients, one entry for each
/// class of buckets, place, position on the axes that cut parameters, and
/// chunk. A class is the buckets whose parameters the same axes cut. Each rank
/// adds to the entries of its own position, also of parameters that other ranks
/// have too: an entry is then a sum over ranks all but one of which have zeros,
/// and exact. What counts are the entries at position 0 on the axes that do not
/// cut the class.
class NormLayout {
public:
  explicit NormLayout(ModuleOp module);

  /// The axes that cut some parameter, over which the buffer is summed.
  ArrayRef<StringAttr> getAxes() const { return axes; }
  ArrayRef<SmallVector<StringAttr>> getClasses() const { return classes; }
  /// Returns the number of the bucket's class.
  unsigned getClass(BucketOp bucket) const;
  int64_t getElements() const;
  /// Returns the sizes of classes, places, positions on each axis, and chunks.
  SmallVector<int64_t> getShape() const;
  /// Returns the first entry of a class and a place, and the strides along the
  /// axes.
  int64_t getFirst(unsigned classNumber, int64_t place) const;
  int64_t getStride(unsigned axis) const;
  int64_t getChunks() const { return chunks; }

private:
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes; ///< of the axes
  SmallVector<SmallVector<StringAttr>> classes;
  llvm::StringMap<unsigned> classOf; ///< by bucket
  int64_t places = 1, chunks = 1;
};

/// Returns how often a step runs a task on chunks, once on each; 0 if it runs
/// once, on the chunks of its rank or on no chunks.
int64_t countChunkRuns(PlanOp plan, TaskOp task);

/// The memory that a collective works on.
struct CollectiveOperand {
  AddressAttr address;
  int64_t elements = 0;
  Type type;
};

/// A parameter in its bucket, which is null if the parameter does not learn.
struct InBucket {
  BucketOp bucket;
  int64_t first = 0; ///< element of the bucket
};

/// Returns whether tasks of kind `decide` compute the field of the step state;
/// the runtime writes the others before a step.
bool isDecidedField(StringRef name);

/// The buffers of a module's ranks: which holds the operand of a role, from
/// which byte on, and how large it is. A buffer is the same on all places that
/// have it.
class BufferIndex {
public:
  explicit BufferIndex(ModuleOp module);

  /// Returns the address of an operand of the task in a run of it; of none that
  /// lies in a slot. Emits an error on the run if there is none, or if the
  /// operand ends beyond its buffer.
  FailureOr<AddressAttr> getAddress(RunOp run, TaskOp task,
                                    const TaskOperand &operand) const;
  /// Returns what a collective works on, on a place; emits an error on it if
  /// the module declares no such buffer.
  FailureOr<CollectiveOperand> getOperand(StartOp start, int64_t place) const;
  /// Return the address of a parameter, and of its gradient or a state; null if
  /// no bucket holds those. Where a rank has its chunk only, this is the
  /// beginning of the chunk.
  AddressAttr getParam(StringAttr param) const;
  AddressAttr getGradient(StringAttr param) const;
  AddressAttr getState(StringAttr param, StringRef state) const;
  /// Returns the address of the owner's chunk of the master that holds the
  /// parameter; null if it has no owners.
  AddressAttr getMaster(StringAttr param) const;
  /// Returns where the rank's gradients of the chunk lie that it owns.
  AddressAttr getOwnedGradient(BucketOp bucket) const;
  /// Returns the bucket that a task updates, if it has owners; else null.
  BucketOp getOwned(TaskOp task) const;

  InBucket getBucket(StringAttr param) const { return bucketOf.lookup(param); }
  /// Returns the bucket of which a buffer has all or a chunk; null if it is of
  /// none.
  BucketOp getBucket(BufferAttr buffer) const;
  /// Returns the buffer that has what the role names; null for a value, and for
  /// the gradient of a parameter that no bucket holds.
  BufferAttr getBuffer(RoleAttr role) const;
  /// Returns whether an operand of a task is one chunk of a bucket.
  bool isChunk(const TaskOperand &operand) const;

  /// Returns how the buffer of the norm is laid out.
  const NormLayout &getNorm() const { return norm; }

  /// Returns the bytes of a buffer; nothing if the module declares none such.
  /// Those of slots, temporaries, workspace and scratch are not known here.
  std::optional<int64_t> getBytes(BufferAttr buffer) const;

private:
  FailureOr<AddressAttr> findAddress(RunOp run, TaskOp task,
                                     const TaskOperand &operand) const;
  AddressAttr getInBucket(StringAttr param, BufferKind kind,
                          StringRef state = "") const;
  void addBucket(BucketOp bucket, ArrayRef<StringRef> states);
  void addWholeBuffers(TaskOp task);
  void add(BufferAttr buffer, int64_t elements, Type type) {
    sizes.try_emplace(buffer, elements, type);
  }
  AddressAttr getChunk(BucketOp bucket, BufferAttr buffer, int64_t place,
                       std::optional<int64_t> number) const;
  AddressAttr getOfOwner(BucketOp bucket, RoleAttr role) const;
  AddressAttr getNormEntry(BufferAttr buffer, TaskOp task,
                           std::optional<int64_t> chunk) const;

  DenseMap<StringAttr, InBucket> bucketOf; ///< by parameter
  llvm::StringMap<BucketOp> buckets;
  /// Whether ranks have chunks of some bucket's states.
  bool isSharded = false;
  ::ppopt::geometry::Mesh mesh;
  NormLayout norm;
  /// The elements of each buffer and their type.
  DenseMap<BufferAttr, std::pair<int64_t, Type>> sizes;
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_BUFFERS_H
