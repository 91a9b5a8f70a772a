//===- HostTensor.cpp - A constant tensor of a graph ----------------------===//

#include "HostTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

static double roundBy(const fltSemantics &semantics, double value) {
  APFloat rounded(value);
  bool losesInfo = false;
  rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return rounded.convertToDouble();
}

/// As PyTorch, which makes 16-bit floats of float32: twice rounded.
double pt2::roundTo(Dtype type, double value) {
  switch (type) {
  case Dtype::f64:
    return value;
  case Dtype::f32:
    return float(value);
  case Dtype::f16:
    return roundBy(APFloat::IEEEhalf(), float(value));
  case Dtype::bf16:
    return roundBy(APFloat::BFloat(), float(value));
  default:
    llvm_unreachable("not a float type");
  }
}

int64_t pt2::wrapTo(Dtype type, int64_t value) {
  switch (type) {
  case Dtype::u8:
    return uint8_t(value);
  case Dtype::i8:
    return int8_t(value);
  case Dtype::i16:
    return int16_t(value);
  case Dtype::i32:
    return int32_t(value);
  case Dtype::i64:
    return value;
  case Dtype::boolean:
    return value != 0;
  default:
    llvm_unreachable("not an integer type");
  }
}

static Shape rowMajorStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * std::max<int64_t>(shape[dim + 1], 1);
  return strides;
}

HostTensor::HostTensor(Dtype type, ArrayRef<int64_t> shape)
    : type(type), shape(shape), strides(rowMajorStrides(shape)),
      elements(std::make_shared<Elements>()) {
  if (isFloat())
    elements->floats.resize(getElements());
  else
    elements->integers.resize(getElements());
}

HostTensor HostTensor::splat(Dtype type, ArrayRef<int64_t> shape,
                             Scalar value) {
  HostTensor one(type, {});
  one.set({}, value);
  return one.view(shape, Shape(shape.size(), 0));
}

