//===- mpi_module.cpp - MPI, loaded only under its launcher ---------------===//

#include "comm/mpi_module.h"

#include "base/error.h"
#include "base/loaded_module.h"
#include "comm/dynamic_section.h"
#include "comm/mpi_abi.h"
#include "comm/watch.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
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
  transport.tellFailuresBy(
      [&](const std::string &reason) { watch.fail(reason); });
  try {
    int status = body(transport);
    transport.barrier();
    return status;
  } catch (...) {
    watch.fail(describeFailure());
  }
}

/// The functions of the module.
struct Module {
  decltype(ppopt_mpi_open) *open;
  decltype(ppopt_mpi_close) *close;
};

Module loadModule(const Launcher &launcher) {
  std::string path = findModule(launcher);
  try {
    runtime::LoadedModule module(
        path, "PPOPT_MPI_MODULE", loadFlags,
        "install MPI (on Debian: libopenmpi3, openmpi-bin)");
    int abi = module.find<decltype(ppopt_mpi_abi)>("ppopt_mpi_abi")();
    if (abi != PPOPT_MPI_MODULE_ABI)
      throw runtime::Error("{} is of another version ({}) than the executable "
                           "({}): compile the model again",
                           moduleName, abi, PPOPT_MPI_MODULE_ABI);
    return {module.find<decltype(ppopt_mpi_open)>("ppopt_mpi_open"),
            module.find<decltype(ppopt_mpi_close)>("ppopt_mpi_close")};
  } catch (const runtime::Error &error) {
    unavailable(launcher, error.what());
  }
}

} // namespace

std::vector<std::string> mpiModuleFolders() {
  std::vector<std::string> folders = readDynamicSection().runpath;
  folders.push_back(executableDirectory());
  return folders;
}

void runMpiRank(const Launcher &launcher,
                const std::function<int(Transport &)> &body) {
  Module module = loadModule(launcher);
  char error[512] = "";
  Activity activity;
  Transport *transport =
      module.open(synchronousSends(), &activity, error, sizeof error);
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
    module.close(transport);
  watch.leave();
  if (status != 0) {
    std::fflush(nullptr);
    _exit(status);
  }
}

} // namespace ppopt::comm
