//===- parameter_map_test.cpp - Parameters as others name them ------------===//

#include "checkpoint/initial_parameters.h"
#include "checkpoint/parameter_file.h"
#include "checkpoint/parameter_map.h"
#include "device/cpu/cpu_device.h"
#include "executor/rank.h"
#include "host_at.h"
#include "train_files.h"
#include "train_program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

using namespace ppopt::train;
using ppopt::device::DevicePointer;
using ppopt::runtime::ParameterBuffer;
using ppopt::runtime::Program;

namespace {

using Shape = std::vector<int64_t>;

/// A program with these parameters, f64 vectors unless they have a shape.
Program programOf(const std::vector<std::pair<std::string, Shape>> &wanted) {
  Program program =
      ppopt::runtime::readProgram(next_token::program(1, 1).dump());
  auto model = program.parameters[0];
  program.parameters.clear();
  for (const auto &[name, shape] : wanted) {
    model.name = name;
    model.shape = shape;
    program.parameters.push_back(model);
  }
  return program;
}

/// The text of a map with these parameters, and more of its keys.
std::string mapText(const std::string &parameters,
                    const std::string &more = "") {
  return R"({"format": "ppopt parameter map", "version": 1, "parameters": )" +
         parameters + more + "}";
}

ParameterMap mapOf(const std::string &parameters,
                   const std::string &more = "") {
  return ParameterMap("m.json", mapText(parameters, more));
}

TEST(NamePattern, MatchesNumbersAndFillsThemIn) {
  NamePattern from("h.{i}.expert{e}.w"), to("l.{e}.{i}");
  auto numbers = from.match("h.10.expert0.w");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(to.fill(*numbers), "l.0.10");
  for (const char *name :
       {"h.10.expert0.", "h.10.expert0.wx", "h..expert0.w", "h.01.expert0.w",
        "h.a.expert0.w", "h.-1.expert0.w", "xh.1.expert0.w", "h.1.expert.w"})
    EXPECT_FALSE(from.match(name)) << name;
  NamePattern twice("{i}.{i}");
  EXPECT_TRUE(twice.match("3.3"));
  EXPECT_FALSE(twice.match("3.4"));
  EXPECT_EQ(NamePattern("plain").match("plain")->size(), 0u);
}

TEST(NamePattern, RefusesWhatCannotBeRead) {
  for (const char *text : {"", "a{", "a{}", "a{i", "a}", "a{i j}", "a{{i}}",
                           "{i}{j}", "{i}0", "a{i}b}"})
    EXPECT_THROW(NamePattern{text}, std::invalid_argument) << text;
}

TEST(ParameterMap, NamesTheTensorOfEachParameter) {
  Program program = programOf({{"a", {2}}, {"h.0.w", {2, 3}}, {"h.1.w", {3}}});
  auto tensors =
      mapOf(R"({"a": "A", "h.{i}.w": "layers.{i}.W", "unused.{i}": "x.{i}"})")
          .tensorsOf(program);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "A");
  EXPECT_EQ(tensors[2].name, "layers.1.W");
  EXPECT_FALSE(tensors[1].transposed);
  tensors = mapOf(R"({"a": "A", "h.0.w": {"tensor": "W", "transpose": true},
                "h.1.w": {"tensor": "V", "transpose": false}})")
                .tensorsOf(program);
  EXPECT_TRUE(tensors[1].transposed);
  EXPECT_EQ(shapeInFile(program.parameters[1], tensors[1]), (Shape{3, 2}));
  EXPECT_EQ(shapeInFile(program.parameters[2], tensors[2]), (Shape{3}));
}

TEST(ParameterMap, NamesWhatIsAddedAndWhatIsOmitted) {
  Program program = programOf({{"h.0.w", {2, 3}},
                               {"h.0.a", {2, 5}},
                               {"h.0.b", {5, 3}},
                               {"h.1.w", {2, 3}},
                               {"v", {7}}});
  auto tensors = mapOf(R"({"h.{i}.w": {"tensor": "W.{i}", "plus":
                      {"product": ["h.{i}.a", "h.{i}.b"], "scale": -2}}})",
                       R"(, "omitted": ["v"])")
                     .tensorsOf(program);
  ASSERT_TRUE(tensors[0].plus);
  EXPECT_EQ(tensors[0].plus->left, 1u);
  EXPECT_EQ(tensors[0].plus->right, 2u);
  EXPECT_EQ(tensors[0].plus->scale, -2);
  EXPECT_EQ(tensors[1].name + tensors[2].name + tensors[4].name, "");
  EXPECT_EQ(tensors[3].name, "W.1");
  EXPECT_FALSE(tensors[3].plus); // the model has no such factors
}

