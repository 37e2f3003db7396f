// Loaded before MPI (LD_PRELOAD): the last byte of what one rank sends another is wrong.
//   OCTET_WRONG_SEND   FROM:TO:BYTES, ranks of the group and the length of the messages meant
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  int size = 0, from = 0, wrong_from = -1, wrong_to = -1, wrong_bytes = -1;
  PMPI_Type_size(type, &size);
  PMPI_Comm_rank(comm, &from);
  const char* const wrong = std::getenv("OCTET_WRONG_SEND");
  if (wrong == nullptr || std::sscanf(wrong, "%d:%d:%d", &wrong_from, &wrong_to, &wrong_bytes) != 3) std::abort();
  const int bytes = count * size;
  if (from == wrong_from && to == wrong_to && bytes == wrong_bytes) {
    const_cast<unsigned char*>(static_cast<const unsigned char*>(data))[bytes - 1] ^= 1;
  }
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
