//===- sharded_test.cpp - Checkpoints and exports of sharded states -------===//

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/parameter_file.h"
#include "checkpoint/share_writer.h"
#include "comm/thread_transport.h"
#include "device/conformance/devices.h"
#include "executor/rank.h"
#include "observe/describe.h"
#include "observe/replica_check.h"
#include "sharded_program.h"
#include "train_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>

using namespace ppopt;
using namespace ppopt::train;
using runtime::Program;
using sharded::Layout;

namespace {

constexpr int64_t everything = std::numeric_limits<int64_t>::max();

const Layout whole{{{"dp", 1}}};
const Layout notSharded{{{"dp", 3}}};
const Layout two{{{"dp", 2}}, {"dp"}};
const Layout three{{{"dp", 3}}, {"dp"}};
const Layout four{{{"dp", 4}}, {"dp"}};
const Layout hybrid{{{"dp", 2}, {"fsdp", 2}}, {"dp"}};
const Layout hybridInside{{{"dp", 2}, {"fsdp", 2}}, {"fsdp"}};
const Layout both{{{"dp", 2}, {"fsdp", 2}}, {"dp", "fsdp"}};
const Layout tied{{{"dp", 2}, {"pp", 2}}, {"dp"}};
const Layout tiedOutside{{{"pp", 2}, {"dp", 2}}, {"dp"}};
const Layout tiedHybrid{{{"dp", 2}, {"pp", 2}, {"fsdp", 2}}, {"fsdp"}};
const Layout tiedWhole{{{"dp", 2}, {"pp", 2}}};
const Layout local{{{"dp", 1}, {"pp", 2}}, {}, /*local=*/true};
const Layout stateless{{{"dp", 3}}, {"dp"}, false, 1001, /*hasStates=*/false};
const Layout large{{{"dp", 2}}, {"dp"}, false, /*longest=*/2500017};

Program read(const Layout &layout) {
  return runtime::readProgram(sharded::program(layout).dump());
}

/// Runs `body` on every rank.
void onRanks(const Program &program,
             const std::function<void(ppopt_rank &)> &body) {
  int ranks = int(program.plan.ranks());
  auto run = [&](comm::Transport *transport) {
    ppopt_rank rank(program, nullptr, transport, {});
    body(rank);
  };
  if (ranks == 1)
    return run(nullptr);
  comm::runThreadRanks(ranks, [&](comm::Transport &t) { run(&t); });
}

//===----------------------------------------------------------------------===//
// What ranks have, found without the runtime's functions
//===----------------------------------------------------------------------===//

enum Kind { Value, M, V, Gradient };

/// The element of a tensor, another one for each. Exact in f32.
double elementOf(int parameter, Kind kind, int64_t element) {
  return double(1 + 4 * element + kind + 100000 * (parameter % 7) +
                (kind == Value ? 0.5 : 0));
}

/// As the program's type.
std::string bytesOf(const runtime::Parameter &parameter, int number, Kind kind,
                    int64_t begin, int64_t end) {
  std::string bytes;
  for (int64_t i = begin; i < end; ++i) {
    double wide = elementOf(number, kind, i);
    auto narrow = float(wide);
    if (parameter.type == runtime::ElementType::f64)
      bytes.append(reinterpret_cast<char *>(&wide), 8);
    else
      bytes.append(reinterpret_cast<char *>(&narrow), 4);
  }
  return bytes;
}

struct Range {
  int64_t begin, end, at;
};

/// Which elements of a state a rank has: those of its bucket's chunk, which has
/// floor(E/n) elements and one more if its number is less than E mod n. `place`
/// is one that the rank holds.
Range ownedBy(const Layout &layout, const sharded::Bucket &bucket,
              size_t member, const Program &program, int64_t place,
              int64_t rank) {
  int64_t elements = bucket.members[member].elements;
  if (!layout.isSharded(bucket))
    return {0, elements, 0};
  // The position: mixed radix of the coordinates on the group's axes.
  int64_t position = 0;
  for (const sharded::Axis &axis : layout.mesh) {
    bool isPlace = std::string(axis.name) == "pp";
    bool isIn = isPlace ? layout.placesOf(bucket).size() > 1
                        : std::count_if(layout.axes.begin(), layout.axes.end(),
                                        [&](const char *each) {
                                          return std::string(each) == axis.name;
                                        }) > 0;
    if (isIn)
      position = position * axis.size +
                 (isPlace ? place : program.plan.coordinate(rank, axis.name));
  }
  int64_t n = layout.group(bucket), total = bucket.elements();
  int64_t chunk = 0;
  for (int64_t i = 0; i < position; ++i)
    chunk += total / n + (i < total % n);
  int64_t next = chunk + total / n + (position < total % n);
  int64_t first = bucket.first(member);
  Range range{std::max(chunk, first), std::min(next, first + elements), 0};
  if (range.begin >= range.end)
    return {0, 0, 0};
  return {range.begin - first, range.end - first, range.begin - chunk};
}

/// Calls `use(kind, address, bytes)` for all bytes that a rank has and that
/// are right: of gradients, those of its chunk.
void forEachOwned(const Layout &layout, const ppopt_rank &rank,
                  const std::function<void(Kind, device::DevicePointer,
                                           const std::string &)> &use) {
  for (const auto &memory : rank.memory) {
    if (!memory)
      continue;
    int number = 0;
    for (const sharded::Bucket &bucket : sharded::buckets(layout.longest))
      for (size_t i = 0; i < bucket.members.size(); ++i, ++number) {
        const runtime::PlaceParameter *held = memory->place.find(number);
        if (!held)
          continue;
        const runtime::Parameter &parameter = rank.program.parameters[number];
        int64_t size = bucket.size();
        use(Value, memory->at(held->address),
            bytesOf(parameter, number, Value, 0, parameter.elements()));
        Range own = ownedBy(layout, bucket, i, rank.program,
                            memory->place.place, rank.index);
        if (own.begin == own.end || !held->gradient)
          continue;
        for (size_t state = 0; state < held->states.size(); ++state) {
          Kind kind = state == 0 ? M : V;
          use(kind, memory->at(held->states[state].address) + own.at * size,
              bytesOf(parameter, number, kind, own.begin, own.end));
        }
        use(Gradient, memory->at(*held->gradient) + own.begin * size,
            bytesOf(parameter, number, Gradient, own.begin, own.end));
      }
  }
}

void fillAll(const ppopt_rank &rank, uint8_t value) {
  for (const auto &memory : rank.memory)
    if (memory)
      rank.device->fill(rank.compute, memory->arena, value,
                        memory->place.arenaBytes);
  rank.device->synchronize(rank.compute);
}

void fill(const Layout &layout, const ppopt_rank &rank) {
  fillAll(rank, 0x3f);
  forEachOwned(layout, rank,
               [&](Kind, device::DevicePointer to, const std::string &bytes) {
                 rank.device->copyIn(rank.compute, to, bytes.data(),
                                     int64_t(bytes.size()));
                 rank.device->synchronize(rank.compute);
               });
}

/// Expects what `fill` has written, but gradients.
void expectFilled(const Layout &layout, const ppopt_rank &rank) {
  forEachOwned(
      layout, rank,
      [&](Kind kind, device::DevicePointer from, const std::string &bytes) {
        if (kind == Gradient)
          return;
        std::string found(bytes.size(), '\0');
        rank.device->copyOut(rank.compute, found.data(), from,
                             int64_t(bytes.size()));
        rank.device->synchronize(rank.compute);
        EXPECT_TRUE(found == bytes) << "rank " << rank.index << ", kind "
                                    << kind << ", " << bytes.size() << " bytes";
      });
}

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
      EXPECT_EQ(tensor->shape, parameter.shape);
      std::string found(reinterpret_cast<const char *>(tensor->data),
                        tensor->bytes);
      EXPECT_TRUE(found ==
                  bytesOf(parameter, int(i), kind, 0, parameter.elements()))
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
    expectFilled(layout, rank);
    if (layout.local)
      return;
    Checkpoint own(folder, program, rank.index);
    fillAll(rank, 0x3f);
    own.load(rank);
    expectFilled(layout, rank);
  });
}

