//===- non_finite_step.cpp - Finds the origin of infinities and NaNs ------===//

#include "executor/non_finite_step.h"

#include "device/host_access.h"
#include "executor/executor.h"
#include "executor/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace ppopt::runtime {

namespace {

/// `exponent` is the mask of the bits that are all ones in non-finite values.
/// Scans blocks without branches, at memory bandwidth.
template <typename Bits, Bits exponent>
int64_t firstNonFinite(const char *data, int64_t elements) {
  auto *bits = reinterpret_cast<const Bits *>(data);
  constexpr int64_t block = 4096;
  for (int64_t begin = 0; begin < elements; begin += block) {
    int64_t end = std::min(begin + block, elements);
    Bits any = 0;
    for (int64_t i = begin; i < end; ++i)
      any |= (bits[i] & exponent) == exponent;
    if (any)
      return std::find_if(
                 bits + begin, bits + end,
                 [](Bits each) { return (each & exponent) == exponent; }) -
             bits;
  }
  return -1;
}

template <typename Number> double read(const char *data, int64_t element) {
  Number number;
  std::memcpy(&number, data + element * sizeof number, sizeof number);
  return double(number);
}

/// A bf16 is the upper half of a float.
double readHalf(const char *data, int64_t element) {
  uint16_t half;
  std::memcpy(&half, data + element * sizeof half, sizeof half);
  uint32_t bits = uint32_t{half} << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

/// Returns the first element in the rank's memory that is not finite.
std::optional<NonFiniteElement> find(const ppopt_rank &rank,
                                     device::DevicePointer data,
                                     int64_t elements, ElementType type) {
  std::optional<NonFiniteElement> found;
  int64_t size = byteSize(type);
  device::readPieces(
      *rank.device, rank.compute, data, elements * size,
      [&](const char *piece, int64_t offset, int64_t bytes) {
        if (!found && (found = findNonFiniteElement(piece, bytes / size, type)))
          found->element += offset / size;
      });
  return found;
}

/// Updates `first` if the tensor is not finite and has a smaller index. `begin`
/// is the index of the first element at `data`.
void look(const ppopt_rank &rank, NonFiniteFindings::Tensor &first,
          int64_t index, device::DevicePointer data, int64_t elements,
          ElementType type, int64_t begin = 0) {
  if (first.isBad() && first.index < index)
    return;
  if (std::optional<NonFiniteElement> bad = find(rank, data, elements, type))
    first = {index, {begin + bad->element, bad->value}};
}

/// The same of what the rank has of a parameter or of its gradient.
void look(const ppopt_rank &rank, NonFiniteFindings::Tensor &first,
          int64_t parameter, const PlaceMemory &memory,
          const schema::HeldElements &held, ElementType type) {
  look(rank, first, parameter, memory.at(held.address), held.count(), type,
       held.begin);
}

/// Skips what ranks or places add up, and everything after it.
class Search : public StepObserver {
public:
  explicit Search(const ppopt_rank &rank);

  bool leavesOut(const Action &action) override;
  void performed(const Action &action) override;
  // The sums of tasks spread to other ranks, too, but all ranks must run them.
  void collectiveStarts(const Action &run, const TaskCollective &collective,
                        device::DevicePointer own, int64_t elements) override {
    lookAtCollective(run, collective, own, elements, /*isReceived=*/false);
  }
  void collectiveEnded(const Action &run, const TaskCollective &collective,
                       device::DevicePointer result,
                       int64_t elements) override {
    lookAtCollective(run, collective, result, elements, /*isReceived=*/true);
  }

  std::vector<NonFiniteFindings> finish();

private:
  void lookAtTensors(const PlaceMemory &memory, NonFiniteFindings &found) const;
  void lookAtTransfer(const Action &start, bool isReceived);
  void lookAtCollective(const Action &run, const TaskCollective &collective,
                        device::DevicePointer data, int64_t elements,
                        bool isReceived);

  const ppopt_rank &rank;
  std::vector<NonFiniteFindings> byPlace;
  std::vector<const Action *> starts; ///< by operation, of this list
};

Search::Search(const ppopt_rank &rank)
    : rank(rank), byPlace(rank.places.memory.size()) {
  for (const Action &action : rank.places.actions)
    if (action.kind == ActionKind::start) {
      starts.resize(std::max(starts.size(), size_t(action.operation) + 1));
      starts[action.operation] = &action;
    }
}

bool Search::leavesOut(const Action &action) {
  // The tasks divide by the counts.
  auto isCount = [&](const Action &start) {
    const std::vector<schema::PlaceCount> &counts =
        rank.places.memoryOf(start.place).place.counts;
    return std::any_of(counts.begin(), counts.end(), [&](const auto &count) {
      return count.address.offset() == start.address.offset();
    });
  };
  auto gathersGradients = [&](const Action &moved) {
    const Transfer &transfer = rank.program.transfers[moved.transfer];
    return transfer.step && transfer.gradientOf;
  };
  switch (action.kind) {
  case ActionKind::run: {
    TaskKind kind = rank.program.tasks[action.task].kind;
    return kind == TaskKind::collect || kind == TaskKind::norm ||
           kind == TaskKind::decide || kind == TaskKind::update ||
           kind == TaskKind::commit;
  }
  case ActionKind::start:
    return isTransfer(action.op) ? gathersGradients(action) : !isCount(action);
  case ActionKind::wait:
    return leavesOut(*starts[action.operation]);
  case ActionKind::zero:
    return false;
  }
  return false;
}

void Search::performed(const Action &action) {
  if (action.kind == ActionKind::start && action.op == Operation::send) {
    lookAtTransfer(action, false);
  } else if (action.kind == ActionKind::wait) {
    const Action &start = *starts[action.operation];
    if (start.op == Operation::recv)
      lookAtTransfer(start, true);
  }
}

void Search::lookAtTransfer(const Action &start, bool isReceived) {
  NonFiniteFindings &found = byPlace[start.place];
  if (found.transfer.isBad() || found.collective.isBad())
    return;
  const Transfer &transfer = rank.program.transfers[start.transfer];
  std::optional<NonFiniteElement> bad =
      find(rank, rank.places.memoryOf(start.place).at(start.address),
           transfer.elements(), transfer.type);
  if (!bad)
    return;
  found.transfer = {start.transfer, *bad};
  found.isReceived = isReceived;
  found.microbatch = start.microbatch;
}

void Search::lookAtCollective(const Action &run,
                              const TaskCollective &collective,
                              device::DevicePointer data, int64_t elements,
                              bool isReceived) {
  NonFiniteFindings &found = byPlace[run.place];
  if (found.transfer.isBad() || found.collective.isBad())
    return;
  std::optional<NonFiniteElement> bad =
      find(rank, data, elements, collective.type);
  if (!bad)
    return;
  found.collective = {&collective - rank.program.collectives.data(), *bad};
  found.isReceived = isReceived;
  found.microbatch = run.microbatch;
}

/// Finds the first id that the tasks of a place stored.
void lookAtIds(const ppopt_rank &rank, const PlaceMemory &memory,
               NonFiniteFindings &found) {
  for (const PlaceCheck &held : memory.place.checks) {
    auto id = device::read<int64_t>(*rank.device, rank.compute,
                                    memory.at(held.address));
    if (id == 0)
      continue;
    found.check = held.check;
    found.id = id;
    return;
  }
}

void Search::lookAtTensors(const PlaceMemory &memory,
                           NonFiniteFindings &found) const {
  for (const schema::HeldParameter &held : memory.parameters) {
    const Parameter &parameter = rank.program.parameters[held.parameter];
    look(rank, found.parameter, held.parameter, memory, held.read,
         parameter.type);
    if (!held.gradient)
      continue;
    // What actions sum is not summed here; what tasks sum is.
    bool isSum =
        memory.place.find(held.parameter)->shards(schema::ShardOf::gradients);
    look(rank, isSum ? found.gradientSum : found.gradient, held.parameter,
         memory, *held.gradient, parameter.gradientType);
  }
  for (const PlaceInput &held : memory.place.inputs) {
    const schema::Input &input = rank.program.inputs[held.input];
    look(rank, found.input, held.input, memory.at(held.address),
         input.bytesOf(rank.program.plan) / byteSize(input.type), input.type);
  }
  if (auto bad =
          find(rank, memory.at(memory.place.loss), 1, rank.program.lossType))
    found.loss = bad->value;
}

std::vector<NonFiniteFindings> Search::finish() {
  std::vector<NonFiniteFindings> held;
  for (const std::unique_ptr<PlaceMemory> &memory : rank.places.memory)
    if (memory) {
      lookAtIds(rank, *memory, byPlace[memory->place.place]);
      lookAtTensors(*memory, byPlace[memory->place.place]);
      held.push_back(byPlace[memory->place.place]);
    }
  return held;
}

} // namespace

const char *spellNonFinite(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::optional<NonFiniteElement>
findNonFiniteElement(const char *data, int64_t elements, ElementType type) {
  auto found = [&](int64_t element,
                   auto read) -> std::optional<NonFiniteElement> {
    if (element < 0)
      return std::nullopt;
    return NonFiniteElement{element, read(data, element)};
  };
  switch (type) {
  case ElementType::f32:
    return found(firstNonFinite<uint32_t, 0x7f800000>(data, elements),
                 read<float>);
  case ElementType::f64:
    return found(firstNonFinite<uint64_t, 0x7ff0000000000000>(data, elements),
                 read<double>);
  case ElementType::bf16:
    return found(firstNonFinite<uint16_t, 0x7f80>(data, elements), readHalf);
  case ElementType::i32:
  case ElementType::i64:
  case ElementType::i1:
    break;
  }
  return std::nullopt;
}

std::string describeNonFinite(const NonFiniteElement &bad,
                              const std::vector<int64_t> &shape,
                              int64_t firstRow) {
  std::vector<int64_t> index(shape.size());
  int64_t rest = bad.element;
  for (size_t i = shape.size(); i-- > 1; rest /= shape[i])
    index[i] = rest % shape[i];
  if (shape.empty())
    return spellNonFinite(bad.value);
  index[0] = rest + firstRow;
  return fmt::format("{} at [{}]", spellNonFinite(bad.value),
                     fmt::join(index, ", "));
}

std::string describeNonFinite(const NonFiniteElement &bad,
                              const Parameter &parameter, const Plan &plan,
                              int64_t rank) {
  geometry::Tile tile = schema::tileOf(parameter, plan, rank);
  std::string text = describeNonFinite(
      {tile.globalIndex(bad.element), bad.value}, parameter.globalShape());
  if (parameter.tile)
    text += fmt::format(" (the tile of {})",
                        schema::describeTile(parameter, plan, rank));
  return text;
}

NonFiniteFindings::Tensor findNonFiniteParameter(const ppopt_rank &rank) {
  NonFiniteFindings::Tensor first;
  for (const std::unique_ptr<PlaceMemory> &memory : rank.places.memory)
    if (memory)
      for (const schema::HeldParameter &held : memory->parameters)
        if (held.gradient)
          look(rank, first, held.parameter, *memory, held.value,
               rank.program.parameters[held.parameter].type);
  return first;
}

std::vector<NonFiniteFindings> findBadIds(const ppopt_rank &rank) {
  std::vector<NonFiniteFindings> held;
  for (const std::unique_ptr<PlaceMemory> &memory : rank.places.memory)
    if (memory)
      lookAtIds(rank, *memory, held.emplace_back());
  return held;
}

std::string describeBadId(const Program &program,
                          const NonFiniteFindings &found) {
  const IdRange &range = program.checks[found.check];
  return fmt::format(
      "id {} is out of range, 0 to {}{} ({})", found.id, range.size - 1,
      range.ignored ? fmt::format(" or {}", *range.ignored) : "", range.source);
}

std::vector<NonFiniteFindings> findNonFinite(ppopt_rank &rank,
                                             const StepSettings &settings) {
  Search search(rank);
  replayStep(rank, settings, search);
  return search.finish();
}

} // namespace ppopt::runtime
