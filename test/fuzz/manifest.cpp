//===- manifest.cpp - Fuzzes the manifests of checkpoints -----------------===//
//
// The input is a checkpoint's manifest.json. Its checksum is made anew after
// most changes: else hardly any would be read further. What is read must be
// written and read again the same.
//
//===----------------------------------------------------------------------===//

#include "mutate_json.h"

#include "base/checksum.h"
#include "base/error.h"
#include "checkpoint/checkpoint_manifest.h"

#include <cstdlib>

using namespace ppopt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  try {
    std::string printed =
        train::printManifest(train::parseManifest("manifest.json", text));
    if (train::printManifest(train::parseManifest("again", printed)) != printed)
      std::abort();
  } catch (const runtime::Error &) {
  }
  return 0;
}

/// docs/checkpoints.md: of the text without the checksum.
static std::string sign(nlohmann::json document) {
  auto print = [&] { return fuzz::printJson(document, 1) + "\n"; };
  if (!document.is_object())
    return print();
  document.erase("checksum");
  document["checksum"] = train::Checksum::of(print());
  return print();
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed, sign);
}
