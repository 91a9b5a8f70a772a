//===- sampler_test.cpp - Samples depend on seed and step alone -----------===//

#include "data/safetensors.h"
#include "data/sample_feed.h"
#include "data/sampler.h"
#include "device/cpu/cpu_device.h"
#include "train_files.h"
#include "train_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace ppopt::train;
using next_token::rows;
using next_token::width;
using ppopt::runtime::ElementType;
using ppopt::runtime::Program;

namespace {

Program program(int ranks, int microbatches = 1) {
  return ppopt::runtime::readProgram(
      next_token::program(ranks, microbatches).dump());
}

/// `tokens` then `targets` of all rows of a batch, gathered from all ranks.
std::vector<int32_t> gather(const Program &program, const Sampler &sampler,
                            int64_t batch) {
  std::vector<int32_t> values;
  for (int offset : {next_token::tokens, next_token::targets})
    for (int64_t rank = 0; rank < program.plan.ranks(); ++rank) {
      std::vector<char> arena(next_token::bytes);
      sampler.fill(
          batch, rank,
          ppopt::runtime::inputBuffers(program.placeOf(rank), arena.data()));
      const int32_t *first =
          reinterpret_cast<const int32_t *>(arena.data() + offset);
      values.insert(values.end(), first,
                    first + rows * width / program.plan.ranks());
    }
  return values;
}

Sampler tokenSampler(const Program &program, const std::string &path,
                     int64_t seed) {
  std::shared_ptr<SampleReader> reader =
      makeTokenReader(program, {path}, TokenFormat::Bytes, "--data");
  uint64_t count = reader->count();
  return Sampler(program, std::move(reader),
                 std::make_unique<ShuffledOrder>(seed, count));
}

std::string text(int length) {
  std::string bytes;
  for (int i = 0; i < length; ++i)
    bytes += static_cast<char>(i * 37 + i / 256);
  return bytes;
}

TEST(Sampler, BatchesAreTheSameUnderEveryPlan) {
  TemporaryFolder folder;
  std::string path = folder.write("text", text(5000));
  Program one = program(1);
  Sampler reference = tokenSampler(one, path, 3);
  for (int ranks : {2, 3, 4}) {
    Program several = program(ranks);
    Sampler sampler = tokenSampler(several, path, 3);
    for (int64_t batch : {0, 1, 1000})
      EXPECT_EQ(gather(one, reference, batch), gather(several, sampler, batch));
  }
  EXPECT_NE(gather(one, reference, 0), gather(one, reference, 1));
  EXPECT_NE(gather(one, reference, 0),
            gather(one, tokenSampler(one, path, 4), 0));
}

TEST(Sampler, TargetsAreTheTokensShiftedByOne) {
  TemporaryFolder folder;
  Program one = program(1);
  std::vector<int32_t> batch =
      gather(one, tokenSampler(one, folder.write("text", text(5000)), 0), 0);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i + 1 < width; ++i)
      EXPECT_EQ(batch[row * width + i + 1], batch[(rows + row) * width + i]);
}

/// First tokens of the windows of batches [0, batches).
std::vector<int32_t> firstTokens(const Program &program, const Sampler &sampler,
                                 int64_t batches) {
  std::vector<int32_t> firsts;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<int32_t> values = gather(program, sampler, batch);
    for (int row = 0; row < rows; ++row)
      firsts.push_back(values[row * width]);
  }
  return firsts;
}

TEST(Sampler, EachWindowIsTakenOnceAnEpoch) {
  TemporaryFolder folder;
  Program two = program(2);
  // A batch has 12: epochs that end within a batch, and with one.
  for (int windows : {1, 5, 12, 17, 36, 31}) {
    SCOPED_TRACE(windows);
    // Window k begins with token k.
    std::string first = "";
    for (int i = 0; i < windows; ++i)
      first += static_cast<char>(i) + std::string(width - 1, '\x7f');
    size_t cut = (windows / 3) * width; // a window at least in the last file
    folder.write("data/a",
                 first.substr(0, cut) + std::string(cut ? 1 : 0, 'x'));
    folder.write("data/b", first.substr(cut) + "x");
    Sampler sampler = tokenSampler(two, folder.path("data"), 5);
    ASSERT_EQ(sampler.reader().count(), static_cast<uint64_t>(windows));
    std::vector<int32_t> firsts = firstTokens(two, sampler, windows);
    std::vector<std::vector<int32_t>> epochs;
    for (int epoch = 0; epoch < rows; ++epoch) {
      auto begin = firsts.begin() + epoch * windows;
      epochs.emplace_back(begin, begin + windows);
      std::vector<int32_t> sorted = epochs.back();
      std::sort(sorted.begin(), sorted.end());
      for (int i = 0; i < windows; ++i)
        EXPECT_EQ(sorted[i], i);
    }
    if (windows >= 5) {
      EXPECT_NE(epochs[0], epochs[1]);
    }
  }
}

