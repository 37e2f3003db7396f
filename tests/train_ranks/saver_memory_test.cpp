// What checkpoints are planned to take of the host's memory is what they take.
#include "checkpoints/save/saver.h"
#include "src/train/step/model_state.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class HostMemoryOfCheckpoints : public TrainerTest {
 protected:
  struct Bytes {
    std::int64_t planned = 0, kept = 0;
  };

  Bytes of(const MeshShape& shape) {
    config_.checkpoint.interval = "10";
    config_.checkpoint.resume = Resume::never;
    Mesh mesh(make_mpi_communicator(*stream_, "world"), shape);
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
    const std::vector<checkpoint::DevicePiece> pieces = held_pieces(trainer.model());
    checkpoint::Saver saver({.root = folder_ / "checkpoints"}, *world_, *stream_);
    checkpoint::RunState state;
    state.step = 1;
    saver.start(state, pieces);
    saver.finish();
    return {checkpoint_host_bytes(trainer.model(), config_, mesh.shape(), world_->rank() == 0), saver.host_bytes()};
  }
};

TEST_F(HostMemoryOfCheckpoints, IsWhatASaverKeeps) {
  config_.model.dim = 24;  // every rank has a part of every tensor
  config_.model.ffn_dim = 36;
  config_.model.vocab_size = 48;
  const Bytes bytes = of({.dp_shard = world_->size()});
  EXPECT_LE(bytes.kept, bytes.planned);
  EXPECT_GE(bytes.kept, bytes.planned * 95 / 100);  // in a model so small the lists count
}

TEST_F(HostMemoryOfCheckpoints, IsNoMoreThanPlannedWherePartsDiffer) {
  const Bytes bytes = of({.dp_replicate = world_->size(), .dp_shard = 1});
  EXPECT_LE(bytes.kept, bytes.planned);
}

}  // namespace
}  // namespace octet
