//===- flag_hints.cpp - What an unknown flag may have meant ---------------===//

#include "app/flag_hints.h"

#include "ppopt/nearest_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace ppopt::train {
namespace {

/// A flag and what other trainers call it.
struct Synonyms {
  const char *flag;
  std::vector<const char *> others;
};

const std::vector<Synonyms> &synonyms() {
  static const std::vector<Synonyms> table = {
      {"--lr", {"--learning-rate", "--max-lr", "--max-learning-rate"}},
      {"--min-lr", {"--min-learning-rate", "--lr-min", "--end-lr"}},
      {"--lr-schedule",
       {"--lr-scheduler", "--lr-scheduler-type", "--lr-decay-style",
        "--scheduler"}},
      {"--warmup",
       {"--warmup-steps", "--num-warmup-steps", "--warmup-iters",
        "--lr-warmup-steps", "--lr-warmup-iters"}},
      {"--steps",
       {"--max-steps", "--num-steps", "--train-steps", "--training-steps",
        "--iters", "--iterations", "--num-iterations", "--max-iters",
        "--train-iters"}},
      {"--epochs", {"--num-epochs", "--max-epochs", "--num-train-epochs"}},
      {"--weight-decay", {"--wd"}},
      {"--betas",
       {"--beta1", "--beta2", "--adam-beta1", "--adam-beta2", "--adam-betas"}},
      {"--eps", {"--epsilon", "--adam-epsilon", "--adam-eps"}},
      {"--clip",
       {"--grad-clip", "--clip-grad", "--clip-norm", "--clip-grad-norm",
        "--max-grad-norm", "--max-norm", "--gradient-clipping",
        "--gradient-clip-val"}},
      {"--seed", {"--random-seed", "--manual-seed"}},
      {"--data",
       {"--train-data", "--data-path", "--data-dir", "--dataset",
        "--train-file", "--input-bin"}},
      {"--eval-data",
       {"--val-data", "--valid-data", "--validation-data", "--test-data",
        "--eval-dataset", "--validation-file"}},
      {"--eval-every",
       {"--eval-interval", "--eval-steps", "--val-every", "--val-interval"}},
      {"--eval-batches", {"--eval-iters", "--val-batches", "--val-steps"}},
      {"--init",
       {"--weights", "--load-weights", "--pretrained", "--model-path",
        "--model-name-or-path"}},
      {"--checkpoint",
       {"--checkpoint-dir", "--ckpt", "--ckpt-dir", "--save", "--save-dir",
        "--output-dir", "--out-dir"}},
      {"--checkpoint-every",
       {"--checkpoint-interval", "--save-every", "--save-interval",
        "--save-steps"}},
      {"--keep", {"--save-total-limit", "--keep-last"}},
      {"--resume", {"--resume-from", "--resume-from-checkpoint", "--load"}},
      {"--log", {"--log-file", "--logfile", "--log-dir", "--logging-dir"}},
      {"--log-every",
       {"--log-interval", "--logging-steps", "--print-every", "--print-freq"}},
      {"--generate", {"--max-new-tokens", "--max-tokens", "--num-tokens"}},
      // Of `ppopt compile`:
      {"--mesh",
       {"--mesh", "--dp", "--fsdp", "--pp", "--nproc-per-node", "--num-gpus",
        "--world-size"}},
      {"--batch",
       {"--batch", "--batch-size", "--global-batch-size", "--train-batch-size",
        "--per-device-train-batch-size"}},
      {"--microbatches",
       {"--microbatches", "--gradient-accumulation-steps", "--grad-accum",
        "--grad-accumulation"}},
      {"--optimizer", {"--optimizer", "--optim"}},
      {"--precision",
       {"--precision", "--bf16", "--fp16", "--dtype", "--mixed-precision"}},
      {"--recompute",
       {"--recompute", "--gradient-checkpointing",
        "--activation-checkpointing"}},
      {"--threads", {"--threads", "--num-threads"}},
      {"--schedule", {"--schedule", "--pipeline-schedule"}},
      {"--zero", {"--zero", "--zero-stage"}},
      {"--cpu", {"--cpu"}},
      {"--gpu", {"--gpu"}},
      {"--target", {"--target", "--device"}},
      {"--device-memory", {"--device-memory"}},
      {"--bucket-bytes", {"--bucket-bytes"}},
      {"--block-bytes", {"--block-bytes"}},
  };
  return table;
}

} // namespace

std::string hintForFlag(const std::string &flag,
                        const std::vector<std::string> &known) {
  std::string dashed = flag;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  auto means = [&](const Synonyms &row) {
    return std::find(row.others.begin(), row.others.end(), dashed) !=
           row.others.end();
  };
  auto row = std::find_if(synonyms().begin(), synonyms().end(), means);
  std::string meant =
      row == synonyms().end() ? nearestName(flag, known) : row->flag;
  if (meant.empty())
    return "";
  if (std::find(known.begin(), known.end(), meant) != known.end())
    return fmt::format("; did you mean '{}'?", meant);
  return fmt::format("; that is fixed when a program is compiled: ppopt "
                     "compile {}",
                     meant);
}

} // namespace ppopt::train
