// Loaded before MPI (LD_PRELOAD): the last byte of what one rank sends another, by itself or in an all-to-all, is
// wrong.
//   OCTET_WRONG_SEND   FROM:TO:BYTES, ranks of the group and the length of the messages meant
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

/// `data` goes to that rank.
void spoil(const void* data, int count, MPI_Datatype type, int to, MPI_Comm comm) {
  int size = 0, from = 0, wrong_from = -1, wrong_to = -1, wrong_bytes = -1;
  PMPI_Type_size(type, &size);
  PMPI_Comm_rank(comm, &from);
  const char* const wrong = std::getenv("OCTET_WRONG_SEND");
  if (wrong == nullptr || std::sscanf(wrong, "%d:%d:%d", &wrong_from, &wrong_to, &wrong_bytes) != 3) std::abort();
  const int bytes = count * size;
  if (from == wrong_from && to == wrong_to && bytes == wrong_bytes) {
    const_cast<unsigned char*>(static_cast<const unsigned char*>(data))[bytes - 1] ^= 1;
  }
}

}  // namespace

extern "C" int MPI_Ialltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                             MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  int ranks = 0, size = 0;
  PMPI_Comm_size(comm, &ranks);
  PMPI_Type_size(send_type, &size);
  for (int to = 0; to < ranks; ++to) {
    spoil(static_cast<const char*>(send) + static_cast<std::ptrdiff_t>(to) * send_count * size, send_count, send_type,
          to, comm);
  }
  return PMPI_Ialltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  spoil(data, count, type, to, comm);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
