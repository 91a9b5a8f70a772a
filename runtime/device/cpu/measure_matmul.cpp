//===- measure_matmul.cpp - The time of one matmul ------------------------===//

#include "device/cpu/measure_matmul.h"

#include "device/cpu/team.h"
#include "ppopt/machine_rate.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include <sys/mman.h>

namespace ppopt {

namespace {

/// As the arena's memory: on huge pages where they are granted.
void *hugePages(size_t bytes) {
  constexpr size_t kPage = 2 << 20;
  bytes = (bytes + kPage) / kPage * kPage;
  void *memory = std::aligned_alloc(kPage, bytes);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

/// Copies of an operand, all ones.
class Operands {
public:
  Operands(const MatmulDescriptor &matmul,
           const std::array<int64_t, 4> &strides, int64_t rows, int64_t columns,
           MatmulType type)
      : memory(nullptr, std::free) {
    int64_t count = (matmul.batch[0] - 1) * strides[0] +
                    (matmul.batch[1] - 1) * strides[1] +
                    (rows - 1) * strides[2] + (columns - 1) * strides[3] + 1;
    bytes = count * (type == MatmulType::f64   ? 8
                     : type == MatmulType::f32 ? 4
                                               : 2);
    bytes = (bytes + 63) / 64 * 64;
  }

  void allocate(int64_t copies) {
    memory.reset(hugePages(copies * bytes));
    // 0x3F3F3F3F is a number near 0.75 in every type.
    std::fill_n(static_cast<char *>(memory.get()), copies * bytes, 0x3F);
  }
  void *copy(int64_t number) const {
    return static_cast<char *>(memory.get()) + number * bytes;
  }

  int64_t bytes = 0; ///< of one

private:
  std::unique_ptr<void, void (*)(void *)> memory;
};

} // namespace

MatmulSeconds measureMatmul(const MatmulDescriptor &matmul,
                            const MatmulImplementation &implementation,
                            int runs, double seconds, int64_t bytes) {
  using Clock = std::chrono::steady_clock;
  Operands a(matmul, matmul.a, matmul.m, matmul.k, matmul.type),
      b(matmul, matmul.b, matmul.k, matmul.n, matmul.type),
      c(matmul, matmul.c, matmul.m, matmul.n, matmul.cType);
  int64_t copies = std::max<int64_t>(1, bytes / (a.bytes + b.bytes + c.bytes));
  for (Operands *operands : {&a, &b, &c})
    operands->allocate(copies);
  std::unique_ptr<void, void (*)(void *)> workspace(
      hugePages(implementation.workspaceBytes()), std::free);
  std::chrono::duration<double> budget(seconds);
  std::vector<double> times;
  Clock::time_point start = Clock::now();
  for (int i = 0; i < runs && (i < 3 || Clock::now() - start < budget); ++i) {
    Clock::time_point begin = Clock::now();
    implementation.run(a.copy(i % copies), b.copy(i % copies),
                       c.copy(i % copies), workspace.get());
    times.push_back(
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

double matmulSeconds(MatmulType type, const MatmulSize &size, bool transposed,
                     int64_t padding, int threads) {
  TeamSizeScope scope(threads);
  MatmulDescriptor matmul;
  matmul.type = type;
  matmul.cType = type == MatmulType::f64 ? MatmulType::f64 : MatmulType::f32;
  matmul.m = size.m;
  matmul.n = size.n;
  matmul.k = size.k;
  matmul.accumulate = transposed;
  if (transposed)
    matmul.a = {0, 0, 1, size.m + padding};
  else
    matmul.a = {0, 0, size.k + padding, 1};
  matmul.b = {0, 0, size.n, 1};
  matmul.c = {0, 0, size.n, 1};
  PreparedMatmul prepared(matmul, threads, SIZE_MAX);
  return measureMatmul(matmul, prepared.how(), /*runs=*/20, /*seconds=*/0.006,
                       /*bytes=*/16 << 20)
      .median;
}

} // namespace ppopt
