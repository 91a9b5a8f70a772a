//===- module_image.cpp - PTX and cubins ----------------------------------===//

#include "fake/module_image.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace ppopt::cuda::fake {
namespace {

/// Returns the PTX version that a driver takes, as 10 * major + minor.
int newestPtx(int driverVersion) {
  int major = driverVersion / 1000, minor = driverVersion % 1000 / 10;
  // 12.0 takes 8.0, 12.9 takes 8.8, 13.0 takes 9.0.
  return 10 * (major - 4) + (major == 12 && minor > 6 ? minor - 1 : minor);
}

/// Returns the newest ABI of cubins that a driver takes: ptxas 12.9 writes 7,
/// and 13.0 writes 8.
int newestAbi(int driverVersion) { return driverVersion >= 13000 ? 8 : 7; }

/// Returns the text after a directive that begins a line, or null.
const char *findDirective(const char *text, const char *directive) {
  for (const char *at = text; (at = std::strstr(at, directive)); ++at)
    if (at == text || at[-1] == '\n')
      return at + std::strlen(directive);
  return nullptr;
}

} // namespace

ModuleImage::ModuleImage(const void *image, const GpuSettings &gpu,
                         const Settings &settings) {
  const char *bytes = static_cast<const char *>(image);
  bool isCubin = std::memcmp(bytes, ELFMAG, SELFMAG) == 0;
  if (isCubin && !settings.acceptsCubin)
    refuse(DriverResult::noBinaryForGpu);
  if (isCubin && bytes[EI_ABIVERSION] > newestAbi(settings.driverVersion))
    refuse(DriverResult::invalidImage);
  if (isCubin)
    readCubin(bytes);
  else
    readPtx(bytes, gpu, settings);
}

void ModuleImage::readPtx(const char *text, const GpuSettings &gpu,
                          const Settings &settings) {
  const char *version = findDirective(text, ".version "),
             *target = findDirective(text, ".target sm_");
  if (!version || !target)
    refuse(DriverResult::invalidPtx,
           "the image is neither a cubin nor PTX with .version and .target");
  int major = std::atoi(version),
      minor = std::atoi(std::strchr(version, '.') + 1);
  if (10 * major + minor > newestPtx(settings.driverVersion))
    refuse(DriverResult::unsupportedPtxVersion,
           "PTX {}.{} is too new for driver {}", major, minor,
           settings.driverVersion);
  char *end = nullptr;
  long capability = std::strtol(target, &end, 10),
       own = 10 * gpu.major + gpu.minor;
  // Code for sm_90a runs on this GPU only, code for sm_80 on all later ones.
  if (std::isalpha(*end) ? capability != own : capability > own)
    refuse(DriverResult::noBinaryForGpu, "PTX for sm_{} on a GPU of {}.{}",
           std::string_view(target,
                            size_t(end + bool(std::isalpha(*end)) - target)),
           gpu.major, gpu.minor);
  constexpr std::string_view entry = ".entry ";
  for (const char *at = text; (at = std::strstr(at, entry.data()));) {
    at += entry.size();
    kernels.emplace(at, std::strcspn(at, "( \t\n"));
  }
}

/// A kernel has a section .text.NAME.
void ModuleImage::readCubin(const char *bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  auto section = [&](unsigned number) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + number * sizeof section,
                sizeof section);
    return section;
  };
  const char *names = bytes + section(header.e_shstrndx).sh_offset;
  constexpr std::string_view text = ".text.";
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    std::string_view name = names + section(i).sh_name;
    if (name.substr(0, text.size()) == text)
      kernels.emplace(name.substr(text.size()));
  }
}

} // namespace ppopt::cuda::fake
