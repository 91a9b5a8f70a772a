//===- driver_streams.cpp - Streams and events ----------------------------===//

#include "fake/driver.h"
#include "fake/graphs.h"

#include <algorithm>

namespace ppopt::cuda::fake {

DriverResult api_streamCreate(Stream *handle, unsigned flags) {
  return callDriver(symbol_streamCreate, [&](Machine &machine) {
    FakeContext &context = machine.working();
    need(handle, "stream");
    if (flags != streamNonBlocking)
      refuse(DriverResult::invalidValue,
             "flags is {}: only streams that are not ordered with the default "
             "stream are here",
             flags);
    auto stream = std::make_unique<FakeStream>();
    stream->context = &context;
    stream->number = ++context.streams;
    *handle = machine.streams.add(std::move(stream));
  });
}

// What it has still runs.
DriverResult api_streamDestroy(Stream handle) {
  return callDriver(symbol_streamDestroy, [&](Machine &machine) {
    machine.current();
    checkNotCaptured(machine.stream(handle), symbol_streamDestroy);
    machine.streams.remove(handle, "stream");
  });
}

DriverResult api_streamSynchronize(Stream handle) {
  return callDriver(symbol_streamSynchronize, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(handle);
    checkNotCaptured(stream, symbol_streamSynchronize);
    machine.synchronize(context, stream.tail);
  });
}

DriverResult api_streamWaitEvent(Stream handle, Event eventHandle,
                                 unsigned flags) {
  return callDriver(symbol_streamWaitEvent, [&](Machine &machine) {
    machine.working();
    FakeStream &stream = machine.stream(handle);
    FakeEvent &event = machine.events.at(eventHandle, "event");
    if (flags != 0)
      refuse(DriverResult::invalidValue, "flags is {}, not 0", flags);
    if (machine.isDropped(Plant::Kind::dropWait, symbol_streamWaitEvent))
      return;
    waitForEvent(machine, stream, event);
  });
}

DriverResult api_eventCreate(Event *handle, unsigned flags) {
  return callDriver(symbol_eventCreate, [&](Machine &machine) {
    FakeContext &context = machine.working();
    need(handle, "event");
    if (flags != eventDefault && flags != eventDisableTiming)
      refuse(DriverResult::invalidValue, "flags is {}", flags);
    auto event = std::make_unique<FakeEvent>();
    event->context = &context;
    event->isTimed = flags == eventDefault;
    *handle = machine.events.add(std::move(event));
  });
}

DriverResult api_eventDestroy(Event handle) {
  return callDriver(symbol_eventDestroy, [&](Machine &machine) {
    machine.current();
    machine.events.remove(handle, "event");
  });
}

DriverResult api_eventRecord(Event eventHandle, Stream handle) {
  return callDriver(symbol_eventRecord, [&](Machine &machine) {
    machine.working();
    FakeStream &stream = machine.stream(handle);
    FakeEvent &event = machine.events.at(eventHandle, "event");
    if (event.context != stream.context)
      refuse(DriverResult::invalidHandle, "an event of {} is recorded in {}",
             event.context->name(), stream.name());
    if (machine.isDropped(Plant::Kind::dropRecord, symbol_eventRecord))
      return;
    event.capture = stream.capture;
    event.captureAt = stream.captureTail;
    if (stream.capture)
      return;
    Work record;
    record.name = "record of an event";
    event.at = machine.enqueue(*stream.context,
                               std::make_shared<Work>(std::move(record)),
                               fmt::format("after operation {} of {}",
                                           stream.operations, stream.name()),
                               std::move(stream.tail));
    stream.tail = {event.at};
    machine.operations.runSome();
  });
}

// Time passes while the host asks.
DriverResult api_eventQuery(Event handle) {
  return callDriver(symbol_eventQuery, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeEvent &event = machine.events.at(handle, "event");
    if (event.capture)
      refuse(DriverResult::invalidHandle,
             "the event was last recorded in a capture");
    if (!event.at)
      return;
    if (!event.at->isDone)
      machine.operations.runOne();
    if (!event.at->isDone)
      refuse(DriverResult::notReady);
    machine.synchronize(context, {event.at});
  });
}

DriverResult api_eventSynchronize(Event handle) {
  return callDriver(symbol_eventSynchronize, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeEvent &event = machine.events.at(handle, "event");
    if (event.capture) {
      event.capture->isInvalid = true;
      refuse(DriverResult(907), "the event was last recorded in a capture");
    }
    if (event.at)
      machine.synchronize(context, {event.at});
  });
}

DriverResult api_eventElapsedTime(float *milliseconds, Event beginHandle,
                                  Event endHandle) {
  return callDriver(symbol_eventElapsedTime, [&](Machine &machine) {
    machine.working();
    need(milliseconds, "milliseconds");
    FakeEvent &begin = machine.events.at(beginHandle, "event"),
              &end = machine.events.at(endHandle, "event");
    for (const FakeEvent *event : {&begin, &end}) {
      if (!event->isTimed)
        refuse(DriverResult::invalidHandle,
               "an event has no time: it was made with eventDisableTiming");
      if (!event->at || event->capture)
        refuse(DriverResult::invalidHandle, "an event was not recorded");
    }
    if (!begin.at->isDone || !end.at->isDone)
      refuse(DriverResult::notReady);
    *milliseconds = float(end.at->time - begin.at->time);
  });
}

} // namespace ppopt::cuda::fake