std::string nameOf(const Layout &layout) {
  std::string name = layout.local ? "local" : "";
  for (const sharded::Axis &axis : layout.mesh)
    name += std::string(axis.name) + std::to_string(axis.size);
  for (const char *axis : layout.axes)
    name += std::string("_") + axis;
  return name;
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
  for (const Layout &other :
       {whole, notSharded, two, three, four, hybrid, both, tied, tiedOutside,
        tiedHybrid, tiedWhole, local}) {
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
    int64_t at = 0;
    std::set<int64_t> holders;
    for (const TensorPiece &piece : tensor.pieces) {
      EXPECT_EQ(piece.begin, at);
      EXPECT_GT(piece.bytes, 0);
      at += piece.bytes;
      holders.insert(piece.rank);
    }
    EXPECT_EQ(at, tensor.bytes);
    EXPECT_EQ(holders.count(tensor.writer), 1u) << tensor.tensor.name;
  }
}

/// Exports the gradients and compares them.
void expectExported(const Layout &layout) {
  TemporaryFolder folder;
  Program program = read(layout);
  std::string path = folder.path("gradients.safetensors");
  onRanks(program, [&](ppopt_rank &rank) {
    fill(layout, rank);
    exportGradients(rank, path);
  });
  SafetensorsFile file(path);
  size_t learning = 0;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    if (!program.learns(int64_t(i)))
      continue;
    ++learning;
    const runtime::Parameter &parameter = program.parameters[i];
    const StoredTensor *tensor = file.find(parameter.name);
    ASSERT_NE(tensor, nullptr);
    std::string found(reinterpret_cast<const char *>(tensor->data),
                      tensor->bytes);
    EXPECT_TRUE(found ==
                bytesOf(parameter, int(i), Gradient, 0, parameter.elements()))
        << parameter.name;
  }
  EXPECT_EQ(file.tensors().size(), learning);
}

