//===- ImportGraph.h - Makes the ops of a graph's nodes -------------------===//

#ifndef PPOPT_LIB_IMPORT_IMPORTGRAPH_H
#define PPOPT_LIB_IMPORT_IMPORTGRAPH_H

#include "Emitter.h"
#include "RunningStatistics.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::pp::pt2 {

/// Walks the nodes in their order: those on constants are computed, of the
/// others ops are made.
class GraphImporter {
public:
  GraphImporter(const ExportedProgram &program,
                const RunningStatistics &statistics, Environment &environment,
                Emitter &emit, MLIRContext *context, llvm::StringRef path)
      : program(program), statistics(statistics), environment(environment),
        emit(emit), context(context), path(path) {}

  /// Makes what the outputs of these names depend on. Emits an error for each
  /// op that is not supported, not for the first alone.
  LogicalResult run(llvm::ArrayRef<std::string> outputs);
  const std::vector<std::string> &getNotes() const { return notes; }

private:
  bool readsMissing(const Node &node) const;
  LogicalResult checkCounters(const Node &node) const;
  LogicalResult importNodes(const Graph &graph);
  LogicalResult importNode(const Node &node, const Graph &graph);
  std::string findTypeThatModelsLack(const Node &node, OpCall &call) const;
  LogicalResult importNumber(const Node &node, OpCall &call);
  LogicalResult importInner(const Node &node);
  LogicalResult checkCall(const Node &node, const OpCall &call);
  LogicalResult addResults(const Node &node, OpCall &call,
                           std::vector<Value> values);
  LogicalResult addConstants(const Node &node, OpCall &call);
  /// Computes a node's results, which have a storage each.
  LogicalResult computeResults(const Node &node, const Graph &graph);

  // ImportMasks.cpp
  /// Whether the node selects by a boolean mask: then its result is made.
  FailureOr<bool> importSelection(const Node &node, const Graph &graph);
  LogicalResult importSelected(const Node &node, const Graph &graph);

  // ImportWrites.cpp
  /// Notes of which tensor the results of a node are views.
  void linkViews(const Node &node, const Graph &graph);
  /// After an op in place its first tensor's name stands for the result, and
  /// so do other views of the same elements.
  LogicalResult replaceInPlace(const Node &node);
  LogicalResult checkWritable(const Node &node, llvm::StringRef root) const;
  LogicalResult writeToBases(const Node &node,
                             llvm::ArrayRef<std::string> chain);
  LogicalResult writeToConstants(const Node &node,
                                 llvm::ArrayRef<std::string> chain);
  LogicalResult viewAgain(const Node &writer, llvm::StringRef name,
                          llvm::StringSet<> &current);
  void findNeeded(llvm::ArrayRef<std::string> outputs);
  void countReads(const Graph &graph);
  void noteEvaluationMode(const Graph &graph);
  Location locOf(const Node &node) const;
  InFlightDiagnostic error(const Node &node) const {
    return emitError(locOf(node)) << "'" << node.op << "' ";
  }

  const ExportedProgram &program;
  const RunningStatistics &statistics;
  Environment &environment;
  Emitter &emit;
  MLIRContext *context;
  llvm::StringRef path;
  std::vector<std::string> notes;
  /// Nodes of the outer graph that the outputs depend on.
  llvm::DenseSet<const Node *> needed;
  /// How often each name is read by nodes that are still to come.
  llvm::StringMap<int64_t> readsLeft;
  /// Results of nodes that are not supported: what reads them is passed over.
  llvm::StringSet<> missing;
  int64_t nextStorage = 1;
  /// Inside of a region without gradients.
  bool isWithoutGradients = false;
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_IMPORTGRAPH_H
