//===- agreement.h - Checks that all ranks were started alike -------------===//
//
// Each machine of a job may have its own copies of the executable and of the
// files. If these differed, ranks would deadlock or silently train on the wrong
// data.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_APP_AGREEMENT_H
#define PPOPT_RUNTIME_APP_AGREEMENT_H

#include "app/job.h"
#include "comm/transport.h"
#include "data/sample_file.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// A fact that must be the same on all ranks: {"--lr", "0.001"}.
struct CommonFact {
  std::string what, value;
};

/// Returns a checksum of the files' sizes and of 64 pieces of 4 KiB, evenly
/// spaced over all files. That distinguishes data sets without reading them in
/// full. Throws Error if a file cannot be read.
std::string fingerprint(const std::vector<SampleFile> &files);

/// Returns the facts of this process: its executable, its flags (for a path
/// only that it is given), and the contents of its input files. `job` is null
/// if there is nothing to train. Throws Error if a file cannot be read.
std::vector<CommonFact> collectCommonFacts(const Options &options,
                                           const Job *job);

/// Returns the first difference between two ranks, "--lr: 0.001 / 0.002" with
/// mine first; empty if there is none.
std::string findDifference(const std::vector<CommonFact> &mine,
                           const std::vector<CommonFact> &theirs);

/// Called by all ranks. Throws Error on rank 0 if another rank differs from it.
void checkAgreement(comm::Transport &transport,
                    const std::vector<CommonFact> &mine);

/// Returns the host name of this machine.
std::string hostName();

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_AGREEMENT_H
