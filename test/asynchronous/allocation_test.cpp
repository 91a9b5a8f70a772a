//===- allocation_test.cpp - Machines allocate nothing --------------------===//

#include "asynchronous/rank_machines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

namespace {

size_t allocations = 0;

} // namespace

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace ppopt::asynchronous;

namespace {

/// Delivers messages in one fixed order, in memory that it has from the start.
class Job {
public:
  explicit Job(const Shape &shape) : shape(shape) {
    machines.reserve(shape.ranks()); // copies have no reserves
    for (int rank = 0; rank < shape.ranks(); ++rank)
      machines.emplace_back(shape, rank);
    flights.reserve(100000);
    computing.resize(shape.ranks());
  }

  void runRound(int64_t end) {
    agreed = 0;
    for (int rank = 0; rank < shape.ranks(); ++rank)
      perform(rank, machines[rank].beginRound(end));
    while (agreed < shape.ranks()) {
      bool moved = deliver();
      for (int rank = 0; rank < shape.ranks() && !moved; ++rank)
        if (computing[rank]) {
          computing[rank] = false;
          perform(rank, machines[rank].computed(++steps % 5 != 0));
          moved = true;
        }
      ASSERT_TRUE(moved);
    }
  }

private:
  struct Flight {
    Link link;
    int from, to;
    Message message;
  };

  bool deliver() {
    for (size_t i = 0; i < flights.size(); ++i) {
      Flight flight = flights[i];
      bool isRank =
          flight.link == Link::ToMaster || flight.link == Link::FromMaster;
      int peer = isRank ? flight.from : shape.trainerOf(flight.from);
      if (!machines[flight.to].accepts(flight.link, peer))
        continue;
      flights.erase(flights.begin() + i);
      perform(flight.to,
              machines[flight.to].receive(flight.link, peer, flight.message));
      if (flight.link == Link::FromOwner)
        perform(flight.from, machines[flight.from].sent(
                                 shape.trainerOf(flight.to), flight.message));
      return true;
    }
    return false;
  }

  void perform(int rank, const Actions &actions) {
    for (const Action &action : actions) {
      bool isRank =
          action.link == Link::ToMaster || action.link == Link::FromMaster;
      if (action.kind == Action::Kind::Send)
        flights.push_back(
            {action.link, rank,
             isRank ? action.peer
                    : shape.rankOf(action.peer, shape.memberOf(rank)),
             action.message});
      computing[rank] |= action.kind == Action::Kind::Compute;
      agreed += action.kind == Action::Kind::Agree;
    }
  }

  const Shape shape;
  std::vector<RankMachines> machines;
  std::vector<Flight> flights;
  std::vector<char> computing;
  int agreed = 0;
  int64_t steps = 0;
};

TEST(Allocation, RoundsAllocateNothing) {
  for (const Shape &shape : {Shape{1, 1, {}, {3}}, Shape{3, 1, 1, {2, 0, 5}},
                             Shape{4, 2, {}, {9, 9, 9, 9, 9, 9, 9, 9}},
                             Shape{2, 3, 0, {1, 2, 3, 4, 5, 6}}}) {
    Job job(shape);
    size_t before = allocations;
    for (int64_t end = 1; end <= 5; ++end)
      job.runRound(end * 60);
    EXPECT_EQ(allocations, before) << shape.trainers << " trainers";
  }
}

} // namespace
