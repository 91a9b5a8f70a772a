//===- Bindings.cpp - Where operands of actions are, as text --------------===//

#include "Bindings.h"

using namespace mlir;
using namespace mlir::pp;

ParseResult pp::parseBinding(OpAsmParser &parser, Attribute &binding) {
  MLIRContext *context = parser.getContext();
  int64_t number = 0;
  if (succeeded(parser.parseOptionalKeyword("slot"))) {
    if (parser.parseInteger(number))
      return failure();
    binding = SlotAttr::get(context, number);
    return success();
  }
  auto buffer = llvm::cast_or_null<BufferAttr>(BufferAttr::parse(parser, {}));
  if (!buffer ||
      (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(number)))
    return failure();
  binding = AddressAttr::get(context, buffer, number);
  return success();
}

void pp::printBinding(OpAsmPrinter &printer, Operation *, Attribute binding) {
  if (auto slot = dyn_cast<SlotAttr>(binding)) {
    printer << "slot " << slot.getNumber();
    return;
  }
  auto address = cast<AddressAttr>(binding);
  printer.printStrippedAttrOrType(address.getBuffer());
  if (address.getOffset() != 0)
    printer << " + " << address.getOffset();
}

OptionalParseResult pp::parseBindings(OpAsmParser &parser,
                                      ArrayAttr &bindings) {
  if (failed(parser.parseOptionalLParen()))
    return std::nullopt;
  SmallVector<Attribute> list;
  auto parseOne = [&] { return parseBinding(parser, list.emplace_back()); };
  if (failed(parser.parseOptionalRParen()) &&
      (parser.parseCommaSeparatedList(parseOne) || parser.parseRParen()))
    return failure();
  bindings = parser.getBuilder().getArrayAttr(list);
  return success();
}

void pp::printBindings(OpAsmPrinter &printer, Operation *op,
                       ArrayAttr bindings) {
  printer << "(";
  llvm::interleaveComma(bindings, printer, [&](Attribute binding) {
    printBinding(printer, op, binding);
  });
  printer << ")";
}