TEST(ParameterMap, NamesThePartsOfAStack) {
  Program program = programOf({{"h.1.w", {3, 2, 5}}, {"v", {1}}});
  const char *text = R"({"h.{i}.w": {"stack": "H.{i}.{e}.W"}, "v": "H.1.9.W"})";
  auto tensors = mapOf(text).tensorsOf(program);
  EXPECT_EQ(tensors[0].name, "H.1.{e}.W");
  EXPECT_EQ(tensors[0].parts,
            (std::vector<std::string>{"H.1.0.W", "H.1.1.W", "H.1.2.W"}));
  EXPECT_EQ(shapeInFile(program.parameters[0], tensors[0]), (Shape{2, 5}));
  EXPECT_TRUE(tensors[1].parts.empty());
  program = programOf({{"h.1.w", {10, 2}}, {"v", {1}}});
  EXPECT_ERROR(mapOf(text).tensorsOf(program),
               "the tensor 'H.1.9.W' is taken twice, as the parameters 'h.1.w' "
               "and 'v'");
  EXPECT_ERROR(mapOf(text, R"(, "ignored": ["H.1.3.W"])").tensorsOf(program),
               "the tensor 'H.1.3.W' is ignored, and is the parameter 'h.1.w'");
  program = programOf({{"h.1.w", {}}, {"v", {1}}});
  EXPECT_ERROR(
      mapOf(text).tensorsOf(program),
      "the parameter 'h.1.w' has no dimensions, and cannot be a stack");
}

TEST(ParameterMap, RefusesWhatIsNoMap) {
  struct Case {
    std::string text;
    const char *message;
  };
  const Case cases[] = {
      {"", "m.json: is not JSON: parse error at line 1"},
      {"{", "m.json: is not JSON"},
      {std::string(40, '[') + std::string(40, ']'), "nested too deeply"},
      {"[]", "is not a map of parameters: it has no \"format\""},
      {R"({"parameters": {}})", "is not a map of parameters"},
      {R"({"format": "ppopt parameter map", "version": 2})",
       "is a map of version 2, and this program reads version 1"},
      {R"({"format": "ppopt parameter map", "parameters": {}})",
       "is a map of version null"},
      {R"({"format": "ppopt parameter map", "version": 1})",
       "m.json: has no \"parameters\""},
      {mapText("{}", R"(, "ignore": [])"),
       "m.json: unknown key 'ignore'; did you mean 'ignored'?"},
      {mapText("[]"), "m.json: parameters: is not an object"},
      {mapText(R"({"a": "x", "a": "y"})"),
       "m.json: 'a' is there twice in one object"},
      {mapText(R"({"a": 3})"), "parameters: 'a': is not a name in quotes"},
      {mapText(R"({"a": ""})"), "parameters: 'a': is not a name in quotes"},
      {mapText(R"({"a": {}})"), "parameters: 'a': has no \"tensor\""},
      {mapText(R"({"a": {"tensor": "x", "transposed": true}})"),
       "'a': unknown key 'transposed'; did you mean 'transpose'?"},
      {mapText(R"({"a": {"tensor": "x", "transpose": 1}})"),
       "'a': transpose: is neither true nor false"},
      {mapText(R"({"h.{": "x"})"), "parameters: 'h.{': a brace does not begin"},
      {mapText(R"({"h.{i}": "x.{i"})"), "parameters: 'h.{i}': 'x.{i': a brace"},
      {mapText(R"({"h.{i}": "x.{j}"})"),
       "'h.{i}': the tensor 'x.{j}' has other placeholders"},
      {mapText(R"({"h.{i}": "x"})"), "has other placeholders"},
      {mapText(R"({"a": "__metadata__"})"), "named '__metadata__'"},
      {mapText(R"({"a": {"tensor": "x", "plus": 1}})"),
       "'a': plus: is not an object"},
      {mapText(R"({"a": {"tensor": "x", "plus": {"product": ["b"]}}})"),
       "'a': plus: product: is not a list of two parameters"},
      {mapText(
           R"({"a": {"tensor": "x", "plus": {"product": ["b", "c"], "scale": "2"}}})"),
       "'a': plus: scale: is not a number"},
      {mapText(
           R"({"h.{i}": {"tensor": "x.{i}", "plus": {"product": ["b", "c"]}}})"),
       "'h.{i}': the parameter 'b' has other placeholders"},
      {mapText(R"({"h.{i}": {"stack": "x.{i}"}})"),
       "'h.{i}': the stack 'x.{i}' needs one more placeholder than the "
       "parameter"},
      {mapText(R"({"h.{i}": {"stack": "x.{e}"}})"),
       "'h.{i}': the stack 'x.{e}' lacks {i}"},
      {mapText(R"({"h": {"stack": "x.{i}.{e}"}})"),
       "'h': the stack 'x.{i}.{e}' needs one more placeholder"},
      {mapText(R"({"h": {"stack": "x.{e}", "transpose": true}})"),
       "'h': unknown key 'transpose'"},
      {mapText("{}", R"(, "omitted": "x")"), "omitted: is not a list"},
      {mapText("{}", R"(, "ignored": "x")"), "ignored: is not a list"},
      {mapText("{}", R"(, "ignored": [3])"), "ignored: is not a name"},
      {mapText("{}", R"(, "ignored": ["{"])"), "ignored: '{': a brace"},
      {mapText("{}", R"(, "tied": [])"), "tied: is not an object"},
      {mapText("{}", R"(, "tied": {"a": 1})"), "tied: 'a': is not a name"},
      {mapText("{}", R"(, "tied": {"a": "a"})"),
       "tied: 'a': is tied to itself"},
      {mapText("{}", R"(, "optional_prefix": 1)"), "optional_prefix: is not"},
      {mapText(R"({"a": "A"})",
               R"(, "ignored": ["m.{i}"], "optional_prefix": "t.")"),
       "optional_prefix: no tensor of the map begins with 't.'"},
  };
  for (const Case &each : cases)
    EXPECT_ERROR(ParameterMap("m.json", each.text), each.message);
}

TEST(ParameterMap, RefusesProductsThatDoNotFit) {
  Program program = programOf({{"w", {2, 3}}, {"a", {2, 5}}, {"b", {5, 3}}});
  auto check = [&](const std::string &left, const std::string &right,
                   const std::string &more = "", const char *rest = "") {
    mapOf(R"({"w": {"tensor": "W", "plus": {"product": [")" + left + R"(", ")" +
              right + R"("]}})" + more + "}",
          rest)
        .tensorsOf(program);
  };
  check("a", "b");
  EXPECT_ERROR(check("b", "a"), "'b' x 'a' has not the shape of 'w'");
  EXPECT_ERROR(check("a", "c"),
               "has a parameter 'a', and no 'c' to multiply it with");
  EXPECT_ERROR(check("a", "b", R"(, "a": "A")"),
               "the parameter 'a' has an entry, and is added to 'w'");
  EXPECT_ERROR(check("a", "b", "", R"(, "omitted": ["w"])"),
               "the parameter 'w' is omitted, and has an entry");
}

