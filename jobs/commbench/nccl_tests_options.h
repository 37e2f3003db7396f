#pragma once

#include <string>
#include <vector>

namespace octet::commbench {

/// The words of a command line with the options of nccl-tests (their src/common.cu, v2.19.6: `-b 8`, `-b8`,
/// `--minbytes 8`, `--minbytes=8`) as those of ours that mean the same: -b, -e, -f, -n, -w, -c, -d, -T and -J. One that
/// asks for what is so here anyway (`-g 1`) is left out. Usage error for what a rank cannot do, with the reason.
std::vector<std::string> without_nccl_tests_options(const std::vector<std::string>& words);

}  // namespace octet::commbench
