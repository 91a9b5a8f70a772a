//===- ProgramSymbols.cpp - Symbols of an executable for its runtime ------===//

#include "ProgramSymbols.h"

#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Program/Program.h"
#include "ppopt/runtime.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "schema/write.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::pp;

/// Emits the addresses of the tasks' functions.
static void emitTaskTable(ModuleOp module, StringRef name,
                          ArrayRef<StringRef> tasks) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type = LLVM::LLVMArrayType::get(pointer, tasks.size());
  auto table =
      LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                             LLVM::Linkage::External, name, Attribute());
  builder.createBlock(&table.getInitializerRegion());
  Value value = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, task] : llvm::enumerate(tasks))
    value = LLVM::InsertValueOp::create(
        builder, loc, value,
        LLVM::AddressOfOp::create(builder, loc, pointer, task),
        static_cast<int64_t>(i));
  LLVM::ReturnOp::create(builder, loc, value);
}

static void emitNumber(ModuleOp module, const Twine &name, uint64_t number) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(builder, module.getLoc(), builder.getI64Type(),
                         /*isConstant=*/true, LLVM::Linkage::External,
                         name.str(),
                         builder.getI64IntegerAttr(int64_t(number)));
}

static void emitBytes(ModuleOp module, StringRef name, StringRef bytes) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  LLVM::GlobalOp::create(
      builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
      /*isConstant=*/true, LLVM::Linkage::External, name,
      builder.getStringAttr(bytes));
  emitNumber(module, name + "_size", bytes.size());
}

StringRef pp::getSymbolPrefix(ProgramKind kind) {
  switch (kind) {
  case ProgramKind::Training:
    return "ppopt";
  case ProgramKind::Generation:
    return "ppopt_generation";
  case ProgramKind::Prediction:
    return "ppopt_prediction";
  }
  llvm_unreachable("all kinds are listed");
}

void pp::emitProgramSymbols(ModuleOp module, ProgramKind kind,
                            ArrayRef<StringRef> tasks, StringRef json) {
  std::string name = getSymbolPrefix(kind).str();
  std::string document =
      kind == ProgramKind::Training ? name + "_program" : name;
  emitTaskTable(module, name + "_tasks", tasks);
  emitBytes(module, document + "_json", json);
  emitNumber(module, document + "_checksum", llvm::xxh3_64bits(json));
}

void pp::emitBuffers(ModuleOp module) {
  std::string bytes;
  if (auto buffers = module->getAttrOfType<DictionaryAttr>(kBuffersAttr))
    for (NamedAttribute buffer : buffers)
      bytes += getStoredBytes(buffer.getValue());
  if (!bytes.empty())
    emitBytes(module, "ppopt_buffers", bytes);
}

void pp::addRefusedGeneration(ModuleOp module, StringRef reason) {
  emitProgramSymbols(
      module, ProgramKind::Generation, {},
      schema::writeRefusedGeneration(PPOPT_ABI_VERSION, reason.str()));
}
