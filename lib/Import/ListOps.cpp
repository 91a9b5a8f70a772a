//===- ListOps.cpp - The reference of supported ops -----------------------===//

#include "Emitter.h"
#include "EvaluateConstants.h"
#include "OpNames.h"

#include "ppopt/Import/Import.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

std::string mlir::pp::listImportOps() {
  std::string text;
  raw_string_ostream out(text);
  out << "# Ops of imported models\n\n"
         "`ppopt import` takes these ops of PyTorch "
         "([import.md](../import.md)), "
         "and their forms in\nplace. An argument that an op is not known to "
         "have is refused, not ignored.\n\n"
         "| op | refused |\n|---|---|\n";
  for (const OpRow *row : listOpRows())
    out << "| `" << row->op << "` | " << row->refused << " |\n";
  out << "\n## On constants\n\n"
         "Ops that depend on no input and no parameter are computed when a "
         "model is imported:\n\n";
  std::vector<StringRef> names = listEvaluated();
  // Overloads of an op stand together.
  for (size_t begin = 0, end; begin < names.size(); begin = end) {
    StringRef op = names[begin].rsplit('.').first;
    out << "- `" << op << "`:";
    for (end = begin; end < names.size() && names[end].rsplit('.').first == op;
         ++end)
      out << (end == begin ? " " : ", ") << names[end].rsplit('.').second;
    out << "\n";
  }
  out << "\n## Other names\n\nThese are taken as the ops whose names they are "
         "too, with all overloads:\n\n";
  for (auto [name, op] : listAliases())
    out << "- `aten." << name << "`: `aten." << op << "`\n";
  return text;
}
