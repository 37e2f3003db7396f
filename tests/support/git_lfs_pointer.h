#pragma once

namespace octet::test {

/// What Git LFS leaves in the place of a file that it has not fetched.
inline constexpr const char* lfs_pointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:04ef61cc08360cd193f9056cb10e26525451fd62759ca714840663257e7bcdd8\n"
    "size 1011042\n";

}  // namespace octet::test
