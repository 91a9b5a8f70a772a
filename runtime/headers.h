//===- headers.h - What much of the runtime includes ----------------------===//
//
// Precompiled once a build (cmake/PpoptHeaders.cmake). No source includes it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_HEADERS_H
#define PPOPT_RUNTIME_HEADERS_H

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#endif // PPOPT_RUNTIME_HEADERS_H
