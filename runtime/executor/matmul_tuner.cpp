//===- matmul_tuner.cpp - Measures the algorithms of matmuls --------------===//

#include "executor/matmul_tuner.h"

#include "base/error.h"
#include "executor/rank.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

namespace ppopt::runtime {
namespace {

using device::DevicePointer;

constexpr int warmUps = 3;
constexpr size_t samples = 9; ///< of which the median counts
/// A sample has several launches if one takes less: the GPU's clock has a
/// resolution of about half a microsecond.
constexpr double sampleMicroseconds = 100;
constexpr int mostLaunches = 20; ///< per sample

/// Returns the bytes from the first element of an operand to its last.
int64_t extent(const MatmulDescriptor &matmul, int64_t rows, int64_t columns,
               const std::array<int64_t, 4> &strides, MatmulType type) {
  int64_t last = (matmul.batch[0] - 1) * strides[0] +
                 (matmul.batch[1] - 1) * strides[1] + (rows - 1) * strides[2] +
                 (columns - 1) * strides[3];
  return (last + 1) * elementBytes(type);
}

int64_t extentOfA(const MatmulDescriptor &matmul) {
  return extent(matmul, matmul.m, matmul.k, matmul.a, matmul.type);
}
int64_t extentOfB(const MatmulDescriptor &matmul) {
  return extent(matmul, matmul.k, matmul.n, matmul.b, matmul.type);
}
int64_t extentOfC(const MatmulDescriptor &matmul) {
  return extent(matmul, matmul.m, matmul.n, matmul.c, matmul.cType);
}

} // namespace

MatmulTuner::MatmulTuner(ppopt_rank &rank)
    : rank(rank), library(*rank.device->matmulLibrary()) {
  for (const std::unique_ptr<PlaceMemory> &held : rank.places.memory)
    if (held && held->place.arenaBytes > arenaBytes) {
      arena = held->arena;
      arenaBytes = held->place.arenaBytes;
    }
  for (size_t i = 0; i < samples; ++i) {
    device::TimePoint begin = rank.device->makeTimePoint();
    points.emplace_back(begin, rank.device->makeTimePoint());
  }
}

void MatmulTuner::finish() {
  rank.device->fill(rank.compute, arena, 0, arenaBytes);
  rank.device->synchronize(rank.compute);
}

std::optional<FastestAlgorithm> MatmulTuner::measure(const MatmulUse &use) {
  const Matmul &matmul = rank.program.matmuls[use.matmul];
  std::optional<Operands> operands = placeOperands(use);
  if (!operands)
    return std::nullopt;
  int64_t size = elementBytes(matmul.descriptor.type);
  fill(operands->a, extentOfA(matmul.descriptor), size);
  fill(operands->b, extentOfB(matmul.descriptor), size);
  rank.device->fill(rank.compute, operands->c, 0, extentOfC(matmul.descriptor));
  std::optional<FastestAlgorithm> fastest;
  for (const device::MatmulAlgorithm &algorithm :
       library.algorithms(int(use.matmul), use.alignment, mostAlgorithms)) {
    library.use(int(use.matmul), use.alignment, algorithm);
    double microseconds = measure(int(use.matmul), *operands);
    if (!fastest)
      fastest = {algorithm, microseconds, microseconds};
    if (microseconds < fastest->microseconds) {
      fastest->algorithm = algorithm;
      fastest->microseconds = microseconds;
    }
  }
  return fastest;
}

/// Puts the operands one after the other, each with its alignment and no
/// better one.
std::optional<MatmulTuner::Operands>
MatmulTuner::placeOperands(const MatmulUse &use) const {
  const Matmul &matmul = rank.program.matmuls[use.matmul];
  int64_t end = 0;
  auto place = [&](int64_t bytes, int64_t alignment) {
    end = (end + device::mostAlignment - 1) / device::mostAlignment *
          device::mostAlignment;
    if (alignment < device::mostAlignment)
      end += alignment;
    DevicePointer at = arena + end;
    end += bytes;
    return at;
  };
  Operands operands;
  operands.a = place(extentOfA(matmul.descriptor), use.alignment.a);
  operands.b = place(extentOfB(matmul.descriptor), use.alignment.b);
  operands.c = place(extentOfC(matmul.descriptor), use.alignment.c);
  operands.workspace = place(matmul.workspace, device::mostAlignment);
  if (end > arenaBytes)
    return std::nullopt;
  device::MatmulAlignment got =
      library.alignmentOf(int(use.matmul), operands.a, operands.b, operands.c);
  if (got < use.alignment || use.alignment < got)
    throw Error("matmul {}: its operands can't be placed as in a step: an "
                "error of ppopt; leave out --tune",
                matmul.name);
  return operands;
}

/// Fills an operand with random numbers from 0.5 to 2 (f64: from 2⁻¹⁵) of both
/// signs: a GPU multiplies zeros faster, because they take less power.
void MatmulTuner::fill(DevicePointer at, int64_t bytes, int64_t elementBytes) {
  char *piece = rank.device->hostPiece();
  if (filledFor != elementBytes) {
    rank.device->synchronize(rank.compute); // the piece is in use
    std::mt19937_64 random(1);
    for (int64_t i = 0; i < device::pieceBytes; i += elementBytes) {
      uint64_t bits = random();
      std::memcpy(piece + i, &bits, size_t(elementBytes));
      auto top = uint16_t(0x3f00 | (bits & 0x80ff));
      std::memcpy(piece + i + elementBytes - 2, &top, sizeof top);
    }
    filledFor = elementBytes;
  }
  for (int64_t done = 0; done < bytes; done += device::pieceBytes)
    rank.device->copyIn(rank.compute, at + done, piece,
                        std::min(bytes - done, device::pieceBytes));
}

double MatmulTuner::measure(int matmul, const Operands &operands) {
  device::Device &device = *rank.device;
  auto launch = [&](int count) {
    for (int i = 0; i < count; ++i)
      device.matmul(rank.compute, matmul, operands.a, operands.b, operands.c,
                    operands.workspace);
  };
  auto sample = [&](size_t index, int launches) {
    device.mark(points[index].first, rank.compute);
    launch(launches);
    device.mark(points[index].second, rank.compute);
  };
  auto read = [&](size_t index, int launches) {
    std::chrono::duration<double, std::micro> time =
        device.between(points[index].first, points[index].second);
    return time.count() / launches;
  };
  launch(warmUps);
  sample(0, 1);
  device.synchronize(rank.compute);
  double one = std::max(read(0, 1), 1e-3);
  int launches =
      int(std::clamp(sampleMicroseconds / one, 1.0, double(mostLaunches)));
  for (size_t i = 0; i < samples; ++i)
    sample(i, launches);
  device.synchronize(rank.compute);
  std::vector<double> times;
  for (size_t i = 0; i < samples; ++i)
    times.push_back(read(i, launches));
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[samples / 2];
}

} // namespace ppopt::runtime
