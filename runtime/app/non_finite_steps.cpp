//===- non_finite_steps.cpp - Steps whose loss or gradient is not finite --===//

#include "app/non_finite_steps.h"

#include "base/error.h"
#include "executor/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

std::string describeOrigin(const Program &program, int64_t holder,
                           const NonFiniteFindings &found) {
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
  if (found.collective.isBad()) {
    const auto &collective = program.collectives[found.collective.index];
    facts.push_back(fmt::format(
        "its part of the {} of '{}' in {}, microbatch {}, is {} at element {}",
        geometry::nounOf(collective.op), collective.name,
        program.tasks[collective.task].name, found.microbatch,
        spellNonFinite(found.collective.at.value),
        found.collective.at.element));
  } else if (found.gradient.isBad()) {
    const auto &parameter = program.parameters[found.gradient.index];
    facts.push_back(fmt::format(
        "its first non-finite gradient is that of '{}', {}", parameter.name,
        describeNonFinite(found.gradient.at, parameter, program.plan, holder)));
  } else {
    facts.push_back("its gradients are finite");
  }
  if (!std::isfinite(found.loss))
    facts.push_back(
        fmt::format("the loss of its rows is {}", spellNonFinite(found.loss)));
  if (found.parameter.isBad()) {
    const auto &parameter = program.parameters[found.parameter.index];
    facts.push_back(fmt::format("parameter '{}' was {} before the step",
                                parameter.name,
                                describeNonFinite(found.parameter.at, parameter,
                                                  program.plan, holder)));
  }
  if (found.input.isBad()) {
    const auto &input = program.inputs[found.input.index];
    facts.push_back(
        fmt::format("input '{}' is {}", input.name,
                    describeNonFinite(found.input.at, input.shape,
                                      program.plan.rowsOfPart() *
                                          program.plan.batchPart(holder))));
  }
  return fmt::format("It began on {}: {}", describeHolder(program, holder),
                     fmt::join(facts, "; "));
}

/// Describes where a non-finite step began. `all` has the findings per holder:
/// per rank, or per place if one rank has all places.
std::string describeOrigin(const Program &program,
                           const std::vector<NonFiniteFindings> &all) {
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
  if (origin == all.end())
    return "The loss of each rank's rows and its gradients are finite: what is "
           "too large is their sum, or the sum of their squares";
  return describeOrigin(program, origin - all.begin(), *origin);
}

bool hasBadId(const std::vector<NonFiniteFindings> &all) {
  return std::any_of(all.begin(), all.end(), [](const NonFiniteFindings &each) {
    return each.hasBadId();
  });
}

} // namespace

/// Returns the findings of all ranks on rank 0.
std::vector<NonFiniteFindings>
NonFiniteSteps::gather(std::vector<NonFiniteFindings> held) {
  if (rank_.program.plan.ranks() == 1)
    return held;
  NonFiniteFindings mine = held.front();
  held.resize(rank_.program.plan.ranks());
  Messages(rank_).gather(&mine, sizeof mine, held.data());
  return held;
}

void NonFiniteSteps::look(int64_t batch, runtime::EvalResult &result) {
  if (rank_.program.checks.empty() || std::isfinite(result.loss) ||
      !result.skipped.empty())
    return;
  std::vector<NonFiniteFindings> all = gather(runtime::findBadIds(rank_));
  bool isSkipped = hasBadId(all);
  if (rank_.index == 0 && isSkipped) {
    result.skipped = describeOrigin(rank_.program, all);
    if (allowed_ == 0)
      throw runtime::Error(
          "evaluation, batch {}: {}. Look at the data and at how the model "
          "computes ids, or leave such batches out with --skip-nonfinite-steps",
          batch + 1, result.skipped);
  }
  if (rank_.program.plan.ranks() > 1)
    Messages(rank_).broadcast(&isSkipped, sizeof isSkipped); // or the error
  result.isBad = isSkipped;
  if (isSkipped && result.skipped.empty())
    result.skipped = "an id is out of range";
}

void NonFiniteSteps::look(int64_t step, const runtime::StepSettings &settings,
                          runtime::StepResult &result) {
  if (!result.isBad) {
    inARow_ = 0;
    return;
  }
  ++inARow_;
  std::vector<NonFiniteFindings> all =
      gather(runtime::findNonFinite(rank_, settings));
  bool goesOn = inARow_ <= allowed_;
  if (rank_.index == 0) {
    result.skipped += fmt::format(". {}", describeOrigin(rank_.program, all));
    if (!goesOn)
      throw runtime::Error(
          "step {}: {}. No parameter was updated{}", step + 1, result.skipped,
          allowed_ == 0 && hasBadId(all)
              ? ". Look at the data and at how the model computes ids, or "
                "leave such steps out with --skip-nonfinite-steps"
          : allowed_ == 0
              ? ". Lower --lr, clip with --clip, look at the data, or leave "
                "such steps out with --skip-nonfinite-steps"
              : fmt::format(" in {} steps in a row, more than "
                            "--skip-nonfinite-steps={} allows",
                            inARow_, allowed_));
  }
  if (rank_.program.plan.ranks() > 1)
    Messages(rank_).broadcast(&goesOn, sizeof goesOn); // or see the error
}

} // namespace ppopt::train
