//===- mpi_module.cpp - MPI, loaded only under its launcher ---------------===//

#include "comm/mpi_module.h"

#include "comm/dynamic_section.h"
#include "comm/mpi_abi.h"
#include "comm/watch.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <grp.h>
#include <memory>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace ppopt::comm {
namespace {

constexpr const char *moduleName = "libppopt_mpi.so";

std::string executableDirectory() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0)
    return {};
  std::string name(path, static_cast<size_t>(length));
  return name.substr(0, name.rfind('/'));
}

/// Open MPI's own plugins look up its symbols in the global scope.
constexpr int loadFlags = RTLD_NOW | RTLD_GLOBAL;

[[noreturn]] void unavailable(const Launcher &launcher,
                              const std::string &why) {
  throw MpiUnavailable("started by an MPI launcher (" + launcher.variable +
                       " is set), but MPI cannot be used: " + why +
                       "; without mpirun the ranks run as threads");
}

/// Returns whether the group contains only its owner, as with user private
/// groups.
bool isPrivate(gid_t group, uid_t owner) {
  const passwd *user = ::getpwuid(owner);
  const struct group *members = ::getgrgid(group);
  if (!user || !members || std::strcmp(user->pw_name, members->gr_name) != 0)
    return false;
  for (char **member = members->gr_mem; *member; ++member)
    if (std::strcmp(*member, user->pw_name) != 0)
      return false;
  return true;
}

/// Returns who besides root and this process's user may change `path`; empty if
/// nobody.
std::string whoElseMayChange(const std::string &path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0)
    return {};
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
    return path + " belongs to user " + std::to_string(facts.st_uid);
  if (facts.st_mode & S_IWOTH)
    return "every user can write to " + path;
  if ((facts.st_mode & S_IWGRP) && !isPrivate(facts.st_gid, facts.st_uid))
    return "group " + std::to_string(facts.st_gid) + " can write to " + path;
  return {};
}

std::string resolved(const std::string &path) {
  std::unique_ptr<char, void (*)(void *)> real(
      ::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

std::string findModule(const Launcher &launcher) {
  if (const char *path = std::getenv("PPOPT_MPI_MODULE")) {
    if (::access(path, R_OK) != 0)
      unavailable(launcher, std::string(path) +
                                " (PPOPT_MPI_MODULE): " + std::strerror(errno));
    return path;
  }
  std::string places;
  for (const std::string &folder : mpiModuleFolders()) {
    std::string path = folder + "/" + moduleName;
    if (::access(path.c_str(), F_OK) == 0)
      return path;
    places += (places.empty() ? "" : ", ") + folder;
  }
  unavailable(launcher,
              std::string(moduleName) + " is in none of " + places +
                  " (where ppopt was installed when it made this executable, "
                  "and beside the executable); copy it there from lib/ppopt of "
                  "the installed ppopt, or set PPOPT_MPI_MODULE to its path");
}

void *loadModule(const Launcher &launcher) {
  std::string path = resolved(findModule(launcher));
  std::string folder = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  for (const std::string &each : {path, folder})
    if (std::string who = whoElseMayChange(each); !who.empty())
      unavailable(
          launcher,
          path +
              " is not loaded because it may be another user's code: " + who +
              "; copy it to a folder that only you can write to, and "
              "set PPOPT_MPI_MODULE to its path");
  void *handle = dlopen(path.c_str(), loadFlags);
  if (!handle)
    unavailable(launcher,
                std::string(dlerror()) +
                    "; install MPI (on Debian: libopenmpi3, openmpi-bin)");
  return handle;
}

bool synchronousSends() {
  const char *set = std::getenv("PPOPT_SYNC_SENDS");
  std::string text = set ? set : "0";
  if (text != "0" && text != "1")
    throw MpiUnavailable("PPOPT_SYNC_SENDS is '" + text + "', not 0 or 1");
  return text == "1";
}

/// Returns when all ranks are done.
int runBody(Transport &transport, ProcessWatch &watch,
            const std::function<int(Transport &)> &body) {
  try {
    int status = body(transport);
    transport.barrier();
    return status;
  } catch (const RankFailure &failure) {
    watch.fail(failure.reason());
  } catch (const std::exception &failure) {
    watch.fail(failure.what());
  } catch (...) {
    watch.fail("unknown exception");
  }
}

template <typename Function>
Function *symbol(void *handle, const char *name, const Launcher &launcher) {
  void *address = dlsym(handle, name);
  if (!address)
    unavailable(launcher, std::string(moduleName) + " has no " + name);
  return reinterpret_cast<Function *>(address);
}

} // namespace

std::vector<std::string> mpiModuleFolders() {
  std::vector<std::string> folders = readDynamicSection().runpath;
  folders.push_back(executableDirectory());
  return folders;
}

void runMpiRank(const Launcher &launcher,
                const std::function<int(Transport &)> &body) {
  void *handle = loadModule(launcher);
  int abi =
      symbol<decltype(ppopt_mpi_abi)>(handle, "ppopt_mpi_abi", launcher)();
  if (abi != PPOPT_MPI_MODULE_ABI)
    unavailable(launcher, std::string(moduleName) + " is of another version (" +
                              std::to_string(abi) + ") than the executable (" +
                              std::to_string(PPOPT_MPI_MODULE_ABI) +
                              "): compile the model again");
  auto *open =
      symbol<decltype(ppopt_mpi_open)>(handle, "ppopt_mpi_open", launcher);
  auto *close =
      symbol<decltype(ppopt_mpi_close)>(handle, "ppopt_mpi_close", launcher);

  char error[512] = "";
  Activity activity;
  Transport *transport =
      open(synchronousSends(), &activity, error, sizeof error);
  if (!transport)
    unavailable(launcher, error);
  // A job of several parts may have more ranks: each part is counted
  // separately.
  if (launcher.ranks && transport->size() < *launcher.ranks)
    throw MpiUnavailable(
        launcher.counted + " says " + std::to_string(*launcher.ranks) +
        " ranks, but the MPI library sees " +
        std::to_string(transport->size()) + ": this " + launcher.name +
        " belongs to another MPI than the one that " + moduleName +
        " was built with");

  ProcessWatch watch(transport->rank(), transport->size(),
                     connectWatch(*transport), activity);
  int status = runBody(*transport, watch, body);
  activity.enter(Activity::Part::Ending, activity.read().step);
  if (status == 0)
    close(transport);
  watch.leave();
  if (status != 0) {
    std::fflush(nullptr);
    _exit(status);
  }
}

} // namespace ppopt::comm
