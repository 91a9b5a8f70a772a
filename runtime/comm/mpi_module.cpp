//===- mpi_module.cpp - MPI, loaded only under its launcher
//-----------------===//

#include "comm/mpi_module.h"

#include "comm/mpi_abi.h"
#include "comm/watch.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
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

/// Open MPI's own plugins look for its symbols among the global ones.
constexpr int loadFlags = RTLD_NOW | RTLD_GLOBAL;

void *loadModule(std::string &why) {
  if (const char *path = std::getenv("PPOPT_MPI_MODULE")) {
    void *handle = dlopen(path, loadFlags);
    if (!handle)
      why = dlerror();
    return handle;
  }
  std::string beside = executableDirectory() + "/" + moduleName;
  const char *name =
      access(beside.c_str(), R_OK) == 0 ? beside.c_str() : moduleName;
  void *handle = dlopen(name, loadFlags);
  if (!handle)
    why = dlerror();
  return handle;
}

[[noreturn]] void unavailable(const Launcher &launcher,
                              const std::string &why) {
  throw MpiUnavailable(
      "started by an MPI launcher (" + launcher.variable +
      " is set), but MPI cannot be used: " + why +
      "; install MPI (on Debian: libopenmpi3, openmpi-bin), or start without "
      "mpirun to run the ranks as threads");
}

bool synchronousSends() {
  const char *set = std::getenv("PPOPT_SYNC_SENDS");
  std::string text = set ? set : "0";
  if (text != "0" && text != "1")
    throw MpiUnavailable("PPOPT_SYNC_SENDS is '" + text + "', not 0 or 1");
  return text == "1";
}

/// Until all ranks are through.
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

void runMpiRank(const Launcher &launcher,
                const std::function<int(Transport &)> &body) {
  std::string why;
  void *handle = loadModule(why);
  if (!handle)
    unavailable(launcher, why);
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
  // More are a job of several parts, each of which is counted by itself.
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
