//===- InferTypes.h - What the inference of result types shares -----------===//

#ifndef PPOPT_LIB_DIALECT_PP_INFERTYPES_H
#define PPOPT_LIB_DIALECT_PP_INFERTYPES_H

#include "ppopt/Dialect/PP/PP.h"

/// Begins the definition of an op's inferReturnTypes.
#define PP_INFER(OpT)                                                          \
  LogicalResult OpT::inferReturnTypes(                                         \
      MLIRContext *context, std::optional<Location> loc, ValueRange operands,  \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &results)

namespace mlir::pp {

/// Returns an op's properties. While the op is being parsed, attributes that
/// its format does not name are in the dictionary alone.
template <typename OpT>
typename OpT::Properties collectProperties(OpaqueProperties given,
                                           DictionaryAttr attributes) {
  typename OpT::Properties properties;
  if (given)
    properties = *given.as<typename OpT::Properties *>();
  if (attributes)
    for (NamedAttribute attribute : attributes)
      OpT::setInherentAttr(properties, attribute.getName(),
                           attribute.getValue());
  return properties;
}

template <typename OpT, typename... Args>
LogicalResult inferError(std::optional<Location> loc, Args &&...args) {
  return emitOptionalError(loc, "'", OpT::getOperationName(), "' op ",
                           std::forward<Args>(args)...);
}

/// Returns the ranked tensor types of the operands. Emits an error if one has
/// another type (types are inferred before operands are verified).
template <typename OpT>
FailureOr<SmallVector<RankedTensorType>> getTensors(std::optional<Location> loc,
                                                    ValueRange operands) {
  SmallVector<RankedTensorType> types;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape())
      return LogicalResult(inferError<OpT>(
          loc, "operand #", i, " is of type ", operand.getType(),
          ", but must be a tensor with a static shape"));
    types.push_back(type);
  }
  return types;
}

} // namespace mlir::pp

#endif // PPOPT_LIB_DIALECT_PP_INFERTYPES_H