//===----------------------------------------------------------------------===//
// Reading ahead
//===----------------------------------------------------------------------===//

/// What a rank's inputs hold after a batch.
struct Inputs {
  explicit Inputs(const Program &program, int64_t rank = 0)
      : arena(next_token::bytes), buffers(ppopt::runtime::inputBuffers(
                                      program.placeOf(rank), arena.data())),
        fed(ppopt::runtime::inputBuffers(
            program.placeOf(rank),
            ppopt::device::DevicePointer(arena.data()))) {}
  std::vector<char> arena;
  std::vector<ppopt::runtime::HostBuffer> buffers;
  std::vector<ppopt::runtime::Buffer> fed; ///< the same, for a SampleFeed
};

std::unique_ptr<ppopt::device::Device> cpu = ppopt::device::makeCpuDevice(1);

TEST(SampleFeed, GivesTheSameWhateverWasReadAhead) {
  TemporaryFolder folder;
  Program two = program(2);
  Sampler training = tokenSampler(two, folder.write("t", text(5000)), 3);
  Sampler evaluation = tokenSampler(two, folder.write("e", text(3000)), 4);
  for (int64_t rank : {0, 1}) {
    Inputs fed(two, rank), direct(two, rank);
    SampleFeed feed(two, *cpu, fed.fed, rank);
    for (int64_t batch = 0; batch < 200; ++batch) {
      const Sampler &sampler = batch % 7 == 3 ? evaluation : training;
      if (batch % 5 != 0)
        feed.prefetch(sampler, batch); // what is taken
      if (batch % 11 == 0)
        feed.prefetch(sampler, batch + 1); // and what is not
      if (batch % 13 == 0)
        feed.prefetch(evaluation, batch);
      feed.fill(sampler, batch);
      sampler.fill(batch, rank, direct.buffers);
      ASSERT_EQ(fed.arena, direct.arena) << batch;
    }
  }
}

TEST(SampleFeed, FillsEveryCopyOfAnInput) {
  TemporaryFolder folder;
  Program one = program(1);
  Sampler sampler = tokenSampler(one, folder.write("t", text(5000)), 3);
  Inputs first(one), second(one), direct(one);
  std::vector<ppopt::runtime::Buffer> both = first.fed;
  both.insert(both.end(), second.fed.begin(), second.fed.end());
  SampleFeed feed(one, *cpu, both, 0);
  feed.fill(sampler, 8);
  sampler.fill(8, 0, direct.buffers);
  EXPECT_EQ(first.arena, direct.arena);
  EXPECT_EQ(second.arena, direct.arena);
}

TEST(SampleFeed, ThrowsInTheStepThatNeedsTheSamples) {
  TemporaryFolder folder;
  Program one = program(1);
  std::string path = folder.write("t", text(5000));
  Sampler sampler = tokenSampler(one, path, 3);
  Sampler other = tokenSampler(one, folder.write("o", text(5000)), 3);
  Inputs inputs(one);
  SampleFeed feed(one, *cpu, inputs.fed, 0);
  feed.fill(sampler, 0);
  std::filesystem::resize_file(path, 100);
  feed.prefetch(sampler, 1); // fails while the step before goes on
  feed.prefetch(sampler, 2);
  EXPECT_ERROR(feed.fill(sampler, 2), "shrank while training");
  EXPECT_ERROR(feed.fill(sampler, 1), "shrank while training");
  feed.prefetch(sampler, 3);
  feed.fill(other, 3);
}

