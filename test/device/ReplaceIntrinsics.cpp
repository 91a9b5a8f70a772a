//===- ReplaceIntrinsics.cpp - Calls of the emulated device ---------------===//

#include "InstrumentDevice.h"
#include "Intrinsics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using emulated::DeviceIntrinsic;
using emulated::Site;
using emulated::Texts;

/// Words of a Lane: 12 of operands and 4 of results.
static constexpr unsigned kOperands = 12, kWords = 16;

namespace {

class IntrinsicReplacer {
public:
  IntrinsicReplacer(Function &function, const Texts &texts,
                    std::vector<Site> &sites)
      : function(function), module(*function.getParent()), texts(texts),
        sites(sites), i64(Type::getInt64Ty(module.getContext())),
        pointer(PointerType::get(module.getContext(), 0)) {}

  Error run();

private:
  Error replaceCall(CallInst &call);
  void callDirectly(CallInst &call, const DeviceIntrinsic &intrinsic);
  void callPacked(CallInst &call, const DeviceIntrinsic &intrinsic);
  Value *toWord(IRBuilder<> &b, Value *value);
  Value *fromWord(IRBuilder<> &b, Value *word, Type *type);
  Value *wordAt(IRBuilder<> &b, unsigned number);
  void truncate(FPTruncInst &trunc);
  void approximate(Instruction &instruction, StringRef name);
  Value *forEachElement(IRBuilder<> &b, Type *type, ArrayRef<Value *> operands,
                        function_ref<Value *(ArrayRef<Value *>)> compute);

  Function &function;
  Module &module;
  const Texts &texts;
  std::vector<Site> &sites;
  Type *i64, *pointer;
  AllocaInst *lane = nullptr; ///< operands and results
};

} // namespace

Value *IntrinsicReplacer::wordAt(IRBuilder<> &b, unsigned number) {
  if (!lane) {
    IRBuilder<> entry(&function.getEntryBlock(),
                      function.getEntryBlock().getFirstInsertionPt());
    lane = entry.CreateAlloca(ArrayType::get(i64, kWords));
  }
  return b.CreateConstInBoundsGEP1_64(i64, lane, number);
}

Value *IntrinsicReplacer::toWord(IRBuilder<> &b, Value *value) {
  Type *type = value->getType();
  if (type->isPointerTy())
    return b.CreatePtrToInt(value, i64);
  unsigned bits = type->getPrimitiveSizeInBits();
  return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), i64);
}

Value *IntrinsicReplacer::fromWord(IRBuilder<> &b, Value *word, Type *type) {
  unsigned bits = type->getPrimitiveSizeInBits();
  return b.CreateBitCast(b.CreateTrunc(word, b.getIntNTy(bits)), type);
}

void IntrinsicReplacer::callDirectly(CallInst &call,
                                     const DeviceIntrinsic &intrinsic) {
  IRBuilder<> b(&call);
  SmallVector<Value *> operands(call.args());
  FunctionCallee callee = module.getOrInsertFunction(
      ("ppopt_emulated." + Twine(intrinsic.name)).str(),
      call.getFunctionType());
  call.replaceAllUsesWith(b.CreateCall(callee, operands));
  call.eraseFromParent();
}

void IntrinsicReplacer::callPacked(CallInst &call,
                                   const DeviceIntrinsic &intrinsic) {
  IRBuilder<> b(&call);
  Constant *site =
      module.getOrInsertGlobal("ppopt_emulated_site", b.getInt32Ty());
  b.CreateStore(b.getInt32(sites.size()), site);
  Site &added = sites.emplace_back();
  added.text = texts.lookup(&call);
  for (auto [i, operand] : enumerate(call.args()))
    b.CreateStore(toWord(b, operand), wordAt(b, i));
  FunctionCallee callee = module.getOrInsertFunction(
      ("ppopt_emulated." + Twine(intrinsic.name)).str(), b.getVoidTy(),
      pointer);
  b.CreateCall(callee, wordAt(b, 0));
  auto result = [&](unsigned i, Type *type) {
    return fromWord(b, b.CreateLoad(i64, wordAt(b, kOperands + i)), type);
  };
  if (auto *structure = dyn_cast<StructType>(call.getType())) {
    Value *value = PoisonValue::get(structure);
    for (auto [i, type] : enumerate(structure->elements()))
      value = b.CreateInsertValue(value, result(i, type), i);
    call.replaceAllUsesWith(value);
  } else if (!call.getType()->isVoidTy()) {
    call.replaceAllUsesWith(result(0, call.getType()));
  }
  call.eraseFromParent();
}

Error IntrinsicReplacer::replaceCall(CallInst &call) {
  Function *callee = call.getCalledFunction();
  if (!callee)
    return createStringError(
        "'" + function.getName() +
        "' has inline assembly or a call of a pointer: " + texts.lookup(&call));
  if (!callee->isDeclaration())
    return Error::success();
  std::string name = callee->getName().str();
  if (const DeviceIntrinsic *intrinsic = emulated::findIntrinsic(name)) {
    if (intrinsic->direct)
      callDirectly(call, *intrinsic);
    else
      callPacked(call, *intrinsic);
    return Error::success();
  }
  if (callee->isIntrinsic() && emulated::isOfEveryTarget(name))
    return Error::success();
  if (StringRef(name).starts_with("ppopt_emulated"))
    return Error::success();
  return createStringError("'" + function.getName() + "' calls '" + name +
                           "', which the emulated device has not "
                           "(test/device/Intrinsics.cpp has the table)");
}

