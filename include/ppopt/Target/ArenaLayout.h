//===- ArenaLayout.h - Where everything lies in a rank's arena ---*- C++
//-*-===//

#ifndef PPOPT_TARGET_ARENALAYOUT_H
#define PPOPT_TARGET_ARENALAYOUT_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Name of the region of a scalar that tasks add to: a role loss, norm or
/// global.
std::string getScalarRegion(RoleAttr role);

/// Offsets (bytes) of what tasks take as arguments, read off the pp.regions of
/// a module of phase kernels.
class ArenaLayout {
public:
  explicit ArenaLayout(ModuleOp module);

  /// Offset of the buffer of a role for a run of a task. Roles are complete: a
  /// role without a place is a bug of a pass, reported as an error on the run.
  FailureOr<int64_t> getOffset(RunOp run, RoleAttr role, Type type) const;
  /// Offset of a region by name; a region that is missing is an error at `loc`.
  FailureOr<int64_t> getRegion(StringRef name, Location loc) const;
  bool hasRegion(StringRef name) const { return regions.contains(name); }
  /// Offset of a parameter, and of its gradient (-1: it has none) or state.
  FailureOr<int64_t> getParam(ParamDeclOp param) const;
  int64_t getGradient(ParamDeclOp param) const;
  int64_t getState(ParamDeclOp param, StringRef state) const;
  /// Size of the arena.
  int64_t getBytes() const { return bytes; }

private:
  int64_t getInBucket(StringRef prefix, StringRef param) const;

  llvm::StringMap<int64_t> regions;
  /// A parameter's bucket and its offset in it, in bytes.
  llvm::StringMap<std::pair<StringRef, int64_t>> bucketOf;
  int64_t bytes = 0;
};

} // namespace mlir::pp

#endif // PPOPT_TARGET_ARENALAYOUT_H
