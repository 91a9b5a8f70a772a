//===- cublaslt.cpp - The fake cuBLASLt -----------------------------------===//

#include "fake/cublaslt.h"

#include "fake/graphs.h"

#include <algorithm>
#include <cstring>

namespace ppopt::cuda::fake {

#define PPOPT_FUNCTION(NAME, SYMBOL, ...)                                      \
  extern "C" PPOPT_FAKE_EXPORT BlasResult api_##NAME(__VA_ARGS__) __asm__(     \
      SYMBOL);                                                                 \
  static constexpr const char *symbol_##NAME = SYMBOL;
PPOPT_CUBLASLT(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
extern "C" PPOPT_FAKE_EXPORT
    size_t api_getVersion() __asm__("cublasLtGetVersion");

namespace {

/// Ends a call of this library.
struct BlasFailure {
  BlasResult result;
  std::string message;
};

template <typename... Args>
[[noreturn]] void refuseBlas(BlasResult result,
                             fmt::format_string<Args...> format,
                             Args &&...args) {
  throw BlasFailure{result, fmt::format(format, std::forward<Args>(args)...)};
}

struct Blas {
  Handles<BlasHandle, FakeBlas> handles{0x61000000};
  Handles<MatmulDesc, FakeMatmulDesc> descs{0x62000000};
  Handles<MatrixLayout, FakeLayout> layouts{0x63000000};
  Handles<MatmulPreference, FakePreference> preferences{0x64000000};

  static Blas &get() {
    static Blas *blas = new Blas;
    return *blas;
  }
  MatmulShape shape(MatmulDesc desc, MatrixLayout a, MatrixLayout b,
                    MatrixLayout c, MatrixLayout d) {
    return {descs.at(desc, "matmul descriptor"), layouts.at(a, "layout"),
            layouts.at(b, "layout"), layouts.at(c, "layout"),
            layouts.at(d, "layout")};
  }
};

template <typename Body>
BlasResult callBlas(const char *symbol, const Body &body) {
  return BlasResult(Machine::get().call(symbol, [&] {
    try {
      body(Machine::get(), Blas::get());
    } catch (const BlasFailure &failure) {
      throw Failure{int(failure.result), failure.message};
    } catch (const Failure &failure) {
      bool isOfCall = failure.code == int(DriverResult::invalidValue) ||
                      failure.code == int(DriverResult::invalidHandle);
      throw Failure{int(isOfCall ? BlasResult::invalidValue
                                 : BlasResult::executionFailed),
                    failure.message};
    }
  }));
}

template <typename Value>
void setValue(Value &value, const void *from, size_t bytes) {
  if (!from || bytes != sizeof(Value))
    refuseBlas(BlasResult::invalidValue, "an attribute of {} bytes; it has {}",
               bytes, sizeof(Value));
  std::memcpy(&value, from, sizeof(Value));
}

/// What an algorithm of this library says.
struct AlgorithmData {
  uint64_t magic = 0x70706f7074; ///< "ppopt"
  uint64_t fingerprint = 0;
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {};
  Algorithm kind = Algorithm::plain;
  uint32_t unused[5] = {};
};
static_assert(sizeof(AlgorithmData) == sizeof(MatmulAlgorithm));

/// Returns the workspace of an algorithm that adds products over parts of k; 0:
/// there is none for this matmul.
uint64_t splitWorkspace(const MatmulShape &shape) {
  if (shape.k() < 2 * std::max(shape.m(), shape.n()))
    return 0;
  uint64_t elements = shape.m() * shape.n() * uint64_t(shape.d.batch);
  return (4 * elements * (shape.desc.compute == ComputeType::f64 ? 8 : 4) +
          255) /
         256 * 256;
}

/// Returns whether the library can compute the matmul by this algorithm.
bool isFor(const AlgorithmData &data, const MatmulShape &shape) {
  return data.magic == AlgorithmData().magic &&
         data.fingerprint == shape.fingerprint() &&
         size_t(data.kind) < matmulAlgorithms;
}

int partsOf(Algorithm kind) {
  return kind == Algorithm::quarters ? 4 : kind == Algorithm::halves ? 2 : 1;
}

double readScale(const void *pointer, DataType type) {
  if (!pointer)
    refuseBlas(BlasResult::invalidValue, "alpha or beta is null");
  if (type == DataType::f64) {
    double value;
    std::memcpy(&value, pointer, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, pointer, sizeof value);
  return value;
}

std::string nameOf(const MatmulShape &shape) {
  return fmt::format("matmul {}x{}x{}{}", shape.m(), shape.n(), shape.k(),
                     shape.d.batch > 1 ? fmt::format(" x {}", shape.d.batch)
                                       : "");
}

char *operand(Machine &machine, const MatmulShape &shape, const void *pointer,
              const FakeLayout &layout, const char *name, uint32_t alignment) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address % alignment != 0)
    refuseBlas(BlasResult::notSupported,
               "{}: {} is at {:#x}, no multiple of {} bytes, which the "
               "preference of its algorithm promised",
               nameOf(shape), name, address, alignment);
  return machine.storage(machine.working(), address, extent(layout), name,
                         nameOf(shape));
}

} // namespace

