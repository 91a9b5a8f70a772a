//===- driver_modules.cpp - Modules and launches of kernels ---------------===//

#include "fake/driver.h"
#include "fake/graphs.h"
#include "fake/module_image.h"
#include "fake/modules.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace ppopt::cuda::fake {
namespace {

/// Returns the programs of PPOPT_FAKE_CUDA_CODE, read once.
const std::vector<std::unique_ptr<DeviceProgram>> &programs(Machine &machine) {
  static auto *all = new std::vector<std::unique_ptr<DeviceProgram>>;
  for (size_t i = all->size(); i < machine.settings.code.size(); ++i) {
    std::string error;
    auto program = std::make_unique<DeviceProgram>(
        machine.settings.code[i], machine.settings.checksAll,
        machine.settings.objects, error);
    if (!error.empty())
      refuse(DriverResult::invalidPtx, "PPOPT_FAKE_CUDA_CODE: {}", error);
    all->push_back(std::move(program));
  }
  return *all;
}

/// Returns the program that has these kernels and no others.
DeviceProgram &findProgram(Machine &machine,
                           const std::set<std::string> &names) {
  for (const auto &program : programs(machine)) {
    std::set<std::string> own;
    for (const KernelInfo &kernel : program->kernels())
      own.insert(kernel.name);
    if (own == names)
      return *program;
  }
  refuse(DriverResult::invalidPtx,
         "no file of PPOPT_FAKE_CUDA_CODE ('{}') has the {} kernels of this "
         "module ({}, ...): compile it with --save-device-ir FILE and set "
         "PPOPT_FAKE_CUDA_CODE=FILE",
         fmt::join(machine.settings.code, ":"), names.size(),
         names.empty() ? "none" : *names.begin());
}

/// Where the caller wants messages, if it does.
struct ErrorLog {
  char *text = nullptr;
  size_t bytes = 0;

  ErrorLog(unsigned count, const JitOption *options, void **values) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == JitOption::errorLog)
        text = static_cast<char *>(values[i]);
      else if (options[i] == JitOption::errorLogBytes)
        bytes = reinterpret_cast<uintptr_t>(values[i]);
      else
        refuse(DriverResult::invalidValue, "option {} is none that is here",
               int(options[i]));
  }
  void write(const std::string &message) const {
    if (text && bytes > 0)
      text[message.copy(text, bytes - 1)] = 0;
  }
};

const KernelInfo &infoOf(const FakeFunction &function) {
  return function.program->kernels()[function.kernel];
}

/// Refuses a launch that the driver refuses.
void checkLaunch(const FakeFunction &function, const unsigned grid[3],
                 const unsigned block[3], unsigned sharedBytes) {
  const KernelInfo &kernel = infoOf(function);
  auto wrong = [&](const std::string &what) {
    refuse(DriverResult::invalidValue, "launch of kernel {}: {}", kernel.name,
           what);
  };
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 0x7fffffffu)
    wrong(fmt::format("a grid of {} x {} x {} blocks", grid[0], grid[1],
                      grid[2]));
  if (grid[1] != 1 || grid[2] != 1)
    wrong("its grid has more than one dimension, which is not emulated");
  if (block[0] != kernel.threads || block[1] != 1 || block[2] != 1)
    wrong(fmt::format("a block of {} x {} x {} threads; the code is for {}",
                      block[0], block[1], block[2], kernel.threads));
  if (sharedBytes > unsigned(function.mostDynamicShared))
    wrong(fmt::format("{} bytes of dynamic shared memory, and the function's "
                      "attribute allows {} (cuFuncSetAttribute)",
                      sharedBytes, function.mostDynamicShared));
  size_t most = function.context->gpu->settings.mostSharedBytes();
  if (kernel.sharedBytes + sharedBytes > most)
    wrong(fmt::format("{} bytes of shared memory; the GPU has {}",
                      kernel.sharedBytes + sharedBytes, most));
}

/// Returns a launch with the addresses of the storage, and what it may touch.
KernelRun makeRun(Machine &machine, const FakeFunction &function, unsigned grid,
                  unsigned sharedBytes, void **parameters) {
  FakeContext &context = *function.context;
  KernelRun run;
  run.kernel = function.kernel;
  run.grid = grid;
  run.sharedBytes = sharedBytes;
  std::set<const Allocation *> known;
  for (unsigned i = 0; i < infoOf(function).arguments; ++i) {
    need(parameters[i], "a parameter");
    uintptr_t address;
    std::memcpy(&address, parameters[i], sizeof address);
    Allocation *allocation = context.memory.find(address);
    if (allocation && known.insert(allocation).second)
      run.memory.push_back(
          {allocation->name, allocation->storage(), allocation->bytes});
    // An address that is nobody's is an error where it is accessed.
    run.arguments.push_back(allocation ? allocation->storage() +
                                             (address - allocation->begin())
                                       : nullptr);
  }
  return run;
}

} // namespace

