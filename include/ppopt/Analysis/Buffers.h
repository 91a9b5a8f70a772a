//===- Buffers.h - Where the operands of tasks lie --------------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_BUFFERS_H
#define PPOPT_ANALYSIS_BUFFERS_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Returns the buffer that holds what the role names and nothing else: a scalar
/// that tasks add to, a bucket's range, a cache, the logits. Null if the value
/// is a part of a buffer or lies in a slot.
BufferAttr getWholeBuffer(RoleAttr role);

/// Returns the buffer of what a pp.start sums, a bucket or a scalar's role; and
/// the buffer that receives in a sum of it.
BufferAttr getSummedBuffer(Attribute what);
BufferAttr getScratchBuffer(Attribute what);

/// Returns whether tasks of kind `decide` compute the field of the step state;
/// the runtime writes the others before a step.
bool isDecidedField(StringRef name);

/// The buffers of a module's ranks: which holds the operand of a role, from
/// which byte on, and how large it is. A buffer is the same on all places that
/// have it.
class BufferIndex {
public:
  explicit BufferIndex(ModuleOp module);

  /// Returns the address of the operand of a role for a run on a microbatch; no
  /// role of a value in a slot. Emits an error on the run if there is none.
  FailureOr<AddressAttr> getAddress(Operation *run, RoleAttr role, Type type,
                                    int64_t microbatch) const;
  /// Return the address of a parameter, and of its gradient or a state; null if
  /// no bucket holds those.
  AddressAttr getParam(StringAttr param) const;
  AddressAttr getGradient(StringAttr param) const;
  AddressAttr getState(StringAttr param, StringRef state) const;

  /// Returns the bytes of a buffer; nothing if the module declares none such.
  /// Those of slots, temporaries, workspace and scratch are not known here.
  std::optional<int64_t> getBytes(BufferAttr buffer) const;

private:
  AddressAttr getInBucket(StringAttr param, BufferKind kind,
                          StringRef state = "") const;
  void addBucket(BucketOp bucket, ArrayRef<StringRef> states);
  void addWholeBuffers(TaskOp task);

  /// A parameter's bucket and its offset in it, in elements.
  DenseMap<StringAttr, std::pair<BucketOp, int64_t>> bucketOf;
  DenseMap<BufferAttr, int64_t> bytes;
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_BUFFERS_H
