//===- NativeCode.cpp - From the LLVM dialect to object files -------------===//

#include "ppopt/Codegen/NativeCode.h"

#include "NativeParts.h"
#include "ppopt/Codegen/OptimiseModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;
using namespace mlir::pp;

// LLVM's tool checks that instcombine reaches a fixed point; compilers do not.
#define PPOPT_INSTCOMBINE "instcombine<no-verify-fixpoint>,"

/// The passes of -O3 that kernels gain from, in its order. Kernels are loop
/// nests without recursion or exceptions, which MLIR has simplified: no pass
/// has to clean up again what the next ones leave. LLVM takes two thirds of
/// -O3's time, and kernels execute less than 1 % more instructions.
static constexpr char kKernelPasses[] =
    // Attributes and constants of arguments; calls.
    "inferattrs,ipsccp,globalopt,cgscc(inline,function-attrs),globaldce,"
    "recompute-globalsaa,"
    // Loops: invariants, conditions that do not change, small trip counts.
    "function(sroa,early-cse<memssa>,simplifycfg," PPOPT_INSTCOMBINE
    "loop-mssa(licm,loop-rotate,licm,simple-loop-unswitch<nontrivial>),"
    "simplifycfg," PPOPT_INSTCOMBINE
    "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),"
    // Accesses of memory that this makes redundant.
    "sroa,vector-combine,gvn," PPOPT_INSTCOMBINE
    "dse,loop-mssa(licm),simplifycfg," PPOPT_INSTCOMBINE
    // Vectors.
    "loop-vectorize,loop-load-elim," PPOPT_INSTCOMBINE
    "simplifycfg,slp-vectorizer,vector-combine," PPOPT_INSTCOMBINE
    "loop-unroll<O3>,sroa<preserve-cfg>," PPOPT_INSTCOMBINE
    "loop-mssa(licm),simplifycfg),globaldce";

void pp::setHostCpu(Machine &machine) {
  llvm::SubtargetFeatures features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  machine.cpu = llvm::sys::getHostCPUName().str();
  machine.features = features.getString();
}

/// LLVM's registry of targets is not safe for threads.
static void registerNativeTarget() {
  [[maybe_unused]] static const bool isDone = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
}

/// Creates a target machine for this host's architecture and the given CPU.
static std::unique_ptr<llvm::TargetMachine>
createMachine(ModuleOp module, StringRef cpu, StringRef features) {
  registerNativeTarget();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError(error);
    return nullptr;
  }
  llvm::TargetOptions options;
  // The result of contraction would depend on what else a kernel computes.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.UseInitArray = true; // C libraries run no constructors in .ctors
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    module.emitError("LLVM knows no CPU '")
        << cpu << "' of this architecture; --cpu=native is this machine's";
    return nullptr;
  }
  return machine;
}

/// Returns what LLVM knows of a CPU of this architecture; null if LLVM was
/// built without it.
static std::unique_ptr<llvm::MCSubtargetInfo> describeCpu(StringRef cpu,
                                                          StringRef features) {
  registerNativeTarget();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target ? target->createMCSubtargetInfo(triple, cpu, features) : nullptr);
}

SmallVector<StringRef> pp::listCpus() {
  SmallVector<StringRef> names;
  if (auto info = describeCpu("", ""))
    for (const llvm::SubtargetSubTypeKV &cpu :
         info->getAllProcessorDescriptions())
      names.push_back(cpu.Key);
  return names;
}

int64_t pp::getVectorBytes(StringRef cpu, StringRef features) {
  auto info = describeCpu(cpu, features);
  if (info && info->checkFeatures("+avx512f"))
    return 64;
  return info && info->checkFeatures("+avx2,+fma") ? 32 : 16;
}

bool pp::hasFastBF16(StringRef cpu, StringRef features) {
  auto info = describeCpu(cpu, features);
  return info && (info->checkFeatures("+avx512bf16") ||
                  info->checkFeatures("+amx-bf16"));
}

/// Sets the CPU of functions, and their preference for wide vectors.
static void setFunctionAttributes(llvm::Module &module, StringRef cpu,
                                  StringRef features,
                                  const llvm::TargetMachine &machine) {
  bool hasWideVectors = machine.getMCSubtargetInfo()->checkFeatures("+avx512f");
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu);
    if (!features.empty())
      function.addFnAttr("target-features", features);
    if (hasWideVectors)
      function.addFnAttr("prefer-vector-width", "512");
  }
}

