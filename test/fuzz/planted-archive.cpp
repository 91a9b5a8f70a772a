//===- planted-archive.cpp - A bug that only changed archives reach -------===//
//
// Ends the process where a node of an archive, whose checksums are right, has
// an integer that no seed has.
//
//===----------------------------------------------------------------------===//

#include "ExportedProgram.h"
#include "input_file.h"
#include "mutate_archive.h"
#include "mutator.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::pp::pt2;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  InputFile file(data, size);
  auto archive = Archive::open(file.path());
  if (!archive)
    return llvm::consumeError(archive.takeError()), 0;
  auto program = readProgram(**archive);
  if (!program)
    return llvm::consumeError(program.takeError()), 0;
  for (const Node &node : program->graph.nodes)
    for (const NamedArgument &argument : node.arguments)
      if (argument.value.kind == Argument::Kind::Int &&
          argument.value.ints.front() == INT32_MIN) {
        llvm::errs() << "the planted bug of an archive\n";
        std::abort();
      }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateText(data, size, most, seed, [&](std::string_view bytes) {
    return fuzz::mutateArchive(bytes, seed);
  });
}
