//===- checkpoint_test.cpp - What checkpoints are made of -----------------===//

#include "app/checkpoints.h"
#include "base/background_thread.h"
#include "base/checksum.h"
#include "base/output_file.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/checkpoint_manifest.h"
#include "executor/programs.h"
#include "executor/rank.h"
#include "schema/share_by_size.h"
#include "train_files.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <numeric>
#include <thread>

using namespace ppopt::train;
using ppopt::schema::assignBySize;
using ppopt::schema::SizedItem;

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

TEST(AssignBySize, WeighsAlike) {
  using Shares = std::vector<int64_t>;
  auto share = [](std::initializer_list<int64_t> sizes, int64_t shares) {
    Shares any(shares);
    std::iota(any.begin(), any.end(), 0);
    std::vector<SizedItem> items;
    for (int64_t size : sizes)
      items.push_back({size, any});
    return assignBySize(items, shares);
  };
  EXPECT_EQ(share({1, 9, 3, 5, 4}, 2), (Shares{1, 0, 0, 1, 1}));
  EXPECT_EQ(share({7, 7, 7}, 3), (Shares{0, 1, 2}));
  EXPECT_EQ(share({4, 0, 2}, 1), (Shares{0, 0, 0}));
  EXPECT_EQ(share({}, 4), Shares{});
}

TEST(AssignBySize, BeginsWithTheFewestChoices) {
  using Shares = std::vector<int64_t>;
  EXPECT_EQ(assignBySize({{9, {0, 1, 2}}, {2, {1}}, {5, {0, 1}}}, 3),
            (Shares{2, 1, 0}));
  EXPECT_EQ(assignBySize({{4, {2, 0}}, {4, {1, 2}}}, 3), (Shares{0, 1}));
}

//===----------------------------------------------------------------------===//
// Checksums
//===----------------------------------------------------------------------===//

// As `xxhsum -H128` prints them.
TEST(Checksum, IsXxh3Of128Bits) {
  EXPECT_EQ(Checksum::of(""), "99aa06d3014798d86001c324468d497f");
  Checksum pieces;
  std::string text(300, 'a');
  for (size_t at = 0; at < text.size(); at += 7)
    pieces.add(text.data() + at, std::min<size_t>(7, text.size() - at));
  EXPECT_EQ(pieces.hexadecimal(), Checksum::of(text));
  EXPECT_EQ(pieces.hexadecimal(), Checksum::of(text)); // asking changes nothing
  text[299] = 'b';
  EXPECT_NE(pieces.hexadecimal(), Checksum::of(text));
}

//===----------------------------------------------------------------------===//
// Manifests
//===----------------------------------------------------------------------===//

namespace {

Manifest sample() {
  Manifest manifest;
  manifest.model = "gpt";
  manifest.modelHash = "0123";
  manifest.step = 120;
  manifest.updates = 118;
  manifest.flags = {{"lr", "0.001"}, {"betas", "0.9,0.999"}, {"seed", "0"}};
  manifest.plan = {{"mesh", "dp=2"}};
  manifest.samples.order = "shuffled";
  manifest.samples.format = "bytes";
  manifest.samples.batch = 8;
  manifest.samples.count = 1000;
  manifest.samples.files = {{"corpus/\"a\"\xff", 1007, 5}};
  manifest.files = {{"parameters-0000.safetensors", 4096, "abcd"}};
  return manifest;
}

/// As somebody writes it who can compute checksums.
std::string signAnew(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  size_t begin = text.find(" \"checksum\": \""), end = text.find('\n', begin);
  std::string unsigned_ = text.substr(0, begin) + text.substr(end + 1);
  std::string line = text.substr(begin, end - begin);
  return text.substr(0, begin) + line.substr(0, 14) + Checksum::of(unsigned_) +
         line.substr(46) + text.substr(end);
}

} // namespace

TEST(Manifest, ReadsBackWhatWasWritten) {
  std::string text = printManifest(sample());
  Manifest read = parseManifest("m", text);
  EXPECT_EQ(printManifest(read), text);
  EXPECT_EQ(read.step, 120);
  EXPECT_EQ(read.updates, 118);
  EXPECT_EQ(read.flags, sample().flags);
  EXPECT_EQ(read.files.at(0).checksum, "abcd");
  EXPECT_EQ(read.samples.files.at(0).bytes, 1007u);
  EXPECT_NE(text.find("\"position\": 960"), std::string::npos) << text;
}

TEST(Manifest, EveryBitCounts) {
  std::string text = printManifest(sample());
  for (size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << bit);
      EXPECT_THROW(parseManifest("m", flipped), ppopt::runtime::Error)
          << "bit " << bit << " of byte " << at;
    }
  for (size_t left = 0; left < text.size(); ++left)
    EXPECT_THROW(parseManifest("m", text.substr(0, left)),
                 ppopt::runtime::Error)
        << left;
}

