//===- comm_mpi_module_test.cpp - Telling launchers apart
//-------------------===//

#include "comm/mpi_module.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace ppopt::comm;

namespace {

/// A variable of the environment for the time of a test.
class Setting {
public:
  Setting(const char *name, const char *value) : name(name) {
    setenv(name, value, 1);
  }
  ~Setting() { unsetenv(name); }

private:
  const char *name;
};

} // namespace

TEST(MpiModule, NoLauncher) { EXPECT_FALSE(detectMpiLauncher()); }

TEST(MpiModule, KnowsLaunchers) {
  {
    Setting setting("OMPI_COMM_WORLD_SIZE", "4");
    auto launcher = detectMpiLauncher();
    ASSERT_TRUE(launcher);
    EXPECT_EQ(launcher->variable, "OMPI_COMM_WORLD_SIZE");
    EXPECT_EQ(launcher->ranks, 4);
  }
  {
    Setting setting("PMI_SIZE", "1");
    EXPECT_EQ(detectMpiLauncher()->ranks, 1);
  }
  Setting setting("PMIX_RANK", "0");
  ASSERT_TRUE(detectMpiLauncher());
  EXPECT_FALSE(detectMpiLauncher()->ranks);
}

TEST(MpiModule, AModuleThatCannotBeLoadedIsOneClearLine) {
  Setting size("OMPI_COMM_WORLD_SIZE", "2");
  Setting module("PPOPT_MPI_MODULE", "/nonexistent/libppopt_mpi.so");
  bool ran = false;
  try {
    runMpiRank(*detectMpiLauncher(),
               [&](Transport &) { return int(ran = true); });
    FAIL() << "no exception";
  } catch (const MpiUnavailable &error) {
    std::string line = error.what();
    EXPECT_NE(line.find("/nonexistent/libppopt_mpi.so"), std::string::npos);
    EXPECT_NE(line.find("OMPI_COMM_WORLD_SIZE"), std::string::npos);
    EXPECT_NE(line.find("without mpirun"), std::string::npos);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(ran);
}
