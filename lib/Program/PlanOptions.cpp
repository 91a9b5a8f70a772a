//===- PlanOptions.cpp - The user's decisions about a plan ----------------===//

#include "ppopt/Program/PlanOptions.h"

using namespace mlir;
using namespace mlir::pp;

PlanOptions PlanOptions::forGenerator() const {
  PlanOptions plan;
  plan.generates = true;
  plan.precision = precision;
  plan.matmul = matmul;
  plan.math = math;
  plan.optimizer = optimizer;
  plan.recompute = Recompute::none;
  plan.target = target;
  plan.thresholds = thresholds;
  plan.command = command;
  plan.source = source;
  plan.model = model;
  return plan;
}
