//===- matmul.h - Matmuls on the CPU --------------------------------------===//
//
// A matmul is prepared once, at start. Then it runs without allocations of
// ours. Preparation chooses the implementation from the descriptor, the number
// of threads, the machine's instruction set and the workspace that the program
// provides, never by timing. The same choice gives the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_MATMUL_H

#include "ppopt/matmul.h"

#include <memory>
#include <string>

namespace ppopt {

/// One implementation of one matmul.
class MatmulImplementation {
public:
  virtual ~MatmulImplementation() = default;
  virtual void run(const void *a, const void *b, void *c,
                   void *workspace) const = 0;
  virtual size_t workspaceBytes() const = 0;
  virtual std::string name() const = 0;
};

class PreparedMatmul {
public:
  /// Throws std::invalid_argument if the descriptor is invalid.
  PreparedMatmul(const MatmulDescriptor &matmul, int threads,
                 size_t workspaceBytes);

  /// Call it on the thread that prepared it. `workspace` may be null if
  /// `workspaceBytes()` is 0.
  void run(const void *a, const void *b, void *c, void *workspace) const {
    implementation->run(a, b, c, workspace);
  }

  size_t workspaceBytes() const { return implementation->workspaceBytes(); }
  std::string name() const { return implementation->name(); }
  const MatmulImplementation &how() const { return *implementation; }
  int64_t flops() const { return flopCount; }

private:
  std::unique_ptr<MatmulImplementation> implementation;
  int64_t flopCount;
};

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_MATMUL_H
