//===- local_communicator.cpp - Operations between places of a rank -------===//

#include "comm/local_channels.h"
#include "executor/staged_communicator.h"

namespace ppopt::runtime {

namespace {

/// For a rank that has nobody to exchange data with: it has all places, or
/// there is only one.
class LocalCommunicator final : public StagedCommunicator {
public:
  explicit LocalCommunicator(const CommunicatorSettings &settings)
      : StagedCommunicator(settings), hasPlaces(settings.program.local) {}

  bool isStarted(int operation) const override {
    return channels.isStarted(operation);
  }
  /// What begins has ended when the start returns, which says so.
  void observe(comm::OperationObserver *) override {}
  int64_t bytesStarted() const override { return 0; }
  bool waitsBlock() const override { return false; }
  bool passesThroughHost() const override { return hasPlaces; }

private:
  int defineOnHost(const CollectivePart &part) override {
    return channels.define(part, mesh.members(part.group, part.rank));
  }
  /// With all other axes of size 1, ranks of the mesh are places.
  int defineOnHost(const TransferEnd &end) override {
    return channels.define(end, end.rank);
  }
  std::optional<int64_t> startOnHost(int operation) override {
    if (!channels.start(operation))
      return std::nullopt;
    return channels.bytesMoved(operation);
  }
  /// Of a group with one member, which has everything.
  void startOnHost(int operation, void *, void *) override {
    channels.start(operation);
  }
  void waitOnHost(int operation) override { channels.wait(operation); }

  comm::LocalChannels channels;
  const bool hasPlaces;
};

} // namespace

std::unique_ptr<Communicator>
makeLocalCommunicator(const CommunicatorSettings &settings) {
  return std::make_unique<LocalCommunicator>(settings);
}

std::unique_ptr<Communicator>
makeCommunicator(const CommunicatorSettings &settings) {
  if (settings.program.local || !settings.transport)
    return makeLocalCommunicator(settings);
  return settings.collectives == comm::Collectives::Device
             ? makeDeviceCommunicator(settings)
             : makeHostCommunicator(settings);
}

} // namespace ppopt::runtime
