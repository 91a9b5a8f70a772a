//===- ActionSyntax.cpp - Actions as text ---------------------------------===//

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

/// An address: `<params, "b0"> + 64 + dp * 512`.
static AddressAttr parseAddress(OpAsmParser &parser) {
  auto buffer = llvm::cast_or_null<BufferAttr>(BufferAttr::parse(parser, {}));
  if (!buffer)
    return {};
  int64_t offset = 0;
  SmallVector<StrideAttr> strides;
  while (succeeded(parser.parseOptionalPlus())) {
    OptionalParseResult isOffset = parser.parseOptionalInteger(offset);
    if (isOffset.has_value()
            ? failed(*isOffset)
            : !strides.emplace_back(llvm::cast_or_null<StrideAttr>(
                  StrideAttr::parse(parser, {}))))
      return {};
  }
  return AddressAttr::get(parser.getContext(), buffer, offset, strides);
}

static void printAddress(OpAsmPrinter &printer, AddressAttr address) {
  printer.printStrippedAttrOrType(address.getBuffer());
  if (address.getOffset() != 0)
    printer << " + " << address.getOffset();
  for (StrideAttr stride : address.getStrides()) {
    printer << " + ";
    printer.printStrippedAttrOrType(stride);
  }
}

ParseResult pp::parseAddresses(OpAsmParser &parser, ArrayAttr &addresses) {
  SmallVector<Attribute> list;
  auto parseOne = [&] {
    return success(bool(list.emplace_back(parseAddress(parser))));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  addresses = parser.getBuilder().getArrayAttr(list);
  return success();
}

void pp::printAddresses(OpAsmPrinter &printer, Operation *,
                        ArrayAttr addresses) {
  printer << "(";
  llvm::interleaveComma(addresses.getAsRange<AddressAttr>(), printer,
                        [&](AddressAttr each) { printAddress(printer, each); });
  printer << ")";
}
