//===- describe.cpp - Prints a program for people -------------------------===//

#include "observe/describe.h"

#include "options/launch_command.h"
#include "ppopt/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace ppopt::train {
namespace {

using runtime::Program;

std::string describeParameters(const Program &program) {
  int64_t elements = 0, learning = 0;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    elements += program.parameters[i].globalElements();
    if (program.learns(i))
      learning += program.parameters[i].globalElements();
  }
  std::string text =
      fmt::format("{} in {} tensors", elements, program.parameters.size());
  if (learning != elements)
    text += fmt::format(", {} of them updated", learning);
  return text;
}

/// Returns "states over dp: 1/2 per rank, of 4 tensors"; empty if no rank has a
/// shard.
std::string describeShards(const Program &program) {
  constexpr const char *kSharded[] = {"states", "gradients, states",
                                      "parameters, gradients, states"};
  constexpr const char *kConstant = "parameters that are not trained";
  geometry::Mesh mesh = program.plan.getMesh();
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t>
      tensors; // by what is sharded, axes and ranks
  for (size_t i = 0; i < program.parameters.size(); ++i)
    if (const auto &shard = program.ownedParameter(i).shard)
      ++tensors[{program.learns(i) ? kSharded[static_cast<size_t>(shard->of)]
                                   : kConstant,
                 fmt::format("{}", fmt::join(shard->axes, ", ")),
                 mesh.size(shard->group())}];
  std::vector<std::string> parts;
  for (const auto &[shards, count] : tensors) {
    const auto &[of, axes, ranks] = shards;
    parts.push_back(fmt::format("{} over {}: 1/{} per rank, of {} tensor{}", of,
                                axes, ranks, count, count == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Counts the features that the processor has: "+avx2", not "-avx2".
size_t countPresent(const std::vector<std::string> &features) {
  return std::count_if(features.begin(), features.end(),
                       [](const auto &feature) { return feature[0] == '+'; });
}

/// Prints the places and the transfers between them.
template <typename Line>
void describePlaces(const Program &program, const Line &line) {
  for (const auto &transfer : program.transfers)
    line("transfer",
         fmt::format("{}: {} from place {} to {}, {} bytes per {}{}",
                     transfer.name, transfer.value, transfer.from, transfer.to,
                     transfer.bytes, transfer.step ? "step" : "microbatch",
                     transfer.requiresGrad ? ", its gradient comes back"
                     : transfer.gradientOf
                         ? ", gradient of " +
                               program.transfers[*transfer.gradientOf].name
                         : ""));
  for (const runtime::Place &place : program.places) {
    std::vector<std::string> inputs;
    for (const auto &input : place.inputs)
      inputs.push_back(program.inputs[input.input].name);
    std::vector<size_t> stages;
    for (size_t i = 0; i < program.stages.size(); ++i)
      if (program.stages[i].place == place.place)
        stages.push_back(i);
    if (program.places.size() > 1)
      line(fmt::format("place {}", place.place).c_str(),
           fmt::format(
               "stage{} {} | {} parameter tensor{} | reads {}",
               stages.size() == 1 ? "" : "s", fmt::join(stages, ", "),
               place.parameters.size(), place.parameters.size() == 1 ? "" : "s",
               inputs.empty() ? "no input"
                              : fmt::format("{}", fmt::join(inputs, ", "))));
    line("memory", fmt::format("{} per {}", describeBytes(place.arenaBytes),
                               program.local ? "place" : "rank"));
    for (const auto &region : place.regions)
      line("",
           fmt::format("{:<15}{:>14} bytes", spell(region.kind), region.bytes));
    line("a step",
         fmt::format("{} launches, {} FLOPs in matmuls, {} bytes sent "
                     "(each rank)",
                     place.predicted.launches, place.predicted.flops,
                     place.predicted.bytesSent));
  }
}

} // namespace

/// Returns ", values 0 to 255"; if there are several parts, each with its
/// position in a row.
std::string describeParts(const runtime::Input &input) {
  std::string text;
  for (const runtime::IndexedPart &part : input.parts) {
    text += fmt::format(", values 0 to {}", part.range.size - 1);
    if (input.parts.size() > 1)
      text += fmt::format(" in [{}] to [{}]", fmt::join(part.begin, ", "),
                          fmt::join(part.end, ", "));
  }
  return text;
}

std::string describeMesh(const runtime::Plan &plan) {
  std::vector<std::string> axes;
  for (const auto &axis : plan.mesh)
    axes.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(axes, ","));
}

std::string describeBytes(int64_t bytes) {
  constexpr const char *kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string describeVersion(const Program &program) {
  return fmt::format("{} ({}), compiled by ppopt {}, program format {}\n"
                     "compiled by  {}\n"
                     "model hash   {}\n",
                     program.model, program.source, program.compiler,
                     ppopt_runtime_abi(), program.command, program.modelHash);
}

std::string describeProgram(const Program &program,
                            const std::vector<runtime::Output> &outputs,
                            const std::vector<std::string> &arguments) {
  const runtime::Plan &plan = program.plan;
  std::string text;
  auto line = [&](const char *name, const std::string &value) {
    text += fmt::format("{:<12} {}\n", name, value);
  };
  line("model", fmt::format("{} ({})", program.model, program.source));
  line("compiled by", program.command);
  line("mesh",
       fmt::format("{}: {} rank{}, {} thread{} per rank", describeMesh(plan),
                   plan.ranks(), plan.ranks() == 1 ? "" : "s",
                   plan.target.threads, plan.target.threads == 1 ? "" : "s"));
  line("batch", fmt::format("{} rows, {} microbatch{} per rank, schedule {}",
                            plan.batch, plan.microbatches,
                            plan.microbatches == 1 ? "" : "es", plan.schedule));
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, ...)                    \
  line(FLAG, spell(plan.FIELD));
#define PLAN_SWITCH(FIELD, NAME, FLAG, ...)                                    \
  line(FLAG, plan.FIELD ? "yes" : "no");
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, ...)                      \
  line(FLAG, std::to_string(plan.FIELD));
#define PLAN_NUMBER(FIELD, NAME, FLAG, WORD, ...)                              \
  if (plan.FIELD > 0)                                                          \
    line(#FIELD, std::to_string(plan.FIELD));
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, ...)                       \
  line(FLAG, describeBytes(plan.FIELD));
#include "schema/plan_options.def"
  line("target",
       fmt::format("{}, {}{}", plan.target.name, plan.target.cpu,
                   plan.target.features.empty()
                       ? ""
                       : fmt::format(" with {} features"
                                     " (--describe=json lists them)",
                                     countPresent(plan.target.features))));
  if (plan.target.gpu)
    line("GPU", *plan.target.gpu);
  for (const auto &input : program.inputs)
    line("input",
         fmt::format("{}: {} [{}]{}", input.name, spell(input.type),
                     fmt::join(input.shape, ", "), describeParts(input)));
  for (const schema::Metric &metric : program.metrics)
    line("metric", metric.name + (metric.isRatio ? ": a sum divided by a count"
                                                 : ": a mean, as the loss"));
  for (const runtime::Output &output : outputs)
    line("output", fmt::format("{}: {} [{}]", output.name, spell(output.type),
                               fmt::join(output.shape, ", ")));
  line("parameters", describeParameters(program));
  if (std::string shards = describeShards(program); !shards.empty())
    line("sharded", shards);
  describePlaces(program, line);
  line(
      "code",
      fmt::format("{} tasks{}, {} kernels, {} matmuls", program.tasks.size(),
                  program.collectives.empty()
                      ? ""
                      : fmt::format(" with {} collective{} inside",
                                    program.collectives.size(),
                                    program.collectives.size() == 1 ? "" : "s"),
                  program.kernels.size(), program.matmuls.size()));
  line("run", launchCommand(plan.ranks(), {arguments.at(0)}));
  return text;
}

} // namespace ppopt::train
