//===- Origin.h - What a module was compiled from -------------------------===//

#ifndef PPOPT_DIALECT_PP_ORIGIN_H
#define PPOPT_DIALECT_PP_ORIGIN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// The module attribute from the end of phase model on: a dictionary of the
/// fields of Origin.
inline constexpr llvm::StringLiteral kOriginAttr = "pp.origin";

/// What a module was compiled from. Fields that are not known are empty.
struct Origin {
  StringRef model;   ///< the name
  StringRef source;  ///< the file
  StringRef hash;    ///< of what the model computes
  StringRef command; ///< the compiler's command line
};

inline void setOrigin(ModuleOp module, const Origin &origin) {
  Builder builder(module.getContext());
  auto name = [&](StringRef field, StringRef text) {
    return builder.getNamedAttr(field, builder.getStringAttr(text));
  };
  module->setAttr(kOriginAttr,
                  builder.getDictionaryAttr({name("model", origin.model),
                                             name("source", origin.source),
                                             name("hash", origin.hash),
                                             name("command", origin.command)}));
}

inline Origin getOrigin(ModuleOp module) {
  auto fields = module->getAttrOfType<DictionaryAttr>(kOriginAttr);
  auto get = [&](StringRef field) {
    auto text = fields ? fields.getAs<StringAttr>(field) : StringAttr();
    return text ? text.getValue() : StringRef();
  };
  return {get("model"), get("source"), get("hash"), get("command")};
}

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_ORIGIN_H