TEST_P(ShardedCheckpoint, ExportsGradients) { expectExported(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, ShardedCheckpoint,
                         testing::Values(whole, notSharded, two, three, four,
                                         hybrid, hybridInside, both, tied,
                                         tiedOutside, tiedHybrid, tiedWhole,
                                         local),
                         [](const auto &info) { return nameOf(info.param); });

// Where the host can't read the memory, and one rank's pieces need many
// messages.
TEST(ShardedCheckpoint, OnDevicesOfTheirOwn) {
  for (int seed : {1, 2})
    for (const Layout &layout : {three, hybrid, tiedHybrid}) {
      device::FakeSettings settings(seed);
      SCOPED_TRACE(nameOf(layout));
      for (int64_t memory : {int64_t{0}, int64_t{2001}, everything}) {
        TemporaryFolder folder;
        save(layout, folder.path(""), memory);
        expectTensors(read(layout), folder.path(""));
        expectLoads(four, folder.path(""));
      }
    }
}

// Without states too, a rank has sums of its chunk only.
TEST(ShardedCheckpoint, ExportsGradientsWithoutStates) {
  expectExported(stateless);
  TemporaryFolder folder;
  save(stateless, folder.path(""), 100);
  EXPECT_EQ(TensorSet(tensorFiles(folder.path(""))).tensors().size(), 8u);
}

TEST(ShardedCheckpoint, ExportsGradientsFromDevices) {
  device::FakeSettings settings(3);
  expectExported(four);
}

TEST(ShardedCheckpoint, ManyMessages) {
  for (int64_t memory : {int64_t{0}, int64_t{7000001}, everything}) {
    SCOPED_TRACE(memory);
    TemporaryFolder folder;
    save(large, folder.path(""), memory);
    expectTensors(read(large), folder.path(""));
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
  for (const TensorPiece &piece : tensors.at("m/t.first").pieces)
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
                              rank.at(rank.place.find(0)->address), &bad, 4);
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
// Other readers
//===----------------------------------------------------------------------===//

std::string replicasOf(const Layout &layout,
                       const std::function<void(ppopt_rank &)> &spoil) {
  Program program = read(layout);
  std::string error;
  try {
    onRanks(program, [&](ppopt_rank &rank) {
      fill(layout, rank);
      spoil(rank);
      ReplicaCheck(rank).run(7);
    });
  } catch (const std::exception &caught) {
    error = caught.what();
  }
  return error;
}

TEST(ReplicaCheck, ComparesStatesOfTheSameShard) {
  auto nothing = [](ppopt_rank &) {};
  for (const Layout &layout : {whole, notSharded, four, hybrid, both, tied,
                               tiedHybrid, tiedWhole, local})
    EXPECT_EQ(replicasOf(layout, nothing), "") << nameOf(layout);
  auto spoil = [](int64_t index, int state, int64_t element) {
    return [=](ppopt_rank &rank) {
      if (rank.index != index)
        return;
      const runtime::PlaceParameter &held = *rank.place.find(2); // a.long
      float other = 0.25;
      rank.device->copyIn(rank.compute,
                          rank.at(held.states[state].address) + 4 * element,
                          &other, 4);
      rank.device->synchronize(rank.compute);
    };
  };
  // The second chunk of the bucket begins at element 539, 507 of a.long.
  EXPECT_NE(replicasOf(hybrid, spoil(3, 1, 20))
                .find("after step 7 the optimizer's states of parameter "
                      "'a.long' have different bits, from element 507 on: rank "
                      "2 / rank 3"),
            std::string::npos)
      << replicasOf(hybrid, spoil(3, 1, 20));
  EXPECT_NE(replicasOf(notSharded, spoil(1, 0, 20))
                .find("'a.long' have different bits, from element 0 on: ranks "
                      "0, 2 / rank 1"),
            std::string::npos);
  // Nobody else has this chunk.
  EXPECT_EQ(replicasOf(four, spoil(1, 0, 20)), "");
}

TEST(Describe, SaysWhatIsSharded) {
  auto describe = [](const Layout &layout) {
    return describeProgram(read(layout), {"./train"});
  };
  EXPECT_EQ(describe(notSharded).find("sharded over"), std::string::npos);
  EXPECT_NE(describe(tied).find(
                "\nstates       sharded over dp: 1/2 per rank, of 5 tensors; "
                "sharded over dp, pp: 1/4 per rank, of 2 tensors\n"),
            std::string::npos)
      << describe(tied);
}

//===----------------------------------------------------------------------===//
// What a rank reads
//===----------------------------------------------------------------------===//

// Files without elements of a rank may be damaged.
TEST(ShardedCheckpoint, LeavesFilesOfOthersUnread) {
  TemporaryFolder folder;
  save(four, folder.path(""), everything);
  Program program = read(four);
  std::set<std::string> unread;
  for (int64_t rank = 0; rank < 4; ++rank)
    for (const std::string &path : tensorFiles(folder.path(""))) {
      if (path.find("optimizer") == std::string::npos)
        continue;
      SafetensorsFile file(path);
      bool needs = false;
      for (const StoredTensor &tensor : file.tensors())
        for (const CheckpointTensor &entry : shareCheckpoint(program))
          if (entry.tensor.name == tensor.name)
            for (const TensorPiece &piece : entry.pieces)
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
  EXPECT_FALSE(unread.empty());
}

} // namespace
