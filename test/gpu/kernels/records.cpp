//===- records.cpp - What is reported of each kernel ----------------------===//

#include "records.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>

namespace ppopt::gpu {
namespace {

/// JSON has no infinity.
Record finite(double value) {
  return std::isfinite(value) ? Record(value) : Record("infinite");
}

std::string spell(const Record &value) {
  return value.is_number() ? fmt::format("{:.2e}", value.get<double>())
                           : value.get<std::string>();
}

Record makeRecord(const Comparison &result) {
  Record record = {{"type", schema::spell(result.type)},
                   {"compared", result.compared},
                   {"largest", result.largest},
                   {"error", finite(result.error)},
                   {"tolerance", result.tolerance},
                   {"median error", finite(result.median)}};
  if (result.termsTolerance > 0) {
    record["error of terms"] = finite(result.termsError);
    record["tolerance of terms"] = result.termsTolerance;
  } else {
    record["error of mean"] = finite(result.mean);
  }
  return record;
}

/// Returns the prediction for a GPU whose description has its name, or null.
const Prediction *findPrediction(const Launch &launch, std::string gpu) {
  std::transform(gpu.begin(), gpu.end(), gpu.begin(), [](unsigned char letter) {
    return char(std::tolower(letter));
  });
  for (const Prediction &each : launch.predictions)
    if (gpu.find(each.gpu) != gpu.npos)
      return &each;
  return nullptr;
}

void addTimes(Record &record, const Launch &launch, double seconds,
              const std::string &gpu) {
  const Prediction *predicted = findPrediction(launch, gpu);
  record["bytes"] = launch.bytes;
  record["flops"] = launch.flops;
  if (seconds > 0) {
    record["microseconds"] = seconds * 1e6;
    record["GB/s"] = launch.bytes / seconds / 1e9;
    record["TFLOP/s"] = launch.flops / seconds / 1e12;
  }
  if (!predicted)
    return;
  record["predicted microseconds"] = predicted->microseconds;
  if (seconds > 0)
    record["ratio"] = seconds * 1e6 / predicted->microseconds;
}

} // namespace

Record makeRecord(const Launch &launch, const LaunchFindings &findings,
                  const std::string &gpu) {
  Record record = {{"name", launch.name}, {"form", launch.form}};
  record["agrees"] = findings.wrong.empty();
  // Those of the result that uses most of its tolerance.
  auto worst =
      std::max_element(findings.results.begin(), findings.results.end(),
                       [](const Comparison &a, const Comparison &b) {
                         return a.share() < b.share();
                       });
  if (worst != findings.results.end()) {
    record["error"] = finite(worst->error);
    record["tolerance"] = worst->tolerance;
  }
  record["same bits"] = findings.hasSameBits;
  addTimes(record, launch, findings.seconds, gpu);
  record["results"] = Record::array();
  for (const Comparison &result : findings.results)
    record["results"].push_back(makeRecord(result));
  record["wrong"] = findings.wrong;
  return record;
}

Record makeRecord(const Instruction &instruction,
                  const InstructionFindings &findings) {
  return {{"name", instruction.name},
          {"form", "instruction"},
          {"agrees", findings.wrong.empty()},
          {"error", finite(findings.error)},
          {"tolerance", instruction.bound},
          {"unit", instruction.unit == ErrorUnit::ulp      ? "ulp"
                   : instruction.unit == ErrorUnit::result ? "relative"
                                                           : "relative, or "
                                                             "absolute near 1"},
          {"operand", findings.x},
          {"compared", findings.compared},
          {"wrong", findings.wrong.empty() ? Record::array()
                                           : Record::array({findings.wrong})}};
}

Record makeFailure(const std::string &name, const std::string &form,
                   const std::string &what, bool wasRun) {
  return {{"name", name},
          {"form", form},
          {"agrees", false},
          {"run", wasRun},
          {"wrong", Record::array({what})}};
}

std::string spellRecord(const Record &record) {
  std::string line = fmt::format("{} {:<40} {:<14}",
                                 record["agrees"].get<bool>() ? "ok  "
                                 : !record.value("run", true) ? "SKIP"
                                                              : "FAIL",
                                 record["name"].get<std::string>(),
                                 record["form"].get<std::string>());
  if (record.contains("error"))
    line += fmt::format(" error {} of {}", spell(record["error"]),
                        spell(record["tolerance"]));
  if (record.contains("same bits"))
    line += record["same bits"].get<bool>() ? ", same bits" : ", OTHER BITS";
  if (record.contains("microseconds")) {
    line += fmt::format("  {:.1f} us", record["microseconds"].get<double>());
    if (record.contains("ratio"))
      line +=
          fmt::format(" ({:.2f} of predicted)", record["ratio"].get<double>());
    line += fmt::format("  {:.0f} GB/s", record["GB/s"].get<double>());
    if (record["flops"].get<double>() > 0)
      line += fmt::format("  {:.1f} TFLOP/s", record["TFLOP/s"].get<double>());
  }
  line += "\n";
  for (const Record &wrong : record["wrong"])
    line += "       " + wrong.get<std::string>() + "\n";
  return line;
}

} // namespace ppopt::gpu
