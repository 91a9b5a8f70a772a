//===- machine_rate.cpp - Peak rates of this machine ----------------------===//

#include "ppopt/machine_rate.h"

#include "device/cpu/team.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <unordered_map>

namespace ppopt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int passes = 8;

/// Returns the time of the fastest of several passes, after one warm-up pass.
template <typename Pass> double leastSeconds(const Pass &pass) {
  pass();
  Clock::duration least = Clock::duration::max();
  for (int i = 0; i < passes; ++i) {
    Clock::time_point begin = Clock::now();
    pass();
    least = std::min(least, Clock::now() - begin);
  }
  return std::chrono::duration<double>(least).count();
}

/// All bytes are zero: denormal numbers would slow the processor down.
dnnl::memory zeros(const dnnl::memory::desc &descriptor,
                   const dnnl::engine &engine) {
  dnnl::memory memory(descriptor, engine);
  std::memset(memory.get_data_handle(), 0, descriptor.get_size());
  return memory;
}

double measure(MatmulType type, const MatmulSize &size) {
  using dnnl::memory;
  auto packed = [&](int64_t rows, int64_t columns) {
    return memory::desc({rows, columns},
                        type == MatmulType::bf16 ? memory::data_type::bf16
                                                 : memory::data_type::f32,
                        memory::format_tag::any);
  };
  const auto &[m, n, k] = size;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  dnnl::matmul::primitive_desc choice(
      dnnl::matmul::desc(packed(m, k), packed(k, n), packed(m, n)), engine);
  dnnl::matmul matmul(choice);
  std::unordered_map<int, memory> operands{
      {DNNL_ARG_SRC, zeros(choice.src_desc(), engine)},
      {DNNL_ARG_WEIGHTS, zeros(choice.weights_desc(), engine)},
      {DNNL_ARG_DST, zeros(choice.dst_desc(), engine)}};
  double seconds = leastSeconds([&] {
    matmul.execute(stream, operands);
    stream.wait();
  });
  return 2.0 * static_cast<double>(m * n * k) / seconds;
}

} // namespace

double packedMatmulRate(MatmulType type, const MatmulSize &size, int threads) {
  if (type == MatmulType::f64)
    return 0;
  TeamSizeScope scope(threads);
  try {
    return measure(type, size);
  } catch (const dnnl::error &) {
    return 0; // oneDNN has no such matmul on this machine
  }
}

double packedMatmulRate(MatmulType type, int threads) {
  // Fits into most second-level caches, large, and very large.
  constexpr MatmulSize each[] = {{512, 512, 512},
                                 {1024, 1024, 256},
                                 {2048, 1536, 384},
                                 {1024, 1536, 1024}};
  double best = 0;
  for (const MatmulSize &size : each)
    best = std::max(best, packedMatmulRate(type, size, threads));
  return best;
}

double streamingRate(int threads) {
  constexpr int64_t count = int64_t{16} << 20; // 64 MiB per array
  constexpr int64_t piece = int64_t{64} << 10;
  // Not initialized here: the threads that read the pages must touch them
  // first.
  std::unique_ptr<float[]> a(new float[count]), b(new float[count]),
      c(new float[count]);
  auto eachPiece = [&](auto &&body) {
    parallelFor(threads, count / piece, [&](int64_t begin, int64_t end) {
      body(begin * piece, end * piece);
    });
  };
  eachPiece([&](int64_t begin, int64_t end) {
    std::fill(&b[begin], &b[end], 1.0f);
    std::fill(&c[begin], &c[end], 2.0f);
  });
  double seconds = leastSeconds([&] {
    eachPiece([&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        a[i] = b[i] + 3.0f * c[i];
    });
  });
  return 3.0 * sizeof(float) * count / seconds;
}

} // namespace ppopt
