//===- ActionSyntax.cpp - Collectives and bindings as text ----------------===//

#include "ActionSyntax.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

ParseResult pp::parseCollective(AsmParser &parser, CollectiveAttr &collective) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<geometry::Collective> kind =
      geometry::parseCollective(std::string_view(word.data(), word.size()));
  if (!kind)
    return parser.emitError(loc, "unknown collective '")
           << word << "'; use "
           << llvm::join(ArrayRef<const char *>(geometry::collectiveWords),
                         ", ");
  collective = CollectiveAttr::get(parser.getContext(), *kind);
  return success();
}

void pp::printCollective(OpAsmPrinter &printer, Operation *,
                         CollectiveAttr collective) {
  printer << geometry::wordOf(collective.getKind());
}

Attribute CollectiveAttr::parse(AsmParser &parser, Type) {
  CollectiveAttr collective;
  if (parser.parseLess() || parseCollective(parser, collective) ||
      parser.parseGreater())
    return {};
  return collective;
}

void CollectiveAttr::print(AsmPrinter &printer) const {
  printer << "<" << geometry::wordOf(getKind()) << ">";
}

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
  if (!buffer)
    return failure();
  SmallVector<StrideAttr> strides;
  while (succeeded(parser.parseOptionalPlus())) {
    OptionalParseResult isOffset = parser.parseOptionalInteger(number);
    if (isOffset.has_value()
            ? failed(*isOffset)
            : !strides.emplace_back(llvm::cast_or_null<StrideAttr>(
                  StrideAttr::parse(parser, {}))))
      return failure();
  }
  binding = AddressAttr::get(context, buffer, number, strides);
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
  for (StrideAttr stride : address.getStrides()) {
    printer << " + ";
    printer.printStrippedAttrOrType(stride);
  }
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
