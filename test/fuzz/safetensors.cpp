//===- safetensors.cpp - Fuzzes readers of safetensors files --------------===//
//
// The input is the file of --init or --inputs.
//
//===----------------------------------------------------------------------===//

#include "data/safetensors.h"
#include "checkpoint/initial_parameters.h"
#include "data/sample_reader.h"
#include "device/cpu/cpu_device.h"
#include "input_file.h"
#include "schema/held_parameter.h"
#include "train_program.h"

using namespace ppopt;

/// Reads every byte that the file promises.
static void readAll(const std::string &path) {
  train::SafetensorsFile file(path);
  static volatile unsigned char sink;
  for (const train::StoredTensor &tensor : file.tensors())
    for (uint64_t i = 0; i < tensor.bytes; ++i)
      sink = tensor.data[i];
  (void)sink;
}

static void loadParameters(const runtime::Program &program,
                           const std::string &path) {
  train::InitialParameters file(program, {{path}});
  std::vector<char> arena(next_token::bytes);
  auto cpu = device::makeCpuDevice(1);
  std::vector<runtime::ParameterBuffer> buffers;
  for (const schema::PlaceParameter &place : program.placeOf(0).parameters) {
    schema::HeldParameter held = schema::findHeld(
        place, program.parameters[place.parameter], program.plan, 0);
    buffers.push_back(
        {held.parameter, held.partOf(held.value),
         device::DevicePointer(arena.data()) + held.value.address.offset()});
  }
  file.load(*cpu, cpu->makeStream("parameters"), buffers);
}

static void readSamples(const runtime::Program &program,
                        const std::string &path) {
  auto reader = train::makeTensorReader(program, {path}, "--inputs");
  std::vector<char> arena(next_token::bytes);
  auto inputs = runtime::inputBuffers(program.placeOf(0), arena.data());
  for (uint64_t sample = 0; sample < reader->count(); ++sample)
    reader->read(sample, 0, inputs);
}

template <typename Read> static void expectError(const Read &read) {
  try {
    read();
  } catch (const runtime::Error &) {
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const runtime::Program program =
      runtime::readProgram(next_token::program(1, 1).dump());
  InputFile file(data, size);
  expectError([&] { readAll(file.path()); });
  expectError([&] { loadParameters(program, file.path()); });
  expectError([&] { readSamples(program, file.path()); });
  return 0;
}
