#pragma once

#include <string>
#include <vector>

namespace octet {

/// What is wrong with a list of verbs devices as NCCL_IB_HCA has it ("=mlx5_0:1,mlx5_1", "^mlx5_4"); empty where
/// nothing is. Without = a name matches all devices that begin with it: mlx5_1 takes mlx5_10 too. `wanted`: the devices
/// that training should use; empty: not known. At most 32 devices are used.
std::string device_list_problem(const std::string& list, const std::vector<std::string>& wanted);

}  // namespace octet