TEST(Manifest, RefusesWithTheReason) {
  std::string text = printManifest(sample());
  EXPECT_ERROR(parseManifest("m", "{}"), "m: not the manifest of a checkpoint");
  EXPECT_ERROR(parseManifest("m", "[1]"), "not the manifest of a checkpoint");
  EXPECT_ERROR(parseManifest("m", text + " "), "was edited");
  EXPECT_ERROR(
      parseManifest("m", signAnew(text, "\"version\": 1", "\"version\": 2")),
      "a checkpoint of format 2, and this program reads format 1");
  EXPECT_ERROR(parseManifest("m", signAnew(text, "\"updates\": 118",
                                           "\"updates\": 999999")),
               "m: updates are more than rows that were read");
  EXPECT_ERROR(
      parseManifest("m", signAnew(text, "\"step\": 120", "\"step\": -1")),
      "m: a count is not a whole number from 0 on");
  EXPECT_ERROR(parseManifest("m", signAnew(text, "\"seed\"", "\"sead\"")),
               "m: there is no seed");
  EXPECT_ERROR(parseManifest("m", signAnew(text, "\"parameters-0000",
                                           "\"../parameters-0000")),
               "m: a file's name is not a name");
  EXPECT_ERROR(
      parseManifest("m", signAnew(text, "\"step\": 120", "\"step\": \"x\"")),
      "m: a count is not a whole number from 0 on");
  EXPECT_ERROR(parseManifest("m", signAnew(text, "\"step\": 120",
                                           "\"step\": 9223372036854775807")),
               "m: the samples that were read overflow 64 bits");
  EXPECT_ERROR(
      parseManifest("m", signAnew(text, "\"written\": ", "\"written\": 0.")),
      "m: a time is not a whole number");
  EXPECT_ERROR(parseManifest("m", std::string(1000, '[')),
               "m: is nested too deeply");
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

namespace {

/// Names in the folder, hidden ones too.
std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

} // namespace

TEST(CheckpointFolder, ListsWhatHasAManifest) {
  TemporaryFolder folder;
  EXPECT_TRUE(listCheckpoints(folder.path("none")).empty());
  for (const char *name : {"step-00000200", "step-00000100", "step-123456789",
                           "step-100", "step-0000010x", ".step-00000300",
                           "step-000000100", "step--0000001", "step-"})
    folder.write(std::string(name) + "/manifest.json", "");
  folder.write("step-00000400/parameters-0000.safetensors", "");
  std::vector<int64_t> steps;
  for (const CheckpointEntry &entry : listCheckpoints(folder.path("")))
    steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{100, 200, 123456789}));
}

TEST(CheckpointFolder, ListsWhatCannotBeLookedInto) {
  TemporaryFolder folder;
  std::string unreadable = "step-00000300", gone = "step-00000400";
  // A link to itself cannot be looked into by root either.
  std::filesystem::create_symlink(unreadable, folder.path(unreadable));
  std::filesystem::create_symlink("nowhere", folder.path(gone));
  folder.write("step-00000200/manifest.json", "");
  folder.write("step-00000500", "a file");
  std::vector<CheckpointEntry> all = listCheckpoints(folder.path(""));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].unreadable, "");
  EXPECT_EQ(all[1].step, 300);
  EXPECT_EQ(all[1].unreadable, "Too many levels of symbolic links");
  EXPECT_ERROR(listCheckpoints(folder.path(unreadable)), "cannot list");
  // It is neither counted nor removed.
  folder.write("step-00000100/manifest.json", "");
  removeOlder(folder.path(""), 1, 300);
  EXPECT_EQ(namesIn(folder.path("")),
            (Names{"step-00000200", unreadable, gone, "step-00000500"}));
}

TEST(CheckpointFolder, IsThereWhenItIsWhole) {
  TemporaryFolder folder;
  std::string all = folder.path("all");
  folder.write("all/.step-00000001.partial-12/x", "left by a run that died");
  folder.write("all/.step-00000002.removed-12/x", "");
  folder.write("all/.hidden", "");
  std::string partial = partialPath(all, 3, 34);
  createPartial(all, partial);
  EXPECT_EQ(namesIn(all), (Names{".hidden", ".step-00000003.partial-34"}));
  folder.write("all/.step-00000003.partial-34/manifest.json", "");
  EXPECT_TRUE(listCheckpoints(all).empty());
  commitPartial(partial, all, 3);
  EXPECT_EQ(namesIn(all), (Names{".hidden", "step-00000003"}));
  // What stands in the way is not overwritten.
  createPartial(all, partial);
  EXPECT_ERROR(commitPartial(partial, all, 3), "cannot rename to");
  removePartial(partial);
  EXPECT_EQ(namesIn(all), (Names{".hidden", "step-00000003"}));
}

TEST(CheckpointFolder, KeepsTheNewest) {
  TemporaryFolder folder;
  for (int step : {5, 50, 500, 5000})
    folder.write(checkpointName(step) + "/manifest.json", "");
  folder.write("step-00000001/of-somebody-else", "");
  removeOlder(folder.path(""), 9, 5000);
  EXPECT_EQ(listCheckpoints(folder.path("")).size(), 4u);
  removeOlder(folder.path(""), 2, 5000);
  EXPECT_EQ(namesIn(folder.path("")),
            (Names{"step-00000001", "step-00000500", "step-00005000"}));
  // One that somebody renamed does not stand for the newest.
  folder.write("step-99999999/manifest.json", "");
  removeOlder(folder.path(""), 1, 5000);
  EXPECT_EQ(namesIn(folder.path("")),
            (Names{"step-00000001", "step-00005000", "step-99999999"}));
}

