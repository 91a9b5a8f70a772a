//===- product_rate.cpp - The rate of f32 products of this machine --------===//
//
// Prints {"gflops": R, "products": [{"m", "k", "n", "gflops"}, …]}: products
// of the small GPT's shapes by oneDNN, all operands in the layouts that it
// likes best, the least time of some, on as many threads as OMP_NUM_THREADS
// says. R is the best of them.
//
//===----------------------------------------------------------------------===//

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using dnnl::memory;

namespace {

constexpr int kRuns = 30;

struct Shape {
  memory::dim m, k, n;
};

double measure(const Shape &shape) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  auto describe = [](memory::dim rows, memory::dim columns) {
    return memory::desc({rows, columns}, memory::data_type::f32,
                        memory::format_tag::any);
  };
  dnnl::matmul::primitive_desc choice(
      dnnl::matmul::desc(describe(shape.m, shape.k), describe(shape.k, shape.n),
                         describe(shape.m, shape.n)),
      engine);
  memory a(choice.src_desc(), engine), b(choice.weights_desc(), engine),
      c(choice.dst_desc(), engine);
  for (const memory &operand : {a, b}) {
    auto *elements = static_cast<float *>(operand.get_data_handle());
    std::fill_n(elements, operand.get_desc().get_size() / sizeof(float), 0.5f);
  }
  dnnl::matmul product(choice);
  double least = 1e30;
  for (int i = 0; i < kRuns; ++i) {
    auto begin = std::chrono::steady_clock::now();
    product.execute(
        stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count());
  }
  return 2e-9 * static_cast<double>(shape.m * shape.k * shape.n) / least;
}

} // namespace

int main() {
  constexpr Shape kShapes[] = {{2048, 384, 1152}, {2048, 384, 384},
                               {2048, 384, 1536}, {2048, 1536, 384},
                               {384, 2048, 1536}, {1536, 2048, 384}};
  double best = 0;
  std::printf("{\"products\": [");
  const char *separator = "";
  for (const Shape &shape : kShapes) {
    double rate = measure(shape);
    best = std::max(best, rate);
    std::printf("%s{\"m\": %lld, \"k\": %lld, \"n\": %lld, \"gflops\": %.1f}",
                separator, static_cast<long long>(shape.m),
                static_cast<long long>(shape.k),
                static_cast<long long>(shape.n), rate);
    separator = ", ";
  }
  std::printf("], \"gflops\": %.1f}\n", best);
}
