//===- non_finite_steps.cpp - Steps whose loss or gradient is not finite --===//

#include "app/non_finite_steps.h"

#include "base/error.h"
#include "data/sample_inputs.h"
#include "executor/messages.h"
#include "executor/trainers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::train {
namespace {

using runtime::NonFiniteElement;
using runtime::NonFiniteFindings;
using runtime::Program;
using runtime::spellNonFinite;

/// Returns "rank 1 (dp 1, pp 0)", or "place 1" if one rank has all places.
std::string describeHolder(const Program &program, int64_t holder) {
  if (program.local)
    return fmt::format("place {}", holder);
  std::vector<std::string> coordinates;
  for (const runtime::MeshAxis &axis : program.plan.mesh)
    if (axis.size > 1)
      coordinates.push_back(fmt::format(
          "{} {}", axis.name, program.plan.coordinate(holder, axis.name)));
  return fmt::format("rank {}{}", holder,
                     coordinates.empty()
                         ? ""
                         : fmt::format(" ({})", fmt::join(coordinates, ", ")));
}

using Findings = std::vector<NonFiniteFindings>; ///< by holder

/// Returns the rank of the mesh that a holder is.
int64_t meshRankOf(const Program &program, int64_t holder) {
  return schema::meshRankOn(/*place=*/holder, program.plan, /*rank=*/holder);
}

/// What `holder` found in its part of a parameter or of a gradient.
struct Found {
  int64_t holder;
  const NonFiniteFindings::Tensor *tensor;
  std::vector<int64_t> sharers; ///< the holders that together have all of it
};

/// Returns the first in the program's order of what holders found as `which`,
/// a kind of `tensors`. With `user`, only among those whose sharer it is.
std::optional<Found>
findFirst(const Program &program, const Findings &all,
          NonFiniteFindings::Tensor NonFiniteFindings::*which,
          schema::ShardOf tensors, std::optional<int64_t> user) {
  geometry::Mesh mesh = program.plan.getMesh();
  std::optional<Found> first;
  for (size_t holder = 0; holder < all.size(); ++holder) {
    const NonFiniteFindings::Tensor &tensor = all[holder].*which;
    if (!tensor.isBad() || (first && first->tensor->index <= tensor.index))
      continue;
    int64_t rank = meshRankOf(program, int64_t(holder));
    const runtime::Place &place = program.places[mesh.placeOf(rank)];
    Found found{int64_t(holder), &tensor, {}};
    for (int member :
         mesh.members(place.find(tensor.index)->holders(tensors), rank).ranks)
      found.sharers.push_back(program.local ? mesh.placeOf(member) : member);
    if (!user ||
        std::count(found.sharers.begin(), found.sharers.end(), *user) > 0)
      first = std::move(found);
  }
  return first;
}

/// Returns "inf at [5, 17]", an index of the whole parameter.
std::string describeElement(const Program &program, const Found &found) {
  return describeNonFinite(found.tensor->at,
                           program.parameters[found.tensor->index],
                           program.plan, meshRankOf(program, found.holder));
}

std::string describeGradientSum(const Program &program, const Found &sum) {
  return fmt::format(
      "the first non-finite gradient is that of '{}', {}, summed over {}s {}",
      program.parameters[sum.tensor->index].name, describeElement(program, sum),
      program.local ? "place" : "rank", fmt::join(sum.sharers, ", "));
}

/// Returns an empty text if all gradients that the holder has a part in are
/// finite.
std::string describeGradient(const Program &program, const Findings &all,
                             int64_t holder) {
  if (const NonFiniteFindings::Tensor &own = all[holder].gradient; own.isBad())
    return fmt::format("its first non-finite gradient is that of '{}', {}",
                       program.parameters[own.index].name,
                       describeElement(program, {holder, &own, {}}));
  if (auto sum = findFirst(program, all, &NonFiniteFindings::gradientSum,
                           schema::ShardOf::gradients, holder))
    return describeGradientSum(program, *sum);
  return "";
}

/// Describes a parameter that was non-finite before the step, in the part of
/// whichever rank.
std::string describeParameter(const Program &program, const Found &found,
                              int64_t holder) {
  std::string text = fmt::format("parameter '{}' was {} before the step",
                                 program.parameters[found.tensor->index].name,
                                 describeElement(program, found));
  if (found.holder != holder)
    text += ", in the part of " + describeHolder(program, found.holder);
  return text;
}

std::string describeCollective(const Program &program,
                               const NonFiniteFindings &found) {
  const auto &collective = program.collectives[found.collective.index];
  return fmt::format(
      "its part of the {} of '{}' in {}, microbatch {}, is {} at element {}",
      geometry::nounOf(collective.op), collective.name,
      program.tasks[collective.task].name, found.microbatch,
      spellNonFinite(found.collective.at.value), found.collective.at.element);
}

/// The samples of a step.
struct StepSamples {
  const Sampler *sampler = nullptr; ///< null: not known
  int64_t step = 0;
  /// The part of the batch that a trainer has; none: that of the coordinate.
  std::optional<int64_t> part;
};

/// Returns "input 'x' is nan at [5, 3], row 17 of b.safetensors"; the index is
/// of the global batch.
std::string describeInput(const Program &program,
                          const NonFiniteFindings::Tensor &found,
                          const StepSamples &samples, int64_t holder) {
  const runtime::Plan &plan = program.plan;
  const runtime::Input &input = program.inputs[found.index];
  int64_t held = found.at.element / rowElements(input);
  int64_t row =
      plan.rowOfBatch(samples.part.value_or(plan.batchPart(holder)), held);
  std::string text =
      fmt::format("input '{}' is {}", input.name,
                  describeNonFinite(found.at, input.shape, row - held));
  if (samples.sampler)
    text += ", " + samples.sampler->locate(samples.step, row);
  return text;
}

std::string describeOrigin(const Program &program, const Findings &all,
                           const StepSamples &samples, int64_t holder) {
  const NonFiniteFindings &found = all[holder];
  std::vector<std::string> facts;
  if (found.hasBadId())
    return fmt::format("It began on {}: {}", describeHolder(program, holder),
                       describeBadId(program, found));
  if (found.transfer.isBad()) {
    const auto &transfer = program.transfers[found.transfer.index];
    facts.push_back(fmt::format("it sends {} to place {} in {} of microbatch "
                                "{}",
                                spellNonFinite(found.transfer.at.value),
                                transfer.to, transfer.name, found.microbatch));
  }
  if (found.collective.isBad())
    facts.push_back(describeCollective(program, found));
  // A bucket is no name that anybody knows: this names the parameter.
  if (std::string gradient = describeGradient(program, all, holder);
      !gradient.empty())
    facts.push_back(std::move(gradient));
  else if (!found.collective.isBad())
    facts.push_back("its gradients are finite");
  if (!std::isfinite(found.loss))
    facts.push_back(
        fmt::format("the loss of its rows is {}", spellNonFinite(found.loss)));
  if (auto parameter = findFirst(program, all, &NonFiniteFindings::parameter,
                                 schema::ShardOf::parameters, holder))
    facts.push_back(describeParameter(program, *parameter, holder));
  if (found.input.isBad())
    facts.push_back(describeInput(program, found.input, samples, holder));
  return fmt::format("It began on {}: {}", describeHolder(program, holder),
                     fmt::join(facts, "; "));
}

/// Describes where a non-finite step began. `all` has the findings per holder:
/// per rank, or per place if one rank has all places.
std::string describeOrigin(const Program &program, const Findings &all,
                           const StepSamples &samples = {}) {
  // An id that is out of range may make other numbers non-finite too.
  auto origin =
      std::find_if(all.begin(), all.end(), [](const NonFiniteFindings &each) {
        return each.hasBadId();
      });
  if (origin == all.end())
    origin =
        std::find_if(all.begin(), all.end(), [](const NonFiniteFindings &each) {
          return each.isOrigin();
        });
  if (origin != all.end())
    return describeOrigin(program, all, samples, origin - all.begin());
  if (auto sum = findFirst(program, all, &NonFiniteFindings::gradientSum,
                           schema::ShardOf::gradients, std::nullopt))
    return "The loss of each rank's rows is finite; " +
           describeGradientSum(program, *sum);
  return "The loss of each rank's rows and its gradients are finite: what is "
         "too large is their sum, or the sum of their squares";
}

bool hasBadId(const std::vector<NonFiniteFindings> &all) {
  return std::any_of(all.begin(), all.end(), [](const NonFiniteFindings &each) {
    return each.hasBadId();
  });
}

/// Returns what to do about a step. Until something was updated, no learning
/// rate is to blame.
std::string advise(const Findings &all, const runtime::StepResult &result,
                   bool hasUpdated) {
  auto any = [&](NonFiniteFindings::Tensor NonFiniteFindings::*which) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto &each) { return (each.*which).isBad(); });
  };
  constexpr const char *formulas =
      "ops that are not finite, or whose gradient is not, for some values (a "
      "division by 0, the gradient of pp.sqrt at 0)";
  if (hasBadId(all))
    return "Look at the data and at how the model computes ids";
  if (any(&NonFiniteFindings::input))
    return "Look at the data";
  if (!hasUpdated && any(&NonFiniteFindings::parameter))
    return "Look at the initial values";
  if (!hasUpdated)
    return fmt::format("Nothing was updated before: look at the initial "
                       "values, the data, and {}",
                       formulas);
  if (std::isfinite(result.loss))
    return fmt::format("Lower --lr, clip with --clip, or look at {}", formulas);
  return "Lower --lr, clip with --clip, look at the data";
}

} // namespace

