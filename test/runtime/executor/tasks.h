//===- tasks.h - The tasks of the hand-written program --------------------===//

#ifndef PPOPT_TEST_RUNTIME_EXECUTOR_TASKS_H
#define PPOPT_TEST_RUNTIME_EXECUTOR_TASKS_H

#include "executor/rank.h"
#include "host_at.h"
#include "programs.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace least_squares {

//===----------------------------------------------------------------------===//
// The tasks, as compiled code would be
//===----------------------------------------------------------------------===//

/// What tasks saw, by rank thread.
inline thread_local std::vector<int64_t> microbatches;
inline thread_local std::vector<int64_t> trainings;
/// How often tasks launch a kernel for nothing.
inline thread_local int superfluousLaunches = 0;

inline int64_t part(ppopt_rank *rank) {
  const ppopt::runtime::Plan &plan = rank->program.plan;
  return plan.batch / plan.ranks() / plan.microbatches;
}

inline void prologueTask(ppopt_rank *rank, void *const *args, char *) {
  auto *mask = static_cast<int32_t *>(args[0]);
  for (int64_t i = 0; i < part(rank); ++i)
    *static_cast<double *>(args[1]) += mask[i];
}

/// residual[i] = mask[i]·(prediction[i] - y[i]), in place of the prediction.
inline void residualKernel(void *const *args, int64_t begin, int64_t end) {
  auto *residual = static_cast<double *>(args[0]);
  auto *y = static_cast<double *>(args[1]);
  auto *mask = static_cast<int32_t *>(args[2]);
  for (int64_t i = begin; i < end; ++i)
    residual[i] = mask[i] * (residual[i] - y[i]);
}

inline void forwardPart(ppopt_rank *rank, void *const *args, double *residual) {
  auto *key = static_cast<ppopt_key *>(args[7]);
  microbatches.push_back(key->microbatch);
  trainings.push_back(key->training);
  ppopt_matmul(rank, 0, args[0], args[4], residual, nullptr);
  void *const kernelArgs[] = {residual, args[1], args[2]};
  for (int i = 0; i < superfluousLaunches; ++i)
    ppopt_launch(rank, 0, residualKernel, kernelArgs, 0);
  ppopt_launch(rank, 0, residualKernel, kernelArgs, part(rank));
  double count = *static_cast<double *>(args[3]);
  for (int64_t i = 0; i < part(rank); ++i)
    *static_cast<double *>(args[5]) += residual[i] * residual[i] / count;
}

inline void forwardTask(ppopt_rank *rank, void *const *args, char *temps) {
  forwardPart(rank, args, reinterpret_cast<double *>(temps));
}

inline void backwardTask(ppopt_rank *rank, void *const *args, char *temps) {
  auto *residual = reinterpret_cast<double *>(temps);
  forwardPart(rank, args, residual);
  double count = *static_cast<double *>(args[3]);
  for (int64_t i = 0; i < part(rank); ++i)
    residual[i] *= 2 / count;
  ppopt_matmul(rank, 1, args[0], residual, args[6], nullptr);
}

inline void addSquares(void *const *args, int elements) {
  auto *gradient = static_cast<double *>(args[0]);
  for (int i = 0; i < elements; ++i)
    *static_cast<double *>(args[1]) += gradient[i] * gradient[i];
}

inline void normTask(ppopt_rank *, void *const *args, char *) {
  addSquares(args, features);
}

inline void shardNormTask(ppopt_rank *rank, void *const *args, char *) {
  addSquares(args, shardOf(int(rank->program.plan.ranks())));
}

inline void descend(void *const *args, int elements) {
  auto *weights = static_cast<double *>(args[0]);
  auto *gradient = static_cast<double *>(args[1]);
  auto *stepState = static_cast<ppopt_step_state *>(args[2]);
  if (stepState->hold != 0)
    return;
  for (int i = 0; i < elements; ++i)
    weights[i] -= stepState->lr * stepState->clip_scale * gradient[i];
}

inline void updateTask(ppopt_rank *, void *const *args, char *) {
  descend(args, features);
}

inline void shardUpdateTask(ppopt_rank *rank, void *const *args, char *) {
  descend(args, shardOf(int(rank->program.plan.ranks())));
}

inline const ppopt_task_fn tasks[] = {
    prologueTask, forwardTask, backwardTask, normTask, program_document::decide,
    updateTask};
/// Of the program whose weights are sharded.
inline const ppopt_task_fn shardedTasks[] = {prologueTask,
                                             forwardTask,
                                             backwardTask,
                                             shardNormTask,
                                             program_document::decide,
                                             shardUpdateTask};

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

struct Data {
  double x[rows][features], y[rows];
  int32_t mask[rows];
};

inline Data makeData() {
  Data data;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < features; ++j)
      data.x[i][j] = std::sin(1.0 + 7 * i + 3 * j);
    data.y[i] = std::cos(2.0 * i);
    data.mask[i] = i < 8 || i % 4 == 0 ? 0 : 1; // uneven over the ranks
  }
  return data;
}

inline void fillInputs(ppopt_rank &rank, const Data &data) {
  int mine = rows / int(rank.program.plan.ranks());
  int first = rank.index * mine;
  std::memcpy(hostAt(rank, x), data.x[first], mine * sizeof data.x[0]);
  std::memcpy(hostAt(rank, y), &data.y[first], mine * sizeof(double));
  std::memcpy(hostAt(rank, mask), &data.mask[first], mine * sizeof(int32_t));
}

} // namespace least_squares

#endif // PPOPT_TEST_RUNTIME_EXECUTOR_TASKS_H
