//===- OpTable.cpp - All ATen ops that a model may have -------------------===//

#include "Emitter.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace mlir::pp::pt2;

static StringMap<const OpRow *> makeTable() {
  StringMap<const OpRow *> table;
  for (ArrayRef<OpRow> rows :
       {elementwiseRows(), shapeRows(),         reductionRows(),
        normRows(),        matmulRows(),        convolutionRows(),
        attentionRows(),   embeddingRows(),     indexRows(),
        lossRows(),        recurrentRows(),     writeRows(),
        formulaRows(),     scanRows(),          marginRows(),
        diagonalRows(),    linearAlgebraRows(), orderRows(),
        scatterRows(),     randomRows()})
    for (const OpRow &row : rows)
      table[row.op] = &row;
  return table;
}

static const StringMap<const OpRow *> &getTable() {
  static const StringMap<const OpRow *> table = makeTable();
  return table;
}

const OpRow *mlir::pp::pt2::findOpRow(StringRef op) {
  return getTable().lookup(op);
}

std::vector<const OpRow *> mlir::pp::pt2::listOpRows() {
  std::vector<const OpRow *> rows;
  for (const auto &entry : getTable())
    rows.push_back(entry.second);
  llvm::sort(rows,
             [](const OpRow *a, const OpRow *b) { return a->op < b->op; });
  return rows;
}
