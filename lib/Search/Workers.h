//===- Workers.h - Compilations of one model beside each other ------------===//

#ifndef PPOPT_LIB_SEARCH_WORKERS_H
#define PPOPT_LIB_SEARCH_WORKERS_H

#include "ppopt/Driver/Compilation.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <memory>
#include <vector>

namespace mlir::pp {

class Workers {
public:
  /// How many jobs are worth waiting for together. It does not follow from the
  /// machine, so that a search finds the same everywhere.
  static constexpr size_t kCount = 4;

  using Job = std::function<void(Compilation &)>;

  /// Copies a compilation whose model has been parsed.
  explicit Workers(Compilation &compilation);
  ~Workers();

  /// Runs up to kCount jobs, each on a copy of its own, and waits for all.
  void run(llvm::ArrayRef<Job> jobs);

private:
  std::vector<std::unique_ptr<Compilation>> copies;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_WORKERS_H
