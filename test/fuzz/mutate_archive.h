//===- mutate_archive.h - Changes to archives of torch.export -------------===//

#ifndef PPOPT_TEST_FUZZ_MUTATE_ARCHIVE_H
#define PPOPT_TEST_FUZZ_MUTATE_ARCHIVE_H

#include <optional>
#include <string>
#include <string_view>

namespace fuzz {

/// An archive of the same entries, of which one has changed: the graph (its
/// nodes, their arguments, what is said of tensors), a list of storages, or a
/// storage. It is written anew, so that its checksums are right. Nothing where
/// the bytes are no zip.
std::optional<std::string> mutateArchive(std::string_view bytes, unsigned seed);

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_MUTATE_ARCHIVE_H
