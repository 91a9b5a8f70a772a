//===- sharded_test.cpp - Checkpoints of programs with shards -------------===//

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/share_writer.h"
#include "device/conformance/devices.h"
#include "sharded_ranks.h"
#include "train_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>

using namespace sharded;
using namespace ppopt::train;

namespace {

constexpr int64_t everything = std::numeric_limits<int64_t>::max();

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// Saves a checkpoint into `folder`; `check` sees each rank's errors and files.
void save(const Layout &layout, const std::string &folder, int64_t memory,
          const std::function<void(int64_t rank, ShareWriter &)> &check = {},
          const std::function<void(const ppopt_rank &)> &spoil = {}) {
  Program program = read(layout);
  std::mutex mutex;
  std::map<int64_t, std::vector<ManifestFile>> files;
  onRanks(program, [&](ppopt_rank &rank) {
    fill(layout, rank);
    if (spoil)
      spoil(rank);
    ShareWriter writer(rank, memory);
    writer.begin(folder);
    fillAll(rank, 0x41); // the rank goes on
    writer.wait();
    std::lock_guard<std::mutex> lock(mutex);
    if (check)
      return check(rank.index, writer);
    ASSERT_EQ(writer.thread().error(), "");
    files[rank.index] = writer.files();
  });
  Manifest manifest;
  manifest.model = program.model;
  manifest.modelHash = program.modelHash;
  manifest.step = manifest.updates = 1;
  manifest.samples.batch = 1;
  manifest.flags = {{"seed", "0"}};
  manifest.samples.order = manifest.samples.format = "none";
  for (const auto &[rank, list] : files)
    for (const ManifestFile &file : list)
      if (file.bytes > 0)
        manifest.files.push_back(file);
  std::ofstream(folder + "/" + kManifestName, std::ios::binary)
      << printManifest(manifest);
}

std::vector<std::string> tensorFiles(const std::string &folder) {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == kTensorExtension)
      paths.push_back(entry.path());
  return paths;
}

/// Expects the files to have exactly the model's tensors, with global shapes,
/// each once.
void expectTensors(const Program &program, const std::string &folder) {
  TensorSet set(tensorFiles(folder));
  size_t wanted = 0;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const runtime::Parameter &parameter = program.parameters[i];
    for (auto [kind, name] :
         {std::pair(Value, parameter.name), std::pair(M, "m/" + parameter.name),
          std::pair(V, "v/" + parameter.name)}) {
      const StoredTensor *tensor = set.find(name);
      if (kind != Value && !program.learns(int64_t(i))) {
        EXPECT_EQ(tensor, nullptr);
        continue;
      }
      ++wanted;
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(tensor->shape, parameter.globalShape());
      std::string found(reinterpret_cast<const char *>(tensor->data),
                        tensor->bytes);
      EXPECT_TRUE(found ==
                  bytesOf(parameter, int(i), kind, allElements(parameter)))
          << name;
    }
  }
  EXPECT_EQ(set.tensors().size(), wanted);
}

/// Expects every rank of another layout to find what it has in a checkpoint:
/// read for all ranks of a process, and by each rank for itself.
void expectLoads(const Layout &layout, const std::string &folder) {
  Program program = read(layout);
  Checkpoint shared(folder, program, std::optional<int64_t>());
  shared.checkFits();
  onRanks(program, [&](ppopt_rank &rank) {
    fillAll(rank, 0x3f);
    shared.load(rank);
    expectFilled(layout, rank, 0x3f, {Value, M, V});
    if (layout.local)
      return;
    Checkpoint own(folder, program, rank.index);
    fillAll(rank, 0x3f);
    own.load(rank);
    expectFilled(layout, rank, 0x3f, {Value, M, V});
  });
}

class ShardedCheckpoint : public testing::TestWithParam<Layout> {};

TEST_P(ShardedCheckpoint, IsWholeWithAnyMemory) {
  Program program = read(GetParam());
  for (int64_t memory :
       {int64_t{0}, int64_t{5}, int64_t{2001}, int64_t{9000}, everything}) {
    SCOPED_TRACE(memory);
    TemporaryFolder folder;
    save(GetParam(), folder.path(""), memory);
    expectTensors(program, folder.path(""));
  }
}

TEST_P(ShardedCheckpoint, ResumesUnderAnyLayout) {
  TemporaryFolder folder;
  save(GetParam(), folder.path(""), everything);
  for (const Layout &other : layoutsLike(GetParam())) {
    SCOPED_TRACE(nameOf(other));
    expectLoads(other, folder.path(""));
  }
}

TEST_P(ShardedCheckpoint, IsTheSameEachTime) {
  TemporaryFolder one, other;
  save(GetParam(), one.path(""), everything);
  save(GetParam(), other.path(""), 100);
  std::vector<std::string> paths = tensorFiles(one.path(""));
  ASSERT_EQ(paths.size(), tensorFiles(other.path("")).size());
  for (const std::string &path : paths) {
    std::string name = std::filesystem::path(path).filename();
    MappedFile a(path), b(other.path(name));
    EXPECT_TRUE(
        std::string(reinterpret_cast<const char *>(a.data()), a.size()) ==
        std::string(reinterpret_cast<const char *>(b.data()), b.size()))
        << name;
  }
}

