#include "src/comm/mpi/mpi_requests.h"

#include <sched.h>

#include <algorithm>
#include <array>

namespace octet {

void wait_all(MpiRequests& requests, const OperationScope& operation) {
  for (;;) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done != 0) break;
    sched_yield();
    operation.check_deadline();
  }
  requests.clear();
}

void MpiPeers::post_send(const void* data, std::int64_t bytes, int to, MpiTag tag, MPI_Request* request) const {
  const MpiBytes all(bytes);
  check_mpi(MPI_Isend(data, all.count(), all.type(), to, static_cast<int>(tag), comm, request), "MPI_Isend");
}

void MpiPeers::post_recv(void* data, std::int64_t bytes, int from, MpiTag tag, MPI_Request* request) const {
  const MpiBytes all(bytes);
  check_mpi(MPI_Irecv(data, all.count(), all.type(), from, static_cast<int>(tag), comm, request), "MPI_Irecv");
}

MPI_Request MpiPeers::post_all_gather(const void* send, void* recv, std::int64_t bytes) const {
  const bool in_place = send == static_cast<char*>(recv) + rank * bytes;
  const MpiBytes part(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(in_place ? MPI_IN_PLACE : send, part.count(), part.type(), recv, part.count(), part.type(),
                           comm, &request),
            "MPI_Iallgather");
  return request;  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): the caller waits
}

void MpiPeers::all_gather(const void* send, void* recv, std::int64_t bytes, const OperationScope& operation) const {
  MpiRequests gather(1, post_all_gather(send, recv, bytes));
  wait_all(gather, operation);
}

void MpiTransfer::wait(Stream& /*stream*/) {
  const OperationScope operation(name_, group_, bytes_);
  wait_all(requests_, operation);
}

void MpiTransfer::poll() {
  int done = 0;
  if (!requests_.empty()) check_mpi(MPI_Test(requests_.data(), &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done != 0) requests_.clear();
}

MpiComm duplicate(MPI_Comm comm, const OperationScope& operation) {
  MPI_Comm copy = MPI_COMM_NULL;
  MpiRequests request(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Comm_idup(comm, &copy, request.data()), "MPI_Comm_idup");
  wait_all(request, operation);
  return MpiComm(copy);
}

MpiComm split(const MpiPeers& peers, int color, int key, const OperationScope& operation) {
  const std::array<int, 2> mine{color, key};
  std::vector<std::array<int, 2>> all(static_cast<std::size_t>(peers.size));
  peers.all_gather(mine.data(), all.data(), sizeof mine, operation);
  const bool whole = std::is_sorted(all.begin(), all.end()) && all.front()[0] == all.back()[0];
  if (whole) return duplicate(peers.comm, operation);
  std::sort(all.begin(), all.end());
  const auto equal_colors = [](const auto& a, const auto& b) { return a[0] == b[0]; };
  if (std::adjacent_find(all.begin(), all.end(), equal_colors) == all.end()) {
    return duplicate(MPI_COMM_SELF, operation);
  }
  MpiComm part;
  check_mpi(MPI_Comm_split(peers.comm, color, key, part.out()), "MPI_Comm_split");
  return part;
}

}  // namespace octet
