//===- Workers.h - Compilations of one model beside each other ------------===//

#ifndef PPOPT_LIB_SEARCH_WORKERS_H
#define PPOPT_LIB_SEARCH_WORKERS_H

#include "ppopt/Driver/Compilation.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <memory>
#include <vector>

namespace mlir::pp {

/// A parsed model, in contexts of their own: as it is, and with fewer layers.
struct ModelCopies {
  std::unique_ptr<Compilation> whole;
  /// If the model's only pp.repeat repeats the same `depth` times, the model
  /// with two and with three of them; otherwise null.
  std::unique_ptr<Compilation> two, three;
  int64_t depth = 0;
};

class Workers {
public:
  /// How many jobs are worth waiting for together. It does not follow from the
  /// machine, so that a search finds the same everywhere.
  static constexpr size_t kCount = 4;

  using Job = std::function<void(ModelCopies &)>;

  /// Copies a compilation whose model has been parsed.
  explicit Workers(Compilation &compilation);
  ~Workers();

  /// Returns whether there are copies with fewer layers.
  bool haveLayers() const { return copies.front().two != nullptr; }

  /// Returns how many layers there are then.
  int64_t getDepth() const { return copies.front().depth; }

  /// Runs jobs in their order, up to kCount at a time, each on copies that no
  /// other has meanwhile.
  void run(llvm::ArrayRef<Job> jobs);

private:
  std::vector<ModelCopies> copies;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_WORKERS_H
