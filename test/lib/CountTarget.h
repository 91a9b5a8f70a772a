//===- CountTarget.h - A target that counts kernels -----------------------===//

#ifndef PPOPT_TEST_LIB_COUNTTARGET_H
#define PPOPT_TEST_LIB_COUNTTARGET_H

#include "ppopt/Codegen/Target.h"

namespace mlir::pp {

/// Creates the target `count`: a kernel has few large tiles, a matmul needs no
/// workspace, and an "executable" is a listing of the program's kernels.
std::unique_ptr<Target> createCountTarget();

} // namespace mlir::pp

#endif // PPOPT_TEST_LIB_COUNTTARGET_H