TEST(ParameterMap, RefusesWhatDoesNotFitTheModel) {
  Program program = programOf({{"a", {2}}, {"h.0.w", {2}}, {"h.1.w", {2}}});
  auto check = [&](const std::string &parameters,
                   const std::string &more = "") {
    mapOf(parameters, more).tensorsOf(program);
  };
  EXPECT_ERROR(check(R"({"h.1.w": "W"})"),
               "m.json: no entry for the model's parameters a, h.0.w; add them "
               "to its \"parameters\"");
  EXPECT_ERROR(check(R"({"a": "A", "h.{i}.w": "W.{i}", "h.1.w": "V"})"),
               "m.json: the parameter 'h.1.w' has two entries: 'h.1.w' and "
               "'h.{i}.w'");
  EXPECT_ERROR(check(R"({"a": "W.1", "h.{i}.w": "W.{i}"})"),
               "m.json: the tensor 'W.1' is taken twice, as the parameters 'a' "
               "and 'h.1.w'");
  EXPECT_ERROR(
      check(R"({"a": "A", "h.{i}.w": "W.{i}"})", R"(, "ignored": ["W.{n}"])"),
      "m.json: the tensor 'W.0' is ignored, and is the parameter "
      "'h.0.w'");
  EXPECT_ERROR(check(R"({"a": {"tensor": "A", "transpose": true},
                         "h.{i}.w": "W.{i}"})"),
               "m.json: the parameter 'a' has 1 dimensions, and only matrices");
}

/// Of what InitialParameters takes from a file.
class MappedFiles : public ::testing::Test {
  TemporaryFolder folder;

protected:
  std::unique_ptr<ppopt::device::Device> cpu = ppopt::device::makeCpuDevice(1);
  ppopt::device::Stream stream = cpu->makeStream("test");
  std::string path = folder.path("p.safetensors");
  double a[2] = {1, 2}, w[6] = {1, 2, 3, 4, 5, 6}, other[2] = {1, 3};
  Program program = programOf({{"a", {2}}, {"w", {3, 2}}});
  TensorToStore storedA{"A", "F64", {2}, a}, storedW{"W", "F64", {2, 3}, w};