NonFiniteSteps::NonFiniteSteps(ppopt_rank &rank, int64_t allowed,
                               const Sampler *sampler)
    : rank_(rank), sampler_(sampler), all_(size_t(rank.program.plan.ranks())),
      allowed_(allowed) {
  std::iota(all_.begin(), all_.end(), 0);
  const runtime::Plan &plan = rank.program.plan;
  inStep_ = plan.isAsynchronous()
                ? runtime::membersOf(plan, runtime::trainerOf(plan, rank.index))
                : all_;
}

/// Returns the findings of some ranks on the first of them, by rank.
std::vector<NonFiniteFindings>
NonFiniteSteps::gather(std::vector<NonFiniteFindings> held,
                       const std::vector<int> &among) const {
  if (all_.size() == 1)
    return held;
  std::vector<NonFiniteFindings> own(among.size());
  Messages(rank_).gather(&held.front(), sizeof(NonFiniteFindings), own.data(),
                         among);
  held.assign(all_.size(), {});
  for (size_t i = 0; i < among.size(); ++i)
    held[size_t(among[i])] = own[i];
  return held;
}

void NonFiniteSteps::look(const std::string &what,
                          runtime::EvalResult &result) {
  if (rank_.program.checks.empty() || std::isfinite(result.loss) ||
      !result.skipped.empty())
    return;
  std::vector<NonFiniteFindings> all = gather(runtime::findBadIds(rank_), all_);
  bool isSkipped = hasBadId(all);
  if (rank_.index == 0 && isSkipped) {
    result.skipped = describeOrigin(rank_.program, all);
    if (allowed_ == 0)
      throw runtime::Error(
          "{}: {}. Look at the data and at how the model computes ids, or "
          "leave such batches out with --skip-nonfinite-steps",
          what, result.skipped);
  }
  if (rank_.program.plan.ranks() > 1)
    Messages(rank_).broadcast(&isSkipped, sizeof isSkipped); // or the error
  result.isBad = isSkipped;
  if (isSkipped && result.skipped.empty())
    result.skipped = "an id is out of range";
}

