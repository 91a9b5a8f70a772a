//===- local_communicator.cpp - Operations between places of a rank -------===//

#include "comm/local_channels.h"
#include "executor/staged_communicator.h"

#include <stdexcept>

namespace ppopt::runtime {

namespace {

class LocalCommunicator final : public StagedCommunicator {
public:
  using StagedCommunicator::StagedCommunicator;

  bool isStarted(int operation) const override {
    return channels.isStarted(operation);
  }
  /// What begins has ended when the start returns, which says so.
  void observe(comm::OperationObserver *) override {}
  int64_t bytesStarted() const override { return 0; }
  bool waitsBlock() const override { return false; }

private:
  int defineOnHost(const CollectivePart &part) override {
    return channels.define(comm::LocalCollective{
        part.name, mesh.members(part.group, part.rank), part.channel, part.data,
        part.elements, part.type, part.kind});
  }
  /// With all other axes of size 1, ranks of the mesh are places.
  int defineOnHost(const TransferEnd &end) override {
    return channels.define(comm::LocalTransfer{end.name, end.sends, end.rank,
                                               end.peer, end.channel, end.data,
                                               end.bytes});
  }
  std::optional<int64_t> startOnHost(int operation) override {
    if (!channels.start(operation))
      return std::nullopt;
    return channels.bytesMoved(operation);
  }
  /// The program of a local launch has no collectives in tasks.
  void startOnHost(int, void *, void *) override {
    throw std::logic_error("a task of a local launch starts a collective");
  }
  void waitOnHost(int operation) override { channels.wait(operation); }

  comm::LocalChannels channels;
};

} // namespace

std::unique_ptr<Communicator>
makeLocalCommunicator(const CommunicatorSettings &settings) {
  return std::make_unique<LocalCommunicator>(settings);
}

} // namespace ppopt::runtime
