//===- host_communicator.cpp - Operations of the transport ----------------===//

#include "base/error.h"
#include "executor/staged_communicator.h"

#include <stdexcept>

namespace ppopt::runtime {

namespace {

class HostCommunicator final : public StagedCommunicator,
                               public BackgroundWork {
public:
  explicit HostCommunicator(const CommunicatorSettings &settings)
      : StagedCommunicator(settings), transport(*settings.transport),
        background(settings.background),
        channels(transport, mesh, settings.collectives) {
    background.add(*this);
    channels.setWaitingWork(
        [this] { background.progressOthersBeforeBlocking(*this); });
  }
  ~HostCommunicator() override { background.remove(*this); }

  void open(int transfers) override {
    StagedCommunicator::open(transfers);
    channels.open(transfers);
  }
  bool isStarted(int operation) const override {
    return channels.isStarted(operation);
  }
  void observe(comm::OperationObserver *observer) override {
    channels.observe(observer);
  }
  /// Those that the transport has sent, and those that operations in flight
  /// will send. Without those of native collectives.
  int64_t bytesStarted() const override {
    return int64_t(transport.counters().bytesSent -
                   background.bytesBesideSteps() + channels.pendingBytes());
  }

  void progress() override { channels.progress(); }
  bool isPending() const override { return channels.hasInFlight(); }

private:
  int defineOnHost(const CollectivePart &part) override {
    return channels.define(part);
  }
  int defineOnHost(const TransferEnd &end) override {
    return channels.define(end);
  }
  std::optional<int64_t> startOnHost(int operation) override {
    channels.start(operation);
    return std::nullopt;
  }
  void startOnHost(int operation, void *whole, void *scratch) override {
    channels.start(operation, whole, scratch);
  }
  void waitOnHost(int operation) override { channels.wait(operation); }

  comm::Transport &transport;
  Background &background;
  comm::Channels channels;
};

} // namespace

std::unique_ptr<Communicator>
makeHostCommunicator(const CommunicatorSettings &settings) {
  try {
    return std::make_unique<HostCommunicator>(settings);
  } catch (const std::invalid_argument &error) {
    throw Error("communication: {}", error.what());
  }
}

} // namespace ppopt::runtime
