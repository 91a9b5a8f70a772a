//===- mutate_json.cpp - Changes to JSON documents ------------------------===//

#include "mutate_json.h"

#include <iterator>
#include <random>
#include <vector>

using nlohmann::json;

namespace {

const json kValues[] = {nullptr,
                        true,
                        0,
                        1,
                        -1,
                        2,
                        64,
                        1.5,
                        1e300,
                        INT32_MAX,
                        int64_t(1) << 40,
                        INT64_MAX,
                        INT64_MIN,
                        UINT64_MAX,
                        "",
                        "dp",
                        "pp",
                        "../x",
                        json::array(),
                        json::object()};

/// Of what follows from alignments and sizes; two of them backwards.
const uint64_t kSteps[] = {1, 64, uint64_t(-1), uint64_t(-64)};

class Mutator {
public:
  Mutator(json &document, unsigned seed) : random(seed), document(document) {}

  void change() {
    std::vector<json *> values = {&document};
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i]->is_structured())
        for (json &inner : *values[i])
          values.push_back(&inner);
    json &value = *values[pick(values.size())];
    switch (pick(8)) {
    case 0:
    case 1:
      value = kValues[pick(std::size(kValues))];
      return;
    case 2:
    case 3: {
      json other = *values[pick(values.size())];
      value = std::move(other);
      return;
    }
    case 4:
      return remove(value);
    case 5:
      return repeat(value);
    case 6:
      if (value.is_number_integer())
        value =
            int64_t(value.get<uint64_t>() + kSteps[pick(std::size(kSteps))]);
      return;
    default:
      for (size_t depth = pick(2) ? 1 : 200; depth > 0; --depth)
        value = json::array({std::move(value)});
    }
  }

private:
  size_t pick(size_t count) { return random() % count; }

  void remove(json &value) {
    if (value.is_structured() && !value.empty())
      value.erase(std::next(value.begin(), pick(value.size())));
  }

  void repeat(json &value) {
    if (!value.is_array() || value.empty())
      return;
    json element = value[pick(value.size())];
    value.insert(value.begin() + pick(value.size() + 1), std::move(element));
  }

  std::minstd_rand random;
  json &document;
};

} // namespace

std::optional<json> fuzz::mutateJson(std::string_view text, unsigned seed) {
  json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return std::nullopt;
  Mutator mutator(document, seed);
  for (unsigned changes = 1 + seed % 3; changes > 0; --changes)
    mutator.change();
  return document;
}
