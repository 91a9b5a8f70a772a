//===- program_actions.h - Reading lists of actions -----------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_ACTIONS_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_ACTIONS_H

#include "program/program.h"
#include "program/program_fields.h"

#include <string>
#include <vector>

namespace ppopt::runtime {

/// Reads the offset of `bytes` bytes in the arena of a place.
int64_t readOffset(const Field &field, const Place &place, int64_t bytes,
                   int64_t alignment);

/// Reads the action lists of one place, or of the local launch.
class ActionReader {
public:
  /// `program` is complete except its places, `place` except its actions.
  ActionReader(const Program &program, const Place &place)
      : program(program), own(&place) {}

  /// For the local launch: all places of `program` are complete.
  explicit ActionReader(const Program &program)
      : program(program), own(nullptr) {}

  /// Operations are numbered across all lists that one reader reads.
  std::vector<Action> read(const Field &list);

private:
  Action readAction(const Field &field) const;
  void readRun(const Field &field, Action &action) const;
  void readStart(const Field &field, Action &action) const;
  void readAllReduce(const Field &field, Action &action) const;
  void readTransferEnd(const Field &field, Action &action) const;
  void readCopy(const Field &field, Action &action) const;
  void readSum(const Field &field, Action &action) const;
  void readGroup(const Field &field, Action &action) const;
  void readElements(const Field &field, Action &action) const;
  void readDead(const Field &field, Action &action) const;
  Address readAddress(const Field &field, int64_t bytes,
                      int64_t alignment) const;
  int64_t groupSize(const Action &action) const;
  const Place &placeOf(const Action &action) const {
    return own ? *own : program.places[action.place];
  }

  const Program &program;
  const Place *own; ///< null for the local launch
  int64_t operations = 0;
};

/// Throws Error unless sends and receives between each two places match,
/// message by message.
void checkTransfersMatch(const Program &program);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_ACTIONS_H
