//===- input_file.h - A fuzzer's input as a file --------------------------===//

#ifndef PPOPT_TEST_FUZZ_INPUT_FILE_H
#define PPOPT_TEST_FUZZ_INPUT_FILE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

/// A file in memory that holds the input as long as the object lives. Its path
/// is the same for every input.
class InputFile {
public:
  InputFile(const uint8_t *data, size_t size)
      : descriptor(::memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor < 0 ||
        ::write(descriptor, data, size) != static_cast<ssize_t>(size))
      std::abort();
  }
  ~InputFile() { ::close(descriptor); }
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

#endif // PPOPT_TEST_FUZZ_INPUT_FILE_H
