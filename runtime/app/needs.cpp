//===- needs.cpp - Requirements of an executable on another machine -------===//

#include "app/needs.h"

#include "comm/dynamic_section.h"
#include "comm/mpi_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

namespace ppopt::train {
namespace {

/// A library and its package in Debian and derived systems.
/// test/Driver/needs.test compares with dpkg.
struct Library {
  const char *name, *package;
};
constexpr Library packages[] = {
    {"ld-linux-x86-64.so.2", "libc6"}, {"libc.so.6", "libc6"},
    {"libdnnl.so.2", "libdnnl2"},      {"libgcc_s.so.1", "libgcc-s1"},
    {"libgomp.so.1", "libgomp1"},      {"libm.so.6", "libc6"},
    {"libstdc++.so.6", "libstdc++6"},
};
constexpr const char *mpiPackages = "libopenmpi3 openmpi-bin";

std::string packageOf(const std::string &library) {
  for (const Library &each : packages)
    if (library == each.name)
      return each.package;
  return {};
}

/// Returns, of versions that differ only in their numbers, the highest:
/// GLIBC_2.34 of GLIBC_2.4 and GLIBC_2.34.
std::vector<std::string> highest(const std::set<std::string> &versions) {
  std::map<std::string, std::string> of;
  for (const std::string &version : versions) {
    std::string &known = of[version.substr(0, version.find('_'))];
    if (known.empty() || ::strverscmp(known.c_str(), version.c_str()) < 0)
      known = version;
  }
  std::vector<std::string> result;
  for (auto &[kind, version] : of)
    result.push_back(version);
  return result;
}

std::string describeProcessor(const runtime::Plan &plan) {
  if (plan.target.cpu.rfind("x86-64", 0) == 0)
    return plan.target.cpu;
  return plan.target.cpu +
         " or one that has its instructions (ppopt compile --cpu "
         "x86-64-v3: most since 2013)";
}

} // namespace

std::string describeNeeds(const runtime::Program &program) {
  comm::DynamicSection section = comm::readDynamicSection();
  std::string text =
      fmt::format("{:<13}{}\n", "processor", describeProcessor(program.plan));
  std::set<std::string> install;
  const char *title = "libraries";
  for (const std::string &library : section.needed) {
    std::string package = packageOf(library);
    if (!package.empty())
      install.insert(package);
    std::vector<std::string> versions = highest(section.versions[library]);
    text += fmt::format(
        "{:<13}{:<22}{:<12}{}\n", title, library,
        package.empty() ? "?" : package,
        versions.empty() ? "" : fmt::format(" {}", fmt::join(versions, ", ")));
    title = "";
  }
  if (!program.local && program.plan.ranks() > 1)
    text += fmt::format(
        "{:<13}libppopt_mpi.so, in one of {}; with mpirun only\n"
        "{:<13}{}\n",
        "MPI", fmt::join(comm::mpiModuleFolders(), ", "), "", mpiPackages);
  text += fmt::format("{:<13}apt-get install --no-install-recommends {}\n",
                      "on Debian", fmt::join(install, " "));
  return text;
}

} // namespace ppopt::train
