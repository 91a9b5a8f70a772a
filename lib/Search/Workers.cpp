//===- Workers.cpp - Compilations of one model beside each other ----------===//

#include "Workers.h"

#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/thread.h"

#include <atomic>

using namespace mlir;
using namespace mlir::pp;

/// Returns the model's only repeat, if all of its iterations are the same and
/// are more than three; null otherwise.
static RepeatOp findLayers(ModuleOp module) {
  RepeatOp found;
  bool isOnly = true;
  module.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      isOnly &= !found;
      found = repeat;
    }
    isOnly &= !isa<EachOp>(op);
  });
  return isOnly && found && found.getCount() > 3 ? found : RepeatOp();
}

/// Returns a copy of the model with so many layers.
static std::unique_ptr<Compilation> copyShallow(Compilation &compilation,
                                                int64_t layers) {
  std::unique_ptr<Compilation> copy = compilation.copyParsed();
  findLayers(copy->getModule()).setCount(layers);
  return copy;
}

Workers::Workers(Compilation &compilation) {
  RepeatOp layers = findLayers(compilation.getModule());
  for (size_t i = 0; i < kCount; ++i) {
    ModelCopies &made = copies.emplace_back();
    made.whole = compilation.copyParsed();
    if (!layers)
      continue;
    made.depth = layers.getCount();
    made.two = copyShallow(compilation, 2);
    made.three = copyShallow(compilation, 3);
  }
}

Workers::~Workers() = default;

void Workers::run(ArrayRef<Job> jobs) {
  std::atomic<size_t> next = 0;
  std::vector<llvm::thread> threads;
  for (ModelCopies &copy :
       llvm::MutableArrayRef(copies).take_front(std::min(jobs.size(), kCount)))
    threads.emplace_back(std::optional<unsigned>(kStackBytes), [&] {
      for (size_t job = next++; job < jobs.size(); job = next++)
        jobs[job](copy);
    });
  for (llvm::thread &thread : threads)
    thread.join();
}
