//===- matmul_uses.cpp - Which matmuls a rank's tasks call ----------------===//

#include "executor/matmul_uses.h"

#include "executor/rank.h"

#include <set>
#include <vector>

namespace ppopt::runtime {
namespace {

std::vector<MatmulCall> listCalls(ppopt_rank &rank,
                                  const std::vector<Action> &actions) {
  std::vector<MatmulCall> calls;
  rank.dryRun = &calls;
  for (const Action &action : actions) {
    if (action.kind != ActionKind::run)
      continue;
    const PlaceMemory &memory = rank.memoryOf(action.place);
    for (size_t i = 0; i < action.arguments.size(); ++i)
      rank.arguments[i] = memory.at(action.arguments[i]).opaque();
    rank.tasks[action.task](
        &rank, rank.arguments.data(),
        static_cast<char *>(memory.at(action.temporaries).opaque()));
  }
  rank.dryRun = nullptr;
  return calls;
}

} // namespace

MatmulUses findMatmulUses(ppopt_rank &rank) {
  const device::MatmulLibrary &library = *rank.device->matmulLibrary();
  MatmulUses uses;
  auto add = [&](const std::vector<Action> &actions, int64_t perStep) {
    for (const MatmulCall &call : listCalls(rank, actions))
      if (library.computes(call.matmul))
        uses[{call.matmul, library.alignmentOf(call.matmul, call.a, call.b,
                                               call.c)}] += perStep;
  };
  add(rank.actions, 1);
  add(rank.evalActions, 0);
  return uses;
}

void runMatmulsOnce(ppopt_rank &rank) {
  const device::MatmulLibrary *library = rank.device->matmulLibrary();
  if (!library)
    return;
  std::set<MatmulUse> done;
  for (const auto *actions : {&rank.actions, &rank.evalActions})
    for (const MatmulCall &call : listCalls(rank, *actions))
      if (library->computes(call.matmul) &&
          done.insert({call.matmul, library->alignmentOf(call.matmul, call.a,
                                                         call.b, call.c)})
              .second)
        rank.device->matmul(rank.compute, call.matmul, call.a, call.b, call.c,
                            call.workspace);
  rank.device->synchronize(rank.compute);
}

} // namespace ppopt::runtime
