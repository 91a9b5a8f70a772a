//===- agreement.h - Whether all ranks were started alike -----------------===//
//
// Each machine of a job may have its own copies of the executable and of the
// files. Ranks that differ in them would wait for each other for ever, or train
// on what nobody has chosen, unseen.
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

/// What must be the same on all ranks, in words: {"--lr", "0.001"}.
struct CommonFact {
  std::string what, value;
};

/// A checksum of the files' sizes and of 64 pieces of 4 KiB, spaced evenly over
/// all: enough to tell data sets apart without reading them. Throws Error where
/// a file cannot be read.
std::string fingerprint(const std::vector<SampleFile> &files);

/// Of this process: its executable, its flags (of paths only that they are
/// given), and what is in the files that it reads. `job`: null where there is
/// nothing to train. Throws Error where a file cannot be read.
std::vector<CommonFact> collectCommonFacts(const Options &options,
                                           const Job *job);

/// The first in which two ranks differ, "--lr: 0.001 / 0.002", mine first;
/// empty if there is none.
std::string findDifference(const std::vector<CommonFact> &mine,
                           const std::vector<CommonFact> &theirs);

/// Called by all ranks. Throws Error on rank 0 where another differs from it.
void checkAgreement(comm::Transport &transport,
                    const std::vector<CommonFact> &mine);

/// Of the machine, as the system has it.
std::string hostName();

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_AGREEMENT_H
