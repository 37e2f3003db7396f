#include "src/comm/mpi/plain_mpi.h"

#include <mpi.h>

#include <array>
#include <string_view>
#include <utility>

#include "src/comm/checked_arguments.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/mpi/mpi_handles.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/operation.h"

namespace octet {
namespace {

MpiComm duplicate_of_world() {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return MpiComm(comm);
}

MPI_Datatype type_of(DType dtype) {
  return dtype == DType::i32 ? MPI_INT32_T : MPI_FLOAT;
}

class PlainMpi final : public Communicator {
 public:
  explicit PlainMpi(std::unique_ptr<Communicator> ours) : ours_(std::move(ours)), comm_(duplicate_of_world()) {}

  int rank() const override { return ours_->rank(); }
  int size() const override { return ours_->size(); }
  const std::string& name() const override { return ours_->name(); }
  Stream& stream() const override { return ours_->stream(); }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_gather", name(), count);
    const OperationScope operation("MPI_Allgather", name(), size() * count * size_of(dtype));
    const MpiBytes part(count * size_of(dtype));
    const bool in_place = send == static_cast<const char*>(recv) + rank() * count * size_of(dtype);
    check_mpi(MPI_Allgather(in_place ? MPI_IN_PLACE : send, part.count(), part.type(), recv, part.count(), part.type(),
                            comm_.get()),
              "MPI_Allgather");
  }

  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    check_elements("reduce_scatter", count);
    const OperationScope operation("MPI_Reduce_scatter_block", name(), size() * count * size_of(DType::f32));
    check_mpi(MPI_Reduce_scatter_block(send, recv, static_cast<int>(count), MPI_FLOAT, MPI_SUM, comm_.get()),
              "MPI_Reduce_scatter_block");
  }

  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    check_elements("all_reduce", count);
    check_reducible(name(), dtype);
    const OperationScope operation("MPI_Allreduce", name(), count * size_of(dtype));
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), type_of(dtype),
                            op == ReduceOp::sum ? MPI_SUM : MPI_MAX, comm_.get()),
              "MPI_Allreduce");
  }

  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_to_all", name(), count);
    const OperationScope operation("MPI_Alltoall", name(), size() * count * size_of(dtype));
    const MpiBytes part(count * size_of(dtype));
    check_mpi(MPI_Alltoall(send, part.count(), part.type(), recv, part.count(), part.type(), comm_.get()),
              "MPI_Alltoall");
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    check_count("broadcast", name(), count);
    check_peer("broadcast", name(), root, size());
    const OperationScope operation("MPI_Bcast", name(), count * size_of(dtype));
    const MpiBytes all(count * size_of(dtype));
    check_mpi(MPI_Bcast(data, all.count(), all.type(), root, comm_.get()), "MPI_Bcast");
  }

  void send(const void* data, std::int64_t count, DType dtype, int to) override { ours_->send(data, count, dtype, to); }
  void recv(void* data, std::int64_t count, DType dtype, int from) override { ours_->recv(data, count, dtype, from); }
  void barrier() override { ours_->barrier(); }
  void group_begin() override { ours_->group_begin(); }
  void group_end() override { ours_->group_end(); }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return ours_->split(color, key, std::move(name));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return ours_->split_by_node(std::move(name));
  }
  std::unique_ptr<Communicator> alias(std::string name) override { return ours_->alias(std::move(name)); }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return ours_->on_stream(stream, std::move(name));
  }
  [[noreturn]] void abort(int exit_code) override { abort_job(exit_code); }

 private:
  /// MPI's counts are ints, and MPI_SUM knows no types but its own.
  void check_elements(std::string_view operation, std::int64_t count) const {
    check_count(operation, name(), count);
    if (count <= INT32_MAX) return;
    throw usage_error("comm", "plain MPI's {} takes {} elements at most, not {}", operation, INT32_MAX, count);
  }

  std::unique_ptr<Communicator> ours_;
  MpiComm comm_;
};

}  // namespace

std::unique_ptr<Communicator> make_plain_mpi_communicator(Stream& stream, std::string name) {
  return std::make_unique<PlainMpi>(make_mpi_communicator(stream, std::move(name)));
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string all(text.data(), static_cast<std::size_t>(length));
  all = all.substr(0, all.find('\n'));
  for (char& c : all) c = c == '\t' ? ' ' : c;
  return all;
}

}  // namespace octet
