//===- train_files.h - Files for tests, and what errors must say ----------===//

#ifndef PPOPT_TEST_RUNTIME_TRAIN_FILES_H
#define PPOPT_TEST_RUNTIME_TRAIN_FILES_H

#include "base/error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// Removed, with all that is in it, when the scope ends.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = ::testing::TempDir() + "ppopt-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string &name) const {
    return folder_ + "/" + name;
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::filesystem::create_directories(
        std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

private:
  std::string folder_;
};

template <typename Value>
std::string asBytes(const std::vector<Value> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(Value)};
}

/// The statement throws Error with this text in its one line.
#define EXPECT_ERROR(statement, text)                                          \
  try {                                                                        \
    statement;                                                                 \
    ADD_FAILURE() << "no error, expected: " << text;                           \
  } catch (const ppopt::runtime::Error &error) {                               \
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)         \
        << error.what();                                                       \
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);        \
  }

#endif // PPOPT_TEST_RUNTIME_TRAIN_FILES_H
