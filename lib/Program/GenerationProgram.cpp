//===- GenerationProgram.cpp - The program's part for generation ----------===//

#include "GenerationProgram.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Program/ProgramTables.h"
#include "ppopt/Transforms/Generation/Generation.h"

using namespace mlir;
using namespace mlir::pp;

FailureOr<schema::Generation>
pp::describeGeneration(ModuleOp module, const ArenaLayout &layout) {
  schema::Generation generation;
  auto find = [&](BufferAttr held, Type type, schema::TypedBuffer &buffer) {
    FailureOr<int64_t> offset = layout.getRegion(held, module.getLoc());
    if (succeeded(offset))
      buffer = {*offset, getSchemaType(type)};
    return LogicalResult(offset);
  };
  for (auto input : module.getOps<InputDeclOp>()) {
    StringRef name = input.getInputName();
    bool isToken = name == kTokenInput;
    (isToken ? generation.vocabulary : generation.context) =
        cast<IdRangeAttr>(input.getRanges()[0]).getSize();
    auto held = BufferAttr::get(module.getContext(), BufferKind::Input, name);
    if (failed(find(held, input.getType(),
                    isToken ? generation.token : generation.position)))
      return failure();
  }
  int64_t cacheBytes = 0;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      Type type = task.getArgumentTypes()[i];
      if (role.getKind() == RoleKind::Output) {
        if (failed(find(getWholeBuffer(role), type, generation.logits)))
          return failure();
      } else if (role.getKind() == RoleKind::Cache) {
        FailureOr<int64_t> offset =
            layout.getRegion(getWholeBuffer(role), task.getLoc());
        if (failed(offset))
          return failure();
        generation.caches.push_back(
            {role.getName().str(), *offset, pp::getBytes(type)});
        cacheBytes += generation.caches.back().bytes;
      }
    }
  generation.bytesPerPosition =
      cacheBytes / std::max<int64_t>(1, generation.context);
  return generation;
}
