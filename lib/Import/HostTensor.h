//===- HostTensor.h - A constant tensor of a graph ------------------------===//
//
// A strided view of shared elements. Floats are kept as doubles that are values
// of the tensor's type (a float32 has been rounded to one), integers and
// booleans as 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_HOSTTENSOR_H
#define PPOPT_LIB_IMPORT_HOSTTENSOR_H

#include "ExportedProgram.h"

namespace mlir::pp::pt2 {

/// Returns the nearest value of a float type.
double roundTo(Dtype type, double value);
/// Returns the value of an integer type, wrapped around; of booleans 0 or 1.
int64_t wrapTo(Dtype type, int64_t value);

/// An element, as the type of its tensor says: one of the two.
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

/// Reads a float element of an archive.
double readReal(Dtype type, const char *bytes);

class HostTensor {
public:
  /// All elements are 0.
  HostTensor(Dtype type, llvm::ArrayRef<int64_t> shape);
  /// One element that is seen at every index: strides are 0.
  static HostTensor splat(Dtype type, llvm::ArrayRef<int64_t> shape,
                          Scalar value);
  /// Row-major little-endian elements, as an archive has them.
  static HostTensor fromBytes(Dtype type, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<char> bytes);

  Dtype getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  int64_t getRank() const { return shape.size(); }
  int64_t getElements() const { return countElements(shape); }
  bool isFloat() const { return pt2::isFloat(type); }

  /// The element at an index of every dimension.
  Scalar get(llvm::ArrayRef<int64_t> index) const;
  void set(llvm::ArrayRef<int64_t> index, Scalar value);
  double getReal(llvm::ArrayRef<int64_t> index) const;
  int64_t getInteger(llvm::ArrayRef<int64_t> index) const;

  /// Another view of the same elements; the offset is from this view's first.
  HostTensor view(llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> strides, int64_t offset = 0) const;
  /// Broadcasts as numpy does, with strides of 0. The shapes fit.
  HostTensor broadcastTo(llvm::ArrayRef<int64_t> shape) const;
  /// Elements in row-major order under another shape; copies unless the strides
  /// allow a view.
  HostTensor reshape(llvm::ArrayRef<int64_t> shape) const;
  HostTensor cast(Dtype to) const;

  /// The tensor with size 1 in dimensions along which it repeats itself.
  HostTensor collapse() const;
  /// Row-major little-endian elements of the type; booleans are bytes.
  std::vector<char> toBytes() const;

  /// Calls `visit` with every index, in row-major order.
  static void
  forEachIndex(llvm::ArrayRef<int64_t> shape,
               llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

private:
  struct Elements {
    std::vector<double> floats;
    std::vector<int64_t> integers;
  };
  int64_t position(llvm::ArrayRef<int64_t> index) const;

  Dtype type;
  Shape shape, strides;
  int64_t offset = 0;
  std::shared_ptr<Elements> elements;
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_HOSTTENSOR_H
