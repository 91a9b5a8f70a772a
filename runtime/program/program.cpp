//===- program.cpp - Reads the programs of an executable ------------------===//

#include "program/program.h"

#include "check/check_program.h"
#include "ppopt/runtime.h"
#include "program/read_fields.h"

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
  readValue(document, Path(), version, {});
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

Program readDocument(const Json &document) {
  Program program;
  Path root;
  readValue(document, root, program, {});
  checkProgram(program, root);
  checkTarget(program.plan.target.name, root);
  return program;
}

} // namespace

Program readProgram(std::string_view json) {
  Json document = parseJson(json);
  checkVersion(document);
  return readDocument(document);
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
  GenerationDocument read{readDocument(document), ""};
  if (!read.program->generation)
    Path()["generation"].fail("is missing");
  return read;
}

} // namespace ppopt::runtime
