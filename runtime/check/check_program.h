//===- check_program.h - Whether a program contradicts itself -------------===//

#ifndef PPOPT_RUNTIME_CHECK_CHECK_PROGRAM_H
#define PPOPT_RUNTIME_CHECK_CHECK_PROGRAM_H

#include "check/path.h"
#include "schema/program.h"

namespace ppopt::runtime {

/// Checks what the fields' types and limits do not say, and completes the
/// actions: numbers the operations, and tells waits what they wait for. `root`
/// is the document. Throws Error.
void checkProgram(schema::Program &program, const Path &root);

/// Checks the lists of a place, or of the local launch (`own` is null), and
/// numbers their operations through both.
void checkActions(const schema::Program &program, const schema::Place *own,
                  std::vector<schema::Action> &actions,
                  std::vector<schema::Action> &evalActions, const Path &path);

/// Checks that sends and receives between each two places match, message by
/// message.
void checkTransfersMatch(const schema::Program &program, const Path &root);

/// Checks the group of a collective or a shard on a place. The object that has
/// its `axes` and `among` is at `path`.
void checkGroup(const schema::Program &program, const geometry::Group &group,
                int64_t place, const Path &path);

/// Checks the shard that a place's parameter has. The shard's path is `path`.
void checkShard(const schema::Program &program, const schema::Place &place,
                const schema::PlaceParameter &held, const Path &path);

/// Checks that shards whose group has ranks of several places are the same on
/// all of them; and that a group without ranks of the parameter's owner has the
/// same shard as the owner's ranks, so that both have copies of the same parts.
void checkShardsMatch(const schema::Program &program, const Path &places);

/// Checks the collectives of tasks, and numbers their operations after those of
/// the actions, which are checked before.
void checkTaskCollectives(schema::Program &program, const Path &path);

/// Checks the address of `bytes` bytes in the arena of a place, on all its
/// ranks.
void checkAddress(const schema::Program &program, const schema::Place &place,
                  const schema::Address &address, int64_t bytes,
                  int64_t alignment, const Path &path);

/// Checks the tile that a parameter has. The parameter's path is `path`.
void checkTile(const schema::Program &program,
               const schema::Parameter &parameter, const Path &path);

/// Rejects shapes whose bytes would overflow.
void checkShape(const std::vector<int64_t> &shape, const Path &path);

/// Checks an index of a list of `count` elements.
void checkIndex(int64_t index, size_t count, const Path &path,
                int64_t least = 0);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_CHECK_CHECK_PROGRAM_H
