#include "src/comm/mpi/mpi_handles.h"

#include <array>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

bool mpi_is_up() {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised != 0 && finalised == 0;
}

}  // namespace

void MpiCommTraits::close(type comm) noexcept {
  if (mpi_is_up()) MPI_Comm_free(&comm);
}

void MpiTypeTraits::close(type datatype) noexcept {
  if (mpi_is_up()) MPI_Type_free(&datatype);
}

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(ExitCode::lost_peer, fmt::format("[comm] {} failed: {} (docs/problems.md, \"A rank was lost\")", call,
                                               std::string(text.data(), static_cast<std::size_t>(length))));
}

MpiBytes::MpiBytes(std::int64_t bytes, std::int64_t most_plain) : count_(static_cast<int>(bytes)) {
  if (bytes <= most_plain) return;
  // bytes = blocks · block + rest, as one structure without gaps.
  const std::int64_t block = most_plain / 2 + 1;
  MpiType of_block, of_blocks;
  check_mpi(MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, of_block.out()), "MPI_Type_contiguous");
  check_mpi(MPI_Type_contiguous(static_cast<int>(bytes / block), of_block.get(), of_blocks.out()),
            "MPI_Type_contiguous");
  const std::array<int, 2> lengths{1, static_cast<int>(bytes % block)};
  const std::array<MPI_Aint, 2> offsets{0, static_cast<MPI_Aint>(bytes / block * block)};
  const std::array<MPI_Datatype, 2> types{of_blocks.get(), MPI_BYTE};
  check_mpi(MPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), made_.out()),
            "MPI_Type_create_struct");
  MPI_Datatype made = made_.get();
  check_mpi(MPI_Type_commit(&made), "MPI_Type_commit");
  count_ = 1;
}

}  // namespace octet
