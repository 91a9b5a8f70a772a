//===- runtime.h - The ABI between compiled code and the runtime ----------===//
//
// The complete contract between an executable that ppopt compiled and the
// runtime library that it links. Plain C, in two directions:
//
//  - The executable defines two or three programs. `ppopt_program_json`, with
//    its size and checksum, and `ppopt_tasks` define the training program.
//    `ppopt_generation_json` and `ppopt_generation_tasks` define the program
//    that computes the logits of the next token, `ppopt_prediction_json` and
//    `ppopt_prediction_tasks` the one that computes the model's outputs. The
//    runtime's `main` reads them.
//  - The bodies of the tasks call `ppopt_launch` and `ppopt_matmul`, and those
//    with collectives `ppopt_start`, `ppopt_wait` and `ppopt_release`.
//
// docs/program.md documents the fields of the JSON. Byte offsets are relative
// to the arena of a place. Each rank of the place allocates one arena of
// `arena.bytes` bytes, aligned to PPOPT_ALIGNMENT, before the first step. A
// step allocates nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_H
#define PPOPT_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of this contract. The program's JSON repeats it as "abi"; the
/// runtime refuses a program of another version.
#define PPOPT_ABI_VERSION 14

/// Alignment in bytes of the arena and of every buffer in it.
#define PPOPT_ALIGNMENT 64

/// The most axes that a mesh has.
#define PPOPT_MAX_AXES 8

/// One rank of the job: its arena, its threads, its transport, its counters.
typedef struct ppopt_rank ppopt_rank;

/// The key of the random numbers and of positions in global tensors, for the
/// runs on one microbatch; a task reads it as one tensor<15xi64>.
typedef struct ppopt_key {
  int64_t seed;       ///< --seed
  int64_t step;       ///< optimizer steps finished before this one
  int64_t training;   ///< 1 in training, 0 in evaluation (dropout is off)
  int64_t microbatch; ///< its number
  /// Of the rank, on the axes of the mesh in their order; then zeros.
  int64_t coordinates[PPOPT_MAX_AXES];
  // An evaluation is over the rows of several batches. In training the first
  // two are the rows of the batch, and there is one batch.
  int64_t rows;     ///< those of this batch that count: the first ones
  int64_t all_rows; ///< those of all batches
  int64_t batches;  ///< over which the evaluation goes, by all trainers
} ppopt_key;

/// The values that change per step. The struct is in the arena at
/// `step_state.offset`, and the keys of all microbatches follow it; tasks load
/// fields and keys by address. Between the first and the last action of a step
/// the runtime neither reads nor writes any of it. It writes the keys and the
/// fields before; the last three are then what a task of kind `decide` computes
/// for the updates of its place.
typedef struct ppopt_step_state {
  // Hyperparameters of this step.
  double lr;           ///< learning rate, after warm-up and decay
  double weight_decay; ///< coefficient of decoupled (AdamW) or L2 decay
  double beta1;        ///< Adam: decay of the first moment
  double beta2;        ///< Adam: decay of the second moment
  double eps;          ///< Adam: added to the square root of the second moment
  double momentum;     ///< SGD: decay of the velocity
  double bias_correction1; ///< 1 - beta1^step, where the first step is 1
  double bias_correction2; ///< 1 - beta2^step
  double clip;             ///< largest gradient norm; infinity without --clip
  double average_weight;   ///< of the new parameters in their average
  // Decided in the step.
  double clip_scale;   ///< clip / norm if the norm is larger, else 1
  double hold;         ///< not 0: updates change nothing
  double norm_squared; ///< the sum of squares of all gradients
} ppopt_step_state;

/// Bytes from the step state to the key of a microbatch; of the number of
/// microbatches: the bytes of the step state and all keys.
#define PPOPT_KEY_OFFSET(MICROBATCH)                                           \
  ((int64_t)sizeof(ppopt_step_state) +                                         \
   (int64_t)sizeof(ppopt_key) * (MICROBATCH))

/// A fused kernel: computes tiles [begin, end) of its iteration space. The
/// compiler has fixed what a tile is (rows, a range of elements). Tiles are
/// independent. `args` are the kernel's buffers.
typedef void (*ppopt_kernel_fn)(void *const *args, int64_t begin, int64_t end);

