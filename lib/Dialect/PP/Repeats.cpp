//===- Repeats.cpp - pp.repeat and pp.each --------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the repeat around the op whose index has this name, null if there is
/// none.
static RepeatOp findRepeat(Operation *op, StringRef index) {
  auto repeat = op->getParentOfType<RepeatOp>();
  while (repeat && repeat.getIndex() != index)
    repeat = repeat->getParentOfType<RepeatOp>();
  return repeat;
}

//===----------------------------------------------------------------------===//
// repeat
//===----------------------------------------------------------------------===//

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  IntegerAttr count;
  StringAttr index;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseAttribute(count, parser.getBuilder().getI64Type(),
                            getCountAttrName(result.name), result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("index")) &&
      parser.parseAttribute(index, getIndexAttrName(result.name),
                            result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("iter"))) {
    SmallVector<OpAsmParser::UnresolvedOperand> inits;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseAssignmentList(arguments, inits) ||
        parser.parseArrowTypeList(result.types))
      return failure();
    if (inits.size() != result.types.size())
      return parser.emitError(loc)
             << "iter has " << inits.size() << " values, and there are "
             << result.types.size() << " types after '->'";
    if (parser.resolveOperands(inits, result.types, loc, result.operands))
      return failure();
    for (auto [argument, type] : llvm::zip(arguments, result.types))
      argument.type = type;
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getCount();
  if (getIndex() != "i")
    printer << " index " << getIndexAttr();
  Block &body = getBody().front();
  if (!getInits().empty()) {
    printer << " iter (";
    llvm::interleaveComma(
        llvm::zip(body.getArguments(), getInits()), printer, [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ") -> (" << getResultTypes() << ")";
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getCountAttrName(), getIndexAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

static bool isWord(StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || c == '_';
  });
}

LogicalResult RepeatOp::verify() {
  if (getCount() < 1)
    return emitOpError("has a count of ")
           << getCount() << ", but repeats its body at least once";
  if (!isWord(getIndex()))
    return emitOpError("has the index \"")
           << getIndex() << "\", but needs a word of letters, digits and _";
  Block &body = getBody().front();
  if (!body.empty() && isa<func::ReturnOp>(body.back()))
    return body.back().emitOpError(
        "ends a function; the body of a pp.repeat ends "
        "with pp.yield");
  if (RepeatOp outer = findRepeat(*this, getIndex())) {
    InFlightDiagnostic diag =
        emitOpError("is in a repeat whose index is \"")
        << getIndex() << "\" too; give this one another: pp.repeat "
        << getCount() << " index \"" << (getIndex() == "j" ? "k" : "j") << "\"";
    diag.attachNote(outer.getLoc()) << "the other is here";
    return diag;
  }
  return success();
}

/// Returns the word in the first pair of braces from `text` on, and drops what
/// comes before and with it; empty if there is none.
static StringRef takeIndex(StringRef &text) {
  while (!text.empty()) {
    text = text.drop_front(std::min(text.find('{'), text.size()));
    text.consume_front("{");
    StringRef word =
        text.take_until([](char c) { return c == '}' || c == '{'; });
    if (isWord(word) && text.substr(word.size()).starts_with("}"))
      return word;
  }
  return "";
}

/// Verifies that the copies of a parameter in the body have names of their own,
/// and that what is to be replaced in its name is an index.
static LogicalResult verifyNames(RepeatOp repeat, ParamOp param) {
  StringRef rest = param.getParamName();
  bool isNumbered = false;
  for (StringRef index = takeIndex(rest); !index.empty();
       index = takeIndex(rest)) {
    isNumbered |= index == repeat.getIndex();
    if (!findRepeat(param, index))
      return param.emitOpError("has {")
             << index << "} in its name '" << param.getParamName()
             << "', which is the index of no pp.repeat around it";
  }
  if (isNumbered || repeat.getCount() == 1)
    return success();
  InFlightDiagnostic diag =
      param.emitOpError("'")
      << param.getParamName() << "' is repeated " << repeat.getCount()
      << " times under one name; add {" << repeat.getIndex()
      << "} to it, or declare it before the repeat to share it";
  diag.attachNote(repeat.getLoc()) << "the repeat is here";
  return diag;
}

LogicalResult RepeatOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInits().getTypes() ||
      getInits().getTypes() != getResultTypes())
    return emitOpError("has initial values of (")
           << getInits().getTypes() << "), arguments of ("
           << block.getArgumentTypes() << ") and results of ("
           << getResultTypes() << "), which must be the same";
  Operation &yield = block.back();
  if (yield.getOperandTypes() != getResultTypes())
    return yield.emitOpError("yields (")
           << yield.getOperandTypes()
           << "), and the next iteration of the repeat takes ("
           << getResultTypes() << ")";
  WalkResult walked = getBody().walk([&](ParamOp param) {
    return failed(verifyNames(*this, param)) ? WalkResult::interrupt()
                                             : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// each
//===----------------------------------------------------------------------===//

LogicalResult EachOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> loc, ValueRange,
                                       DictionaryAttr,
                                       OpaqueProperties properties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  ElementsAttr values = properties.as<Properties *>()->getValues();
  auto type = values ? dyn_cast<RankedTensorType>(values.getType())
                     : RankedTensorType();
  if (!type || type.getRank() == 0)
    return emitOptionalError(loc,
                             "'pp.each' needs a tensor of one dimension or "
                             "more, whose first are the iterations");
  types.push_back(RankedTensorType::get(type.getShape().drop_front(),
                                        type.getElementType()));
  return success();
}

LogicalResult EachOp::verify() {
  if (!isa<DenseElementsAttr>(getValues()))
    return emitOpError("values must be written as dense<...>");
  RepeatOp repeat = findRepeat(*this, getIndex());
  if (!repeat)
    return emitOpError("follows the index \"")
           << getIndex() << "\", which is that of no pp.repeat around it";
  int64_t count = cast<ShapedType>(getValues().getType()).getDimSize(0);
  if (count == repeat.getCount())
    return success();
  InFlightDiagnostic diag = emitOpError("has values for ")
                            << count << " iterations, and the repeat has "
                            << repeat.getCount();
  diag.attachNote(repeat.getLoc()) << "the repeat is here";
  return diag;
}
