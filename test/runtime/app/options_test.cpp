//===- options_test.cpp - Flags, rates, parameters, processors ------------===//

#include "app/command_line.h"
#include "app/cpu_check.h"
#include "checkpoint/initial_parameters.h"
#include "checkpoint/parameter_file.h"
#include "checkpoint/tensor_set.h"
#include "executor/rank.h"
#include "host_at.h"
#include "options/launch_command.h"
#include "options/learning_rate.h"
#include "ppopt/nearest_names.h"
#include "train_files.h"
#include "train_program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

using ppopt::nearestName;
using namespace ppopt::train;
using ppopt::runtime::Program;

namespace {

Program program(const std::string &optimizer) {
  nlohmann::json document =
      next_token::program(2, 1, optimizer == "momentum" ? "momentum" : "sgd");
  if (optimizer != "momentum")
    document["plan"]["optimizer"] = optimizer;
  return ppopt::runtime::readProgram(document.dump());
}

Options parse(const std::string &line, const std::string &optimizer = "adamw") {
  std::vector<std::string> arguments = {"./train"};
  std::istringstream words(line);
  for (std::string word; words >> word;)
    arguments.push_back(word);
  return parseCommandLine(program(optimizer), arguments);
}

TEST(CommandLine, ReadsValues) {
  Options options =
      parse("--data d --steps 7 --lr 1e-3 --min-lr=1e-4 --lr-schedule cosine "
            "--warmup 2 --betas 0.8,0.95 --eps 1e-6 --clip 1 --seed 5 "
            "--weight-decay 0.1 --tokens uint16 --check-counters");
  EXPECT_EQ(options.data, std::vector<std::string>{"d"});
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.learningRate.peak, 1e-3);
  EXPECT_EQ(options.learningRate.least, 1e-4);
  EXPECT_EQ(options.learningRate.shape, LearningRateShape::Cosine);
  EXPECT_EQ(options.learningRate.warmup, 2);
  EXPECT_EQ(options.learningRate.steps, 7);
  EXPECT_EQ(options.beta1, 0.8);
  EXPECT_EQ(options.beta2, 0.95);
  EXPECT_EQ(options.eps, 1e-6);
  EXPECT_EQ(options.clip, 1);
  EXPECT_EQ(options.seed, 5);
  EXPECT_EQ(options.weightDecay, 0.1);
  EXPECT_EQ(options.tokens, TokenFormat::Uint16);
  EXPECT_TRUE(options.checkCounters);
  EXPECT_EQ(parse("--data d --momentum 0.5", "momentum").momentum, 0.5);
  EXPECT_EQ(parse("--describe").mode, Mode::Describe);
  EXPECT_EQ(parse("--version").mode, Mode::Version);
  EXPECT_EQ(parse("--describe=json").mode, Mode::DescribeJson);
  EXPECT_EQ(parse("--needs").mode, Mode::Needs);
  EXPECT_FALSE(parse("--inputs f --no-shuffle").shuffle);
  EXPECT_EQ(parse("--data d").skipNonFiniteSteps, 0);
  EXPECT_EQ(parse("--skip-nonfinite-steps --data d").skipNonFiniteSteps, 10);
  EXPECT_EQ(parse("--data d --skip-nonfinite-steps=3").skipNonFiniteSteps, 3);

