//===- Ptxas.cpp - NVIDIA's assembler -------------------------------------===//

#include "Ptxas.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/VersionTuple.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the folders with ptxas of NVIDIA's wheels in a virtual environment.
static SmallVector<std::string> findWheels(StringRef environment) {
  SmallVector<std::string> folders;
  std::error_code error;
  llvm::sys::fs::directory_iterator folder(environment + "/lib", error), end;
  for (; !error && folder != end; folder.increment(error))
    if (llvm::sys::path::filename(folder->path()).starts_with("python3"))
      for (StringRef wheel : {"cu13", "cuda_nvcc"})
        folders.push_back(
            (folder->path() + "/site-packages/nvidia/" + wheel + "/bin").str());
  llvm::sort(folders);
  return folders;
}

/// Returns all that are found, each once.
static SmallVector<std::string> listPtxas() {
  SmallVector<std::string> folders, paths;
  if (const char *toolkit = getenv("CUDA_HOME"))
    folders.push_back(std::string(toolkit) + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  std::error_code error;
  llvm::sys::fs::directory_iterator folder("/usr/local", error), end;
  for (; !error && folder != end; folder.increment(error))
    if (llvm::sys::path::filename(folder->path()).starts_with("cuda-"))
      folders.push_back(folder->path() + "/bin");
  if (const char *environment = getenv("VIRTUAL_ENV"))
    folders.append(findWheels(environment));
  SmallVector<llvm::sys::fs::UniqueID> known;
  auto add = [&](llvm::ErrorOr<std::string> found) {
    llvm::sys::fs::UniqueID id;
    if (!found || llvm::sys::fs::getUniqueID(*found, id) ||
        llvm::is_contained(known, id))
      return;
    known.push_back(id);
    paths.push_back(*found);
  };
  add(llvm::sys::findProgramByName("ptxas"));
  for (const std::string &each : folders)
    add(llvm::sys::findProgramByName("ptxas", {each}));
  return paths;
}

/// Returns what it prints; empty if it fails.
static std::string ask(StringRef ptxas, StringRef flag) {
  llvm::SmallString<64> said;
  if (llvm::sys::fs::createTemporaryFile("ptxas", "txt", said))
    return "";
  llvm::FileRemover remover(said);
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(said),
                                          StringRef("")};
  if (llvm::sys::ExecuteAndWait(ptxas, {ptxas, flag}, std::nullopt,
                                redirects) != 0)
    return "";
  auto text = llvm::MemoryBuffer::getFile(said);
  return text ? (*text)->getBuffer().str() : "";
}

/// Returns the version, from "... release 13.0, V13.0.88"; empty if it does not
/// say.
static llvm::VersionTuple versionOf(StringRef ptxas) {
  std::string said = ask(ptxas, "--version");
  StringRef number = StringRef(said).split("release ").second.split(',').first;
  llvm::VersionTuple version;
  return version.tryParse(number) ? llvm::VersionTuple() : version;
}

std::string pp::findPtxas(StringRef gpu) {
  if (const char *path = getenv("PPOPT_PTXAS"))
    return StringRef(path) == "none" ? "" : path;
  SmallVector<std::string> all = listPtxas();
  if (all.empty())
    return "";
  // Of several the oldest: a driver loads cubins of its own version of CUDA and
  // of older ones. If none says that it knows the architecture, the first one
  // says why not.
  std::string chosen = all.front();
  llvm::VersionTuple oldest;
  std::string name = ("'" + gpu + "'").str();
  if (all.size() > 1)
    for (const std::string &each : all) {
      llvm::VersionTuple version = versionOf(each);
      if (version.empty() || (!oldest.empty() && oldest <= version) ||
          !StringRef(ask(each, "--help")).contains(name))
        continue;
      oldest = version;
      chosen = each;
    }
  return chosen;
}

FailureOr<std::string> pp::assemble(Location loc, StringRef ptxas,
                                    StringRef ptx, StringRef gpu,
                                    StringRef stem, std::string &log) {
  std::string source = (stem + ".ptx").str(), result = (stem + ".cubin").str(),
              said = (stem + ".ptxas").str();
  {
    std::error_code error;
    llvm::raw_fd_ostream file(source, error);
    file << ptx;
    file.close();
    if (error || file.has_error()) {
      file.clear_error();
      return emitError(loc) << "can't write '" << source << "'";
    }
  }
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(said),
                                          StringRef(said)};
  std::string why;
  std::string architecture = ("-arch=" + gpu).str();
  int status = llvm::sys::ExecuteAndWait(
      ptxas, {ptxas, "-v", architecture, "-O3", source, "-o", result},
      std::nullopt, redirects, /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
  if (auto text = llvm::MemoryBuffer::getFile(said))
    log = (*text)->getBuffer().str();
  if (status != 0)
    return emitError(loc) << ptxas << " failed: " << why << log;
  auto cubin = llvm::MemoryBuffer::getFile(result);
  if (!cubin)
    return emitError(loc) << "can't read '" << result
                          << "': " << cubin.getError().message();
  return (*cubin)->getBuffer().str();
}
