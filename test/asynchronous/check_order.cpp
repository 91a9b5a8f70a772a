//===- check_order.cpp - Checks what --record wrote of a run --------------===//
//
//   ppopt-check-order FILE
//
// Prints what the run did, and then a line for each property that it broke:
// exit status 1 if there is any, or if the file cannot be read.
//
//===----------------------------------------------------------------------===//

#include "asynchronous/trace_check.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

using namespace ppopt::asynchronous;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ppopt-check-order FILE\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) {
    std::fprintf(stderr, "error: %s cannot be read\n", argv[1]);
    return 1;
  }
  try {
    TraceFacts facts = checkTrace(parseReplayLog(argv[1], text));
    std::printf("rounds %lld, tickets %lld, of these bad %lld, pulls %lld, "
                "updates %lld, staleness at most %lld, digests compared %lld\n",
                (long long)facts.rounds, (long long)facts.tickets,
                (long long)facts.badTickets, (long long)facts.pulls,
                (long long)facts.updates, (long long)facts.mostStaleness,
                (long long)facts.comparedDigests);
    for (const TraceProblem &problem : facts.problems)
      std::printf("%s:%lld: %s\n", argv[1], (long long)problem.line,
                  problem.text.c_str());
    return facts.problems.empty() ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
