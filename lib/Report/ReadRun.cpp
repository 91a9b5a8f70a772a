//===- ReadRun.cpp - A run from its log -----------------------------------===//

#include "ppopt/Report/Curves.h"

#include "ppopt/Support/ReadFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace ppopt::curves;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

namespace {

class RunReader {
public:
  explicit RunReader(Run &run) : run(run) {}

  Error readLine(StringRef line);

private:
  void readStart(const json::Object &record);
  Error readStep(const json::Object &record);
  Error readMetrics(const json::Object &record, Metrics &metrics);
  Error readEvaluation(const json::Object &record);
  Error goOnAt(int64_t place, int64_t stepsBefore);
  void forgetFrom(int64_t place);
  Expected<double> getNumber(const json::Object &record, StringRef field);
  Expected<int64_t> getStep(const json::Object &record, int64_t least);

  /// Positions of entries in a training run: step s at 2s, an evaluation after
  /// it at 2s + 1.
  static int64_t placeOf(const Step &step) { return 2 * step.step; }
  static int64_t placeOf(const Evaluation &evaluation) {
    return 2 * evaluation.step + 1;
  }

  Run &run;
  int64_t last = -1;       ///< the position of the last entry
  bool startsOver = false; ///< a start since then
};

} // namespace

Error RunReader::readLine(StringRef line) {
  Expected<json::Value> value = json::parse(line);
  if (!value) {
    consumeError(value.takeError());
    return makeError("not a line of JSON");
  }
  const json::Object *record = value->getAsObject();
  std::optional<StringRef> event =
      record ? record->getString("event") : std::nullopt;
  if (!event)
    return makeError("not a record of a log: it has no \"event\"");
  if (*event == "start")
    readStart(*record);
  else if (*event == "step")
    return readStep(*record);
  else if (*event == "eval")
    return readEvaluation(*record);
  return Error::success(); // other events are not drawn
}

void RunReader::readStart(const json::Object &record) {
  startsOver = true;
  run.model = record.getString("model").value_or("").str();
  SmallVector<std::string> parts;
  if (const json::Object *mesh = record.getObject("mesh")) {
    SmallVector<std::string> axes;
    for (const auto &[axis, size] : *mesh)
      axes.push_back(axis.str() + "=" +
                     std::to_string(size.getAsInteger().value_or(0)));
    sort(axes);
    parts.push_back(join(axes, ","));
  }
  if (std::optional<int64_t> ranks = record.getInteger("ranks"))
    parts.push_back(std::to_string(*ranks) +
                    (*ranks == 1 ? " rank" : " ranks"));
  if (std::optional<StringRef> optimizer = record.getString("optimizer"))
    parts.push_back(optimizer->str());
  run.plan = join(parts, " · ");
}

Error RunReader::readStep(const json::Object &record) {
  Expected<int64_t> number = getStep(record, 1);
  if (!number)
    return number.takeError();
  if (!record.get("tok_per_second") && !record.get("samples_per_second"))
    return makeError("a step without \"tok_per_second\" or "
                     "\"samples_per_second\"");
  run.unit = record.get("tok_per_second") ? "tok" : "samples";
  Step step{*number, 0, 0, 0, 0, std::numeric_limits<double>::quiet_NaN()};
  std::string perSecond = run.unit + "_per_second";
  std::pair<StringRef, double &> fields[] = {{"loss", step.loss},
                                             {"norm", step.norm},
                                             {perSecond, step.perSecond},
                                             {"ms", step.milliseconds}};
  for (auto &[field, into] : fields) {
    Expected<double> value = getNumber(record, field);
    if (!value)
      return value.takeError();
    into = *value;
  }
  if (const json::Object *staleness = record.getObject("staleness")) {
    Expected<double> mean = getNumber(*staleness, "mean");
    if (!mean)
      return mean.takeError();
    step.staleness = *mean;
  }
  if (Error error = readMetrics(record, step.metrics))
    return error;
  if (Error error = goOnAt(placeOf(step), step.step - 1))
    return error;
  run.steps.push_back(step);
  return Error::success();
}

/// Reads the metrics of a step or an evaluation, if it has some.
Error RunReader::readMetrics(const json::Object &record, Metrics &metrics) {
  const json::Object *found = record.getObject("metrics");
  if (!found)
    return Error::success();
  for (const auto &[name, value] : *found) {
    Expected<double> number = getNumber(*found, name);
    if (!number)
      return number.takeError();
    metrics[json::fixUTF8(StringRef(name))] = *number;
  }
  return Error::success();
}

Error RunReader::readEvaluation(const json::Object &record) {
  Expected<int64_t> number = getStep(record, 0);
  if (!number)
    return number.takeError();
  Expected<double> loss = getNumber(record, "loss");
  if (!loss)
    return loss.takeError();
  Evaluation evaluation{*number, *loss, {}};
  if (Error error = readMetrics(record, evaluation.metrics))
    return error;
  if (Error error = goOnAt(placeOf(evaluation), evaluation.step))
    return error;
  run.evaluations.push_back(evaluation);
  return Error::success();
}

/// Continues with an entry at this position.
Error RunReader::goOnAt(int64_t place, int64_t stepsBefore) {
  if (startsOver) {
    forgetFrom(place);
    if (!run.steps.empty())
      run.resumed.push_back(stepsBefore);
  } else if (place <= last) {
    return makeError("follows step " + Twine(last / 2) +
                     " without a \"start\" in between");
  }
  startsOver = false;
  last = place;
  return Error::success();
}

void RunReader::forgetFrom(int64_t place) {
  auto forget = [&](auto &records) {
    while (!records.empty() && placeOf(records.back()) >= place)
      records.pop_back();
  };
  forget(run.steps);
  forget(run.evaluations);
  while (!run.resumed.empty() && 2 * run.resumed.back() >= place)
    run.resumed.pop_back();
}

Expected<double> RunReader::getNumber(const json::Object &record,
                                      StringRef field) {
  const json::Value *value = record.get(field);
  if (value && value->kind() == json::Value::Null)
    return std::numeric_limits<double>::quiet_NaN();
  if (std::optional<double> number =
          value ? value->getAsNumber() : std::nullopt)
    return *number;
  return makeError("\"" + field + "\" is " +
                   (value ? "not a number" : "missing"));
}

Expected<int64_t> RunReader::getStep(const json::Object &record,
                                     int64_t least) {
  std::optional<int64_t> step = record.getInteger("step");
  if (!step || *step < least || *step > (int64_t{1} << 53))
    return makeError("\"step\" is not a whole number from " + Twine(least) +
                     " on");
  return *step;
}

Expected<Run> ppopt::curves::readRun(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> file = readTextFile(path);
  if (!file)
    return makeError(path + ": cannot be read: " + toString(file.takeError()));
  Run run;
  run.name = path.str();
  RunReader reader(run);
  StringRef rest = (*file)->getBuffer();
  for (int64_t number = 1; !rest.empty(); ++number) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (line.trim().empty())
      continue;
    if (Error error = reader.readLine(line))
      return makeError(path + ":" + Twine(number) + ": " +
                       toString(std::move(error)));
  }
  if (run.steps.empty() && run.evaluations.empty())
    return makeError(path + ": has neither steps nor evaluations: it is not "
                            "what --log of an executable writes");
  return run;
}
