//===- ChooseShardings.h - --shard auto -------------------------*- C++ -*-===//

#ifndef PPOPT_SEARCH_CHOOSESHARDINGS_H
#define PPOPT_SEARCH_CHOOSESHARDINGS_H

#include "ppopt/Driver/Compilation.h"

namespace mlir::pp {

/// Returns the --shard with which the plan of a compilation is estimated to be
/// fastest, for a model that has been parsed. Fails, with an error, if tp can
/// cut nothing beside what the model annotates.
FailureOr<std::string> chooseShard(Compilation &compilation);

} // namespace mlir::pp

#endif // PPOPT_SEARCH_CHOOSESHARDINGS_H