void HostTensor::forEachIndex(ArrayRef<int64_t> shape,
                              function_ref<void(ArrayRef<int64_t>)> visit) {
  if (countElements(shape) == 0)
    return;
  Shape index(shape.size(), 0);
  for (;;) {
    visit(index);
    int64_t dim = int64_t(shape.size()) - 1;
    for (; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

template <typename T> static T readAs(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

static double readHalf(const fltSemantics &semantics, const char *bytes) {
  APFloat value(semantics, APInt(16, readAs<uint16_t>(bytes)));
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

static Scalar readScalar(Dtype type, const char *bytes) {
  switch (type) {
  case Dtype::f64:
    return {readAs<double>(bytes), 0};
  case Dtype::f32:
    return {readAs<float>(bytes), 0};
  case Dtype::f16:
    return {readHalf(APFloat::IEEEhalf(), bytes), 0};
  case Dtype::bf16:
    return {readHalf(APFloat::BFloat(), bytes), 0};
  case Dtype::u8:
    return {0, readAs<uint8_t>(bytes)};
  case Dtype::i8:
    return {0, readAs<int8_t>(bytes)};
  case Dtype::i16:
    return {0, readAs<int16_t>(bytes)};
  case Dtype::i32:
    return {0, readAs<int32_t>(bytes)};
  case Dtype::i64:
    return {0, readAs<int64_t>(bytes)};
  case Dtype::boolean:
    return {0, *bytes != 0};
  }
  llvm_unreachable("unknown type");
}

double pt2::readReal(Dtype type, const char *bytes) {
  return readScalar(type, bytes).real;
}

HostTensor HostTensor::fromBytes(Dtype type, ArrayRef<int64_t> shape,
                                 ArrayRef<char> bytes) {
  HostTensor tensor(type, shape);
  int64_t size = byteSize(type);
  for (int64_t i = 0, e = tensor.getElements(); i < e; ++i) {
    Scalar value = readScalar(type, bytes.data() + i * size);
    if (tensor.isFloat())
      tensor.elements->floats[i] = value.real;
    else
      tensor.elements->integers[i] = value.integer;
  }
  return tensor;
}

int64_t HostTensor::position(ArrayRef<int64_t> index) const {
  int64_t at = offset;
  for (auto [i, stride] : zip_equal(index, strides))
    at += i * stride;
  return at;
}

Scalar HostTensor::get(ArrayRef<int64_t> index) const {
  int64_t at = position(index);
  if (isFloat())
    return {elements->floats[at], 0};
  return {0, elements->integers[at]};
}

void HostTensor::set(ArrayRef<int64_t> index, Scalar value) {
  int64_t at = position(index);
  if (isFloat())
    elements->floats[at] = roundTo(type, value.real);
  else
    elements->integers[at] = wrapTo(type, value.integer);
}

double HostTensor::getReal(ArrayRef<int64_t> index) const {
  Scalar value = get(index);
  return isFloat() ? value.real : double(value.integer);
}

/// A float is truncated, as a cast of PyTorch does.
static int64_t toInteger(double value) {
  constexpr double limit = 9223372036854775808.0;
  if (!(value > -limit && value < limit))
    return INT64_MIN;
  return int64_t(value);
}

int64_t HostTensor::getInteger(ArrayRef<int64_t> index) const {
  Scalar value = get(index);
  return isFloat() ? toInteger(value.real) : value.integer;
}

HostTensor HostTensor::view(ArrayRef<int64_t> newShape,
                            ArrayRef<int64_t> newStrides,
                            int64_t newOffset) const {
  HostTensor other = *this;
  other.shape = Shape(newShape);
  other.strides = Shape(newStrides);
  other.offset = offset + newOffset;
  return other;
}

HostTensor HostTensor::broadcastTo(ArrayRef<int64_t> to) const {
  Shape newStrides(to.size(), 0);
  size_t added = to.size() - shape.size();
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] == to[added + dim])
      newStrides[added + dim] = strides[dim];
  return view(to, newStrides);
}

HostTensor HostTensor::reshape(ArrayRef<int64_t> to) const {
  if (llvm::all_of(strides, [](int64_t stride) { return stride == 0; }))
    return view(to, Shape(to.size(), 0));
  HostTensor copy(type, shape);
  int64_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    Scalar value = get(index);
    if (isFloat())
      copy.elements->floats[next++] = value.real;
    else
      copy.elements->integers[next++] = value.integer;
  });
  return copy.view(to, rowMajorStrides(to));
}

HostTensor HostTensor::cast(Dtype to) const {
  if (to == type)
    return *this;
  // Dimensions along which all elements are the same stay so.
  Shape distinct = shape;
  for (auto [size, stride] : zip_equal(distinct, strides))
    if (stride == 0 && size > 0)
      size = 1;
  HostTensor converted(to, distinct);
  forEachIndex(distinct, [&](ArrayRef<int64_t> index) {
    Scalar value{getReal(index), 0};
    if (!converted.isFloat())
      value.integer = to == Dtype::boolean && isFloat() ? value.real != 0
                                                        : getInteger(index);
    converted.set(index, value);
  });
  return converted.broadcastTo(shape);
}

HostTensor HostTensor::collapse() const {
  Shape distinct = shape;
  // First those that need no look at the elements: they may have any size.
  for (auto [size, stride] : zip_equal(distinct, strides))
    if (stride == 0 && size > 1)
      size = 1;
  for (int64_t dim = 0; dim < getRank(); ++dim) {
    if (distinct[dim] <= 1)
      continue;
    bool repeats = true;
    forEachIndex(distinct, [&](ArrayRef<int64_t> index) {
      Shape first(index);
      first[dim] = 0;
      Scalar one = get(index), other = get(first);
      repeats &= one.integer == other.integer &&
                 bit_cast<uint64_t>(one.real) == bit_cast<uint64_t>(other.real);
    });
    if (repeats)
      distinct[dim] = 1;
  }
  return view(distinct, strides);
}

template <typename T> static void writeAs(char *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

static void writeHalf(const fltSemantics &semantics, char *bytes,
                      double value) {
  APFloat half(value);
  bool losesInfo = false;
  half.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  writeAs(bytes, uint16_t(half.bitcastToAPInt().getZExtValue()));
}

static void writeScalar(Dtype type, char *bytes, Scalar value) {
  switch (type) {
  case Dtype::f64:
    return writeAs(bytes, value.real);
  case Dtype::f32:
    return writeAs(bytes, float(value.real));
  case Dtype::f16:
    return writeHalf(APFloat::IEEEhalf(), bytes, value.real);
  case Dtype::bf16:
    return writeHalf(APFloat::BFloat(), bytes, value.real);
  case Dtype::u8:
  case Dtype::i8:
  case Dtype::boolean:
    return writeAs(bytes, int8_t(value.integer));
  case Dtype::i16:
    return writeAs(bytes, int16_t(value.integer));
  case Dtype::i32:
    return writeAs(bytes, int32_t(value.integer));
  case Dtype::i64:
    return writeAs(bytes, value.integer);
  }
}

std::vector<char> HostTensor::toBytes() const {
  int64_t size = byteSize(type), next = 0;
  std::vector<char> bytes(getElements() * size);
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    writeScalar(type, &bytes[next++ * size], get(index));
  });
  return bytes;
}