void NonFiniteSteps::lookAtIds(const std::string &rows) const {
  if (rank_.program.checks.empty())
    return;
  // There is no loss that all ranks would see.
  std::vector<NonFiniteFindings> all = gather(runtime::findBadIds(rank_), all_);
  if (rank_.index == 0 && hasBadId(all))
    throw runtime::Error("--predict, rows {}: {}. Look at the data and at how "
                         "the model computes ids",
                         rows, describeOrigin(rank_.program, all));
}

void NonFiniteSteps::look(int64_t step, const runtime::StepSettings &settings,
                          runtime::StepResult &result) {
  if (!result.isBad) {
    inARow_ = 0;
    return;
  }
  ++inARow_;
  std::vector<NonFiniteFindings> all =
      gather(runtime::findNonFinite(rank_, settings), inStep_);
  bool goesOn = inARow_ <= allowed_;
  bool hasUpdated = settings.updates > 0 || rank_.program.plan.isAsynchronous();
  if (rank_.index == inStep_.front()) {
    StepSamples samples{sampler_, step, std::nullopt};
    if (const runtime::Plan &plan = rank_.program.plan; plan.isAsynchronous())
      samples.part = settings.updates % plan.batchParts(); // of the ticket
    result.skipped +=
        fmt::format(". {}", describeOrigin(rank_.program, all, samples));
    if (!goesOn)
      throw runtime::Error(
          "step {}: {}. No parameter was updated{}", step + 1, result.skipped,
          allowed_ == 0
              ? fmt::format(
                    ". {}, or leave such steps out with --skip-nonfinite-steps",
                    advise(all, result, hasUpdated))
              : fmt::format(" in {} steps in a row, more than "
                            "--skip-nonfinite-steps={} allows",
                            inARow_, allowed_));
  }
  if (inStep_.size() > 1)
    Messages(rank_).broadcast(&goesOn, sizeof goesOn, inStep_); // or the error
}

} // namespace ppopt::train
