//===- DocumentAttribute.cpp - JSON documents as attributes ---------------===//

#include "DocumentAttribute.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::pp;

static Attribute toAttribute(const llvm::json::Value &value, Builder &builder) {
  if (const llvm::json::Object *object = value.getAsObject()) {
    NamedAttrList fields;
    for (const auto &[name, field] : *object)
      fields.append(StringRef(name), toAttribute(field, builder));
    return fields.getDictionary(builder.getContext());
  }
  if (const llvm::json::Array *array = value.getAsArray()) {
    SmallVector<Attribute> elements;
    for (const llvm::json::Value &element : *array)
      elements.push_back(toAttribute(element, builder));
    return builder.getArrayAttr(elements);
  }
  if (std::optional<StringRef> text = value.getAsString())
    return builder.getStringAttr(*text);
  if (std::optional<bool> flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (std::optional<double> number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  return builder.getUnitAttr(); // null
}

static llvm::json::Value toJson(Attribute attribute) {
  if (auto object = dyn_cast<DictionaryAttr>(attribute)) {
    llvm::json::Object fields;
    for (NamedAttribute field : object)
      fields[field.getName().getValue()] = toJson(field.getValue());
    return fields;
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array elements;
    for (Attribute element : array)
      elements.push_back(toJson(element));
    return elements;
  }
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  return nullptr;
}

Attribute pp::parseDocument(StringRef json, MLIRContext *context) {
  Builder builder(context);
  return toAttribute(llvm::cantFail(llvm::json::parse(json)), builder);
}

std::string pp::writeDocument(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << toJson(attribute);
  return text;
}

Attribute pp::getModuleAttribute(Operation *op, StringRef name) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttr(name) : Attribute();
}
