//===- InstrumentAccesses.cpp - Checks before loads and stores ------------===//

#include "InstrumentDevice.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstddef>

using namespace llvm;
using emulated::Checks;
using emulated::Site;
using emulated::Texts;

static constexpr unsigned kSharedSpace = 3;

namespace {

/// Something that touches memory at one address.
struct Touch {
  Instruction *instruction;
  Value *pointer;
  bool isWrite;
  uint64_t bytes; ///< 0: `length` says how many
  Value *length;
  uint64_t align;
};

class AccessInstrumenter {
public:
  AccessInstrumenter(Function &function, const Texts &texts, Checks checks,
                     std::vector<Site> &sites)
      : function(function), module(*function.getParent()), texts(texts),
        checks(checks), sites(sites), layout(module.getDataLayout()),
        i32(Type::getInt32Ty(module.getContext())),
        i64(Type::getInt64Ty(module.getContext())) {}

  Error run();

private:
  Error collect(Instruction &instruction);
  void add(Instruction &instruction, Value *address, bool isWrite, Type *type,
           Align align);
  void instrument(const Touch &touch, uint32_t number);
  bool instrumentLocal(const Touch &touch, uint32_t number, IRBuilder<> &b);
  Value *field(IRBuilder<> &b, uint32_t number, size_t offset);
  FunctionCallee callee(StringRef name, ArrayRef<Type *> types);

  Function &function;
  Module &module;
  const Texts &texts;
  Checks checks;
  std::vector<Site> &sites;
  const DataLayout &layout;
  Type *i32, *i64;
  SmallVector<Touch> touches;
};

} // namespace

void AccessInstrumenter::add(Instruction &instruction, Value *address,
                             bool isWrite, Type *type, Align align) {
  touches.push_back({&instruction, address, isWrite,
                     layout.getTypeStoreSize(type).getFixedValue(), nullptr,
                     align.value()});
}

Error AccessInstrumenter::collect(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    add(*load, load->getPointerOperand(), false, load->getType(),
        load->getAlign());
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    add(*store, store->getPointerOperand(), true,
        store->getValueOperand()->getType(), store->getAlign());
  } else if (auto *copy = dyn_cast<MemIntrinsic>(&instruction)) {
    touches.push_back({copy, copy->getRawDest(), true, 0, copy->getLength(),
                       copy->getDestAlign().valueOrOne().value()});
    if (auto *transfer = dyn_cast<MemTransferInst>(copy))
      touches.push_back({copy, transfer->getRawSource(), false, 0,
                         copy->getLength(),
                         transfer->getSourceAlign().valueOrOne().value()});
  } else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(instruction)) {
    return createStringError("'" + function.getName() +
                             "' has an atomic operation, which the emulated "
                             "device has not: " +
                             texts.lookup(&instruction));
  }
  return Error::success();
}

Value *AccessInstrumenter::field(IRBuilder<> &b, uint32_t number,
                                 size_t offset) {
  Constant *table = module.getOrInsertGlobal("ppopt_emulated_sites", i64);
  return b.CreateConstGEP1_64(b.getInt8Ty(), table,
                              number * sizeof(Site) + offset);
}

FunctionCallee AccessInstrumenter::callee(StringRef name,
                                          ArrayRef<Type *> types) {
  return module.getOrInsertFunction(
      name, FunctionType::get(Type::getVoidTy(module.getContext()), types,
                              /*isVarArg=*/false));
}

/// Checks an access to an array of the thread itself; returns false for others.
bool AccessInstrumenter::instrumentLocal(const Touch &touch, uint32_t number,
                                         IRBuilder<> &b) {
  auto *array = dyn_cast<AllocaInst>(getUnderlyingObject(touch.pointer));
  if (!array)
    return false;
  uint64_t bytes = array->getAllocationSize(layout)->getFixedValue();
  APInt offset(layout.getIndexTypeSizeInBits(touch.pointer->getType()), 0);
  const Value *base = touch.pointer->stripAndAccumulateConstantOffsets(
      layout, offset, /*AllowNonInbounds=*/true);
  if (base == array && touch.bytes && offset.ule(bytes) &&
      touch.bytes <= bytes - offset.getZExtValue())
    return true;
  Value *length = touch.bytes ? b.getInt64(touch.bytes)
                              : b.CreateZExtOrTrunc(touch.length, i64);
  b.CreateCall(callee("ppopt_emulated_local", {i64, i64, i64, i64, i32}),
               {b.CreatePtrToInt(touch.pointer, i64),
                b.CreatePtrToInt(array, i64), b.getInt64(bytes), length,
                b.getInt32(number)});
  return true;
}

void AccessInstrumenter::instrument(const Touch &touch, uint32_t number) {
  IRBuilder<> b(touch.instruction);
  if (instrumentLocal(touch, number, b))
    return;
  Value *address = b.CreatePtrToInt(touch.pointer, i64);
  if (!touch.bytes) {
    b.CreateCall(callee("ppopt_emulated_range", {i64, i64, i32, i32}),
                 {address, b.CreateZExtOrTrunc(touch.length, i64),
                  b.getInt32(touch.isWrite), b.getInt32(number)});
    return;
  }
  bool isShared =
      touch.pointer->getType()->getPointerAddressSpace() == kSharedSpace;
  if (checks == Checks::Bounds || (!touch.isWrite && !isShared)) {
    Value *begin = b.CreateLoad(i64, field(b, number, offsetof(Site, begin)));
    Value *span = b.CreateLoad(i64, field(b, number, offsetof(Site, span)));
    Value *mustAsk = b.CreateICmpUGE(b.CreateSub(address, begin), span);
    if (touch.align > 1)
      mustAsk = b.CreateOr(
          mustAsk,
          b.CreateICmpNE(b.CreateAnd(address, touch.align - 1), b.getInt64(0)));
    MDNode *rarely = MDBuilder(b.getContext()).createUnlikelyBranchWeights();
    b.SetInsertPoint(SplitBlockAndInsertIfThen(mustAsk,
                                               touch.instruction->getIterator(),
                                               /*Unreachable=*/false, rarely));
  }
  b.CreateCall(
      callee(touch.isWrite ? "ppopt_emulated_write" : "ppopt_emulated_read",
             {i64, i32}),
      {address, b.getInt32(number)});
}

Error AccessInstrumenter::run() {
  for (Instruction &instruction : instructions(function))
    if (Error error = collect(instruction))
      return error;
  for (const Touch &touch : touches) {
    Site &site = sites.emplace_back();
    site.bytes = touch.bytes;
    site.align = touch.align;
    site.text = texts.lookup(touch.instruction);
    instrument(touch, sites.size() - 1);
  }
  return Error::success();
}

Error emulated::instrumentAccesses(Module &module, const Texts &texts,
                                   Checks checks, std::vector<Site> &sites) {
  for (Function &function : make_early_inc_range(module))
    if (!function.isDeclaration())
      if (Error error =
              AccessInstrumenter(function, texts, checks, sites).run())
        return error;
  return Error::success();
}

Texts emulated::printInstructions(const Module &module) {
  Texts texts;
  ModuleSlotTracker tracker(&module);
  for (const Function &function : module) {
    if (function.isDeclaration())
      continue;
    tracker.incorporateFunction(function);
    for (const Instruction &instruction : instructions(function)) {
      if (!instruction.mayReadOrWriteMemory() && !isa<CallInst>(instruction))
        continue;
      std::string text;
      raw_string_ostream out(text);
      instruction.print(out, tracker);
      texts[&instruction] = StringRef(text).trim().str();
    }
  }
  return texts;
}
