//===- walk.cpp - One random order of events ------------------------------===//

#include "walk.h"

#include <random>

namespace ppopt::asynchronous::test {

std::string walk(const Scenario &scenario, const Mistake &mistake,
                 uint64_t seed, const ReplayLog *repeated, bool blind) {
  std::mt19937_64 random(seed);
  // A rate of 1 to 1/64.
  auto drawRate = [&] { return 1.0 / (1 << random() % 7); };
  std::vector<double> ranks, kinds;
  for (int rank = 0; rank < scenario.shape.ranks(); ++rank)
    ranks.push_back(drawRate());
  for (int kind = 0; kind <= int(Event::Kind::Signal); ++kind)
    kinds.push_back(drawRate());

  RunRecord record(scenario.shape);
  System system(scenario, mistake, repeated, &record);
  if (blind)
    system.shutEyes();
  std::vector<Event> events;
  std::vector<double> rates;
  while (true) {
    system.listEvents(events);
    if (events.empty())
      break;
    rates.clear();
    for (const Event &event : events) {
      int rank = event.kind == Event::Kind::Leave ? event.from : event.to;
      rates.push_back(ranks[rank] * kinds[int(event.kind)]);
    }
    std::discrete_distribution<size_t> choose(rates.begin(), rates.end());
    system.perform(events[choose(random)]);
  }
  system.expectOver();
  return record.text();
}

} // namespace ppopt::asynchronous::test
