//===- optimizer_state.h - Names of optimizer states that have a meaning --===//

#ifndef PPOPT_RUNTIME_SCHEMA_OPTIMIZER_STATE_H
#define PPOPT_RUNTIME_SCHEMA_OPTIMIZER_STATE_H

namespace ppopt::schema {

/// The state that has averages of the parameters over the updates (--ema).
inline constexpr const char *averageState = "ema";

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_OPTIMIZER_STATE_H
