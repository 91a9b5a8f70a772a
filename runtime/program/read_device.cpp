//===- read_device.cpp - Reads the documents of devices and clusters ------===//

#include "program/read_device.h"

#include "base/json_structure.h"
#include "program/read_fields.h"

#include <algorithm>
#include <functional>

namespace ppopt::runtime {
namespace {

using schema::Device;

/// Checks that a list has one entry per type.
template <typename T>
void checkTypes(const std::vector<T> &entries, const Path &list) {
  for (MatmulType type : {MatmulType::f32, MatmulType::f64, MatmulType::bf16}) {
    auto count =
        std::count_if(entries.begin(), entries.end(),
                      [&](const T &entry) { return entry.type == type; });
    if (count == 0)
      list.fail(std::string("lacks ") + schema::spell(type));
    if (count > 1)
      list.fail(std::string("has ") + schema::spell(type) + " twice");
  }
}

void checkAscending(const std::vector<int64_t> &sizes, const Path &list) {
  if (sizes.empty())
    list.fail("has no elements");
  if (!std::is_sorted(sizes.begin(), sizes.end(), std::less_equal<>()))
    list.fail("is not in ascending order");
}

void checkGrid(const schema::MatmulRates &matmul, const Path &path) {
  checkAscending(matmul.m, path["m"]);
  checkAscending(matmul.n, path["n"]);
  checkAscending(matmul.k, path["k"]);
  size_t points = matmul.m.size() * matmul.n.size() * matmul.k.size();
  for (auto [name, rates] : {std::pair("rates", &matmul.rates),
                             std::pair("transposed", &matmul.transposed)})
    if (rates->size() != points)
      path[name].fail(fmt::format("has {} elements, and m, n and k make {}",
                                  rates->size(), points));
}

void checkRates(const schema::ComputeRates &rates, const Path &root) {
  checkTypes(rates.matmuls, root["matmuls"]);
  checkTypes(rates.attention, root["attention"]);
  checkTypes(rates.elements, root["elements"]);
  const Path matmuls = root["matmuls"], memory = root["memory"];
  for (size_t i = 0; i < rates.matmuls.size(); ++i)
    checkGrid(rates.matmuls[i], matmuls[i]);
  if (rates.memory.empty())
    memory.fail("has no elements");
  for (size_t i = 1; i < rates.memory.size(); ++i)
    if (rates.memory[i].bytes <= rates.memory[i - 1].bytes)
      memory.fail("is not in ascending order of bytes");
}

/// Checks what single fields do not say.
void check(const Device &device, const Path &root) {
  checkRates(device, root);
  if (device.busy)
    checkRates(*device.busy, root["busy"]);
  if (auto &gpu = device.multiprocessors; gpu && gpu->collective >= gpu->count)
    root["multiprocessors"]["collective"].fail(
        fmt::format("is {}, which is not less than the count {}",
                    gpu->collective, gpu->count));
}

void check(const schema::Cluster &cluster, const Path &root) {
  if (cluster.levels.empty())
    root["levels"].fail("has no elements");
}

template <typename T>
T readDocument(const Json &document, const std::string &what) {
  if (!document.is_object())
    throw Error("is not the document of a " + what);
  if (document.value("version", Json()) != T::currentVersion)
    throw Error(
        fmt::format("version is not {}, the version that this ppopt reads",
                    T::currentVersion));
  T read;
  const Path root(nullptr, nullptr);
  Scope scope;
  scope.refusesUnknown = true;
  readValue(document, root, read, {}, scope);
  check(read, root);
  return read;
}

template <typename T>
std::optional<T> tryToRead(std::string_view json, const std::string &what,
                           std::string &error) {
  try {
    return readDocument<T>(Json::parse(json), what);
  } catch (const Json::exception &caught) {
    error = "is not JSON: " + reasonOf(caught);
  } catch (const Error &caught) {
    error = caught.what();
  }
  return std::nullopt;
}

} // namespace

std::optional<Device> readDevice(std::string_view json, std::string &error) {
  return tryToRead<Device>(json, "device", error);
}

std::optional<schema::Cluster> readCluster(std::string_view json,
                                           std::string &error) {
  return tryToRead<schema::Cluster>(json, "cluster", error);
}

} // namespace ppopt::runtime