size_t api_getVersion() { return PPOPT_FAKE_CUBLASLT; }

BlasResult api_create(BlasHandle *handle) {
  return callBlas(symbol_create, [&](Machine &machine, Blas &blas) {
    FakeContext &context = machine.working();
    checkNotCapturing(symbol_create);
    if (PPOPT_FAKE_CUBLASLT / 10000 > machine.settings.driverVersion / 1000)
      throw BlasFailure{BlasResult::notInitialized, ""};
    auto made = std::make_unique<FakeBlas>();
    made->context = &context;
    *handle = blas.handles.add(std::move(made));
  });
}

BlasResult api_destroy(BlasHandle handle) {
  return callBlas(symbol_destroy, [&](Machine &, Blas &blas) {
    blas.handles.remove(handle, "cuBLASLt handle");
  });
}

BlasResult api_descCreate(MatmulDesc *desc, ComputeType compute,
                          DataType scale) {
  return callBlas(symbol_descCreate, [&](Machine &, Blas &blas) {
    auto made = std::make_unique<FakeMatmulDesc>();
    made->compute = compute;
    made->scale = scale;
    *desc = blas.descs.add(std::move(made));
  });
}

BlasResult api_descDestroy(MatmulDesc desc) {
  return callBlas(symbol_descDestroy, [&](Machine &, Blas &blas) {
    blas.descs.remove(desc, "matmul descriptor");
  });
}

BlasResult api_descSetAttribute(MatmulDesc handle, DescAttribute attribute,
                                const void *value, size_t bytes) {
  return callBlas(symbol_descSetAttribute, [&](Machine &, Blas &blas) {
    FakeMatmulDesc &desc = blas.descs.at(handle, "matmul descriptor");
    Transpose transpose;
    setValue(transpose, value, bytes);
    if (transpose != Transpose::no && transpose != Transpose::yes)
      refuseBlas(BlasResult::invalidValue, "transpose is {}", int(transpose));
    if (attribute == DescAttribute::transposeA)
      desc.a = transpose;
    else if (attribute == DescAttribute::transposeB)
      desc.b = transpose;
    else
      refuseBlas(BlasResult::invalidValue, "attribute {} is none that is here",
                 int(attribute));
  });
}

BlasResult api_layoutCreate(MatrixLayout *layout, DataType type, uint64_t rows,
                            uint64_t columns, int64_t leading) {
  return callBlas(symbol_layoutCreate, [&](Machine &, Blas &blas) {
    auto made = std::make_unique<FakeLayout>();
    made->type = type;
    made->rows = rows;
    made->columns = columns;
    made->leading = leading;
    *layout = blas.layouts.add(std::move(made));
  });
}

BlasResult api_layoutDestroy(MatrixLayout layout) {
  return callBlas(symbol_layoutDestroy, [&](Machine &, Blas &blas) {
    blas.layouts.remove(layout, "layout");
  });
}

BlasResult api_layoutSetAttribute(MatrixLayout handle,
                                  LayoutAttribute attribute, const void *value,
                                  size_t bytes) {
  return callBlas(symbol_layoutSetAttribute, [&](Machine &, Blas &blas) {
    FakeLayout &layout = blas.layouts.at(handle, "layout");
    if (attribute == LayoutAttribute::batchCount)
      setValue(layout.batch, value, bytes);
    else if (attribute == LayoutAttribute::batchStride)
      setValue(layout.batchStride, value, bytes);
    else
      refuseBlas(BlasResult::invalidValue, "attribute {} is none that is here",
                 int(attribute));
  });
}