/// A task. `args` has one pointer per argument and result of the task, in the
/// order of the program's "args" lists. `temps` is the base of the task's
/// temporaries.
typedef void (*ppopt_task_fn)(ppopt_rank *rank, void *const *args, char *temps);

/// Runs tiles [0, tiles) of a kernel on the rank's threads, in contiguous equal
/// shares, and returns when all are done. `kernel` indexes the program's
/// "kernels". Progresses communication and counts one launch.
void ppopt_launch(ppopt_rank *rank, int32_t kernel, ppopt_kernel_fn fn,
                  void *const *args, int64_t tiles);

/// Computes C = A·B, or C += A·B if the matmul accumulates. `matmul` indexes
/// the program's "matmuls", which holds sizes, strides and types. `workspace`
/// has the bytes that this entry requires (null if none). Progresses
/// communication and counts one launch and 2·b·m·n·k FLOPs.
void ppopt_matmul(ppopt_rank *rank, int32_t matmul, const void *a,
                  const void *b, void *c, void *workspace);

/// Starts a collective; `collective` indexes the program's "collectives", which
/// say what it does over which of the ranks. n is their number.
///
/// all_gather: `in` is the rank's chunk (elements/n), `out` the whole.
/// reduce_scatter: `in` is the whole, which it overwrites; `out` the rank's
/// chunk of the sum, and scratch memory until then.
/// all_reduce, all_reduce_max, all_to_all: `in` and `out` are whole and may be
/// the same; `scratch` has ceil(elements/n) elements. For the others it is
/// null.
///
/// All of this memory belongs to the collective until ppopt_wait. A task starts
/// its collectives in the order of their entries, and each once.
void ppopt_start(ppopt_rank *rank, int32_t collective, const void *in,
                 void *out, void *scratch);

/// Returns when the collective is done. The task that started it waits for it
/// before it ends.
void ppopt_wait(ppopt_rank *rank, int32_t collective);

/// Nobody reads the buffer after this: with --poison the runtime overwrites it.
void ppopt_release(ppopt_rank *rank, void *buffer, int64_t bytes);

//===----------------------------------------------------------------------===//
// Symbols that the executable defines
//===----------------------------------------------------------------------===//

extern const char ppopt_program_json[];
extern const uint64_t ppopt_program_json_size; ///< bytes, no terminating zero
extern const uint64_t ppopt_program_checksum;  ///< 64-bit XXH3 of the JSON
extern const ppopt_task_fn ppopt_tasks[];      ///< in the order of "tasks"

/// The generation program, or why there is none ("generation").
extern const char ppopt_generation_json[];
extern const uint64_t ppopt_generation_json_size;
extern const uint64_t ppopt_generation_checksum;
extern const ppopt_task_fn ppopt_generation_tasks[];

/// Executables of models with outputs only: the program that predicts.
extern const char ppopt_prediction_json[];
extern const uint64_t ppopt_prediction_json_size;
extern const uint64_t ppopt_prediction_checksum;
extern const ppopt_task_fn ppopt_prediction_tasks[];

/// Executables of models with persistent buffers only: the elements of each,
/// one after the other, in the order of "buffers".
extern const char ppopt_buffers[];
extern const uint64_t ppopt_buffers_size; ///< bytes

/// Executables for GPUs only. The code of the kernels of each program: PTX,
/// text with a zero at its end, and a cubin for the GPU of the plan's target,
/// or nothing. Sizes are in bytes; PTX has none if there are no kernels.
extern const char ppopt_ptx[], ppopt_cubin[];
extern const uint64_t ppopt_ptx_size, ppopt_cubin_size;
extern const char ppopt_generation_ptx[], ppopt_generation_cubin[];
extern const uint64_t ppopt_generation_ptx_size, ppopt_generation_cubin_size;
extern const char ppopt_prediction_ptx[], ppopt_prediction_cubin[];
extern const uint64_t ppopt_prediction_ptx_size, ppopt_prediction_cubin_size;

#ifdef __cplusplus
}
#endif

#endif // PPOPT_RUNTIME_H