TEST(CheckpointFolder, IsLockedByOne) {
  TemporaryFolder folder;
  {
    FolderLock first(folder.path(""));
    EXPECT_ERROR(FolderLock second(folder.path("")), "another run saves");
  }
  // Nobody else can hold it, were it one of an earlier version, either.
  auto mode = [&] {
    struct stat facts = {};
    EXPECT_EQ(::stat(folder.path(".lock").c_str(), &facts), 0);
    return facts.st_mode & 07777;
  };
  EXPECT_EQ(mode(), 0600);
  ASSERT_EQ(::chmod(folder.path(".lock").c_str(), 0644), 0);
  FolderLock third(folder.path(""));
  EXPECT_EQ(mode(), 0600);
  EXPECT_ERROR(FolderLock fourth(folder.path("none")),
               "cannot write to the folder: No such file or directory");
}

//===----------------------------------------------------------------------===//
// Writing beside
//===----------------------------------------------------------------------===//

TEST(BackgroundThread, DoesOneJobAfterTheOther) {
  BackgroundThread thread;
  std::promise<void> gate;
  thread.start([&] { gate.get_future().wait(); });
  EXPECT_TRUE(thread.isBusy());
  gate.set_value();
  thread.wait([] {});
  EXPECT_FALSE(thread.isBusy());
  EXPECT_EQ(thread.error(), "");
  thread.start([] { throw std::runtime_error("the disk"); });
  thread.wait([] {});
  EXPECT_EQ(thread.error(), "the disk");
  int done = 0;
  thread.start([&] { ++done; });
  thread.wait([] {});
  EXPECT_EQ(done, 1);
  EXPECT_EQ(thread.error(), "");
}

TEST(BackgroundThread, AWaitMayBeGivenUp) {
  BackgroundThread thread;
  thread.start([&] {
    while (!thread.shouldStop())
      std::this_thread::yield();
  });
  EXPECT_THROW(thread.wait([] { throw std::runtime_error("a rank failed"); }),
               std::runtime_error);
  EXPECT_TRUE(thread.isBusy());
}

TEST(BackgroundThread, ItsEndStopsAJob) {
  bool stopped = false;
  {
    BackgroundThread thread;
    std::promise<void> running;
    thread.start([&] {
      running.set_value();
      while (!thread.shouldStop())
        std::this_thread::yield();
      stopped = true;
    });
    running.get_future().wait();
  }
  EXPECT_TRUE(stopped);
}

TEST(BackgroundThread, BeyondALimitOfSizesIsAnError) {
  TemporaryFolder folder;
  struct rlimit before, small{4096, RLIM_INFINITY};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  small.rlim_max = before.rlim_max;
  std::string path = folder.path("big");
  BackgroundThread thread;
  thread.start([&] {
    OutputFile file(path);
    std::vector<char> bytes(10000);
    file.write(bytes.data(), bytes.size());
  });
  thread.wait([] {});
  EXPECT_EQ(thread.error(), "");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  thread.start([&] {
    OutputFile file(path);
    std::vector<char> bytes(10000);
    file.write(bytes.data(), bytes.size());
  });
  thread.wait([] {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(thread.error(),
            path + ": cannot write: File too large: the limit of file sizes "
                   "(ulimit -f) is 4096 bytes");
}

//===----------------------------------------------------------------------===//
// The end of a run
//===----------------------------------------------------------------------===//

namespace {

/// A disk on which a manifest takes as long as a test wants.
struct SlowDisk {
  std::atomic<bool> isSlow{false}, isWaiting{false};
} slowDisk;

bool isManifest(int descriptor) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink(
      "/proc/self/fd/" + std::to_string(descriptor), error);
  return path.filename() == kManifestName;
}

} // namespace

/// In place of the C library's.
extern "C" int fsync(int descriptor) {
  while (slowDisk.isSlow && isManifest(descriptor)) {
    slowDisk.isWaiting = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

// As where another rank fails meanwhile: the thread that commits uses what the
// object holds for as long as it lives. An address sanitizer sees it.
TEST(Checkpoints, MayEndWhileOneIsCommitted) {
  TemporaryFolder folder;
  ppopt::runtime::Program program =
      ppopt::runtime::readProgram(least_squares::program(1, 1).dump());
  ppopt_rank rank(program, nullptr, nullptr, {});
  Options options;
  options.checkpoint = folder.path("a-folder-with-a-long-name");
  Job job(program, options);
  slowDisk.isWaiting = false;
  slowDisk.isSlow = true;
  auto checkpoints = std::make_unique<Checkpoints>(rank, job, nullptr);
  checkpoints->begin(1, 1);
  while (!slowDisk.isWaiting) {
    checkpoints->poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::thread disk([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    slowDisk.isSlow = false;
  });
  checkpoints.reset();
  disk.join();
  EXPECT_EQ(listCheckpoints(options.checkpoint).size(), 1u);
}
