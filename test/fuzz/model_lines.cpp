//===- model_lines.cpp - The text of a model, line by line ----------------===//

#include "model_lines.h"

#include <cctype>
#include <sstream>
#include <utility>

using namespace fuzz;

/// Lines that are no longer ops could double with every change.
constexpr size_t kLongestType = 64;

static bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '$' || c == '#';
}

/// Finds a name that is not a part of a longer one.
static size_t findName(const std::string &line, const std::string &name,
                       size_t from) {
  for (size_t at = line.find(name, from); at != std::string::npos;
       at = line.find(name, at + 1))
    if (at + name.size() == line.size() || !isWord(line[at + name.size()]))
      return at;
  return std::string::npos;
}

static void replaceNames(std::string &line, const std::string &name,
                         const std::string &by, size_t from) {
  for (size_t at = findName(line, name, from); at != std::string::npos;
       at = findName(line, name, at + by.size()))
    line.replace(at, name.size(), by);
}

TensorType::TensorType(const std::string &text) {
  const std::string head = "tensor<";
  if (text.rfind(head, 0) != 0 || text.back() != '>')
    return;
  std::string part;
  for (char c : text.substr(head.size(), text.size() - head.size() - 1))
    if (c == 'x') {
      sizes.push_back(std::exchange(part, ""));
    } else {
      part += c;
    }
  element = part;
}

std::string fuzz::makeTensor(const std::vector<std::string> &sizes,
                             const std::string &element) {
  std::string text = "tensor<";
  for (const std::string &size : sizes)
    text += size + "x";
  return text + element + ">";
}

static std::string writeList(const std::vector<size_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

std::string fuzz::permutation(size_t rank) {
  std::vector<size_t> numbers(rank);
  for (size_t i = 0; i < rank; ++i)
    numbers[i] = i;
  if (rank >= 2)
    std::swap(numbers[rank - 1], numbers[rank - 2]);
  return writeList(numbers);
}

std::string fuzz::zeros(size_t rank) {
  return writeList(std::vector<size_t>(rank, 0));
}

std::string fuzz::counting(size_t rank) {
  std::vector<size_t> numbers(rank);
  for (size_t i = 0; i < rank; ++i)
    numbers[i] = i;
  return writeList(numbers);
}

ModelLines::ModelLines(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::pair<std::string, std::string>> aliases;
  for (std::string line; std::getline(stream, line);) {
    size_t equals = line.find(" = tensor<");
    if (!line.empty() && line[0] == '!' && equals != std::string::npos) {
      aliases.emplace_back(line.substr(0, equals), line.substr(equals + 3));
      continue;
    }
    for (const auto &[name, type] : aliases)
      replaceNames(line, name, type, 0);
    lines.push_back(line);
  }
}

std::string ModelLines::join() const {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

/// The parts between commas outside of brackets.
static std::vector<std::string> splitTypes(const std::string &text) {
  std::vector<std::string> parts = {""};
  int depth = 0;
  for (char c : text) {
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  return parts;
}

std::vector<Use> ModelLines::findUses() const {
  std::vector<Use> uses;
  for (size_t number = 0; number < lines.size(); ++number) {
    const std::string &line = lines[number];
    size_t equals = line.find(" = pp."), colon = line.find(" : ");
    if (equals == std::string::npos || colon == std::string::npos)
      continue;
    std::string types = line.substr(line.rfind(" : ") + 3);
    types = types.substr(0, types.find(" to "));
    std::vector<std::string> operands;
    for (size_t at = line.find('%', equals); at < colon;
         at = line.find('%', at + 1)) {
      size_t end = at + 1;
      while (end < line.size() && isWord(line[end]))
        ++end;
      operands.push_back(line.substr(at, end - at));
    }
    std::vector<std::string> parts = splitTypes(types);
    for (size_t i = 0; i < operands.size() && i < parts.size(); ++i)
      if (parts[i].size() <= kLongestType)
        uses.push_back({number, operands[i], parts[i]});
  }
  return uses;
}

std::vector<Token> ModelLines::findNumbers() const {
  std::vector<Token> numbers;
  for (size_t number = 0; number < lines.size(); ++number) {
    const std::string &line = lines[number];
    for (size_t at = 0; at < line.size();) {
      bool begins = std::isdigit(static_cast<unsigned char>(line[at])) &&
                    (at == 0 || line[at - 1] == 'x' || !isWord(line[at - 1]));
      bool isName = at > 0 && (line[at - 1] == '%' || line[at - 1] == '#');
      size_t end = at + 1;
      while (end < line.size() &&
             (std::isdigit(static_cast<unsigned char>(line[end])) ||
              line[end] == '.'))
        ++end;
      if (!begins || isName) {
        ++at;
        continue;
      }
      numbers.push_back({number, at, line.substr(at, end - at)});
      at = end;
    }
  }
  return numbers;
}

void ModelLines::replace(const Token &token, const std::string &by) {
  lines[token.line].replace(token.begin, token.text.size(), by);
}

void ModelLines::replaceIn(size_t line, const std::string &name,
                           const std::string &by) {
  size_t equals = lines[line].find(" = ");
  replaceNames(lines[line], name, by, equals == std::string::npos ? 0 : equals);
}

void ModelLines::insert(size_t line, const std::string &text) {
  std::istringstream stream(text);
  for (std::string added; std::getline(stream, added); ++line)
    lines.insert(lines.begin() + line, "  " + added);
}
