//===- Archive.cpp - The zip of torch.export.save -------------------------===//

#include "Archive.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <zip.h>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

struct Archive::File {
  explicit File(zip_t *zip) : zip(zip) {}
  ~File() { zip_discard(zip); }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  zip_t *zip;
};

Archive::Archive(std::unique_ptr<File> file) : file(std::move(file)) {}
Archive::~Archive() = default;

static Error makeError(const Twine &message) {
  return createStringError(message);
}

Expected<std::unique_ptr<Archive>> Archive::open(StringRef path) {
  int code = 0;
  zip_t *file = zip_open(path.str().c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (!file) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (!sys::fs::exists(path))
      return makeError(why);
    return makeError("is no whole archive of torch.export.save (" + why +
                     "): save it again");
  }
  std::unique_ptr<Archive> archive(new Archive(std::make_unique<File>(file)));
  if (Error error = archive->readEntries())
    return std::move(error);
  return archive;
}

Error Archive::readEntries() {
  zip_int64_t count = zip_get_num_entries(file->zip, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE |
                                    ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(file->zip, i, 0, &stat) != 0 ||
        (stat.valid & needed) != needed)
      return makeError("has an entry that cannot be read: save it again");
    auto [outer, inner] = StringRef(stat.name).split('/');
    if (folder.empty())
      folder = outer.str();
    if (inner.empty())
      continue; // a folder
    if (outer != folder)
      return makeError("has entries of two folders, '" + folder + "' and '" +
                       outer + "': it is no archive of torch.export.save");
    if (stat.comp_method != ZIP_CM_STORE)
      return makeError("has the compressed entry '" + Twine(stat.name) +
                       "': torch.export.save does not compress");
    if (stat.size != stat.comp_size)
      return makeError("has the entry '" + Twine(stat.name) + "' of " +
                       Twine(stat.size) + " bytes in " + Twine(stat.comp_size) +
                       ": save it again");
    if (!entries.insert({inner, {uint64_t(i), int64_t(stat.size)}}).second)
      return makeError("has '" + Twine(stat.name) + "' twice");
  }
  return Error::success();
}

Expected<std::string> Archive::findModel() const {
  SmallVector<std::string> models;
  for (const auto &entry : entries)
    if (entry.first().starts_with("models/") &&
        entry.first().ends_with(".json"))
      models.push_back(entry.first().str());
  llvm::sort(models);
  if (models.empty())
    return makeError("has no models/model.json: save it with "
                     "torch.export.save of PyTorch 2.9 or later");
  if (models.size() > 1)
    return makeError("has several models, " + join(models, ", ") +
                     ": save one alone");
  return models.front();
}

int64_t Archive::getSize(StringRef path) const {
  auto found = entries.find(path);
  return found == entries.end() ? 0 : found->second.size;
}

Expected<std::string> Archive::read(StringRef path) const {
  if (!has(path))
    return makeError("lacks '" + path + "'");
  std::string text(getSize(path), '\0');
  if (Error error = read(path, 0, {text.data(), text.size()}))
    return std::move(error);
  return text;
}

Error Archive::read(StringRef path, int64_t offset,
                    MutableArrayRef<char> bytes) const {
  auto found = entries.find(path);
  if (found == entries.end())
    return makeError("lacks '" + path + "'");
  zip_file_t *entry = zip_fopen_index(file->zip, found->second.index, 0);
  if (!entry)
    return makeError("has '" + path +
                     "', which cannot be read: " + zip_strerror(file->zip));
  llvm::scope_exit close([&] { zip_fclose(entry); });
  if (offset != 0 && zip_fseek(entry, offset, SEEK_SET) != 0)
    return makeError("has '" + path + "', which cannot be read from byte " +
                     Twine(offset) + " on");
  while (!bytes.empty()) {
    zip_int64_t read = zip_fread(entry, bytes.data(), bytes.size());
    if (read <= 0)
      return makeError("has '" + path +
                       "', which ends before its size or is "
                       "damaged: save it again");
    bytes = bytes.drop_front(read);
  }
  // At its end the checksum is compared.
  char after = 0;
  if (zip_fread(entry, &after, 1) < 0)
    return makeError("has '" + path +
                     "', whose checksum is wrong: save it again");
  return Error::success();
}
