//===- Table.cpp - A schedule: the runs of each place in order ------------===//

#include "ppopt/Schedule/Table.h"

using namespace ppopt::schedule;

const std::vector<StageCollective> &
ppopt::schedule::getCollectives(const Stage &stage, Work work) {
  static const std::vector<StageCollective> none;
  switch (work) {
  case Work::Forward:
    return stage.inForward;
  case Work::Backward:
    return stage.inBackward;
  case Work::BackwardInput:
    return stage.inInput;
  case Work::BackwardWeight:
    return stage.inWeight;
  case Work::Sum:
  case Work::Update:
    break;
  }
  return none;
}

char ppopt::schedule::getLetter(Work work) {
  static const char letters[] = {'F', 'B', 'I', 'W', 'A', 'U'};
  return letters[static_cast<int>(work)];
}

size_t ppopt::schedule::hash_value(const Table &table) {
  return std::hash<std::string>()(writeCsv(table));
}

std::string ppopt::schedule::spell(const Cell &cell) {
  return std::to_string(cell.stage) + getLetter(cell.work) +
         std::to_string(cell.microbatch);
}

Result<std::vector<int>> ppopt::schedule::getPlaces(const Table &table) {
  std::vector<int> placeOf;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    int place = static_cast<int>(row);
    if (table.rows[row].empty())
      return Result<std::vector<int>>::failure(
          "row " + std::to_string(row) +
          " runs nothing: each row is a place and needs a stage");
    for (const Cell &cell : table.rows[row]) {
      if (cell.stage >= static_cast<int>(placeOf.size()))
        placeOf.resize(cell.stage + 1, -1);
      int &known = placeOf[cell.stage];
      if (known != -1 && known != place)
        return Result<std::vector<int>>::failure(
            "stage " + std::to_string(cell.stage) + " is in row " +
            std::to_string(known) + " and, as " + spell(cell) + ", in row " +
            std::to_string(row) + ": a stage lives on one place");
      known = place;
    }
  }
  for (size_t stage = 0; stage < placeOf.size(); ++stage)
    if (placeOf[stage] == -1)
      return Result<std::vector<int>>::failure(
          "no row runs stage " + std::to_string(stage) +
          ", yet there is a stage " + std::to_string(placeOf.size() - 1) +
          ": stages are numbered from 0 without a gap");
  return placeOf;
}

Table ppopt::schedule::separateBackwards(const Table &table) {
  bool isSplit = false;
  for (const std::vector<Cell> &row : table.rows)
    for (const Cell &cell : row)
      isSplit |=
          cell.work == Work::BackwardInput || cell.work == Work::BackwardWeight;
  if (!isSplit)
    return table;
  Table separated;
  separated.microbatches = table.microbatches;
  for (const std::vector<Cell> &row : table.rows) {
    std::vector<Cell> &cells = separated.rows.emplace_back();
    for (const Cell &cell : row) {
      if (cell.work != Work::Backward) {
        cells.push_back(cell);
        continue;
      }
      cells.push_back({Work::BackwardInput, cell.stage, cell.microbatch});
      cells.push_back({Work::BackwardWeight, cell.stage, cell.microbatch});
    }
  }
  return separated;
}
