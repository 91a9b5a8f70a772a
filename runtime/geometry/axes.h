//===- axes.h - What the axes of a mesh split -----------------------------===//

#ifndef PPOPT_GEOMETRY_AXES_H
#define PPOPT_GEOMETRY_AXES_H

#include <string_view>

namespace ppopt::geometry {

/// What the ranks along an axis have parts of.
enum class AxisUse {
  Batch,   ///< the rows of the batch
  Places,  ///< the model: a coordinate is a place
  Model,   ///< what the model's author annotated with the axis
  Planned, ///< nothing: this version rejects the axis by name
};

struct KnownAxis {
  std::string_view name;
  AxisUse use;
};

/// The one declaration of the axes' names.
inline constexpr KnownAxis knownAxes[] = {
    {"dp", AxisUse::Batch}, {"fsdp", AxisUse::Batch}, {"pp", AxisUse::Places},
    {"tp", AxisUse::Model}, {"cp", AxisUse::Planned}, {"ep", AxisUse::Planned},
};

/// A mesh has at most this many axes: ppopt_key has a coordinate on each.
inline constexpr int mostAxes = 8;

/// Returns the first axis of a use, which exists.
constexpr std::string_view axisOf(AxisUse use) {
  const KnownAxis *axis = knownAxes;
  while (axis->use != use)
    ++axis;
  return axis->name;
}

/// The axis that every plan has.
inline constexpr std::string_view batchAxis = axisOf(AxisUse::Batch);
/// The axis whose coordinates are places.
inline constexpr std::string_view placeAxis = axisOf(AxisUse::Places);

/// Any name is an axis; one that is not known cuts the model.
constexpr AxisUse useOf(std::string_view name) {
  for (const KnownAxis &axis : knownAxes)
    if (axis.name == name)
      return axis.use;
  return AxisUse::Model;
}

} // namespace ppopt::geometry

#endif // PPOPT_GEOMETRY_AXES_H
