//===- matmul_bench.cpp - The rates of a program's matmuls ----------------===//
//
// ppopt-matmul-bench PROGRAM.json [THREADS]
//
// Prints {"threads": T, "matmuls": [{"name", "m", "k", "n", "batches", "type",
// "implementation", "gflops", "onednn", "packed"}, …]} for the matmuls of what
// `./train --describe=json` printed: the rate of ours; of oneDNN with the
// operands as they lie; of oneDNN with operands and result in the layouts that
// it likes best, packing not counted (0 for what has batches).
//
//===----------------------------------------------------------------------===//

#include "device/cpu/matmul.h"
#include "device/cpu/measure_matmul.h"
#include "device/cpu/onednn_matmul.h"
#include "device/cpu/team.h"
#include "ppopt/machine_rate.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>

using namespace ppopt;
using nlohmann::json;

namespace {

MatmulType typeOf(const std::string &name) {
  return name == "f64"    ? MatmulType::f64
         : name == "bf16" ? MatmulType::bf16
                          : MatmulType::f32;
}

MatmulDescriptor read(const json &matmul) {
  MatmulDescriptor descriptor;
  descriptor.type = typeOf(matmul.at("type"));
  descriptor.cType = typeOf(matmul.at("c_type"));
  descriptor.accumulate = matmul.at("accumulate");
  descriptor.m = matmul.at("m");
  descriptor.n = matmul.at("n");
  descriptor.k = matmul.at("k");
  descriptor.batch = matmul.at("batch");
  descriptor.a = matmul.at("a").at("strides");
  descriptor.b = matmul.at("b").at("strides");
  descriptor.c = matmul.at("c").at("strides");
  return descriptor;
}

/// Of the fastest of 30 runs, or of as many as fit a second.
double rate(const MatmulDescriptor &matmul,
            const MatmulImplementation &implementation) {
  return 1e-9 * static_cast<double>(matmul.flops()) /
         measureMatmul(matmul, implementation, /*runs=*/30, /*seconds=*/1)
             .least;
}

json measure(const json &entry, int threads) {
  MatmulDescriptor matmul = read(entry);
  bool batched = matmul.batch[0] * matmul.batch[1] > 1;
  PreparedMatmul prepared(matmul, threads, SIZE_MAX);
  json line{{"name", entry.at("name")},
            {"m", matmul.m},
            {"k", matmul.k},
            {"n", matmul.n},
            {"batches", matmul.batch[0] * matmul.batch[1]},
            {"type", entry.at("type")},
            {"implementation", prepared.name()}};
  line["gflops"] = rate(matmul, prepared.how());
  auto library = makeOneDnnMatmul(matmul, threads, SIZE_MAX);
  line["onednn"] = library ? rate(matmul, *library) : 0.0;
  line["packed"] =
      batched
          ? 0.0
          : 1e-9 * packedMatmulRate(matmul.type, {matmul.m, matmul.n, matmul.k},
                                    threads);
  return line;
}

} // namespace

int main(int argc, char **argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: ppopt-matmul-bench PROGRAM.json [THREADS]\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  json program = json::parse(file);
  int threads = argc > 2 ? std::atoi(argv[2])
                         : program.at("plan").at("threads").get<int>();
  setTeamSize(threads);
  json matmuls = json::array();
  for (const json &entry : program.at("matmuls"))
    matmuls.push_back(measure(entry, threads));
  std::puts(json{{"threads", threads}, {"matmuls", matmuls}}.dump(1).c_str());
} catch (const std::exception &failure) {
  std::fprintf(stderr, "ppopt-matmul-bench: %s\n", failure.what());
  return 1;
}
