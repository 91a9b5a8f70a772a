//===- KernelModule.cpp - Reads kernels and how they are launched ---------===//
//
// What the compiler's emitters find out about launches is found out here again:
// a mistake of theirs must not hide itself.
//
//===----------------------------------------------------------------------===//

#include "KernelModule.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/KernelUses.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Driver/Compile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SHA1.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <tuple>

using namespace mlir;
using namespace mlir::pp;
using namespace emulated;

namespace {

struct KeepKernelCode : PassWrapper<KeepKernelCode, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepKernelCode)

  void runOnOperation() override {
    for (Operation &op :
         llvm::make_early_inc_range(getOperation().getBody()->getOperations()))
      if (isa<PPDialect>(op.getDialect()))
        op.erase();
  }
};

} // namespace

std::unique_ptr<Pass> emulated::createKeepKernelCode() {
  return std::make_unique<KeepKernelCode>();
}

llvm::Expected<KernelModule::Native> KernelModule::emitNative(StringRef gpu) {
  Messages messages(*context);
  FailureOr<const Target *> target = findTarget(*module);
  if (failed(target))
    return messages.take("has no target");
  Native native{*target, {}, module->clone()};
  native.machine.name = (*target)->getName().str();
  (*target)->setNative(native.machine);
  SmallVector<StringRef> gpus = (*target)->getGpus();
  if (gpu.empty() && !gpus.empty())
    gpu = gpus.front();
  if (!gpu.empty() && !llvm::is_contained(gpus, gpu))
    return llvm::createStringError(
        "the target " + (*target)->getName() + " has no GPU '" + gpu + "'" +
        (gpus.empty() ? "; compile the kernels with --target cuda" : ""));
  native.machine.gpu = gpu.str();
  PassManager passes(context.get());
  passes.enableVerifier(false); // as ppopt, which verifies once, at the end
  (*target)->addNativePasses(passes, native.machine, createKeepKernelCode());
  if (failed(passes.run(*native.module)) || failed(verify(*native.module)))
    return messages.take("the kernels can't be emitted for their target");
  return native;
}

llvm::Expected<std::string> KernelModule::emitDeviceIR() {
  if (!deviceIR.empty())
    return deviceIR;
  auto native = emitNative("");
  if (!native)
    return native.takeError();
  Messages messages(*context);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (failed(
          native->target->printDeviceIR(*native->module, native->machine, out)))
    return messages.take("the target has no device code");
  deviceIR = text;
  return text;
}

llvm::Expected<DeviceImages> KernelModule::compileDeviceCode(StringRef gpu,
                                                             StringRef stem) {
  auto native = emitNative(gpu);
  if (!native)
    return native.takeError();
  Messages messages(*context);
  auto images =
      native->target->takeDeviceCode(*native->module, native->machine, stem);
  if (failed(images))
    return messages.take("the device code can't be compiled");
  return *images;
}

llvm::Expected<std::string> KernelModule::getDeviceIR(StringRef path) {
  if (path.empty())
    return emitDeviceIR();
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return llvm::createStringError("can't read '" + path +
                                   "': " + text.getError().message());
  return (*text)->getBuffer().str();
}

llvm::Error KernelModule::saveDeviceIR(StringRef path) {
  if (path.empty())
    return llvm::Error::success();
  auto text = emitDeviceIR();
  if (!text)
    return text.takeError();
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return llvm::createStringError("can't write '" + path +
                                   "': " + error.message());
  out << *text;
  return llvm::Error::success();
}

uint64_t Operand::getBytes() const { return pp::getBytes(type); }

unsigned Operand::getElementBytes() const {
  return pp::getElementBytes(type.getElementType());
}

Messages::Messages(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return;
        llvm::raw_string_ostream out(text);
        out << diagnostic.getLocation() << ": " << diagnostic << "\n";
      }) {}

llvm::Error Messages::take(StringRef otherwise) {
  return llvm::createStringError(text.empty() ? otherwise
                                              : StringRef(text).trim());
}

