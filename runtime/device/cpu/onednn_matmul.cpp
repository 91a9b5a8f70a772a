//===- onednn_matmul.cpp - Matmuls with oneDNN ----------------------------===//

#include "device/cpu/onednn_matmul.h"

#include "device/cpu/team.h"
#include "ppopt/runtime.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace ppopt {

namespace {

using dnnl::memory;

memory::data_type dataType(MatmulType type) {
  return type == MatmulType::bf16 ? memory::data_type::bf16
                                  : memory::data_type::f32;
}

size_t aligned(size_t bytes) {
  return (bytes + PPOPT_ALIGNMENT - 1) / PPOPT_ALIGNMENT * PPOPT_ALIGNMENT;
}

const dnnl::engine &cpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Omits batch dimensions of size 1, and both if `batched` is false. A
/// broadcast one has size 1 in the operand.
memory::desc describe(const MatmulDescriptor &matmul,
                      const std::array<int64_t, 4> &strides, int64_t rows,
                      int64_t columns, MatmulType type, bool batched) {
  memory::dims dims, steps;
  for (int i = 0; batched && i < 2; ++i)
    if (matmul.batch[i] > 1) {
      dims.push_back(strides[i] == 0 ? 1 : matmul.batch[i]);
      steps.push_back(strides[i] == 0 ? rows * columns : strides[i]);
    }
  dims.insert(dims.end(), {rows, columns});
  steps.insert(steps.end(), {strides[2], strides[3]});
  return memory::desc(dims, dataType(type), steps);
}

std::optional<dnnl::matmul::primitive_desc>
choose(const MatmulDescriptor &matmul, bool batched, size_t workspaceBytes) {
  try {
    dnnl::matmul::desc operation(
        describe(matmul, matmul.a, matmul.m, matmul.k, matmul.type, batched),
        describe(matmul, matmul.b, matmul.k, matmul.n, matmul.type, batched),
        describe(matmul, matmul.c, matmul.m, matmul.n, matmul.cType, batched));
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (matmul.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    dnnl::matmul::primitive_desc choice(operation, attributes, cpuEngine());
    do {
      // The reference implementation is orders of magnitude slower than our own
      // loops. It is the last in the list.
      if (std::string_view(choice.impl_info_str()).substr(0, 3) == "ref")
        return std::nullopt;
      if (choice.scratchpad_desc().get_size() <= workspaceBytes)
        return choice;
    } while (choice.next_impl());
  } catch (const dnnl::error &) {
    // oneDNN does not support this combination of types or strides.
  }
  return std::nullopt;
}

/// The stream and memory objects of one caller; a run changes only the handles.
class Execution {
public:
  explicit Execution(const dnnl::matmul::primitive_desc &descriptor)
      : stream(cpuEngine()), a(unset(descriptor.src_desc())),
        b(unset(descriptor.weights_desc())), c(unset(descriptor.dst_desc())),
        scratch(unset(descriptor.scratchpad_desc())),
        arguments{{{DNNL_ARG_SRC, a.get()},
                   {DNNL_ARG_WEIGHTS, b.get()},
                   {DNNL_ARG_DST, c.get()},
                   {DNNL_ARG_SCRATCHPAD, scratch.get()}}} {}

  // Uses the C interface: the C++ one takes a hash map of arguments.
  dnnl_status_t run(const dnnl::matmul &primitive, const char *aData,
                    const char *bData, char *cData, char *workspace) const {
    auto set = [](const memory &object, const void *data) {
      return dnnl_memory_set_data_handle(object.get(),
                                         const_cast<void *>(data));
    };
    dnnl_status_t status = set(a, aData);
    if (status == dnnl_success)
      status = set(b, bData);
    if (status == dnnl_success)
      status = set(c, cData);
    if (status == dnnl_success)
      status = set(scratch, workspace);
    if (status == dnnl_success)
      status = dnnl_primitive_execute(primitive.get(), stream.get(),
                                      arguments.size(), arguments.data());
    if (status == dnnl_success)
      status = dnnl_stream_wait(stream.get());
    return status;
  }

private:
  static memory unset(const memory::desc &descriptor) {
    return memory(descriptor, cpuEngine(), DNNL_MEMORY_NONE);
  }

  dnnl::stream stream;
  memory a, b, c, scratch;
  std::array<dnnl_exec_arg_t, 4> arguments;
};

void check(dnnl_status_t status) {
  if (status != dnnl_success)
    throw std::runtime_error(std::string("oneDNN: a matmul failed (") +
                             "status " + std::to_string(status) + ")");
}

class WholeMatmul : public MatmulImplementation {
public:
  explicit WholeMatmul(const dnnl::matmul::primitive_desc &choice)
      : primitive(choice), execution(choice),
        scratchBytes(choice.scratchpad_desc().get_size()),
        implementation(choice.impl_info_str()) {}

  void run(const void *a, const void *b, void *c,
           void *workspace) const override {
    check(execution.run(primitive, static_cast<const char *>(a),
                        static_cast<const char *>(b), static_cast<char *>(c),
                        static_cast<char *>(workspace)));
  }
  size_t workspaceBytes() const override { return scratchBytes; }
  std::string name() const override { return "oneDNN " + implementation; }

private:
  dnnl::matmul primitive;
  Execution execution;
  size_t scratchBytes;
  std::string implementation;
};

class LoopedMatmul : public MatmulImplementation {
public:
  LoopedMatmul(const dnnl::matmul::primitive_desc &choice,
               const MatmulDescriptor &matmul, int members)
      : primitive(choice), matmul(matmul),
        scratchBytes(aligned(choice.scratchpad_desc().get_size())),
        implementation(choice.impl_info_str()) {
    for (int i = 0; i < members; ++i)
      executions.emplace_back(choice);
  }

  void run(const void *a, const void *b, void *c,
           void *workspace) const override {
    int64_t batches = matmul.batch[0] * matmul.batch[1];
    std::atomic<dnnl_status_t> failure{dnnl_success};
    auto run = [&](int member, int64_t begin, int64_t end) {
      char *scratch = scratchBytes == 0 ? nullptr
                                        : static_cast<char *>(workspace) +
                                              member * scratchBytes;
      for (int64_t i = begin; i < end; ++i) {
        dnnl_status_t status = executions[member].run(
            primitive,
            static_cast<const char *>(a) + offset(matmul.a, i, matmul.type),
            static_cast<const char *>(b) + offset(matmul.b, i, matmul.type),
            static_cast<char *>(c) + offset(matmul.c, i, matmul.cType),
            scratch);
        if (status != dnnl_success)
          failure = status;
      }
    };
    TeamSizeScope scope(1); // of each call
    parallelForMembers(int(executions.size()), batches, /*chunk=*/1, run);
    check(failure);
  }
  size_t workspaceBytes() const override {
    return scratchBytes * executions.size();
  }
  std::string name() const override {
    return "oneDNN " + implementation + ", looped over " +
           std::to_string(matmul.batch[0] * matmul.batch[1]) + " batches";
  }

private:
  int64_t offset(const std::array<int64_t, 4> &strides, int64_t batch,
                 MatmulType type) const {
    return (batch / matmul.batch[1] * strides[0] +
            batch % matmul.batch[1] * strides[1]) *
           elementBytes(type);
  }

  dnnl::matmul primitive;
  MatmulDescriptor matmul;
  size_t scratchBytes;
  std::string implementation;
  std::vector<Execution> executions;
};

} // namespace

std::unique_ptr<MatmulImplementation>
makeOneDnnMatmul(const MatmulDescriptor &matmul, int threads,
                 size_t workspaceBytes) {
  if (matmul.type == MatmulType::f64)
    return nullptr;
  {
    TeamSizeScope scope(threads);
    if (auto choice = choose(matmul, /*batched=*/true, workspaceBytes))
      return std::make_unique<WholeMatmul>(*choice);
  }
  int64_t batches = matmul.batch[0] * matmul.batch[1];
  if (batches == 1)
    return nullptr;
  TeamSizeScope scope(1);
  int members = int(std::min<int64_t>(threads, batches));
  if (auto choice =
          choose(matmul, /*batched=*/false,
                 workspaceBytes / members / PPOPT_ALIGNMENT * PPOPT_ALIGNMENT))
    return std::make_unique<LoopedMatmul>(*choice, matmul, members);
  return nullptr;
}

bool multipliesBF16() {
  constexpr int wanted = int(dnnl::cpu_isa::avx512_core_bf16);
  return (int(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

} // namespace ppopt
