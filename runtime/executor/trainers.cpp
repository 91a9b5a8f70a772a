//===- trainers.cpp - Which ranks are which trainer -----------------------===//

#include "executor/trainers.h"

#include <algorithm>

namespace ppopt::runtime {

int64_t trainerOf(const schema::Plan &plan, int64_t rank) {
  return plan.coordinate(rank, geometry::batchAxis);
}

std::vector<int> membersOf(const schema::Plan &plan, int64_t trainer) {
  std::vector<int> ranks;
  for (int64_t rank = 0; rank < plan.ranks(); ++rank)
    if (trainerOf(plan, rank) == trainer)
      ranks.push_back(int(rank));
  return ranks;
}

std::vector<int> membersLike(const schema::Plan &plan, int64_t rank) {
  std::vector<int> own = membersOf(plan, trainerOf(plan, rank)), ranks;
  auto number = std::find(own.begin(), own.end(), int(rank)) - own.begin();
  for (int64_t trainer = 0; trainer < schema::trainersOf(plan); ++trainer)
    ranks.push_back(membersOf(plan, trainer)[size_t(number)]);
  return ranks;
}

asynchronous::Shape shapeOf(const schema::Program &program) {
  const schema::Plan &plan = program.plan;
  asynchronous::Shape shape;
  shape.trainers = int(schema::trainersOf(plan));
  shape.members = int(plan.ranks() / schema::trainersOf(plan));
  if (plan.sync == schema::Sync::stale)
    shape.bound = plan.bound;
  for (int rank : ranksOf(plan))
    shape.buckets.push_back(int(program.placeOf(rank).owned->buckets.size()));
  return shape;
}

std::vector<int> ranksOf(const schema::Plan &plan) {
  std::vector<int> ranks;
  for (int64_t trainer = 0; trainer < schema::trainersOf(plan); ++trainer)
    for (int rank : membersOf(plan, trainer))
      ranks.push_back(rank);
  return ranks;
}

} // namespace ppopt::runtime
