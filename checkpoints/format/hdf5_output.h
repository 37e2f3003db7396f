#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "checkpoints/format/hdf5_support.h"
#include "src/base/files.h"

namespace octet::checkpoint {

/// The file that HDF5 writes to, as a driver of HDF5. HDF5's own driver is no use here: when a write fails (a full
/// disk), HDF5 1.10 can neither close the file nor leave the process without a crash. This one tells HDF5 that all is
/// well, remembers the first failure and writes no more, so that HDF5 closes in good order, and finish() throws.
/// It also lets the very descriptor be fsynced that was written to: the kernel reports a failed write-back there.
class Hdf5Output {
 public:
  /// Creates the file. Throws an internal error when it cannot be created, also when it is there.
  explicit Hdf5Output(std::string path);
  Hdf5Output(const Hdf5Output&) = delete;
  Hdf5Output& operator=(const Hdf5Output&) = delete;

  /// The file that is created with these access properties is this one. It is closed before finish().
  void use(hid_t file_access);

  /// Throws an internal error with path and reason when a write has failed.
  void throw_if_failed() const;
  /// To be called after HDF5 has closed. Throws if a write failed; else fsyncs and closes. `meanwhile` gets the open
  /// file, to read and write, before the wait of the fsync, when the disk has all of it to write. Throws an internal
  /// error also when the file has lost its name by then, or another one has it.
  void finish(const std::function<void(int file)>& meanwhile);

  // Called by the functions of the HDF5 driver.
  void write(std::int64_t offset, const char* from, std::size_t bytes) noexcept;
  void read(std::int64_t offset, char* to, std::size_t bytes) noexcept;
  void set_size(std::int64_t bytes) noexcept;
  std::int64_t size() const noexcept { return size_; }

 private:
  void expect_name() const;
  /// The disk is to begin now and not at the fsync. A hint: file systems that know nothing of it ignore it.
  void hand_over(std::int64_t end) noexcept;

  std::string path_;
  FileHandle file_;
  std::int64_t size_ = 0;         ///< that HDF5 believes in
  std::int64_t handed_over_ = 0;  ///< the disk has begun with what was written up to here
  int error_ = 0;                 ///< errno of the first failure
  const char* failed_ = nullptr;
};

/// Creates an HDF5 file, lets `fill` write into it, closes and fsyncs it. The first `user_bytes` (0, or a power of two
/// from 512) of the file stay out of HDF5's hands. A failed write is what is thrown, not what HDF5 said in consequence.
/// `meanwhile` (may be null) gets the open file when HDF5 is done and the disk at work, before the wait for the disk.
void write_hdf5_file(const std::string& path, std::int64_t user_bytes,
                     const std::function<void(hid_t file, const Hdf5Output& output)>& fill,
                     const std::function<void(int file)>& meanwhile = nullptr);

}  // namespace octet::checkpoint
