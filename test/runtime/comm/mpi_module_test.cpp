//===- mpi_module_test.cpp - Telling launchers apart ----------------------===//

#include "comm/mpi_module.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace ppopt::comm;

namespace {

/// A variable of the environment for the time of a test.
class Setting {
public:
  Setting(const char *name, const char *value) : name(name) {
    if (const char *old = getenv(name))
      before = old;
    setenv(name, value, 1);
  }
  ~Setting() {
    if (before)
      setenv(name, before->c_str(), 1);
    else
      unsetenv(name);
  }

private:
  const char *name;
  std::optional<std::string> before;
};

} // namespace

TEST(Launcher, NoLauncher) {
  EXPECT_FALSE(detectLauncher());
  EXPECT_FALSE(onSeveralMachines());
}

TEST(Launcher, KnowsThoseOfMpi) {
  {
    Setting setting("OMPI_COMM_WORLD_SIZE", "4");
    auto launcher = detectLauncher();
    ASSERT_TRUE(launcher);
    EXPECT_TRUE(launcher->mpi);
    EXPECT_EQ(launcher->variable, "OMPI_COMM_WORLD_SIZE");
    EXPECT_EQ(launcher->ranks, 4);
    Setting all("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
    EXPECT_FALSE(onSeveralMachines());
    Setting some("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
    EXPECT_TRUE(onSeveralMachines());
  }
  {
    Setting setting("PMI_SIZE", "1");
    EXPECT_EQ(detectLauncher()->ranks, 1);
  }
  Setting setting("PMIX_RANK", "0");
  ASSERT_TRUE(detectLauncher());
  EXPECT_FALSE(detectLauncher()->ranks);
}

/// mpirun starts its daemons by srun, whose count is not that of ranks; where
/// srun starts ranks that have PMIx, the count is srun's alone.
TEST(Launcher, CountsByTheInnermost) {
  Setting tasks("SLURM_STEP_NUM_TASKS", "2");
  {
    Setting setting("OMPI_COMM_WORLD_SIZE", "4");
    EXPECT_EQ(detectLauncher()->ranks, 4);
    EXPECT_EQ(detectLauncher()->counted, "OMPI_COMM_WORLD_SIZE");
  }
  Setting setting("PMIX_RANK", "0");
  auto launcher = detectLauncher();
  ASSERT_TRUE(launcher);
  EXPECT_TRUE(launcher->mpi);
  EXPECT_EQ(launcher->variable, "PMIX_RANK");
  EXPECT_EQ(launcher->ranks, 2);
  EXPECT_EQ(launcher->counted, "SLURM_STEP_NUM_TASKS");
}

TEST(Launcher, SeveralTasksWithoutMpiAreAlone) {
  Setting tasks("SLURM_STEP_NUM_TASKS", "2");
  ASSERT_TRUE(detectLauncher());
  EXPECT_FALSE(detectLauncher()->mpi);
  EXPECT_EQ(detectLauncher()->startOne(8),
            "srun --ntasks=1 --cpus-per-task=8 ");
  for (const char *count : {"1", "", "two", "99999999999"}) {
    Setting other("SLURM_STEP_NUM_TASKS", count);
    EXPECT_FALSE(detectLauncher()) << count;
  }
}

TEST(MpiModule, AModuleThatCannotBeLoadedIsOneClearLine) {
  Setting size("OMPI_COMM_WORLD_SIZE", "2");
  Setting module("PPOPT_MPI_MODULE", "/nonexistent/libppopt_mpi.so");
  bool ran = false;
  try {
    runMpiRank(*detectLauncher(), [&](Transport &) { return int(ran = true); });
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
