//===- DrawInputs.cpp - Random arguments of a kernel ----------------------===//

#include "DrawInputs.h"

#include "ppopt/Dialect/PP/RandomKey.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace emulated;

namespace {

class Drawer {
public:
  Drawer(const Operand &operand, const KernelDescription &kernel,
         bool isPositive, uint64_t seed)
      : operand(operand), kernel(kernel), isPositive(isPositive),
        random(seed * 0x9e3779b97f4a7c15 + 1) {}

  Bytes draw();

private:
  double drawFloat() {
    if (operand.isFlag)
      return isPositive ? 0 : 1;
    return operand.mean +
           operand.deviation *
               (isPositive ? 0.1 + 1.9 * drawUniform() : drawNormal());
  }
  /// From [0, 1). The distributions of libstdc++ take two logarithms of long
  /// doubles for each, longer than all else that draws.
  double drawUniform() { return double(random() >> 11) * 0x1p-53; }
  double drawNormal() {
    double radius = std::sqrt(-2 * std::log(1 - drawUniform()));
    return radius * std::cos(2 * llvm::numbers::pi * drawUniform());
  }
  int64_t drawBetween(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  int64_t drawInteger(int64_t i);
  int64_t drawSegment(int64_t i);
  void write(char *to, int64_t i);

  const Operand &operand;
  const KernelDescription &kernel;
  bool isPositive;
  std::mt19937_64 random;
  int64_t segment = 0; ///< the last
};

} // namespace

/// Documents one after the other, or tokens of a few in any order.
int64_t Drawer::drawSegment(int64_t i) {
  constexpr int64_t kFew = 3;
  if (!isPositive)
    return drawBetween(-1, kFew);
  if (i % *operand.tokens == 0)
    segment = drawBetween(-1, kFew);
  constexpr int64_t kUsualTokens = 12;
  segment += drawBetween(1, kUsualTokens) == 1;
  return segment;
}

int64_t Drawer::drawInteger(int64_t i) {
  if (operand.tokens)
    return drawSegment(i);
  if (operand.isRandomKey) {
    // Coordinates beyond the mesh would be positions that no rank has.
    using pp::KeyElement;
    if (auto found = operand.coordinates.find(i);
        found != operand.coordinates.end())
      return drawBetween(0, found->second - 1);
    if (i == pp::indexOf(KeyElement::Seed))
      return drawBetween(0, 1ll << 40);
    if (i == pp::indexOf(KeyElement::Step))
      return drawBetween(0, 1000);
    return i == pp::indexOf(KeyElement::Training);
  }
  if (operand.positions) {
    int64_t last = *operand.positions - 1;
    return drawBetween(0, 3) ? drawBetween(0, last) : drawBetween(0, 1) * last;
  }
  if (operand.indices)
    return drawBetween(0, 7) ? drawBetween(0, *operand.indices - 1)
                             : drawBetween(-3, *operand.indices + 2);
  // A class or a position of the row, in many rows.
  return drawBetween(0, 1)
             ? drawBetween(-2, 9)
             : drawBetween(0, std::max<int64_t>(kernel.columns, 2));
}

static uint16_t roundToBF16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

template <typename T> static void put(char *to, T value) {
  memcpy(to, &value, sizeof value);
}

void Drawer::write(char *to, int64_t i) {
  Type type = operand.type.getElementType();
  if (type.isF64())
    return put<double>(to, drawFloat());
  if (type.isF32())
    return put<float>(to, drawFloat());
  if (type.isBF16())
    return put<uint16_t>(to, roundToBF16(drawFloat()));
  if (type.isInteger(1))
    return put<uint8_t>(to, drawBetween(0, 1));
  if (type.isInteger(32))
    return put<int32_t>(to, drawInteger(i));
  if (type.isInteger(64))
    return put<int64_t>(to, drawInteger(i));
  llvm::report_fatal_error("no random values of this type");
}

Bytes Drawer::draw() {
  Bytes bytes(operand.getBytes());
  unsigned size = operand.getElementBytes();
  for (int64_t i = 0, e = operand.type.getNumElements(); i < e; ++i)
    write(bytes.data() + i * size, i);
  return bytes;
}

Bytes emulated::drawInput(const Operand &operand,
                          const KernelDescription &kernel, bool isPositive,
                          uint64_t seed) {
  return Drawer(operand, kernel, isPositive, seed).draw();
}

Bytes emulated::perturbInput(const Operand &operand, Bytes contents,
                             uint64_t seed) {
  Type type = operand.type.getElementType();
  if (!isa<FloatType>(type))
    return contents;
  std::mt19937_64 random(seed);
  unsigned size = operand.getElementBytes();
  for (int64_t i = 0, e = operand.type.getNumElements(); i < e; ++i) {
    double value = readElement(contents.data(), i, type);
    double sign = random() % 2 ? 1 : -1;
    char *to = contents.data() + i * size;
    if (type.isF64())
      put<double>(to, value * (1 + sign * 0x1p-52));
    else if (type.isF32())
      put<float>(to, value * (1 + sign * 0x1p-23));
    else
      put<uint16_t>(to, roundToBF16(value * (1 + sign * 0x1p-8)));
  }
  return contents;
}

template <typename T> static T get(const char *buffer, int64_t i) {
  T value;
  memcpy(&value, buffer + i * sizeof value, sizeof value);
  return value;
}

double emulated::readElement(const char *buffer, int64_t i, Type type) {
  if (type.isF64())
    return get<double>(buffer, i);
  if (type.isF32())
    return get<float>(buffer, i);
  if (type.isBF16()) {
    uint32_t bits = uint32_t(get<uint16_t>(buffer, i)) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (type.isInteger(1))
    return get<uint8_t>(buffer, i);
  if (type.isInteger(32))
    return get<int32_t>(buffer, i);
  return static_cast<double>(get<int64_t>(buffer, i));
}
