//===- trainers.h - Which ranks are which trainer -------------------------===//
//
// With asynchronous training each coordinate on the batch's axis is a trainer,
// and its ranks are the members, numbered in the order of ranks. Member i of a
// trainer exchanges data with the members i of the others.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_TRAINERS_H
#define PPOPT_RUNTIME_EXECUTOR_TRAINERS_H

#include "asynchronous/shape.h"
#include "schema/program.h"

#include <cstdint>
#include <vector>

namespace ppopt::runtime {

int64_t trainerOf(const schema::Plan &plan, int64_t rank);

/// Returns the ranks of a trainer, in order.
std::vector<int> membersOf(const schema::Plan &plan, int64_t trainer);

/// Returns, by trainer, the members that have the number of `rank`.
std::vector<int> membersLike(const schema::Plan &plan, int64_t rank);

/// Returns the trainers and their buckets, as the state machines see them.
asynchronous::Shape shapeOf(const schema::Program &program);

/// Returns the rank of each rank that the shape numbers.
std::vector<int> ranksOf(const schema::Plan &plan);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_TRAINERS_H