TEST(SampleFeed, OfARankWithoutInputsHasNothingToDo) {
  TemporaryFolder folder;
  Program one = program(1);
  Sampler sampler = tokenSampler(one, folder.write("t", text(5000)), 3);
  SampleFeed feed(one, *cpu, {}, 0);
  feed.prefetch(sampler, 0);
  feed.fill(sampler, 0);
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

TEST(SampleOrder, ShuffledIsAnotherPermutationInEachEpoch) {
  for (uint64_t count : {1, 2, 3, 5, 16, 17, 1000}) {
    ShuffledOrder order(7, count);
    std::vector<uint64_t> first, second, sorted(count);
    std::iota(sorted.begin(), sorted.end(), uint64_t{0});
    for (uint64_t i = 0; i < count; ++i) {
      first.push_back(order.at(i));
      second.push_back(order.at(count + i));
    }
    EXPECT_TRUE(
        std::is_permutation(first.begin(), first.end(), sorted.begin()));
    EXPECT_TRUE(
        std::is_permutation(second.begin(), second.end(), sorted.begin()));
    if (count >= 16) {
      EXPECT_NE(first, sorted);
      EXPECT_NE(first, second);
      std::vector<uint64_t> otherSeed;
      for (uint64_t i = 0; i < count; ++i)
        otherSeed.push_back(ShuffledOrder(8, count).at(i));
      EXPECT_NE(first, otherSeed);
    }
  }
}

TEST(SampleOrder, ShuffledTakesEachPlaceAboutEquallyOften) {
  constexpr uint64_t kCount = 5;
  ShuffledOrder order(0, kCount);
  std::vector<int> at0(kCount);
  for (uint64_t epoch = 0; epoch < 5000; ++epoch)
    ++at0.at(order.at(epoch * kCount));
  for (int count : at0)
    EXPECT_NEAR(count, 1000, 150);
}

TEST(SampleOrder, SequentialAndSpaced) {
  EXPECT_EQ(SequentialOrder(4).at(9), 1u);
  SpacedOrder spaced(100, 4);
  EXPECT_EQ(spaced.at(0), 0u);
  EXPECT_EQ(spaced.at(1), 25u);
  EXPECT_EQ(spaced.at(3), 75u);
  std::set<uint64_t> all;
  for (uint64_t i = 0; i < 7; ++i)
    all.insert(SpacedOrder(7, 7).at(i));
  EXPECT_EQ(all.size(), 7u);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

struct Tensors {
  std::vector<int32_t> tokens, targets;
  std::vector<TensorToStore> list;

  explicit Tensors(int64_t samples) {
    for (int64_t i = 0; i < samples * width; ++i) {
      tokens.push_back(static_cast<int32_t>(i % 256));
      targets.push_back(static_cast<int32_t>((i * 3) % 256));
    }
    list = {{"tokens", "I32", {samples, width}, tokens.data()},
            {"targets", "I32", {samples, width}, targets.data()}};
  }
};

TEST(TensorReader, ReadsRows) {
  TemporaryFolder folder;
  std::string path = folder.path("x.safetensors");
  Tensors tensors(5);
  writeSafetensors(path, tensors.list);
  for (int ranks : {1, 3}) {
    Program several = program(ranks);
    Sampler sampler(several, makeTensorReader(several, {path}, "--inputs"),
                    std::make_unique<SequentialOrder>(5));
    std::vector<int32_t> batch = gather(several, sampler, 1);
    for (int row = 0; row < rows; ++row)
      for (int i = 0; i < width; ++i) {
        int from = (rows + row) % 5 * width + i;
        EXPECT_EQ(batch[row * width + i], tensors.tokens[from]);
        EXPECT_EQ(batch[(rows + row) * width + i], tensors.targets[from]);
      }
  }
}

TEST(TensorReader, ReadsSeveralFiles) {
  TemporaryFolder folder;
  Program one = program(1);
  Tensors all(12);
  // 5 and 7 samples, by folder and by name.
  constexpr int kFirst = 5;
  writeSafetensors(
      folder.path("b"),
      {{"tokens", "I32", {7, width}, &all.tokens[kFirst * width]},
       {"targets", "I32", {7, width}, &all.targets[kFirst * width]}});
  std::filesystem::create_directory(folder.path("a"));
  writeSafetensors(folder.path("a/x.safetensors"),
                   {{"tokens", "I32", {kFirst, width}, all.tokens.data()},
                    {"targets", "I32", {kFirst, width}, all.targets.data()}});
  folder.write("a/README", "no samples");
  Sampler sampler(
      one,
      makeTensorReader(one, {folder.path("b"), folder.path("a")}, "--inputs"),
      std::make_unique<SequentialOrder>(12));
  EXPECT_EQ(sampler.reader().count(), 12u);
  std::vector<int32_t> expected = all.tokens;
  expected.insert(expected.end(), all.targets.begin(), all.targets.end());
  EXPECT_EQ(gather(one, sampler, 0), expected);
  std::filesystem::resize_file(folder.path("b"), 100);
  EXPECT_ERROR(gather(one, sampler, 0), "/b: shrank while training, from ");
  std::filesystem::create_directory(folder.path("c"));
  EXPECT_ERROR(makeTensorReader(one, {folder.path("c")}, "--inputs"),
               "the folder holds no .safetensors files");
}

/// Rows `first` to 255 of four bytes, which differ in each place.
std::vector<unsigned char> pixels(int first) {
  std::vector<unsigned char> bytes;
  for (int row = first; row < 256; ++row)
    for (int i = 0; i < 4; ++i)
      bytes.push_back(static_cast<unsigned char>(row + i));
  return bytes;
}

/// What a reader gives for a row of the first input, followed by a guard that
/// is not to be written.
template <typename T>
std::vector<T> readRow(const SampleReader &reader, uint64_t sample) {
  std::vector<T> row(4 + 1, T(77));
  reader.read(sample, 0, {{0, reinterpret_cast<char *>(row.data())}});
  EXPECT_EQ(row.back(), T(77));
  row.pop_back();
  return row;
}

/// A program with one input of rows of 4, of this type and without a range.
Program programOf(ElementType type) {
  Program result = program(1);
  result.inputs.resize(1);
  result.inputs[0].shape = {rows, 4};
  result.inputs[0].type = type;
  result.inputs[0].parts.clear();
  return result;
}

template <typename T> void expectConverted(ElementType type) {
  SCOPED_TRACE(spell(type));
  TemporaryFolder folder;
  std::string path = folder.path("x");
  std::vector<unsigned char> bytes = pixels(0);
  writeSafetensors(path, {{"tokens", "U8", {256, 4}, bytes.data()}});
  TensorNotes notes;
  auto reader = makeTensorReader(programOf(type), {path}, "--inputs", &notes);
  EXPECT_EQ(notes.converted, std::set<std::string>{"tokens"});
  for (uint64_t sample = 0; sample < 256; ++sample)
    EXPECT_EQ(readRow<T>(*reader, sample),
              std::vector<T>(&bytes[4 * sample], &bytes[4 * sample] + 4));
}

TEST(TensorReader, ConvertsBytes) {
  expectConverted<float>(ElementType::f32);
  expectConverted<double>(ElementType::f64);
  expectConverted<int32_t>(ElementType::i32);
  expectConverted<int64_t>(ElementType::i64);
}

TEST(TensorReader, ConvertsBytesToBf16) {
  TemporaryFolder folder;
  std::string path = folder.path("x");
  std::vector<unsigned char> bytes = {0, 1, 3, 255};
  writeSafetensors(path, {{"tokens", "U8", {1, 4}, bytes.data()}});
  auto reader =
      makeTensorReader(programOf(ElementType::bf16), {path}, "--inputs");
  EXPECT_EQ(readRow<uint16_t>(*reader, 0),
            (std::vector<uint16_t>{0, 0x3f80, 0x4040, 0x437f}));
}

// Each file has a type of its own.
TEST(TensorReader, ConvertsFilesOfBytesBesideOthers) {
  TemporaryFolder folder;
  std::vector<unsigned char> bytes = pixels(254);
  std::vector<float> floats = {0.5, -1, 300, 2};
  writeSafetensors(folder.path("a"), {{"tokens", "U8", {2, 4}, bytes.data()}});
  writeSafetensors(folder.path("b"),
                   {{"tokens", "F32", {1, 4}, floats.data()}});
  writeSafetensors(folder.path("c"), {{"tokens", "U8", {2, 4}, bytes.data()}});
  auto reader = makeTensorReader(
      programOf(ElementType::f32),
      {folder.path("a"), folder.path("b"), folder.path("c")}, "--inputs");
  ASSERT_EQ(reader->count(), 5u);
  std::vector<float> first = {254, 255, 0, 1}, second = {255, 0, 1, 2};
  EXPECT_EQ(readRow<float>(*reader, 0), first);
  EXPECT_EQ(readRow<float>(*reader, 1), second);
  EXPECT_EQ(readRow<float>(*reader, 2), floats);
  EXPECT_EQ(readRow<float>(*reader, 3), first);
  EXPECT_EQ(readRow<float>(*reader, 4), second);
}

TEST(TensorReader, ChecksConvertedIds) {
  TemporaryFolder folder;
  Program one = programOf(ElementType::i64);
  one.inputs[0].parts = {{{0}, {4}, {/*size=*/10, std::nullopt, ""}}};
  std::vector<unsigned char> bytes(8, 9);
  bytes[6] = 10;
  writeSafetensors(folder.path("x"), {{"tokens", "U8", {2, 4}, bytes.data()}});
  auto reader = makeTensorReader(one, {folder.path("x")}, "--inputs");
  readRow<int64_t>(*reader, 0);
  EXPECT_ERROR(readRow<int64_t>(*reader, 1),
               "/x: 'tokens' sample 1 element 2: 10 is outside the model's "
               "range of 10 (0 to 9)");
}

TEST(TensorReader, RefusesBytesForBooleans) {
  TemporaryFolder folder;
  std::vector<unsigned char> bytes(4, 1);
  writeSafetensors(folder.path("x"), {{"tokens", "U8", {1, 4}, bytes.data()}});
  EXPECT_ERROR(makeTensorReader(programOf(ElementType::i1), {folder.path("x")},
                                "--inputs"),
               "the file has U8 [1, 4]: store it as BOOL");
}

TEST(TokenReader, TellsOfItsFiles) {
  TemporaryFolder folder;
  Program one = program(1);
  folder.write("data/a", text(100));
  folder.write("data/b", text(202));
  folder.write("data/c", "short");
  auto files =
      makeTokenReader(one, {folder.path("data")}, TokenFormat::Bytes, "--data")
          ->files();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, folder.path("data/a"));
  EXPECT_EQ(files[1].bytes, 202u);
  auto written = std::filesystem::last_write_time(folder.path("data/b"));
  std::filesystem::last_write_time(folder.path("data/b"),
                                   written + std::chrono::seconds(1));
  auto later =
      makeTokenReader(one, {folder.path("data")}, TokenFormat::Bytes, "--data")
          ->files();
  EXPECT_EQ(later[0].written, files[0].written);
  EXPECT_EQ(later[1].written, files[1].written + 1000000000);
}

TEST(TensorReader, RefusesWhatTheModelDoesNotTake) {
  TemporaryFolder folder;
  std::string path = folder.path("x.safetensors");
  Program one = program(1);
  Tensors tensors(5);
  auto read = [&](const std::vector<TensorToStore> &list) {
    writeSafetensors(path, list);
    std::vector<char> arena(next_token::bytes);
    auto reader = makeTensorReader(one, {path}, "--inputs");
    for (uint64_t i = 0; i < reader->count(); ++i)
      reader->read(i, 0,
                   ppopt::runtime::inputBuffers(one.places[0], arena.data()));
  };
  auto &tokens = tensors.list[0], &targets = tensors.list[1];
  read(tensors.list);
  EXPECT_ERROR(read({tokens}), "missing: targets");
  EXPECT_ERROR(read({tokens, {"x", "I32", {1}, tokens.data}}),
               "missing: targets; not an input: x");
  read({tokens, targets, {"x", "I32", {1}, tokens.data}});
  TensorNotes notes;
  makeTensorReader(one, {path}, "--inputs", &notes);
  EXPECT_EQ(notes.others, std::set<std::string>{"x"});
  EXPECT_EQ(notes.converted, std::set<std::string>());
  EXPECT_ERROR(read({tokens, {"targets", "F32", {5, width}, targets.data}}),
               "input 'targets' is i32 [12, 8], the file has F32 [5, 8]: store "
               "it as I32, or as U8, which is converted");
  for (const char *dtype : {"I8", "BOOL"})
    EXPECT_ERROR(read({tokens, {"targets", dtype, {5, width}, targets.data}}),
                 "store it as I32, or as U8");
  EXPECT_ERROR(read({tokens, {"targets", "I32", {5, 4, 2}, targets.data}}),
               "only the first size");
  EXPECT_ERROR(read({tokens, {"targets", "I32", {5, 7}, targets.data}}),
               "only the first size");
  EXPECT_ERROR(read({tokens, {"targets", "I32", {}, targets.data}}),
               "only the first size");
  EXPECT_ERROR(read({tokens, {"targets", "I32", {4, width}, targets.data}}),
               "'tokens' has 5 samples");
  EXPECT_ERROR(read({{"tokens", "I32", {0, width}, nullptr},
                     {"targets", "I32", {0, width}, nullptr}}),
               "the tensors hold no samples");
  tensors.targets[11] = -100; // ignore_index
  read(tensors.list);
  tensors.tokens[11] = -100;
  EXPECT_ERROR(read(tensors.list), "'tokens' sample 1 element 3: -100 is "
                                   "outside the model's range of 256");
  tensors.tokens[11] = 256;
  EXPECT_ERROR(read(tensors.list), "256 is outside");
}

} // namespace
