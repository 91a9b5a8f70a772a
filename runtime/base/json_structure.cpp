//===- json_structure.cpp - Checks of JSON from untrusted files -----------===//

#include "base/json_structure.h"

#include <set>
#include <vector>

namespace ppopt::runtime {
namespace {

using nlohmann::json;

/// Reads a text without keeping its values.
class Reader : public nlohmann::json_sax<json> {
public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool key(string_t &) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &) override {
    return false;
  }

protected:
  /// At the beginning and end of an object or list. Return true to go on.
  virtual bool open() = 0;
  virtual bool close() = 0;
};

class DepthReader final : public Reader {
public:
  DepthReader(const std::string &path, size_t most)
      : path_(path), most_(most) {}

private:
  bool open() override {
    if (++depth_ > most_)
      throw Error("{}: is nested too deeply", path_);
    return true;
  }
  bool close() override {
    --depth_;
    return true;
  }

  const std::string &path_;
  const size_t most_;
  size_t depth_ = 0;
};

class KeyReader final : public Reader {
public:
  using Found = std::function<void(size_t depth, const std::string &key)>;
  explicit KeyReader(const Found &found) : found_(found) {}

  bool key(string_t &name) override {
    if (!keys_.back().insert(name).second)
      found_(keys_.size(), name);
    return true;
  }

private:
  bool open() override {
    keys_.emplace_back();
    return true;
  }
  bool close() override {
    keys_.pop_back();
    return true;
  }

  const Found &found_;
  std::vector<std::set<std::string>> keys_; ///< of what is open
};

} // namespace

void limitDepth(const std::string &path, std::string_view text, size_t most) {
  DepthReader reader(path, most);
  json::sax_parse(text.begin(), text.end(), &reader);
}

void findRepeatedKeys(
    std::string_view text,
    const std::function<void(size_t depth, const std::string &key)> &found) {
  KeyReader reader(found);
  json::sax_parse(text.begin(), text.end(), &reader);
}

json parseUnambiguous(const std::string &path, std::string_view text) {
  limitDepth(path, text);
  findRepeatedKeys(text, [&](size_t, const std::string &key) {
    throw Error("{}: '{}' is there twice in one object", path, key);
  });
  try {
    return json::parse(text);
  } catch (const json::exception &error) {
    throw Error("{}: is not JSON: {}", path, reasonOf(error));
  }
}

} // namespace ppopt::runtime