BlasResult api_preferenceCreate(MatmulPreference *preference) {
  return callBlas(symbol_preferenceCreate, [&](Machine &, Blas &blas) {
    *preference = blas.preferences.add(std::make_unique<FakePreference>());
  });
}

BlasResult api_preferenceDestroy(MatmulPreference preference) {
  return callBlas(symbol_preferenceDestroy, [&](Machine &, Blas &blas) {
    blas.preferences.remove(preference, "preference");
  });
}

BlasResult api_preferenceSetAttribute(MatmulPreference handle,
                                      PreferenceAttribute attribute,
                                      const void *value, size_t bytes) {
  return callBlas(symbol_preferenceSetAttribute, [&](Machine &, Blas &blas) {
    FakePreference &preference = blas.preferences.at(handle, "preference");
    switch (attribute) {
    case PreferenceAttribute::maxWorkspaceBytes:
      return setValue(preference.maxWorkspaceBytes, value, bytes);
    case PreferenceAttribute::reductionSchemes:
      return setValue(preference.reductionSchemes, value, bytes);
    case PreferenceAttribute::alignmentA:
    case PreferenceAttribute::alignmentB:
    case PreferenceAttribute::alignmentC:
    case PreferenceAttribute::alignmentD: {
      int which = int(attribute) - int(PreferenceAttribute::alignmentA);
      setValue(preference.alignments[which], value, bytes);
      uint32_t alignment = preference.alignments[which];
      if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        refuseBlas(BlasResult::invalidValue, "an alignment of {} bytes",
                   alignment);
      return;
    }
    }
    refuseBlas(BlasResult::invalidValue, "attribute {} is none that is here",
               int(attribute));
  });
}

BlasResult api_getHeuristic(BlasHandle handle, MatmulDesc desc, MatrixLayout a,
                            MatrixLayout b, MatrixLayout c, MatrixLayout d,
                            MatmulPreference preferenceHandle, int requested,
                            HeuristicResult results[], int *found) {
  return callBlas(symbol_getHeuristic, [&](Machine &, Blas &blas) {
    blas.handles.at(handle, "cuBLASLt handle");
    const FakePreference &preference =
        blas.preferences.at(preferenceHandle, "preference");
    if (!found || !results || requested < 1)
      refuseBlas(BlasResult::invalidValue, "{} results are asked for",
                 requested);
    *found = 0;
    // The library may load kernels here, which stalls a capture.
    checkNotCapturing(symbol_getHeuristic);
    MatmulShape shape = blas.shape(desc, a, b, c, d);
    std::string wrong = shape.findError();
    if (!wrong.empty())
      refuseBlas(BlasResult::notSupported, "{}", wrong);
    AlgorithmData data;
    data.fingerprint = shape.fingerprint();
    std::copy_n(preference.alignments, 4, data.alignments);
    for (Algorithm kind : {Algorithm::split, Algorithm::plain,
                           Algorithm::halves, Algorithm::quarters}) {
      uint64_t workspace = kind == Algorithm::split ? splitWorkspace(shape) : 0;
      bool isThere = kind == Algorithm::split
                         ? workspace > 0
                         : shape.k() >= uint64_t(partsOf(kind));
      bool isAllowed = kind == Algorithm::plain ||
                       (preference.reductionSchemes & reductionInComputeType);
      if (*found == requested || !isThere || !isAllowed ||
          workspace > preference.maxWorkspaceBytes)
        continue;
      data.kind = kind;
      data.workspaceBytes = workspace;
      HeuristicResult &result = results[(*found)++];
      result = {};
      std::memcpy(&result.algorithm, &data, sizeof data);
      result.workspaceBytes = workspace;
      result.state = BlasResult::success;
      result.waves = 1;
    }
  });
}

BlasResult api_checkAlgorithm(BlasHandle handle, MatmulDesc desc,
                              MatrixLayout a, MatrixLayout b, MatrixLayout c,
                              MatrixLayout d, const MatmulAlgorithm *algorithm,
                              HeuristicResult *result) {
  return callBlas(symbol_checkAlgorithm, [&](Machine &, Blas &blas) {
    blas.handles.at(handle, "cuBLASLt handle");
    checkNotCapturing(symbol_checkAlgorithm);
    if (!algorithm || !result)
      refuseBlas(BlasResult::invalidValue, "an algorithm or a result is null");
    MatmulShape shape = blas.shape(desc, a, b, c, d);
    AlgorithmData data;
    std::memcpy(&data, algorithm, sizeof data);
    // To ask is no mistake: nothing is printed.
    if (!isFor(data, shape))
      throw BlasFailure{BlasResult::notSupported, ""};
    *result = {};
    result->algorithm = *algorithm;
    result->workspaceBytes = data.workspaceBytes;
    result->state = BlasResult::success;
    result->waves = 1;
  });
}

