//===- check_tile.cpp - Whether the tile of a parameter is right ----------===//

#include "check/check_program.h"

#include "geometry/axes.h"

#include <set>

namespace ppopt::runtime {

using namespace schema;

namespace {

/// Checks a cut of a dimension, or of the parts that the cuts before it leave,
/// of `extent` elements each.
void checkCut(const Cut &cut, int64_t extent, const geometry::Mesh &mesh,
              const Path &path) {
  if (!mesh.has(cut.axis))
    path["axis"].fail("is '" + cut.axis + "', which the mesh does not have");
  if (cut.axis == geometry::placeAxis)
    path["axis"].fail("is '" + cut.axis + "', whose coordinates are places");
  if (cut.parts != mesh.size(cut.axis))
    path["parts"].fail(fmt::format("is {}, and the mesh has {}={}", cut.parts,
                                   cut.axis, mesh.size(cut.axis)));
  if (extent % cut.period != 0)
    path["period"].fail(
        fmt::format("is {}, which does not divide {}", cut.period, extent));
  if (cut.period % cut.parts != 0)
    path["period"].fail(fmt::format("is {}, which {} parts do not divide",
                                    cut.period, cut.parts));
}

} // namespace

void checkTile(const Program &program, const Parameter &parameter,
               const Path &path) {
  const ParameterTile &tile = *parameter.tile;
  const geometry::Mesh mesh = program.plan.getMesh();
  Path field = path["tile"], shape = field["global_shape"],
       list = field["cuts"];
  size_t dims = parameter.shape.size();
  if (tile.globalShape.size() != dims)
    shape.fail(fmt::format("has {} dimensions, and the parameter {}",
                           tile.globalShape.size(), dims));
  if (tile.cuts.size() != dims)
    list.fail(fmt::format("has {} dimensions, and the parameter {}",
                          tile.cuts.size(), dims));
  checkShape(tile.globalShape, shape);
  std::set<std::string> axes;
  for (size_t dim = 0; dim < dims; ++dim) {
    int64_t extent = tile.globalShape[dim], local = extent;
    Path ofDim = list[dim];
    for (size_t i = 0; i < tile.cuts[dim].size(); ++i) {
      const Cut &cut = tile.cuts[dim][i];
      Path each = ofDim[i];
      checkCut(cut, extent, mesh, each);
      if (!axes.insert(cut.axis).second)
        each["axis"].fail("is '" + cut.axis + "' a second time");
      extent = cut.period / cut.parts;
      local /= cut.parts;
    }
    if (local != parameter.shape[dim])
      path["shape"][dim].fail(fmt::format("is {}, and the tile has {}",
                                          parameter.shape[dim], local));
  }
  if (axes.empty())
    list.fail("cuts nothing");
}

} // namespace ppopt::runtime
