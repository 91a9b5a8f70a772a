//===- RealAttr.cpp - Attributes that are numbers -------------------------===//

#include "ppopt/Dialect/PP/RealAttr.h"

#include "llvm/ADT/SmallString.h"

using namespace mlir;

/// Returns whether f64 has the number as it is printed. 0.5 : f32 yes, but
/// 1.0e-6 : f32 is 9.99999997e-7.
static bool isExact(FloatAttr number) {
  SmallString<32> text;
  number.getValue().toString(text);
  return APFloat(APFloat::IEEEdouble(), text) == pp::getReal(number);
}

bool pp::isReal(Attribute attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getType().isF64() || isExact(number);
  return isa<IntegerAttr>(attr) && !isa<BoolAttr>(attr);
}

APFloat pp::getReal(Attribute attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return APFloat(number.getValueAsDouble());
  return APFloat(cast<IntegerAttr>(attr).getValue().roundToDouble(
      !cast<IntegerAttr>(attr).getType().isUnsignedInteger()));
}
