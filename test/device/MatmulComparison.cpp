//===- MatmulComparison.cpp - Matmuls of a device against plain loops -----===//

#include "MatmulComparison.h"

#include "DrawInputs.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace llvm;
using namespace emulated;

using Strides = std::array<int64_t, 4>;

/// Products of numbers that a run emulates: seconds.
static constexpr int64_t kMostProducts = int64_t(1) << 23;

/// Returns the elements from the first to the last that a matmul touches.
static int64_t countElements(const MatmulDescription &matmul,
                             const Strides &strides, int64_t rows,
                             int64_t columns) {
  return (matmul.batch[0] - 1) * strides[0] +
         (matmul.batch[1] - 1) * strides[1] + (rows - 1) * strides[2] +
         (columns - 1) * strides[3] + 1;
}

MatmulComparison::MatmulComparison(const MatmulDescription &matmul,
                                   const KernelCode &code)
    : matmul(matmul), code(code) {
  auto makeSide = [&](mlir::Type type, const MatmulSide &side, int64_t rows,
                      int64_t columns) {
    Side result;
    result.operand.type = mlir::RankedTensorType::get(
        {countElements(matmul, side.strides, rows, columns)}, type);
    result.offset = side.offset;
    return result;
  };
  a = makeSide(matmul.type, matmul.a, matmul.m, matmul.k);
  b = makeSide(matmul.type, matmul.b, matmul.k, matmul.n);
  c = makeSide(matmul.cType, matmul.c, matmul.m, matmul.n);
}

EmulatedLaunch MatmulComparison::makeLaunch() const {
  EmulatedLaunch launch{&code, matmul.grid, {}, {}, matmul.sharedBytes};
  const char *const names[] = {"A", "B", "C"};
  for (auto [i, side] : enumerate(std::array{&a, &b, &c})) {
    LaunchBuffer &buffer = launch.arguments.emplace_back();
    buffer.name = names[i];
    buffer.bytes = side->operand.getBytes();
    buffer.elementBytes = side->operand.getElementBytes();
    buffer.initial = side->contents;
    // C may have gaps, and what its kernel has added so far is read again.
    buffer.isInitialised = true;
    buffer.isWritten = side == &c;
    buffer.offset = side->offset;
  }
  return launch;
}

/// Returns the blocks to run; none if all are.
std::vector<unsigned> MatmulComparison::chooseBlocks(uint64_t seed) const {
  int64_t products =
      matmul.batch[0] * matmul.batch[1] * matmul.m * matmul.n * matmul.k;
  if (products <= kMostProducts)
    return {};
  int64_t count = std::max<int64_t>(1, kMostProducts * matmul.grid / products);
  if (count >= matmul.grid)
    return {};
  unsigned last = matmul.grid - 1;
  std::vector<unsigned> blocks = {last, 0, matmul.grid / 2};
  std::mt19937_64 random(seed);
  blocks.resize(std::min<size_t>(count, blocks.size()));
  while (int64_t(blocks.size()) < count)
    blocks.push_back(random() % matmul.grid);
  sort(blocks);
  blocks.erase(unique(blocks), blocks.end());
  return blocks;
}

namespace {

/// What an element of C must be, and the sum of the magnitudes that it is of.
struct Reference {
  long double value, magnitude;
};

} // namespace

static double getTolerance(mlir::Type type) {
  return type.isF64() ? 1e-12 : 1e-5;
}

static std::vector<double> readAll(const Bytes &contents,
                                   const Operand &operand) {
  std::vector<double> values(operand.type.getNumElements());
  for (auto [i, value] : enumerate(values))
    value = readElement(contents.data(), i, operand.type.getElementType());
  return values;
}

