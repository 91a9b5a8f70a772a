//===- LaunchCommand.cpp - ppopt-emulate --launch -------------------------===//

#include "LaunchCommand.h"

#include "Emulation.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace emulated;

namespace {

/// A buffer of the command line.
struct BufferWord {
  LaunchBuffer argument;
  std::unique_ptr<MemoryBuffer> file;
  std::string output;
};

} // namespace

static Error wrongWord(StringRef word) {
  return createStringError("'" + word +
                           "' is no buffer: in:TYPE:FILE, "
                           "out:TYPE:COUNT:FILE, inout:TYPE:FILE:FILE, "
                           "zeros:TYPE:COUNT or any:TYPE:COUNT");
}

static Expected<BufferWord> parseBuffer(StringRef word, unsigned number) {
  SmallVector<StringRef> parts;
  word.split(parts, ':');
  if (parts.size() < 3)
    return wrongWord(word);
  BufferWord buffer;
  LaunchBuffer &argument = buffer.argument;
  argument.name = "argument " + std::to_string(number);
  auto [type, offset] = parts[1].split('@');
  argument.elementBytes = StringSwitch<unsigned>(type)
                              .Cases({"i1", "i8"}, 1)
                              .Cases({"bf16", "i16"}, 2)
                              .Cases({"f32", "i32"}, 4)
                              .Cases({"f64", "i64"}, 8)
                              .Default(0);
  if (argument.elementBytes == 0 ||
      (!offset.empty() && offset.getAsInteger(10, argument.offset)))
    return wrongWord(word);
  StringRef kind = parts[0];
  bool hasFile = kind == "in" || kind == "inout";
  argument.isInitialised = hasFile || kind == "zeros";
  argument.isWritten = kind == "out" || kind == "inout" || kind == "any";
  argument.isForgotten = kind == "any";
  if (!argument.isInitialised && !argument.isWritten)
    return wrongWord(word);
  if (hasFile) {
    auto file = MemoryBuffer::getFile(parts[2], /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
    if (!file)
      return createStringError("can't read '" + parts[2] +
                               "': " + file.getError().message());
    buffer.file = std::move(*file);
    argument.initial = {buffer.file->getBufferStart(),
                        buffer.file->getBufferSize()};
    argument.bytes = argument.initial.size();
  } else {
    if (parts[2].getAsInteger(10, argument.bytes))
      return wrongWord(word);
    argument.bytes *= argument.elementBytes;
  }
  if (kind == "out" || kind == "inout") {
    if (parts.size() != 4)
      return wrongWord(word);
    buffer.output = parts[3].str();
  }
  return buffer;
}

static Error writeOutput(StringRef path, const Bytes &contents) {
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (error)
    return createStringError("can't write '" + path + "': " + error.message());
  out.write(contents.data(), contents.size());
  return Error::success();
}

Error emulated::runLaunch(const LaunchCommand &command) {
  auto text = MemoryBuffer::getFile(command.device);
  if (!text)
    return createStringError("can't read '" + command.device +
                             "': " + text.getError().message());
  auto code = DeviceCode::load(**text);
  if (!code)
    return code.takeError();
  EmulatedLaunch launch{code->find(command.kernel),
                        command.grid,
                        command.blocks,
                        {},
                        command.sharedBytes};
  if (!launch.kernel)
    return createStringError("'" + command.device + "' has no kernel '" +
                             command.kernel + "'");
  if (launch.kernel->arguments != command.buffers.size())
    return createStringError("kernel '" + command.kernel + "' takes " +
                             Twine(launch.kernel->arguments) +
                             " buffers, not " + Twine(command.buffers.size()));
  std::vector<BufferWord> buffers;
  for (auto [i, word] : enumerate(command.buffers)) {
    auto buffer = parseBuffer(word, i);
    if (!buffer)
      return buffer.takeError();
    launch.arguments.push_back(buffer->argument);
    buffers.push_back(std::move(*buffer));
  }
  Outcome outcome = emulateInAllOrders(launch, /*seed=*/1);
  if (!outcome.error.empty())
    return createStringError(outcome.error);
  for (auto [i, buffer] : enumerate(buffers))
    if (!buffer.output.empty())
      if (Error error = writeOutput(buffer.output, outcome.contents[i]))
        return error;
  const Counters &counters = outcome.counters;
  outs() << json::Value(
                json::Object{{"kernel", command.kernel},
                             {"blocks", counters.blocks},
                             {"barriers", counters.barriers},
                             {"warp operations", counters.warpOperations}})
         << "\n";
  return Error::success();
}
