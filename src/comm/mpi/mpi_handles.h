#pragma once

#include <mpi.h>

#include <cstdint>

#include "src/base/handle.h"

namespace octet {

struct MpiCommTraits {
  using type = MPI_Comm;
  static type null() { return MPI_COMM_NULL; }
  static void close(type comm) noexcept;
};
/// A communicator of MPI, freed unless MPI is already finalised.
using MpiComm = Handle<MpiCommTraits>;

struct MpiTypeTraits {
  using type = MPI_Datatype;
  static type null() { return MPI_DATATYPE_NULL; }
  static void close(type datatype) noexcept;
};
using MpiType = Handle<MpiTypeTraits>;

/// Throws Error (lost_peer) with MPI's own text when `code`, the result of the MPI function `call`, is an error. Only
/// communicators with MPI_ERRORS_RETURN come here with one.
void check_mpi(int code, const char* call);

/// `bytes` contiguous bytes as MPI's (count, datatype), whose count is an int: plain MPI_BYTE as long as that holds
/// them, else one element of a type made for the purpose. It may go away as soon as the call that got it has returned
/// (MPI keeps types in use alive).
class MpiBytes {
 public:
  static constexpr std::int64_t most_plain_bytes = INT32_MAX;

  /// `most_plain` is smaller in tests only.
  explicit MpiBytes(std::int64_t bytes, std::int64_t most_plain = most_plain_bytes);

  int count() const { return count_; }
  MPI_Datatype type() const { return made_ ? made_.get() : MPI_BYTE; }

 private:
  int count_;
  MpiType made_;
};

}  // namespace octet
