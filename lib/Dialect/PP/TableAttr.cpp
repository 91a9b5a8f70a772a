//===- TableAttr.cpp - A schedule's table ---------------------------------===//

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::Cell;
using ppopt::schedule::Table;
using ppopt::schedule::Work;

/// Parses "0F1".
static ParseResult parseCell(AsmParser &parser, Cell &cell) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef rest;
  if (parser.parseInteger(cell.stage) || parser.parseKeyword(&rest))
    return failure();
  for (Work work : {Work::Forward, Work::Backward, Work::BackwardInput,
                    Work::BackwardWeight})
    if (rest.front() == ppopt::schedule::getLetter(work) && cell.stage >= 0 &&
        !rest.drop_front().getAsInteger(10, cell.microbatch) &&
        cell.microbatch >= 0) {
      cell.work = work;
      return success();
    }
  return parser.emitError(loc, "expected a run: its stage, F, B, I or W, and "
                               "its microbatch, as in 0F1");
}

Attribute TableAttr::parse(AsmParser &parser, Type) {
  Table table;
  auto parseRow = [&] {
    table.rows.emplace_back();
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Square, [&]() -> ParseResult {
          Cell &cell = table.rows.back().emplace_back();
          if (parseCell(parser, cell))
            return failure();
          table.microbatches =
              std::max(table.microbatches, cell.microbatch + 1);
          return success();
        });
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseRow))
    return {};
  return get(parser.getContext(), table);
}

void TableAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getTable().rows, printer, [&](const auto &row) {
    printer << "[";
    llvm::interleaveComma(row, printer, [&](const Cell &cell) {
      printer << ppopt::schedule::spell(cell);
    });
    printer << "]";
  });
  printer << ">";
}
