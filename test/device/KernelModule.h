//===- KernelModule.h - The kernels of a module of phase kernels ----------===//

#ifndef PPOPT_TEST_DEVICE_KERNELMODULE_H
#define PPOPT_TEST_DEVICE_KERNELMODULE_H

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/Machine.h"
#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/matmul.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulated {

/// What a kernel says of an argument's elements.
struct Operand {
  mlir::RankedTensorType type;
  /// Elements from the begin of a row to that of the next.
  mlir::pp::Pitch pitch;
  /// If the elements are indices: how many are valid.
  std::optional<int64_t> indices;
  /// If the element is the position of a cache: how many it has. Others are
  /// not valid.
  std::optional<int64_t> positions;
  /// If the elements are segments: how many tokens a row has.
  std::optional<int64_t> tokens;
  bool isRandomKey = false;
  /// Of the random key: in how many parts an axis cuts what a tile says, by the
  /// element that has the coordinate. Others are of no use.
  std::map<int64_t, int64_t> coordinates;
  /// One element that is compared with a constant, and has no other use.
  bool isFlag = false;
  /// Of floats, if something is known of them: about what they are, and how
  /// much they differ.
  double mean = 0, deviation = 1;
  /// In some launch it begins at any element of an input.
  bool isUnaligned = false;

  /// Of the tensor, without padding.
  uint64_t getBytes() const;
  unsigned getElementBytes() const;
};

struct KernelDescription {
  std::string name, form;
  unsigned grid = 0, threads = 0;
  uint64_t sharedBytes = 0; ///< of the launch
  int64_t columns = 0;      ///< of its space
  std::vector<Operand> arguments, results;
  /// For each result the argument whose buffer it overwrites, or -1.
  std::vector<int64_t> inplace;
  mlir::pp::Work work;
};

/// An operand of a matmul.
struct MatmulSide {
  std::array<int64_t, 4> strides{}; ///< of the batch's dimensions, row, column
  /// Of its first element from a multiple of 64 bytes: a power of two that
  /// divides it in all uses, or 0.
  uint64_t offset = 0;
};

/// A matmul that the device code has a kernel for, or the library's.
struct MatmulDescription {
  std::string name;
  unsigned grid = 0, threads = 0; ///< 0: the library's
  uint64_t sharedBytes = 0;
  uint64_t workspaceBytes = 0; ///< that the library gets
  mlir::Type type, cType;
  bool accumulate = false;
  int64_t m = 0, n = 0, k = 0;
  std::array<int64_t, 2> batch{};
  MatmulSide a, b, c;
  ::ppopt::MatmulDescriptor descriptor;
  mlir::pp::Work work;
};

/// A module that `ppopt compile --stop-after=kernels` has written.
class KernelModule {
public:
  static llvm::Expected<KernelModule> read(llvm::StringRef path);
  /// Erases kernels whose names do not match, with their launches, so that no
  /// time is spent on their code. Some must match.
  llvm::Error keepOnly(llvm::StringRef regex);
  /// Returns for each kernel a digest of all that its code and its launches
  /// depend on, whatever it is called.
  llvm::Expected<llvm::StringMap<std::string>> digestKernels();
  /// Erases kernels and matmuls with these names, and their launches.
  void erase(llvm::function_ref<bool(llvm::StringRef)> isErased);
  /// Returns the device code of a file, or if `path` is empty what the module's
  /// target emits.
  llvm::Expected<std::string> getDeviceIR(llvm::StringRef path);
  /// Writes what the target emits, as `ppopt compile --save-device-ir` does;
  /// nothing if `path` is empty.
  llvm::Error saveDeviceIR(llvm::StringRef path);
  /// Returns what drivers load of this code. `gpu` is the architecture of the
  /// binary. Names of temporary files begin with `stem`.
  llvm::Expected<mlir::pp::DeviceImages>
  compileDeviceCode(llvm::StringRef gpu, llvm::StringRef stem);

  /// Owned by the context, which must outlive it.
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<KernelDescription> kernels;
  std::vector<MatmulDescription> matmuls;
  /// Those of the library. Two of one name differ in strides or alignment.
  std::vector<MatmulDescription> libraryMatmuls;

private:
  /// A copy in phase native, without tasks.
  struct Native {
    const mlir::pp::Target *target;
    mlir::pp::Machine machine;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };

  llvm::Error readMatmuls();
  llvm::Expected<Native> emitNative(llvm::StringRef gpu);
  llvm::Expected<std::string> emitDeviceIR();

  std::string deviceIR; ///< of all kernels, if it has been emitted
};

/// A pass in the place of emit-tasks: of ppopt's ops it leaves none.
std::unique_ptr<mlir::Pass> createKeepKernelCode();

/// What the context reports from here on, until it is taken.
class Messages {
public:
  explicit Messages(mlir::MLIRContext &context);
  llvm::Error take(llvm::StringRef otherwise);

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_KERNELMODULE_H
