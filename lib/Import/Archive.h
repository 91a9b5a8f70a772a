//===- Archive.h - The zip of torch.export.save ---------------------------===//
//
// PyTorch calls it "PT2 archive": NAME/models/model.json, the storages in
// NAME/data/weights and NAME/data/constants with one list each, all stored
// without compression.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_ARCHIVE_H
#define PPOPT_LIB_IMPORT_ARCHIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::pp::pt2 {

class Archive {
public:
  /// Opens the file. Errors say what is wrong with it and what to do.
  static llvm::Expected<std::unique_ptr<Archive>> open(llvm::StringRef path);
  ~Archive();

  /// Returns the path of the only models/*.json. An error if there is none, or
  /// if there are several.
  llvm::Expected<std::string> findModel() const;
  /// Whether there is an entry of this path, which is relative to the archive's
  /// folder ("data/weights/weight_0").
  bool has(llvm::StringRef path) const { return entries.count(path); }
  /// The bytes of an entry; 0 if there is none.
  int64_t getSize(llvm::StringRef path) const;
  llvm::Expected<std::string> read(llvm::StringRef path) const;
  /// Reads `size` bytes from `offset` on, which are within the entry.
  llvm::Error read(llvm::StringRef path, int64_t offset,
                   llvm::MutableArrayRef<char> bytes) const;

private:
  struct Entry {
    uint64_t index = 0;
    int64_t size = 0;
  };

  struct File;

  explicit Archive(std::unique_ptr<File> file);
  llvm::Error readEntries();

  std::string folder;
  std::unique_ptr<File> file;
  llvm::StringMap<Entry> entries;
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_ARCHIVE_H
