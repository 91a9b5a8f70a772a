//===- initial_parameters_test.cpp - Parameters that files begin with -----===//
//
// check_starting_points.py has the rules; here is what only a process can tell.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/initial_parameters.h"
#include "checkpoint/stored_numbers.h"
#include "device/cpu/cpu_device.h"
#include "train_files.h"
#include "train_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace ppopt::train;
using ppopt::device::DevicePointer;
using ppopt::runtime::ElementType;
using ppopt::runtime::Program;

namespace {

/// Takes away the access to bytes [begin, end) of a file that is mapped, as far
/// as they are whole pages. Returns whether there are any.
bool protect(const std::string &path, uint64_t begin, uint64_t end) {
  auto page = uint64_t(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.size() > path.size() &&
        line.compare(line.size() - path.size(), path.size(), path) == 0) {
      auto *file = reinterpret_cast<char *>(std::stoull(line, nullptr, 16));
      return begin < end &&
             ::mprotect(file + begin, end - begin, PROT_NONE) == 0;
    }
  return false;
}

class OneRank : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(InitialParameters, OneRank,
                         testing::Values("F64", "F32"),
                         [](const auto &info) { return info.param; });

TEST_P(OneRank, ReadsOnlyWhatItHas) {
  constexpr int64_t rows = 64, columns = 2048, held = 16;
  TemporaryFolder folder;
  std::string path = folder.path("p.safetensors"), dtype = GetParam();
  Program program =
      ppopt::runtime::readProgram(next_token::program(1, 1).dump());
  program.parameters.resize(1, program.parameters[0]);
  program.parameters[0].name = "a";
  program.parameters[0].shape = {rows, columns};
  program.parameters.push_back(program.parameters[0]);
  program.parameters[1].name = "b";

  std::vector<double> wide(rows * columns);
  std::iota(wide.begin(), wide.end(), 1);
  std::vector<float> narrow(wide.begin(), wide.end());
  const void *data = dtype == "F64" ? static_cast<void *>(wide.data())
                                    : static_cast<void *>(narrow.data());
  writeSafetensors(path, {{"a", dtype, {rows, columns}, data},
                          {"b", dtype, {rows, columns}, data}});
  auto rangeOf = [&](const char *name) {
    SafetensorsFile file(path);
    uint64_t begin = file.offsetOf(*file.find(name));
    return std::pair(begin, begin + file.find(name)->bytes);
  };
  auto [aBegin, aEnd] = rangeOf("a");
  auto [bBegin, bEnd] = rangeOf("b");

  InitialParameters initial(program, {{path}});
  ASSERT_TRUE(protect(path, aBegin + (aEnd - aBegin) / rows * held, aEnd));
  ASSERT_TRUE(protect(path, bBegin, bEnd));
  std::vector<double> loaded(held * columns);
  auto cpu = ppopt::device::makeCpuDevice(1);
  initial.load(*cpu, cpu->makeStream("parameters"),
               {{0,
                 {ppopt::geometry::Tile(rows * columns), 0, held * columns},
                 DevicePointer(loaded.data())}});
  EXPECT_TRUE(std::equal(loaded.begin(), loaded.end(), wide.begin()));
}

TEST(ConvertNumbers, FindsTheFirstThatWouldBeInfinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values(3000, 1.5);
  std::vector<float> converted(values.size());
  auto convert = [&] {
    return convertNumbers("F64", reinterpret_cast<const char *>(values.data()),
                          int64_t(values.size()), ElementType::f32,
                          converted.data());
  };
  values[17] = infinity;
  values[18] = std::nan("");
  EXPECT_EQ(convert(), 3000);
  EXPECT_EQ(converted[17], infinity);
  EXPECT_NE(converted[18], converted[18]);
  EXPECT_EQ(converted[2999], 1.5F);
  values[2998] = values[2500] = 3.5e38;
  EXPECT_EQ(convert(), 2500);
}

} // namespace
