//===- LinkExecutable.cpp - Links a program with the runtime --------------===//

#include "ppopt/Codegen/LinkExecutable.h"

#include "ppopt/Config.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

using LinkLibrary = pp::LinkLibrary;

/// What every executable links, whatever its target.
static constexpr LinkLibrary runtimeLibraries[] = {
    {"-l:libpcre2-8.a", "libpcre2-dev"},
    {"-lpthread", "libc6-dev"},
    {"-ldl", "libc6-dev"},
    {"-lm", "libc6-dev"},
};

/// Returns one line for the libraries that the linker misses; empty if its log
/// names none. Each missing library causes errors of its own, or a page of
/// undefined symbols.
static std::string explainMissing(StringRef log,
                                  ArrayRef<LinkLibrary> libraries) {
  SmallVector<std::string> missing;
  auto add = [&](const Twine &text) {
    if (!llvm::is_contained(missing, text.str()))
      missing.push_back(text.str());
  };
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    for (StringRef words : {"cannot find ", "unable to find library "}) {
      auto [before, rest] = line.split(words);
      StringRef flag = rest.take_until([](char c) { return c == ' '; });
      flag.consume_back(":");
      for (const LinkLibrary &library : libraries)
        if (library.flag == flag)
          add(flag + " (on Debian: " + library.package + ")");
    }
    auto [before, after] = line.split(", needed by ");
    auto [user, rest] = after.split(", ");
    if (rest.starts_with("not found"))
      add(before.rsplit(' ').second + ", which " +
          llvm::sys::path::filename(user) + " needs");
  }
  return missing.empty() ? std::string()
                         : "this machine lacks " + llvm::join(missing, "; ");
}

/// The directory of the link tools, unless ppopt was built with others: not the
/// user's PATH, which may begin with anything.
static constexpr StringRef systemTools = "/usr/bin";

/// Returns the link driver: the one ppopt was built with, or the system's if
/// that is not on this machine.
static std::optional<std::string> findLinkDriver() {
  if (llvm::sys::fs::can_execute(PPOPT_LINK_DRIVER))
    return PPOPT_LINK_DRIVER;
  for (StringRef name : {"c++", "g++", "clang++"})
    if (llvm::ErrorOr<std::string> found =
            llvm::sys::findProgramByName(name, {systemTools}))
      return *found;
  return std::nullopt;
}

/// Returns the environment with a PATH in which the driver finds lld and other
/// tools: where ppopt was built with them, or the system's.
static std::vector<std::string> getLinkEnvironment(StringRef driver) {
  std::vector<std::string> variables;
  for (char **each = environ; *each; ++each)
    if (!StringRef(*each).starts_with("PATH="))
      variables.push_back(*each);
  std::string path = "PATH=";
  for (StringRef tool : {StringRef(PPOPT_LLD), driver})
    if (!tool.empty())
      path += (llvm::sys::path::parent_path(tool) + ":").str();
  variables.push_back(path + systemTools.str());
  return variables;
}

/// Runs a linker. Returns its exit status, and what it said: kept in memory,
/// since the disk may be full.
static int runLinker(StringRef program, ArrayRef<StringRef> command,
                     ArrayRef<StringRef> environment, std::string &said) {
  int log = memfd_create("ppopt-link", MFD_CLOEXEC);
  if (log < 0) {
    said = "no memory for what the linker says";
    return -1;
  }
  std::string path =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(log);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(path),
                                          StringRef(path)};
  int status = llvm::sys::ExecuteAndWait(program, command, environment,
                                         redirects, 0, 0, &said);
  if (auto text = llvm::MemoryBuffer::getFile(path))
    said += (*text)->getBuffer();
  close(log);
  return status;
}

/// Memory comes in huge pages: to fault in others takes a third of a link.
static constexpr StringRef linkerEnvironment[] = {
    "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=8388608"};