namespace {

/// A part that becomes an object file.
struct ObjectFile {
  NativePart part;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string path;
  /// The functions and the kernels' constants of its program, and what is added
  /// to their names.
  std::shared_ptr<const llvm::StringSet<>> defined;
  StringRef prefix;
};

} // namespace

/// Returns the functions and the kernels' constants that a module defines.
static llvm::StringSet<> findDefinitions(ModuleOp module) {
  llvm::StringSet<> names;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      names.insert(function.getSymName());
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (global.getLinkage() == LLVM::Linkage::Private)
      names.insert(global.getSymName());
  return names;
}

/// Adds `prefix` to the names of the functions and constants in `defined`.
static void rename(llvm::Module &module, const llvm::StringSet<> &defined,
                   StringRef prefix) {
  for (llvm::GlobalObject &symbol : module.global_objects())
    if (defined.contains(symbol.getName()))
      symbol.setName(prefix + symbol.getName());
}

static std::unique_ptr<llvm::Module> translate(ObjectFile &object,
                                               llvm::LLVMContext &context,
                                               const Machine &machine) {
  context.setDiscardValueNames(true);
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*object.part.module, context, "ppopt");
  if (!module) {
    object.part.module->emitError("can't be translated to LLVM IR");
    return nullptr;
  }
  module->setDataLayout(object.machine->createDataLayout());
  module->setTargetTriple(object.machine->getTargetTriple());
  setFunctionAttributes(*module, machine.cpu, machine.features,
                        *object.machine);
  if (!object.prefix.empty())
    rename(*module, *object.defined, object.prefix);
  return module;
}

/// Depends on no other part: runs concurrently with them.
static LogicalResult writeObject(ObjectFile &object, const Machine &machine) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translate(object, context, machine);
  if (!module)
    return failure();
  Location loc = object.part.module->getLoc();
  if (!object.part.isUnoptimized)
    optimiseModule(*module, *object.machine, kKernelPasses);
  std::error_code error;
  llvm::raw_fd_ostream file(object.path, error, llvm::sys::fs::OF_None);
  if (error)
    return emitError(loc) << "can't write '" << object.path
                          << "': " << error.message();
  llvm::legacy::PassManager passes;
  if (object.machine->addPassesToEmitFile(passes, file, nullptr,
                                          llvm::CodeGenFileType::ObjectFile))
    return emitError(loc) << "LLVM can't write object files for "
                          << object.machine->getTargetCPU();
  passes.run(*module);
  file.close();
  if (std::error_code failed = file.error()) {
    file.clear_error(); // else it aborts the process
    return emitError(loc) << "can't write '" << object.path
                          << "': " << failed.message();
  }
  return success();
}

FailureOr<SmallVector<std::string>>
pp::writeObjects(ArrayRef<NativeProgram> programs, const Machine &machine) {
  MLIRContext *context = programs.front().module->getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  SmallVector<ObjectFile, 0> objects;
  for (const NativeProgram &program : programs) {
    auto defined = std::make_shared<const llvm::StringSet<>>(
        findDefinitions(program.module));
    for (auto [i, part] : llvm::enumerate(divideIntoParts(program.module))) {
      auto target =
          createMachine(program.module, machine.cpu, machine.features);
      if (!target)
        return failure();
      if (part.isUnoptimized)
        target->setOptLevel(llvm::CodeGenOptLevel::None);
      objects.push_back({std::move(part), std::move(target),
                         llvm::formatv("{0}.{1}.o", program.stem, i), defined,
                         program.prefix});
    }
  }
  // The longest first: none of them is still compiled when all else is done.
  auto longest =
      llvm::map_to_vector(objects, [](ObjectFile &object) { return &object; });
  llvm::sort(longest, [](const ObjectFile *a, const ObjectFile *b) {
    return a->part.work > b->part.work;
  });
  if (failed(failableParallelForEach(context, longest, [&](ObjectFile *object) {
        return writeObject(*object, machine);
      })))
    return failure();
  return llvm::map_to_vector(
      objects, [](const ObjectFile &object) { return object.path; });
}