  /// The whole parameter.
  static ParameterBuffer bufferOf(int64_t index, int64_t elements,
                                  double *data) {
    return {index,
            {ppopt::geometry::Tile(elements), 0, elements},
            DevicePointer(data)};
  }

  /// `w`, as it is taken from these tensors.
  std::vector<double> load(const std::vector<TensorToStore> &tensors,
                           const ParameterMap &map) {
    writeSafetensors(path, tensors);
    InitialParameters initial(program, {{path}}, map);
    std::vector<double> to(6);
    double toA[2] = {};
    initial.load(*cpu, stream,
                 {bufferOf(0, 2, toA), bufferOf(1, 6, to.data())});
    EXPECT_EQ(std::memcmp(toA, a, sizeof a), 0);
    return to;
  }
};

constexpr const char *kTransposed =
    R"({"a": "A", "w": {"tensor": "W", "transpose": true}})";

TEST_F(MappedFiles, AreTransposed) {
  EXPECT_EQ(load({storedA, storedW}, mapOf(kTransposed)),
            (std::vector<double>{1, 4, 2, 5, 3, 6}));
  storedW.shape = {3, 2};
  EXPECT_EQ(load({storedA, storedW}, mapOf(R"({"a": "A", "w": "W"})")),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(MappedFiles, MayLackTheOptionalPrefix) {
  ParameterMap map =
      mapOf(R"({"a": "t.A", "w": {"tensor": "t.W", "transpose": true}})",
            R"(, "optional_prefix": "t.", "ignored": ["t.mask"])");
  TensorToStore mask{"mask", "U8", {1}, a};
  load({storedA, storedW, mask}, map);
  EXPECT_ERROR(load({storedA, {"t.W", "F64", {2, 3}, w}}, map),
               "missing: t.A for a; not in the map: A");
  storedA.name = "t.A", storedW.name = "t.W", mask.name = "t.mask";
  load({storedA, storedW, mask}, map);
  EXPECT_ERROR(load({storedA, storedW}, mapOf(R"({"a": "A", "w": "t.W"})",
                                              R"(, "optional_prefix": "t.")")),
               "missing: A for a; not in the map: t.A");
}

TEST_F(MappedFiles, MustBeTheModels) {
  ParameterMap map = mapOf(kTransposed, R"(, "ignored": ["mask.{i}"])");
  EXPECT_ERROR(load({storedA}, map),
               "p.safetensors by m.json: the tensors are not this model's "
               "parameters; missing: W for w");
  TensorToStore mask{"mask.3", "U8", {1}, a}, extra{"mask.x", "U8", {1}, a};
  load({storedA, storedW, mask}, map);
  EXPECT_ERROR(load({storedA, storedW, mask, extra}, map),
               "parameters; not in the map: mask.x");
  storedW.shape = {3, 2};
  EXPECT_ERROR(load({storedA, storedW}, map),
               "of another shape: W for w (file F64 [3, 2], model F64 [3, 2] "
               "transposed)");
  storedW.shape = {2, 3};
  EXPECT_ERROR(load({storedA, storedW}, mapOf(R"({"a": "A", "w": "W"})")),
               "W for w (file F64 [2, 3], model F64 [3, 2]: the "
               "file's is transposed)");
  storedA.dtype = "I64";
  EXPECT_ERROR(load({storedA, storedW}, map),
               "of another type: A for a (file I64 [2], model F64 [2])");
}

TEST_F(MappedFiles, MayHoldCopiesOfTiedTensors) {
  ParameterMap map = mapOf(kTransposed, R"(, "tied": {"head": "A"})");
  load({storedA, storedW}, map);
  TensorToStore head{"head", "F64", {2}, a};
  load({storedA, storedW, head}, map);
  head.data = other;
  EXPECT_ERROR(load({storedA, storedW, head}, map),
               "the tensors 'head' and 'A' differ, and are one parameter of "
               "this model");
  // Where a parameter takes it, it is that.
  map = mapOf(R"({"a": "A", "w": {"tensor": "W", "transpose": true},
                  "head": "head"})",
              R"(, "tied": {"head": "A"})");
  program = programOf({{"a", {2}}, {"w", {3, 2}}, {"head", {2}}});
  writeSafetensors(path, {storedA, storedW, head});
  double loaded[2] = {};
  InitialParameters(program, {{path}}, map)
      .load(*cpu, stream, {bufferOf(2, 2, loaded)});
  EXPECT_EQ(std::memcmp(loaded, other, sizeof other), 0);
  EXPECT_ERROR(load({storedA, storedW}, map), "missing: head");
}

