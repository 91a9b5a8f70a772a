//===- Thresholds.cpp - Constants that change the code path ---------------===//

#include "ppopt/Analysis/Thresholds.h"

#include "ppopt/matmul.h"

#include "mlir/IR/Builders.h"
#include "ppopt/Dialect/PP/DeclaredAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

struct Entry {
  StringRef name;
  int64_t value, least;
};

} // namespace

/// Indexed by enumerator.
static constexpr Entry kEntries[] = {
#define PP_THRESHOLD(enumerator, name, value, least, text) {name, value, least},
#include "ppopt/Analysis/Thresholds.def"
};

int64_t pp::getThreshold(Operation *op, Threshold threshold) {
  const Entry &entry = kEntries[static_cast<size_t>(threshold)];
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto set = module ? module->getAttrOfType<DictionaryAttr>(kThresholdsAttr)
                    : DictionaryAttr();
  auto value = set ? set.getAs<IntegerAttr>(entry.name) : IntegerAttr();
  return value ? std::max(value.getInt(), entry.least) : entry.value;
}

/// Calls `set` for each part of the text. Returns what is wrong with it.
static std::string
parseThresholds(StringRef text,
                llvm::function_ref<void(const Entry &, int64_t)> set) {
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    const Entry *entry = llvm::find_if(
        kEntries, [name = name](const Entry &e) { return e.name == name; });
    if (entry == std::end(kEntries))
      return ("'" + name + "' is none of " +
              llvm::join(llvm::map_range(kEntries,
                                         [](const Entry &e) { return e.name; }),
                         ", "))
          .str();
    int64_t value;
    if (number.getAsInteger(10, value) || value < entry->least)
      return (name + " takes a whole number from " + Twine(entry->least) +
              " on, not '" + number + "'")
          .str();
    set(*entry, value);
  }
  return "";
}

std::string pp::checkThresholds(StringRef text) {
  return parseThresholds(text, [](const Entry &, int64_t) {});
}

std::string pp::setThresholds(ModuleOp module, StringRef text) {
  Builder builder(module.getContext());
  NamedAttrList values;
  std::string wrong =
      parseThresholds(text, [&](const Entry &entry, int64_t value) {
        values.set(entry.name, builder.getI64IntegerAttr(value));
      });
  if (wrong.empty() && !values.empty())
    module->setAttr(kThresholdsAttr, values.getDictionary(module.getContext()));
  return wrong;
}
