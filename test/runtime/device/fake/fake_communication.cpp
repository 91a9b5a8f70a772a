//===- fake_communication.cpp - Communication of a fake device ------------===//

#include "device/fake/fake_communication.h"

#include "device/fake/fake_device.h"

#include <fmt/format.h>

namespace ppopt::fake {

using device::DevicePointer;
using device::Stream;
using geometry::Collective;

int FakeCommunication::join(const device::CommunicatorId &id, int count,
                            int rank) {
  ranks.push_back(count);
  return inner.join(id, count, rank);
}

void FakeCommunication::collective(Stream stream, int communicator,
                                   Collective kind, comm::ElementType type,
                                   DevicePointer in, DevicePointer out,
                                   int64_t elements) {
  int64_t whole = elements * int64_t(comm::sizeOf(type));
  int64_t chunk = whole / ranks[size_t(communicator)];
  int64_t inBytes = kind == Collective::AllGather ? chunk : whole,
          outBytes = kind == Collective::ReduceScatter ? chunk : whole;
  Stream on = device.streamOfExchanges();
  device.communicate(stream,
                     fmt::format("{} over communicator {}",
                                 geometry::nounOf(kind), communicator),
                     {{in, inBytes, true, false}, {out, outBytes, false, true}},
                     [=](const std::vector<DevicePointer> &data) {
                       inner.collective(on, communicator, kind, type, data[0],
                                        data[1], elements);
                     });
}

void FakeCommunication::send(Stream stream, int communicator, int peer,
                             DevicePointer data, int64_t bytes) {
  Stream on = device.streamOfExchanges();
  device.communicate(stream, fmt::format("send to rank {}", peer),
                     {{data, bytes, true, false}},
                     [=](const std::vector<DevicePointer> &at) {
                       inner.send(on, communicator, peer, at[0], bytes);
                     });
}

void FakeCommunication::receive(Stream stream, int communicator, int peer,
                                DevicePointer data, int64_t bytes) {
  Stream on = device.streamOfExchanges();
  device.communicate(stream, fmt::format("receive from rank {}", peer),
                     {{data, bytes, false, true}},
                     [=](const std::vector<DevicePointer> &at) {
                       inner.receive(on, communicator, peer, at[0], bytes);
                     });
}

} // namespace ppopt::fake
