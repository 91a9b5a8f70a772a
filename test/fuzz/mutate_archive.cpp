//===- mutate_archive.cpp - Changes to archives of torch.export -----------===//

#include "mutate_archive.h"
#include "mutate_json.h"

#include <iterator>
#include <memory>
#include <random>
#include <vector>
#include <zip.h>

using nlohmann::json;

namespace {

//===----------------------------------------------------------------------===//
// The zip
//===----------------------------------------------------------------------===//

struct Entry {
  std::string name, bytes;
};

/// A zip in memory. Its source outlives it, as what is written is read there.
class Zip {
public:
  Zip(std::string_view bytes, int flags) {
    source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr);
    zip_source_keep(source);
    zip = zip_open_from_source(source, flags, nullptr);
    if (!zip)
      zip_source_free(source);
  }
  ~Zip() {
    if (zip)
      zip_discard(zip);
    zip_source_free(source);
  }
  Zip(const Zip &) = delete;
  Zip &operator=(const Zip &) = delete;

  std::vector<Entry> read() const {
    std::vector<Entry> entries;
    zip_int64_t count = zip ? zip_get_num_entries(zip, 0) : 0;
    for (zip_int64_t i = 0; i < count; ++i) {
      zip_stat_t stat;
      if (zip_stat_index(zip, i, 0, &stat) != 0 || stat.size > 1 << 20)
        continue;
      Entry entry{stat.name, std::string(stat.size, '\0')};
      if (zip_file_t *file = zip_fopen_index(zip, i, 0)) {
        zip_fread(file, entry.bytes.data(), entry.bytes.size());
        zip_fclose(file);
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  /// Adds the entries, without compression, and returns the zip's bytes.
  std::optional<std::string> write(const std::vector<Entry> &entries) {
    for (const Entry &entry : entries) {
      zip_source_t *bytes =
          zip_source_buffer(zip, entry.bytes.data(), entry.bytes.size(), 0);
      zip_int64_t number =
          zip_file_add(zip, entry.name.c_str(), bytes, ZIP_FL_ENC_UTF_8);
      if (number < 0) { // of a name that is there
        zip_source_free(bytes);
        continue;
      }
      zip_set_file_compression(zip, number, ZIP_CM_STORE, 0);
      zip_file_set_mtime(zip, number, /*mtime=*/1 << 29, 0); // not today
    }
    if (zip_close(zip) != 0)
      return std::nullopt;
    zip = nullptr;
    zip_stat_t stat;
    if (zip_source_stat(source, &stat) != 0 || zip_source_open(source) != 0)
      return std::nullopt;
    std::string written(stat.size, '\0');
    zip_source_read(source, written.data(), written.size());
    zip_source_close(source);
    return written;
  }

private:
  zip_source_t *source;
  zip_t *zip;
};

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

const int64_t kIntegers[] = {
    0, 1,  -1,   2,         -2,        3,         7,         8,
    9, 64, -100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t(1) << 40};
const json kFloats[] = {0.0,    -1.0,  0.5,        1e300,
                        1e-300, "NaN", "Infinity", "-Infinity"};

class GraphMutator {
public:
  GraphMutator(json &model, unsigned seed) : random(seed), model(model) {
    json::json_pointer path("/graph_module/graph");
    if (!model.is_object() || !model.contains(path))
      return;
    json &graph = model[path];
    if (graph.is_object() && graph.contains("nodes") &&
        graph["nodes"].is_array())
      nodes = &graph["nodes"];
    if (graph.is_object() && graph.contains("tensor_values") &&
        graph["tensor_values"].is_object())
      tensors = &graph["tensor_values"];
  }

  void change() {
    switch (pick(8)) {
    case 0:
      return changeAny(model);
    case 1:
    case 2:
    case 3:
      return changeArgument();
    case 4:
      return changeTarget();
    case 5:
    case 6:
      return changeTensor();
    default:
      if (json *node = anyOf(nodes))
        changeAny(*node);
    }
  }

private:
  size_t pick(size_t count) { return random() % count; }
  template <typename T, size_t size> const T &oneOf(const T (&values)[size]) {
    return values[pick(size)];
  }

  /// An element of a list, or a field's value; null where there is none.
  json *anyOf(json *values) {
    if (!values || !values->is_structured() || values->empty())
      return nullptr;
    return &*std::next(values->begin(), pick(values->size()));
  }

  void changeAny(json &value) {
    value = *fuzz::mutateJson(fuzz::printJson(value, -1), random());
  }

  /// The field of the value of a random node's field "inputs".
  json *anyArgument() {
    json *node = anyOf(nodes);
    if (!node || !node->is_object() || !node->contains("inputs"))
      return nullptr;
    json *input = anyOf(&(*node)["inputs"]);
    return input && input->is_object() && input->contains("arg")
               ? &(*input)["arg"]
               : nullptr;
  }

  void changeArgument() {
    json *argument = anyArgument();
    if (!argument)
      return;
    json *other = anyArgument();
    json *value = anyOf(argument);
    if (pick(4) == 0 && other) {
      *argument = json(*other);
    } else if (argument->contains("as_tensor") && tensors &&
               !tensors->empty() && value->is_object()) {
      (*value)["name"] =
          std::next(tensors->begin(), pick(tensors->size())).key();
    } else if (value && value->is_array()) {
      changeList(*value);
    } else if (value && value->is_boolean()) {
      *value = !value->get<bool>();
    } else if (value && value->is_number_integer()) {
      *value = oneOf(kIntegers);
    } else if (value && value->is_number_float()) {
      *value = oneOf(kFloats);
    } else {
      *argument = {{"as_none", true}};
    }
  }

  /// A number replaced, one more, or one less.
  void changeList(json &list) {
    switch (pick(3)) {
    case 0:
      if (!list.empty())
        list.erase(pick(list.size()));
      return;
    case 1:
      list.insert(list.begin() + pick(list.size() + 1),
                  list.empty() ? json(oneOf(kIntegers)) : json(list[0]));
      return;
    default:
      if (list.empty())
        return;
      json &value = list[pick(list.size())];
      if (value.is_number())
        value = oneOf(kIntegers);
      else
        changeAny(value);
    }
  }

  void changeTarget() {
    json *node = anyOf(nodes), *other = anyOf(nodes);
    if (node && node->is_object() && other->is_object() &&
        other->contains("target"))
      (*node)["target"] = json((*other)["target"]);
  }

  /// Another size or type; that of a stored tensor is in a list as well.
  void changeTensor() {
    json *tensor = anyOf(tensors);
    if (!tensor || !tensor->is_object())
      return;
    json *other = anyOf(tensors);
    switch (pick(4)) {
    case 0:
      (*tensor)["dtype"] = pick(14);
      return;
    case 1:
      *tensor = json(*other);
      return;
    default:
      if (!tensor->contains("sizes") || !(*tensor)["sizes"].is_array())
        return;
      json &sizes = (*tensor)["sizes"];
      if (pick(2) || sizes.empty())
        return changeList(sizes);
      sizes[pick(sizes.size())] = {{"as_int", oneOf(kIntegers)}};
    }
  }

  std::minstd_rand random;
  json &model;
  json *nodes = nullptr, *tensors = nullptr;
};

std::string mutateModel(const std::string &text, unsigned seed) {
  json model = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (model.is_discarded())
    return text;
  // What a change moves is looked up again.
  for (unsigned k = 0; k < 1 + seed % 3; ++k)
    GraphMutator(model, seed + k).change();
  return fuzz::printJson(model, -1);
}

bool endsWith(const std::string &text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void changeEntry(Entry &entry, unsigned seed) {
  if (entry.name.find("/models/") != std::string::npos) {
    entry.bytes = mutateModel(entry.bytes, seed);
  } else if (endsWith(entry.name, ".json")) {
    if (auto changed = fuzz::mutateJson(entry.bytes, seed))
      entry.bytes = fuzz::printJson(*changed, -1);
  } else {
    size_t size = entry.bytes.size();
    entry.bytes.resize(size + 16);
    entry.bytes.resize(LLVMFuzzerMutate(
        reinterpret_cast<uint8_t *>(entry.bytes.data()), size, size + 16));
  }
}

} // namespace

std::optional<std::string> fuzz::mutateArchive(std::string_view bytes,
                                               unsigned seed) {
  std::vector<Entry> entries = Zip(bytes, ZIP_RDONLY).read();
  if (entries.empty())
    return std::nullopt;
  std::minstd_rand random(seed);
  Entry *chosen = &entries[random() % entries.size()];
  for (Entry &entry : entries)
    if (random() % 4 != 0 && entry.name.find("/models/") != std::string::npos)
      chosen = &entry;
  changeEntry(*chosen, random());
  return Zip({}, ZIP_TRUNCATE).write(entries);
}
