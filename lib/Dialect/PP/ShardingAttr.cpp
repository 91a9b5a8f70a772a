//===- ShardingAttr.cpp - #pp.sharding ------------------------------------===//

#include "ppopt/Dialect/PP/ParallelOps.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Syntax: #pp.sharding<[{dp, mb}, {}, {3 * tp}], sum = {fsdp}, max = {sp}>
//===----------------------------------------------------------------------===//

static ParseResult parseAxis(AsmParser &parser, StringAttr &axis) {
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  axis = StringAttr::get(parser.getContext(), name);
  return success();
}

static ParseResult parseCut(AsmParser &parser, DimCut &cut) {
  OptionalParseResult hasOuter = parser.parseOptionalInteger(cut.outer);
  if (hasOuter.has_value() && (failed(*hasOuter) || parser.parseStar()))
    return failure();
  return parseAxis(parser, cut.axis);
}

static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<StringAttr> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
    return parseAxis(parser, axes.emplace_back());
  });
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t rank = 0;
  SmallVector<DimCut> cuts;
  SmallVector<StringAttr> sums, maxima;
  auto parseDim = [&] {
    int64_t dim = rank++;
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
      return parseCut(parser, cuts.emplace_back(DimCut{dim, 1, {}}));
    });
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool isSum = succeeded(parser.parseOptionalKeyword("sum"));
    if ((!isSum && parser.parseKeyword("max", " or 'sum'")) ||
        parser.parseEqual() || parseAxes(parser, isSum ? sums : maxima))
      return {};
  }
  if (parser.parseGreater())
    return {};
  auto refuse = [&] { return parser.emitError(loc); };
  return getChecked(function_ref<InFlightDiagnostic()>(refuse),
                    parser.getContext(), rank, ArrayRef(cuts), ArrayRef(sums),
                    ArrayRef(maxima));
}

void ShardingAttr::print(AsmPrinter &printer) const {
  auto printAxes = [&](StringRef word, ArrayRef<StringAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << word << " = {";
    llvm::interleaveComma(axes, printer,
                          [&](StringAttr axis) { printer << axis.getValue(); });
    printer << "}";
  };
  printer << "<[";
  ArrayRef<DimCut> cuts = getCuts();
  for (int64_t dim = 0; dim < getRank(); ++dim) {
    printer << (dim == 0 ? "{" : ", {");
    auto ofDim = cuts.take_while([&](DimCut cut) { return cut.dim == dim; });
    llvm::interleaveComma(ofDim, printer, [&](DimCut cut) {
      if (cut.outer != 1)
        printer << cut.outer << " * ";
      printer << cut.axis.getValue();
    });
    printer << "}";
    cuts = cuts.drop_front(ofDim.size());
  }
  printer << "]";
  printAxes("sum", getSums());
  printAxes("max", getMaxima());
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t rank, ArrayRef<DimCut> cuts,
                                   ArrayRef<StringAttr> sums,
                                   ArrayRef<StringAttr> maxima) {
  SmallVector<StringAttr> axes(sums);
  axes.append(maxima.begin(), maxima.end());
  const DimCut *before = nullptr;
  for (const DimCut &cut : cuts) {
    if (cut.dim < 0 || cut.dim >= rank || (before && cut.dim < before->dim))
      return emitError() << "lists a cut of dimension " << cut.dim
                         << " out of order, or of no dimension";
    int64_t outer = before && before->dim == cut.dim ? before->outer : 1;
    if (cut.outer < 1 || cut.outer % outer != 0)
      return emitError() << "has " << cut.outer << " outer parts before "
                         << cut.axis << ", but needs a multiple of " << outer;
    axes.push_back(cut.axis);
    before = &cut;
  }
  for (auto [i, axis] : llvm::enumerate(axes))
    if (llvm::is_contained(ArrayRef(axes).take_front(i), axis))
      return emitError() << "names the axis " << axis << " twice";
  return success();
}

//===----------------------------------------------------------------------===//
// pp.reshard
//===----------------------------------------------------------------------===//

LogicalResult ReshardOp::verify() {
  auto rank = static_cast<int64_t>(getShape().size());
  for (RankedTensorType type : {getX().getType(), getType()})
    if (type.getRank() != rank)
      return emitOpError("says that ")
             << type << " has " << rank << " dimensions";
  for (ShardingAttr sharding : {getFrom(), getTo()})
    if (sharding.getRank() != rank)
      return emitOpError("has a sharding of ")
             << sharding.getRank() << " dimensions for a tensor of " << rank;
  return success();
}

ShardingAttr ShardingAttr::without(StringRef axis) const {
  SmallVector<DimCut> cuts;
  for (const DimCut &cut : getCuts())
    if (cut.axis != axis)
      cuts.push_back(cut);
  auto others = [&](ArrayRef<StringAttr> axes) {
    return llvm::filter_to_vector(
        axes, [&](StringAttr each) { return each != axis; });
  };
  return get(getContext(), getRank(), cuts, others(getSums()),
             others(getMaxima()));
}
