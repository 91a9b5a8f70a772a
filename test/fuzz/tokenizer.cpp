//===- tokenizer.cpp - Fuzzes GPT-2's vocabulary files and texts ----------===//
//
// The input is three parts with a line "%%" between them: vocab.json,
// merges.txt, and a text, whose tokens must be the text again.
//
//===----------------------------------------------------------------------===//

#include "generate/bpe_tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace ppopt;

/// A folder for the two files, made once and removed at the end.
class Folder {
public:
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("ppopt-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }

  const std::filesystem::path path;
};

static std::string_view takePart(std::string_view &text) {
  constexpr std::string_view separator = "\n%%\n";
  size_t end = text.find(separator);
  std::string_view part = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + separator.size());
  return part;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view input(reinterpret_cast<const char *>(data), size);
  static const Folder folder;
  for (const char *name : {"vocab.json", "merges.txt"})
    std::ofstream(folder.path / name) << takePart(input) << "\n";
  try {
    train::BpeTokenizer tokenizer(folder.path);
    std::string text;
    for (int32_t token : tokenizer.encode(input))
      text += tokenizer.decode(token);
    if (text != input)
      std::abort();
    train::WholeCharacters characters;
    text = characters.add(input);
    if (text + characters.finish() != input)
      std::abort();
  } catch (const train::Error &) {
  }
  return 0;
}
