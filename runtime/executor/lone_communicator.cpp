//===- lone_communicator.cpp - Operations of a rank that is alone ---------===//

#include "executor/staged_communicator.h"

namespace ppopt::runtime {

namespace {

/// A sum over one rank is complete, and a gather has all of its chunks.
class LoneCommunicator final : public StagedCommunicator {
public:
  using StagedCommunicator::StagedCommunicator;

  bool isStarted(int) const override { return false; }
  void observe(comm::OperationObserver *) override {}
  int64_t bytesStarted() const override { return 0; }
  bool passesThroughHost() const override { return false; }

private:
  int defineOnHost(const CollectivePart &) override { return defined++; }
  int defineOnHost(const TransferEnd &) override { return defined++; }
  std::optional<int64_t> startOnHost(int) override { return std::nullopt; }
  void startOnHost(int, void *, void *) override {}
  void waitOnHost(int) override {}

  int defined = 0;
};

} // namespace

std::unique_ptr<Communicator>
makeLoneCommunicator(const CommunicatorSettings &settings) {
  return std::make_unique<LoneCommunicator>(settings);
}

std::unique_ptr<Communicator>
makeCommunicator(const CommunicatorSettings &settings) {
  if (settings.program.local)
    return makeLocalCommunicator(settings);
  if (!settings.transport)
    return makeLoneCommunicator(settings);
  return settings.collectives == comm::Collectives::Device
             ? makeDeviceCommunicator(settings)
             : makeHostCommunicator(settings);
}

} // namespace ppopt::runtime
