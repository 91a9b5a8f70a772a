//===- DeviceCode.h - Device code that runs on this machine ---------------===//

#ifndef PPOPT_TEST_DEVICE_DEVICECODE_H
#define PPOPT_TEST_DEVICE_DEVICECODE_H

#include "InstrumentDevice.h"
#include "Memory.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Target/TargetOptions.h"

#include <memory>
#include <string>
#include <vector>

namespace emulated {

/// A variable in shared memory, or a constant.
struct Variable {
  std::string name;   ///< "shared memory @partials"
  std::string symbol; ///< in the compiled code
  Region::Kind kind;
  uint64_t address = 0;
  uint64_t bytes = 0; ///< 0: as many as the launch says
};

/// A kernel of a file of LLVM IR for NVPTX.
struct KernelCode {
  std::string name;
  unsigned threads = 0; ///< of a block
  unsigned arguments = 0;
  /// Runs one thread; takes the addresses of the arguments' buffers.
  void (*thread)(void **arguments) = nullptr;
  std::vector<Variable> variables;
  bool isAlone = true; ///< no thread waits for another
  /// A power of two: all loads and stores are of whole multiples, at multiples.
  unsigned elementBytes = 0;
  std::vector<Site> *sites = nullptr;
};

/// The kernels of a file, compiled for this machine. The checks of loads and
/// stores, and the intrinsics, are calls of theDevice().
class DeviceCode {
public:
  /// Reads a file, and compiles all kernels.
  static llvm::Expected<DeviceCode> load(llvm::MemoryBufferRef text);
  /// Reads a file, and compiles nothing. `objects`: a folder where compiled
  /// kernels are kept, for all that read this file; empty: none. It is for one
  /// build of this code, on one machine.
  static llvm::Expected<DeviceCode>
  read(llvm::MemoryBufferRef text, Checks checks, llvm::StringRef objects = "");

  std::vector<KernelCode> kernels;
  const KernelCode *find(llvm::StringRef name) const;
  /// Compiles those of these kernels that are not compiled.
  llvm::Error compile(llvm::ArrayRef<KernelCode *> kernels);

private:
  llvm::Error prepare(Checks checks);
  llvm::Error transform(const Texts &texts, Checks checks);
  llvm::Error add(llvm::function_ref<bool(const llvm::GlobalValue &)> isTaken);
  llvm::Error link(KernelCode &kernel);
  std::string getObjectPath(
      llvm::function_ref<bool(const llvm::GlobalValue &)> isTaken) const;

  llvm::orc::ThreadSafeContext context;
  std::unique_ptr<llvm::Module> module; ///< instrumented
  llvm::StringSet<> isCompiled;         ///< functions
  std::string objects; ///< how the files of compiled parts begin; empty: none
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<std::vector<Site>> sites =
      std::make_unique<std::vector<Site>>();
  /// Shared memory of all kernels: none of their variables share addresses.
  std::shared_ptr<void> shared;
};

/// Returns a compiler in this process for this machine. It finds the functions
/// of the C and math libraries. `fusion`: which multiplications and additions
/// may become one instruction.
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
createJit(llvm::FPOpFusion::FPOpFusionMode fusion, llvm::CodeGenOptLevel level);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_DEVICECODE_H
