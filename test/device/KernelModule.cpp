//===- KernelModule.cpp - Reads kernels and how they are launched ---------===//
//
// What the compiler's emitters find out about launches is found out here again:
// a mistake of theirs must not hide itself.
//
//===----------------------------------------------------------------------===//

#include "KernelModule.h"

#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Driver/Compile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

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

llvm::Expected<std::string> KernelModule::emitDeviceIR() {
  Messages messages(*context);
  FailureOr<const Target *> target = findTarget(*module);
  if (failed(target))
    return messages.take("has no target");
  Machine machine;
  machine.name = (*target)->getName().str();
  (*target)->setNative(machine);
  if (SmallVector<StringRef> gpus = (*target)->getGpus(); !gpus.empty())
    machine.gpu = gpus.front().str();
  OwningOpRef<ModuleOp> copy = module->clone();
  PassManager native(context.get());
  (*target)->addNativePasses(native, machine, createKeepKernelCode());
  if (failed(native.run(*copy)))
    return messages.take("the kernels can't be emitted for their target");
  std::string text;
  llvm::raw_string_ostream out(text);
  if (failed((*target)->printDeviceIR(*copy, machine, out)))
    return messages.take("the target has no device code");
  return text;
}

llvm::Expected<std::string> KernelModule::getDeviceIR(StringRef path,
                                                      StringRef saved) {
  if (!path.empty()) {
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      return llvm::createStringError("can't read '" + path +
                                     "': " + text.getError().message());
    return (*text)->getBuffer().str();
  }
  auto text = emitDeviceIR();
  if (!text || saved.empty())
    return text;
  std::error_code error;
  llvm::raw_fd_ostream out(saved, error);
  if (error)
    return llvm::createStringError("can't write '" + saved +
                                   "': " + error.message());
  out << *text;
  return text;
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
  if (ThreadsAttr threads = kernel.getThreadsAttr())
    result.sharedBytes = threads.getShared();
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    Operand &operand = result.arguments.emplace_back();
    operand.type = cast<RankedTensorType>(argument.getType());
    operand.pitch = kernel.getPitch(argument.getArgNumber());
    operand.indices = findIndices(argument);
    operand.positions = findPositions(argument);
    operand.isRandomKey = operand.type == getKeyType(kernel.getContext());
    operand.isFlag = isFlag(argument);
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
  MatmulKernelAttr kernel = op.getKernelAttr();
  result.name = kernel.getName().getValue().str();
  result.grid = kernel.getBlocks();
  result.sharedBytes = kernel.getShared();
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

/// Takes the worst alignment of both uses of a kernel. Returns whether the
/// kernel is one for both.
static bool join(MatmulDescription &one, const MatmulDescription &other) {
  auto sizes = [](const MatmulDescription &of) {
    return std::tuple(of.grid, of.sharedBytes, of.type, of.cType, of.accumulate,
                      of.m, of.n, of.k, of.batch, of.a.strides, of.b.strides,
                      of.c.strides);
  };
  for (auto side :
       {&MatmulDescription::a, &MatmulDescription::b, &MatmulDescription::c})
    (one.*side).offset =
        llvm::MinAlign((one.*side).offset, (other.*side).offset);
  return sizes(one) == sizes(other);
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
  llvm::StringMap<size_t> matmuls;
  std::string wrong;
  result.module->walk([&](GemmOp op) {
    if (!op.getKernelAttr())
      return;
    MatmulDescription matmul = describe(op);
    auto [it, isNew] = matmuls.insert({matmul.name, result.matmuls.size()});
    if (isNew)
      result.matmuls.push_back(std::move(matmul));
    else if (!join(result.matmuls[it->second], matmul))
      wrong = "kernel '" + matmul.name + "' is for two different matmuls";
  });
  if (!wrong.empty())
    return llvm::createStringError(wrong);
  return result;
}
