//===- RunningStatistics.cpp - Buffers that batch norms update ------------===//

#include "RunningStatistics.h"

#include "OpNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

static const Argument *findArgument(const Node &node, StringRef name) {
  for (const NamedArgument &argument : node.arguments)
    if (argument.name == name)
      return &argument.value;
  return nullptr;
}

/// Returns whether the node normalizes by a batch and updates statistics.
static bool updatesStatistics(const Node &node) {
  std::string op = canonicalName(node.op);
  const Argument *training = findArgument(node, "training");
  return StringRef(op).contains("batch_norm") && training &&
         training->kind == Argument::Kind::Bool && training->ints.front() != 0;
}

/// The buffers of norms, without those of which another op knows: it would see
/// the update, or make a second one.
static void findBuffers(const ExportedProgram &program,
                        RunningStatistics &found) {
  StringMap<int64_t> reads;
  for (const Node &node : program.graph.nodes)
    for (const NamedArgument &argument : node.arguments)
      for (const std::string &name : argument.value.names)
        ++reads[name];
  for (const Node &node : program.graph.nodes) {
    if (!updatesStatistics(node))
      continue;
    // The functional form returns them after what it saves.
    size_t result = 3;
    for (auto [name, reset] : {std::pair("running_mean", InitKind::Zeros),
                               std::pair("running_var", InitKind::Ones)}) {
      const Argument *buffer = findArgument(node, name);
      size_t updated = result++;
      if (!buffer || buffer->kind != Argument::Kind::Tensor ||
          reads.lookup(buffer->names.front()) != 1)
        continue;
      found.buffers[buffer->names.front()] = {
          reset, updated < node.results.size() ? node.results[updated] : ""};
    }
  }
}

static void findCounters(const ExportedProgram &program,
                         RunningStatistics &found) {
  llvm::StringSet<> counted;
  for (const InputSpec &input : program.inputs)
    if (input.kind == InputSpec::Kind::Buffer &&
        StringRef(input.name).ends_with("num_batches_tracked"))
      counted.insert(input.value);
  for (const Node &node : program.graph.nodes) {
    const Argument *number = findArgument(node, "self");
    if (canonicalName(node.op) != "aten.add.Tensor" || !number ||
        number->kind != Argument::Kind::Tensor ||
        !counted.contains(number->names.front()))
      continue;
    found.counters.insert(number->names.front());
    counted.insert_range(node.results);
    found.counters.insert_range(node.results);
  }
}

RunningStatistics pt2::findRunningStatistics(const ExportedProgram &program) {
  RunningStatistics found;
  findBuffers(program, found);
  findCounters(program, found);
  return found;
}