DriverResult api_moduleLoadData(Module *handle, const void *image,
                                unsigned optionCount, JitOption *options,
                                void **values) {
  return callDriver(symbol_moduleLoadData, [&](Machine &machine) {
    FakeContext &context = machine.working();
    checkNotCapturing(symbol_moduleLoadData);
    need(handle, "module");
    need(image, "image");
    ErrorLog log(optionCount, options, values);
    try {
      ModuleImage contents(image, context.gpu->settings, machine.settings);
      auto module = std::make_unique<FakeModule>();
      module->context = &context;
      module->program = &findProgram(machine, contents.kernels);
      *handle = machine.modules.add(std::move(module));
    } catch (const Failure &failure) {
      log.write("fake CUDA: " + failure.message);
      throw;
    }
  });
}

DriverResult api_moduleUnload(Module handle) {
  return callDriver(symbol_moduleUnload, [&](Machine &machine) {
    machine.drain(machine.current());
    std::unique_ptr<FakeModule> module =
        machine.modules.remove(handle, "module");
    for (const auto &[name, function] : module->functions)
      machine.functions.remove(function, "function");
  });
}

DriverResult api_moduleGetFunction(Function *handle, Module moduleHandle,
                                   const char *name) {
  return callDriver(symbol_moduleGetFunction, [&](Machine &machine) {
    machine.working();
    need(handle, "function");
    need(name, "name");
    FakeModule &module = machine.modules.at(moduleHandle, "module");
    auto known = module.functions.find(name);
    if (known != module.functions.end()) {
      *handle = known->second;
      return;
    }
    const std::vector<KernelInfo> &kernels = module.program->kernels();
    auto found = std::find_if(
        kernels.begin(), kernels.end(),
        [&](const KernelInfo &kernel) { return kernel.name == name; });
    if (found == kernels.end())
      refuse(DriverResult::notFound, "the module has no kernel '{}'", name);
    auto function = std::make_unique<FakeFunction>();
    function->context = module.context;
    function->program = module.program;
    function->kernel = int(found - kernels.begin());
    function->mostDynamicShared =
        48 * 1024 - int(std::min<size_t>(found->sharedBytes, 48 * 1024));
    *handle = machine.functions.add(std::move(function));
    module.functions[name] = *handle;
  });
}

DriverResult api_functionSetAttribute(Function handle,
                                      FunctionAttribute attribute, int value) {
  return callDriver(symbol_functionSetAttribute, [&](Machine &machine) {
    machine.working();
    FakeFunction &function = machine.functions.at(handle, "function");
    if (attribute != FunctionAttribute::maxDynamicSharedBytes)
      refuse(DriverResult::invalidValue, "attribute {} is none that is here",
             int(attribute));
    int most = function.context->gpu->settings.mostSharedBytes() -
               int(infoOf(function).sharedBytes);
    if (value < 0 || value > most)
      refuse(DriverResult::invalidValue,
             "kernel {}: {} bytes of dynamic shared memory; at most {}",
             infoOf(function).name, value, most);
    function.mostDynamicShared = value;
  });
}

DriverResult api_launchKernel(Function handle, unsigned gridX, unsigned gridY,
                              unsigned gridZ, unsigned blockX, unsigned blockY,
                              unsigned blockZ, unsigned sharedBytes,
                              Stream streamHandle, void **parameters,
                              void **extra) {
  return callDriver(symbol_launchKernel, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(streamHandle);
    FakeFunction &function = machine.functions.at(handle, "function");
    if (function.context != &context)
      refuse(DriverResult::invalidHandle, "kernel {} is of another GPU",
             infoOf(function).name);
    const unsigned grid[] = {gridX, gridY, gridZ},
                   block[] = {blockX, blockY, blockZ};
    checkLaunch(function, grid, block, sharedBytes);
    if (extra)
      refuse(DriverResult::invalidValue, "extra is not null");
    need(parameters, "parameters");
    ++machine.counters.launches;
    if (machine.isDropped(infoOf(function).name, *context.gpu))
      return;
    if (machine.isDropped(Plant::Kind::hostRead, symbol_launchKernel))
      **static_cast<volatile char **>(parameters[0]);
    Work launch;
    launch.name = "launch of kernel " + infoOf(function).name;
    launch.run = [&machine, program = function.program,
                  run = makeRun(machine, function, gridX, sharedBytes,
                                parameters)]() mutable {
      run.seed = machine.operations.random();
      std::string wrong = program->run(run);
      if (!wrong.empty())
        refuse(DriverResult::illegalAddress, "{}", wrong);
    };
    machine.enqueue(stream, std::make_shared<Work>(std::move(launch)));
  });
}

} // namespace ppopt::cuda::fake