TEST_F(MappedFiles, MayHaveAStackInParts) {
  ParameterMap map = mapOf(R"({"a": "A", "w": {"stack": "W.{e}"}})");
  float second[2] = {3, 4};
  std::vector<TensorToStore> tensors = {storedA,
                                        {"W.0", "F64", {2}, w},
                                        {"W.2", "F64", {2}, w + 4},
                                        {"W.1", "F32", {2}, second}};
  EXPECT_EQ(load(tensors, map), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  // What a rank has of a stack may begin and end within parts.
  double some[3] = {};
  InitialParameters(program, {{path}}, map)
      .load(*cpu, stream,
            {{1, {ppopt::geometry::Tile(6), 1, 4}, DevicePointer(some)}});
  EXPECT_EQ(std::vector<double>(some, some + 3),
            (std::vector<double>{2, 3, 4}));

  tensors[2].shape = {1, 2};
  EXPECT_ERROR(load(tensors, map),
               "of another shape: W.2 for a part of w (file F64 [1, 2], model "
               "F64 [2])");
  tensors[2].shape = {2};
  tensors[3].dtype = "I32";
  EXPECT_ERROR(load(tensors, map),
               "of another type: W.1 for a part of w (file I32 [2], model F64 "
               "[2])");
  tensors.pop_back();
  EXPECT_ERROR(load(tensors, map),
               "has only some tensors of the parameter 'w': it lacks W.1");
  EXPECT_ERROR(load({storedA}, map), "missing: W.{e} for w");
}

TEST(ExportParameters, WritesAStackInParts) {
  TemporaryFolder folder;
  std::string path = folder.path("p.safetensors");
  Program program =
      ppopt::runtime::readProgram(next_token::program(1, 1).dump());
  ppopt_rank rank(program, next_token::Tasks<1, 1>::list, nullptr, {});
  ppopt_rank loaded(program, next_token::Tasks<1, 1>::list, nullptr, {});
  for (int i = 0; i < next_token::bytes; ++i)
    hostAt(rank, 0)[i] = static_cast<char>(i);
  ParameterMap map = mapOf(R"({"w": {"stack": "W.{e}"}, "unused": "U"})");
  exportParameters(rank, path, map.tensorsOf(program));
  SafetensorsFile file(path);
  int64_t parts = program.parameters[0].globalShape()[0];
  ASSERT_EQ(int64_t(file.tensors().size()), parts + 1);
  for (int64_t part = 0; part < parts; ++part) {
    const StoredTensor *stored = file.find("W." + std::to_string(part));
    ASSERT_TRUE(stored);
    EXPECT_EQ(
        std::memcmp(stored->data,
                    hostAt(rank, next_token::weights) + part * (16 / parts),
                    16 / parts),
        0);
  }
  InitialParameters(program, {{path}}, map)
      .load(*loaded.device, loaded.compute, loaded.places.parameters);
  EXPECT_EQ(std::memcmp(hostAt(rank, next_token::weights),
                        hostAt(loaded, next_token::weights), 16),
            0);
}

TEST(ExportParameters, WritesTheNamesAndTheLayoutOfAMap) {
  TemporaryFolder folder;
  std::string path = folder.path("p.safetensors");
  Program program =
      ppopt::runtime::readProgram(next_token::program(1, 1).dump());
  ppopt_rank rank(program, next_token::Tasks<1, 1>::list, nullptr, {});
  ppopt_rank loaded(program, next_token::Tasks<1, 1>::list, nullptr, {});
  for (int i = 0; i < next_token::bytes; ++i)
    hostAt(rank, 0)[i] = static_cast<char>(i);
  ParameterMap map =
      mapOf(R"({"w": "W", "unused": {"tensor": "U", "transpose": true}})");
  exportParameters(rank, path, map.tensorsOf(program));
  SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.find("U")->shape, (Shape{3, 1}));
  InitialParameters(program, {{path}}, map)
      .load(*loaded.device, loaded.compute, loaded.places.parameters);
  for (auto [offset, bytes] : {std::pair<int, int>{next_token::weights, 16},
                               std::pair<int, int>{next_token::unused, 12}})
    EXPECT_EQ(std::memcmp(hostAt(rank, offset), hostAt(loaded, offset), bytes),
              0);
}

} // namespace
