//===- token-file.cpp - Fuzzes readers of token files ---------------------===//
//
// The input is the file of --data; its last byte chooses the format, the
// window and the vocabulary.
//
//===----------------------------------------------------------------------===//

#include "data/token_files.h"
#include "input_file.h"

using namespace ppopt::train;

template <typename Int>
static void copyAll(const TokenWindows &windows, uint64_t length,
                    const TokenRange &range) {
  std::vector<Int> tokens(length);
  for (uint64_t window = 0; window < windows.count(); ++window)
    for (uint64_t shift = 0; shift < length; ++shift)
      try {
        windows.copy(window, shift, length - shift, range, tokens.data());
      } catch (const Error &) {
      }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  uint8_t choice = data[size - 1];
  InputFile file(data, size - 1);
  uint64_t length = 1 + choice / 2 % 8, stride = 1 + choice / 16 % 8;
  TokenFormat format = choice % 2 ? TokenFormat::Uint16 : TokenFormat::Bytes;
  TokenRange range{/*bounded=*/choice >= 128, /*size=*/256,
                   /*hasIgnored=*/true, /*ignored=*/300};
  try {
    TokenWindows windows({file.path()}, format, {length, stride}, "--data");
    copyAll<int32_t>(windows, length, range);
    copyAll<int64_t>(windows, length, range);
  } catch (const Error &) {
  }
  return 0;
}
