#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_handles.h"
#include "src/comm/operation.h"

namespace octet {

using MpiRequests = std::vector<MPI_Request>;

enum class MpiTag : int { transfer, piece };

/// Polls until all are complete; never blocks inside MPI, so that ranks that share a core get on. Requests that are
/// still active when the deadline throws are left to MPI: the job is about to end.
void wait_all(MpiRequests& requests, const OperationScope& operation);

/// A group of ranks, which of them this is, and what it posts to the others.
struct MpiPeers {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;

  void post_send(const void* data, std::int64_t bytes, int to, MpiTag tag, MPI_Request* request) const;
  void post_recv(void* data, std::int64_t bytes, int from, MpiTag tag, MPI_Request* request) const;
  /// `bytes` of each rank; `send` may be this rank's place in `recv`. The caller waits.
  MPI_Request post_all_gather(const void* send, void* recv, std::int64_t bytes) const;
  /// Waits, too.
  void all_gather(const void* send, void* recv, std::int64_t bytes, const OperationScope& operation) const;
};

/// One send or receive. What is not over when an error ends the job is left to MPI.
class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(const char* name, const std::string& group, std::int64_t bytes)
      : name_(name), group_(group), bytes_(bytes) {}
  MPI_Request* post() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  void wait(Stream&) override;
  void poll() override;

 private:
  const char* name_;
  const std::string& group_;
  std::int64_t bytes_;
  MpiRequests requests_;
};

/// A communicator of the same ranks.
MpiComm duplicate(MPI_Comm comm, const OperationScope& operation);
/// MPI_Comm_split cannot be polled and takes its time when cores are scarce, so the two frequent cases, all ranks in
/// one part as they are and every rank alone, are duplicates.
MpiComm split(const MpiPeers& peers, int color, int key, const OperationScope& operation);

}  // namespace octet