/// Finds in how many rows, classes, … the values of an argument are indices.
static std::optional<int64_t> findIndices(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (auto interface = dyn_cast<IterationSpaceOpInterface>(op))
      if (auto range = interface.getIndexRange(use.getOperandNumber()))
        return range->end;
    if (isa<ReshapeOp, TransposeOp, SliceOp>(op))
      if (auto found = findIndices(op->getResult(0)))
        return found;
  }
  return std::nullopt;
}

/// Finds how many positions a cache has, if the argument is one of these.
static std::optional<int64_t> findPositions(BlockArgument argument) {
  for (Operation *user : argument.getUsers())
    if (auto step = dyn_cast<AttentionStepOp>(user);
        step && step.getAt() == argument)
      return cast<RankedTensorType>(step.getKCache().getType()).getDimSize(2);
  return std::nullopt;
}

/// Finds how many tokens a row has, if the argument has the segments of
/// attention's tokens.
static std::optional<int64_t> findTokens(BlockArgument argument) {
  for (Operation *user : argument.getUsers())
    if (auto attention = dyn_cast<AttentionOpInterface>(user);
        attention && attention.getAttentionScores().segments == argument)
      return attention.getAttentionShape().queries;
  return std::nullopt;
}

/// Returns the coordinates on which tiles of the kernel's ops depend, if the
/// argument is the random key.
static std::map<int64_t, int64_t> findCoordinates(BlockArgument argument) {
  std::map<int64_t, int64_t> parts;
  if (argument.getType() == getKeyType(argument.getContext()))
    for (Operation *user : argument.getUsers())
      if (auto tile = user->getAttrOfType<TileAttr>("tile"))
        for (TileCutAttr cut : tile.getCuts())
          parts[cut.getAt()] = cut.getParts();
  return parts;
}

/// Says about what the two parts of log-sum-exps are, if the argument is these
/// of an attention: of as many normal scores as there are keys. With others the
/// weights of its values would not add up to 1.
static void describeSums(BlockArgument argument, Operand &operand) {
  for (Operation *user : argument.getUsers())
    if (auto gradient = dyn_cast<AttentionGradOp>(user);
        gradient && gradient.getLse() == argument) {
      auto keys = cast<RankedTensorType>(gradient.getK().getType());
      operand.mean = (std::log(keys.getDimSize(2)) + 0.5) / 2;
      operand.deviation = 0.25;
    }
}

/// Says about what the slopes of attention are, if the argument is these.
/// Others would give distant keys probabilities that are no numbers.
static void describeSlopes(BlockArgument argument, Operand &operand) {
  for (Operation *user : argument.getUsers())
    if (auto attention = dyn_cast<AttentionOpInterface>(user);
        attention && attention.getAttentionScores().slopes == argument) {
      operand.mean = 0.1;
      operand.deviation = 0.05;
    }
}

/// Whether an argument says yes or no: the number itself is of no use.
static bool isFlag(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  return type.getNumElements() == 1 && isa<FloatType>(type.getElementType()) &&
         !argument.use_empty() &&
         llvm::all_of(argument.getUsers(), [&](Operation *user) {
           return isa<CompareOp>(user) &&
                  llvm::all_of(user->getOperands(), [&](Value operand) {
                    return operand == argument ||
                           operand.getDefiningOp<ConstantOp>();
                  });
         });
}

/// Whether a buffer is that of a task's input, or a view of it.
static bool isOfInput(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto task =
      argument ? dyn_cast<TaskOp>(argument.getOwner()->getParentOp()) : nullptr;
  return task &&
         task.getArgRole(argument.getArgNumber()).getKind() == RoleKind::Input;
}

static KernelDescription describe(KernelOp kernel) {
  KernelDescription result;
  result.name = kernel.getSymName().str();
  FormAttr form = kernel.getFormAttr();
  result.form = stringifyKernelForm(form.getKind()).str();
  result.columns = form.getColumns();
  result.grid = kernel.getTilesAttr().getCount();
  if (ThreadsAttr threads = kernel.getThreadsAttr()) {
    result.threads = threads.getCount();
    result.sharedBytes = threads.getShared();
  }
  result.work = estimateKernelWork(kernel);
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    Operand &operand = result.arguments.emplace_back();
    operand.type = cast<RankedTensorType>(argument.getType());
    operand.pitch = kernel.getPitch(argument.getArgNumber());
    operand.indices = findIndices(argument);
    operand.positions = findPositions(argument);
    operand.tokens = findTokens(argument);
    operand.isRandomKey = operand.type == getKeyType(kernel.getContext());
    operand.coordinates = findCoordinates(argument);
    operand.isFlag = isFlag(argument);
    describeSums(argument, operand);
    describeSlopes(argument, operand);
  }
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    Operand &operand = result.results.emplace_back();
    operand.type = cast<RankedTensorType>(type);
    operand.pitch = kernel.getPitch(kernel.getNumArguments() + i);
  }
  result.inplace.assign(kernel.getNumResults(), -1);
  return result;
}

