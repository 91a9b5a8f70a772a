//===- explore.cpp - Every order of events --------------------------------===//

#include "explore.h"

#include "state_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace ppopt::asynchronous::test {

namespace {

using Bytes = std::vector<uint8_t>;

/// How a state was found.
struct Origin {
  uint32_t parent; ///< in the level before
  uint16_t event;  ///< in the parent's list
};

/// Different states, as bytes.
class Level {
public:
  size_t size() const { return ends.size(); }
  const uint8_t *state(size_t index) const {
    return bytes.data() + (index == 0 ? 0 : ends[index - 1]);
  }

  /// Returns whether the state is new.
  bool insert(std::string_view state) {
    if (2 * (size() + 1) > table.size())
      grow();
    uint64_t hash = hashOf(state);
    for (size_t slot = hash & (table.size() - 1);;
         slot = (slot + 1) & (table.size() - 1)) {
      uint32_t entry = table[slot];
      if (entry == empty) {
        table[slot] = static_cast<uint32_t>(size());
        bytes.insert(bytes.end(), state.begin(), state.end());
        ends.push_back(bytes.size());
        hashes.push_back(hash);
        return true;
      }
      if (hashes[entry] == hash && view(entry) == state)
        return false;
    }
  }

  void clear() {
    bytes.clear();
    ends.clear();
    hashes.clear();
    std::fill(table.begin(), table.end(), empty);
  }

private:
  static constexpr uint32_t empty = ~uint32_t(0);

  std::string_view view(size_t index) const {
    const uint8_t *begin = state(index);
    return {reinterpret_cast<const char *>(begin),
            static_cast<size_t>(bytes.data() + ends[index] - begin)};
  }
  static uint64_t hashOf(std::string_view state) {
    uint64_t hash = 0x9e3779b97f4a7c15;
    size_t i = 0;
    auto mix = [&](uint64_t word) {
      hash = (hash ^ word) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    };
    for (; i + 8 <= state.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, state.data() + i, 8);
      mix(word);
    }
    for (; i < state.size(); ++i)
      mix(state[i]);
    return hash;
  }
  void grow() {
    table.assign(std::max<size_t>(1024, 2 * table.size()), empty);
    for (size_t i = 0; i < size(); ++i) {
      size_t slot = hashes[i] & (table.size() - 1);
      while (table[slot] != empty)
        slot = (slot + 1) & (table.size() - 1);
      table[slot] = static_cast<uint32_t>(i);
    }
  }

  Bytes bytes;
  std::vector<size_t> ends;
  std::vector<uint64_t> hashes;
  std::vector<uint32_t> table;
};

class Explorer {
public:
  Explorer(const Scenario &scenario, const Mistake &mistake, size_t most,
           Orders orders, const ReplayLog *repeated)
      : scenario(scenario), mistake(mistake), most(most), orders(orders),
        repeated(repeated), system(scenario, mistake, repeated) {}

  Exploration run() {
    now.insert(save());
    while (now.size() > 0 && result.violation.empty()) {
      result.states += now.size();
      if (result.states > most)
        return std::move(result);
      origins.emplace_back();
      for (size_t state = 0; state < now.size() && result.violation.empty();
           ++state)
        expand(static_cast<uint32_t>(state));
      std::swap(now, next);
      next.clear();
      ++result.levels;
    }
    --result.levels;
    result.isWhole = result.violation.empty();
    return std::move(result);
  }

private:
  std::string_view save() {
    StateWriter writer(bytes);
    System::visitState(writer, static_cast<const System &>(system));
    return {reinterpret_cast<const char *>(bytes), writer.size()};
  }
  void load(size_t state) {
    StateReader reader(now.state(state));
    System::visitState(reader, system);
  }

  void expand(uint32_t state) {
    load(state);
    system.listEvents(events);
    if (orders == Orders::Fewer)
      keepAnswer();
    if (events.empty()) {
      ++result.ends;
      check(state, 0, [&] { system.expectOver(); });
      return;
    }
    for (size_t event = 0; event < events.size(); ++event) {
      if (event > 0)
        load(state);
      if (!check(state, event, [&] { system.perform(events[event]); }))
        return;
      ++result.transitions;
      if (next.insert(save()))
        origins.back().push_back({state, static_cast<uint16_t>(event)});
    }
  }

  /// If an answer can arrive, keeps only this event.
  void keepAnswer() {
    for (const Event &event : events)
      if (event.kind == Event::Kind::Arrive && event.link == Link::FromOwner) {
        Event only = event;
        events.assign(1, only);
        return;
      }
  }

  template <typename Do>
  bool check(uint32_t state, size_t event, const Do &act) {
    try {
      act();
      return true;
    } catch (const Violation &violation) {
      result.violation = violation.what();
    } catch (const std::exception &error) {
      result.violation = error.what();
    }
    describe(state, event);
    return false;
  }

  /// Writes the run to a state, and the event after it.
  void describe(uint32_t state, size_t last) {
    std::vector<size_t> path;
    if (!events.empty())
      path.push_back(last);
    for (size_t level = origins.size() - 1; level > 0; --level) {
      Origin origin = origins[level - 1][state];
      path.push_back(origin.event);
      state = origin.parent;
    }
    System again(scenario, mistake, repeated);
    for (size_t i = path.size(); i-- > 0;) {
      again.listEvents(events);
      if (orders == Orders::Fewer)
        keepAnswer();
      Event event = events[path[i]];
      result.trace.push_back(again.describe(event));
      if (i > 0)
        again.perform(event);
    }
  }

  const Scenario &scenario;
  const Mistake &mistake;
  const size_t most;
  const Orders orders;
  const ReplayLog *const repeated;
  System system;
  std::vector<Event> events;
  uint8_t bytes[mostStateBytes];
  Level now, next;
  std::vector<std::vector<Origin>> origins; ///< of the states after each level
  Exploration result;
};

} // namespace

Exploration explore(const Scenario &scenario, const Mistake &mistake,
                    size_t most, Orders orders, const ReplayLog *repeated) {
  return Explorer(scenario, mistake, most, orders, repeated).run();
}

} // namespace ppopt::asynchronous::test
