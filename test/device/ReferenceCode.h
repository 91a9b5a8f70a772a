//===- ReferenceCode.h - Kernels as the target cpu computes them ----------===//

#ifndef PPOPT_TEST_DEVICE_REFERENCECODE_H
#define PPOPT_TEST_DEVICE_REFERENCECODE_H

#include "KernelModule.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace emulated {

/// The kernels of a module, planned, emitted and compiled for this processor.
class ReferenceCode {
public:
  /// Consumes the module; its descriptions stay.
  static llvm::Expected<ReferenceCode> compile(KernelModule &kernels,
                                               llvm::CodeGenOptLevel level);

  /// Computes a kernel; takes the arguments' buffers, then the results'. In
  /// place of an argument the result is in its buffer.
  void run(llvm::StringRef kernel, void **buffers) const;
  /// Likewise; tiles are shared among the cores.
  void runOnAllCores(llvm::StringRef kernel, void **buffers) const;

private:
  struct Entry {
    void (*tiles)(void **buffers, int64_t begin, int64_t end);
    int64_t count;
  };
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::StringMap<Entry> entries;
};

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_REFERENCECODE_H