static MatmulSide describeSide(Value buffer, ArrayRef<int64_t> strides,
                               uint64_t offset) {
  MatmulSide side;
  llvm::copy(strides, side.strides.begin());
  uint64_t element =
      cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8;
  uint64_t bytes = offset * element;
  if (isOfInput(buffer))
    bytes = element;
  for (Value at = buffer; auto view = at.getDefiningOp<ViewLikeOpInterface>();
       at = view.getViewSource())
    if (auto cast = dyn_cast<memref::ReinterpretCastOp>(*view))
      bytes += cast.getStaticOffsets()[0] * element;
  constexpr uint64_t kAlignment = 64;
  side.offset = llvm::MinAlign(kAlignment, bytes) % kAlignment;
  return side;
}

static MatmulDescription describe(GemmOp op) {
  MatmulDescription result;
  if (MatmulKernelAttr kernel = op.getKernelAttr()) {
    result.name = kernel.getName().getValue().str();
    result.grid = kernel.getBlocks();
    result.threads = kernel.getThreads();
    result.sharedBytes = kernel.getShared();
  } else {
    result.name = op.makeName();
  }
  if (Value workspace = op.getWorkspace())
    result.workspaceBytes = pp::getBytes(workspace.getType());
  result.descriptor = describeMatmul(op);
  result.work = estimateWork(op);
  result.type = op.getA().getType().getElementType();
  result.cType = op.getC().getType().getElementType();
  result.accumulate = op.getAccumulate();
  result.m = op.getM();
  result.n = op.getN();
  result.k = op.getK();
  llvm::copy(op.getBatch(), result.batch.begin());
  result.a = describeSide(op.getA(), op.getAStrides(), op.getAOffset());
  result.b = describeSide(op.getB(), op.getBStrides(), op.getBOffset());
  result.c = describeSide(op.getC(), op.getCStrides(), op.getCOffset());
  return result;
}

/// Returns whether they differ in nothing but alignment.
static bool haveSameSizes(const MatmulDescription &one,
                          const MatmulDescription &other) {
  auto sizes = [](const MatmulDescription &of) {
    return std::tuple(of.grid, of.sharedBytes, of.workspaceBytes, of.type,
                      of.cType, of.accumulate, of.m, of.n, of.k, of.batch,
                      of.a.strides, of.b.strides, of.c.strides);
  };
  return sizes(one) == sizes(other);
}

/// Takes the worst alignment of both uses of a kernel. Returns whether the
/// kernel is one for both.
static bool join(MatmulDescription &one, const MatmulDescription &other) {
  for (auto side :
       {&MatmulDescription::a, &MatmulDescription::b, &MatmulDescription::c})
    (one.*side).offset =
        llvm::MinAlign((one.*side).offset, (other.*side).offset);
  return haveSameSizes(one, other);
}

llvm::Error KernelModule::readMatmuls() {
  llvm::StringMap<size_t> numbers;
  std::string wrong;
  auto isKnown = [&](const MatmulDescription &matmul) {
    auto offsets = [](const MatmulDescription &of) {
      return std::tuple(of.a.offset, of.b.offset, of.c.offset);
    };
    return llvm::any_of(libraryMatmuls, [&](const MatmulDescription &other) {
      return haveSameSizes(matmul, other) && offsets(matmul) == offsets(other);
    });
  };
  module->walk([&](GemmOp op) {
    MatmulDescription matmul = describe(op);
    if (!op.getKernelAttr()) {
      if (!isKnown(matmul))
        libraryMatmuls.push_back(std::move(matmul));
      return;
    }
    auto [it, isNew] = numbers.insert({matmul.name, matmuls.size()});
    if (isNew)
      matmuls.push_back(std::move(matmul));
    else if (!join(matmuls[it->second], matmul))
      wrong = "kernel '" + matmul.name + "' is for two different matmuls";
  });
  return wrong.empty() ? llvm::Error::success()
                       : llvm::createStringError(wrong);
}

