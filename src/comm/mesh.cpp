#include "src/comm/mesh.h"

#include <utility>

namespace octet {
namespace {

std::size_t index_of(const MeshGroup& group) {
  return static_cast<std::size_t>(&group - mesh_groups.data());
}

}  // namespace

Mesh::Mesh(std::unique_ptr<Communicator> world, const MeshShape& shape)
    : shape_(resolve(shape, world->size())), coordinates_(octet::coordinates(shape_, world->rank())) {
  const auto first = first_of_equals(shape_);
  groups_[0] = std::move(world);
  for (std::size_t i = 1; i < mesh_groups.size(); ++i) groups_[i] = make(i, first[i]);
}

std::shared_ptr<Communicator> Mesh::make(std::size_t i, std::size_t first_of_equals) {
  const char* name = mesh_groups[i].name_in(shape_);
  const std::size_t same_name = index_of(*find_group(name, shape_));
  if (same_name < i) return groups_[same_name];
  if (first_of_equals < i) return groups_[first_of_equals]->alias(name);
  const int rank = groups_[0]->rank();
  return groups_[0]->split(ranks_of(mesh_groups[i], shape_, rank).front(), rank, name);
}

Communicator* Mesh::find(std::string_view name) {
  const MeshGroup* const found = find_group(name, shape_);
  return found == nullptr ? nullptr : groups_[index_of(*found)].get();
}

}  // namespace octet
