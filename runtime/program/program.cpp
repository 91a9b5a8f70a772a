//===- program.cpp - Reads the programs of an executable ------------------===//

#include "program/program.h"

#include "base/checksum.h"
#include "ppopt/runtime.h"
#include "program/number_operations.h"
#include "program/read_fields.h"
#include "program/why_refused.h"
#include "schema/write_fields.h"

#include <algorithm>

namespace ppopt::runtime {

namespace {

Json parseJson(std::string_view json) {
  try {
    return Json::parse(json.begin(), json.end());
  } catch (const Json::parse_error &error) {
    throw Error("program: not JSON at byte {}: the executable is damaged, "
                "compile it again",
                error.byte);
  } catch (const Json::out_of_range &) {
    throw Error("program: has a number that is too large: the executable is "
                "damaged, compile it again");
  }
}

/// Another version may have other fields: it is checked before they are read.
void checkVersion(const Json &document) {
  struct Version {
    int64_t abi = 0;
    static void visit(FieldReader &f, Version &self) {
      f("abi", self.abi, "the version");
    }
  } version;
  readValue(document, Path(), version, schema::anyInteger);
  if (version.abi != PPOPT_ABI_VERSION)
    throw Error("program: abi is {}, and this runtime has {}: compile the "
                "model again with the ppopt that the runtime belongs to",
                version.abi, PPOPT_ABI_VERSION);
}

/// A compiler may have targets that this runtime lacks.
void checkTarget(const std::string &name, const Path &root) {
  Path plan = root["plan"], target = plan["target"];
  if (name != "cpu" && name != "cuda")
    target["name"].fail("is '" + name +
                        "', and this runtime has only cpu and cuda");
}

/// Checks that ranks which have different tiles have no shards of one.
void checkShards(const Program &program, const Place &place, const Path &path) {
  for (size_t i = 0; i < place.parameters.size(); ++i) {
    const schema::PlaceParameter &held = place.parameters[i];
    if (!held.shard)
      continue;
    for (const std::string &axis : program.parameters[held.parameter].cutAxes())
      if (std::count(held.shard->axes.begin(), held.shard->axes.end(), axis))
        path["parameters"][i]["shard"]["axes"].fail(
            fmt::format("has '{}', which cuts the parameter", axis));
  }
}

/// Checks that places are found by number, and parameters on their places.
void checkPlaces(const Program &program, const Path &list) {
  for (size_t i = 0; i < program.places.size(); ++i) {
    const Place &place = program.places[i];
    Path path = list[i];
    if (place.place != int64_t(i))
      path["place"].fail(fmt::format("is {}, out of order", place.place));
    checkShards(program, place, path);
    if (place.owned.has_value() != program.plan.isAsynchronous())
      path["owned"].fail(place.owned ? "is there, and the plan's sync is step"
                                     : "is missing");
    for (size_t j = 0; j < program.parameters.size(); ++j) {
      const std::vector<int64_t> &places = program.parameters[j].places;
      bool isHeld = place.find(int64_t(j)) != nullptr;
      if (isHeld != (std::count(places.begin(), places.end(), i) > 0))
        path.fail(fmt::format("{} parameter '{}', and its list of places says "
                              "otherwise",
                              isHeld ? "holds" : "does not hold",
                              program.parameters[j].name));
    }
  }
}

Program readDocument(const Json &document, const Path &root) {
  Program program;
  readValue(document, root, program, {}, {&program});
  checkPlaces(program, root["places"]);
  bool isLocal = program.plan.launch == schema::Launch::local;
  if (isLocal != program.local.has_value())
    root["local"].fail(isLocal ? "is missing"
                               : "is there, and the plan's launch is ranks");
  numberOperations(program, root);
  return program;
}

Program readRunnable(const Json &document) {
  Path root;
  Program program = readDocument(document, root);
  checkTarget(program.plan.target.name, root);
  return program;
}

/// Returns the JSON.
std::string_view openDocument(const StoredDocument &document) {
  if (train::checksumOf(document.json) != document.checksum)
    throw Error("program: it is not what the compiler wrote: the executable is "
                "damaged, or was changed by hand: compile it again");
  return document.json;
}

} // namespace

Program readProgram(const StoredDocument &document) {
  return readProgram(openDocument(document));
}

GenerationDocument readGeneration(const StoredDocument &document) {
  return readGeneration(openDocument(document));
}

Program readProgram(std::string_view json) {
  Json document = parseJson(json);
  checkVersion(document);
  return readRunnable(document);
}

GenerationDocument readGeneration(std::string_view json) {
  Json document = parseJson(json);
  checkVersion(document);
  Json generation = document.value("generation", Json());
  if (generation.is_object() && generation.contains("refused")) {
    std::string reason;
    Path root, outer = root["generation"];
    readValue(generation["refused"], outer["refused"], reason, {});
    return {std::nullopt, reason};
  }
  GenerationDocument read{readRunnable(document), ""};
  if (!read.program->generation)
    Path()["generation"].fail("is missing");
  return read;
}

std::string whyRefused(const Program &program) {
  try {
    readDocument(schema::toJson(program), Path(nullptr, nullptr));
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace ppopt::runtime
