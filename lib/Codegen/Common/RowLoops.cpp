//===- RowLoops.cpp - The loops over the columns of a row -----------------===//

#include "ppopt/Codegen/RowLoops.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

RowLoops::RowLoops(KernelOp kernel) {
  SmallVector<SmallVector<RowLoop, 1>> sweeps;
  auto at = [&](size_t sweep) -> SmallVector<RowLoop, 1> & {
    if (sweeps.size() <= sweep)
      sweeps.resize(sweep + 1);
    if (sweeps[sweep].empty())
      sweeps[sweep].emplace_back();
    return sweeps[sweep];
  };
  for (auto reduce : kernel.getBody().front().getOps<ReduceOp>()) {
    SmallVector<RowLoop, 1> &ofSweep = at(*kernel.getSweep(reduce));
    RowLoop *loop = llvm::find_if(ofSweep, [&](const RowLoop &other) {
      return other.reductions.empty() ||
             kernel.getLanes(other.reductions.front()) ==
                 kernel.getLanes(reduce);
    });
    if (loop == ofSweep.end())
      loop = &ofSweep.emplace_back();
    loop->reductions.push_back(reduce);
  }
  for (unsigned i = 0, e = kernel.getNumResults(); i < e; ++i) {
    // A result may overwrite what the sweep's other loops read.
    if (std::optional<int64_t> sweep = kernel.getSweep(i))
      at(*sweep).back().results.push_back(i);
    else
      rowResults.push_back(i);
  }
  for (SmallVector<RowLoop, 1> &ofSweep : sweeps)
    loops.append(std::make_move_iterator(ofSweep.begin()),
                 std::make_move_iterator(ofSweep.end()));
}

Position pp::startRow(ElementPuller &puller, Value row) {
  FormAttr form = puller.kernel.getFormAttr();
  Position position;
  position.sizes.assign(form.getSizes().begin(), form.getSizes().end());
  position.space = {form.getRows(), form.getColumns()};
  position.row = row;
  position.rowStart = position.space.rows == 1
                          ? Value()
                          : puller.mul(row, position.space.columns);
  position.index =
      puller.delinearize(row, ArrayRef(position.sizes).drop_back());
  position.index.push_back(Value());
  return position;
}
