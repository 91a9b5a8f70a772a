//===- Workers.cpp - Compilations of one model beside each other ----------===//

#include "Workers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/thread.h"

using namespace mlir;
using namespace mlir::pp;

Workers::Workers(Compilation &compilation) {
  for (size_t i = 0; i < kCount; ++i)
    copies.push_back(compilation.copyParsed());
}

Workers::~Workers() = default;

void Workers::run(ArrayRef<Job> jobs) {
  assert(jobs.size() <= copies.size());
  std::vector<llvm::thread> threads;
  for (auto [job, copy] : llvm::zip(jobs, copies))
    threads.emplace_back(std::optional<unsigned>(kStackBytes),
                         [&job = job, &copy = *copy] { job(copy); });
  for (llvm::thread &thread : threads)
    thread.join();
}
