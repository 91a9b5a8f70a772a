//===- quiet_ranks.cpp - Ranks that exchange nothing ----------------------===//

#include "quiet_ranks.h"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace fuzz {

using namespace ppopt;

QuietTransport::QuietTransport(int rank, int size)
    : Transport(rank, size, activity) {}

bool QuietTransport::test(comm::Request &request) {
  request = {};
  return true;
}

void QuietTransport::cancel(comm::Request &request) noexcept { request = {}; }

void QuietTransport::abort(const std::string &reason) {
  throw std::runtime_error(reason);
}

comm::Request QuietTransport::postSend(const void *data, size_t bytes, int,
                                       int) {
  std::vector<char> sent(bytes);
  std::memcpy(sent.data(), data, bytes);
  return {};
}

comm::Request QuietTransport::postReceive(void *data, size_t bytes, int, int) {
  std::memset(data, 0, bytes);
  return {};
}

namespace {

class QuietCommunicator final : public runtime::Communicator {
public:
  int define(const runtime::CollectivePart &part) override {
    return add({part.data, size_t(part.elements) * comm::sizeOf(part.type),
                part.scratch, part.scratchBytes});
  }
  int define(const runtime::TransferEnd &end) override {
    return add({end.data, end.bytes, nullptr, 0});
  }
  void open(int) override {}

  std::optional<int64_t> start(int number) override {
    Operation &operation = operations.at(number);
    if (operation.isStarted)
      throw std::logic_error("started twice");
    operation.isStarted = true;
    if (operation.data)
      std::memset(operation.data, 0, operation.bytes);
    if (operation.scratch)
      std::memset(operation.scratch, 0, operation.scratchBytes);
    return std::nullopt;
  }
  runtime::Copied start(int number, device::DevicePointer,
                        device::DevicePointer, device::DevicePointer) override {
    operations.at(number).isStarted = true;
    return {};
  }
  runtime::Copied wait(int number) override {
    if (!operations.at(number).isStarted)
      throw std::logic_error("not started");
    operations.at(number).isStarted = false;
    return {};
  }
  bool isStarted(int number) const override {
    return operations.at(number).isStarted;
  }
  void waitForAll() override {}
  void synchronize(bool) override {}
  void observe(comm::OperationObserver *) override {}
  int64_t bytesStarted() const override { return 0; }

private:
  struct Operation {
    void *data;
    size_t bytes;
    void *scratch;
    size_t scratchBytes;
    bool isStarted = false;
  };
  int add(const Operation &operation) {
    operations.push_back(operation);
    return int(operations.size()) - 1;
  }

  std::vector<Operation> operations;
};

} // namespace

std::unique_ptr<runtime::Communicator>
makeQuietCommunicator(const runtime::CommunicatorSettings &) {
  return std::make_unique<QuietCommunicator>();
}

} // namespace fuzz
