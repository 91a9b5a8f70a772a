//===- WriteCurves.cpp - Runs as a page for a browser ---------------------===//
//
// The document, its style and its scripts are files in CurvesPage/. This file
// writes the runs as JSON for them; CurvesPage/runs.js describes the format.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Report/Curves.h"
#include "ppopt/Report/PageText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <set>

using namespace llvm;
using namespace ppopt;
using namespace ppopt::curves;

#include "CurvesPage.inc"

/// With enough digits that no screen shows the difference.
static void writeNumber(raw_ostream &out, double number) {
  if (std::isfinite(number))
    out << format("%.6g", number);
  else
    out << "null";
}

template <typename Record, typename Write>
static void writeFlat(json::OStream &json, StringRef name,
                      ArrayRef<Record> records, Write write) {
  json.attributeBegin(name);
  json.rawValue([&](raw_ostream &out) {
    out << "[";
    StringRef separator = "";
    for (const Record &record : records) {
      out << separator;
      write(out, record);
      separator = ",";
    }
    out << "]";
  });
  json.attributeEnd();
}

/// Writes a metric's values among the records: [position, value, …].
template <typename Record>
static void writeMetric(json::OStream &json, StringRef name,
                        const std::string &metric,
                        const std::vector<Record> &records) {
  std::vector<std::pair<size_t, double>> values;
  for (size_t i = 0; i < records.size(); ++i)
    if (auto found = records[i].metrics.find(metric);
        found != records[i].metrics.end())
      values.emplace_back(i, found->second);
  writeFlat(json, name, ArrayRef(values),
            [](raw_ostream &out, const std::pair<size_t, double> &value) {
              out << value.first << ",";
              writeNumber(out, value.second);
            });
}

static void writeMetrics(json::OStream &json, const Run &run) {
  std::set<std::string> names;
  for (const Step &step : run.steps)
    for (const auto &metric : step.metrics)
      names.insert(metric.first);
  for (const Evaluation &evaluation : run.evaluations)
    for (const auto &metric : evaluation.metrics)
      names.insert(metric.first);
  for (const std::string &name : names)
    json.object([&] {
      json.attribute("name", name);
      writeMetric(json, "steps", name, run.steps);
      writeMetric(json, "evaluations", name, run.evaluations);
    });
}

static void writeRun(json::OStream &json, const Run &run) {
  json.attribute("name", json::fixUTF8(run.name));
  json.attribute("model", run.model);
  json.attribute("plan", run.plan);
  json.attribute("unit", run.unit);
  double milliseconds = 0;
  for (const Step &step : run.steps)
    milliseconds += std::isfinite(step.milliseconds) ? step.milliseconds : 0;
  json.attribute("seconds", milliseconds / 1e3);
  writeFlat(json, "steps", ArrayRef(run.steps),
            [](raw_ostream &out, const Step &step) {
              out << step.step;
              for (double value : {step.loss, step.norm, step.perSecond,
                                   step.milliseconds, step.staleness}) {
                out << ",";
                writeNumber(out, value);
              }
            });
  writeFlat(json, "evaluations", ArrayRef(run.evaluations),
            [](raw_ostream &out, const Evaluation &evaluation) {
              out << evaluation.step << ",";
              writeNumber(out, evaluation.loss);
            });
  json.attributeArray("metrics", [&] { writeMetrics(json, run); });
  writeFlat(json, "resumed", ArrayRef(run.resumed),
            [](raw_ostream &out, int64_t steps) { out << steps; });
}

static std::string writeData(ArrayRef<Run> runs) {
  std::string text;
  raw_string_ostream out(text);
  json::OStream json(out);
  json.array([&] {
    for (const Run &run : runs)
      json.object([&] { writeRun(json, run); });
  });
  out.flush();
  return text;
}

std::string ppopt::curves::writeCurves(ArrayRef<Run> runs) {
  std::string title = runs.size() == 1 ? runs.front().name
                                       : std::to_string(runs.size()) + " runs";
  return fillPage(parts, title, writeData(runs));
}