llvm::Expected<KernelModule> KernelModule::read(StringRef path) {
  KernelModule result;
  DialectRegistry registry;
  registerCompilerDialects(registry);
  result.context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  Messages messages(*result.context);
  result.module = parseSourceFile<ModuleOp>(path, result.context.get());
  if (!result.module)
    return messages.take("can't be read");
  llvm::StringMap<size_t> numbers;
  for (auto kernel : result.module->getOps<KernelOp>()) {
    if (!kernel.getFormAttr() || !kernel.getTilesAttr())
      return llvm::createStringError("kernel '" + kernel.getSymName() +
                                     "' has no form or no tiles: the module "
                                     "must be of --stop-after=kernels");
    numbers[kernel.getSymName()] = result.kernels.size();
    result.kernels.push_back(describe(kernel));
  }
  result.module->walk([&](LaunchOp launch) {
    KernelDescription &kernel = result.kernels[numbers.lookup(
        launch.getKernelAttr().getAttr().getValue())];
    kernel.inplace.assign(launch.getInplace().begin(),
                          launch.getInplace().end());
    for (auto [i, buffer] : llvm::enumerate(launch.getIns()))
      kernel.arguments[i].isUnaligned |= isOfInput(buffer);
  });
  if (llvm::Error error = result.readMatmuls())
    return error;
  return result;
}

llvm::Error KernelModule::keepOnly(StringRef regex) {
  llvm::Regex filter(regex);
  std::string wrong;
  if (!filter.isValid(wrong))
    return llvm::createStringError("'" + regex +
                                   "' is no regular expression: " + wrong);
  erase([&](StringRef name) { return !filter.match(name); });
  if (kernels.empty() && matmuls.empty())
    return llvm::createStringError("no kernel has a name that matches '" +
                                   regex + "'");
  return llvm::Error::success();
}

llvm::Expected<llvm::StringMap<std::string>> KernelModule::digestKernels() {
  Messages messages(*context);
  auto uses = findKernelUses(*module);
  if (failed(uses))
    return messages.take("the launches of a kernel differ");
  llvm::StringMap<std::string> digests;
  for (auto &[kernel, use] : *uses) {
    std::string text;
    llvm::raw_string_ostream out(text);
    kernel.print(out, OpPrintingFlags().useLocalScope());
    std::string name = "@" + kernel.getSymName().str();
    text.erase(text.find(name), name.size());
    out << (*module)->getAttr(kThresholdsAttr);
    llvm::interleaveComma(use.inplace, out << "\n");
    llvm::interleaveComma(use.alignments, out << "\n");
    auto described = llvm::find_if(kernels, [&](const auto &each) {
      return each.name == kernel.getSymName();
    });
    if (described == kernels.end())
      continue;
    for (const Operand &argument : described->arguments)
      out << "\n" << argument.isUnaligned;
    digests[kernel.getSymName()] =
        llvm::toHex(llvm::SHA1::hash(llvm::arrayRefFromStringRef(text)));
  }
  return digests;
}

void KernelModule::erase(llvm::function_ref<bool(StringRef)> isErased) {
  llvm::erase_if(kernels, [&](auto &each) { return isErased(each.name); });
  llvm::erase_if(matmuls, [&](auto &each) { return isErased(each.name); });
  deviceIR.clear();
  module->walk([&](Operation *op) {
    StringRef name;
    if (auto kernel = dyn_cast<KernelOp>(op))
      name = kernel.getSymName();
    else if (auto launch = dyn_cast<LaunchOp>(op))
      name = launch.getKernelAttr().getAttr();
    else if (auto gemm = dyn_cast<GemmOp>(op); gemm && gemm.getKernelAttr())
      name = gemm.getKernelAttr().getName().getValue();
    if (!name.empty() && isErased(name)) {
      op->erase();
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
}
