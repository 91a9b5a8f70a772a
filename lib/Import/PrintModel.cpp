//===- PrintModel.cpp - The text of an imported model ---------------------===//

#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Import/Import.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;

static std::string spellBytes(ArrayRef<char> bytes) {
  return toHex(StringRef(bytes.data(), bytes.size()));
}

/// Prints the elements of buffers that the attribute only names, as the parser
/// of MLIR takes them: an alignment in four bytes, and the elements.
static void printResources(DictionaryAttr buffers, raw_ostream &out) {
  StringRef separator = "\n{-#\n  dialect_resources: {\n    builtin: {\n";
  for (NamedAttribute buffer : buffers) {
    auto elements = dyn_cast<DenseResourceElementsAttr>(buffer.getValue());
    if (!elements)
      continue;
    DenseResourceElementsHandle handle = elements.getRawHandle();
    AsmResourceBlob *blob = handle.getBlob();
    char alignment[4];
    support::endian::write32le(alignment, blob->getDataAlignment());
    out << std::exchange(separator, ",\n") << "      \"";
    printEscapedString(handle.getKey(), out);
    out << "\": \"0x" << spellBytes(alignment) << spellBytes(blob->getData())
        << "\"";
  }
  if (separator == ",\n")
    out << "\n    }\n  }\n#-}\n";
}

void pp::printModel(ModuleOp module, raw_ostream &out) {
  auto buffers = module->getAttrOfType<DictionaryAttr>(kBuffersAttr);
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  if (buffers)
    out << "module attributes {" << kBuffersAttr << " = " << buffers << "} {\n";
  for (Operation &op : *module.getBody()) {
    op.print(out, flags);
    out << "\n";
  }
  if (!buffers)
    return;
  out << "}\n";
  printResources(buffers, out);
}
