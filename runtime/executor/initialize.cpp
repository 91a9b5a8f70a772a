//===- initialize.cpp - Initial values of parameters ----------------------===//

#include "executor/initialize.h"

#include "device/cpu/team.h"
#include "device/host_access.h"
#include "executor/philox.h"
#include "executor/random_values.h"
#include "executor/rank.h"
#include "executor/store_values.h"

#include <algorithm>

namespace ppopt::runtime {

namespace {

constexpr int64_t elementsAtOnce = 4 * blocksAtOnce;

/// The values of a parameter. Draws `elementsAtOnce` of them at a time and
/// keeps the last ones.
class Values {
public:
  Values(const Initializer &init, std::string_view name, int64_t seed)
      : init(init), stream(streamOf(name)), seed(seed),
        isDrawn(init.kind == InitialValues::uniform || init.isNormal()) {
    if (!isDrawn)
      std::fill_n(values, elementsAtOnce,
                  init.kind == InitialValues::ones ? 1.0 : 0.0);
  }

  /// Returns the values of global indices from `first` up to the next multiple
  /// of `elementsAtOnce`.
  const double *from(int64_t first) {
    int64_t piece = first / elementsAtOnce;
    if (isDrawn && piece != drawn)
      drawValues(init, seed, stream, piece * blocksAtOnce, values);
    drawn = piece;
    return values + first % elementsAtOnce;
  }

private:
  const Initializer &init;
  const uint64_t stream;
  const int64_t seed;
  const bool isDrawn;
  int64_t drawn = -1; ///< the piece that `values` has
  double values[elementsAtOnce];
};

} // namespace

void initializeValues(const Initializer &init, ElementType type,
                      std::string_view name, int64_t seed,
                      const geometry::Tile &tile, int64_t from, int64_t to,
                      void *out, int threads) {
  int64_t shares = (to - from + elementsAtOnce - 1) / elementsAtOnce;
  parallelFor(threads, shares, [&](int64_t begin, int64_t end) {
    Values values(init, name, seed);
    auto write = [&](const geometry::Run &run) {
      for (int64_t done = 0; done < run.count;) {
        int64_t first = run.global + done;
        int64_t count =
            std::min(run.count - done, elementsAtOnce - first % elementsAtOnce);
        storeValues(type, values.from(first), count,
                    static_cast<char *>(out) +
                        (run.local - from + done) * byteSize(type));
        done += count;
      }
    };
    tile.forEachRun(from + begin * elementsAtOnce,
                    std::min(from + end * elementsAtOnce, to), write);
  });
}

void initializeParameters(const ppopt_rank &rank, int64_t seed) {
  const Program &program = rank.program;
  for (const ParameterBuffer &buffer : rank.places.parameters) {
    const Parameter &parameter = program.parameters[buffer.index];
    int64_t size = byteSize(parameter.type);
    device::writePieces(
        *rank.device, rank.compute, buffer.data, buffer.elements.count() * size,
        [&](char *data, int64_t offset, int64_t bytes) {
          int64_t begin = buffer.elements.begin + offset / size;
          initializeValues(parameter.init, parameter.type, parameter.name, seed,
                           buffer.elements.tile, begin, begin + bytes / size,
                           data, rank.options.threads);
        });
  }
}

} // namespace ppopt::runtime
