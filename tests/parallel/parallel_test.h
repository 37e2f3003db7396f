#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/trace.h"
#include "src/parallel/sharded_parameters.h"
#include "tests/support/global_element.h"
#include "tests/support/numbers.h"

namespace octet::test {

/// Shapes that divide by no number of ranks, of two rows (so that the third rank has none), vectors, and of one unit
/// of each kind. Units 1 and 2 are blocks, whose matrices have gradients of one GEMM each.
inline ParameterList example_list(DType linears, DType storage = DType::bf16) {
  ParameterList list;
  const auto add = [&](std::string name, Shape shape, DType gathered, double init_std) {
    const int unit = static_cast<int>(list.units.size()) - 1;
    list.add({.name = std::move(name),
              .unit = unit,
              .global = shape,
              .shape = shape,
              .gathered = gathered,
              .init_std = init_std,
              .init_cutoff = 3.0,
              .one_gemm_gradient = shape.rank() == 2 && list.units.back().starts_with("block")});
  };
  list.units.push_back("embedding");
  add("tok_embeddings.weight", {50, 12}, storage, 1.0);
  for (const char* block : {"block.0", "block.1"}) {
    list.units.push_back(block);
    const std::string prefix = std::string("layers.") + block + ".";
    add(prefix + "norm", {12}, storage, 0);
    add(prefix + "tall", {37, 12}, linears, 0.02);
    add(prefix + "short", {2, 24}, linears, 0.5);
    add(prefix + "even", {48, 8}, linears, 0.1);
  }
  list.units.push_back("head");
  add("norm.weight", {12}, storage, 0);
  add("output.weight", {50, 12}, storage, 0.3);
  return list;
}

/// All ranks of the program as one group, with a trace, and a list of parameters sharded over them.
class ParallelTest : public testing::Test {
 protected:
  void use(ParameterList list) {
    list_ = std::move(list);
    layout_ = std::make_unique<ShardLayout>(list_, rank_, ranks_);
  }
  ShardedBuffer buffer(Purpose purpose = Purpose::parameters) const {
    return ShardedBuffer(*layout_, cpu_device(), *stream_, purpose);
  }
  const ParameterSpec& spec(std::size_t i) const { return list_.parameters[i]; }
  std::size_t count() const { return list_.parameters.size(); }

  /// This rank's piece of a whole parameter into a buffer.
  void put(const ShardedBuffer& to, std::size_t i, const std::vector<float>& whole) const {
    const Shard& s = layout_->shard(i);
    std::copy_n(whole.begin() + test::global_element(s, 0), s.elements(), to.data(i));
  }
  /// The whole parameter with all its padding, from all ranks.
  std::vector<float> gather_padded(const ShardedBuffer& from, std::size_t i) const {
    const std::int64_t piece = layout_->shard(i).padded_elements();
    std::vector<float> all(static_cast<std::size_t>(piece * ranks_));
    world_->all_gather(from.data(i), all.data(), piece, DType::f32);
    return all;
  }
  /// Elements between the pieces' data and the end of their storage that are not zero.
  std::int64_t non_zero_padding(const ShardedBuffer& of) const {
    std::int64_t found = 0, next = 0;
    for (std::size_t i = 0; i <= count(); ++i) {
      const std::int64_t begin = i < count() ? layout_->offset(i) : layout_->elements();
      for (std::int64_t e = next; e < begin; ++e) found += of.all()[e] == 0 ? 0 : 1;
      next = begin + (i < count() ? layout_->shard(i).elements() : 0);
    }
    return found;
  }

  CommTrace trace_;
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> world_ = make_traced(make_mpi_communicator(*stream_, "world"), &trace_);
  std::unique_ptr<Communicator> self_ = make_self_communicator(*stream_, "self");
  const int rank_ = world_->rank();
  const int ranks_ = world_->size();
  const KernelTable& kernels_ = kernels_of(*stream_);
  ParameterList list_;
  std::unique_ptr<ShardLayout> layout_;
};

}  // namespace octet::test
