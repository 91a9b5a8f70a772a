//===- Target.h - What code is generated for ------------------------------===//
//
// A target says how kernels are tiled, which matmuls its library computes and
// with how much workspace, and how phase kernels becomes an executable. Nothing
// outside its folder knows it by name. docs/adding-a-target.md tells how to add
// one.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_TARGET_H
#define PPOPT_CODEGEN_TARGET_H

#include "ppopt/Dialect/PP/Machine.h"
#include "ppopt/matmul.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

#include <memory>
#include <string>

namespace mlir::pp {

/// A program of phase native that becomes part of an executable.
struct NativeProgram {
  ModuleOp module;
  /// The names of its files begin with this path, those of its functions with
  /// this prefix: programs of one executable share neither.
  std::string stem, prefix;
  std::string symbols; ///< what those for the runtime begin with
};

/// What devices load of a program; both are empty if hosts run all of it.
struct DeviceImages {
  std::string text;   ///< which drivers compile for any device of the target
  std::string binary; ///< for one device; empty if there is no assembler
};

class Target {
public:
  virtual ~Target();

  /// The word of --target and #pp.target.
  virtual StringRef getName() const = 0;
  /// One line of --help, e.g. "processors that LLVM compiles for".
  virtual StringRef getSummary() const = 0;

  /// Registers what the passes of the target need; by default nothing.
  virtual void registerDialects(DialectRegistry &registry) const {}
  virtual void registerPasses() const {}

  //===--------------------------------------------------------------------===//
  // The machine
  //===--------------------------------------------------------------------===//

  /// Returns the values of --cpu, besides native.
  virtual SmallVector<StringRef> getCpus() const = 0;
  /// Returns the values of --gpu, the default first; none if ranks of this
  /// target have no GPU.
  virtual SmallVector<StringRef> getGpus() const { return {}; }
  /// Returns the device for which times are estimated unless one is named;
  /// empty for that of this machine.
  virtual StringRef getDevice(const Machine &machine) const { return ""; }
  /// Sets cpu and features to those of this machine: --cpu native.
  virtual void setNative(Machine &machine) const = 0;
  /// Returns what the machine lacks to multiply bf16 matrices faster than f32
  /// matrices, e.g. "neither A nor B"; empty if nothing.
  virtual std::string getLackForBF16(const Machine &machine) const = 0;

  //===--------------------------------------------------------------------===//
  // Phase kernels
  //===--------------------------------------------------------------------===//

  /// Adds passes on tasks before kernels are formed.
  virtual void addPrepareTasks(OpPassManager &manager) const {}
  /// Adds the pass that decides how the kernels of form-kernels are computed:
  /// it sets `tiles` of each.
  virtual void addPlanKernels(OpPassManager &manager,
                              const Machine &machine) const = 0;
  /// Returns why the library refuses a matmul; empty if it computes it.
  virtual std::string
  checkMatmul(const ::ppopt::MatmulDescriptor &matmul) const = 0;
  /// Returns the bytes of workspace of a matmul that the library computes.
  virtual int64_t getMatmulWorkspace(const ::ppopt::MatmulDescriptor &matmul,
                                     int64_t threads) const = 0;
  /// Returns the bytes of values above which tasks compute them in blocks of
  /// rows, unless --block-bytes says how many.
  virtual int64_t getBlockBytes() const { return int64_t(64) << 20; }
  /// Returns whether the target has kernels for each value of a plan option
  /// (PLAN_KERNELS of schema/plan_options.def), or for its default alone.
  virtual bool hasKernels(StringRef flag) const { return false; }
  /// Adds the pass that decides how these kernels compute the matmuls of tasks
  /// on buffers, if the plan wants them: it sets `kernel` of each.
  virtual void addPlanMatmuls(OpPassManager &manager) const {}

  //===--------------------------------------------------------------------===//
  // Phase native
  //===--------------------------------------------------------------------===//

  /// Adds the passes of phase native. `emitTasks` converts tasks to functions
  /// that launch kernels by number, and must run: it adds the program's
  /// document.
  virtual void addNativePasses(OpPassManager &manager, const Machine &machine,
                               std::unique_ptr<Pass> emitTasks) const = 0;
  /// Writes the LLVM IR of the code of a program that devices run, as text;
  /// nothing if hosts run all of it.
  virtual LogicalResult printDeviceIR(ModuleOp native, const Machine &machine,
                                      raw_ostream &out) const {
    return success();
  }
  /// Compiles the code of a program that devices run, and takes it out of the
  /// module. Names of temporary files begin with `stem`.
  virtual FailureOr<DeviceImages> takeDeviceCode(ModuleOp native,
                                                 const Machine &machine,
                                                 StringRef stem) const {
    return DeviceImages{};
  }
  /// Writes the executable of these programs, whose definitions it consumes.
  /// The runtime is in `prefix`/lib.
  virtual LogicalResult writeExecutable(ArrayRef<NativeProgram> programs,
                                        const Machine &machine,
                                        StringRef prefix,
                                        StringRef path) const = 0;
  /// Returns a line for users: what code for devices an executable has; empty
  /// if hosts run all of it.
  virtual std::string describeDeviceCode(const Machine &machine) const {
    return "";
  }
};

/// Returns all targets, the default first.
SmallVector<const Target *> getTargets();
/// Adds a target to those of Targets.def.
void registerTarget(std::unique_ptr<Target> target);
/// Returns null if there is none of this name.
const Target *findTarget(StringRef name);
/// Returns the target of the module's plan, or the default if it has no plan.
/// Reports one that is unknown.
FailureOr<const Target *> findTarget(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_TARGET_H