  Options text = parse("--data d --generate 9 --prompt [a,b] --tokenizer t "
                       "--temperature 0.5 --top-k 3");
  EXPECT_EQ(text.generate, 9);
  EXPECT_EQ(text.prompt, "[a,b]");
  EXPECT_EQ(text.tokenizer, "t");
  EXPECT_EQ(text.temperature, 0.5);
  EXPECT_EQ(text.topK, 3);
  EXPECT_EQ(text.steps, 100);
  EXPECT_EQ(parse("--init p --generate 9 --prompt ---").prompt, "---");
  EXPECT_EQ(parse("--init p --generate 9").steps, 0);
  EXPECT_EQ(parse("--steps 0 --generate 9").steps, 0);
  Options saves = parse("--data d --checkpoint c --checkpoint-every 5 --keep 2 "
                        "--resume --checkpoint-memory 3KiB");
  EXPECT_EQ(saves.checkpoint, "c");
  EXPECT_EQ(saves.checkpointEvery, 5);
  EXPECT_EQ(saves.keep, 2);
  EXPECT_TRUE(saves.resume);
  EXPECT_EQ(saves.checkpointMemory, 3072);
  auto memoryOf = [](const std::string &bytes) {
    return parse("--data d --checkpoint c --checkpoint-memory " + bytes)
        .checkpointMemory;
  };
  EXPECT_EQ(memoryOf("0"), 0);
  EXPECT_EQ(memoryOf("7"), 7);
  EXPECT_EQ(memoryOf("2GB"), 2'000'000'000);
  EXPECT_EQ(memoryOf("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(memoryOf("1.5KiB"), 1536);
  EXPECT_EQ(memoryOf("12B"), 12);
  EXPECT_EQ(memoryOf("8388607TiB"), int64_t{8388607} << 40);
  using Paths = std::vector<std::string>;
  Options rows = parse("--predict a b -o c --init p --predict d");
  EXPECT_EQ(rows.predict, (Paths{"a", "b", "d"}));
  EXPECT_EQ(rows.output, "c");
  EXPECT_EQ(rows.steps, 0);
  EXPECT_FALSE(rows.trains);
  EXPECT_EQ(parse("--predict a --output=c --checkpoint d --resume").output,
            "c");
  Options several = parse("--data a b --eval-data c --steps 3 --data d");
  EXPECT_EQ(several.data, (Paths{"a", "b", "d"}));
  EXPECT_EQ(several.evalData, Paths{"c"});
  EXPECT_EQ(parse("--data [a,b] [c]").data, (Paths{"[a,b]", "[c]"}));
  EXPECT_FALSE(parse("--data d --no-shuffle --no-shuffle").shuffle);
  several = parse("--inputs a b --eval-inputs c d");
  EXPECT_EQ(several.inputs, (Paths{"a", "b"}));
  EXPECT_EQ(several.evalInputs, (Paths{"c", "d"}));
}

TEST(CommandLine, RefusesWhatCannotBeMeant) {
  struct Case {
    const char *line, *message, *optimizer = "adamw";
  };
  const Case cases[] = {
      {"--stpes 3", "unknown flag '--stpes'; did you mean '--steps'?"},
      {"--learning-rate 1", "'--learning-rate'; did you mean '--lr'? (--help"},
      {"--learning_rate=1", "'--learning_rate'; did you mean '--lr'?"},
      {"--weight_decay=1", "did you mean '--weight-decay'?"},
      {"--max-grad-norm=1", "did you mean '--clip'?"},
      {"--num-epochs=1", "did you mean '--epochs'?"},
      {"--batch-size 8",
       "unknown flag '--batch-size'; that is fixed when a program is compiled: "
       "ppopt compile --batch (--help"},
      {"--mesh dp=2", "compiled: ppopt compile --mesh ("},
      {"--num-workers 2", "unknown flag '--num-workers' (--help"},
      {"x --data d", "unexpected argument 'x'"},
      {"--qqqqqqqqqqqq=1", "unknown flag '--qqqqqqqqqqqq' (--help"},
      {"--data d --steps", "--steps: needs a value: --steps N"},
      {"--log --data d", "--log: needs a value: --log FILE"},
      {"--steps 3 --data", "--data: needs a value: --data PATH..."},
      {"--data d --poison=1", "--poison: takes no value"},
      {"--data d --no-shuffle=false", "--no-shuffle: takes no value"},
      {"--describe --describe=json",
       "--describe: given twice, as '' and as 'json'; leave one of them out"},
      {"--describe=json --describe=json", "--describe: given twice, as 'json'"},
      {"--data d --skip-nonfinite-steps --skip-nonfinite-steps 3",
       "as '' and as '3'"},
      {"--data d --steps 1.5", "--steps 1.5: not a whole number"},
      {"--data d --steps -1", "--steps -1: must be at least 0"},
      {"--data d --log-every 0", "--log-every 0: must be at least 1"},
      {"--data d --steps 99999999999999999999", "too large"},
      {"--data d --steps 1 --steps 2",
       "--steps: given twice, as '1' and as '2'; leave one of them out"},
      {"--data d --lr nan", "--lr nan: must be finite"},
      {"--data d --lr inf", "--lr inf: must be finite"},
      {"--data d --lr 1e999", "--lr 1e999: too large or too small"},
      {"--data d --lr 1e-3x", "--lr 1e-3x: not a number"},
      {"--data d --lr -1", "--lr -1: must be at least 0"},
      {"--data d --lr-schedule cosin", "did you mean 'cosine'?"},
      {"--data d --min-lr 0.1", "--min-lr: needs a --lr-schedule"},
      {"--data d --epochs 2 --steps 3", "leave one of them out"},
      {"--data d --epochs 0", "--epochs 0: must be at least 1"},
      {"--data d --lr-decay-steps 2",
       "--lr-decay-steps: needs --lr-schedule wsd"},
      {"--data d --lr-schedule wsd --steps 5 --warmup 2 --lr-decay-steps 4",
       "--lr-decay-steps 4: with --warmup 2 more than --steps 5"},
      {"--data d --lr-schedule inverse-sqrt", "needs --warmup"},
      {"--data d --min-lr 1 --lr-schedule linear", "--min-lr 1: more than"},
      {"--data d --steps 5 --warmup 6", "--warmup 6: more than --steps 5"},
      {"--data d --betas 0.9", "must be two numbers"},
      {"--data d --betas 0.9,1", "--betas 1: must be less than 1"},
      {"--data d --betas 0.9,0.9,0.9", "--betas 0.9,0.9: not a number"},
      {"--data d --eps 0", "--eps 0: must be more than 0"},
      {"--data d --momentum 0.9", "optimizer is adamw, which keeps no"},
      {"--data d --momentum 0.9", "optimizer is sgd, which keeps no", "sgd"},
      {"--data d --betas 0.9,0.9", "optimizer is sgd, which does not", "sgd"},
      {"--data d --eps 1e-3", "optimizer is sgd, which does not", "sgd"},
      {"--data d --tokens uint8", "did you mean 'uint16'?"},
      {"--inputs d --tokens uint16", "--tokens: needs --data"},
      {"--data d --inputs f", "--data and --inputs: give one of them"},
      {"--eval-data d --steps 0 --no-shuffle", "--no-shuffle: needs --data"},
      {"--data d --eval-every 3", "--eval-every: needs --eval-data"},
      {"--data d --eval-batches 3", "--eval-batches: needs --eval-data"},
      {"--data d --eval-data e --eval-every 0", "must be at least 1"},
      {"--data d --eval-data e --eval-inputs f", "give one of them"},
      {"--data d --skip-nonfinite-steps=0",
       "--skip-nonfinite-steps 0: must be at least 1"},
      {"--data d --collectives=mp", "did you mean 'mpi'?"},
      {"--describe=jsn", "did you mean 'json'?"},
      {"--data=", "--data"},
      {"--data d --checkpoint-every 3", "-every: needs --checkpoint FOLDER"},
      {"--data d --keep 3", "--keep: needs --checkpoint FOLDER"},
      {"--data d --resume", "--resume: needs --checkpoint FOLDER"},
      {"--data d --checkpoint-memory 3", "-memory: needs --checkpoint FOLDER"},
      {"--data d --checkpoint c --checkpoint-every 0", "must be at least 1"},
      {"--data d --checkpoint c --keep 0", "--keep 0: must be at least 1"},
      {"--data d --checkpoint c --resume --init p", "--resume and --init"},
      {"--data d --init-map m", "--init-map: needs --init"},
      {"--data d --init p --export-map m", "--export-map: needs --export"},
      {"--data d --checkpoint c --checkpoint-memory 3kb",
       "--checkpoint-memory 3kb: must be an amount of bytes, as 8GiB, 512MB "
       "or 4096"},
      {"--data d --checkpoint c --checkpoint-memory GiB", "GiB: must be an"},
      {"--data d --checkpoint c --checkpoint-memory 1.2.3", "1.2.3: must be"},
      {"--data d --checkpoint c --checkpoint-memory 1e3", "1e3: must be an"},
      {"--data d --checkpoint c --checkpoint-memory 8388608TiB",
       "--checkpoint-memory 8388608TiB: must be an amount of bytes"},
      {"--data d --prompt x", "--prompt: needs --generate N"},
      {"--data d --temperature 1", "--temperature: needs --generate N"},
      {"--data d --top-k 1", "--top-k: needs --generate N"},
      {"--data d --tokenizer x", "--tokenizer: needs --generate N"},
      {"--data d --generate 0", "--generate 0: must be at least 1"},
      {"--data d --generate 1 --temperature -1", "must be at least 0"},
      {"--data d --generate 1 --top-k -1", "--top-k -1: must be at least 0"},
      {"--data d --generate 1 --temperature 0 --top-k 2", "has no effect"},
      {"--generate 1", "--generate: no parameters to generate with"},
      {"--init p --generate 1 --steps 3", "no samples to train on"},
      {"--data d -o f", "--output: needs --predict PATH"},
      {"--data d --only x", "--only: needs --predict PATH"},
      {"--predict x --only=", "--only: needs the name of an output"},
      {"--init p --predict x", "--predict: give -o FILE.safetensors"},
      {"--predict x -o", "-o: needs a value: -o FILE"},
      {"--predict x -o y -o z", "-o: given twice, as 'y' and as 'z'"},
      {"--predict x -o y", "--predict: no parameters to predict with: give "
                           "--init FILE, or --checkpoint FOLDER --resume"},
      {"--predict x -o y --checkpoint c", "--checkpoint: --predict saves"},
      {"--predict x -o y --resume --init p", "--resume: needs --checkpoint"},
      {"--predict x -o y --init p --data d",
       "--data: a run that predicts (--predict) does not use it"},
      {"--predict x -o y --init p --steps 0", "--steps: a run that predicts"},
      {"--predict x -o y --init p --eval-inputs e", "--eval-inputs: a run"},
      {"--predict x -o y --init p --export e", "--export: a run that"},
      {"--predict x -o y --init p --log l", "--log: a run that predicts"},
      {"--predict x -o y --init p --trace t", "--trace: a run that predicts"},
      {"--predict x -o y --init p --generate 3", "--generate: a run that"},
      {"", "no samples to train on"},
  };
  for (const Case &wrong : cases) {
    SCOPED_TRACE(wrong.line);
    EXPECT_ERROR(parse(wrong.line, wrong.optimizer), wrong.message);
  }
}

TEST(CommandLine, NamesTheLaunchThatWorks) {
  std::string command = launchCommand(64, {"./train", "--data", "a b", "it's"});
  EXPECT_NE(
      command.find("mpirun --oversubscribe --bind-to none --mca "
                   "odls_base_sigkill_timeout 10 --mca btl self,vader -np 64 "
                   "./train --data 'a b' 'it'\\''s'"),
      std::string::npos)
      << command;
  EXPECT_EQ(launchCommand(1, {"./train"}), "./train");
}

TEST(LearningRate, WarmsUpAndDecays) {
  LearningRateSchedule rate;
  rate.peak = 1;
  rate.least = 0.1;
  rate.warmup = 4;
  rate.steps = 14;
  EXPECT_DOUBLE_EQ(rate.at(0), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(3), 1);
  EXPECT_DOUBLE_EQ(rate.at(13), 1);
  rate.shape = LearningRateShape::Linear;
  EXPECT_DOUBLE_EQ(rate.at(3), 1);
  EXPECT_DOUBLE_EQ(rate.at(4), 0.91);
  EXPECT_DOUBLE_EQ(rate.at(8), 0.55);
  EXPECT_EQ(rate.at(13), 0.1);
  rate.shape = LearningRateShape::Cosine;
  EXPECT_DOUBLE_EQ(rate.at(3), 1);
  EXPECT_DOUBLE_EQ(rate.at(8), 0.55);
  EXPECT_NEAR(rate.at(12), 0.1 + 0.9 * 0.024472, 1e-6);
  EXPECT_EQ(rate.at(13), 0.1);
}

TEST(LearningRate, StaysUntilTheLastSteps) {
  LearningRateSchedule rate;
  rate.shape = LearningRateShape::Wsd;
  rate.peak = 1;
  rate.least = 0.2;
  rate.warmup = 2;
  rate.steps = 10;
  rate.decaySteps = 4;
  EXPECT_EQ(rate.at(0), 0.5);
  EXPECT_EQ(rate.at(5), 1);
  EXPECT_DOUBLE_EQ(rate.at(6), 0.8);
  EXPECT_EQ(rate.at(9), 0.2);
  rate.decaySteps = 100; // no more than are left
  EXPECT_EQ(rate.at(1), 1);
  EXPECT_DOUBLE_EQ(rate.at(5), 0.6);
}

TEST(LearningRate, FallsAsTheRootOfTheStep) {
  LearningRateSchedule rate;
  rate.shape = LearningRateShape::InverseSqrt;
  rate.peak = 1;
  rate.least = 0.25;
  rate.warmup = 4;
  rate.steps = 10; // has no part in it
  EXPECT_EQ(rate.at(3), 1);
  EXPECT_EQ(rate.at(15), 0.5);
  EXPECT_EQ(rate.at(63), 0.25);
  EXPECT_EQ(rate.at(1000), 0.25);
}

TEST(LearningRate, ReachesBothEndsWhereThereIsRoomForThem) {
  LearningRateSchedule rate;
  rate.peak = 1;
  rate.least = 0.1;
  rate.shape = LearningRateShape::Linear;
  rate.steps = 3;
  EXPECT_EQ(rate.at(0), 1);
  EXPECT_DOUBLE_EQ(rate.at(1), 0.55);
  EXPECT_EQ(rate.at(2), 0.1);
  rate.warmup = 2; // one step is left to fall
  EXPECT_EQ(rate.at(0), 0.5);
  EXPECT_EQ(rate.at(1), 1);
  EXPECT_EQ(rate.at(2), 0.1);
  rate.warmup = 3; // none is
  EXPECT_EQ(rate.at(2), 1);
  rate.warmup = 1;
  rate.steps = 1;
  EXPECT_EQ(rate.at(0), 1);
  rate.warmup = 0;
  EXPECT_EQ(rate.at(0), 1);
}

TEST(NearestName, IsEmptyWhereNothingIsNear) {
  EXPECT_EQ(nearestName("cosin", {"linear", "cosine"}), "cosine");
  EXPECT_EQ(nearestName("xyzzy", {"linear", "cosine"}), "");
  EXPECT_EQ(nearestName("--learning-rate", {"--generate", "--lr"}), "");
  EXPECT_EQ(nearestName("--stpes", {"--eps", "--steps"}), "--steps");
  EXPECT_EQ(nearestName("--Weight_Decay", {"--weight-decay"}),
            "--weight-decay");
  EXPECT_EQ(nearestName("a", {}), "");
}

TEST(CpuCheck, NamesWhatIsMissing) {
  std::vector<std::string> machine = {"sse2", "sse4_1", "bmi1", "pni"};
  EXPECT_EQ(missingFeatures({"+sse2", "+sse4.1", "+bmi", "+sse3", "-avx2",
                             "+prfchw", "+invented"},
                            machine),
            std::vector<std::string>{});
  EXPECT_EQ(missingFeatures({"+avx512f", "+sse2", "+avx2"}, machine),
            (std::vector<std::string>{"avx2", "avx512f"}));
}

TEST(InitialParameters, MustBeTheModels) {
  TemporaryFolder folder;
  Program sgd = ppopt::runtime::readProgram(next_token::program(1, 1).dump());
  std::string path = folder.path("p.safetensors");
  ppopt_rank rank(sgd, next_token::Tasks<1, 1>::list, nullptr, {});
  ppopt_rank loaded(sgd, next_token::Tasks<1, 1>::list, nullptr, {});
  char *arena = hostAt(rank, 0);
  for (int i = 0; i < next_token::bytes; ++i)
    arena[i] = static_cast<char>(i);
  exportParameters(rank, path);
  InitialParameters(sgd, {{path}})
      .load(*loaded.device, loaded.compute, loaded.places.parameters);
  for (auto [offset, bytes] : {std::pair<int, int>{next_token::weights, 16},
                               std::pair<int, int>{next_token::unused, 12}})
    EXPECT_EQ(std::memcmp(arena + offset, hostAt(loaded, offset), bytes), 0);
  EXPECT_EQ(*hostAt(loaded, next_token::gradient), 0);

  auto init = [&](const std::vector<TensorToStore> &tensors) {
    writeSafetensors(path, tensors);
    InitialParameters(sgd, {{path}});
  };
  TensorToStore w{"w", "F64", {2}, arena};
  TensorToStore unused{"unused", "F32", {1, 3}, arena};
  init({w, unused});
  EXPECT_ERROR(init({w}), "missing: unused");
  EXPECT_ERROR(init({w, unused, {"x", "U8", {1}, arena}}),
               "not a parameter: x");
  EXPECT_ERROR(init({w, {"unused", "F32", {3, 1}, arena}}),
               "of another shape: unused (file F32 [3, 1], model F32 [1, 3]"
               ": the file's is transposed)");
  EXPECT_ERROR(init({{"w", "I64", {2}, arena}, unused}),
               "of another type: w (file I64 [2], model F64 [2]) (only F64, "
               "F32, F16 and BF16 are converted to each other)");
  EXPECT_ERROR(init({{"v", "F64", {2}, arena}, unused}),
               "missing: w; not a parameter: v");
}

TEST(InitialParameters, MayHaveAliases) {
  TemporaryFolder folder;
  std::string path = folder.path("p.safetensors");
  auto document = next_token::program(1, 1);
  document["parameters"][0]["aliases"] = {"v", "a"};
  Program program = ppopt::runtime::readProgram(document.dump());
  ppopt_rank rank(program, next_token::Tasks<1, 1>::list, nullptr, {});
  double values[2] = {1, 2}, others[2] = {1, 3};
  std::memcpy(hostAt(rank, next_token::weights), values, sizeof values);
  exportParameters(rank, path);
  SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 4u);
  for (const char *name : {"w", "v", "a"})
    EXPECT_EQ(std::memcmp(file.find(name)->data, values, sizeof values), 0);

  auto load = [&](std::vector<TensorToStore> tensors) {
    float unused[3] = {};
    tensors.push_back({"unused", "F32", {1, 3}, unused});
    writeSafetensors(path, tensors);
    ppopt_rank loaded(program, next_token::Tasks<1, 1>::list, nullptr, {});
    InitialParameters(program, {{path}})
        .load(*loaded.device, loaded.compute, loaded.places.parameters);
    return std::memcmp(hostAt(loaded, next_token::weights), values,
                       sizeof values) == 0;
  };
  TensorToStore w{"w", "F64", {2}, values}, v{"v", "F64", {2}, values},
      a{"a", "F64", {2}, values};
  EXPECT_TRUE(load({w}));
  EXPECT_TRUE(load({a}));
  EXPECT_TRUE(load({w, v, a}));
  EXPECT_TRUE(load({v, a}));
  EXPECT_ERROR(load({}), "missing: w");
  a.data = others;
  EXPECT_ERROR(load({w, v, a}),
               "the tensors 'a' and 'w' differ, and are one parameter of this "
               "model: it needs a parameter of its own for the first");
  EXPECT_ERROR(load({v, a}), "the tensors 'a' and 'v' differ");
  EXPECT_ERROR(load({{"v", "I32", {2}, values}}),
               "of another type: v for w (file I32 [2], model F64 [2])");
}

TEST(InitialParameters, OfASquareMatrixMayBeOfAnotherType) {
  TemporaryFolder folder;
  float values[4] = {};
  std::string path = folder.path("p.safetensors");
  writeSafetensors(path, {{"w", "F32", {2, 2}, values}});
  std::vector<WantedTensor> wanted(1);
  wanted[0].name = "w";
  wanted[0].dtype = "BF16";
  wanted[0].shape = {2, 2};
  EXPECT_EQ(TensorSet({path}).differencesFrom(wanted, "extra"),
            "of another type: w (file F32 [2, 2], model BF16 [2, 2])");
}

TEST(ExportGradients, WritesThoseThatExist) {
  TemporaryFolder folder;
  std::string path = folder.path("g.safetensors");
  Program sgd = ppopt::runtime::readProgram(next_token::program(1, 1).dump());
  ppopt_rank rank(sgd, next_token::Tasks<1, 1>::list, nullptr, {});
  double gradient[2] = {3, 4};
  std::memcpy(hostAt(rank, next_token::gradient), gradient, sizeof(gradient));
  exportGradients(rank, path);
  SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "w");
  EXPECT_EQ(std::memcmp(file.tensors()[0].data, gradient, sizeof(gradient)), 0);
}

} // namespace
