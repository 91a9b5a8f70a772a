//===- dynamic_section.cpp - The executable's dynamic linking -------------===//

#include "comm/dynamic_section.h"

#include <elf.h>
#include <link.h>
#include <sstream>

namespace ppopt::comm {
namespace {

/// The C library replaces the offsets of some entries by addresses.
const char *addressOf(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<const char *>(value < base ? base + value : value);
}

void readEntries(ElfW(Addr) base, const ElfW(Dyn) * entries,
                 DynamicSection &section) {
  const char *names = nullptr, *versions = nullptr;
  for (const ElfW(Dyn) *entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB)
      names = addressOf(base, entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERNEED)
      versions = addressOf(base, entry->d_un.d_ptr);
  }
  if (!names)
    return;
  for (const ElfW(Dyn) *entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED)
      section.needed.push_back(names + entry->d_un.d_val);
    if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH) {
      std::istringstream folders(names + entry->d_un.d_val);
      for (std::string folder; std::getline(folders, folder, ':');)
        if (!folder.empty())
          section.runpath.push_back(folder);
    }
  }
  while (versions) {
    auto *library = reinterpret_cast<const ElfW(Verneed) *>(versions);
    const char *version = versions + library->vn_aux;
    for (int i = 0; i < library->vn_cnt; ++i) {
      auto *each = reinterpret_cast<const ElfW(Vernaux) *>(version);
      section.versions[names + library->vn_file].insert(names + each->vna_name);
      version += each->vna_next;
    }
    versions = library->vn_next ? versions + library->vn_next : nullptr;
  }
}

/// Called for the executable first; stops there.
int visit(dl_phdr_info *info, size_t, void *data) {
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      readEntries(info->dlpi_addr,
                  reinterpret_cast<const ElfW(Dyn) *>(
                      info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                  *static_cast<DynamicSection *>(data));
  return 1;
}

} // namespace

DynamicSection readDynamicSection() {
  DynamicSection section;
  dl_iterate_phdr(visit, &section);
  return section;
}

} // namespace ppopt::comm
