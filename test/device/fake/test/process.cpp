//===- process.cpp - Programs that run on the fake libraries --------------===//

#include "fake/test/process.h"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace ppopt::cuda::fake::test {
namespace {

struct Child {
  pid_t process = -1;
  int errors = -1; ///< what it writes to standard error can be read here
};

Child start(const Variables &variables, const std::function<void()> &program) {
  int ends[2];
  if (pipe(ends) != 0)
    failCheck("no pipe");
  std::fflush(nullptr);
  pid_t process = fork();
  if (process < 0)
    failCheck("no process");
  if (process > 0) {
    close(ends[1]);
    return {process, ends[0]};
  }
  dup2(ends[1], STDERR_FILENO);
  close(ends[0]);
  close(ends[1]);
  for (const auto &[name, value] : variables)
    setenv(name.c_str(), value.c_str(), 1);
  program();
  std::exit(0);
}

Outcome finish(const Child &child) {
  Outcome outcome;
  char buffer[4096];
  for (ssize_t count; (count = read(child.errors, buffer, sizeof buffer)) > 0;)
    outcome.errors.append(buffer, size_t(count));
  close(child.errors);
  int status = 0;
  waitpid(child.process, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

} // namespace

Outcome run(const Variables &variables, const std::function<void()> &program) {
  return finish(start(variables, program));
}

std::vector<Outcome>
runAll(const Variables &variables,
       const std::vector<std::function<void()>> &programs) {
  std::vector<Child> children;
  for (const std::function<void()> &program : programs)
    children.push_back(start(variables, program));
  std::vector<Outcome> outcomes;
  for (const Child &child : children)
    outcomes.push_back(finish(child));
  return outcomes;
}

void failCheck(const std::string &message) {
  std::fprintf(stderr, "a check failed: %s\n", message.c_str());
  std::fflush(nullptr);
  _exit(1);
}

} // namespace ppopt::cuda::fake::test
