//===- GenerationProgram.cpp - The JSON document's part for generation ----===//

#include "GenerationProgram.h"

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Program/ProgramTables.h"
#include "ppopt/Transforms/Generation/Generation.h"

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

static std::string spellElement(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(type);
  return text;
}

FailureOr<json::Object> pp::describeGeneration(ModuleOp module,
                                               const ArenaLayout &layout) {
  json::Object generation;
  json::Array caches;
  int64_t context = 1, cacheBytes = 0;
  auto add = [&](StringRef field, BufferAttr buffer, Type type) {
    FailureOr<int64_t> offset = layout.getRegion(buffer, module.getLoc());
    if (succeeded(offset))
      generation[field] =
          json::Object{{"offset", *offset}, {"type", spellElement(type)}};
    return LogicalResult(offset);
  };
  for (auto input : module.getOps<InputDeclOp>()) {
    StringRef name = input.getInputName();
    bool isToken = name == kTokenInput;
    int64_t size = cast<IdRangeAttr>(input.getRanges()[0]).getSize();
    (isToken ? generation["vocabulary"] : generation["context"]) = size;
    if (!isToken)
      context = size;
    auto buffer = BufferAttr::get(module.getContext(), BufferKind::Input, name);
    if (failed(add(name, buffer, input.getType())))
      return failure();
  }
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      Type type = task.getArgumentTypes()[i];
      if (role.getKind() == RoleKind::Logits) {
        if (failed(add("logits", getWholeBuffer(role), type)))
          return failure();
      } else if (role.getKind() == RoleKind::Cache) {
        FailureOr<int64_t> offset =
            layout.getRegion(getWholeBuffer(role), task.getLoc());
        if (failed(offset))
          return failure();
        int64_t bytes = pp::getBytes(type);
        caches.push_back(json::Object{
            {"name", role.getName()}, {"offset", *offset}, {"bytes", bytes}});
        cacheBytes += bytes;
      }
    }
  generation["caches"] = std::move(caches);
  generation["bytes_per_position"] = cacheBytes / context;
  return generation;
}