/// Compares the elements of C; if not all blocks were run, those that have been
/// written.
std::string MatmulComparison::compare(const Bytes &got, bool areAll) {
  std::vector<double> left = readAll(a.contents, a.operand);
  std::vector<double> right = readAll(b.contents, b.operand);
  std::vector<double> before = readAll(c.contents, c.operand);
  std::vector<double> after = readAll(got, c.operand);
  std::vector<bool> isResult(after.size());
  unsigned bytes = c.operand.getElementBytes();
  auto isWritten = [&](int64_t at) {
    return memcmp(got.data() + at * bytes, c.contents.data() + at * bytes,
                  bytes) != 0;
  };
  auto compute = [&](int64_t atA, int64_t atB, double old) {
    Reference sum{0, 0};
    if (matmul.accumulate)
      sum = {old, std::fabs(old)};
    for (int64_t k = 0; k < matmul.k; ++k) {
      long double product =
          static_cast<long double>(left[atA + k * matmul.a.strides[3]]) *
          right[atB + k * matmul.b.strides[2]];
      sum.value += product;
      sum.magnitude += std::fabs(product);
    }
    return sum;
  };
  // The result is rounded once more if C's type is narrower than the sums'.
  double rounding = matmul.cType.isBF16() ? 0x1p-8 : 0;
  double tolerance = getTolerance(matmul.type);
  compared = 0;
  std::string text;
  auto check = [&](int64_t b0, int64_t b1, int64_t i, int64_t j) {
    auto place = [&](const Strides &strides, int64_t row, int64_t column) {
      return b0 * strides[0] + b1 * strides[1] + row * strides[2] +
             column * strides[3];
    };
    int64_t at = place(matmul.c.strides, i, j);
    isResult[at] = true;
    if (!areAll && !isWritten(at))
      return;
    ++compared;
    Reference want = compute(place(matmul.a.strides, i, 0),
                             place(matmul.b.strides, 0, j), before[at]);
    long double off =
        std::fabs(after[at] - want.value) - rounding * std::fabs(want.value);
    double error = off <= 0 ? 0 : double(off / want.magnitude);
    if (!std::isfinite(after[at]))
      error = INFINITY;
    worst = std::max(worst, error);
    if (error <= tolerance || !text.empty())
      return;
    raw_string_ostream(text)
        << "kernel '" << matmul.name << "': C[" << b0 << ", " << b1 << ", " << i
        << ", " << j << "] is " << after[at] << ", not " << double(want.value)
        << ": off by " << error << " of the sum of magnitudes, more than "
        << tolerance;
  };
  for (int64_t b0 = 0; b0 < matmul.batch[0]; ++b0)
    for (int64_t b1 = 0; b1 < matmul.batch[1]; ++b1)
      for (int64_t i = 0; i < matmul.m; ++i)
        for (int64_t j = 0; j < matmul.n; ++j)
          check(b0, b1, i, j);
  for (int64_t i = 0, e = after.size(); i < e && text.empty(); ++i)
    if (!isResult[i] && isWritten(i))
      text = "kernel '" + matmul.name + "': writes element " +
             std::to_string(i) + " of C's buffer, which is not one of C";
  return text;
}

std::string MatmulComparison::run(uint64_t seed, bool isPositive) {
  KernelDescription none;
  for (auto [i, side] : enumerate(std::array{&a, &b, &c}))
    side->contents =
        drawInput(side->operand, none, isPositive, seed * 1000 + i);
  // What nobody may read, and all must overwrite: no numbers.
  if (!matmul.accumulate)
    c.contents.assign(c.contents.size(), char(0xff));
  EmulatedLaunch launch = makeLaunch();
  launch.blocks = chooseBlocks(seed);
  Outcome outcome = emulateDraw(launch, seed);
  if (!outcome.error.empty())
    return outcome.error;
  counters = outcome.counters;
  std::string wrong = compare(outcome.contents[2], launch.blocks.empty());
  if (wrong.empty() && compared < int64_t(launch.blocks.size()))
    wrong = "kernel '" + matmul.name +
            "': " + std::to_string(launch.blocks.size()) +
            " blocks write only " + std::to_string(compared) + " elements of C";
  return wrong;
}

std::string MatmulComparison::runEnds() {
  EmulatedLaunch launch = makeLaunch();
  unsigned last = launch.grid - 1;
  launch.blocks = {0, last / 2, last};
  launch.blocks.erase(unique(launch.blocks), launch.blocks.end());
  launch.arguments.back().isForgotten = true;
  Outcome outcome = emulate(launch, Order::Forward, /*seed=*/1);
  counters = outcome.counters;
  return outcome.error;
}

json::Object MatmulComparison::getFigures() const {
  return json::Object{
      {"kernel", matmul.name},
      {"form", "matmul"},
      {"blocks", counters.blocks},
      {"of blocks", matmul.grid},
      {"threads", code.threads},
      {"barriers", counters.barriers},
      {"warp operations", counters.warpOperations},
      {"compared", compared},
      // JSON has no infinity.
      {"errors",
       json::Array{std::isfinite(worst) ? json::Value(worst) : "infinite"}}};
}
