//===- Csv.cpp - Schedules in PyTorch's CSV format ------------------------===//
//
// The format of torch.distributed.pipelining: a line is a rank, a cell is
// <stage><action><microbatch>. An older spelling has B for the input part and
// BW for the full backward; the present one has I and B.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Schedule/Table.h"

#include <algorithm>
#include <set>

using namespace ppopt::schedule;

namespace {

/// A cell in the file's spelling.
struct Action {
  std::string letters;
  int stage = 0, microbatch = 0;
  size_t row = 0;
  std::string where; ///< for messages
};

/// How the file spells the parts of a backward.
enum class Spelling { Present, Older };

class CsvReader {
public:
  explicit CsvReader(std::string_view text) : text(text) {}

  Result<Table> read() {
    readLines();
    if (error.empty() && actions.empty())
      error = "the schedule file runs nothing";
    if (error.empty())
      chooseSpelling();
    if (!error.empty())
      return Result<Table>::failure(error);
    Table table;
    table.rows.resize(rows);
    for (const Action &action : actions) {
      table.microbatches = std::max(table.microbatches, action.microbatch + 1);
      table.rows[action.row].push_back(
          {getWork(action), action.stage, action.microbatch});
    }
    return table;
  }

private:
  static std::string_view trim(std::string_view text) {
    const char *blank = " \t\r\"";
    size_t begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos)
      return {};
    return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
  }

  void fail(const std::string &where, const std::string &why) {
    if (error.empty())
      error = where + ": " + why;
  }

  /// Calls `visit` with each part of `text` between separators, and its number.
  template <typename Visit>
  static void split(std::string_view text, char separator, Visit visit) {
    for (size_t number = 0;; ++number) {
      size_t end = text.find(separator);
      visit(text.substr(0, end), number);
      if (end == std::string_view::npos)
        return;
      text.remove_prefix(end + 1);
    }
  }

  /// Blank lines at the end are not ranks.
  void readLines() {
    split(text, '\n', [&](std::string_view line, size_t row) {
      if (!trim(line).empty())
        rows = row + 1;
      split(line, ',', [&](std::string_view cell, size_t column) {
        readCell(trim(cell), row, column);
      });
    });
  }

  void readCell(std::string_view cell, size_t row, size_t column) {
    if (cell.empty())
      return;
    std::string where = "row " + std::to_string(row) + ", cell " +
                        std::to_string(column) + " ('" + std::string(cell) +
                        "')";
    static const std::string_view overlap = ")OVERLAP_F_B";
    if (cell.front() != '(')
      return readAction(cell, row, where);
    if (cell.size() < overlap.size() ||
        cell.substr(cell.size() - overlap.size()) != overlap)
      return fail(where, "a group is written (0F7;7B3)OVERLAP_F_B");
    split(cell.substr(1, cell.size() - 1 - overlap.size()), ';',
          [&](std::string_view action, size_t) {
            readAction(trim(action), row, where);
          });
  }

  /// Takes the leading digits; -1 if there are none.
  static int takeNumber(std::string_view &text) {
    size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 6)
      return -1;
    int number = std::stoi(std::string(text.substr(0, digits)));
    text.remove_prefix(digits);
    return number;
  }

  void readAction(std::string_view cell, size_t row, const std::string &where) {
    static const std::set<std::string_view> follows = {
        "SEND_F",  "RECV_F",  "SEND_B",     "RECV_B",
        "UNSHARD", "RESHARD", "REDUCE_GRAD"};
    static const std::set<std::string_view> runs = {"F", "B", "I", "W", "BW"};
    Action action;
    action.stage = takeNumber(cell);
    size_t letters = std::min(cell.find_first_of("0123456789"), cell.size());
    action.letters = cell.substr(0, letters);
    cell.remove_prefix(letters);
    action.microbatch = takeNumber(cell);
    action.row = row;
    action.where = where;
    if (follows.count(action.letters) && cell.empty())
      return;
    if (!runs.count(action.letters) || action.stage < 0 ||
        action.microbatch < 0 || !cell.empty())
      return fail(where, "a cell is <stage><action><microbatch>, the action F, "
                         "B, I or W, as 0F0; SEND_F, RECV_F, SEND_B, RECV_B, "
                         "UNSHARD, RESHARD and REDUCE_GRAD are left out");
    actions.push_back(std::move(action));
  }

  const Action *find(std::string_view letters) const {
    for (const Action &action : actions)
      if (action.letters == letters)
        return &action;
    return nullptr;
  }

  /// Decides whether B is the full backward (and I the input part), or the
  /// input part (and BW the full one). A file with neither I nor BW has the
  /// older spelling if it has W at all: each W needs its input part.
  void chooseSpelling() {
    const Action *input = find("I"), *full = find("BW");
    if (input && full)
      return fail(full->where,
                  "BW is the older spelling of B, yet the file has " +
                      input->where +
                      " in the present one; write B for the full backward, I "
                      "and W for its parts");
    bool isOlder = full || (!input && find("W"));
    spelling = isOlder ? Spelling::Older : Spelling::Present;
    if (isOlder && !full)
      checkPairs();
  }

  /// Checks that every B has its W, if only the W shows that B is the input
  /// part.
  void checkPairs() {
    std::set<std::pair<int, int>> weights;
    for (const Action &action : actions)
      if (action.letters == "W")
        weights.insert({action.stage, action.microbatch});
    for (const Action &action : actions) {
      if (action.letters != "B" ||
          weights.count({action.stage, action.microbatch}))
        continue;
      std::string run = std::to_string(action.stage);
      std::string of = std::to_string(action.microbatch);
      return fail(action.where,
                  "it is either a full backward or an input part whose " + run +
                      "W" + of +
                      " is missing; write I for input parts, B for full "
                      "backwards");
    }
  }

  Work getWork(const Action &action) const {
    if (action.letters == "F")
      return Work::Forward;
    if (action.letters == "I")
      return Work::BackwardInput;
    if (action.letters == "W")
      return Work::BackwardWeight;
    return action.letters == "B" && spelling == Spelling::Older
               ? Work::BackwardInput
               : Work::Backward;
  }

  const std::string_view text;
  size_t rows = 0;
  std::vector<Action> actions;
  Spelling spelling = Spelling::Present;
  std::string error;
};

} // namespace

Result<Table> ppopt::schedule::parseCsv(std::string_view text) {
  return CsvReader(text).read();
}

std::string ppopt::schedule::writeCsv(const Table &table) {
  std::string text;
  for (const std::vector<Cell> &row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += (i ? "," : "") + spell(row[i]);
    text += "\n";
  }
  return text;
}
