// Loaded before MPI (LD_PRELOAD): a communicator that is freed because an exception is under way never is. So a GPU's
// teardown waits for work that a lost peer would have to end.
#include <mpi.h>
#include <unistd.h>

#include <exception>

extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  while (std::uncaught_exceptions() > 0) pause();
  return PMPI_Comm_free(comm);
}
