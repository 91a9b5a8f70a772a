//===- bundle.h - Kernels of a program, and what they must compute --------===//
//
// The documents of a folder that ppopt-emulate --save-expectations writes and
// ppopt-gpu-kernels reads. README.md lists its files.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_BUNDLE_H
#define PPOPT_TEST_GPU_KERNELS_BUNDLE_H

#include "schema/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::gpu {

using schema::ElementType;

/// What is drawn for the elements of a buffer.
enum class Fill {
  numbers,   ///< floats
  flag,      ///< a float that a kernel compares with a constant only
  bits,      ///< 0 or 1
  small,     ///< integers: mostly small, some up to `limit`
  indices,   ///< integers in [0, limit), and some outside
  positions, ///< integers in [0, limit)
  documents, ///< of rows of `limit` tokens: which of eight documents each is of
  randomKey  ///< the key of a kernel that draws random numbers
};

} // namespace ppopt::gpu

template <> struct ppopt::schema::Words<ppopt::gpu::Fill> {
  static constexpr const char *words[] = {"numbers",   "flag",      "bits",
                                          "small",     "indices",   "positions",
                                          "documents", "random key"};
};

namespace ppopt::gpu {

/// How the numbers of a launch are drawn.
struct Draw {
  bool positive = false; ///< uniform in [0.1, 2), not normal
  bool flags = false;    ///< flags are 1, not 0

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("positive", self.positive,
      "numbers are uniform in [0.1, 2), not normal: for what is squared");
    f("flags", self.flags, "flags are 1, not 0");
  }
};

/// Memory that a launch reads or writes. Element (i0, i1, ...) lies sum(i *
/// strides) elements after the first.
struct Buffer {
  ElementType type = ElementType::f32;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  Fill fill = Fill::numbers;
  double mean = 0, deviation = 1;
  int64_t limit = 0;
  bool isRead = false, isWritten = false;

  int64_t elements() const { return schema::elementCount(sizes); }
  /// From the first to the last in memory, with what lies between.
  int64_t span() const {
    int64_t last = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      last += (sizes[i] - 1) * strides[i];
    return last + 1;
  }
  int64_t bytes() const { return span() * schema::byteSize(type); }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("type", self.type, "of its elements");
    f("sizes", self.sizes, "of its dimensions", schema::positive);
    f("strides", self.strides, "in elements");
    f("offset", self.offset,
      "bytes from a multiple of 256 to the first element",
      schema::Limits{0, 255});
    f("fill", self.fill, "what is drawn before a launch");
    f("mean", self.mean, "what is added to each number");
    f("deviation", self.deviation, "what each is multiplied by before");
    f("limit", self.limit, "of integers, by `fill`");
    f("read", self.isRead, "it has values before a launch");
    f("written", self.isWritten, "it has results after it");
  }
};

/// What a launch must leave in a buffer.
struct Expectation {
  int64_t buffer = 0;
  /// Of the magnitudes of all elements that are finite; of a matmul, of the
  /// samples.
  double largest = 0;
  /// The mean of these magnitudes, and how many they are.
  double mean = 0;
  int64_t finite = 0;
  double tolerance = 0;
  double termsTolerance = 0;
  double rounding = 0;
  int64_t first = 0, samples = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("buffer", self.buffer, "its number");
    f("largest", self.largest,
      "magnitude of its finite elements (of a matmul: of the samples)");
    f("mean", self.mean, "of these magnitudes");
    f("finite", self.finite, "how many they are");
    f("tolerance", self.tolerance,
      "the largest difference, relative to `largest`; half of the samples "
      "have no larger one relative to themselves, and the mean magnitude has "
      "none relative to itself");
    f("terms_tolerance", self.termsTolerance,
      "of a matmul: the same, relative to the sum of the magnitudes of the "
      "element's terms");
    f("rounding", self.rounding,
      "of a matmul: what is allowed beside both, relative to the element: its "
      "rounding to a narrower type than that of the sum");
    f("first", self.first, "the number of its first value in `samples.bin`");
    f("samples", self.samples,
      "how many elements are compared; of a matmul each has two values, the "
      "second for the sum of magnitudes");
  }
};

/// Time that the compiler's model of a GPU takes for a launch.
struct Prediction {
  std::string gpu;
  double microseconds = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("gpu", self.gpu, "a device that is compiled in");
    f("microseconds", self.microseconds, "of a launch");
  }
};

/// A kernel or a matmul of the program.
struct Launch {
  std::string name, form;
  int64_t tiles = 1, threads = 1, shared = 0;
  std::optional<schema::Matmul> matmul;
  Draw draw;
  std::vector<Buffer> buffers;
  std::vector<int64_t> arguments;
  std::vector<Expectation> expectations;
  double bytes = 0, flops = 0;
  std::vector<Prediction> predictions;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "unique");
    f("form", self.form, "of a kernel, or `matmul`");
    f("tiles", self.tiles, "of a kernel: blocks of a launch", schema::positive);
    f("threads", self.threads, "of each block", schema::positive);
    f("shared", self.shared, "bytes of memory that a launch gives each block");
    f("matmul", self.matmul,
      "the program's entry, or null for a kernel. Its buffers are A, B and C");
    f("draw", self.draw, "of numbers");
    f("buffers", self.buffers, "what it reads and writes");
    f("arguments", self.arguments,
      "of a kernel: the buffer of each pointer that it takes");
    f("expectations", self.expectations, "one per result");
    f("bytes", self.bytes, "that a launch reads and writes, as predicted");
    f("flops", self.flops, "of the matmuls in it");
    f("predictions", self.predictions, "its time on GPUs");
  }
};

struct Bundle {
  static constexpr int64_t newest = 1;
  int64_t version = newest;
  std::string source, gpu;
  int64_t seed = 1;
  std::vector<Launch> launches;
  std::vector<std::string> instructions;
  int64_t operands = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("version", self.version, "of this format");
    f("source", self.source, "the module whose kernels these are");
    f("gpu", self.gpu, "the architecture of the cubins");
    f("seed", self.seed, "of everything that is drawn");
    f("launches", self.launches, "kernels, then matmuls");
    f("instructions", self.instructions,
      "that have a kernel in `instructions.ptx`");
    f("operands", self.operands, "that each is given");
  }
};

// Names of the files in a folder.
inline constexpr const char *manifestFile = "manifest.json";
inline constexpr const char *samplesFile = "samples.bin"; ///< f64
inline constexpr const char *kernelsStem = "kernels";     ///< .ptx, .cubin
inline constexpr const char *instructionsStem = "instructions";

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_BUNDLE_H
