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
