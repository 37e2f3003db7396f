#include "src/evaluate/forward_weights.h"

#include <utility>

#include "src/comm/reductions.h"
#include "src/ops/recipe.h"

namespace octet {

ForwardWeights::Unit::Unit(ParameterList held, Llama& llama, Mesh& mesh, Stream& stream, const FsdpOptions& options)
    : list(std::move(held)),
      layout(list, mesh.fsdp().rank(), mesh.fsdp().size()),
      masters(layout, stream.device(), stream, Purpose::parameters),
      scales(list, layout, stream.device(), stream, llama.scaling(), llama.recipe().power_of_two()),
      weights(list, masters, scales, mesh.fsdp(), reductions::gathered_weight_amax(mesh), stream, options) {}

bool ForwardWeights::Unit::uses_masters() const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data == masters.piece(i)) return true;
  }
  return false;
}

void ForwardWeights::load(const ReadMasters& read) {
  const ParameterList& all = llama_.parameters();
  const KernelTable& kernels = kernels_of(stream_);
  for (int number = 0; number < static_cast<int>(all.units.size()); ++number) {
    ParameterList held = all.part([&](int of) { return of == number; });
    Unit& unit = *units_.emplace_back(std::make_unique<Unit>(std::move(held), llama_, mesh_, stream_, options_));
    read(unit.list, unit.masters);
    unit.scales.measure(unit.masters, kernels);
    unit.scales.update(reductions::weight_amax(mesh_), kernels);
    unit.weights.begin_pass({&number, 1});
    unit.tensors = unit.weights.gather(number);
    if (unit.uses_masters()) continue;
    stream_.synchronize();  // the casts read the masters
    const ShardedBuffer gone = std::move(unit.masters);
  }
}

}  // namespace octet
