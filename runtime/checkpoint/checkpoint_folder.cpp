//===- checkpoint_folder.cpp - The folder of a run's checkpoints ----------===//

#include "checkpoint/checkpoint_folder.h"

#include "base/error.h"
#include "checkpoint/checkpoint_manifest.h"
#include "files/system_error.h"
#include "files/whole_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ppopt::train {
namespace {

namespace fs = std::filesystem;
using runtime::Error;

constexpr std::string_view kPrefix = "step-";
constexpr const char *kLock = "/.lock";
/// Follows the step in a name that begins with a dot.
constexpr const char *kPartial = ".partial-", *kRemoved = ".removed-",
                     *kNewLink = ".best-";

/// Returns the step in "step-00000100"; nullopt for any other name.
std::optional<int64_t> stepOf(const std::string &name) {
  if (name.rfind(kPrefix, 0) != 0)
    return std::nullopt;
  const char *begin = name.data() + kPrefix.size(),
             *end = name.data() + name.size();
  int64_t step = 0;
  auto [last, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || last != end || step < 0 ||
      checkpointName(step) != name)
    return std::nullopt;
  return step;
}

/// Returns whether `name` is a leftover of a run that died while it wrote or
/// removed a checkpoint.
bool isLeftOver(const std::string &name) {
  return name.rfind(kNewLink, 0) == 0 ||
         (name.rfind("." + std::string(kPrefix), 0) == 0 &&
          (name.find(kPartial) != std::string::npos ||
           name.find(kRemoved) != std::string::npos));
}

bool isMissing(const std::error_code &error) {
  return error == std::errc::no_such_file_or_directory ||
         error == std::errc::not_a_directory;
}

/// Returns what is in a folder; nothing if it does not exist. Throws Error.
std::vector<fs::path> entriesOf(const std::string &folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(entry->path());
  if (error && !isMissing(error))
    throw Error("{}: cannot list the folder: {}", folder, error.message());
  return entries;
}

void rename(const std::string &from, const std::string &to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    throw Error("{}: cannot rename to {}: {}", from, to, error.message());
}

void remove(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    throw Error("{}: cannot remove: {}", path, error.message());
}

} // namespace

std::string checkpointName(int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

bool isNameInCheckpoints(std::string_view path) {
  std::string name(path.substr(0, path.find('/')));
  return stepOf(name) || isLeftOver(name) || "/" + name == kLock ||
         name == kBestName;
}

std::vector<CheckpointEntry> listCheckpoints(const std::string &folder) {
  std::vector<CheckpointEntry> checkpoints;
  for (const fs::path &entry : entriesOf(folder)) {
    auto step = stepOf(entry.filename().string());
    if (!step)
      continue;
    std::error_code error;
    bool isThere = fs::exists(entry / kManifestName, error);
    if (isThere)
      checkpoints.push_back({*step, entry.string(), ""});
    else if (error && !isMissing(error))
      checkpoints.push_back({*step, entry.string(), error.message()});
  }
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const auto &a, const auto &b) { return a.step < b.step; });
  return checkpoints;
}

FolderLock::FolderLock(const std::string &folder) : folder_(folder) {
  std::string path = folder + kLock;
  // Whoever can open the file can lock it, so only the owner may open it. With
  // earlier versions, everybody could read it.
  descriptor_ =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor_ < 0)
    throw Error("--checkpoint {}: cannot write to the folder: {}", folder,
                describeError(errno));
  ::fchmod(descriptor_, 0600);
  // On a file system without locks, save without excluding a second run.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  ::close(descriptor_);
  throw Error("--checkpoint {}: another run saves to this folder", folder);
}

FolderLock::~FolderLock() { ::close(descriptor_); }

std::string FolderLock::mark() {
  std::random_device random;
  std::string mark;
  while (mark.size() < kMarkBytes)
    mark += fmt::format("{:08x}", random());
  // Truncate first, because the others read the whole file.
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, mark.data(), kMarkBytes, 0) != ssize_t(kMarkBytes))
    throw Error("--checkpoint {}: cannot write to the folder: {}", folder_,
                describeError(errno));
  return mark;
}

bool seesMark(const std::string &folder, const std::string &mark) {
  // A network file system may show the mark late.
  for (int tries = 0; tries < 100; ++tries) {
    std::string seen;
    if (std::getline(std::ifstream(folder + kLock), seen) && seen == mark)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

std::string partialPath(const std::string &folder, int64_t step,
                        int64_t writer) {
  return fmt::format("{}/.{}{}{}", folder, checkpointName(step), kPartial,
                     writer);
}

void createPartial(const std::string &folder, const std::string &partial) {
  for (const fs::path &entry : entriesOf(folder))
    if (isLeftOver(entry.filename().string()))
      remove(entry.string());
  std::error_code error;
  if (!fs::create_directory(partial, error))
    throw Error("{}: cannot create the folder: {}", partial, error.message());
}

void commitPartial(const std::string &partial, const std::string &folder,
                   int64_t step) {
  syncFolder(partial);
  rename(partial, folder + "/" + checkpointName(step));
  syncFolder(folder);
}

void linkBest(const std::string &folder, int64_t step) {
  std::string aside = fmt::format("{}/{}{}", folder, kNewLink, ::getpid());
  std::error_code error;
  fs::remove(aside, error);
  fs::create_directory_symlink(checkpointName(step), aside, error);
  if (error)
    throw Error("{}: cannot make a link to {}: {}", aside, checkpointName(step),
                error.message());
  rename(aside, fmt::format("{}/{}", folder, kBestName));
  syncFolder(folder);
}

std::optional<int64_t> bestIn(const std::string &folder) {
  std::error_code error;
  fs::path to =
      fs::read_symlink(fmt::format("{}/{}", folder, kBestName), error);
  return error ? std::nullopt : stepOf(to.string());
}

void removePartial(const std::string &partial) {
  std::error_code ignored;
  fs::remove_all(partial, ignored);
}

void removeOlder(const std::string &folder, int64_t keep, int64_t newest) {
  std::vector<CheckpointEntry> checkpoints = listCheckpoints(folder);
  auto isNone = [&](const CheckpointEntry &entry) {
    return entry.step > newest // renamed by someone else
           || !entry.unreadable.empty();
  };
  checkpoints.erase(
      std::remove_if(checkpoints.begin(), checkpoints.end(), isNone),
      checkpoints.end());
  std::optional<int64_t> best = bestIn(folder);
  for (size_t i = 0; i + keep < checkpoints.size(); ++i) {
    if (checkpoints[i].step == best)
      continue;
    std::string aside =
        fmt::format("{}/.{}{}{}", folder, checkpointName(checkpoints[i].step),
                    kRemoved, ::getpid());
    rename(checkpoints[i].path, aside);
    remove(aside);
  }
}

} // namespace ppopt::train
