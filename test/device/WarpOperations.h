//===- WarpOperations.h - What lanes of a warp compute together -----------===//

#ifndef PPOPT_TEST_DEVICE_WARPOPERATIONS_H
#define PPOPT_TEST_DEVICE_WARPOPERATIONS_H

#include "Device.h"

namespace emulated {

// in: value, source operand, clamp; out: value, whether the source is in range.
extern const WarpOperation shuffleUp, shuffleDown, shuffleButterfly,
    shuffleIndex;
// in: predicate; out: predicate or ballot.
extern const WarpOperation voteAll, voteAny, voteUniform, voteBallot;
// Orders the lanes' accesses to memory.
extern const WarpOperation warpBarrier;
// in: 4 of A, 2 of B (two bf16 each), 4 of C (f32); out: 4 of D.
extern const WarpOperation mmaM16N8K16BF16;
// in: an address in shared memory; out: 1, 2 or 4 fragments.
extern const WarpOperation loadMatrix1, loadMatrix2, loadMatrix4,
    loadMatrix1Transposed, loadMatrix2Transposed, loadMatrix4Transposed;

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_WARPOPERATIONS_H