BlasResult api_matmul(BlasHandle handle, MatmulDesc desc, const void *alpha,
                      const void *a, MatrixLayout aLayout, const void *b,
                      MatrixLayout bLayout, const void *beta, const void *c,
                      MatrixLayout cLayout, void *d, MatrixLayout dLayout,
                      const MatmulAlgorithm *algorithm, void *workspace,
                      size_t workspaceBytes, Stream streamHandle) {
  return callBlas(symbol_matmul, [&](Machine &machine, Blas &blas) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(streamHandle);
    if (blas.handles.at(handle, "cuBLASLt handle").context != &context)
      refuseBlas(BlasResult::invalidValue, "the handle is of another GPU");
    MatmulShape shape = blas.shape(desc, aLayout, bLayout, cLayout, dLayout);
    std::string wrong = shape.findError();
    if (!wrong.empty())
      refuseBlas(BlasResult::invalidValue, "{}", wrong);
    if (!algorithm)
      refuseBlas(BlasResult::invalidValue,
                 "{} without an algorithm: the library would choose one in "
                 "each call",
                 nameOf(shape));
    AlgorithmData data;
    std::memcpy(&data, algorithm, sizeof data);
    if (!isFor(data, shape))
      refuseBlas(BlasResult::invalidValue,
                 "{}: its algorithm is of other descriptors", nameOf(shape));
    double scaleA = readScale(alpha, shape.desc.scale),
           scaleC = readScale(beta, shape.desc.scale);
    const char *aBytes =
                   operand(machine, shape, a, shape.a, "A", data.alignments[0]),
               *bBytes =
                   operand(machine, shape, b, shape.b, "B", data.alignments[1]),
               *cBytes = nullptr;
    if (scaleC != 0)
      cBytes = operand(machine, shape, c, shape.c, "C", data.alignments[2]);
    char *dBytes = operand(machine, shape, d, shape.d, "D", data.alignments[3]);
    char *scratch = nullptr;
    if (data.workspaceBytes > workspaceBytes)
      refuseBlas(BlasResult::invalidValue,
                 "{}: its algorithm needs a workspace of {} bytes, not {}",
                 nameOf(shape), data.workspaceBytes, workspaceBytes);
    auto scratchAddress = reinterpret_cast<uintptr_t>(workspace);
    if (workspaceBytes > 0) {
      if (scratchAddress % 16 != 0)
        refuseBlas(BlasResult::invalidValue,
                   "{}: the workspace is at {:#x}, no multiple of 16 bytes",
                   nameOf(shape), scratchAddress);
      scratch = machine.storage(context, scratchAddress, workspaceBytes,
                                "the workspace", nameOf(shape));
    }
    if (cBytes && cBytes != dBytes && cBytes < dBytes + extent(shape.d) &&
        dBytes < cBytes + extent(shape.c))
      refuseBlas(BlasResult::invalidValue, "{}: C and D overlap",
                 nameOf(shape));
    machine.loadCode(
        context, fmt::format("{}, {}", nameOf(shape), fake::nameOf(data.kind)));
    ++machine.counters.matmuls;
    ++machine.counters
          .algorithms[context.name() + " " + fake::nameOf(data.kind)];
    Work work;
    work.name = nameOf(shape);
    work.run = [=] {
      // What the algorithm leaves there is nobody's business.
      if (data.workspaceBytes)
        std::memset(scratch, poison, data.workspaceBytes);
      compute(shape, partsOf(data.kind), scaleA, aBytes, bBytes, scaleC, cBytes,
              dBytes);
    };
    if (!machine.settings.matmulMicroseconds.empty())
      work.microseconds =
          machine.settings.matmulMicroseconds[size_t(data.kind)];
    machine.enqueue(stream, std::make_shared<Work>(std::move(work)));
  });
}

} // namespace ppopt::cuda::fake
