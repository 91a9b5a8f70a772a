//===- matmul_uses.cpp - Which matmuls a rank's tasks call ----------------===//

#include "executor/matmul_uses.h"

#include "executor/rank.h"

#include <set>
#include <vector>

namespace ppopt::runtime {
MatmulUses findMatmulUses(ppopt_rank &rank) {
  const device::MatmulLibrary &library = *rank.device->matmulLibrary();
  MatmulUses uses;
  auto add = [&](const std::vector<Action> &actions, int64_t perStep) {
    for (const MatmulCall &call : rank.calls.listMatmuls(actions))
      if (library.computes(call.matmul))
        uses[{call.matmul, library.alignmentOf(call.matmul, call.a, call.b,
                                               call.c)}] += perStep;
  };
  add(rank.places.actions, 1);
  add(rank.places.evalActions, 0);
  return uses;
}

void runMatmulsOnce(ppopt_rank &rank) {
  const device::MatmulLibrary *library = rank.device->matmulLibrary();
  if (!library)
    return;
  std::set<MatmulUse> done;
  for (const auto *actions : rank.places.lists())
    for (const MatmulCall &call : rank.calls.listMatmuls(*actions))
      if (library->computes(call.matmul) &&
          done.insert({call.matmul, library->alignmentOf(call.matmul, call.a,
                                                         call.b, call.c)})
              .second)
        rank.device->matmul(rank.compute, call.matmul, call.a, call.b, call.c,
                            call.workspace);
  rank.device->synchronize(rank.compute);
}

} // namespace ppopt::runtime
