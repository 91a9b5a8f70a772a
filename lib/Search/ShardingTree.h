//===- ShardingTree.h - The ways to cut a model over tp ---------*- C++ -*-===//

#ifndef PPOPT_LIB_SEARCH_SHARDINGTREE_H
#define PPOPT_LIB_SEARCH_SHARDINGTREE_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::pp {

/// What --shard says: shardings, "[{}, {tp}]", by glob.
using ShardFlag = std::map<std::string, std::string>;

/// A parameter of a model.
struct NamedShape {
  std::string name;
  SmallVector<int64_t> shape;
};

/// What the propagation does with some cuts.
struct CutEffect {
  double work = 0;      ///< nanoseconds of ops, if a part takes its share
  double sent = 0;      ///< bytes of a rank, by reshards
  int64_t reshards = 0; ///< their number
  int64_t saved = 0;    ///< bytes of parameters that other ranks have
};

/// Cuts, and groups of which each adds one of its ways to them. Ops that one
/// group changes are changed by no other, so what groups add to a step adds up.
struct ShardingTree {
  ShardFlag shard; ///< all cuts of the way, but those that the model has
  CutEffect effect;
  std::vector<std::vector<ShardingTree>> groups;
};

/// Finds the ways to cut the parameters of a module in phase train, whose mesh
/// has no tp, over a tp of so many parts, beside what the model annotates with
/// it. Left out are ways that another one exceeds: it sends no more, by no more
/// reshards, and computes and keeps no more on a rank. `params` are all of the
/// model, of which the module may have some. Returns nothing if what the
/// model annotates can't be cut.
std::optional<ShardingTree> findShardings(ModuleOp module, int64_t parts,
                                          ArrayRef<NamedShape> params);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_SHARDINGTREE_H