/// Links without the driver, with what it would add. Of shared libraries it
/// reads stubs (runtime/link/make-stubs). Returns false if one of these files
/// is not on this machine or the linker fails, with what it said: the driver
/// may succeed, or says why not.
static bool linkWithoutDriver(ArrayRef<std::string> objects,
                              const pp::LinkTarget &target, StringRef prefix,
                              StringRef executable, std::string &said) {
  static constexpr StringRef startFiles[] = {PPOPT_START_FILES},
                             libraries[] = {PPOPT_SHARED_LIBRARIES},
                             endFiles[] = {PPOPT_END_FILES};
  std::string modules = (prefix + "/lib/ppopt").str();
  SmallVector<std::string> files(std::begin(startFiles), std::end(startFiles));
  files.append(objects.begin(), objects.end());
  files.push_back((prefix + "/lib/" + target.deviceMaker + ".o").str());
  for (StringRef library : libraries)
    files.push_back(modules + "/stubs/" +
                    llvm::sys::path::filename(library).str());
  files.append(std::begin(endFiles), std::end(endFiles));
  auto isThere = [](StringRef file) { return llvm::sys::fs::exists(file); };
  if (!llvm::sys::fs::can_execute(PPOPT_LINKER) ||
      !llvm::all_of(files, isThere) || !llvm::all_of(libraries, isThere))
    return false;
  // The output is mapped: gold reserves its space before, and would write for
  // ever to a full disk.
  SmallVector<StringRef> command = {PPOPT_LINKER,
                                    "-pie",
                                    "-nostdlib",
                                    "--discard-locals",
                                    "--eh-frame-hdr",
                                    "--hash-style=gnu",
                                    "--as-needed",
                                    "-rpath",
                                    modules,
                                    "-dynamic-linker",
                                    PPOPT_DYNAMIC_LINKER,
                                    "-o",
                                    executable};
  command.append(files.begin(), files.end());
  return runLinker(PPOPT_LINKER, command, linkerEnvironment, said) == 0;
}

LogicalResult pp::linkExecutable(ArrayRef<std::string> objects,
                                 const LinkTarget &target, StringRef prefix,
                                 StringRef executable) {
  SmallVector<LinkLibrary> libraries(target.libraries);
  libraries.append(std::begin(runtimeLibraries), std::end(runtimeLibraries));
  auto reject = [](const Twine &message) {
    llvm::errs() << "ppopt: error: " << message << "\n";
    return failure();
  };
  std::string runtime = (prefix + "/lib/libppopt_runtime.a").str();
  if (!llvm::sys::fs::exists(runtime))
    return reject("the runtime is not at '" + runtime +
                  "'; it is installed beside the compiler");
  auto fail = [&](const Twine &why) {
    return reject("linking the executable failed: " + why);
  };
  std::string said;
  if (linkWithoutDriver(objects, target, prefix, executable, said))
    return success();
  // The driver's linker would crash.
  if (StringRef(said).contains(strerror(ENOSPC)))
    return fail(said);
  said.clear();
  std::optional<std::string> driver = findLinkDriver();
  if (!driver)
    return reject("no C++ compiler to link with: neither " PPOPT_LINK_DRIVER
                  " nor one in " +
                  systemTools + "; install g++");

  // Where the executable looks for the MPI module if it is not next to it.
  std::string modules = ("-Wl,-rpath," + prefix + "/lib/ppopt").str();
  SmallVector<StringRef> command = {*driver, "-o", executable};
  command.append(objects.begin(), objects.end());
  // The runtime refers to its devices weakly, so that an executable has one.
  std::string device = ("-Wl,--undefined=" + target.deviceMaker).str();
  command.push_back(device);
  // What programs use of the archive, linked when ppopt was built
  // (runtime/CMakeLists.txt).
  std::string linked = (prefix + "/lib/" + target.deviceMaker + ".o").str();
  command.push_back(llvm::sys::fs::exists(linked) ? linked : runtime);
  command.push_back(modules);
  command.push_back("-Wl,--as-needed");
  // It links in half of GNU ld's time; a program is too small for several
  // threads. To hash the program would take a tenth of that time.
  if (llvm::sys::fs::can_execute(PPOPT_LLD))
    command.append({"-fuse-ld=lld", "-Wl,--threads=1", "-Wl,--build-id=none"});
  for (const LinkLibrary &library : libraries)
    command.push_back(library.flag);
  std::string sanitizers = "-fsanitize=" PPOPT_SANITIZE;
  if (StringRef(PPOPT_SANITIZE) != "")
    command.push_back(sanitizers);

  std::vector<std::string> variables = getLinkEnvironment(*driver);
  std::vector<StringRef> environment(variables.begin(), variables.end());
  if (runLinker(*driver, command, environment, said) == 0)
    return success();
  std::string missing = explainMissing(said, libraries);
  return fail(missing.empty() ? said : missing);
}