Value *IntrinsicReplacer::forEachElement(
    IRBuilder<> &b, Type *type, ArrayRef<Value *> operands,
    function_ref<Value *(ArrayRef<Value *>)> compute) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return compute(operands);
  Value *result = PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    auto elements = map_to_vector(operands, [&](Value *operand) {
      return b.CreateExtractElement(operand, i);
    });
    result = b.CreateInsertElement(result, compute(elements), i);
  }
  return result;
}

/// Rounds to bf16, to nearest even: LLVM's code for x86 calls a library or
/// flushes subnormal numbers.
void IntrinsicReplacer::truncate(FPTruncInst &trunc) {
  IRBuilder<> b(&trunc);
  FunctionCallee callee = module.getOrInsertFunction(
      trunc.getSrcTy()->isDoubleTy() ||
              trunc.getSrcTy()->getScalarType()->isDoubleTy()
          ? "ppopt_emulated_bf16_of_f64"
          : "ppopt_emulated_bf16_of_f32",
      FunctionType::get(b.getInt32Ty(), {trunc.getSrcTy()->getScalarType()},
                        false));
  Value *rounded = forEachElement(
      b, trunc.getType(), {trunc.getOperand(0)}, [&](ArrayRef<Value *> x) {
        Value *bits = b.CreateTrunc(b.CreateCall(callee, x), b.getInt16Ty());
        return b.CreateBitCast(bits, trunc.getType()->getScalarType());
      });
  trunc.replaceAllUsesWith(rounded);
  trunc.eraseFromParent();
}

/// Computes an f32 operation that may be approximate by an intrinsic.
void IntrinsicReplacer::approximate(Instruction &instruction, StringRef name) {
  IRBuilder<> b(&instruction);
  SmallVector<Value *> operands(instruction.operands().begin(),
                                instruction.operands().end());
  if (isa<CallInst>(instruction))
    operands.pop_back(); // the callee
  SmallVector<Type *> types(operands.size(), b.getFloatTy());
  FunctionCallee callee = module.getOrInsertFunction(
      ("ppopt_emulated." + name).str(),
      FunctionType::get(b.getFloatTy(), types, false));
  instruction.replaceAllUsesWith(forEachElement(
      b, instruction.getType(), operands, [&](ArrayRef<Value *> elements) {
        return b.CreateCall(callee, elements);
      }));
  instruction.eraseFromParent();
}

/// Returns the instruction for which LLVM's NVPTX backend takes an operation of
/// f32 that is no intrinsic of NVPTX, or an empty string.
static StringRef getApproximation(const Instruction &instruction) {
  if (!instruction.getType()->getScalarType()->isFloatTy() ||
      !isa<FPMathOperator>(instruction))
    return "";
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  auto id = intrinsic ? intrinsic->getIntrinsicID() : Intrinsic::not_intrinsic;
  if (id == Intrinsic::exp2)
    return "llvm.nvvm.ex2.approx.f32";
  if (!instruction.hasApproxFunc())
    return "";
  if (instruction.getOpcode() == Instruction::FDiv)
    return "llvm.nvvm.div.approx.f";
  switch (id) {
  case Intrinsic::sqrt:
    return "llvm.nvvm.sqrt.approx.f";
  case Intrinsic::log2:
    return "llvm.nvvm.lg2.approx.f";
  case Intrinsic::sin:
    return "llvm.nvvm.sin.approx.f";
  case Intrinsic::cos:
    return "llvm.nvvm.cos.approx.f";
  case Intrinsic::tanh:
    return "tanh.approx.f32"; // for which NVPTX has no intrinsic
  default:
    return "";
  }
}

Error IntrinsicReplacer::run() {
  SmallVector<Instruction *> work;
  for (Instruction &instruction : instructions(function))
    work.push_back(&instruction);
  for (Instruction *instruction : work) {
    StringRef approximation = getApproximation(*instruction);
    if (!approximation.empty()) {
      approximate(*instruction, approximation);
    } else if (auto *trunc = dyn_cast<FPTruncInst>(instruction)) {
      if (trunc->getType()->getScalarType()->isBFloatTy())
        truncate(*trunc);
    } else if (auto *call = dyn_cast<CallInst>(instruction)) {
      if (Error error = replaceCall(*call))
        return error;
    }
  }
  return Error::success();
}

Error emulated::replaceIntrinsics(Module &module, const Texts &texts,
                                  std::vector<Site> &sites) {
  for (Function &function : make_early_inc_range(module))
    if (!function.isDeclaration())
      if (Error error = IntrinsicReplacer(function, texts, sites).run())
        return error;
  return Error::success();
}