TEST_P(ShardedCheckpoint, OwnersWrite) {
  Program program = read(GetParam());
  for (const CheckpointTensor &tensor : shareCheckpoint(program)) {
    std::set<int64_t> elements, holders;
    for (const schema::TensorPiece &piece : tensor.pieces) {
      EXPECT_GT(piece.bytes(), 0);
      EXPECT_EQ(tensor.bytes % piece.elementBytes, 0);
      piece.elements.forEachRun([&](int64_t global, int64_t, int64_t count) {
        for (int64_t i = global; i < global + count; ++i)
          EXPECT_TRUE(elements.insert(i * piece.elementBytes).second);
      });
      holders.insert(piece.rank);
    }
    int64_t size = tensor.pieces.front().elementBytes;
    EXPECT_EQ(int64_t(elements.size()), tensor.bytes / size);
    EXPECT_EQ(*elements.rbegin(), tensor.bytes - size);
    EXPECT_EQ(holders.count(tensor.writer), 1u) << tensor.tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShardedCheckpoint,
                         testing::ValuesIn(everyLayout()),
                         [](const auto &info) { return nameOf(info.param); });

// Where the host can't read the memory, and one rank's pieces need many
// messages.
TEST(ShardedCheckpoint, OnDevicesOfTheirOwn) {
  for (int seed : {1, 2})
    for (const Layout &layout :
         {three, hybrid, tiedHybrid, three.shards("parameters"),
          tiedHybrid.shards("parameters"),
          tilesAround.shards("parameters").cut(Tiles::Both)}) {
      device::FakeSettings settings(seed);
      SCOPED_TRACE(nameOf(layout));
      for (int64_t memory : {int64_t{0}, int64_t{2001}, everything}) {
        TemporaryFolder folder;
        save(layout, folder.path(""), memory);
        expectTensors(read(layout), folder.path(""));
        if (layout.tiles != Tiles::None) {
          expectLoads(tilesInside.cut(Tiles::Columns), folder.path(""));
          continue;
        }
        expectLoads(four, folder.path(""));
        expectLoads(four.shards("parameters"), folder.path(""));
      }
    }
}

TEST(ShardedCheckpoint, ManyMessages) {
  for (const Layout &layout :
       {large, large.shards("parameters"),
        tilesInside.shards("parameters").cut(Tiles::Columns, 1092000)})
    for (int64_t memory : {int64_t{0}, int64_t{7000001}, everything}) {
      SCOPED_TRACE(memory);
      TemporaryFolder folder;
      save(layout, folder.path(""), memory);
      expectTensors(read(layout), folder.path(""));
    }
}

//===----------------------------------------------------------------------===//
// Who writes what
//===----------------------------------------------------------------------===//

std::map<std::string, CheckpointTensor> byName(const Layout &layout) {
  std::map<std::string, CheckpointTensor> tensors;
  for (CheckpointTensor &tensor : shareCheckpoint(read(layout)))
    tensors.emplace(tensor.tensor.name, tensor);
  return tensors;
}

TEST(CheckpointShares, CutStatesHaveOneWriter) {
  auto tensors = byName(four); // chunks of 270, 269, 269, 269 elements
  EXPECT_EQ(tensors.at("m/a.one").writer, 0);
  EXPECT_EQ(tensors.at("v/a.two").writer, 0);
  EXPECT_EQ(tensors.at("m/a.odd").writer, 3);
  EXPECT_EQ(tensors.at("m/a.long").pieces.size(), 4u);
  // Of the 3 elements, ranks 0 to 2 have one each.
  EXPECT_EQ(tensors.at("m/b.short").pieces.size(), 3u);
  EXPECT_NE(tensors.at("m/a.long").writer, tensors.at("v/a.long").writer);
  EXPECT_NE(tensors.at("m/a.long").writer, tensors.at("a.long").writer);
}

TEST(CheckpointShares, CutParametersToo) {
  auto tensors = byName(four.shards("parameters"));
  EXPECT_EQ(tensors.at("a.one").writer, 0);
  EXPECT_EQ(tensors.at("a.odd").writer, 3);
  EXPECT_EQ(tensors.at("a.long").pieces.size(), 4u);
  EXPECT_EQ(tensors.at("frozen").pieces.size(), 4u); // of 2, 1, 1, 1 elements
  tensors = byName(four.shards("gradients"));
  EXPECT_EQ(tensors.at("a.long").pieces.size(), 1u);
}

TEST(CheckpointShares, HybridGroupsShareTheWork) {
  auto tensors = byName(hybrid); // ranks 0 and 2, 1 and 3 are the groups
  std::set<int64_t> writers, groups;
  for (const char *name : {"a.long", "m/a.long", "v/a.long"})
    writers.insert(tensors.at(name).writer);
  EXPECT_EQ(writers.size(), 3u);
  for (const auto &[name, tensor] : tensors) {
    if (tensor.pieces.size() < 2)
      continue;
    ASSERT_EQ(tensor.pieces.size(), 2u);
    EXPECT_EQ(tensor.pieces[0].rank % 2, tensor.pieces[1].rank % 2);
    groups.insert(tensor.writer % 2);
  }
  EXPECT_EQ(groups.size(), 2u);
}

TEST(CheckpointShares, TiedStatesAreOfAllPlaces) {
  auto tensors = byName(tied); // 17 elements: chunks of 5, 4, 4, 4
  std::vector<int64_t> ranks;
  for (const schema::TensorPiece &piece : tensors.at("m/t.first").pieces)
    ranks.push_back(piece.rank);
  EXPECT_EQ(ranks, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(tensors.at("m/t.second").writer, 3);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

// A rank that cannot write still takes part in all messages.
TEST(ShardedCheckpoint, FailsWithoutBlocking) {
  for (int64_t memory : {int64_t{0}, int64_t{2001}, everything}) {
    TemporaryFolder folder;
    std::string none = folder.path("none");
    int failed = 0;
    std::filesystem::create_directories(none + "/optimizer-0001.safetensors");
    Program program = read(four);
    std::map<int64_t, std::string> errors;
    save(four, none, memory, [&](int64_t rank, ShareWriter &writer) {
      errors[rank] = writer.thread().error();
      failed += !errors[rank].empty();
    });
    EXPECT_EQ(failed, 1);
    EXPECT_NE(errors[1].find("optimizer-0001.safetensors"), std::string::npos)
        << errors[1];
  }
}

TEST(ShardedCheckpoint, ANonFiniteParameterBlocksNobody) {
  for (int64_t memory : {int64_t{0}, everything}) {
    TemporaryFolder folder;
    std::map<int64_t, std::string> errors;
    save(
        four, folder.path(""), memory,
        [&](int64_t rank, ShareWriter &writer) {
          errors[rank] = writer.thread().error();
        },
        [](const ppopt_rank &rank) {
          if (rank.index != 2)
            return;
          float bad = NAN;
          rank.device->copyIn(rank.compute,
                              rank.places.at(rank.places.own.find(0)->address),
                              &bad, 4);
          rank.device->synchronize(rank.compute);
        });
    EXPECT_EQ(errors[2], "parameter 'a.one' is nan at [0]");
    EXPECT_EQ(errors[0] + errors[1] + errors[3], "");
  }
}

TEST(ShardedCheckpoint, ARankThatFailsEndsTheOthers) {
  for (int64_t memory : {int64_t{0}, everything}) {
    TemporaryFolder folder;
    Program program = read(four);
    try {
      onRanks(program, [&](ppopt_rank &rank) {
        fill(four, rank);
        ShareWriter writer(rank, memory);
        if (rank.index == 2)
          throw runtime::Error("no more");
        writer.begin(folder.path(""));
        writer.wait();
        rank.transport->barrier();
      });
      ADD_FAILURE() << "no error";
    } catch (const comm::RankFailure &failure) {
      EXPECT_EQ(failure.rank(), 2);
      EXPECT_EQ(failure.reason(), "no more");
    }
  }
}

//===----------------------------------------------------------------------===//
// What a rank reads
//===----------------------------------------------------------------------===//

/// Damages each file that may be without elements of a rank, and opens the
/// checkpoint as that rank.
void expectUnread(const Layout &layout) {
  TemporaryFolder folder;
  save(layout, folder.path(""), everything);
  Program program = read(layout);
  std::set<std::string> unread;
  for (int64_t rank = 0; rank < program.plan.ranks(); ++rank)
    for (const std::string &path : tensorFiles(folder.path(""))) {
      bool isOptimizer = path.find("optimizer") != std::string::npos;
      if (!isOptimizer && !layout.shardsParameters())
        continue; // all ranks need all
      SafetensorsFile file(path);
      bool needs = false;
      for (const StoredTensor &tensor : file.tensors())
        for (const CheckpointTensor &entry : shareCheckpoint(program))
          if (entry.tensor.name == tensor.name)
            for (const schema::TensorPiece &piece : entry.pieces)
              needs |= piece.rank == rank;
      // One bit of the last byte.
      auto flip = [&] {
        std::fstream stream(path,
                            std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(-1, std::ios::end);
        char last = char(stream.get());
        stream.seekp(-1, std::ios::end);
        stream.put(char(last ^ 1));
      };
      flip();
      if (needs) {
        EXPECT_ERROR(Checkpoint(folder.path(""), program, rank), "damaged");
      } else {
        unread.insert(path);
        EXPECT_NO_THROW(Checkpoint(folder.path(""), program, rank));
      }
      flip();
    }
  auto has = [&](const char *part) {
    return std::any_of(unread.begin(), unread.end(), [&](auto &path) {
      return path.find(part) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("optimizer-"));
  EXPECT_EQ(has("parameters-"), layout.shardsParameters());
}

// Files without elements of a rank may be damaged.
TEST(ShardedCheckpoint, LeavesFilesOfOthersUnread) {
  for (const char *of : {"states", "gradients", "parameters"})
    expectUnread(four.shards(of));
}

} // namespace
